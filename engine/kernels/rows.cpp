#include "kernels/rows.hpp"

#include <algorithm>

namespace heed::kernels {
namespace {

enum Spec : size_t { kFlags = 3, kHeld, kVec4, kOneSubgroup, kSpecCount };

// How rows are cut: lanes per row, rows per workgroup, and how many groups of four elements a lane keeps (0:
// none, rows of any length).
struct RowShape {
  uint32_t lanes, rows, held;
  const char* why;

  bool holds(int64_t length) const { return held == 0 || length <= int64_t{4} * lanes * held; }
};

struct RowShapes {
  uint32_t count = 0;
  std::array<RowShape, 5> shapes{};
  void add(const RowShape& shape) { shapes[count++] = shape; }
};

// Longer rows are read again in every walk. On a GPU 32 elements of a lane leave room for many workgroups at
// once; on a CPU registers are memory anyway, and the limit keeps compiling short.
constexpr uint32_t kMostHeld = 8, kMostHeldSoftware = 32;
// Without groups of four every element is a read of its own, and unrolling all of them takes the driver long.
constexpr uint32_t kMostHeldScalars = 8;

uint32_t groups_of(int64_t length, uint32_t lanes) { return u32(ceil_div<int64_t>(length, int64_t{4} * lanes)); }

// One subgroup per row: no barrier.
RowShapes software_shapes(uint32_t lanes, int64_t longest, bool varies) {
  RowShapes shapes;
  constexpr const char* kWhy = "a subgroup per row, which it keeps: a barrier would cost more";
  const uint32_t most = groups_of(longest, lanes);
  if (varies)
    for (const uint32_t held : {1u, 4u, 16u})
      if (held < most) shapes.add({lanes, 1, held, kWhy});
  if (most <= kMostHeldSoftware)
    shapes.add({lanes, 1, most, kWhy});
  else
    shapes.add({lanes, 1, 0, "a subgroup per row, read in every walk: too long to keep"});
  return shapes;
}

// Short rows share a workgroup of 128.
RowShapes gpu_shapes(int64_t longest, bool varies) {
  RowShapes shapes;
  if (longest <= 32 || varies) shapes.add({8, 16, 1, "short rows: 16 per workgroup, kept in registers"});
  if ((longest > 32 && longest <= 256) || (varies && longest > 32))
    shapes.add({32, 4, 2, "4 rows per workgroup, kept in registers"});
  const uint32_t most = groups_of(longest, kRowInvocations);
  if (longest > 256 && most <= kMostHeld)
    shapes.add({kRowInvocations, 1, most, "a workgroup per row, kept in registers"});
  if (most > kMostHeld) {
    if (varies) shapes.add({kRowInvocations, 1, kMostHeld, "a workgroup per row, kept in registers"});
    shapes.add({kRowInvocations, 1, 0, "a workgroup per row, read in every walk: too long to keep"});
  }
  return shapes;
}

// The variant with subgroup operations may be used for these rows.
bool may_use_subgroups(const Select& select, const RowIds& ids) {
  return select.device.subgroup_arithmetic && select.device.allows(ids.subgroup.of(select.out().dtype));
}

KernelUse& add_shape(const Select& select, const RowIds& ids, const RowShape& shape, bool one_subgroup, bool vec4,
                     uint32_t flags, std::span<const size_t> inputs) {
  // Where a row has the whole workgroup, its lanes are whole subgroups.
  const bool subgroups = may_use_subgroups(select, ids) && shape.rows == 1;
  const KernelId id = (subgroups ? ids.subgroup : ids.plain).of(select.out().dtype);
  KernelUse& use = add_kernel(select, id, {shape.lanes, shape.rows, 1}, shape.why);
  auto& spec = use.key.spec;
  use.key.spec_count = kSpecCount;
  spec[kFlags] = flags;
  spec[kHeld] = vec4 || shape.held <= kMostHeldScalars ? shape.held : 0;
  spec[kVec4] = vec4;
  spec[kOneSubgroup] = one_subgroup;
  bind(select, &use, inputs);
  return use;
}

// The first kernel that can do it: they are in the order of the lengths they hold.
uint32_t find_kernel(const KernelList& kernels, int64_t length, bool vec4) {
  for (const bool wanted : {true, false}) {
    for (uint32_t i = 0; i < kernels.count && (vec4 || !wanted); ++i) {
      const auto& spec = kernels.uses[i].key.spec;
      if ((spec[kVec4] != 0) == wanted && RowShape{spec[0], spec[1], spec[kHeld], ""}.holds(length)) return i;
    }
  }
  return kernels.count - 1;
}

}  // namespace

void select_rows(const Select& select, const RowIds& ids, SizeId length, uint32_t flags,
                 std::span<const Tensor> operands, std::span<const size_t> inputs) {
  const int64_t longest = select.max_of(length);
  const bool varies = !select.schedule.sizes.is_constant(length);
  const bool one_subgroup =
      select.device.software && may_use_subgroups(select, ids) && select.device.subgroup_size <= kRowInvocations;
  const RowShapes shapes =
      one_subgroup ? software_shapes(select.device.subgroup_size, longest, varies) : gpu_shapes(longest, varies);
  Vec4 known = Vec4::Always;
  for (const Tensor tensor : operands) known = worse(known, vec4_of(select, tensor));
  for (uint32_t i = 0; i < shapes.count; ++i)
    add_vec4_kernels(known, [&](bool vec4) -> KernelUse& {
      return add_shape(select, ids, shapes.shapes[i], one_subgroup, vec4, flags, inputs);
    });
}

Dispatch& emit_rows(const Emit& emit, int64_t rows, int64_t length, bool vec4) {
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = find_kernel(emit.kernels, length, vec4);
  dispatch.groups = fold_groups(ceil_div<int64_t>(rows, emit.kernels.uses[dispatch.kernel].key.spec[1]));
  return dispatch;
}

}  // namespace heed::kernels
