#include "cpu/device/supported.hpp"

#include "cpu/simd/targets.hpp"
#include "hwy/detect_targets.h"

#if HWY_ARCH_X86
#include <initializer_list>
#if HWY_COMPILER_MSVC
#include <immintrin.h>
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#elif HWY_ARCH_ARM_A64 && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace heed::cpu {
namespace {

#if HWY_ARCH_X86

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

// Zeros if the processor does not have the leaf.
Registers cpuid(uint32_t leaf) {
  Registers r;
#if HWY_COMPILER_MSVC
  int words[4];
  __cpuid(words, static_cast<int>(leaf & 0x80000000u));
  if (static_cast<uint32_t>(words[0]) < leaf) return r;
  __cpuidex(words, static_cast<int>(leaf), 0);
  r = {static_cast<uint32_t>(words[0]), static_cast<uint32_t>(words[1]), static_cast<uint32_t>(words[2]),
       static_cast<uint32_t>(words[3])};
#else
  if (__get_cpuid_count(leaf, 0, &r.a, &r.b, &r.c, &r.d) == 0) return {};
#endif
  return r;
}

// The registers that the system saves when it switches threads (XCR0). Requires OSXSAVE in cpuid.
uint32_t saved_registers() {
#if HWY_COMPILER_MSVC
  return static_cast<uint32_t>(_xgetbv(0));
#else
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
#endif
}

constexpr bool has_all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

constexpr uint32_t bits_of(std::initializer_list<int> places) {
  uint32_t bits = 0;
  for (const int place : places) bits |= 1u << place;
  return bits;
}

// Bits of cpuid, by leaf and register. A set requires everything that Highway lets a compiler use for it.
constexpr uint32_t kSse4_1c = bits_of({0, 1, 9, 19, 20, 25});  // SSE3, PCLMULQDQ, SSSE3, SSE4.1, SSE4.2, AES
constexpr uint32_t kAvx2_1c = bits_of({12, 28, 29});           // FMA, AVX, F16C
constexpr uint32_t kAvx2_7b = bits_of({3, 5, 8});              // BMI1, AVX2, BMI2
constexpr uint32_t kAvx2_ext_c = bits_of({5});                 // LZCNT
constexpr uint32_t kAvx3_7b = bits_of({16, 17, 28, 30, 31});   // AVX-512 F, DQ, CD, BW, VL
constexpr uint32_t kAvx3Dl_7c =
    bits_of({1, 6, 8, 9, 10, 11, 12, 14});  // VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ
constexpr uint32_t kOsxsave_1c = bits_of({27});
constexpr uint32_t kYmm = bits_of({1, 2}), kZmm = bits_of({5, 6, 7});  // bits of XCR0

int64_t detect() {
  const Registers basic = cpuid(1), extended = cpuid(7), more = cpuid(0x80000001u);
  if (!has_all(basic.c, kSse4_1c)) return 0;
  int64_t targets = HWY_SSE4;
  const uint32_t saved = has_all(basic.c, kOsxsave_1c) ? saved_registers() : 0;
  if (!has_all(saved, kYmm) || !has_all(basic.c, kAvx2_1c) || !has_all(extended.b, kAvx2_7b) ||
      !has_all(more.c, kAvx2_ext_c))
    return targets;
  targets |= HWY_AVX2;
  if (!has_all(saved, kZmm) || !has_all(extended.b, kAvx3_7b)) return targets;
  targets |= HWY_AVX3;
  if (has_all(extended.c, kAvx3Dl_7c)) targets |= HWY_AVX3_DL;
  return targets;
}

#elif HWY_ARCH_ARM_A64 && defined(__linux__)

// Bits of the kernel's interface, which older headers lack.
constexpr unsigned long kAes = 1ul << 3, kSve = 1ul << 22;      // bits of AT_HWCAP
constexpr unsigned long kSve2 = 1ul << 1, kSve2Aes = 1ul << 2;  // bits of AT_HWCAP2
constexpr int kGetVectorLength = 51, kLengthMask = 0xffff;      // prctl: bytes of an SVE register

int64_t detect() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  int64_t targets = 0;
#ifdef HWY_NEON_WITHOUT_AES
  targets |= HWY_NEON_WITHOUT_AES;
#endif
  if ((first & kAes) != 0) targets |= HWY_NEON;
  if ((first & kSve) == 0) return targets;
  const int length = prctl(kGetVectorLength), bytes = length < 0 ? 0 : length & kLengthMask;
  targets |= HWY_SVE;
  if (bytes == 32) targets |= HWY_SVE_256;
  if ((second & kSve2) == 0 || (second & kSve2Aes) == 0) return targets;
  targets |= HWY_SVE2;
  if (bytes == 16) targets |= HWY_SVE2_128;
  return targets;
}

#else

int64_t detect() { return 0; }

#endif

}  // namespace

int64_t supported_targets() {
  static const int64_t targets = detect() | HWY_STATIC_TARGET;
  return targets;
}

}  // namespace heed::cpu
