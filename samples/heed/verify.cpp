// `heed verify`: checks golden files on one device or all.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

namespace fs = std::filesystem;
using goldens::Messages;
using goldens::Result;
using goldens::Verdict;

struct File {
  std::string path;
  SafeTensors content;
};

// The counts of one run of the program.
struct Tally {
  int passed = 0, failed = 0, damaged = 0, devices = 0;
  double worst = 0;
  std::string worst_where;  // "output[7] of 000.mha.1 on cpu"
  nlohmann::json cases = nlohmann::json::array();
  nlohmann::json problems = nlohmann::json::array();

  void problem(const std::string& text) {
    complain(text);
    problems.push_back(text);
  }
};

bool expand(const std::string& path, Tally& tally, std::vector<std::string>* files) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    files->push_back(path);
    return true;
  }
  std::vector<std::string> found;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".safetensors") found.push_back(it->path().string());
  if (error) {
    tally.problem(path + ": cannot be read: " + error.message());
    return false;
  }
  if (found.empty()) tally.problem(path + ": holds no *.safetensors");
  std::sort(found.begin(), found.end());
  std::move(found.begin(), found.end(), std::back_inserter(*files));
  return true;
}

std::vector<File> load(const std::vector<std::string>& paths, Tally& tally) {
  std::vector<std::string> names;
  for (const std::string& path : paths) tally.damaged += expand(path, tally, &names) ? 0 : 1;
  std::vector<File> files;
  Messages messages;
  for (const std::string& name : names) {
    File file{name, {}};
    const Status status = SafeTensors::open(name, messages.log(), &file.content);
    const std::vector<std::string> said = messages.take();
    if (status == Status::Ok) {
      files.push_back(std::move(file));
    } else {
      ++tally.damaged;
      tally.problem(said.empty() ? name + ": " + to_string(status) : said.front());
    }
  }
  return files;
}

void report(const Result& result, const std::string& path, const std::string& device, bool json, Tally& tally) {
  if (result.verdict == Verdict::Damaged) {
    ++tally.damaged;
    tally.problem(path + ": " + result.detail);
    return;
  }
  const bool ok = result.verdict == Verdict::Ok;
  ++(ok ? tally.passed : tally.failed);
  if (!(result.max_abs <= tally.worst)) {
    tally.worst = result.max_abs;
    tally.worst_where = result.worst + " of " + result.name + " on " + device;
  }
  if (json) {
    tally.cases.push_back({{"ok", ok},
                           {"case", result.name},
                           {"system", result.system},
                           {"device", device},
                           {"max_abs", result.max_abs},
                           {"max_rel", result.max_rel},
                           {"worst", result.worst},
                           {"detail", result.detail}});
  } else {
    std::printf("%s %s %s %s %.3e %.3e\n", ok ? "ok" : "FAIL", result.name.c_str(), result.system.c_str(),
                device.c_str(), result.max_abs, result.max_rel);
    std::fflush(stdout);
  }
  if (!ok) complain(result.name + " on " + device + ": " + result.detail);
}

// A message of the validation layer turns a pass into a failure.
void require_silence(Messages& messages, Result& result) {
  const std::vector<std::string> said = messages.take();
  if (said.empty() || result.verdict != Verdict::Ok) return;
  result.verdict = Verdict::Failed;
  result.detail = said.front();
}

bool run_on(const std::string& select, const std::vector<File>& files, const VerifyOptions& options, Tally& tally) {
  Messages messages;
  Device device;
  DeviceOptions open = device_options(select, messages.log());
  open.validation = options.validation;
  const Status status = Device::open(open, &device);
  const std::vector<std::string> said = messages.take();
  if (status != Status::Ok) {
    tally.problem(said.empty() ? "device '" + select + "': " + to_string(status) : said.front());
    return false;
  }
  Device cpu;
  if (options.bits && Device::open(device_options("cpu", messages.log()), &cpu) != Status::Ok) return false;
  for (const std::string& text : said) tally.problem(text);
  if (options.validation && !said.empty()) ++tally.failed;
  ++tally.devices;
  const std::string word = device.info().word;
  for (const File& file : files) {
    Result result =
        goldens::verify(device, messages, file.content, file.path, options.extents, options.bits ? &cpu : nullptr);
    if (options.validation) require_silence(messages, result);
    report(result, file.path, word, options.json, tally);
  }
  device = Device();  // messages while it closes count, too
  for (const std::string& text : messages.take()) {
    tally.problem(text);
    tally.failed += options.validation;
  }
  return true;
}

void summarize(const Tally& tally, bool json) {
  if (json) {
    const nlohmann::json all = {{"cases", tally.cases},
                                {"problems", tally.problems},
                                {"summary",
                                 {{"passed", tally.passed},
                                  {"failed", tally.failed},
                                  {"damaged", tally.damaged},
                                  {"devices", tally.devices},
                                  {"max_abs", tally.worst},
                                  {"worst", tally.worst_where}}}};
    std::printf("%s\n", text_of(all).c_str());
    return;
  }
  std::printf("%d passed, %d failed, %d damaged on %d device%s; largest difference %.3e%s%s, allowed %.0e + %.0e |b|\n",
              tally.passed, tally.failed, tally.damaged, tally.devices, tally.devices == 1 ? "" : "s", tally.worst,
              tally.worst_where.empty() ? "" : " in ", tally.worst_where.c_str(), goldens::kAbsolute,
              goldens::kRelative);
}

}  // namespace

int verify(const VerifyOptions& options) {
  Tally tally;
  bool bad_device = false;
  const std::vector<File> files = load(options.paths, tally);
  if (!files.empty()) {
    for (const std::string& select : selections(options.device)) {
      if (run_on(select, files, options, tally)) continue;
      if (options.device == "all") ++tally.failed;
      bad_device |= options.device != "all";
    }
  }
  summarize(tally, options.json);
  if (tally.failed > 0) return kFailed;
  if (tally.damaged > 0 || bad_device) return kBadInput;
  return tally.passed > 0 ? kSuccess : kFailed;
}

}  // namespace heed::program
