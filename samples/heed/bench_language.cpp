// `heed bench --model FILE`: how fast a language model reads and writes, as conversations do.
#include <algorithm>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

#include <heed/text_generator.hpp>

#include "clock.hpp"
#include "commands.hpp"
#include "golden_run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

constexpr size_t kMostRuns = 400;

// Ids from the whole vocabulary, but no control tokens. The time does not depend on which ids they are.
std::vector<int32_t> some_ids(const Bpe& bpe, int64_t count) {
  std::vector<int32_t> ids;
  for (uint32_t state = 1; ids.size() < static_cast<size_t>(count);) {
    state = state * 1664525u + 1013904223u;
    const auto id = static_cast<int32_t>((state >> 8) % bpe.size());
    if (bpe.type(id) != TokenType::Control) ids.push_back(id);
  }
  return ids;
}

struct Durations {
  std::vector<double> all;  // milliseconds, ascending when done
  double median() const { return all[all.size() / 2]; }
};

bool goes_on(const Durations& times, Clock::time_point start, double budget_ms) {
  return times.all.size() < kMostRuns && (times.all.size() < 3 || milliseconds_since(start) < budget_ms);
}

// A raw text of `count` tokens, read up to its first new token if `read`.
Status begin(const TextGenerator& model, int64_t count, bool read, TextConversation* conversation) {
  TextConversationOptions options;
  options.sampling.temperature = 0;
  Status status = model.begin(options, conversation);
  if (status == Status::Ok) status = conversation->prompt(some_ids(model.tokenizer(), count));
  for (TextPiece piece; read && status == Status::Ok && piece.token < 0;) status = conversation->step(&piece);
  return status;
}

// Reads a text, and draws one token. The first time is not counted.
Status time_reading(const TextGenerator& model, int64_t count, double budget_ms, Durations* times) {
  const Clock::time_point start = Clock::now();
  for (bool warm = false; goes_on(*times, start, budget_ms); warm = true) {
    TextConversation conversation;
    Status status = begin(model, count, false, &conversation);
    const Clock::time_point before = Clock::now();
    for (TextPiece piece; status == Status::Ok && piece.token < 0;) status = conversation.step(&piece);
    if (status != Status::Ok) return status;
    if (warm) times->all.push_back(milliseconds_since(before));
  }
  return Status::Ok;
}

// Draws tokens behind a text, at most 64, then behind the same text anew.
Status time_tokens(const TextGenerator& model, int64_t behind, double budget_ms, Durations* times) {
  constexpr int kMostTokens = 64;
  TextConversation text;
  Status status = begin(model, behind, true, &text);
  const Clock::time_point start = Clock::now();
  while (status == Status::Ok && goes_on(*times, start, budget_ms)) {
    TextConversation own;
    status = text.fork(&own);
    for (int i = 0; i < kMostTokens && status == Status::Ok && goes_on(*times, start, budget_ms); ++i) {
      if (!own.answering()) status = own.answer_now();  // the model ended it
      TextPiece piece;
      const Clock::time_point before = Clock::now();
      if (status == Status::Ok) status = own.step(&piece);
      if (piece.read == 1) times->all.push_back(milliseconds_since(before));
    }
  }
  return status;
}

struct Work {
  const char* name;
  int64_t tokens;  // of the row's rate
  std::function<Status(const TextGenerator&, double budget_ms, Durations*)> time;
};
const std::vector<Work>& works() {
  static const std::vector<Work> all = {
      {"read 128", 128, [](auto& model, double ms, Durations* t) { return time_reading(model, 128, ms, t); }},
      {"read 512", 512, [](auto& model, double ms, Durations* t) { return time_reading(model, 512, ms, t); }},
      {"a token behind 8", 1, [](auto& model, double ms, Durations* t) { return time_tokens(model, 8, ms, t); }},
      {"a token behind 500", 1, [](auto& model, double ms, Durations* t) { return time_tokens(model, 500, ms, t); }}};
  return all;
}

int bench_writer(const std::string& select, const BenchOptions& options, nlohmann::json* report) {
  Messages messages;
  const auto failed = [&](const std::string& what, Status status, int code) {
    const std::vector<std::string> said = messages.take();
    complain(what + ": " + (said.empty() ? to_string(status) : said.front()));
    return code;
  };
  Device device;
  Status status = Device::open(device_options(select, messages.log()), &device);
  if (status != Status::Ok) return failed(select.empty() ? "device" : "device '" + select + "'", status, kBadInput);
  const std::string word = device.info().word;
  TextGeneratorOptions wanted;
  wanted.log = messages.log();
  if (options.weights == "f32") wanted.weight_dtype = DType::F32;
  if (options.weights == "f16") wanted.weight_dtype = DType::F16;
  if (options.weights == "bf16") wanted.weight_dtype = DType::BF16;
  TextGenerator model;
  const Clock::time_point start = Clock::now();
  status = TextGenerator::open(device, options.model, wanted, &model);
  if (status != Status::Ok) {
    const bool ran = status == Status::DeviceLost || status == Status::DriverError;
    return failed(options.model + " on " + word, status, ran ? kFailed : kBadInput);
  }
  const double open_ms = milliseconds_since(start);
  if (!options.json) {
    std::printf("%s  %s, weights %s, opened in %.0f ms\n", word.c_str(), device.info().name.c_str(),
                to_string(model.weight_dtype()), open_ms);
    std::printf("%-22s %12s %12s %12s %12s %5s\n", "work", "tokens/s", "median ms", "min ms", "max ms", "runs");
  }
  int code = kSuccess;
  nlohmann::json rows = nlohmann::json::array();
  for (const Work& work : works()) {
    Durations times;
    status = work.time(model, options.seconds * 1e3, &times);
    if (status != Status::Ok) {
      code = failed(std::string(work.name) + " on " + word, status, kFailed);
      continue;
    }
    std::sort(times.all.begin(), times.all.end());
    const double rate = static_cast<double>(work.tokens) * 1e3 / std::max(times.median(), 1e-9);
    rows.push_back({{"work", work.name},
                    {"tokens_per_second", rate},
                    {"median_ms", times.median()},
                    {"min_ms", times.all.front()},
                    {"max_ms", times.all.back()},
                    {"repeats", times.all.size()}});
    if (options.json) continue;
    std::printf("%-22s %12.1f %12.3f %12.3f %12.3f %5zu\n", work.name, rate, times.median(), times.all.front(),
                times.all.back(), times.all.size());
    std::fflush(stdout);
  }
  report->push_back({{"device", word},
                     {"name", device.info().name},
                     {"driver", device.info().driver},
                     {"weights", to_string(model.weight_dtype())},
                     {"open_ms", open_ms},
                     {"rows", std::move(rows)}});
  return code;
}

}  // namespace

int bench_language(const BenchOptions& options) {
  nlohmann::json report = nlohmann::json::array();
  int code = kSuccess;
  for (const std::string& select : selections(options.device))
    code = std::max(code, bench_writer(select, options, &report));
  if (options.json) std::printf("%s\n", text_of({{"model", options.model}, {"devices", report}}).c_str());
  return code;
}

}  // namespace heed::program
