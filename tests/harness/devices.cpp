#define CATCH_CONFIG_EXTERNAL_INTERFACES  // for listeners, in Catch2 version 2
#include "harness/devices.hpp"

#include <cstdlib>
#include <mutex>

#include "cpu/simd/kernels.hpp"
#include "harness/catch.hpp"
#include "harness/environment.hpp"

namespace heed::ops {
namespace {

std::mutex messages_mutex;
std::vector<std::string> messages;

void collect(void*, LogLevel, const char* message) {
  const std::lock_guard<std::mutex> lock(messages_mutex);
  messages.emplace_back(message);
}

std::vector<std::string> wanted_words() {
  const char* list = std::getenv("HEED_TEST_DEVICES");
  std::vector<std::string> words;
  std::string rest = list != nullptr ? list : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    if (comma != 0) words.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return words;
}

TestDevice open_device(const std::string& word, DeviceOptions options) {
  TestDevice device;
  device.word = word;
  options.select = device.word;
  const Status status = Device::open(options, &device.device);
  INFO(word << ": " << to_string(status) << ": " << take_checked_messages());
  REQUIRE(status == Status::Ok);
  return device;
}

struct Offer {
  const char* word;
  std::function<Device(const Log&)> open;
};
std::vector<Offer>& offers() {
  static std::vector<Offer> all;
  return all;
}

bool is_named(const std::string& word, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& part) { return word.find(part) != std::string::npos; });
}

struct Opened {
  TestDevice device;
  Subgroups subgroups = Subgroups::AsReported;
};

bool is_driver(const char* name) {
  const char* driver = std::getenv("HEED_TEST_DRIVER");
  return driver != nullptr && driver == std::string_view(name);
}

// Adds the CPU again for every smaller instruction set that it supports.
void add_lesser_targets(DeviceOptions options, std::vector<Opened>* all) {
  const std::span<const cpu::Kernels> kernels = cpu::supported_kernels();
  for (size_t i = 1; i < kernels.size() && std::getenv("HEED_CPU_TARGET") == nullptr; ++i) {
    options.cpu_instructions = kernels[i].name;
    all->push_back({open_device("cpu", options)});
    all->back().device.word = std::string("cpu:") + kernels[i].name;
  }
}

// Adds a software driver again without subgroup operations, but only on one width of lavapipe and on Mesa 26: compiling all kernels takes
// minutes and gigabytes.
void add_without_subgroups(const DeviceInfo& info, const DeviceOptions& options, std::vector<Opened>* all) {
  if (info.kind != DeviceKind::SoftwareGpu || is_driver("lavapipe-128") || is_driver("lavapipe-512")) return;
  const test::SetVariable variable("HEED_SUBGROUPS", "never");
  all->push_back({open_device(info.word, options), Subgroups::Both});
  all->back().device.word += ":no-subgroups";
}

std::vector<Opened> open_devices() {
  DeviceOptions options;
  options.validation = true;
  options.log = {collect, nullptr, LogLevel::Warning};
  std::vector<DeviceInfo> infos;
  REQUIRE(Device::list(options, &infos) == Status::Ok);
  const std::vector<std::string> wanted = wanted_words();
  std::vector<Opened> all;
  for (const DeviceInfo& info : infos) {
    if (!info.usable || (!wanted.empty() && !is_named(info.word, wanted))) continue;
    if (info.kind == DeviceKind::Cpu) add_lesser_targets(options, &all);
    all.push_back({open_device(info.word, options)});
    add_without_subgroups(info, options, &all);
  }
  for (const Offer& offer : offers())
    if (is_named(offer.word, wanted)) all.push_back({{offer.word, offer.open(options.log), true}});
  REQUIRE_FALSE(all.empty());
  return all;
}

#if CATCH_VERSION_MAJOR < 3
using Listener = Catch::TestEventListenerBase;
#else
using Listener = Catch::EventListenerBase;
#endif

std::map<Subgroups, std::vector<TestDevice>> lists;

// Before each test, drops the earlier log except validation messages. Closes all devices before main returns: when globals are destroyed, a
// validation layer may have been unloaded or have destroyed its own globals.
struct CloseDevices : Listener {
  using Listener::Listener;
  void testCaseStarting(const Catch::TestCaseInfo&) override {
    const std::lock_guard<std::mutex> lock(messages_mutex);
    std::erase_if(messages, [](const std::string& message) { return !message.starts_with("validation"); });
  }
  void testRunEnded(const Catch::TestRunStats&) override {
    lists.clear();
    // The layer analyses shader accesses late, and may report a fault only here, when no test can fail any more.
    bool spoke = false;
    for (const std::string& message : take_messages()) {
      if (!message.starts_with("validation")) continue;
      spoke = true;
      std::fprintf(stderr, "after the last test: %s\n", message.c_str());
    }
    if (!spoke) return;
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
};
CATCH_REGISTER_LISTENER(CloseDevices)

}  // namespace

bool offer_device(const char* word, std::function<Device(const Log&)> open) {
  offers().push_back({word, std::move(open)});
  return true;
}

const std::vector<TestDevice>& test_devices(Subgroups subgroups) {
  if (lists.empty())
    for (const Opened& opened : open_devices())
      for (const Subgroups list : {Subgroups::AsReported, Subgroups::Both})
        if (opened.subgroups <= list) lists[list].push_back(opened.device);
  return lists[subgroups];
}

std::vector<TestDevice> devices_for_quantized_projections() {
  std::vector<TestDevice> devices = test_devices();
  const char* driver = std::getenv("HEED_TEST_DRIVER");
  const bool is_slow =
      driver != nullptr && (driver == std::string("swiftshader") || driver == std::string("lavapipe-26"));
  std::erase_if(devices, [&](const TestDevice& on) { return is_slow && on.word.starts_with("vulkan"); });
  return devices;
}

std::vector<std::string> take_messages() {
  const std::lock_guard<std::mutex> lock(messages_mutex);
  return std::exchange(messages, {});
}

std::string take_checked_messages() {
  std::string text;
  for (const std::string& message : take_messages()) {
    if (message.starts_with("validation")) FAIL_CHECK(message);
    text += (text.empty() ? "" : "; ") + message;
  }
  return text;
}

}  // namespace heed::ops
