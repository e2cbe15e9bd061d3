// `heed report`: tests and times a machine's device and driver, and writes a file for others.
#include "report/report.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#if !defined(_WIN32)
#include <sys/utsname.h>
#endif

#include "clock.hpp"
#include "commands.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr double kOpenSeconds = 60;  // opening the device may take at least this long

struct Part {
  const char* name;
  json (*run)(const PartContext&);
  double limits = 1;   // multiple of ReportOptions::limit that it may take
  bool tested = true;  // needs a device that passed the test of Device::open
};
// The self-test is last, since it takes longest on a software driver.
constexpr Part kParts[] = {{"pipelines", pipelines_part, 1, false},
                           {"goldens", goldens_part},
                           {"bits", bits_part},
                           {"times", times_part},
                           {"frames", frames_part},
                           {"self-test", self_test_part, 2}};

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << '\n';
  file.close();
  return !file.fail();
}

// Ends the process if a part takes too long, since a hanging driver call cannot be ended otherwise. The file then says so.
class Watch {
 public:
  Watch() : thread_([this] { wait(); }) {}
  ~Watch() {
    set({}, {}, {}, true);
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void start(double seconds, const std::string& path, const std::string& text) {
    set(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)), path, text,
        false);
  }
  void stop() { set({}, {}, {}, false); }

 private:
  void set(Clock::time_point end, const std::string& path, const std::string& text, bool leave) {
    const std::lock_guard lock(mutex_);
    end_ = end, path_ = path, text_ = text, leave_ = leave;
    changed_.notify_one();
  }

  void wait() {
    std::unique_lock lock(mutex_);
    while (!leave_) {
      if (end_ == Clock::time_point())
        changed_.wait(lock);
      else if (changed_.wait_until(lock, end_) == std::cv_status::timeout && end_ != Clock::time_point() &&
               Clock::now() >= end_)
        give_up();
    }
  }

  [[noreturn]] void give_up() {
    write_file(path_, text_);
    complain("a part of the report did not end in its time; " + path_ + " says which");
    std::_Exit(kFailed);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point end_;
  std::string path_, text_;
  bool leave_ = false;
  std::thread thread_;
};

json system_json() {
  json system = {{"threads", std::thread::hardware_concurrency()}};
#if defined(_WIN32)
  system["name"] = "Windows";
#else
  utsname name = {};
  if (uname(&name) == 0) system["name"] = std::string(name.sysname) + " " + name.machine;
#endif
  std::vector<DeviceInfo> found;
  if (Device::list(device_options("cpu", {}), &found) == Status::Ok && !found.empty())
    system["processor"] = found.back().name;
  return system;
}

json device_json(const DeviceInfo& info) {
  json limits = json::object();
  for (const auto& [limit, value] : info.limits) limits[limit] = without_paths(value);
  json reasons = json::array();
  std::istringstream lines(info.reason);
  for (std::string line; std::getline(lines, line);) reasons.push_back(without_paths(line));
  return {{"name", info.name}, {"kind", kind_name(info.kind)}, {"driver", info.driver},
          {"api", info.api},   {"reason", std::move(reasons)}, {"limits", std::move(limits)}};
}

// Opens the device, describes it in *report, and opens it again with heed's small test. Without a selection that is the best GPU, also if it
// fails the test: the report is about it, and not about the CPU that other programs would get then.
bool begin(const ReportOptions& options, PartContext* context, json* report) {
  PartDevice opened;
  DeviceOptions untested = device_options(options.device, opened.messages.log());
  untested.self_test = false;
  Status status = Device::open(untested, &opened.device);
  if (status != Status::Ok) {
    (*report)["open"] = failed_part(status, opened.messages);
    (*report)["device"] = json::object();
    const std::string reason = (*report)["open"]["reason"];
    complain(options.device.empty() ? "device" : "device '" + options.device + "'", {reason}, status);
    return false;
  }
  context->info = opened.device.info();
  context->select = context->info.word;
  (*report)["device"] = device_json(context->info);
  opened.device = {};
  status = Device::open(device_options(context->select, opened.messages.log()), &opened.device);
  context->tested = status == Status::Ok;
  if (!context->tested) (*report)["open"] = failed_part(status, opened.messages);
  return true;
}

