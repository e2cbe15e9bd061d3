#include "kernels/choose/tuning.hpp"

#include <algorithm>
#include <string_view>

#include "base/logging.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/matmul/matmul.hpp"

namespace heed {
namespace {

// The index of the first limit that is >= the size, or the number of limits.
template <size_t N>
uint32_t class_of(int64_t size, const int64_t (&limits)[N]) {
  return static_cast<uint32_t>(std::lower_bound(limits, limits + N, size) - limits);
}

constexpr int64_t kRowLimits[] = {1, 4, 8, 16, 32, 64, 256};
constexpr int64_t kColumnLimits[] = {640}, kDepthLimits[] = {640};
constexpr int64_t kQueryLimits[] = {1, 16, 128};
constexpr int64_t kKeyLimits[] = {64, 512, 2048};
constexpr int64_t kHeadLimits[] = {16};
// Separates the usual sizes 64 and 128, since speed depends on how much of a head fits into registers.
constexpr int64_t kHeadSizeLimits[] = {80};

}  // namespace

uint64_t Tuning::classes_of(const KernelKey& key, std::string_view among) const {
  const std::string name = variant_name(key), whole = std::string(name).append(among);
  uint64_t classes = 0;
  for (const Choice& choice : choices)
    if (choice.variant == whole || (choice.variant == name && choice.classes == kEverywhere)) classes |= choice.classes;
  return classes;
}

std::string variant_name(const KernelKey& key) {
  const std::string_view name = kernel_name(key);
  if (key.custom == nullptr && name.starts_with("matmul") && !name.ends_with("_sum"))
    return format("%s %ux%u", kernel_name(key), key.spec[MatmulConstants::BM], key.spec[MatmulConstants::BN]);
  if (key.custom == nullptr && name.starts_with("attention") && !name.starts_with("attention_combine"))
    return format("%s %ux%u", kernel_name(key), key.spec[0], kernels::attention::queries_of(key));
  return kernel_name(key);
}

uint32_t product_class(int64_t m, int64_t n, int64_t k, bool b_k_fast) {
  const uint32_t layout = b_k_fast ? 1 : 0;
  return ((class_of(m, kRowLimits) * 2 + class_of(n, kColumnLimits)) * 2 + class_of(k, kDepthLimits)) * 2 + layout;
}

uint32_t attention_class(int64_t queries, int64_t keys, int64_t heads, int64_t head_size) {
  return ((class_of(queries, kQueryLimits) * 4 + class_of(keys, kKeyLimits)) * 2 + class_of(heads, kHeadLimits)) * 2 +
         class_of(head_size, kHeadSizeLimits);
}

}  // namespace heed
