// The queues of devices that heed opens by itself: their priority and their family.
#ifdef HEED_PRIORITIES_PATH

#include <dlfcn.h>

#include "graph/schedule/backend.hpp"
#include "harness/environment.hpp"
#include "vulkan/host_plan.hpp"
#include "vulkan/priorities/loader.hpp"

using namespace heed;
using namespace heed::test;

namespace {

std::string limit_of(const DeviceInfo& info, const char* name) {
  for (const auto& [limit, value] : info.limits)
    if (limit == name) return value;
  return "missing";
}

// Runs a small graph on the device and on the CPU.
std::string differs_from_cpu(Device device) {
  Device cpu = open_cpu();
  const Tensors tensors = block_weights();
  Plan plan = compiled(device, block_graph(), uploaded(device, tensors.list()));
  Plan cpu_plan = compiled(cpu, block_graph(), uploaded(cpu, tensors.list()));
  std::vector<float> y;
  return run_differs(plan, make_sample(cpu_plan, 1, 5, 3), &y);
}

template <class F>
F in_priorities(const char* name) {
  void* const module = dlopen(HEED_PRIORITIES_PATH, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(module != nullptr);
  return reinterpret_cast<F>(dlsym(module, name));
}

}  // namespace

TEST_CASE("open: low priority where the driver grants it, else the default", "[vulkan][open][queues]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  const auto pretend = in_priorities<decltype(&heed_pretend_priorities)>("heed_pretend_priorities");
  const auto seen = in_priorities<decltype(&heed_seen_priority)>("heed_seen_priority");
  constexpr uint32_t kLow = VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR;
  struct Row {
    const char* extension;
    VkResult result;
    bool asks;
    uint32_t created_with;
    const char* priority;
    const char* reason;
  };
  const Row rows[] = {
      {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_SUCCESS, true, kLow, "low", "used (VK_KHR_global_priority)"},
      {VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME, VK_SUCCESS, true, kLow, "low", "used (VK_EXT_global_priority)"},
      {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_SUCCESS, false, 0, "default", ""},
      {VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME, VK_ERROR_NOT_PERMITTED_KHR, true, 0, "default",
       "not used, because vkCreateDevice with VK_KHR_global_priority: VK_ERROR_NOT_PERMITTED_KHR"},
      {VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME, VK_ERROR_INITIALIZATION_FAILED, true, 0, "default",
       "not used, because vkCreateDevice with VK_EXT_global_priority: VK_ERROR_INITIALIZATION_FAILED"},
      {nullptr, VK_SUCCESS, true, 0, "default", "not used, because the driver has no VK_KHR_global_priority"},
  };
  for (const Row& row : rows) {
    INFO((row.extension == nullptr ? "no extension" : row.extension) << " " << row.result << " " << row.asks);
    pretend(row.extension, row.result);
    Messages messages;
    Device device = open_device(
        {.select = word, .log = messages.log(), .vulkan_loader = HEED_PRIORITIES_PATH, .low_priority = row.asks});
    CHECK(seen() == row.created_with);
    CHECK(limit_of(device.info(), "queue priority") == row.priority);
    if (row.asks)
      CHECK_THAT(device.info().reason, holds(std::string("low queue priority: ") + row.reason));
    else
      CHECK_THAT(device.info().reason, !holds("priority"));
    CHECK(differs_from_cpu(device) == "");
    // A device that the self-test opens again has the same priority.
    std::shared_ptr<detail::DeviceImpl> again;
    REQUIRE(device.impl()->reopen(&again) == Status::Ok);
    CHECK(seen() == row.created_with);
    CHECK(limit_of(again->info(), "queue priority") == row.priority);
    CHECK(messages.text == "");
  }
}

TEST_CASE("open: async compute uses a family without graphics, if there is one", "[vulkan][open][queues]") {
  const std::string word = first_gpu();
  if (word.empty()) return;
  std::vector<DeviceInfo> devices;
  const SetVariable folder("VK_ADD_LAYER_PATH", HEED_LAYER_FOLDER);
  for (const bool two_families : {false, true}) {
    const SetVariable layer("VK_INSTANCE_LAYERS", two_families ? "VK_LAYER_HEED_two_families" : nullptr);
    for (const bool asks : {false, true}) {
      INFO(two_families << asks);
      Messages messages;
      const DeviceOptions options = {.select = word, .log = messages.log(), .async_compute = asks};
      Device device = open_device(options);
      const std::string family = limit_of(device.info(), "queue family");
      if (two_families) CHECK(family == (asks ? "1 (compute)" : "0 (graphics and compute)"));
      if (asks)
        CHECK_THAT(device.info().reason,
                   holds(family.find("graphics") == std::string::npos
                             ? "async compute: used, by queue family"
                             : "async compute: not used, because every queue family with compute also has graphics"));
      else
        CHECK_THAT(device.info().reason, !holds("async compute"));
      CHECK(differs_from_cpu(device) == "");
      REQUIRE(Device::list(options, &devices) == Status::Ok);
      for (const DeviceInfo& info : devices)
        if (info.word == word) CHECK(limit_of(info, "queue family") == family);
      CHECK(messages.text == "");
    }
  }
}

#endif
