// Tiny decoders of every family, with random weights, give on every device the tokens that make.py computed in double.
#include "decoders/tiny.hpp"
#include "graph/graph_data.hpp"
#include "harness/catch.hpp"
#include "harness/devices.hpp"

#include <set>

using namespace heed;
using namespace heed::test;

namespace {

constexpr int64_t kCapacity = 72, kMost = 8;  // tokens of a conversation, and of a run

Graph decoder_graph(const TinyDecoder& s, Dim batch = 1, DecoderOptions options = {}) {
  Graph g;
  const Dim past = g.position("past", kCapacity - 1), tokens = g.extent("tokens", kMost);
  const Tensor ids = g.input("ids", {batch, tokens}, DType::I32);
  options.cache = {.capacity = kCapacity, .past = past, .dtype = options.cache.dtype};
  const DecoderResult y = nn::decoder(g, ids, s.config, options);
  g.output("logits", y.logits);
  g.output("next", g.argmax(y.logits));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  return g;
}

struct Speaker : PlanSpeaker {
  Speaker(Plan compiled_plan, const TinyDecoder& what)
      : PlanSpeaker(std::move(compiled_plan), what.config.vocabulary, kMost) {}
};

void check_speech(const ops::TestDevice& on, const std::string& name) {
  const TinyDecoder s = tiny_decoder(name);
  const Plan plan = compiled(on.device, decoder_graph(s), uploaded(on.device, s.file.host_tensors()));
  const std::span<const int32_t> prompt = s.prompt;
  Speaker at_once(plan, s), apart(plan, s);
  int32_t next = at_once.read(prompt);
  apart.read(prompt.first(3));
  for (const int32_t token : prompt.subspan(3, 2)) apart.read({&token, 1});
  CHECK(apart.read(prompt.subspan(5)) == next);
  double worst = 0;
  const size_t steps = on.interpreted ? 8 : s.tokens.size();
  for (size_t i = 0; i < steps; ++i) {
    INFO("token " << i);
    REQUIRE(next == s.tokens[i]);
    worst = std::max({worst, s.distance(at_once.logits, i), s.distance(apart.logits, i)});
    if (i + 1 == steps) break;
    next = at_once.read({&next, 1});
    REQUIRE(apart.read({&s.tokens[i], 1}) == next);
  }
  CHECK(worst < 1e-4);
  std::printf("%-8s on %s: %zu tokens, worst error of logits %.1e of the greatest\n", name.c_str(), on.word.c_str(),
              steps, worst);
}

}  // namespace

TEST_CASE("decoders: every family has a tiny one", "[decoder]") {
  std::set<std::string_view> tested;
  const std::vector<std::string_view> known = decoder_families();
  for (const std::string& name : tiny_decoders()) tested.insert(tiny_decoder(name).config.family);
  CHECK(tested == std::set<std::string_view>(known.begin(), known.end()));
  CHECK(tested.size() == known.size());
}

TEST_CASE("decoders say what they said in double on every device", "[ops][decoder]") {
  for (const ops::TestDevice& on : ops::test_devices())
    for (const std::string& name : tiny_decoders()) {
      INFO(name << " on " << on.word);
      check_speech(on, name);
    }
}

TEST_CASE("decoder: conversations of one plan do not hear each other", "[decoder]") {
  const TinyDecoder s = tiny_decoder("qwen2");
  Device cpu = open_cpu();
  const Weights weights = uploaded(cpu, s.file.host_tensors());
  const Plan plan = compiled(cpu, decoder_graph(s), weights);
  Speaker one(plan, s), other(plan, s), fork(plan, s);
  int32_t next = one.read(s.prompt);
  const std::vector<int32_t> other_words = {4, 1, 1, 9};
  const int32_t other_next = other.read(other_words);
  for (size_t i = 0; i < 10; ++i) {
    CHECK(next == s.tokens[i]);
    next = one.read({&next, 1});
  }
  // A fork continues from the same state. Cut back to the prompt, the conversation gives the same tokens again.
  REQUIRE(fork.state.copy(one.state) == Status::Ok);
  fork.past = one.past;
  CHECK(fork.read({&next, 1}) == s.tokens[11]);
  one.past = static_cast<int64_t>(s.prompt.size());
  CHECK(one.read({&s.tokens[0], 1}) == s.tokens[1]);
  Speaker again(plan, s);
  CHECK(again.read(other_words) == other_next);

  // Two rows of a batch give the tokens of each alone.
  const Plan pair = compiled(cpu, decoder_graph(s, 2), weights);
  State both = state_of(Plan(pair));
  std::vector<int32_t> words(other_words);
  words.insert(words.end(), s.prompt.begin(), s.prompt.begin() + 4);
  std::vector<int32_t> said(2);
  std::vector<float> logits(2 * one.logits.size());
  REQUIRE(Plan(pair).run({{"ids", words}, {"logits", logits}, {"next", said}}, {{"past", 0}, {"tokens", 4}},
                         {.state = both}) == Status::Ok);
  Speaker alone(plan, s);
  CHECK(said[0] == other_next);
  CHECK(said[1] == alone.read(std::span(s.prompt).first(4)));
}

