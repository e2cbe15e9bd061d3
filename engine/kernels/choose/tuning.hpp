// Measured choices among the kernels for a matmul or an attention. Sizes are divided into 64 classes each; a choice lists the classes for
// which a kernel was the fastest. Without a matching choice, estimates decide.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct KernelKey;

struct Tuning {
  // The set of kernels among which a choice is made: the usual ones, or these and the ones that CompileOptions::round_rows (kRounded) or
  // emulate_f32 (kEmulated) adds.
  static constexpr std::string_view kUsual = "", kRounded = " rounded", kEmulated = " emulated";
  struct Choice {
    std::string variant;   // variant_name of a kernel, and the set of kernels
    uint64_t classes = 0;  // bit i: it is the fastest for sizes of class i
  };
  static constexpr uint64_t kEverywhere = UINT64_MAX;  // all classes, and all sets of kernels
  std::vector<Choice> choices;
  // Passes list every kernel that can run them, so that all can be timed.
  bool lists_all = false;

  uint64_t classes_of(const KernelKey& key, std::string_view among = kUsual) const;
};

// A name for a kernel and its tiling: rows and columns of a tile, "matmul_f32 64x64", or invocations and queries of a workgroup,
// "attention_f16 128x32". Kernels that differ only in their epilogues or in how they read operands share a name.
std::string variant_name(const KernelKey& key);

// The class of a matmul. b_k_fast: b's columns are contiguous, as weights of linear layers are.
uint32_t product_class(int64_t m, int64_t n, int64_t k, bool b_k_fast);
// The class of an attention. heads: of all batches; head_size: elements of a key or of a value, whichever is more.
uint32_t attention_class(int64_t queries, int64_t keys, int64_t heads, int64_t head_size);

}  // namespace heed
