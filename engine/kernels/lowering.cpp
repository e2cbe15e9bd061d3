#include "kernels/lowering.hpp"

#include <algorithm>
#include <optional>

#include "kernels/canon.hpp"
#include "kernels/loops.hpp"
#include "kernels/operations.hpp"
#include "shared/types.h"

namespace heed {
namespace kernels {

Status Select::unsupported(const std::string& what) const {
  return fail(log, Status::Unsupported, format("%s %s: %s", to_string(node.op), node.label.c_str(), what.c_str()));
}

Status check_storage(const Select& select, DType dtype) {
  if (dtype == DType::F32 || (is_16_bit_float(dtype) && select.device.storage_16bit)) return Status::Ok;
  if (is_16_bit_float(dtype))
    return select.unsupported(
        format("%s was asked for, but this device has no 16-bit storage buffers, or the host lists none "
               "(storageBuffer16BitAccess in HostDevice::enabled_features)",
               to_string(dtype)));
  return select.unsupported(format("%s was asked for; one of f32, f16 and bf16 is needed", to_string(dtype)));
}

Status pick_storage(const Select& select, DType dtype, const ByStorage& ids, KernelId* id) {
  *id = ids.of(dtype);
  return check_storage(select, dtype);
}

Status expect_dtype(const Select& select, size_t position, const char* what, DType dtype) {
  if (!select.has(position) || select.info(position).dtype == dtype) return Status::Ok;
  return select.unsupported(
      format("%s is %s; %s is needed", what, to_string(select.info(position).dtype), to_string(dtype)));
}

KernelUse& add_kernel(const Select& select, KernelId id, std::array<uint32_t, 3> workgroup, const char* why) {
  KernelUse& use = select.kernels->add();
  use.key.id = id;
  std::copy(workgroup.begin(), workgroup.end(), use.key.spec.begin());
  use.why = why;
  return use;
}

void bind(const Select& select, KernelUse* use, std::span<const size_t> inputs) {
  for (const size_t input : inputs) {
    const Tensor tensor = select.has(input) ? select.node.inputs[input] : select.node.inputs[0];
    use->buffers[use->buffer_count++] = {BufferUse::Kind::Tensor, false, tensor};
  }
  use->buffers[use->buffer_count++] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
}

Walk make_walk(const View& target, std::span<const View* const> views) {
  Walk walk;
  walk.rank = std::max(target.rank, 1);
  const int pad = kMaxRank - target.rank;
  for (int i = 0; i < target.rank; ++i) walk.dim[static_cast<size_t>(pad + i)] = target.dim[i];
  for (size_t v = 0; v < views.size(); ++v) {
    if (views[v] == nullptr) continue;
    const View view = broadcast_to(*views[v], target);
    for (int i = 0; i < target.rank; ++i) walk.stride[v][static_cast<size_t>(pad + i)] = view.stride[i];
  }
  return walk;
}

namespace {

// Whether dimensions i and i + 1 can be merged for this view.
bool continues(const Walk& walk, size_t view, size_t i) {
  return walk.stride[view][i] == walk.stride[view][i + 1] * walk.dim[i + 1];
}

// Removes dimension i; outer ones move one place inwards.
void remove_dim(Walk* walk, size_t i) {
  for (size_t d = i; d > 0; --d) {
    walk->dim[d] = walk->dim[d - 1];
    for (auto& stride : walk->stride) stride[d] = stride[d - 1];
  }
  walk->dim[0] = 1;
  for (auto& stride : walk->stride) stride[0] = 0;
  --walk->rank;
}

}  // namespace

void merge_dims(Walk* walk, int keep) {
  const size_t last = static_cast<size_t>(kMaxRank - keep);  // end of the dimensions that may be merged
  for (size_t i = last; i-- > static_cast<size_t>(kMaxRank - walk->rank);) {
    if (walk->dim[i] == 1 && walk->rank > std::max(keep, 1)) {
      remove_dim(walk, i);
      ++i;  // the next outer dimension has moved here
      continue;
    }
    if (i + 1 >= last) continue;
    bool all = true;
    for (size_t v = 0; v < kMaxViews; ++v) all = all && continues(*walk, v, i);
    if (!all) continue;
    walk->dim[i + 1] *= walk->dim[i];
    remove_dim(walk, i);
    ++i;
  }
}

uint32_t masking_flags(const Select& select, const SoftmaxAttrs& attrs, size_t key_padding, size_t mask, size_t bias) {
  uint32_t flags = 0;
  if (attrs.causal != Causal::None) flags |= HEED_SOFTMAX_CAUSAL;
  if (attrs.causal == Causal::BottomRight) flags |= HEED_SOFTMAX_BOTTOM_RIGHT;
  if (select.has(key_padding)) flags |= HEED_SOFTMAX_KEY_PADDING;
  if (attrs.key_padding_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_KEY_PADDING_KEEP;
  if (select.has(mask)) flags |= HEED_SOFTMAX_MASK;
  if (attrs.mask_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_MASK_KEEP;
  if (select.has(bias)) flags |= HEED_SOFTMAX_BIAS;
  if (attrs.masked_fill) flags |= HEED_SOFTMAX_FILL;
  return flags;
}

int64_t blocks_of(const Schedule& schedule, Tensor tensor) {
  const Placement& whole = schedule.placement(tensor);
  return schedule.max_values[static_cast<size_t>(whole.elements)] / block_of(schedule.info(tensor).dtype).elements;
}

std::array<uint32_t, 3> fold_groups(int64_t total) {
  const int64_t x = std::min<int64_t>(total, HEED_FOLD_X);
  const int64_t rows = ceil_div<int64_t>(total, HEED_FOLD_X);
  const int64_t y = std::min<int64_t>(rows, HEED_FOLD_Y);
  return {u32(x), u32(y), u32(ceil_div<int64_t>(rows, HEED_FOLD_Y))};
}

namespace {

Status check_ranges(const Select& select) {
  const auto check = [&](Tensor tensor) {
    if (!tensor.valid()) return Status::Ok;
    const uint64_t bytes = select.schedule.placement(tensor).bytes;
    if (bytes <= select.device.max_storage_range) return Status::Ok;
    const TensorInfo& info = select.schedule.info(tensor);
    return select.unsupported(format("tensor '%s' takes %llu bytes; this device binds at most %llu", info.name.c_str(),
                                     static_cast<unsigned long long>(bytes),
                                     static_cast<unsigned long long>(select.device.max_storage_range)));
  };
  for (const auto& tensors :
       {std::span<const Tensor>(select.node.inputs), std::span<const Tensor>(select.node.outputs)})
    for (const Tensor tensor : tensors)
      if (const Status status = check(tensor); status != Status::Ok) return status;
  return Status::Ok;
}

int64_t workspace_of(const Need& need) {
  switch (need.node.op) {
#define HEED_OPERATION(enumerator, name, ...)                                            \
  case Op::enumerator:                                                                   \
    if constexpr (info_of(Op::enumerator).asks_workspace) return name##_workspace(need); \
    break;
#include "graph/operations.inc"
#undef HEED_OPERATION
  }
  return 0;
}

Status select_op(const Select& select) {
  switch (select.node.op) {
#define HEED_OPERATION(enumerator, name, ...) \
  case Op::enumerator: return select_##name(select);
#include "graph/operations.inc"
#undef HEED_OPERATION
  }
  return select.unsupported("unknown operation");
}

}  // namespace
}  // namespace kernels

bool KernelPlanning::fuses_attention(const detail::GraphData& graph, const Node& node) const {
  return kernels::fuses_attention(graph.sizes, graph.tensors, node, device_);
}

bool KernelPlanning::projects(DType rows, DType weights, DType results) const {
  return kernels::projects(device_, rows, weights, results);
}

// One binding must hold them all, and kernels read 16 bytes at once.
bool KernelPlanning::binds_together(std::span<const detail::WeightEntry* const> weights) const {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const detail::WeightEntry* const entry : weights) {
    begin = std::min(begin, entry->offset);
    end = std::max(end, entry->offset + entry->bytes);
  }
  return end - begin <= traits.max_tensor_bytes && traits.alignment % 16 == 0;
}

int64_t KernelPlanning::workspace(const detail::GraphData& graph, std::span<const int64_t> max_values, const Node& node,
                                  bool reproducible) const {
  return kernels::workspace_of({graph.sizes, graph.tensors, graph.extents, max_values, node, device_, reproducible});
}

Status select_kernels(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                      KernelList* kernels) {
  kernels->clear();
  if (schedule.asked.reproducible && device.irreproducible != nullptr)
    return fail(log, Status::Unsupported,
                format("compile: reproducible plans need more than this device promises: %s", device.irreproducible));
  std::optional<Capabilities> limited;
  if (schedule.asked.reproducible) limited = kernels::canon_device(device);
  const kernels::Select select{schedule, node, limited ? *limited : device, log, kernels};
  Status status = kernels::check_ranges(select);
  if (status == Status::Ok) status = kernels::select_op(select);
  if (status == Status::Ok && schedule.asked.reproducible) status = kernels::take_canon_kernels(select);
  if (status == Status::Ok && kernels->overflowed)
    status = select.unsupported(format("more than %u kernels may be needed", kMaxKernelsPerPass));
  for (uint32_t i = 0; i < kernels->count && status == Status::Ok; ++i) {
    KernelKey& key = kernels->uses[i].key;
    if (key.custom == nullptr) key.set(HEED_TYPES_CONSTANT, kernel_info(key.id).types);
    if (key.custom == nullptr && !device.allows(key.id))
      status = select.unsupported(format("%s failed the self-test on this device", kernel_name(key)));
  }
  if (status == Status::Ok)
    status = kernels::check_rounds(schedule, node, device, log, *kernels, {.sizes = schedule.max_values});
  return status;
}

void emit_dispatches(const Schedule& schedule, const Node& node, const Capabilities& device, const KernelList& kernels,
                     const RunValues& values, DispatchList* dispatches) {
  dispatches->clear();
  const kernels::Emit emit{schedule, node, device, kernels, values, dispatches};
  switch (node.op) {
#define HEED_OPERATION(enumerator, name, ...) \
  case Op::enumerator: return kernels::emit_##name(emit);
#include "graph/operations.inc"
#undef HEED_OPERATION
  }
}

}  // namespace heed
