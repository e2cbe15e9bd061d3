#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// y = x / max(|x|, eps). If |x| is larger: (g - y sum of g y) / |x|; otherwise g / eps. Sums are double, since squares of values above 1e19
// or below 1e-19 overflow or underflow f32. The arguments are those of RowKernels::layernorm_backward.
void l2_backward(const RowKernels& kernels, const NormRow& row, const float* g, const NormSums& sums, float* out,
                 int64_t n) {
  const float* const x = row.x;
  const auto eps = static_cast<double>(row.eps);
  double squares = 0.0, products = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    squares += value * value;
    products += value * static_cast<double>(g[i]);
  }
  const double length = std::sqrt(squares);
  const bool divides = length > eps;
  const double inverse = 1.0 / std::max(length, eps), share = divides ? products * inverse * inverse : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = (static_cast<double>(g[i]) - static_cast<double>(x[i]) * share) * inverse;
    out[i] = static_cast<float>(length == 0.0 && eps == 0.0 ? 0.0 : gradient);
  }
  if (row.residual != nullptr) kernels.add(out, row.residual, out, n);
  if (sums.rows != nullptr) kernels.add(sums.rows, out, sums.rows, n);
}

// Blocks of rows: sums run over the rows of a block, then over blocks. The division depends only on the number of rows. In reproducible
// plans row r belongs to block r % 16.
struct RowBlocks {
  static constexpr int64_t kLeastRows = 16, kMostBlocks = 64, kCanonBlocks = 16;
  int64_t all = 0, apart = 1, count = 0;  // `apart`: distance between the first rows of consecutive blocks
  int64_t step = 1, length = 0;           // distance between rows of a block, and from its first row to its end

  RowBlocks(int64_t all_rows, bool canon) : all(all_rows) {
    length = canon ? all : std::max(kLeastRows, ceil_div(all, kMostBlocks));
    apart = canon ? 1 : length;
    count = canon ? kCanonBlocks : ceil_div(all, length);
    step = canon ? kCanonBlocks : 1;
  }
  int64_t first(int64_t block) const { return block * apart; }
  int64_t end(int64_t block) const { return std::min(all, first(block) + length); }
};

constexpr size_t kSummed[] = {out::kGammaGradient, out::kBetaGradient, out::kRowSums};
constexpr int64_t kColumnsAtOnce = 256;  // columns that are summed together

// The sums of each block of rows, as many kinds as are needed, `pitch` apart.
class BlockSums {
 public:
  BlockSums(const Pass& pass, int64_t n) : pass_(pass), n_(n), pitch_(row_pitch(n)) {
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (pass.node.outputs[kSummed[i]].valid()) outputs_[i] = pass.output(kSummed[i]), places_[i] = count_++;
  }

  bool any() const { return count_ > 0; }
  NormSums start(int64_t block) const {
    NormSums sums;
    if (!any()) return sums;
    float* const memory = at(block, 0);
    std::fill_n(memory, count_ * pitch_, 0.0f);
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].valid()) *std::array{&sums.gamma, &sums.beta, &sums.rows}[i] = at(block, places_[i]);
    return sums;
  }
  void finish(int64_t blocks) const {
    const int64_t pieces = ceil_div(n_, kColumnsAtOnce);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].valid()) continue;
      const Operand& out = outputs_[i];
      pass_.parallel(pieces, 1, [&](uint32_t, int64_t begin, int64_t end) {
        if (pass_.kernels.rows->canon != nullptr)
          return finish_canon(places_[i], out, begin * kColumnsAtOnce, std::min(n_, end * kColumnsAtOnce));
        for (int64_t c = begin * kColumnsAtOnce; c < std::min(n_, end * kColumnsAtOnce); ++c) {
          double sum = 0.0;
          for (int64_t b = 0; b < blocks; ++b) sum += static_cast<double>(at(b, places_[i])[c]);
          const auto value = static_cast<float>(sum);
          store(out, c * row_stride(out.view), row_stride(out.view), 1, &value);
        }
      });
    }
  }

 private:
  // Adds blocks pairwise: halves of them at each step.
  void finish_canon(int64_t place, const Operand& out, int64_t first, int64_t end) const {
    for (int64_t height = RowBlocks::kCanonBlocks / 2; height > 0; height /= 2)
      for (int64_t b = 0; b < height; ++b) {
        float *to = at(b, place), *from = at(b + height, place);
        for (int64_t c = first; c < end; ++c) to[c] += from[c];
      }
    float* const sums = at(0, place);
    pass_.kernels.rows->canon->flush(sums + first, sums + first, end - first);
    store(out, first * row_stride(out.view), row_stride(out.view), end - first, sums + first);
  }

  float* at(int64_t block, int64_t place) const {
    return reinterpret_cast<float*>(pass_.shared_scratch) + (block * count_ + place) * pitch_;
  }

  const Pass& pass_;
  std::array<Operand, 3> outputs_;
  std::array<int64_t, 3> places_{};
  int64_t n_, pitch_, count_ = 0;
};

}  // namespace

ScratchNeed norm_backward_scratch(const ScratchQuery& query) {
  ScratchNeed need = row_scratch(query, query.node.outputs[0], 5);
  const View out = query.view(query.node.outputs[0]);
  const auto wanted =
      std::count_if(std::begin(kSummed), std::end(kSummed), [&](size_t i) { return query.node.outputs[i].valid(); });
  need.shared = static_cast<uint64_t>(RowBlocks::kMostBlocks * wanted * row_pitch(row_length(out))) * sizeof(float);
  return need;
}

void run_norm_backward(const Pass& pass) {
  using Kind = NormBackwardAttrs::Kind;
  const Operand x = pass.input(in::kX), upstream = pass.input(in::kUpstream), gamma = pass.input(in::kBackwardGamma);
  const Operand out = pass.output(), residual = pass.input(in::kBackwardResidual);
  const auto& attrs = pass.node.as<NormBackwardAttrs>();
  const RowKernels& kernels = *pass.kernels.rows;
  const int64_t n = row_length(out.view), pitch = row_pitch(n), rows = row_count(out.view);
  const CanonKernels* const canon = kernels.canon;
  const auto backward = attrs.kind == Kind::Layer ? kernels.layernorm_backward
                        : attrs.kind == Kind::Rms ? kernels.rmsnorm_backward
                        : canon != nullptr        ? canon->l2_backward
                                                  : nullptr;
  const RowBlocks blocks(rows, canon != nullptr);
  const BlockSums sums(pass, n);
  pass.parallel(blocks.count, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    NormRow row;
    row.gamma = load_vector(gamma, buffer + pitch);
    row.eps = attrs.eps;
    for (int64_t block = begin; block < end; ++block) {
      const NormSums add_to = sums.start(block);
      for (int64_t r = blocks.first(block); r < blocks.end(block); r += blocks.step) {
        row.x = load_row(x, r, buffer);
        if (residual.valid()) row.residual = load_row(residual, r, buffer + 4 * pitch);
        const float* g = load_row(upstream, r, buffer + 2 * pitch);
        float* to = row_target(out, r, buffer + 3 * pitch);
        if (backward != nullptr)
          backward(row, g, add_to, to, n);
        else
          l2_backward(kernels, row, g, add_to, to, n);
        store_row(out, r, to);
      }
    }
  });
  if (sums.any()) sums.finish(blocks.count);
}

}  // namespace heed::cpu
