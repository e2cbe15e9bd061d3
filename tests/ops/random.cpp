#include "ops/random.hpp"

#include <cstdlib>

namespace heed::ops {

Array random_mask(const Sizes& shape, Random& random) {
  const int64_t kind = random.below(8);  // 0: none; 1 and 2: a prefix
  Array mask = uniform(shape, random.next());
  const int64_t last = mask.dim(0), prefix = random.below(last + 1);
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool set = kind > 2 ? mask.at(i) < 0.5 : kind > 0 && i % last < prefix;
    mask.at(i) = set ? 1.0 : 0.0;
  }
  return mask;
}

RandomGraph random_graph(uint64_t seed, int64_t number) {
  struct Family {
    const char* operation;
    void (*build)(Trial&, Random&);
  };
  // Products and attention have the most variants.
  static constexpr Family kFamilies[] = {{"matmul", build_matmul},     {"attention", build_attention},
                                         {"rows", build_rows},         {"matmul", build_matmul},
                                         {"elements", build_elements}, {"attention", build_attention},
                                         {"rows", build_rows},         {"matmul", build_matmul},
                                         {"lookups", build_lookups},   {"elements", build_elements}};
  Random random(seed + static_cast<uint64_t>(number) * 1000003u);
  const Family& family = kFamilies[static_cast<uint64_t>(number) % std::size(kFamilies)];
  const DType dtype = random.coin() ? DType::F32 : DType::F16;
  return {family.operation, dtype, family.build, random.next()};
}

uint64_t random_seed() {
  const char* variable = std::getenv("HEED_RANDOM_SEED");
  return variable != nullptr ? std::strtoull(variable, nullptr, 10) : 20261121;
}

}  // namespace heed::ops
