// Shared by the peer programs: the protocol, the values of weights and inputs, and timing.
//
// A peer reads lines from its standard input and answers each with one line:
//   run WORK ARGUMENT...      "MS CHECK...": the least milliseconds of several runs, then four values of the result, by
//                             which the driver checks that all peers compute the same; or "none" if the peer does
//                             not support the work
// Works: matmul M N K TYPE, attention TOKENS full|causal TYPE, encoder BATCH TOKENS TYPE, decode KEYS TYPE, conv1d LENGTH CHANNELS
// RESULTS STRIDE TYPE (windows of 3, padded by one on each side), patches SIDE TYPE (16x16 patches of a square image of three channels);
// for training, step BATCH TOKENS TYPE, backward TOKENS TYPE and forward TOKENS TYPE (train_peer.cpp).
// TYPE is the type of stored weights: f32, f16 or bf16.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace peers {

inline constexpr int64_t kWidth = 768, kHidden = 3072, kHeads = 12, kHead = 64, kLayers = 12;

// Element i of tensor `salt`, uniform in [-size, size). serve.py has the same rule.
inline float value(uint32_t salt, uint64_t i, float size) {
  uint32_t x = static_cast<uint32_t>(i) * 2654435761u + salt * 40503u + 12345u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 12;
  return (static_cast<float>(x >> 8) / 8388608.0f - 1.0f) * size;
}
inline std::vector<float> tensor(uint32_t salt, int64_t count, float size) {
  std::vector<float> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) all[i] = value(salt, i, size);
  return all;
}

// Salts and sizes. Layer l of an encoder has the salts 16 l + those of the layer.
enum Salt : uint32_t {
  kQkv,
  kQkvBias,
  kOut,
  kOutBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
  kPastKeys,
  kPastValues,
  kInput = 1000
};
inline constexpr float kWeightSize = 0.035f, kBiasSize = 0.02f, kInputSize = 1.0f;

// A prepared work: one run, and its result.
struct Work {
  std::function<bool()> run;
  std::function<float(size_t i)> result;
  size_t count = 0;
  std::function<double()> took =
      {};  // the milliseconds that count, if the last run did more than the work; negative: unknown
};
using Prepare = std::function<bool(std::istream& arguments, Work* work)>;

inline std::string measure(const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  constexpr double kBudget = 250.0;
  if (!work.run()) return "none";
  double least = 1e30;
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 3 || (i < 1000 && ms(Clock::now() - start) < kBudget); ++i) {
    const Clock::time_point begin = Clock::now();
    if (!work.run()) return "none";
    const double took = work.took ? work.took() : ms(Clock::now() - begin);
    if (took < 0.0) return "none";
    least = std::min(least, took);
  }
  std::ostringstream line;
  line << least;
  for (size_t i = 0; work.count > 0 && i < 4; ++i) line << ' ' << work.result(i * 7919 % work.count);
  return line.str();
}

// Answers until the input ends. Calls `prepare` only when the work changes.
inline int serve(const std::string& name, const std::function<Prepare(const std::string& work)>& find) {
  std::cout << name << std::endl;
  Work work;
  std::string current, line;
  bool ready = false;
  while (std::getline(std::cin, line)) {
    if (line != current) {
      std::istringstream words(line);
      std::string verb, kind;
      words >> verb >> kind;
      work = {};
      const Prepare prepare = find(kind);
      ready = verb == "run" && prepare && prepare(words, &work);
      current = line;
    }
    std::cout << (ready ? measure(work) : "none") << std::endl;
  }
  return 0;
}

}  // namespace peers