bool read_report(const std::string& path, json* report) {
  std::ifstream file(path, std::ios::binary);
  *report = json::parse(file, nullptr, false);
  const bool right = report->is_object() && report->contains("format") && (*report)["format"].is_number_integer() &&
                     report->contains("device") && report->contains("parts");
  if (!right) {
    complain(path + " is no report of `heed report`");
    return false;
  }
  if ((*report)["format"] == kFormat) return true;
  complain(path + " has format " + text_of((*report)["format"]) + ", and this program reads " +
           std::to_string(kFormat));
  return false;
}

bool has_failed(const json& report) {
  if (report.contains("open")) return true;
  const json& parts = report["parts"];
  return std::any_of(parts.begin(), parts.end(), [](const json& part) {
    const bool has_state = part.is_object() && part.contains("state");
    return !has_state || (part["state"] != "passed" && part["state"] != "left out");
  });
}

bool wants(const ReportOptions& options, const std::string& part) {
  return options.only.empty() || std::find(options.only.begin(), options.only.end(), part) != options.only.end();
}

int run_parts(const ReportOptions& options) {
  json report = {{"format", kFormat}, {"heed", HEED_VERSION}, {"system", system_json()}, {"parts", json::object()}};
  PartContext context;
  context.seconds = options.seconds;
  Watch watch;
  json unopened = report;
  unopened["device"] = json::object();
  unopened["open"] = {{"state", "running"}};
  if (!write_file(options.out, text_of(unopened))) {
    complain("cannot write " + options.out);
    return kBadInput;
  }
  unopened["open"] = {{"state", "timed out"}};
  watch.start(std::max(options.limit, kOpenSeconds), options.out, text_of(unopened));
  const bool is_open = begin(options, &context, &report);
  watch.stop();
  if (!is_open) {
    write_file(options.out, text_of(report));
    return kBadInput;
  }

  for (const Part& part : kParts) {
    if (!wants(options, part.name)) continue;
    std::fprintf(stderr, "%s ...\n", part.name);
    json& result = report["parts"][part.name];
    if (part.tested && !context.tested) {
      result = {{"state", "left out"}, {"reason", "the device failed the test of its first start"}};
      continue;
    }
    const double limit = options.limit * part.limits;
    result = {{"state", "timed out"}, {"seconds", limit}};
    const std::string timed_out = text_of(report);
    result = {{"state", "running"}};
    write_file(options.out, text_of(report));
    // Parts of several works begin none after half of the time, so that a slow device does not count as hanging.
    const Clock::time_point start = Clock::now();
    context.no_later = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit / 2));
    watch.start(limit, options.out, timed_out);
    json done = part.run(context);
    watch.stop();
    done["seconds"] = milliseconds_since(start) * 1e-3;
    result = std::move(done);
  }
  if (!write_file(options.out, text_of(report))) {
    complain("cannot write " + options.out);
    return kBadInput;
  }
  std::printf("%s\nThe whole report is in %s.\n", page_of(report).c_str(), options.out.c_str());
  return has_failed(report) ? kFailed : kSuccess;
}

}  // namespace

const std::vector<std::string>& report_parts() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Part& part : kParts) all.push_back(part.name);
    return all;
  }();
  return names;
}

int report(const ReportOptions& options) {
  json a, b;
  if (!options.compare.empty()) {
    if (!read_report(options.compare[0], &a) || !read_report(options.compare[1], &b)) return kBadInput;
    std::printf("%s", comparison_of(a, b).c_str());
    return kSuccess;
  }
  if (options.show.empty()) return run_parts(options);
  if (!read_report(options.show, &a)) return kBadInput;
  std::printf("%s", page_of(a).c_str());
  return has_failed(a) ? kFailed : kSuccess;
}

}  // namespace heed::program
