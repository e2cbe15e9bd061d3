#include <algorithm>
#include <cstring>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

VulkanPlan::VulkanPlan(std::shared_ptr<const detail::DeviceImpl> owner, Context& context, Pipelines& device_pipelines,
                       std::shared_ptr<VulkanWeights> weights, Schedule&& schedule, const CompileOptions& options)
    : owner_(std::move(owner)),
      weights_(std::move(weights)),
      context_(context),
      device_pipelines_(device_pipelines),
      schedule_(std::move(schedule)),
      options_(options),
      state_layout_(std::make_shared<detail::StateLayout>(detail::layout_of(schedule_, context.buffer_alignment()))) {}

VulkanPlan::~VulkanPlan() {
  stop_background();
  if (context_.hung) return;
  // Also frees the descriptor sets.
  if (descriptor_pool_ != VK_NULL_HANDLE)
    context_.vk.DestroyDescriptorPool(context_.device, descriptor_pool_, context_.allocator);
}

Status VulkanPlan::compile(const std::vector<const detail::WeightsImpl::Entry*>& weights) {
  Status status = select_passes();
  if (status == Status::Ok) status = allocate_memory();
  if (status == Status::Ok) status = resolve_bindings(weights);
  if (status == Status::Ok) status = create_descriptor_pool();
  if (status == Status::Ok) status = create_slots();
  times_.create(passes_.size(), context_.info.kind);
  if (status == Status::Ok && options_.timestamps)
    status = clock_.create(context_, passes_.size(), options_.record_slots);
  if (status == Status::Ok && options_.progress)
    status = progress_.create(context_, passes_.size(), options_.record_slots);
  return status == Status::Ok ? start_pipelines() : status;
}

Status VulkanPlan::select_passes() {
  passes_.resize(schedule_.passes.size());
  for (size_t i = 0; i < passes_.size(); ++i) {
    CompiledPass& pass = passes_[i];
    Status status = select_kernels(schedule_, schedule_.passes[i], context_.capabilities, context_.log, &pass.kernels);
    if (status != Status::Ok) return status;
    pass.first_kernel = static_cast<uint32_t>(kernels_.size());
    for (uint32_t k = 0; k < pass.kernels.count; ++k) {
      const KernelUse& chosen = pass.kernels.uses[k];
      CompiledKernel kernel;
      kernel.binding_count = chosen.buffer_count;
      kernel.layout = device_pipelines_.layout(chosen.buffer_count);
      kernel.pipeline = device_pipelines_.find(chosen.key, chosen.buffer_count);
      if (std::find(pipelines_.begin(), pipelines_.end(), kernel.pipeline) == pipelines_.end())
        pipelines_.push_back(kernel.pipeline);
      for (uint32_t b = 0; b < chosen.buffer_count; ++b) {
        if (chosen.buffers[b].kind != BufferUse::Kind::Faults) continue;
        // Every pass that may set a fault word has its own, so that the message can name the pass, and two consecutive embeddings need no
        // barrier.
        if (faulting_passes_.empty() || faulting_passes_.back() != i)
          faulting_passes_.push_back(static_cast<uint32_t>(i));
        kernel.bindings[b].source = Binding::Source::Faults;
        kernel.bindings[b].write = true;
        kernel.bindings[b].index = static_cast<uint32_t>(faulting_passes_.size() - 1);
        kernel.has_faults = true;
      }
      kernels_.push_back(kernel);
    }
  }
  return Status::Ok;
}

Status VulkanPlan::check_memory_limit() const {
  const uint64_t bytes = schedule_.scratch_bytes + constant_bytes_ + fault_bytes();
  if (bytes <= options_.memory_limit) return Status::Ok;
  return fail(context_.log, Status::OutOfDeviceMemory,
              format("compile: the plan needs %llu bytes of device memory; its limit is %llu",
                     static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(options_.memory_limit)));
}

Status VulkanPlan::allocate_memory() {
  for (const detail::ConstantInfo& constant : schedule_.constants) {
    constant_offsets_.push_back(constant_bytes_);
    constant_bytes_ =
        align_up<uint64_t>(constant_bytes_ + align_up<uint64_t>(constant.data.size(), 4), context_.buffer_alignment());
  }
  Status status = check_memory_limit();
  if (status == Status::Ok && schedule_.scratch_bytes != 0 && !options_.host_scratch)
    status = scratch_.create(context_, "scratch", schedule_.scratch_bytes,
                             kScratchUsage | VK_BUFFER_USAGE_TRANSFER_DST_BIT, MemoryUse::Device);
  scratch_at_ = {scratch_.handle(), 0, schedule_.scratch_bytes};
  if (status == Status::Ok && constant_bytes_ != 0) status = create_constants();
  if (status == Status::Ok && !faulting_passes_.empty()) status = create_faults();
  return status;
}

