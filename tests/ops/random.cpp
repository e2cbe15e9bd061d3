#include "ops/random.hpp"

#include <cmath>
#include <cstdlib>
#include <iterator>

namespace heed::ops {
namespace {

struct Family {
  const char* operation;
  void (*build)(Trial&, Random&);
};
// Matmul and attention have the most variants.
constexpr Family kFamilies[] = {{"matmul", build_matmul},
                                {"attention", build_attention},
                                {"matmul of long sums", build_long_sums},
                                {"softmax", build_softmax},
                                {"matmul of few rows", build_few_rows},
                                {"elementwise", build_elementwise},
                                {"quantized", build_quantized},
                                {"layernorm", build_layernorm},
                                {"matmul", build_matmul},
                                {"attention", build_attention},
                                {"function", build_function},
                                {"cast", build_cast},
                                {"rotary", build_rotary},
                                {"embedding", build_embedding},
                                {"matmul of few rows", build_few_rows},
                                {"rmsnorm", build_rmsnorm},
                                {"dropout", build_dropout},
                                {"matmul of long sums", build_long_sums},
                                {"mean", build_mean},
                                {"reduce", build_reduce},
                                {"cumsum", build_cumsum},
                                {"matmul", build_matmul},
                                {"attention", build_attention},
                                {"row operation", build_row_operation},
                                {"quantized", build_quantized},
                                {"copies", build_bytes},
                                {"cross_entropy", build_cross_entropy},
                                {"argmax", build_argmax},
                                {"rotary", build_rotary},
                                {"concat", build_concat},
                                {"sample", build_sample},
                                {"positional_encoding", build_encoding}};
constexpr DType kTypes[] = {DType::F32, DType::F16, DType::BF16};
constexpr int64_t kFamilyCount = std::size(kFamilies);

}  // namespace

const int64_t kGraphsOfAll = kFamilyCount * static_cast<int64_t>(std::size(kTypes));

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

Trial trial_of(const RandomGraph& graph) {
  Trial trial(graph.dtype);
  Random random(graph.seed);
  graph.build(trial, random);
  // A result with fewer elements may be near 0 everywhere by chance, so that rounding is large relative to its average. Each element still
  // keeps its bound.
  constexpr int64_t kFewestOfAverage = 8;
  for (Run& run : trial.runs)
    for (Expectation& one : run.expectations)
      if (one.reference.size() < kFewestOfAverage) one.nmse = INFINITY;
  return trial;
}

RandomGraph random_graph(uint64_t seed, int64_t number) {
  const int64_t family = number % kFamilyCount, round = number / kFamilyCount;
  const DType type = kTypes[static_cast<size_t>(family + round) % std::size(kTypes)];
  Random random(seed + static_cast<uint64_t>(number) * 1000003u);
  return {kFamilies[family].operation, type, kFamilies[family].build, random.next()};
}

uint64_t random_seed() {
  const char* variable = std::getenv("HEED_RANDOM_SEED");
  return variable != nullptr ? std::strtoull(variable, nullptr, 10) : 20261121;
}

}  // namespace heed::ops
