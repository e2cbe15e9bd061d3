// The floating-point environment of a thread: how it rounds, whether it flushes subnormals to zero, what traps.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace heed {

// While it lives, arithmetic of this thread is as at a program's start: to nearest, with subnormals, no traps. A host may
// have set something else on some of its threads; it finds that again afterwards, with the flags raised that were.
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

  // Not called where nothing changes, as is usual: a look costs less. Flags are in the same register; to set one beside its
  // trap does not trap.
  static void set(uint32_t control) {
    // What lies in memory is read and written on its side of this.
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
  UsualFloats() {}  // not defaulted: one that does nothing would be an unused variable
  ~UsualFloats() {}
#endif
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;
};

}  // namespace heed
