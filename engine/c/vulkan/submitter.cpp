// Submitters, for hosts without access to command buffers.
#include <heed/vulkan_submitter.hpp>

#include "c/vulkan/convert.hpp"

namespace heed::c {
namespace {

struct Submitter {
  using Handle = heed_submitter;
  static constexpr Kind kKind = Kind::Submitter;
  std::shared_ptr<Host> host;
  vulkan::Submitter it;
  Turn turn;
  bool take_turn() { return turn.take(); }
  void give_turn() { turn.give_back(); }
};

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_submitter_options_init(heed_submitter_options* options) {
  Call call(__func__);
  const heed::vulkan::SubmitterOptions usual;
  if (call.has(options, "options"))
    *options = {sizeof(*options),      usual.slots,        usual.timeout_ms,    usual.stages_before,
                usual.accesses_before, usual.stages_after, usual.accesses_after};
  return call.status();
}

heed_status heed_submitter_create(heed_device* handle, const heed_submitter_options* options,
                                  heed_submitter** submitter) {
  Call call(__func__);
  if (!has_place(call, submitter, "submitter")) return call.status();
  const Pin<Device> device(call, handle);
  heed::vulkan::SubmitterOptions wanted;
  if (options != nullptr && check_struct(call, options, sizeof(*options), "heed_submitter_options"))
    wanted = {.slots = options->slots,
              .stages_before = options->stages_before,
              .accesses_before = options->accesses_before,
              .stages_after = options->stages_after,
              .accesses_after = options->accesses_after,
              .timeout_ms = options->timeout_ms};
  if (call.failed()) return call.status();
  auto made = std::make_unique<Submitter>();
  made->host = device->host;
  call.end(heed::vulkan::Submitter::create(device->get(), wanted, &made->it), device->host.get());
  return give(call, std::move(made), submitter);
}

heed_status heed_submitter_destroy(heed_submitter* submitter) { return destroy<Submitter>(__func__, submitter); }

heed_status heed_submitter_submit(heed_submitter* handle, heed_plan* plan_handle, const heed_record_info* info,
                                  uint32_t* slot) {
  Call call(__func__);
  const Pin<Submitter> submitter(call, handle);
  const Pin<Plan> plan(call, plan_handle);
  const Recording recording(call, info);
  if (!call.has(slot, "slot") || call.failed()) return call.status();
  return call.end(submitter->it.submit(plan->it, recording.info(), slot), submitter->host.get());
}

heed_status heed_submitter_poll(heed_submitter* handle, uint32_t slot) {
  Call call(__func__);
  const Pin<Submitter> submitter(call, handle);
  return call.failed() ? call.status() : call.end(submitter->it.poll(slot), submitter->host.get());
}

heed_status heed_submitter_wait(heed_submitter* handle, uint32_t slot) {
  Call call(__func__);
  const Pin<Submitter> submitter(call, handle);
  return call.failed() ? call.status() : call.end(submitter->it.wait(slot), submitter->host.get());
}
