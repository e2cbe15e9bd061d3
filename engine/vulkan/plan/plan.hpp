// A plan on a Vulkan device.
//
// compile.cpp and descriptors.cpp make everything that a run needs: pipelines, memory, descriptor sets, and one Slot per
// recording that may be in flight. After that record.cpp checks and recorder.cpp is a loop over data; bind.cpp and
// state.cpp check the host's buffers and States for it; scratch.cpp takes the host's scratch; prepare.cpp makes the
// pipelines, now or later; run.cpp wraps it for callers without a command buffer; report.cpp and estimate.cpp answer
// questions.
#pragma once

#include <array>
#include <atomic>
#include <heed/vulkan_frames.hpp>
#include <memory>
#include <span>
#include <vector>

#include "base/thread.hpp"
#include "graph/schedule/backend.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/memory/device_buffer.hpp"
#include "vulkan/memory/host_io.hpp"
#include "vulkan/memory/weights.hpp"
#include "vulkan/pipelines/pipelines.hpp"
#include "vulkan/recording/gpu_clock.hpp"
#include "vulkan/recording/hazards.hpp"
#include "vulkan/recording/pass_times.hpp"
#include "vulkan/recording/progress.hpp"

namespace heed::vulkan {

constexpr VkBufferUsageFlags kScratchUsage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

// The range of a buffer that one descriptor points to.
struct BoundRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // a multiple of minStorageBufferOffsetAlignment
  VkDeviceSize range = 0;
};

// One binding of a kernel, resolved as far as compile can.
struct Binding {
  enum class Source : uint8_t {
    Constant,  // weights and constants: never written, hence never a hazard
    Scratch,
    Host,    // input, output or state: its buffer is known at record
    Faults,  // one u32 of the slot
  };
  Source source = Source::Constant;
  bool write = false;
  uint32_t index = 0;  // Host: into Slot::bound; Faults: which word of the slot
  BoundRange range;    // Constant; Scratch: within the scratch, which may change
};

// One kernel of one pass, ready to be dispatched.
struct CompiledKernel {
  Pipeline* pipeline = nullptr;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  uint32_t binding_count = 0;
  std::array<Binding, kMaxBindings> bindings{};
  bool has_host = false;    // one descriptor set per slot, written at record
  bool has_faults = false;  // one descriptor set per slot
  bool per_slot() const { return has_host || has_faults; }
};

struct CompiledPass {
  KernelList kernels;
  uint32_t first_kernel = 0;  // in VulkanPlan::kernels_, of kernels.count
};

// All that record writes to. Slots share nothing, so that two slots may be recorded by two threads at a time.
// Everything has its final size after compile.
struct Slot {
  std::vector<int64_t> extents, sizes, storage_offsets;
  std::vector<BoundRange> bound;  // by host index: inputs, then outputs; then states
  detail::FoundStates states;
  std::vector<VkDescriptorSet> sets;          // by kernel
  std::vector<VkDescriptorBufferInfo> infos;  // one for each binding of a host buffer
  std::vector<VkWriteDescriptorSet> writes;
  DispatchList dispatches;
  HazardTracker hazards;
  bool recorded = false;  // to the end of its run
};

class VulkanPlan final : public detail::PlanImpl {
 public:
  bool is_of(const Context& context) const { return &context_ == &context; }
  // `owner`: the device, whose context and pipelines are given.
  VulkanPlan(std::shared_ptr<const detail::DeviceImpl> owner, Context& context, Pipelines& device_pipelines,
             std::shared_ptr<VulkanWeights> weights, Schedule&& schedule, const CompileOptions& options);
  ~VulkanPlan() override;

  // weights[i] belongs to schedule.weights[i].
  Status compile(const std::vector<const detail::WeightsImpl::Entry*>& weights);

