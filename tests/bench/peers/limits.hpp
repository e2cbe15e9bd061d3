// The limits of the machine, as works: `peak`, `peak bf16` (multiply-adds), `read BYTES` and `copy BYTES`, each by all threads at once. A
// run lasts as long as its slowest thread.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "works.hpp"

namespace peers {

// Threads that spin between measurements of a limit, so that the time to wake them does not count.
class Gang {
 public:
  explicit Gang(uint32_t threads) : count_(threads) {
    for (uint32_t i = 1; i < count_; ++i) threads_.emplace_back([this, i] { work(i); });
  }
  ~Gang() {
    stop_ = true;
    ++round_;
    for (std::thread& thread : threads_) thread.join();
  }
  uint32_t count() const { return count_; }
  void run(const std::function<void(uint32_t)>& task) {
    task_ = &task;
    left_ = count_;
    ++round_;
    task(0);
    --left_;
    while (left_ > 0) {
    }
  }

 private:
  void work(uint32_t index) {
    for (uint64_t seen = 0;;) {
      while (round_ == seen) {
      }
      seen = round_;
      if (stop_) return;
      (*task_)(index);
      --left_;
    }
  }
  uint32_t count_;
  std::atomic<uint64_t> round_ = 0;
  std::atomic<uint32_t> left_ = 0;
  std::atomic<bool> stop_ = false;
  const std::function<void(uint32_t)>* task_ = nullptr;
  std::vector<std::thread> threads_;
};

inline constexpr int64_t kSteps = 1 << 20;  // of 24 independent multiply-adds: above latency times issue width

// The number of multiply-adds, as f32 operations.
#if defined(__x86_64__)
#define HEED_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
// Hides from the compiler that all chains are equal.
#define HEED_DECLARE(i) [[maybe_unused]] auto l##i = a, r##i = b;
#define HEED_HIDE(i) asm volatile("" : "+v"(l##i), "+v"(r##i));
__attribute__((target("avx512f"))) inline double peak_avx512() {
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  HEED_TWELVE(HEED_DECLARE)
  HEED_TWELVE(HEED_HIDE)
  for (int64_t s = 0; s < kSteps; ++s) {
    asm volatile("" : "+v"(a), "+v"(b));
#define HEED_STEP(i) l##i = _mm512_fmadd_ps(l##i, a, b), r##i = _mm512_fmadd_ps(r##i, a, b);
    HEED_TWELVE(HEED_STEP)
#undef HEED_STEP
  }
#define HEED_KEEP(i) asm volatile("" ::"v"(l##i), "v"(r##i));
  HEED_TWELVE(HEED_KEEP)
  return kSteps * 24 * 32.0;
}
__attribute__((target("avx512f,avx512bf16"))) inline double peak_bf16() {
  __m512i bits = _mm512_set1_epi32(0x3c003c00);
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(1e-3f);
  HEED_TWELVE(HEED_DECLARE)
  HEED_TWELVE(HEED_HIDE)
  for (int64_t s = 0; s < kSteps; ++s) {
    asm volatile("" : "+v"(bits));
#define HEED_STEP(i)                                             \
  l##i = _mm512_dpbf16_ps(l##i, (__m512bh)bits, (__m512bh)bits), \
  r##i = _mm512_dpbf16_ps(r##i, (__m512bh)bits, (__m512bh)bits);
    HEED_TWELVE(HEED_STEP)
#undef HEED_STEP
  }
  HEED_TWELVE(HEED_KEEP)
  return kSteps * 24 * 64.0;
}
#undef HEED_KEEP
__attribute__((target("avx2,fma"))) inline double peak_avx2() {
  __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(1e-3f);
  HEED_TWELVE(HEED_DECLARE)
#define HEED_HIDE_X(i) asm volatile("" : "+x"(l##i));
  HEED_TWELVE(HEED_HIDE_X)
#undef HEED_HIDE_X
  for (int64_t s = 0; s < kSteps; ++s) {
    asm volatile("" : "+x"(a), "+x"(b));
#define HEED_STEP(i) l##i = _mm256_fmadd_ps(l##i, a, b);
    HEED_TWELVE(HEED_STEP)
#undef HEED_STEP
  }
#define HEED_KEEP(i) asm volatile("" ::"x"(l##i));
  HEED_TWELVE(HEED_KEEP)
#undef HEED_KEEP
  return kSteps * 12 * 16.0;
}
#endif

// The best loop for this processor; null if none is known.
inline double (*peak_loop(bool bf16))() {
#if defined(__x86_64__)
  if (bf16) return __builtin_cpu_supports("avx512bf16") ? peak_bf16 : nullptr;
  if (__builtin_cpu_supports("avx512f")) return peak_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return peak_avx2;
#endif
  (void)bf16;
  return nullptr;
}

// Memory on huge pages if the system provides them, like heed's memory for weights.
class Words {
 public:
  bool assign(size_t count) {
    constexpr size_t kPage = 2u << 20;
    const size_t bytes = (count * sizeof(uint64_t) + kPage - 1) / kPage * kPage;
    data_.reset(static_cast<uint64_t*>(std::aligned_alloc(kPage, bytes)));
    if (data_ == nullptr) return false;
#if defined(__linux__)
    (void)madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
    std::memset(data_.get(), 3, bytes);
    return true;
  }
  uint64_t* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(uint64_t* data) const { std::free(data); }
  };
  std::unique_ptr<uint64_t, Free> data_;
};

