// Limits of the CPU. This file is compiled so that a * b + c is one instruction on processors that have it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/limits.hpp"

namespace heed::program {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr int kChains = 10;  // independent chains; more than latency times issue width of current cores
constexpr int64_t kSteps = 1 << 14;

// Computes chains of x = x * a + b and returns the number of multiply-adds. Stores their sum in *sink, so that the compiler cannot remove
// the work.
template <class Vector, size_t Lanes>
[[gnu::always_inline]] inline double chains(float* sink) {
  Vector x[kChains], a, b;
  for (size_t lane = 0; lane < Lanes; ++lane) {
    a[lane] = 0.999f;
    b[lane] = 0.001f + *sink;
    for (int i = 0; i < kChains; ++i) x[i][lane] = static_cast<float>(i);
  }
  for (int64_t step = 0; step < kSteps; ++step)
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
  for (int i = 0; i < kChains; ++i) *sink += x[i][0] * 1e-30f;
  return double{kChains} * kSteps * Lanes;
}

#if defined(__GNUC__)
typedef float Vec4 __attribute__((vector_size(16)));
double baseline(float* sink) { return chains<Vec4, 4>(sink); }
#if defined(__x86_64__)
typedef float Vec8 __attribute__((vector_size(32)));
typedef float Vec16 __attribute__((vector_size(64)));
__attribute__((target("avx2,fma"))) double avx2(float* sink) { return chains<Vec8, 8>(sink); }
__attribute__((target("avx512f"))) double avx512(float* sink) { return chains<Vec16, 16>(sink); }
#endif
#else
struct Vec4 {
  float v[4];
  float& operator[](size_t i) { return v[i]; }
  Vec4 operator*(const Vec4& o) const { return {v[0] * o.v[0], v[1] * o.v[1], v[2] * o.v[2], v[3] * o.v[3]}; }
  Vec4 operator+(const Vec4& o) const { return {v[0] + o.v[0], v[1] + o.v[1], v[2] + o.v[2], v[3] + o.v[3]}; }
};
double baseline(float* sink) { return chains<Vec4, 4>(sink); }
#endif

struct Loop {
  double (*run)(float* sink);
  const char* how;
};

Loop best_loop() {
#if defined(__GNUC__) && defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {avx512, "multiply-add loop, avx512"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {avx2, "multiply-add loop, avx2"};
#endif
  return {baseline, "multiply-add loop, 128-bit vectors"};
}

// Runs body(thread) on all hardware threads at once and returns the seconds until the last one has finished.
template <class Body>
double on_all_threads(unsigned count, Body body) {
  std::atomic<unsigned> waiting{count};
  std::vector<std::thread> threads;
  std::vector<double> seconds(count);
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      const Clock::time_point start = Clock::now();
      body(t);
      seconds[t] = seconds_since(start);
    });
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

double multiply_add(unsigned threads, const Loop& loop) {
  constexpr int kRounds = 5, kRepeats = 300;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> done(threads);
    const double seconds = on_all_threads(threads, [&](unsigned t) {
      float sink = 0;
      double count = 0;
      for (int i = 0; i < kRepeats; ++i) count += loop.run(&sink);
      done[t] = sink < 1e30f ? count : 0;  // always true, but the compiler must compute the sink to know that
    });
    double total = 0;
    for (double count : done) total += count;
    best = std::max(best, 2.0 * total / seconds);
  }
  return best * 1e-9;
}

double copy(unsigned threads) {
  constexpr size_t kBytes = size_t{128} << 20;  // far larger than the caches
  constexpr int kRounds = 5;
  const size_t part = kBytes / threads;
  std::vector<char> from(part * threads, 1), to(part * threads, 2);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double seconds =
        on_all_threads(threads, [&](unsigned t) { std::memcpy(to.data() + t * part, from.data() + t * part, part); });
    best = std::max(best, 2.0 * static_cast<double>(part * threads) / seconds);
  }
  return best * 1e-9;
}

}  // namespace

Limits cpu_limits() {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  const Loop loop = best_loop();
  return {multiply_add(threads, loop), copy(threads), loop.how, "memcpy on all threads", {}};
}

}  // namespace heed::program
