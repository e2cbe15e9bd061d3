// `heed bench --model FILE`: how fast a language model reads prompts and generates tokens in conversations.
#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include <heed/text_generator.hpp>

#include "clock.hpp"
#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

constexpr size_t kMostRuns = 400;

// Ids from the whole vocabulary, without control tokens. The time does not depend on the ids.
std::vector<int32_t> some_ids(const Bpe& bpe, int64_t count) {
  std::vector<int32_t> ids;
  for (uint32_t state = 1; ids.size() < static_cast<size_t>(count);) {
    state = state * 1664525u + 1013904223u;
    const auto id = static_cast<int32_t>((state >> 8) % bpe.size());
    if (bpe.type(id) != TokenType::Control) ids.push_back(id);
  }
  return ids;
}

std::optional<DType> dtype_of(const std::string& word) {
  for (const DType type : {DType::F32, DType::F16, DType::BF16})
    if (word == to_string(type)) return type;
  return {};
}

struct Durations {
  std::vector<double> all;  // milliseconds, sorted at the end
  double sum = 0;
  void add(double milliseconds) {
    all.push_back(milliseconds);
    sum += milliseconds;
  }
  double median() const { return all[all.size() / 2]; }
};

// Repeats at least three times, but runs once if that takes ten times the budget.
bool goes_on(const Durations& times, double budget_ms) {
  if (times.all.empty() || times.sum < budget_ms) return times.all.size() < kMostRuns;
  return times.all.size() < 3 && times.sum < 10 * budget_ms;
}

// A raw text of `count` tokens; if `read`, also reads it and draws its first new token.
Status begin(const TextGenerator& model, int64_t count, bool read, TextConversation* conversation) {
  TextConversationOptions options;
  options.sampling.temperature = 0;
  Status status = model.begin(options, conversation);
  if (status == Status::Ok) status = conversation->prompt(some_ids(model.tokenizer(), count));
  for (TextPiece piece; read && status == Status::Ok && piece.token < 0;) status = conversation->step(&piece);
  return status;
}

// Reads a text, and draws one token.
Status time_reading(const TextGenerator& model, int64_t count, double budget_ms, Durations* times) {
  while (goes_on(*times, budget_ms)) {
    TextConversation conversation;
    Status status = begin(model, count, false, &conversation);
    const Clock::time_point before = Clock::now();
    for (TextPiece piece; status == Status::Ok && piece.token < 0;) status = conversation.step(&piece);
    if (status != Status::Ok) return status;
    times->add(milliseconds_since(before));
  }
  return Status::Ok;
}

// Draws tokens after a text, one at a time in each of so many conversations. After 64 tokens the texts are reset.
Status time_tokens(const TextGenerator& model, int64_t behind, int conversations, double budget_ms, Durations* times) {
  constexpr int kMostTokens = 64;
  Status status = Status::Ok;
  while (status == Status::Ok && goes_on(*times, budget_ms)) {
    std::vector<TextConversation> all(static_cast<size_t>(conversations));
    for (size_t i = 0; i < all.size() && status == Status::Ok; ++i) status = begin(model, behind, true, &all[i]);
    for (int i = 0; i < kMostTokens && status == Status::Ok && goes_on(*times, budget_ms); ++i) {
      for (TextConversation& one : all)
        if (status == Status::Ok && !one.answering()) status = one.answer_now();  // the model ended the answer
      const Clock::time_point before = Clock::now();
      TextPiece piece;
      for (TextConversation& one : all)
        if (status == Status::Ok) status = one.step(&piece);
      times->add(milliseconds_since(before));
    }
  }
  return status;
}

struct Work {
  const char* name;
  bool reads;
  int64_t tokens;  // tokens to read, or before the drawn one
  int conversations = 1;