TEST_CASE("decoder: without a cache a run gives the logits of every token of a text", "[decoder]") {
  for (const char* name : {"llama", "gpt2"}) {
    INFO(name);
    const TinyDecoder s = tiny_decoder(name);
    std::vector<int32_t> text = s.prompt;
    text.insert(text.end(), s.tokens.begin(), s.tokens.begin() + 12);
    Graph g;
    const Dim batch = g.extent("batch", 2);
    const Tensor ids = g.input("ids", {batch, static_cast<int64_t>(text.size())}, DType::I32);
    const DecoderResult y = nn::decoder(g, ids, s.config, {.all_logits = true});
    g.output("logits", y.logits);
    g.output("hidden", y.hidden);
    Device cpu = open_cpu();
    Plan plan = compiled(cpu, g, uploaded(cpu, s.file.host_tensors()));
    const auto words = static_cast<size_t>(s.config.vocabulary);
    for (const size_t rows : {size_t{1}, size_t{2}}) {
      std::vector<int32_t> texts = text;
      if (rows == 2) texts.insert(texts.begin(), text.size(), 1);  // after another text
      std::vector<float> logits(texts.size() * words), hidden(texts.size() * static_cast<size_t>(s.config.width));
      REQUIRE(plan.run({{"ids", texts}, {"logits", logits}, {"hidden", hidden}},
                       {{"batch", static_cast<int64_t>(rows)}}) == Status::Ok);
      for (size_t i = 0; i <= 12; ++i) {
        const auto row = logits.begin() + static_cast<ptrdiff_t>((texts.size() - 13 + i) * words);
        CHECK(s.distance({row, row + static_cast<ptrdiff_t>(words)}, i) < 1e-4);
      }
    }
  }
}

TEST_CASE("decoder: weights of two bytes and names with a prefix", "[decoder]") {
  for (const char* name : {"qwen2", "gpt2"})
    for (const DType type : {DType::F16, DType::BF16}) {
      INFO(name << " with weights of " << to_string(type));
      const TinyDecoder s = tiny_decoder(name);
      std::vector<HostTensor> tensors = s.file.host_tensors();
      std::vector<std::string> names;
      for (const HostTensor& tensor : tensors) names.push_back("part." + std::string(tensor.name));
      for (size_t i = 0; i < tensors.size(); ++i) tensors[i].name = names[i];
      Device cpu = open_cpu();
      const Weights weights = uploaded(cpu, tensors, {.keep_dtype = false, .dtype = type, .only_matrices = true});
      Speaker speaker(compiled(cpu, decoder_graph(s, 1, {.weight_dtype = type, .prefix = "part"}), weights), s);
      speaker.read(s.prompt);
      CHECK(s.distance(speaker.logits, 0) < (type == DType::F16 ? 0.01 : 0.08));
      const std::string attention = s.config.family == "gpt2" ? "part.h.1.attn" : "part.model.layers.1.self_attn";
      std::vector<float> keys(static_cast<size_t>(s.config.kv_heads * s.config.head_width));
      CHECK(speaker.state.read(attention + ".keys", std::as_writable_bytes(std::span(keys)),
                               {.axis = 2, .begin = static_cast<int64_t>(s.prompt.size()) - 1, .size = 1}) ==
            Status::Ok);
      CHECK(std::any_of(keys.begin(), keys.end(), [](float key) { return key != 0.0f; }));
    }
}

