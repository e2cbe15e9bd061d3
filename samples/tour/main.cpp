// A tour of heed: the attention of a sentence in three flavours, in the terminal and as pictures, on every device.
//   tour "Life is short, eat dessert first" --with "Eat the first dessert, life is short"
// Exit codes: 0 done, 1 a device failed or disagrees with the CPU, 2 the input is invalid.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <heed/heed.hpp>

#include "../help.hpp"
#include "model.hpp"
#include "picture.hpp"
#include "text.hpp"

namespace {

using tour::Flavour;

constexpr int kOk = 0, kFailed = 1, kBadInput = 2;
// heed's bound relative to its reference in f32: |a - b| <= kAbsolute + kRelative |b|.
constexpr double kAbsolute = 2e-5, kRelative = 1e-4;

struct Arguments {
  std::string text = "Life is short, eat dessert first";
  std::string with = "First a short life of desserts, then eat what is left";
  std::string device;
  std::string out = "tour-out";
  std::string color = "auto";
  int heads = 4;
  bool list = false;
  bool no_pictures = false;
};

int bad_input(const std::string& message) {
  std::fprintf(stderr, "tour: %s\n", message.c_str());
  return kBadInput;
}

// Keeps heed's errors, so that failed() prints them once. Prints its other messages at once.
std::string last_error;
std::mutex last_error_mutex;  // heed may call from its own threads
heed::Log log() {
  const auto take = [](void*, heed::LogLevel level, const char* message) {
    const std::lock_guard lock(last_error_mutex);
    if (level == heed::LogLevel::Error)
      last_error = message;
    else
      std::fprintf(stderr, "tour: %s\n", message);
  };
  return {take, nullptr, heed::LogLevel::Warning};
}

int failed(const std::string& what, heed::Status status) {
  std::fprintf(stderr, "tour: %s: %s\n", what.c_str(),
               last_error.empty() ? heed::to_string(status) : last_error.c_str());
  return status == heed::Status::NotFound ? kBadInput : kFailed;
}

std::string count_of(size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void notice(const tour::Words& words) {
  if (words.truncated)
    std::fprintf(stderr, "tour: %s is long; only its first %s used (the maximum is %d)\n", words.origin.c_str(),
                 words.shown.size() == 1 ? "word is" : (std::to_string(words.shown.size()) + " words are").c_str(),
                 tour::kMaxWords);
}

// The largest |a - b|, and whether every element is within the bound. NaN never is.
struct Difference {
  double largest = 0;
  bool within = true;

  void add(const std::vector<float>& values, const std::vector<float>& reference) {
    for (size_t i = 0; i < values.size(); ++i) {
      const double a = static_cast<double>(values[i]), b = static_cast<double>(reference[i]);
      const double gap = std::fabs(a - b);
      if (!(gap <= kAbsolute + kRelative * std::fabs(b))) within = false;
      if (!(gap <= largest)) largest = gap;
    }
  }
};

tour::Picture make_picture(const tour::Words& rows, const tour::Words& columns, const tour::Result& result,
                           Flavour flavour, int heads) {
  tour::Picture picture;
  const bool cross = flavour == Flavour::Cross;
  picture.causal = flavour == Flavour::Causal;
  picture.title = cross                               ? "Cross attention"
                  : flavour == Flavour::Bidirectional ? "Bidirectional attention"
                                                      : "Causal attention";
  picture.subtitle = cross            ? "each word looks at the words of another sentence"
                     : picture.causal ? "each word looks at itself and the words before it"
                                      : "each word looks at every word";
  picture.rows = rows.shown;
  picture.columns = cross ? columns.shown : rows.shown;
  const size_t cells = picture.rows.size() * picture.columns.size();
  picture.main.weights.assign(cells, 0.0f);
  for (int head = 0; head < heads; ++head) {
    const auto begin = result.weights.begin() + static_cast<long>(static_cast<size_t>(head) * cells);
    tour::Panel panel{"head " + std::to_string(head + 1) + ": " + tour::head_title(head),
                      std::vector<float>(begin, begin + static_cast<long>(cells))};
    for (size_t i = 0; i < cells; ++i) picture.main.weights[i] += panel.weights[i] / static_cast<float>(heads);
    picture.heads.push_back(std::move(panel));
  }
  return picture;
}

int list_devices() {
  std::vector<heed::DeviceInfo> devices;
  const heed::Status status = heed::Device::list({.log = log()}, &devices);
  if (status != heed::Status::Ok) return failed("the list of devices", status);
  for (size_t i = 0; i < devices.size(); ++i)
    std::printf("%zu  %s  %s%s%s\n", i, devices[i].word.c_str(), devices[i].name.c_str(),
                devices[i].usable ? "" : "  not usable: ", devices[i].usable ? "" : devices[i].reason.c_str());
  return kOk;
}

// All three flavours on one device.
heed::Status run_all(heed::Device& device, const tour::Model& model, tour::Result (&results)[3]) {
  for (const Flavour flavour : tour::kFlavours) {
    const heed::Status status = tour::run(device, model, flavour, &results[static_cast<int>(flavour)]);
    if (status != heed::Status::Ok) return status;
  }
  return heed::Status::Ok;
}

// One line of the table of devices. Returns false if the device disagrees with the CPU.
bool print_times(const std::string& word, const tour::Result (&results)[3], const tour::Result (&cpu)[3]) {
  Difference difference;
  std::printf("  %-22s", word.c_str());
  for (int i = 0; i < 3; ++i) {
    std::printf(" %10.3f ms", results[i].milliseconds);
    difference.add(results[i].weights, cpu[i].weights);
    difference.add(results[i].output, cpu[i].output);
  }
  if (&results == &cpu)
    std::printf("   reference\n");
  else
    std::printf("   %.1e  %s\n", difference.largest, difference.within ? "ok" : "DIFFERS");
  return difference.within;
}

// Runs the model on every device of the machine and compares with `cpu`.
bool visit_devices(const tour::Model& model, const tour::Result (&cpu)[3]) {
  std::vector<heed::DeviceInfo> devices;
  heed::Status status = heed::Device::list({}, &devices);
  if (status != heed::Status::Ok) return false;
  std::printf("  %-22s %13s %13s %13s   %s\n", "device", "bidirectional", "causal", "cross",
              "largest difference from the CPU");
  bool good = true;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind == heed::DeviceKind::Cpu) {
      good &= print_times(devices[i].word, cpu, cpu);
      continue;
    }
    if (!devices[i].usable) {
      std::printf("  %-22s not usable: %s\n", devices[i].word.c_str(), devices[i].reason.c_str());
      continue;
    }
    const std::string index = std::to_string(i);
    heed::Device device;
    tour::Result results[3];
    status = heed::Device::open({.select = index, .log = log()}, &device);
    if (status == heed::Status::Ok) status = run_all(device, model, results);
    if (status == heed::Status::Ok) {
      good &= print_times(devices[i].word, results, cpu);
    } else {
      std::printf("  %-22s failed: %s %s\n", devices[i].word.c_str(), heed::to_string(status), last_error.c_str());
      good = false;
    }
  }
  std::printf("  (median of several runs from and to host memory; the bound is %g + %g |reference|)\n", kAbsolute,
              kRelative);
  return good;
}