  Status time(const TextGenerator& model, double budget_ms, Durations* times) const {
    return reads ? time_reading(model, tokens, budget_ms, times)
                 : time_tokens(model, tokens, conversations, budget_ms, times);
  }
  // Tokens that a run produces.
  double work() const { return static_cast<double>(reads ? tokens : conversations); }
};
constexpr Work kWorks[] = {{"read-64", true, 64},           {"read-128", true, 128},
                           {"read-512", true, 512},         {"token-after-8", false, 8},
                           {"token-after-500", false, 500}, {"four-after-64", false, 64, 4},
                           {"eight-after-64", false, 64, 8}};

// The rows that `list` names, or all.
bool chosen_works(const std::string& list, std::vector<Work>* works) {
  if (list.empty()) works->assign(std::begin(kWorks), std::end(kWorks));
  std::istringstream input(list);
  std::string known;
  for (const Work& work : kWorks) known.append(known.empty() ? "" : ", ").append(work.name);
  for (std::string name; std::getline(input, name, ',');) {
    const auto* found =
        std::find_if(std::begin(kWorks), std::end(kWorks), [&](const Work& w) { return name == w.name; });
    if (found == std::end(kWorks)) {
      complain("there is no row '" + name + "' for a language model, only " + known);
      return false;
    }
    works->push_back(*found);
  }
  // Loads one model after the other, for one conversation and for several.
  std::stable_sort(works->begin(), works->end(),
                   [](const Work& a, const Work& b) { return a.conversations < b.conversations; });
  return true;
}

int bench_writer(const std::string& select, const std::vector<Work>& works, const BenchOptions& options,
                 nlohmann::json* report) {
  Messages messages;
  const auto failed = [&](const std::string& what, Status status, int code) {
    complain(what, messages.take(), status);
    return code;
  };
  Device device;
  Status status = Device::open(device_options(select, messages.log()), &device);
  if (status != Status::Ok) return failed(select.empty() ? "device" : "device '" + select + "'", status, kBadInput);
  const std::string word = device.info().word;
  TextGeneratorOptions wanted;
  wanted.log = messages.log();
  wanted.weight_dtype = dtype_of(options.weights);
  wanted.context = 2048;
  wanted.cache_dtype = dtype_of(options.cache);
  wanted.round_rows = options.round_rows;
  TextGenerator model;
  const auto open = [&](int conversations) {
    wanted.together = conversations;
    model = {};
    const Status opened = TextGenerator::open(device, options.model, wanted, &model);
    if (opened == Status::Ok) return kSuccess;
    const bool ran = opened == Status::DeviceLost || opened == Status::DriverError;
    return failed(options.model + " on " + word, opened, ran ? kFailed : kBadInput);
  };
  const Clock::time_point start = Clock::now();
  if (const int opened = open(works.front().conversations); opened != kSuccess) return opened;
  const double open_ms = milliseconds_since(start);
  if (!options.json) {
    std::printf("%s  %s, weights %s, opened in %.0f ms\n", word.c_str(), device.info().name.c_str(),
                to_string(model.weight_dtype()), open_ms);
    std::printf("%-22s %12s %12s %12s %12s %5s\n", "work", "tokens/s", "median ms", "min ms", "max ms", "runs");
  }
  int code = kSuccess;
  nlohmann::json rows = nlohmann::json::array();
  for (const Work& work : works) {
    if (work.conversations != wanted.together)
      if (const int opened = open(work.conversations); opened != kSuccess) return opened;
    Durations times;
    status = work.time(model, options.seconds * 1e3, &times);
    if (status != Status::Ok) {
      code = failed(std::string(work.name) + " on " + word, status, kFailed);
      continue;
    }
    std::sort(times.all.begin(), times.all.end());
    const double rate = work.work() * 1e3 / std::max(times.median(), 1e-9);
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
  std::vector<Work> works;
  if (!chosen_works(options.ops, &works)) return kBadInput;
  nlohmann::json report = nlohmann::json::array();
  int code = kSuccess;
  for (const std::string& select : selections(options.device))
    code = std::max(code, bench_writer(select, works, options, &report));
  if (options.json) std::printf("%s\n", text_of({{"model", options.model}, {"devices", report}}).c_str());
  return code;
}

}  // namespace heed::program
