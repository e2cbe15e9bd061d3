// Types and functions for the select and emit functions of all operations. Internal to this layer.
#pragma once

#include <algorithm>
#include <span>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "graph/schedule/schedule.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/params.hpp"

namespace heed::kernels {

// A node that may not be part of a schedule yet, and the device that will run it.
struct Need {
  const SizeTable& sizes;
  std::span<const TensorInfo> tensors;
  std::span<const detail::ExtentInfo> extents;
  std::span<const int64_t> max_values;
  const Node& node;
  const Capabilities& device;
  bool reproducible = false;

  const TensorInfo& info(size_t input) const { return tensors[node.inputs[input].id]; }
  int64_t max_of(SizeId size) const { return max_values[static_cast<size_t>(size)]; }
};

struct Select {
  const Schedule& schedule;
  const Node& node;
  const Capabilities& device;
  const Log& log;
  KernelList* kernels;

  bool reproducible() const { return schedule.asked.reproducible; }
  bool has(size_t input) const { return node.inputs[input].valid(); }
  const TensorInfo& info(size_t input) const { return schedule.info(node.inputs[input]); }
  const TensorInfo& out() const { return schedule.info(node.outputs[0]); }
  int64_t max_of(SizeId size) const { return schedule.max_values[static_cast<size_t>(size)]; }
  Need need() const {
    return {schedule.sizes, schedule.tensors, schedule.extents, schedule.max_values, node, device, reproducible()};
  }
  // Unsupported, with the operation, the pass and `what`.
  Status unsupported(const std::string& what) const;
};

struct Emit {
  const Schedule& schedule;
  const Node& node;
  const Capabilities& device;
  const KernelList& kernels;
  const RunValues& values;
  DispatchList* dispatches;

  bool has(size_t input) const { return node.inputs[input].valid(); }
  View in(size_t input) const { return resolve(schedule, node.inputs[input], values); }
  View out() const { return resolve(schedule, node.outputs[0], values); }
};

// The variants of a kernel that differ only in storage type.
struct ByStorage {
  KernelId f32, f16, bf16;

  KernelId of(DType dtype) const { return dtype == DType::F16 ? f16 : dtype == DType::BF16 ? bf16 : f32; }
  bool has(KernelId id) const { return id == f32 || id == f16 || id == bf16; }
};
inline bool is_16_bit_float(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }
// Unsupported if the device's kernels cannot compute with storage of `dtype`.
Status check_storage(const Select& select, DType dtype);
// The variant for storage of `dtype`, or Unsupported.
Status pick_storage(const Select& select, DType dtype, const ByStorage& ids, KernelId* id);
// Unsupported unless input `position`, if present, has this element type.
Status expect_dtype(const Select& select, size_t position, const char* what, DType dtype);
// The HEED_SOFTMAX_* bits, shared by softmax and attention. The last three arguments are positions of optional inputs.
uint32_t masking_flags(const Select& select, const SoftmaxAttrs& attrs, size_t key_padding, size_t mask, size_t bias);

constexpr uint32_t kInvocations = 128;  // per workgroup, where invocations do not cooperate
// Appends a kernel with its workgroup size. The caller sets constants from `spec_count` on.
KernelUse& add_kernel(const Select& select, KernelId id, std::array<uint32_t, 3> workgroup, const char* why);
// Binds inputs in this order, then the output. An absent input's binding gets input 0, which the kernel does not read there, since every
// binding needs a buffer.
void bind(const Select& select, KernelUse* use, std::span<const size_t> inputs);

constexpr uint32_t u32(int64_t value) { return static_cast<uint32_t>(value); }
// min(a * b, most)
inline int64_t mul_up_to(int64_t a, int64_t b, int64_t most) {
  int64_t product = 0;
  return checked_mul(a, b, &product) ? std::min(product, most) : most;
}

// Views iterated together over one row-major index space, right-aligned, with leading dims of 1.
inline constexpr int kMaxViews = 7;
struct Walk {
  int rank = 1;  // number of dimensions in use, the last ones
  std::array<int64_t, kMaxRank> dim = {1, 1, 1, 1, 1, 1};
  std::array<std::array<int64_t, kMaxRank>, kMaxViews> stride{};

  int64_t elements(int innermost_left_out = 0) const {
    int64_t n = 1;
    for (int i = 0; i < kMaxRank - innermost_left_out; ++i) n *= dim[static_cast<size_t>(i)];
    return n;
  }
};
// Iterates over the shape of `target`, to which views broadcast by numpy's rule. A null view gets strides of 0.
Walk make_walk(const View& target, std::span<const View* const> views);
// Merges adjacent dimensions that have a common stride in every view; the innermost `keep` are unchanged.
void merge_dims(Walk* walk, int keep);

// Copies dims or strides to a push-constant array: the last `count`, without the `skip` innermost.
template <size_t N>
void put(uint32_t (&target)[N], const std::array<int64_t, kMaxRank>& from, int skip = 0) {
  for (size_t i = 0; i < N; ++i) target[i] = u32(from[static_cast<size_t>(kMaxRank - skip) - N + i]);
}

// --- Operands that are read four (or `width`) elements at once

// Whether a view can be read this way: the last dimension is contiguous, and its length, the distances of rows and the offset are multiples
// of `width` elements.
bool is_vec4(const View& view, int64_t width = 4);
// The part of is_vec4 that compile can decide. Strides that depend on extents, and offsets in a host's buffers, are known only at a run.
enum class Vec4 : uint8_t { Never, AtSomeRuns, Always };
Vec4 vec4_of(const Select& select, Tensor tensor, int64_t width = 4);
Vec4 vec4_of(const Select& select, const TensorInfo& info,
             int64_t width = 4);  // for a view that is not a tensor of the graph
inline Vec4 worse(Vec4 a, Vec4 b) { return a < b ? a : b; }
// Calls add(vec4, reads) for each needed kernel: the one that reads four elements at once, the general one, or both.
template <class Add>
void add_vec4_kernels(Vec4 known, const Add& add) {
  const bool both = known == Vec4::AtSomeRuns;
  if (known != Vec4::Never) add(true, both ? Traits::Reads::Vec4 : Traits::Reads::Any);
  if (known != Vec4::Always) add(false, both ? Traits::Reads::Others : Traits::Reads::Any);
}

// The number of blocks of the quantized weight that a tensor shows, whose shape is constant.
int64_t blocks_of(const Schedule& schedule, Tensor tensor);

// Group counts for `total` workgroups, folded as shared/limits.h requires.
std::array<uint32_t, 3> fold_groups(int64_t total);

// A text for each storage type of activations.
struct WhyStorage {
  const char *f32, *f16, *bf16;
  const char* of(DType dtype) const { return dtype == DType::F16 ? f16 : dtype == DType::BF16 ? bf16 : f32; }
};
#define HEED_WHY_STORAGE(text) \
  {text "; f32 storage, f32 sums", text "; f16 storage, f32 sums", text "; bf16 storage, f32 sums"}

}  // namespace heed::kernels
