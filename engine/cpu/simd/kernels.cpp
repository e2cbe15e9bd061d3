#include "cpu/simd/kernels.hpp"

#include <array>
#include <string>

#include "base/logging.hpp"
#include "base/test_setting.hpp"
#include "cpu/device/supported.hpp"
#include "cpu/gemm/matmul_bf16.hpp"
#include "cpu/simd/targets.hpp"
#include "hwy/highway.h"

namespace heed::cpu {
namespace {

const char* name_of(int64_t target) {
  switch (target) {
#if HWY_ARCH_X86
    case HWY_AVX3: return "avx512";
    case HWY_AVX2: return "avx2";
    case HWY_SSE4: return "sse4";
#endif
    case HWY_EMU128:
    case HWY_SCALAR: return "scalar";
    default: return hwy::TargetName(target);
  }
}

Kernels kernels_of(int64_t target) {
  return {name_of(target),           matmul_kernels(target),      row_kernels(target),
          attention_kernels(target), update_kernels(target),      canon_matmul_kernels(target),
          canon_row_kernels(target), canon_update_kernels(target)};
}

bool is_avx512(int64_t target) {
#if HWY_ARCH_X86
  return target == HWY_AVX3;
#else
  (void)target;
  return false;
#endif
}

// AVX-512 with dot products of bf16; `matmul` is null if the processor lacks them.
Kernels with_bf16(const Kernels& avx512) {
  Kernels kernels = avx512;
  kernels.name = "avx512bf16";
  kernels.matmul = bf16_matmul_kernels(*avx512.matmul);
  return kernels;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = lower(a[i]) == lower(b[i]);
  return same;
}

}  // namespace

std::span<const Kernels> supported_kernels() {
  // Trivially destructible: the library has no code to run at the process' exit.
  struct Found {
    std::array<Kernels, 65> kernels;  // a target is one bit of an int64_t; AVX-512 may occur twice
    size_t count = 0;
  };
  static const Found all = [] {
    Found found;
    // Lower bits are better targets.
    const auto add = [&found](const Kernels& kernels) { found.kernels[found.count++] = kernels; };
    for (int64_t left = supported_targets() & HWY_TARGETS; left != 0; left &= left - 1) {
      const int64_t target = left & -left;
      const Kernels kernels = kernels_of(target), bf16 = with_bf16(kernels);
      const bool has_bf16 = is_avx512(target) && bf16.matmul != nullptr, best = bf16_dot_products_pay();
      if (has_bf16 && best) add(bf16);
      add(kernels);
      if (has_bf16 && !best) add(bf16);
    }
    if (found.count == 0 || std::string_view(found.kernels[found.count - 1].name) != name_of(HWY_STATIC_TARGET))
      add(kernels_of(HWY_STATIC_TARGET));
    return found;
  }();
  return {all.kernels.data(), all.count};
}

const Kernels& choose_kernels(std::string_view wanted, const Log& target_log) {
  const std::span<const Kernels> all = supported_kernels();
  if (wanted.empty()) wanted = test_setting("HEED_CPU_TARGET");
  if (wanted.empty()) return all.front();
  std::string names;
  for (const Kernels& kernels : all) {
    if (same_name(kernels.name, wanted)) return kernels;
    names += std::string(" ") + kernels.name;
  }
  log(target_log, LogLevel::Warning,
      format("instructions '%.*s' were asked for; this processor and build have%s", static_cast<int>(wanted.size()),
             wanted.data(), names.c_str()));
  return all.front();
}

}  // namespace heed::cpu
