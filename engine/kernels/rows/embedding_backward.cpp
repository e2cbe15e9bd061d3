#include <algorithm>

#include "kernels/loops.hpp"
#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_embedding_backward(const Select& select) {
  const TensorInfo& rows = select.info(0);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::EmbeddingBackwardF32, KernelId::EmbeddingBackwardF16,
                              KernelId::EmbeddingBackwardBf16};
  Status status = pick_storage(select, rows.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kIds, "ids", DType::I32);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {0, in::kIds};
  select_lanes(select, id, rows.dims[2], [&](KernelUse* use) { bind(select, use, kInputs); });
  constexpr int64_t kMost = kMaxDispatchesPerPass * kRoundsAtOnce;
  const int64_t most = select.max_of(rows.dims[1]);
  if (most <= kMost) return Status::Ok;
  return select.unsupported(
      format("%lld ids; at most %lld are added up", static_cast<long long>(most), static_cast<long long>(kMost)));
}

void emit_embedding_backward(const Emit& emit) {
  const View rows = emit.in(0), ids = emit.in(in::kIds), out = emit.out();
  EmbeddingBackwardParams p{};
  p.offset[0] = u32(rows.offset);
  p.offset[1] = u32(ids.offset);
  p.offset[2] = u32(out.offset);
  p.rows = u32(out.dim[0] * out.dim[1]);
  p.n = u32(out.dim[2]);
  p.vocabulary = u32(out.dim[1]);
  p.count = u32(ids.dim[1]);

  // With more ids, partial sums are passed on in `out`, and rounded if it has two bytes.
  p.blocks = u32(ceil_div<int64_t>(p.n, emit.kernels.uses[choose(emit.kernels, RowProblem{p.n})].key.spec[0]));
  for (int64_t begin = 0; begin < std::max<int64_t>(p.count, 1); begin += kRoundsAtOnce) {
    p.begin = u32(begin);
    p.end = u32(std::min<int64_t>(p.count, begin + kRoundsAtOnce));
    Dispatch& dispatch = emit_rows(emit, int64_t{p.rows} * p.blocks, p.n);
    dispatch.work = static_cast<double>(out.elements()) * static_cast<double>(p.end - p.begin);
    dispatch.set_push(p);
  }
}

}  // namespace heed::kernels