int draw(const Arguments& arguments, const tour::Words& rows, const tour::Words& columns,
         const tour::Result (&results)[3]) {
  const auto choice = arguments.color == "always"  ? tour::ColorChoice::Always
                      : arguments.color == "never" ? tour::ColorChoice::Never
                                                   : tour::ColorChoice::Auto;
  tour::Terminal terminal = tour::look_at_terminal(choice);
  terminal.pictures = !arguments.no_pictures;
  for (const Flavour flavour : tour::kFlavours) {
    tour::Picture picture = make_picture(rows, columns, results[static_cast<int>(flavour)], flavour, arguments.heads);
    std::printf("%s\n", tour::draw_table(picture, terminal).c_str());
    if (arguments.no_pictures) continue;
    picture.subtitle += " · mean of the heads, and each head below · weights not trained";
    const std::string path = (std::filesystem::path(arguments.out) / (std::string(name_of(flavour)) + ".png")).string();
    std::string error;
    if (!tour::write_png(picture, path, &error)) return bad_input(error);
  }
  return kOk;
}

int tour_of(const Arguments& arguments) {
  tour::Words rows, columns;
  std::string error;
  if (!tour::read_words(arguments.text, &rows, &error)) return bad_input(error);
  if (!tour::read_words(arguments.with, &columns, &error)) return bad_input(error);
  notice(rows);
  notice(columns);
  if (!arguments.no_pictures) {
    std::error_code code;
    std::filesystem::create_directories(arguments.out, code);
    if (code || !std::filesystem::is_directory(arguments.out, code))
      return bad_input("cannot make the folder " + arguments.out + ": " + code.message());
  }

  heed::Device device, reference;
  heed::Status status = heed::Device::open({.select = arguments.device, .log = log()}, &device);
  if (status != heed::Status::Ok) return failed("--device", status);
  status = heed::Device::open({.select = "cpu", .log = log()}, &reference);
  if (status != heed::Status::Ok) return failed("the CPU", status);

  const tour::Model model = tour::make_model(rows, columns, arguments.heads);
  tour::Result results[3], cpu[3];
  status = run_all(device, model, results);
  if (status != heed::Status::Ok) return failed(device.info().word, status);
  status = run_all(reference, model, cpu);
  if (status != heed::Status::Ok) return failed("the CPU", status);

  std::printf("heed: attention on %s (%s)\n", device.info().word.c_str(), device.info().name.c_str());
  std::printf("%s, %s; weights follow a rule and are not trained, so that patterns show spelling and position\n\n",
              count_of(rows.shown.size(), "word").c_str(),
              count_of(static_cast<size_t>(arguments.heads), "head").c_str());
  if (const int code = draw(arguments, rows, columns, results); code != kOk) return code;
  const bool good = visit_devices(model, cpu);
  if (!arguments.no_pictures)
    std::printf("\npictures: %s/bidirectional.png causal.png cross.png\n", arguments.out.c_str());
  return good ? kOk : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Example: tour \"Life is short, eat dessert first\" --with \"Eat the first dessert, life is short\"\nShows the "
      "attention of a sentence, bidirectional, causal and cross, on every device.",
      "tour"};
  app.formatter(std::make_shared<samples::Help>());
  app.add_option("text", arguments.text, "a sentence, a text file, or - for standard input")->capture_default_str();
  app.add_option("--with", arguments.with, "the sentence or file for cross attention")
      ->type_name("TEXT")
      ->capture_default_str();
  app.add_option("--device", arguments.device, "cpu, an index of --list, or a part of a name; default: best")
      ->type_name("DEVICE");
  app.add_option("--out", arguments.out, "folder for the pictures")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->take_last();
  app.add_option("--heads", arguments.heads, "attention heads")
      ->check(CLI::Range(1, tour::kMaxHeads))
      ->capture_default_str();
  app.add_option("--color", arguments.color, "colours in the terminal")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.add_flag("--no-pictures", arguments.no_pictures, "write no pictures");
  app.add_flag("--list", arguments.list, "list the devices of this machine");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError& error) {
    return bad_input(std::string(error.what()) + "; put a sentence in quotes");
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return bad_input(error.what());
  }
  return arguments.list ? list_devices() : tour_of(arguments);
}
