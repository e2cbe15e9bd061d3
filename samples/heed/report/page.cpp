// A report as text.
#include <algorithm>
#include <sstream>

#include "../formatted.hpp"
#include "report/report.hpp"

namespace heed::program {

namespace {

using nlohmann::json;
using samples::formatted;

// A member of a report from elsewhere: empty or 0 if it is missing or of the wrong type.
std::string text_at(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number_at(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0.0;
}
const json& at(const json& object, const char* name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : none;
}
const json& part_of(const json& report, const char* name) { return at(at(report, "parts"), name); }

// The values of `key` in an array's objects, or the array's strings.
std::string list_of(const json& array, const char* key) {
  std::string names;
  for (const json& one : array) {
    const std::string name = one.is_string() ? one.get<std::string>() : text_at(one, key);
    names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

std::string line_of(const json& report, const char* name, const std::string& numbers) {
  const json& part = part_of(report, name);
  if (part.is_null()) return {};
  std::string line = formatted("  %-10s %-11s", name, text_at(part, "state").c_str());
  if (part.contains("seconds")) line += formatted("%6.1f s  ", number_at(part, "seconds"));
  line += numbers;
  const std::string reason = text_at(part, "reason");
  if (!reason.empty()) line.append(numbers.empty() ? "" : "; ").append(reason);
  return line + "\n";
}

std::string results_of(const json& report) {
  const auto count = [&](const char* part, const char* name) {
    return static_cast<int>(number_at(part_of(report, part), name));
  };
  const auto also = [](const char* what, const std::string& names) {
    return names.empty() ? std::string() : std::string("; ") + what + ": " + names;
  };
  std::string text;
  text += line_of(report, "pipelines", formatted("%d made", count("pipelines", "pipelines")));
  text += line_of(report, "goldens",
                  formatted("%d right, largest difference %.1e", count("goldens", "passed"),
                            number_at(part_of(report, "goldens"), "max_abs")) +
                      also("wrong", list_of(at(part_of(report, "goldens"), "failed"), "case")));
  text += line_of(report, "bits",
                  formatted("%d operations have the known bits", count("bits", "right")) +
                      also("others", list_of(at(part_of(report, "bits"), "wrong"), "")));
  text += line_of(
      report, "self-test",
      formatted("%d kernels right, %d not used here", count("self-test", "passed"), count("self-test", "unused")) +
          also("not right", list_of(at(part_of(report, "self-test"), "not_passed"), "kernel")));
  text += line_of(report, "times", "");
  text += line_of(report, "frames", "");
  return text;
}

std::string times_of(const json& report) {
  const json& part = part_of(report, "times");
  if (!at(part, "rows").is_array()) return {};
  std::string text = formatted("\nTimes, beside %.0f GFLOP/s of multiply-adds and %.1f GB/s of a copy\n",
                               number_at(part, "multiply_add_gflops"), number_at(part, "copy_gigabytes_per_second"));
  text += formatted("  %-12s %-28s %10s %10s %10s %12s %6s\n", "work", "shape", "median ms", "least", "most", "rate",
                    "share");
  for (const json& row : part["rows"]) {
    text += formatted("  %-12s %-28s ", text_at(row, "op").c_str(), text_at(row, "shape").c_str());
    const std::string reason = text_at(row, "left_out");
    if (!reason.empty()) {
      text += "left out: " + reason + "\n";
      continue;
    }
    text += formatted("%10.3f %10.3f %10.3f %6.0f %-7s", number_at(row, "ms"), number_at(row, "least"),
                      number_at(row, "most"), number_at(row, "rate"), text_at(row, "unit").c_str());
    text += at(row, "share").is_number() ? formatted("%4.0f%%\n", number_at(row, "share") * 100) : std::string("\n");
  }
  const double clock = number_at(part, "clock_after");
  if (clock > 0)
    text += formatted("  Multiply-adds ran at %.0f%% of their first rate after these works%s.\n", clock * 100,
                      clock < 0.95 ? ": the clock fell, or others used the device" : "");
  return text;
}

std::string frames_of(const json& report) {
  const json& part = part_of(report, "frames");
  if (!at(part, "rows").is_array() || part["rows"].empty()) return {};
  std::string text = formatted("\nFrames with %.0f ms of other work, and a model that may take %.0f ms of each\n",
                               number_at(part, "load_ms"), number_at(part, "budget_ms"));
  text += formatted("  %-28s %10s %10s %10s %6s\n", "frame by the host's clock, ms", "median", "p99", "worst", "runs");
  for (const json& row : part["rows"]) {
    const json& ms = at(row, "clock_ms");
    text += formatted("  %-28s %10.3f %10.3f %10.3f %6.0f\n", text_at(row, "row").c_str(), number_at(ms, "median"),
                      number_at(ms, "p99"), number_at(ms, "worst"), number_at(row, "runs"));
  }
  return text;
}

std::string name_of(const json& report) {
  const json& device = at(report, "device");
  std::string name = text_at(device, "name");
  for (const char* more : {"driver", "api"})
    if (const std::string text = text_at(device, more); !text.empty()) name.append(", ").append(text);
  return name.empty() ? "a device that did not open" : name;
}

}  // namespace

std::string without_paths(const std::string& text) {
  std::string kept, word;
  const auto end_word = [&] {
    const size_t slash = word.find_first_of("/\\");
    // "GFLOP/s" and "1/2" are no paths: paths begin with a slash, a tilde or a dot, or have a backslash or a second slash.
    const bool path =
        slash != std::string::npos && (word.find_first_not_of("'\"(") == slash || word[0] == '~' || word[0] == '.' ||
                                       word[slash] == '\\' || word.find('/', slash + 1) != std::string::npos);
    kept += path ? "<path>" : word;
    word.clear();
  };
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') {
      end_word();
      kept += c;
    } else {
      word += c;
    }
  }
  end_word();
  return kept;
}

std::string page_of(const json& report) {
  const json& system = at(report, "system");
  std::string text = formatted("heed %s on %s\n", text_at(report, "heed").c_str(), name_of(report).c_str());
  text += formatted("%s, %s, %.0f threads\n", text_at(system, "name").c_str(), text_at(system, "processor").c_str(),
                    number_at(system, "threads"));
  const json& limits = at(at(report, "device"), "limits");
  if (const std::string family = text_at(limits, "queue family"); !family.empty())
    text += "queue family " + family +
            (text_at(limits, "queue priority") == "low" ? ", low priority\n" : ", default priority\n");
  text += "\n";
  if (const json& open = at(report, "open"); open.is_object())
    text += formatted("  %-10s %-11s%s\n", "open", text_at(open, "state").c_str(), text_at(open, "reason").c_str());
  return text + results_of(report) + times_of(report) + frames_of(report);
}

std::string comparison_of(const json& a, const json& b) {
  std::string text = "A  " + name_of(a) + ", heed " + text_at(a, "heed") + "\nB  " + name_of(b) + ", heed " +
                     text_at(b, "heed") + "\n\n";
  text += formatted("  %-12s %-14s %s\n", "part", "A", "B");
  std::vector<std::string> names;
  for (const json* report : {&a, &b})
    for (const auto& [name, part] : at(*report, "parts").items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  for (const std::string& name : names)
    text += formatted("  %-12s %-14s %s\n", name.c_str(), text_at(part_of(a, name.c_str()), "state").c_str(),
                      text_at(part_of(b, name.c_str()), "state").c_str());

  std::string rows;
  for (const json& row : at(part_of(a, "times"), "rows"))
    for (const json& other : at(part_of(b, "times"), "rows")) {
      if (text_at(row, "op") != text_at(other, "op") || text_at(row, "shape") != text_at(other, "shape")) continue;
      const double first = number_at(row, "ms"), second = number_at(other, "ms");
      if (first > 0 && second > 0)
        rows += formatted("  %-12s %-28s %10.3f %10.3f %9.2f\n", text_at(row, "op").c_str(),
                          text_at(row, "shape").c_str(), first, second, second / first);
    }
  if (rows.empty()) return text;
  return text + formatted("\n  %-12s %-28s %10s %10s %9s\n", "work", "shape", "A, ms", "B, ms", "B / A") + rows;
}

}  // namespace heed::program
