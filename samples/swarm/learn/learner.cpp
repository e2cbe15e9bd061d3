#include "learner.hpp"

#include "../barrier.hpp"
#include "../motives.hpp"

namespace swarm {
namespace {

void must(heed::Status status, const char* what) {
  if (status != heed::Status::Ok) throw Failure(std::string("heed cannot ") + what + ": " + heed::to_string(status));
}

constexpr VkBufferUsageFlags kShared = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

}  // namespace

Learner::Learner(const Gpu& gpu, heed::Device& device, const Bindings& bindings, const LearnOptions& options)
    : bindings_(bindings), budget_ms_(options.budget_ms) {
  must(device.compile(policy_.act_graph(kMaxAgents), {}, &act_, {.record_slots = kSlots}), "compile what agents do");
  must(device.compile(policy_.remember_graph(kMaxAgents), {}, &remember_, {.record_slots = kSlots}),
       "compile the memory");
  must(device.compile(policy_.learn_graph(), {}, &learn_,
                      {.training = true, .timestamps = budget_ms_ > 0, .record_slots = kSlots}),
       "compile a step of learning");
  must(remember_.make_state(&memory_), "make the memory");
  for (heed::State* state : {&first_, &learned_, &acting_}) {
    must(learn_.make_state(state), "make the weights");
    must(policy_.begin(*state, options.seed, heed::stderr_log()), "set the weights");
  }
  const std::vector<float> settings = policy_.settings();
  settings_ = make_buffer(gpu, settings.size() * sizeof(float), kShared, Where::Host);
  std::memcpy(settings_.mapped, settings.data(), settings_.bytes);
  batch_ = make_buffer(gpu, kBatch * SWARM_TRY * sizeof(float), kShared);
  spare_ = make_buffer(gpu, batch_.bytes, kShared);
}

void Learner::record_action(VkCommandBuffer commands, uint32_t agents, uint32_t slot) const {
  const heed::vulkan::Buffer buffers[] = {{"seen", bindings_.seen.handle}, {"action", bindings_.action.handle}};
  const heed::ExtentValue extents[] = {{"agents", agents}};
  barrier(commands, kComputeWrites, kComputes);
  must(heed::vulkan::record(act_, commands, {.buffers = buffers, .extents = extents, .slot = slot, .state = acting_}),
       "record what agents do");
  barrier(commands, kComputeWrites, kComputes);
}

void Learner::record_step(VkCommandBuffer commands, uint32_t agents, uint32_t slot) {
  const bool begins = !cursor_.begun();
  const heed::vulkan::Buffer buffers[] = {{"tried", bindings_.tried.handle},
                                          {"places", bindings_.places.handle},
                                          {"picks", bindings_.picks.handle, 0, kBatch * sizeof(int32_t)},
                                          {"mirrors", bindings_.picks.handle, kBatch * sizeof(int32_t)},
                                          {"batch", begins ? batch_.handle : spare_.handle}};
  const heed::ExtentValue extents[] = {{"agents", agents}};
  barrier(commands, kComputeWrites, kComputes);
  must(heed::vulkan::record(remember_, commands,
                            {.buffers = buffers, .extents = extents, .slot = slot, .state = memory_}),
       "record the memory");
  barrier(commands, kComputeWrites, kComputes);

  if (begins) ++runs_;
  const heed::vulkan::Buffer learns[] = {{"batch", batch_.handle}, {"optimizer.settings", settings_.handle}};
  // A run takes at least one frame, and at most kSlots frames are in flight, so that the GPU has finished this slot's last run.
  const heed::vulkan::RecordInfo info = {.buffers = learns, .slot = runs_ % kSlots, .state = learned_};
  if (budget_ms_ > 0)
    must(heed::vulkan::record_some(learn_, commands, info, budget_ms_, &cursor_), "record a part of a step");
  else
    must(heed::vulkan::record(learn_, commands, info), "record a step");
  ++parts_;
  if (budget_ms_ > 0 && !cursor_.done()) return;
  cursor_ = {};
  ++steps_;
  must(heed::vulkan::record_copy(acting_, learned_, commands), "record the new weights");
}

void Learner::record_restart(VkCommandBuffer commands) {
  cursor_ = {};
  steps_ = parts_ = 0;
  must(heed::vulkan::record_reset(memory_, commands), "record a restart");
  must(heed::vulkan::record_copy(learned_, first_, commands), "record a restart");
  must(heed::vulkan::record_copy(acting_, first_, commands), "record a restart");
}

void Learner::save(const std::string& path) const {
  must(policy_.save(learned_, path, heed::no_log()), ("write " + path).c_str());
}

}  // namespace swarm
