// A plan on a Vulkan device.
//
// compile.cpp and descriptors.cpp make everything that a run needs: pipelines, memory, descriptor sets, and one Slot per recording that may
// be in flight. After that record.cpp checks the arguments and recorder.cpp loops over this data. bind.cpp and state.cpp check the host's
// buffers and States; scratch.cpp binds the host's scratch; prepare.cpp creates the pipelines, now or later; run.cpp implements Plan::run
// with it; report.cpp and estimate.cpp implement queries.
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

// One binding of a kernel, resolved as far as possible at compile.
struct Binding {
  enum class Source : uint8_t {
    Constant,  // weights and constants: never written, so without hazards
    Scratch,
    Host,    // input, output or state: its buffer is known at record
    Faults,  // one u32 of the slot
  };
  Source source = Source::Constant;
  bool write = false;
  uint32_t index = 0;  // Host: index into Slot::bound; Faults: index of the slot's word
  BoundRange range;    // for Constant; for Scratch, the range within the scratch, whose buffer may change
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
  uint32_t first_kernel = 0;  // in VulkanPlan::kernels_; the pass has kernels.count of them
};

// Everything that record writes to. Slots share nothing, so that threads may record different slots at the same time. All vectors have
// their final size after compile.
struct Slot {
  std::vector<int64_t> extents, sizes, storage_offsets;
  std::vector<BoundRange> bound;  // host's buffers: inputs, then outputs, then states
  detail::FoundStates states;
  std::vector<VkDescriptorSet> sets;          // by kernel
  std::vector<VkDescriptorBufferInfo> infos;  // one for each descriptor of a host's buffer
  std::vector<VkWriteDescriptorSet> writes;
  DispatchList dispatches;
  HazardTracker hazards;
  bool recorded = false;  // its run is recorded to the end
};

class VulkanPlan final : public detail::PlanImpl {
 public:
  bool is_of(const Context& context) const { return &context_ == &context; }
  // `owner` is the device, to which the context and pipelines belong.
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
  // If `range` is null, the State gets its own buffer.
  Status make_state_in(const BufferRange* range, std::shared_ptr<detail::StateImpl>* state);
  Status last_completed(uint32_t slot, int32_t* pass);

 private:
  friend class Recorder;

  // In compile.cpp.
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

  // In descriptors.cpp.
  Status create_descriptor_pool();
  Status allocate_sets();
  void write_fixed_descriptors(uint32_t kernel, uint32_t slot, bool scratch_only);
  void update_descriptors(Slot& slot) const;

  // In prepare.cpp.
  Status start_pipelines();
  Status prepare_all();
  void stop_background();

  // In bind.cpp.
  size_t host_count() const { return schedule_.inputs.size() + schedule_.outputs.size(); }
  Status bind_host_buffers(std::span<const Buffer> buffers, Slot& slot) const;
  Status bind_host_buffer(size_t index, const Buffer& buffer, Slot& slot) const;
  uint64_t host_begin(size_t index, const Slot& slot) const;  // offset in its buffer, in bytes
  Status check_overlaps(size_t output, const Slot& slot) const;

  // In state.cpp.
  Status bind_states(const State& given, Slot& slot) const;

  // In record.cpp.
  Status record_part(VkCommandBuffer commands, const RecordInfo& info, double budget_ms, Cursor* cursor);
  Status check_recording(VkCommandBuffer commands, const RecordInfo& info) const;
  Status check_scratch(const char* call) const;
  uint64_t buffers_of(const Slot& slot) const;  // a fingerprint of all host's buffers and ranges
  Status check_cursor(const Cursor& cursor, const RecordInfo& info, const Slot& slot) const;
  void begin_run(const RecordInfo& info, Slot& slot, Cursor* cursor);
  uint64_t forget_run();  // invalidates cursors of earlier runs; returns the number of the next run
  BoundRange range_of(const Binding& binding, const Slot& slot, uint32_t slot_index) const;
  void record_start(VkCommandBuffer commands, uint32_t slot_index, bool fresh) const;
  void record_end(VkCommandBuffer commands) const;

  // In report.cpp.
  void log_last_completed();

  // In run.cpp.
  Status prepare_run();
  void record_spoiling(VkCommandBuffer commands);

  // Bytes of one fault word, padded to descriptor alignment, and of all fault words of a slot.
  uint64_t fault_word_bytes() const { return context_.buffer_alignment(); }
  uint64_t fault_slot_bytes() const { return faulting_passes_.size() * fault_word_bytes(); }
  uint64_t fault_bytes() const { return options_.record_slots * fault_slot_bytes(); }

  std::shared_ptr<const detail::DeviceImpl> owner_;  // must outlive the members below
  std::shared_ptr<VulkanWeights> weights_;           // null if the graph has none
  Context& context_;
  Pipelines& device_pipelines_;
  Schedule schedule_;
  CompileOptions options_;
  std::shared_ptr<const detail::StateLayout> state_layout_;
  uint64_t weight_bytes_ = 0;

  std::vector<CompiledPass> passes_;
  std::vector<CompiledKernel> kernels_;
  std::vector<Pipeline*> pipelines_;  // pipelines of all kernels, without duplicates
  mutable std::atomic<bool> ready_{false};
  std::atomic<bool> stop_{false};
  Thread background_;
  std::vector<uint32_t> faulting_passes_;  // by fault word: the pass that sets it
  std::vector<uint64_t> constant_offsets_;
  uint64_t constant_bytes_ = 0;

  DeviceBuffer scratch_, constants_, faults_;
  BufferRange scratch_at_;  // within scratch_ or the host's buffer
  VkDescriptorPool descriptor_pool_ = VK_NULL_HANDLE;
  mutable GpuClock clock_;  // mutable since timings() reads new timestamps
  Progress progress_;
  mutable PassTimes times_;
  std::atomic<uint64_t> run_{0};  // number of the last run that began
  std::vector<Slot> slots_;
  std::unique_ptr<HostIo> host_io_;  // made by the first run
  bool spoils_ = false;              // see spoil_before_runs
  // The current run: the host's buffers, inputs first, and the bytes that it uses of each. finish copies outputs to them.
  std::vector<const HostBuffer*> run_buffers_;
  std::vector<uint64_t> run_bytes_;
  std::vector<Buffer> run_bound_;  // buffers in host_io_, the same at every run
};

// Inline, since recording calls it for each binding of each dispatch.
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

// InvalidArgument if `slot` is 0 and a run uses it.
Status check_slot_free(const VulkanPlan& plan, uint32_t slot, const char* call);
// The plan behind a handle. Null if the handle is empty or the plan is the CPU's; that is logged as an error of `call`, unless `call` is
// null.
VulkanPlan* plan_of(const Plan& plan, const char* call);

}  // namespace heed::vulkan