// The sum of all words, with vectors that the compiler chooses. There are several sums, so that only memory limits the speed.
inline uint64_t read_words(const uint64_t* from, size_t count) {
  uint64_t sums[16] = {};
  for (size_t i = 0; i + 16 <= count; i += 16) {
    __builtin_prefetch(from + i + 512);
    __builtin_prefetch(from + i + 520);
    for (size_t j = 0; j < 16; ++j) sums[j] += from[i + j];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

// The result of `peak` is its GFLOP/s, that of `read` and `copy` the GB/s of the fastest run so far. A copy counts both directions.
inline Prepare limits(const std::string& name, uint32_t threads) {
  if (name != "peak" && name != "read" && name != "copy") return {};
  return [name, threads](std::istream& arguments, Work* work) {
    struct State {
      Gang gang;
      Words from, to;
      std::atomic<double> sink = 0;
      double best = 0;
    };
    auto state = std::shared_ptr<State>(new State{Gang(threads), {}, {}, 0, 0});
    std::function<void(uint32_t)> task;
    double total = 0;
    if (name == "peak") {
      std::string type;
      arguments >> type;
      double (*loop)() = peak_loop(type == "bf16");
      if (loop == nullptr) return false;
      task = [state = state.get(), loop](uint32_t) { state->sink = loop(); };
      state->sink = loop();
      total = state->sink * threads;
    } else {
      size_t bytes = 0;
      if (!(arguments >> bytes) || bytes < 8 * threads) return false;
      const size_t part = bytes / threads / 8;
      if (!state->from.assign(part * threads) || !state->to.assign(name == "copy" ? part * threads : 1)) return false;
      total = static_cast<double>(bytes) * (name == "copy" ? 2 : 1);
      if (name == "copy")
        task = [s = state.get(), part](uint32_t t) {
          std::memcpy(s->to.data() + t * part, s->from.data() + t * part, part * 8);
        };
      else
        task = [s = state.get(), part](uint32_t t) {
          s->sink = static_cast<double>(read_words(s->from.data() + t * part, part));
        };
    }
    work->run = [state, task, total] {
      const auto begin = std::chrono::steady_clock::now();
      state->gang.run(task);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      state->best = std::max(state->best, total / seconds.count() * 1e-9);
      return true;
    };
    work->result = [state](size_t) { return static_cast<float>(state->best); };
    work->count = 1;
    return true;
  };
}

}  // namespace peers
