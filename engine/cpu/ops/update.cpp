#include "base/update.hpp"

#include <cmath>
#include <cstring>

#include "cpu/ops/rows.hpp"
#include "cpu/simd/update_kernels.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kBlock = 4096;  // elements of an item

UpdateNumbers numbers_of(const UpdateAttrs& attrs, const UpdateSettings& settings, const UpdateFactors& factors,
                         const CanonUpdateKernels* canon) {
  UpdateNumbers numbers;
  numbers.factor = factors.gradient;
  numbers.rate = settings.rate, numbers.decay = settings.decay;
  numbers.first = settings.first, numbers.first_rest = settings.first_rest;
  numbers.second = settings.second, numbers.second_rest = settings.second_rest;
  numbers.eps = settings.eps;
  numbers.nesterov = attrs.nesterov;
  if (attrs.rule != UpdateAttrs::Rule::AdamW) return numbers;
  if (canon != nullptr) {
    canon->correct(settings, factors.step, &numbers);
    return numbers;
  }
  const auto one_less_power = [&](float log) {
    return -std::expm1(static_cast<double>(factors.step) * static_cast<double>(log));
  };
  numbers.rate = static_cast<float>(static_cast<double>(settings.rate) / one_less_power(settings.log_first));
  numbers.second_scale = static_cast<float>(1.0 / one_less_power(settings.log_second));
  return numbers;
}

template <class T>
T words_of(const Operand& x) {
  T words;
  std::memcpy(&words, x.data, sizeof words);
  return words;
}

}  // namespace

ScratchNeed update_scratch(const ScratchQuery&) { return {}; }

void run_update(const Pass& pass) {
  const auto& attrs = pass.node.as<UpdateAttrs>();
  const auto factors = words_of<UpdateFactors>(pass.input(in::kFactors));
  if (factors.taken == 0.0f) return;
  const Operand weights = pass.input(in::kUpdated), gradient = pass.input(in::kGradient);
  const Operand first = pass.input(in::kFirstMoment), second = pass.input(in::kSecondMoment);
  const int64_t n = weights.view.dim[0];
  const UpdateKernels& kernels = *pass.kernels.update;
  const UpdateNumbers numbers =
      numbers_of(attrs, words_of<UpdateSettings>(pass.input(in::kUpdateSettings)), factors, kernels.canon);
  pass.parallel(ceil_div(n, kBlock), 2, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * kBlock, count = std::min(kBlock, n - at);
      float *g = gradient.at<float>(at), *w = weights.at<float>(at), *m = first.valid() ? first.at<float>(at) : nullptr;
      if (factors.taken > 0.0f && attrs.rule == UpdateAttrs::Rule::AdamW)
        kernels.adamw(numbers, g, w, m, second.at<float>(at), count);
      else if (factors.taken > 0.0f)
        kernels.sgd(numbers, g, w, m, count);
      if (attrs.clears) std::memset(g, 0, static_cast<size_t>(count) * sizeof(float));
    }
  });
}

}  // namespace heed::cpu