TEST_CASE("decoder: keys and values of two bytes beside f32 on every device", "[ops][decoder][slow]") {
  for (const ops::TestDevice& on : ops::test_devices())
    for (const std::string& name : tiny_decoders())
      for (const DType type : {DType::F16, DType::BF16}) {
        INFO(name << " with keys of " << to_string(type) << " on " << on.word);
        const TinyDecoder s = tiny_decoder(name);
        Plan plan;
        Device device = on.device;
        const Status status = device.compile(decoder_graph(s, 1, {.cache = {.dtype = type}}),
                                             uploaded(on.device, s.file.host_tensors()), &plan);
        if (status == Status::Unsupported) {  // without 16-bit storage
          CHECK(ops::take_checked_messages().find("16-bit storage") != std::string::npos);
          continue;
        }
        REQUIRE(status == Status::Ok);
        Speaker speaker(plan, s);
        const std::span<const int32_t> prompt = s.prompt;
        speaker.read(prompt.first(3));
        for (const int32_t token : prompt.subspan(3, 2)) speaker.read({&token, 1});
        speaker.read(prompt.subspan(5));
        // One rounding of each key and value: above the errors of f32, and below any larger fault.
        const double error = s.distance(speaker.logits, 0);
        CHECK(error > 2e-6);
        CHECK(error < (type == DType::F16 ? 2e-3 : 2e-2));
        const std::string attention = s.config.family == "gpt2" ? "h.1.attn" : "model.layers.1.self_attn";
        std::vector<uint16_t> keys(static_cast<size_t>(s.config.kv_heads * s.config.head_width));
        const auto last = static_cast<int64_t>(s.prompt.size()) - 1;
        CHECK(speaker.state.read(attention + ".keys", std::as_writable_bytes(std::span(keys)),
                                 {.axis = 2, .begin = last, .size = 1}) == Status::Ok);
        CHECK(std::any_of(keys.begin(), keys.end(), [](uint16_t key) { return key != 0; }));
      }
}

TEST_CASE("decoder: a conversation ends where its cache does", "[decoder]") {
  const TinyDecoder s = tiny_decoder("gpt2");
  Device cpu = open_cpu({.log = {}});
  const Plan plan = compiled(cpu, decoder_graph(s), uploaded(cpu, s.file.host_tensors()));
  Speaker speaker(plan, s);
  speaker.past = kCapacity - 4;
  const std::vector<int32_t> words(5, 1);
  std::vector<int32_t> next(1);
  CHECK(speaker.plan.run({{"ids", words}, {"logits", speaker.logits}, {"next", next}},
                         {{"past", speaker.past}, {"tokens", 5}},
                         {.state = speaker.state}) == Status::ExtentOutOfRange);
  speaker.read(std::span(words).first(4));
}

TEST_CASE("decoder: wrong configurations are refused", "[decoder]") {
  const TinyDecoder s = tiny_decoder("llama");
  const auto status_of = [](const DecoderConfig& config, const DecoderOptions& options = {}, Shape shape = {1, 4}) {
    Graph g;
    (void)nn::decoder(g, g.input("ids", shape, DType::I32), config, options);
    return g.status();
  };
  CHECK(status_of(s.config) == Status::Ok);
  CHECK(status_of({}) == Status::InvalidArgument);
  DecoderConfig config = s.config;
  config.family = "gpt2";
  config.positions = 0;
  CHECK(status_of(config) == Status::InvalidArgument);  // no positions
  config = s.config;
  config.family = "mamba";
  CHECK(status_of(config) == Status::InvalidArgument);
  config = s.config;
  config.kv_heads = 3;
  CHECK(status_of(config) == Status::ShapeMismatch);
  config = s.config;
  config.layers = -1;
  CHECK(status_of(config) == Status::InvalidArgument);
  config = s.config;
  config.head_width = 7;
  CHECK(status_of(config) == Status::ShapeMismatch);  // no positions to rotate by
  CHECK(status_of(s.config, {.cache = {.capacity = -1}}) == Status::InvalidArgument);
  CHECK(status_of(s.config, {.cache = {.capacity = 3}}) != Status::Ok);  // fewer than a run has
  CHECK(status_of(s.config, {}, {4}) != Status::Ok);
}

TEST_CASE("attention with a cache is causal from the bottom right or not at all", "[decoder]") {
  Graph g;
  const Tensor x = g.input("x", {1, 2, 8});
  (void)nn::self_attention(g, x, "a", {.heads = 2, .causal = Causal::TopLeft, .cache = {.capacity = 8}});
  CHECK(g.status() == Status::InvalidArgument);
}

