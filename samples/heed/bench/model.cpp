// `heed bench --model`: sentences per second of a sentence-transformers model, from token ids in host memory to vectors in host memory.
#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include <heed/text_encoder.hpp>

#include "clock.hpp"
#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

constexpr int64_t kBatches[] = {1, 32}, kLengths[] = {32, 128};
constexpr size_t kMostRepeats = 400;

// `dtype` is the type of activations, `weights` the storage type of matrices and tables.
struct Precision {
  DType dtype, weights;
  const char* text;
};
constexpr Precision kPrecisions[] = {{DType::F32, DType::F32, "f32"},
                                     {DType::F16, DType::F16, "f16"},
                                     {DType::BF16, DType::BF16, "bf16"},
                                     {DType::F32, DType::BF16, "f32 bf16"}};

// Rows without padding, with ids from the whole vocabulary. The time does not depend on the ids.
TokenBatch words(const TextEncoder& encoder, int64_t count, int64_t tokens) {
  TokenBatch batch;
  batch.count = count;
  batch.tokens = tokens;
  batch.keep.assign(static_cast<size_t>(count * tokens), 1);
  const auto vocabulary = static_cast<uint32_t>(encoder.config().vocabulary);
  for (uint32_t i = 0, state = 1; i < batch.keep.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    batch.ids.push_back(static_cast<int32_t>((state >> 8) % vocabulary));
  }
  return batch;
}

struct Times {
  double median = 0, least = 0, most = 0;  // milliseconds per batch
  size_t repeats = 0;
};

// Runs once to warm up, then until the budget is used up, but at least 3 times.
Status measure(TextEncoder& encoder, const TokenBatch& batch, double budget_ms, Times* times) {
  std::vector<float> vectors(static_cast<size_t>(batch.count * encoder.width()));
  Status status = encoder.encode(batch, vectors);
  std::vector<double> all;
  const Clock::time_point start = Clock::now();
  while (status == Status::Ok && all.size() < kMostRepeats &&
         (all.size() < 3 || milliseconds_since(start) < budget_ms)) {
    const Clock::time_point before = Clock::now();
    status = encoder.encode(batch, vectors);
    all.push_back(milliseconds_since(before));
  }
  if (status != Status::Ok) return status;
  std::sort(all.begin(), all.end());
  *times = {all[all.size() / 2], all.front(), all.back(), all.size()};
  return status;
}

int bench_device(const std::string& select, const BenchOptions& options, nlohmann::json* report) {
  Messages messages;
  const auto failed = [&](const std::string& what, Status status) {
    complain(what, messages.take(), status);
    return kFailed;
  };
  Device device;
  Status status = Device::open(device_options(select, messages.log()), &device);
  if (status != Status::Ok) {
    static_cast<void>(failed(select.empty() ? "device" : "device '" + select + "'", status));
    return kBadInput;
  }
  const std::string word = device.info().word;
  int code = kSuccess;
  nlohmann::json rows = nlohmann::json::array();
  if (!options.json) {
    std::printf("%s  %s\n", word.c_str(), device.info().name.c_str());
    std::printf("%-9s %5s %6s %14s %12s %12s %12s %5s\n", "dtype", "batch", "tokens", "sentences/s", "median ms",
                "min ms", "max ms", "runs");
  }
  for (const Precision& precision : kPrecisions) {
    if (!options.weights.empty() && options.weights != to_string(precision.weights)) continue;
    TextEncoder encoder;
    status = TextEncoder::open(device, options.model,
                               {.dtype = precision.dtype,
                                .weight_dtype = precision.weights,
                                .max_batch = kBatches[1],
                                .max_tokens = kLengths[1],
                                .log = messages.log()},
                               &encoder);
    if (status == Status::Unsupported && precision.weights != DType::F32) {
      messages.take();
      if (!options.json) std::printf("%-9s not supported by the device\n", precision.text);
      continue;
    }
    if (status != Status::Ok) {
      const bool ran = status == Status::DeviceLost || status == Status::DriverError;
      static_cast<void>(failed(options.model + " on " + word, status));
      return ran ? kFailed : kBadInput;
    }
    for (const int64_t count : kBatches)
      for (const int64_t tokens : kLengths) {
        Times times;
        status = measure(encoder, words(encoder, count, tokens), options.seconds * 1e3, &times);
        if (status != Status::Ok) {
          code = failed(options.model + " on " + word, status);
          continue;
        }
        const double rate = static_cast<double>(count) * 1e3 / std::max(times.median, 1e-9);
        rows.push_back({{"dtype", to_string(precision.dtype)},
                        {"weights", to_string(precision.weights)},
                        {"batch", count},
                        {"tokens", tokens},
                        {"sentences_per_second", rate},
                        {"median_ms", times.median},
                        {"min_ms", times.least},
                        {"max_ms", times.most},
                        {"repeats", times.repeats}});
        if (options.json) continue;
        std::printf("%-9s %5lld %6lld %14.1f %12.3f %12.3f %12.3f %5zu\n", precision.text,
                    static_cast<long long>(count), static_cast<long long>(tokens), rate, times.median, times.least,
                    times.most, times.repeats);
        std::fflush(stdout);
      }
  }
  report->push_back(
      {{"device", word}, {"name", device.info().name}, {"driver", device.info().driver}, {"rows", std::move(rows)}});
  return code;
}

}  // namespace

int bench_model(const BenchOptions& options) {
  nlohmann::json report = nlohmann::json::array();
  int code = kSuccess;
  for (const std::string& select : selections(options.device))
    code = std::max(code, bench_device(select, options, &report));
  if (options.json) std::printf("%s\n", text_of({{"model", options.model}, {"devices", report}}).c_str());
  return code;
}

}  // namespace heed::program
