// Random graphs and sizes, the same for the same seed on every machine. Most sizes are extents, so that many graphs share compiled kernels;
// some are constants, which plans treat differently.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "harness/trial.hpp"

namespace heed::ops {

inline constexpr int kRunsPerGraph = 10;

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  bool coin() { return below(2) == 0; }
  bool one_in(int64_t n) { return below(n) == 0; }
  int64_t pick(std::initializer_list<int64_t> list) { return list.begin()[below(static_cast<int64_t>(list.size()))]; }
  // A number from 1 to `most`; often a multiple of four, for which kernels read four elements at a time, or one off a tile's edge, or 1.
  int64_t size(int64_t most) {
    if (one_in(8)) return 1;
    const int64_t any = 1 + below(most), edge = pick({8, 16, 32, 64, 128, 256}) + pick({-1, 0, 1});
    const int64_t drawn = one_in(3) ? edge : coin() ? any : (any + 3) / 4 * 4;
    return drawn <= most ? drawn : any;
  }

 private:
  uint64_t state_;
};

// Sizes of one graph: extents, or constants that are equal in every run.
class Drawn {
 public:
  Drawn(Trial& trial, Random& random) : trial_(trial), random_(random) {}
  Dim size(const char* name, int64_t most, bool constant = false) {
    sizes_.push_back({name, most, constant ? random_.size(most) : 0});
    return constant ? Dim(sizes_.back().value) : trial_.graph.extent(name, most);
  }
  // Draws the extents of kRunsPerGraph runs: fill(run, values in the order of the calls of size()).
  template <class Fill>
  void fill_runs(const Fill& fill) {
    for (int i = 0; i < kRunsPerGraph; ++i) {
      std::vector<ExtentValue> extents;
      Sizes values;
      for (const Size& size : sizes_) {
        values.push_back(size.value > 0 ? size.value : random_.size(size.most));
        if (size.value == 0) extents.push_back({size.name, values.back()});
      }
      Run& run = trial_.run(extents);
      run.options.seed = static_cast<uint32_t>(random_.next());
      fill(run, values);
    }
  }

 private:
  struct Size {
    const char* name;
    int64_t most, value;
  };
  Trial& trial_;
  Random& random_;
  std::vector<Size> sizes_;
};

inline const RowOperation& any_row_operation(Random& random) {
  const std::span<const RowOperation> all = row_operations();
  return all[static_cast<size_t>(random.below(std::ssize(all)))];
}

// Mostly random bytes 0 and 1. One mask in four resembles padding: ones up to some place along the last axis, or no ones at all.
Array random_mask(const Sizes& shape, Random& random);

// Each function draws a graph of one operation and kRunsPerGraph runs of it.
void build_matmul(Trial& t, Random& random);
void build_few_rows(Trial& t, Random& random);   // matmul that reads weights once
void build_long_sums(Trial& t, Random& random);  // matmul by tiles, split along k
void build_quantized(Trial& t, Random& random);  // matmul by quantized weights, and rows of them
void build_attention(Trial& t, Random& random);
void build_softmax(Trial& t, Random& random);
void build_layernorm(Trial& t, Random& random);
void build_rmsnorm(Trial& t, Random& random);
void build_row_operation(Trial& t, Random& random);
void build_elementwise(Trial& t, Random& random);
void build_function(Trial& t, Random& random);
void build_dropout(Trial& t, Random& random);
void build_concat(Trial& t, Random& random);
void build_cast(Trial& t, Random& random);
void build_bytes(Trial& t, Random& random);  // copies of ids and masks
void build_encoding(Trial& t, Random& random);
void build_embedding(Trial& t, Random& random);
void build_mean(Trial& t, Random& random);
void build_reduce(Trial& t, Random& random);
void build_cumsum(Trial& t, Random& random);
void build_rotary(Trial& t, Random& random);
void build_cross_entropy(Trial& t, Random& random);
void build_argmax(Trial& t, Random& random);
void build_sample(Trial& t, Random& random);

// The graph of this number: operations and storage types alternate.
struct RandomGraph {
  const char* operation;
  DType dtype;
  void (*build)(Trial& t, Random& random);
  uint64_t seed;
};
RandomGraph random_graph(uint64_t seed, int64_t number);
Trial trial_of(const RandomGraph& graph);
// After this many graphs every operation has had every storage type.
extern const int64_t kGraphsOfAll;
// HEED_RANDOM_SEED, or the fixed seed of the tests.
uint64_t random_seed();

}  // namespace heed::ops
