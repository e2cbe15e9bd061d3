#include "base/sample.hpp"

#include <bit>
#include <cstddef>

#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

// The most loops over a row: one for the largest key, then, for each of top-k, top-p and the draw, one for each digit of a key and of an
// index.
uint32_t most_walks(uint32_t index_bits) {
  return 1 + 3 * (ceil_div(32u, HEED_SAMPLE_DIGIT) + ceil_div(index_bits, HEED_SAMPLE_DIGIT));
}
// Long rows get more invocations if the device supports them, since a single workgroup reads a row.
constexpr uint32_t kManyInvocations = 512;
constexpr int64_t kLongRow = 4096;

constexpr const char* kWhySample = "a workgroup per row; whole numbers decide";

static_assert(sizeof(SampleSettings) == HEED_SAMPLE_WORDS * 4 &&
              offsetof(SampleSettings, top_k) == HEED_SAMPLE_TOP_K * 4 &&
              offsetof(SampleSettings, min_p) == HEED_SAMPLE_MIN_P * 4 &&
              offsetof(SampleSettings, inverse) == HEED_SAMPLE_INVERSE * 4);

uint32_t invocations_of(const Select& select, int64_t longest) {
  const bool many = longest > kLongRow && select.device.max_invocations >= kManyInvocations;
  return many ? kManyInvocations : kFloorInvocations;
}

// The distance between rows of an operand, in elements; 0 if all rows of x share one, or there is none.
uint32_t row_step(const View& view, int64_t length) { return view.elements() > length ? u32(length) : 0; }

}  // namespace

Status select_sample(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  const Status status =
      pick_storage(select, x.dtype, {KernelId::SampleF32, KernelId::SampleF16, KernelId::SampleBf16}, &id);
  if (status != Status::Ok) return status;
  const int64_t longest = select.max_of(x.dims[static_cast<size_t>(x.rank - 1)]);
  KernelUse& use = add_kernel(select, id, {invocations_of(select, longest), 1, 1}, kWhySample);
  use.key.set(SampleConstants::BIAS, select.has(in::kSampleBias));
  use.key.set(SampleConstants::PREVIOUS, select.has(in::kPrevious));
  use.key.set(SampleConstants::COUNTS, select.has(in::kCounts));
  use.key.set(SampleConstants::STEPS, select.has(in::kSteps));
  use.key.set(SampleConstants::SEEDS, select.has(in::kSeeds));
  constexpr size_t kInputs[] = {in::kX,     in::kSampleBias, in::kPrevious, in::kCounts,
                                in::kSteps, in::kSeeds,      in::kSettings};
  bind(select, &use, kInputs);
  return Status::Ok;
}

void emit_sample(const Emit& emit) {
  const auto& attrs = emit.node.as<SampleAttrs>();
  const View x = emit.in(in::kX), out = emit.out();
  const View* const views[] = {&x};
  SampleParams p{};
  const Walk walk = walk_rows(x, views, &p);
  std::array<View, in::kSettings + 1> inputs{};
  for (size_t i = 0; i < inputs.size(); ++i)
    if (emit.has(i)) inputs[i] = emit.in(i), p.offset[i] = u32(inputs[i].offset);
  p.offset[inputs.size()] = u32(out.offset);
  p.index_bits = static_cast<uint32_t>(std::bit_width((p.n - 1) | 1));
  put(p.x_stride, walk.stride[0]);
  if (emit.has(in::kPrevious)) {
    const View& previous = inputs[in::kPrevious];
    p.previous = u32(previous.dim[previous.rank - 1]);
    p.previous_row = row_step(previous, p.previous);
    p.count = u32(emit.values.sizes[static_cast<size_t>(attrs.count)]);
  }
  p.bias_row = row_step(inputs[in::kSampleBias], p.n);
  p.settings_row = row_step(inputs[in::kSettings], HEED_SAMPLE_WORDS);
  p.count_row = row_step(inputs[in::kCounts], 1);
  p.step_row = row_step(inputs[in::kSteps], 1);
  p.seed_row = row_step(inputs[in::kSeeds], 1);
  p.step = u32(emit.values.sizes[static_cast<size_t>(attrs.step)]);
  p.seed = emit.values.seed;
  p.stream = attrs.stream;

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.groups = fold_groups(p.rows);
  constexpr double kOperations = 30.0;  // estimate per element and loop
  dispatch.work = static_cast<double>(walk.elements()) * most_walks(p.index_bits) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
