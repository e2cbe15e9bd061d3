// Choices among the kernels that could run a product or an attention, made by measuring instead of estimating. Sizes
// fall into 64 classes each; a choice says in which of them a kernel was the fastest. Where no choice fits, the
// estimates decide, so that nothing depends on a tuning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct KernelKey;

struct Tuning {
  // A choice is made among the usual kernels, or among these and the ones that CompileOptions::round_rows (kRounded) or
  // emulate_f32 (kEmulated) adds.
  static constexpr std::string_view kUsual = "", kRounded = " rounded", kEmulated = " emulated";
  struct Choice {
    std::string variant;   // variant_name of a kernel, and among which kernels
    uint64_t classes = 0;  // bit i: it is the best for sizes of class i
  };
  static constexpr uint64_t kEverywhere = UINT64_MAX;  // and among all kernels
  std::vector<Choice> choices;
  // Passes list every kernel that could run them, so that all can be timed.
  bool lists_all = false;

  uint64_t classes_of(const KernelKey& key, std::string_view among = kUsual) const;
};

// Names a kernel and how it cuts the work: by rows and columns of a tile, "matmul_f32 64x64", or by invocations and
// queries of a workgroup, "attention_f16 128x32". Kernels that differ only in their epilogues or in how they read their
// operands share a name.
std::string variant_name(const KernelKey& key);

// b_k_fast: b's columns lie in memory one after the other, as weights of linear layers do.
uint32_t product_class(int64_t m, int64_t n, int64_t k, bool b_k_fast);
// heads: of all batches; head_size: elements of a key or of a value, whichever are more.
uint32_t attention_class(int64_t queries, int64_t keys, int64_t heads, int64_t head_size);

}  // namespace heed