TEST_CASE("a cache of rows beyond the batch needs their number", "[decoder]") {
  const auto status_of = [](int64_t rows, bool first, int64_t batch) {
    Graph g;
    const Dim row = first ? g.position("row", 2) : Dim(0);
    const nn::Cache cache = {.capacity = 8, .rows = rows, .row = row};
    (void)nn::self_attention(g, g.input("x", {batch, 2, 8}), "a",
                             {.heads = 2, .causal = Causal::BottomRight, .cache = cache});
    return g.status();
  };
  CHECK(status_of(3, true, 1) == Status::Ok);
  CHECK(status_of(3, true, 3) == Status::Ok);
  CHECK(status_of(3, false, 2) == Status::Ok);
  CHECK(status_of(0, true, 1) == Status::InvalidArgument);
  CHECK(status_of(-1, false, 1) == Status::InvalidArgument);
  CHECK(status_of(3, false, 4) != Status::Ok);

  const auto with_tokens = [](int64_t rows, Shape of_rows, bool first, bool whole) {
    Graph g;
    nn::Cache cache = {.capacity = 8, .rows = rows, .row = first ? g.position("row", 2) : Dim(0)};
    cache.tokens.of_rows = g.input("of_rows", of_rows, DType::I32);
    if (whole) {
      cache.tokens.rows = g.input("rows", {1, 2}, DType::I32);
      cache.tokens.positions = g.input("positions", of_rows, DType::I32);
    }
    (void)nn::self_attention(g, g.input("x", {1, 2, 8}), "a",
                             {.heads = 2, .causal = Causal::BottomRight, .cache = cache});
    return g.status();
  };
  CHECK(with_tokens(5, {5, 1}, false, true) == Status::Ok);
  CHECK(with_tokens(5, {5, 1}, true, true) == Status::InvalidArgument);
  CHECK(with_tokens(5, {5, 1}, false, false) == Status::InvalidArgument);
  CHECK(with_tokens(5, {4, 1}, false, true) == Status::ShapeMismatch);
  CHECK(with_tokens(5, {5}, false, true) == Status::ShapeMismatch);
  CHECK(with_tokens(0, {5, 1}, false, true) == Status::ShapeMismatch);
}

namespace {

// Rows of a batch whose conversations have different lengths.
Graph rows_graph(const TinyDecoder& s, Dim batch) {
  Graph g;
  const Dim past = g.position("past", kCapacity - 1), tokens = g.extent("tokens", kMost);
  const Tensor ids = g.input("ids", {batch, tokens}, DType::I32);
  DecoderOptions options;
  options.cache = {.capacity = kCapacity, .past = past, .positions = g.input("positions", {batch, tokens}, DType::I32)};
  options.last = g.input("last", {batch, 1}, DType::I32);
  const DecoderResult y = nn::decoder(g, ids, s.config, options);
  g.output("logits", y.logits);
  g.output("next", g.argmax(y.logits));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  return g;
}

// Conversations side by side, each of which a plan of the same kind also reads alone.
struct Rows {
  Rows(Plan compiled_plan, const TinyDecoder& what, size_t rows)
      : plan(std::move(compiled_plan)), words(static_cast<size_t>(what.config.vocabulary)), past(rows) {
    REQUIRE(plan.make_state(&state) == Status::Ok);
  }
  // Reads tokens of each row, of which a row may have none, in a run of `length` tokens, for keys up to the `longest` row's. Returns the
  // logits of each row.
  std::vector<std::vector<float>> read(const std::vector<std::vector<int32_t>>& texts, int64_t length,
                                       int64_t longest) {
    const auto tokens = static_cast<size_t>(length);
    std::vector<int32_t> ids(past.size() * tokens, 0), positions(ids.size(), -1), last(past.size()), next(past.size());
    for (size_t b = 0; b < past.size(); ++b) {
      for (size_t i = 0; i < texts[b].size(); ++i) {
        ids[b * tokens + i] = texts[b][i];
        positions[b * tokens + i] = static_cast<int32_t>(past[b] + static_cast<int64_t>(i));
      }
      last[b] = static_cast<int32_t>(texts[b].size()) - 1;
      past[b] += static_cast<int64_t>(texts[b].size());
    }
    std::vector<float> logits(past.size() * words);
    REQUIRE(plan.run({{"ids", ids}, {"positions", positions}, {"last", last}, {"logits", logits}, {"next", next}},
                     {{"past", longest}, {"tokens", length}}, {.state = state}) == Status::Ok);
    std::vector<std::vector<float>> each;
    for (size_t b = 0; b < past.size(); ++b)
      each.emplace_back(logits.begin() + static_cast<ptrdiff_t>(b * words),
                        logits.begin() + static_cast<ptrdiff_t>((b + 1) * words));
    return each;
  }
  Plan plan;
  State state;
  size_t words;
  std::vector<int64_t> past;
};

}  // namespace

