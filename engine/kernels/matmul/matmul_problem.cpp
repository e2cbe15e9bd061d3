// Sizes and strides of a matmul in one run, and what compile knows of them.
#include <utility>

#include "kernels/matmul/matmul.hpp"

namespace heed::kernels::matmul {
namespace {

Problem::Operand operand(const View& view, const View& out) {
  Problem::Operand o;
  o.offset = view.offset;
  o.row = view.stride[view.rank - 2];
  o.column = view.stride[view.rank - 1];
  const auto batch_stride = [&](int from_end) -> int64_t {
    const int i = view.rank - from_end, target = out.rank - from_end;
    return i < 0 || (view.dim[i] == 1 && out.dim[target] != 1) ? 0 : view.stride[i];
  };
  o.b1 = batch_stride(3);
  o.b0 = batch_stride(4);
  return o;
}

// Merges the rows of all inner batches into one matrix, if b is the same for them and their rows are contiguous: a linear layer on [batch,
// tokens, channels] then fills its tiles across sentences.
bool merge_inner_batch(Problem* p) {
  if (p->b1 > 1 && p->b.b1 != 0) return false;
  for (const Problem::Operand* o : {&p->a, &p->residual, &p->out})
    if (p->b1 > 1 && p->m > 1 && o->b1 != o->row * p->m) return false;
  for (Problem::Operand* o : {&p->a, &p->residual, &p->out}) {
    if (p->m == 1) o->row = o->b1;
    o->b1 = o->b0;
    o->b0 = 0;
  }
  p->b.b1 = std::exchange(p->b.b0, 0);
  p->m *= p->b1;
  p->b1 = std::exchange(p->b0, 1);
  return true;
}

bool is_a_k_fast(const SizeTable& sizes, const TensorInfo& a) {
  return sizes.is_constant(a.strides[static_cast<size_t>(a.rank - 1)], 1);
}
bool is_b_k_fast(const SizeTable& sizes, const TensorInfo& b) {
  return sizes.is_constant(b.strides[static_cast<size_t>(b.rank - 2)], 1);
}

// Whether `width` neighbours along an axis can be read at once on each of `count` rows; they are `step` apart, and the axis has `size`
// elements.
bool is_whole(const Problem::Operand& o, int64_t step, int64_t size, int64_t apart, int64_t count, int64_t width) {
  return step == 1 && (o.offset | o.b0 | o.b1 | size | (count > 1 ? apart : 0)) % width == 0;
}
bool is_b_whole(const Problem& p, int64_t width) {
  return p.b_k_fast ? is_whole(p.b, p.b.row, p.k, p.b.column, p.n, width)
                    : is_whole(p.b, p.b.column, p.n, p.b.row, p.k, width);
}
bool are_whole(const Problem& p, bool a_k_fast, int64_t width) {
  const bool is_a_whole = a_k_fast ? is_whole(p.a, p.a.column, p.k, p.a.row, p.m, width)
                                   : is_whole(p.a, p.a.row, p.m, p.a.column, p.k, width);
  return is_a_whole && is_b_whole(p, width);
}

TensorInfo turned(TensorInfo matrix) {
  const auto last = static_cast<size_t>(matrix.rank - 1);
  std::swap(matrix.dims[last], matrix.dims[last - 1]);
  std::swap(matrix.strides[last], matrix.strides[last - 1]);
  return matrix;
}

}  // namespace

Problem problem_of(const Emit& emit) {
  const View a = emit.in(in::kA), b = emit.in(in::kB), out = emit.out();
  Problem p;
  p.cores = emit.device.cores;
  p.m = out.dim[out.rank - 2];
  p.n = out.dim[out.rank - 1];
  p.k = a.dim[a.rank - 1];
  p.b1 = out.rank > 2 ? out.dim[out.rank - 3] : 1;
  p.b0 = out.rank > 3 ? out.dim[out.rank - 4] : 1;
  p.a = operand(a, out);
  p.b = operand(b, out);
  p.out = operand(out, out);
  if (emit.has(in::kResidual))
    p.residual = operand(emit.in(in::kResidual), out);
  else if (const Tensor kept = emit.node.outputs[heed::out::kBeforeActivation]; kept.valid())
    p.residual = operand(resolve(emit.schedule, kept, emit.values), out);
  else
    p.residual = {0, p.out.b0, p.out.b1, p.out.row, 1};  // never read; these strides do not prevent merging
  if (merge_inner_batch(&p)) (void)merge_inner_batch(&p);
  p.b_k_fast = is_b_k_fast(emit.schedule.sizes, emit.schedule.info(emit.node.inputs[in::kB]));
  p.vec4 = are_whole(p, true, 4);
  p.vec8 = are_whole(p, is_a_k_fast(emit.schedule.sizes, emit.schedule.info(emit.node.inputs[in::kA])), 8);
  if (is_quantized(b.dtype)) {
    p.b_blocks = blocks_of(emit.schedule, emit.node.inputs[in::kB]);
    p.depth_step = block_of(b.dtype).elements;
  }
  if (emit.node.workspace.valid())
    p.workspace = emit.schedule.max_values[static_cast<size_t>(emit.schedule.info(emit.node.workspace).dims[0])];
  return p;
}

namespace {

// Calls visit(size) for the rows and for every batch dimension that may be merged into rows, since b is the same along it.
template <class Visit>
void visit_rows(const Select& select, const Visit& visit) {
  const TensorInfo &out = select.out(), &b = select.info(in::kB);
  visit(out.dims[static_cast<size_t>(out.rank - 2)]);
  for (int from_end = 3; from_end <= out.rank; ++from_end) {
    if (b.rank >= from_end && select.max_of(b.dims[static_cast<size_t>(b.rank - from_end)]) > 1) return;
    visit(out.dims[static_cast<size_t>(out.rank - from_end)]);
  }
}

}  // namespace

int64_t most_rows(const Select& select) {
  int64_t rows = 1;
  visit_rows(select, [&](SizeId size) { rows *= select.max_of(size); });
  return rows;
}

bool rows_vary(const Select& select) {
  bool vary = false;
  visit_rows(select, [&](SizeId size) { vary = vary || !select.schedule.sizes.is_constant(size); });
  return vary;
}

uint32_t flags_of(const Select& select) {
  const auto& sizes = select.schedule.sizes;
  const TensorInfo &a = select.info(in::kA), &b = select.info(in::kB);
  uint32_t flags = 0;
  if (select.has(in::kBias)) flags |= HEED_MATMUL_BIAS;
  if (select.node.as<MatmulAttrs>().dropout.p > 0.0f) flags |= HEED_MATMUL_DROPOUT;
  if (select.has(in::kResidual)) flags |= HEED_MATMUL_RESIDUAL;
  if (select.node.as<MatmulAttrs>().gated) flags |= HEED_MATMUL_GATED;
  if (select.node.outputs[heed::out::kBeforeActivation].valid()) flags |= HEED_MATMUL_KEEPS;
  if (select.node.as<MatmulAttrs>().slopes) flags |= HEED_MATMUL_SLOPES;
  if (select.node.as<MatmulAttrs>().skips_zeros) flags |= HEED_MATMUL_SKIPS_ZEROS;
  if (is_a_k_fast(sizes, a)) flags |= HEED_MATMUL_A_K_FAST;
  if (is_b_k_fast(sizes, b)) flags |= HEED_MATMUL_B_K_FAST;
  if (b.dtype == DType::BF16) flags |= HEED_MATMUL_B_BFLOAT;
  return flags;
}

namespace {

Vec4 known_whole(const Select& select, bool a_k_fast, int64_t width) {
  const TensorInfo &a = select.info(in::kA), &b = select.info(in::kB);
  return worse(vec4_of(select, a_k_fast ? a : turned(a), width),
               vec4_of(select, is_b_k_fast(select.schedule.sizes, b) ? turned(b) : b, width));
}

}  // namespace

Vec4 known_vec4(const Select& select) { return known_whole(select, true, 4); }
Vec4 known_vec8(const Select& select) {
  return known_whole(select, is_a_k_fast(select.schedule.sizes, select.info(in::kA)), 8);
}

}  // namespace heed::kernels::matmul
