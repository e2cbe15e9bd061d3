// The floating-point environment of a thread: rounding, flushing of subnormals, traps.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace heed {

// During its lifetime, this thread rounds to nearest, keeps subnormals and does not trap, as at a program's start. The destructor restores
// the host's settings and flags.
class UsualFloats {
 public:
#if defined(__SSE__) || defined(_M_X64)
  UsualFloats() : control_(_mm_getcsr()) {
    if ((control_ & ~kFlags) != kUsual) set(kUsual);
  }
  ~UsualFloats() {
    if (_mm_getcsr() != control_) set(control_);
  }

 private:
  static constexpr uint32_t kFlags = 0x3f, kUsual = 0x1f80;

  // Writes the register. Callers check first whether it changes, since reading costs less than writing, and a change is rare. The register
  // also holds flags; setting a flag together with its trap does not trap.
  static void set(uint32_t control) {
    // The fences keep the compiler from moving memory accesses across the change.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    _mm_setcsr(control);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  uint32_t control_;
#elif defined(__aarch64__) && defined(__GNUC__)
  UsualFloats() {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control_), "=r"(flags_) : : "memory");
    __asm__ volatile("msr fpcr, %0" : : "r"(uint64_t{0}) : "memory");
  }
  ~UsualFloats() { __asm__ volatile("msr fpsr, %1\n\tmsr fpcr, %0" : : "r"(control_), "r"(flags_) : "memory"); }

 private:
  uint64_t control_, flags_;
#else
  UsualFloats() {}  // not defaulted, since compilers warn about unused variables of trivial types
  ~UsualFloats() {}
#endif
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;
};

}  // namespace heed
