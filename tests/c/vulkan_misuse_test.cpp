// Arguments that the C functions for a host's GPU refuse, and a device that is destroyed first.
#include "c/host_in_c.hpp"

namespace heed::test {

TEST_CASE("C: Vulkan's functions refuse what makes no sense", "[c][vulkan][hostile]") {
  const auto host = HostVulkan::create({});
  if (host == nullptr) return;
  Places places(*host);
  HostInC in_c(*host);
  KeptDevice cpu = open_c("cpu");
  KeptPlan cpu_plan = small_in_c(cpu);
  {
    KeptDevice device(heed_device_adopt, &in_c.given);
    KeptPlan plan = small_in_c(device);
    heed_plan* gone = small_in_c(device).gone();
    const VkCommandBuffer commands = host->begin();
    refused(heed_plan_record(plan, nullptr, &places.info), HEED_INVALID_ARGUMENT, "command_buffer is NULL");
    refused(heed_plan_record(plan, commands, nullptr), HEED_INVALID_ARGUMENT, "info is NULL");
    heed_record_info wrong = places.info;
    wrong.buffer_count = 1;
    refused(heed_plan_record(plan, commands, &wrong), HEED_MISSING_BUFFER, "y");
    wrong.buffers = nullptr;
    refused(heed_plan_record(plan, commands, &wrong), HEED_INVALID_ARGUMENT, "buffers is NULL");
    wrong = places.info;
    wrong.state = reinterpret_cast<heed_state*>(gone);
    refused(heed_plan_record(plan, commands, &wrong), HEED_INVALID_ARGUMENT, "state is a handle of another kind");
    wrong = places.info;
    wrong.extent_count = 1;
    refused(heed_plan_record(plan, commands, &wrong), HEED_INVALID_ARGUMENT, "extents is NULL");
    refused(heed_plan_record(cpu_plan, commands, &places.info), HEED_INVALID_ARGUMENT, "");
    int32_t pass = 0;
    refused(heed_plan_last_completed(plan, 0, &pass), HEED_UNSUPPORTED, "");
    done(heed_plan_record(plan, commands, &places.info));  // the failed calls wrote nothing
    host->end(commands);
    host->submit_and_wait(commands);

    refused(heed_device_gone(cpu), HEED_INVALID_ARGUMENT, "");
    heed_submitter* no_submitter = nullptr;
    refused(heed_submitter_create(cpu, nullptr, &no_submitter), HEED_INVALID_ARGUMENT, "");
    heed_device* none = device;
    heed_host_device without = in_c.given;
    without.device = nullptr;
    refused(heed_device_adopt(&without, &none), HEED_INVALID_ARGUMENT, "device is null");
    CHECK(none == nullptr);
    refused(heed_device_adopt(nullptr, &none), HEED_INVALID_ARGUMENT, "host is NULL");
    without = in_c.given;
    without.enabled_extension_count = 2;
    refused(heed_device_adopt(&without, &none), HEED_INVALID_ARGUMENT, "enabled_extensions is NULL");
  }
  (void)host->take_log();
}

TEST_CASE("C: a device that goes before its handles", "[c][vulkan]") {
  // Runs without the layer, which does not report the objects that are destroyed with the host's device.
  auto host = HostVulkan::create({.validation = false});
  if (host == nullptr) return;
  HostInC in_c(*host);
  in_c.given.allocator = nullptr;
  KeptDevice device(heed_device_adopt, &in_c.given);
  KeptPlan plan = small_in_c(device);
  KeptSubmitter submitter(heed_submitter_create, device, nullptr);
  const int32_t ids[] = {1, 2, 3};
  float y[12] = {};
  const heed_input input = {"ids", ids, sizeof(ids), HEED_I32, 0};
  const heed_output output = {"y", y, sizeof(y), HEED_F32, 0};
  const heed_run_info info = run_info({&input, 1}, {&output, 1});
  done(heed_plan_run(plan, &info));
  done(heed_device_gone(device));
  reset_calls();
  forget_objects();
  host.reset();
  CHECK(heed_plan_run(plan, &info) == HEED_DEVICE_LOST);
  heed_submitter* another = nullptr;
  CHECK(heed_submitter_create(device, nullptr, &another) == HEED_DEVICE_LOST);
  (void)submitter.gone();
  (void)plan.gone();
  (void)device.gone();
  CHECK(calls_of_all() == 0);
}

}  // namespace heed::test