// Runs have the same length and number of keys on both sides, so that kernels process the same keys in the same order. The kernels of
// matmul may depend on the number of rows.
TEST_CASE("decoder: rows of a batch are conversations of different lengths", "[decoder]") {
  constexpr size_t kRows = 3;
  for (const ops::TestDevice& on : ops::test_devices())
    for (const char* name : {"llama", "qwen3", "gpt2"}) {
      INFO(name << " on " << on.word);
      TinyDecoder s = tiny_decoder(name);
      Device device = on.device;
      const Weights weights = uploaded(device, s.file.host_tensors());
      const bool is_cpu = device.info().kind == DeviceKind::Cpu;
      Rows together(compiled(device, rows_graph(s, static_cast<int64_t>(kRows)), weights), s, kRows);
      const Plan one = compiled(device, rows_graph(s, 1), weights);
      std::vector<Rows> alone;
      for (size_t b = 0; b < kRows; ++b) alone.emplace_back(one, s, 1);
      // The first row reads the prompt. The second reads two tokens of its own, then one at a time. The third begins later.
      const std::vector<int32_t>& prompt = s.prompt;
      std::vector<std::vector<std::vector<int32_t>>> turns = {
          {prompt, {4, 1}, {}}, {{s.tokens[0]}, {1}, {}}, {{s.tokens[1]}, {9}, {7, 3, 2, 5, 1}}};
      for (int32_t i = 2; i < 5; ++i) turns.push_back({{s.tokens[static_cast<size_t>(i)]}, {i}, {i + 3}});
      for (size_t turn = 0; turn < turns.size(); ++turn) {
        const int64_t longest = together.past[0];
        size_t length = 1;
        for (const auto& text : turns[turn]) length = std::max(length, text.size());
        const auto count = static_cast<int64_t>(length);
        const auto got = together.read(turns[turn], count, longest);
        for (size_t b = 0; b < kRows; ++b) {
          if (turns[turn][b].empty()) continue;
          INFO("turn " << turn << ", row " << b);
          const auto want = alone[b].read({turns[turn][b]}, count, longest)[0];
          if (is_cpu) CHECK(got[b] == want);
          float most = 0;
          for (size_t i = 0; i < want.size(); ++i) most = std::max(most, std::fabs(got[b][i] - want[i]));
          CHECK(most < 1e-4f * std::fabs(*std::max_element(want.begin(), want.end())));
        }
        CHECK(s.distance(got[0], turn) < 1e-4);
      }
    }
}

TEST_CASE("decoder: windows of all layers and of some", "[decoder]") {
  const TinyDecoder s = tiny_decoder("llama");
  const auto windows = [&](int64_t window, int from, int every) {
    DecoderConfig config = s.config;
    config.layers = 6, config.window = window, config.window_from = from, config.full_every = every;
    Graph g;
    (void)nn::decoder(g, g.input("ids", {1, 5}, DType::I32), config);
    std::vector<uint32_t> found;
    for (const Node& node : g.data().nodes)
      if (node.op == Op::Attention) found.push_back(node.as<AttentionAttrs>().softmax.window);
    return found;
  };
  using List = std::vector<uint32_t>;
  CHECK(windows(0, 0, 0) == List{0, 0, 0, 0, 0, 0});
  CHECK(windows(7, 0, 0) == List{7, 7, 7, 7, 7, 7});
  CHECK(windows(7, 4, 0) == List{0, 0, 0, 0, 7, 7});
  CHECK(windows(7, 0, 2) == List{7, 0, 7, 0, 7, 0});
  CHECK(windows(7, 0, 6) == List{7, 7, 7, 7, 7, 0});

  // A window as long as the conversation changes nothing. With a shorter one a long text has other logits.
  Device cpu = open_cpu();
  const Weights weights = uploaded(cpu, s.file.host_tensors());
  const auto said = [&](int64_t window) {
    TinyDecoder other = tiny_decoder("llama");
    other.config.window = window;
    Speaker speaker(compiled(cpu, decoder_graph(other), weights), other);
    speaker.read(s.prompt);
    for (size_t i = 0; i < 20; ++i) speaker.read({&s.tokens[i], 1});
    return speaker.logits;
  };
  CHECK(said(40) == said(0));
  CHECK(said(4) != said(0));
}