Status VulkanPlan::create_constants() {
  const Status status = constants_.create(context_, "constants", constant_bytes_, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                          MemoryUse::Constants);
  if (status != Status::Ok) return status;
  for (size_t i = 0; i < constant_offsets_.size(); ++i) {
    const std::span<const std::byte> data = schedule_.constants[i].data;
    if (!data.empty()) std::memcpy(constants_.mapped() + constant_offsets_[i], data.data(), data.size());
  }
  return constants_.flush();
}

Status VulkanPlan::create_faults() {
  const Status status =
      faults_.create(context_, "faults", fault_bytes(),
                     VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, MemoryUse::Staging);
  if (status != Status::Ok) return status;
  std::memset(faults_.mapped(), 0, faults_.bytes());
  return faults_.flush();
}

Status VulkanPlan::resolve_bindings(const std::vector<const detail::WeightsImpl::Entry*>& weights) {
  for (const detail::WeightsImpl::Entry* entry : weights) weight_bytes_ += entry->bytes;
  for (size_t i = 0; i < passes_.size(); ++i) {
    for (uint32_t k = 0; k < passes_[i].kernels.count; ++k) {
      const KernelUse& chosen = passes_[i].kernels.uses[k];
      CompiledKernel& kernel = kernels_[passes_[i].first_kernel + k];
      for (uint32_t b = 0; b < kernel.binding_count; ++b) {
        if (kernel.bindings[b].source == Binding::Source::Faults) continue;
        if (chosen.buffers[b].kind == BufferUse::Kind::Weights) {
          kernel.bindings[b].range = range_of_weights(schedule_.passes[i]);
          continue;
        }
        // Every binding in a shader's interface must be valid, even if this pass has no operand for it and the shader does not access it:
        // it gets the first operand, read-only.
        const BufferUse& wanted = chosen.buffers[b];
        const bool absent = !wanted.tensor.valid();
        kernel.bindings[b].write = wanted.write && !absent;
        const Status status = resolve_binding(schedule_.passes[i], absent ? chosen.buffers[0].tensor : wanted.tensor,
                                              weights, &kernel.bindings[b]);
        if (status != Status::Ok) return status;
        kernel.has_host |= kernel.bindings[b].source == Binding::Source::Host;
      }
    }
  }
  return Status::Ok;
}

// The range from the first to the last weight of a pass; those of one upload share a buffer.
BoundRange VulkanPlan::range_of_weights(const Node& pass) const {
  const auto [begin, end] = span_of_weights(schedule_, pass);
  return {weights_->buffer(), weights_->offset() + begin, end - begin};
}

Status VulkanPlan::resolve_binding(const Node& pass, Tensor tensor,
                                   const std::vector<const detail::WeightsImpl::Entry*>& weights, Binding* binding) {
  const Placement& at = schedule_.placement(tensor);
  switch (at.space) {
    case Placement::Space::Input:
      binding->source = Binding::Source::Host;
      binding->index = at.slot;
      break;
    case Placement::Space::Output:
      binding->source = Binding::Source::Host;
      binding->index = static_cast<uint32_t>(schedule_.inputs.size()) + at.slot;
      break;
    case Placement::Space::State:
      binding->source = Binding::Source::Host;
      binding->index = static_cast<uint32_t>(host_count()) + at.slot;
      break;
    case Placement::Space::Scratch:
      binding->source = Binding::Source::Scratch;
      binding->range = {VK_NULL_HANDLE, at.offset, at.bytes};
      break;
    case Placement::Space::Weight:
      binding->source = Binding::Source::Constant;
      binding->range = {weights_->buffer(), weights_->offset() + weights[at.slot]->offset, weights[at.slot]->bytes};
      break;
    case Placement::Space::Constant:
      binding->source = Binding::Source::Constant;
      binding->range = {constants_.handle(), constant_offsets_[at.slot], at.bytes};
      break;
    case Placement::Space::None:
      return fail(context_.log, Status::InvalidGraph,
                  format("compile: %s uses '%s', which has no memory", pass.label.c_str(),
                         schedule_.info(tensor).name.c_str()));
  }
  return Status::Ok;
}

Status VulkanPlan::create_slots() {
  slots_.resize(options_.record_slots);
  size_t host_bindings = 0;
  for (const CompiledKernel& kernel : kernels_)
    for (uint32_t b = 0; b < kernel.binding_count; ++b)
      host_bindings += kernel.bindings[b].source == Binding::Source::Host;
  for (Slot& slot : slots_) {
    slot.extents.resize(schedule_.extents.size());
    slot.sizes.resize(schedule_.sizes.count());
    slot.storage_offsets.resize(schedule_.tensors.size());
    slot.bound.resize(host_count() + schedule_.states.size());
    slot.states = detail::FoundStates(schedule_.states.size());
    slot.sets.resize(kernels_.size());
    slot.infos.resize(host_bindings);
    slot.writes.resize(host_bindings);
  }
  return allocate_sets();
}

}  // namespace heed::vulkan
