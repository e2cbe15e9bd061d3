// `heed devices`, and the meaning of --device in other commands.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/prepared.hpp"
#include "commands.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

void row(const char* name, const std::string& value) {
  if (!value.empty()) std::printf("    %-9s %s\n", name, value.c_str());
}

void print(size_t index, const DeviceInfo& info) {
  std::printf("%zu  %s  %s\n", index, info.word.c_str(), info.name.c_str());
  row("kind", kind_name(info.kind));
  row("driver", info.driver);
  row("api", info.api);
  row("usable", info.usable ? "yes" : "no");
  std::istringstream reasons(info.reason);
  const char* name = "use";
  for (std::string line; std::getline(reasons, line); name = "") row(name, line);
  name = "limits";
  for (const auto& [limit, value] : info.limits) {
    row(name, limit + " = " + value);
    name = "";
  }
}

// Opens a device to find its kernels. That needs no working GPU: if the self-test fails, the device is opened without it, and *why_not has
// the reason.
Status open_to_ask(const DeviceInfo& info, Device* device, std::string* why_not) {
  const Log log = {[](void* user, LogLevel, const char* message) { *static_cast<std::string*>(user) = message; },
                   why_not, LogLevel::Error};
  const Status status = Device::open(device_options(info.word, log), device);
  if (status == Status::Ok) return status;
  DeviceOptions untested = device_options(info.word, {});
  untested.self_test = false;
  return Device::open(untested, device);
}

// Prints the kernel for each operation of the benchmark on this device, and the reason.
void print_kernels(const DeviceInfo& info, const std::string& tuning) {
  Device device;
  std::string why_not;
  if (!info.usable || open_to_ask(info, &device, &why_not) != Status::Ok) return;
  row("fails", why_not);
  if (info.kind != DeviceKind::Cpu && load_tuning(device, tuning) != Status::Ok)
    complain(info.word + ": the tuning " + tuning + " is unreadable, damaged or of another device");
  const char* name = "kernels";
  for (const BenchCase& bench : bench_cases()) {
    if (bench.whole_model) continue;
    Prepared prepared;
    if (prepare(device, bench, &prepared) != Status::Ok) continue;
    std::set<std::string> seen;  // a row may have several equal passes
    for (const PassInfo& pass : prepared.plan.passes()) {
      if (!seen.insert(pass.op + pass.kernel + pass.why).second) continue;
      row(name, std::string(bench.op) + " " + bench.shape + ": " + pass.op + " by " + pass.kernel + ": " + pass.why);
      name = "";
    }
  }
}

// Whether the CPU device, the last of all, uses the instruction set of --cpu-instructions.
bool has_instructions(const DeviceInfo& cpu, std::string wanted) {
  const auto lower = [](unsigned char c) { return static_cast<char>(std::tolower(c)); };
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), lower);
  for (const auto& [limit, value] : cpu.limits) {
    std::string sets = value;
    std::transform(sets.begin(), sets.end(), sets.begin(), lower);
    std::istringstream words(limit == "instruction sets" ? sets : "");
    for (std::string word; words >> word;)
      if (word == wanted) return true;
  }
  return false;
}

nlohmann::json to_json(size_t index, const DeviceInfo& info) {
  nlohmann::json limits = nlohmann::json::object();
  for (const auto& [limit, value] : info.limits) limits[limit] = value;
  return {{"index", index},
          {"word", info.word},
          {"name", info.name},
          {"kind", kind_name(info.kind)},
          {"driver", info.driver},
          {"api", info.api},
          {"usable", info.usable},
          {"reason", info.reason},
          {"limits", std::move(limits)}};
}

}  // namespace

const char* kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cpu: return "cpu";
    case DeviceKind::DiscreteGpu: return "discrete gpu";
    case DeviceKind::IntegratedGpu: return "integrated gpu";
    case DeviceKind::VirtualGpu: return "virtual gpu";
    case DeviceKind::SoftwareGpu: return "software driver";
    case DeviceKind::OtherGpu: return "other gpu";
  }
  return "?";
}

CommonOptions& common_options() {
  static CommonOptions options;
  return options;
}

DeviceOptions device_options(const std::string& select, const Log& log) {
  DeviceOptions options;
  options.select = select;
  options.log = log;
  options.cpu_instructions = common_options().cpu_instructions;
  options.vulkan_loader = common_options().vulkan_loader;
  return options;
}

int devices(const DevicesOptions& options) {
  std::vector<DeviceInfo> found;
  const Log log = options.verbose ? stderr_log(LogLevel::Debug) : stderr_log();
  if (Device::list(device_options("", log), &found) != Status::Ok) {
    complain("the devices of this machine cannot be listed");
    return kFailed;
  }
  const std::string& instructions = common_options().cpu_instructions;
  if (!instructions.empty() && !has_instructions(found.back(), instructions)) {
    complain("--cpu-instructions: this processor does not support '" + instructions +
             "'; `heed devices` lists its sets");
    return kBadInput;
  }
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < found.size(); ++i) {
    if (options.json) {
      list.push_back(to_json(i, found[i]));
    } else {
      print(i, found[i]);
      if (options.verbose) print_kernels(found[i], options.tuning);
    }
  }
  if (options.json) std::printf("%s\n", text_of(list).c_str());
  return kSuccess;
}

std::vector<std::string> selections(const std::string& wanted) {
  if (wanted != "all") return {wanted};
  std::vector<DeviceInfo> found;
  std::vector<std::string> all;
  if (Device::list(device_options("", {}), &found) != Status::Ok) return all;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].usable) {
      all.push_back(std::to_string(i));
    } else {
      complain(found[i].word + " is left out: " + found[i].reason);
    }
  }
  return all;
}

}  // namespace heed::program