  detail::Backend backend() const override { return detail::Backend::Vulkan; }
  const Log& host_log() const override { return context_.log; }
  const Schedule& schedule() const override { return schedule_; }
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override;
  Status start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
               const RunOptions& options) override;
  bool ended() override;
  Status finish() override;
  void spoil_before_runs() override { spoils_ = true; }
  uint64_t state_bytes() const override { return state_layout_->bytes; }
  Status make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) override;
  uint64_t scratch_bytes() const override { return schedule_.scratch_bytes; }
  uint64_t weight_bytes() const override { return weight_bytes_; }
  uint32_t pipeline_count() const override { return static_cast<uint32_t>(pipelines_.size()); }
  std::vector<PipelineInfo> pipelines() const override;
  Status prepare(uint32_t index) override;
  bool ready() const override;
  std::vector<PassInfo> passes() const override;
  Status timings(std::vector<PassTime>* times, uint32_t slot) const override;

  Status record(VkCommandBuffer commands, const RecordInfo& info);
  Status record_some(VkCommandBuffer commands, const RecordInfo& info, double budget_ms, Cursor* cursor);
  Status estimate(std::span<const ExtentValue> extents, const Cursor& cursor, Estimate* result) const;
  SyncNeeds sync_needs() const;
  Status take_faults(uint32_t slot);
  Status scratch_needs(BufferNeeds* needs);
  Status bind_scratch(const BufferRange& range);
  Status state_needs(BufferNeeds* needs);
  // The State lies in a buffer of its own if `range` is null.
  Status make_state_in(const BufferRange* range, std::shared_ptr<detail::StateImpl>* state);
  Status last_completed(uint32_t slot, int32_t* pass);

 private:
  friend class Recorder;

  // compile.cpp
  Status select_passes();
  Status check_memory_limit() const;
  Status allocate_memory();
  Status create_constants();
  Status create_faults();
  Status resolve_bindings(const std::vector<const detail::WeightsImpl::Entry*>& weights);
  BoundRange range_of_weights(const Node& pass) const;
  Status resolve_binding(const Node& pass, Tensor tensor, const std::vector<const detail::WeightsImpl::Entry*>& weights,
                         Binding* binding);
  Status create_slots();

  // descriptors.cpp
  Status create_descriptor_pool();
  Status allocate_sets();
  void write_fixed_descriptors(uint32_t kernel, uint32_t slot, bool scratch_only);
  void update_descriptors(Slot& slot) const;

  // prepare.cpp
  Status start_pipelines();
  Status prepare_all();
  void stop_background();

  // bind.cpp
  size_t host_count() const { return schedule_.inputs.size() + schedule_.outputs.size(); }
  Status bind_host_buffers(std::span<const Buffer> buffers, Slot& slot) const;
  Status bind_host_buffer(size_t index, const Buffer& buffer, Slot& slot) const;
  uint64_t host_begin(size_t index, const Slot& slot) const;  // bytes into its buffer
  Status check_overlaps(size_t output, const Slot& slot) const;

  // state.cpp
  Status bind_states(const State& given, Slot& slot) const;

  // record.cpp
  Status record_part(VkCommandBuffer commands, const RecordInfo& info, double budget_ms, Cursor* cursor);
  Status check_recording(VkCommandBuffer commands, const RecordInfo& info) const;
  Status check_scratch(const char* call) const;
  uint64_t buffers_of(const Slot& slot) const;  // the same number for the same places of all host's buffers
  Status check_cursor(const Cursor& cursor, const RecordInfo& info, const Slot& slot) const;
  void begin_run(const RecordInfo& info, Slot& slot, Cursor* cursor);
  uint64_t forget_run();  // cursors of earlier runs are no longer good; gives the number of the next
  BoundRange range_of(const Binding& binding, const Slot& slot, uint32_t slot_index) const;
  void record_start(VkCommandBuffer commands, uint32_t slot_index, bool fresh) const;
  void record_end(VkCommandBuffer commands) const;

  // report.cpp
  void log_last_completed();

  // run.cpp
  Status prepare_run();
  void record_spoiling(VkCommandBuffer commands);

  // Bytes of one slot's fault words, and of one word with the gap that descriptor alignment asks for.
  uint64_t fault_word_bytes() const { return context_.buffer_alignment(); }
  uint64_t fault_slot_bytes() const { return faulting_passes_.size() * fault_word_bytes(); }
  uint64_t fault_bytes() const { return options_.record_slots * fault_slot_bytes(); }

  std::shared_ptr<const detail::DeviceImpl> owner_;  // outlives all below
  std::shared_ptr<VulkanWeights> weights_;           // null if the graph has none
  Context& context_;
  Pipelines& device_pipelines_;
  Schedule schedule_;
  CompileOptions options_;
  std::shared_ptr<const detail::StateLayout> state_layout_;
  uint64_t weight_bytes_ = 0;

  std::vector<CompiledPass> passes_;
  std::vector<CompiledKernel> kernels_;
  std::vector<Pipeline*> pipelines_;  // of all kernels, each once
  mutable std::atomic<bool> ready_{false};
  std::atomic<bool> stop_{false};
  Thread background_;
  std::vector<uint32_t> faulting_passes_;  // by fault word: which pass sets it
  std::vector<uint64_t> constant_offsets_;
  uint64_t constant_bytes_ = 0;

  DeviceBuffer scratch_, constants_, faults_;
  BufferRange scratch_at_;  // in scratch_ or in the host's buffer
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  mutable GpuClock clock_;  // timings reads what the GPU has written since
  Progress progress_;
  mutable PassTimes times_;
  std::atomic<uint64_t> run_{0};  // the last that was begun
  std::vector<Slot> slots_;
  std::unique_ptr<HostIo> host_io_;  // made by the first run
  bool spoils_ = false;              // see spoil_before_runs
  // The run that is going on: the host's buffers, inputs first, with the bytes that it uses of each. finish copies outputs
  // into them.
  std::vector<const HostBuffer*> run_buffers_;
  std::vector<uint64_t> run_bytes_;
  std::vector<Buffer> run_bound_;  // where host_io_ has them, the same at every run
};

// It is inline, since recording a dispatch calls it for each binding.
inline BoundRange VulkanPlan::range_of(const Binding& binding, const Slot& slot, uint32_t slot_index) const {
  switch (binding.source) {
    case Binding::Source::Host: return slot.bound[binding.index];
    case Binding::Source::Faults:
      return {faults_.handle(), slot_index * fault_slot_bytes() + binding.index * fault_word_bytes(), sizeof(uint32_t)};
    case Binding::Source::Scratch:
      return {scratch_at_.buffer, scratch_at_.offset + binding.range.offset, binding.range.range};
    case Binding::Source::Constant: break;
  }
  return binding.range;
}

// InvalidArgument if the slot is 0 and a run uses it.
Status check_slot_free(const VulkanPlan& plan, uint32_t slot, const char* call);
// The plan behind a handle. Null if there is none, or one of the CPU device, which is logged as a mistake of `call`
// unless that is null.
VulkanPlan* plan_of(const Plan& plan, const char* call);

}  // namespace heed::vulkan
