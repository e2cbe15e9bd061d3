#include "base/update.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include "cpu/ops/rows.hpp"
#include "cpu/simd/update_kernels.hpp"

namespace heed::cpu {
namespace {

int64_t blocks_of(int64_t elements) { return ceil_div<int64_t>(elements, kSquaresBlock); }

UpdateFactors plain_factors(const UpdateSettings& settings, double squares, float steps) {
  const double norm = std::sqrt(squares) * std::fabs(static_cast<double>(settings.gradient)), most = settings.most_norm;
  return factors_of(settings, static_cast<float>(norm), steps, [&] {
    const double clipped = most > 0.0 ? most / (norm + static_cast<double>(kLeastNorm)) : 1.0;
    return static_cast<float>(settings.gradient * (clipped < 1.0 ? clipped : 1.0));
  });
}

}  // namespace

// One sum of squares for each block.
ScratchNeed gradient_norm_scratch(const ScratchQuery& query) {
  int64_t blocks = 0;
  for (size_t i = in::kNormGradients; i < kMaxInputs; ++i)
    if (query.node.inputs[i].valid()) blocks += blocks_of(query.view(query.node.inputs[i]).dim[0]);
  return {.shared = static_cast<uint64_t>(blocks) * sizeof(double), .per_worker = 0};
}

void run_gradient_norm(const Pass& pass) {
  auto* sums = reinterpret_cast<double*>(pass.shared_scratch);
  int64_t count = 0;
  for (size_t i = in::kNormGradients; i < kMaxInputs; ++i) {
    const Operand x = pass.input(i);
    if (!x.valid()) continue;
    const int64_t n = x.view.dim[0], blocks = blocks_of(n);
    double* const of_input = sums + count;
    pass.parallel(blocks, 2, [&](uint32_t, int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = b * kSquaresBlock;
        of_input[b] = pass.kernels.update->squares(x.at<float>(first), std::min<int64_t>(kSquaresBlock, n - first));
      }
    });
    count += blocks;
  }
  UpdateSettings settings;
  std::memcpy(&settings, pass.input(in::kNormSettings).data, sizeof settings);
  float* const steps = pass.output(out::kStep).at<float>(0);
  const CanonUpdateKernels* const canon = pass.kernels.update->canon;
  const UpdateFactors factors = canon != nullptr
                                    ? canon->factors(settings, sums, count, *steps)
                                    : plain_factors(settings, std::accumulate(sums, sums + count, 0.0), *steps);
  *steps = factors.step;
  std::memcpy(pass.output().data, &factors, sizeof factors);
}

}  // namespace heed::cpu
