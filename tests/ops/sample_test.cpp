#include <cmath>
#include <set>

#include "graph/schedule/backend.hpp"
#include "harness/setup.hpp"
#include "ops/sample_reference.hpp"

namespace heed::ops {
namespace {

struct Setting {
  const char* name;
  SampleOptions options;
};
const Setting kSettings[] = {
    {"plain", {}},
    {"greedy", {.temperature = 0.0f}},
    {"cold", {.temperature = 0.3f}},
    {"hot", {.temperature = 9.0f}},
    {"top 1", {.top_k = 1}},
    {"top 5", {.top_k = 5}},
    {"half", {.top_p = 0.5f}},
    {"none but the first", {.top_p = 0.0f}},
    {"a hundredth", {.min_p = 0.01f}},
    {"all of them", {.temperature = 0.7f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f}},
    {"a share of the first", {.top_k = 1, .top_p = 0.9f}},  // may have many equal values
    {"a share of three", {.top_k = 3, .top_p = 0.8f}},
};

// Expects the reference's tokens, most of which must be unambiguous.
void expect_tokens(Run& run, const Array& logits, const SampleReference& reference) {
  int64_t unclear = 0;
  const Array tokens = sample(logits, reference, &unclear);
  CHECK(unclear <= 3 + tokens.size() / 10);  // if half of equal tokens are requested, all are kept
  run.expect_within("y", tokens, DType::I32);
}

// Logits with `different` distinct values, or arbitrary ones for 0.
Case rows_case(const Sizes& shape, const Setting& setting, int64_t different = 0) {
  return {text_of(shape) + ", " + setting.name + (different > 0 ? ", ties" : ""),
          [=](Trial& t) {
            SampleOptions options = setting.options;
            options.step = 3;
            t.graph.output("y", t.graph.sample(t.input("x", shape_of(shape)), options));
            Run& run = t.run();
            run.options.seed = 77;
            const Array v =
                run.input("x", different == 0 ? uniform(shape, 171, -9.0, 9.0)
                                              : whole_numbers(shape, 172, -different / 2, different / 2 + 1));
            expect_tokens(run, v, {.options = options, .seed = 77, .step = 3});
            t.passes = {"sample"};
          },
          false, shape.back() > 100000};
}

// Previous tokens, and a bias that forbids tokens, for each row or for all. A vocabulary of more than 32768 tokens is marked in several
// rounds.
Case lists_case(int64_t rows, int64_t n, int64_t listed, bool shared, float penalty) {
  const std::string name = std::to_string(rows) + "x" + std::to_string(n) + ", penalty of " + std::to_string(listed) +
                           (shared ? ", one list" : ", lists");
  return {name, [=](Trial& t) {
            const Dim count = t.graph.position("count", listed);
            const Sizes lists = shared ? Sizes{listed} : Sizes{rows, listed},
                        biases = shared ? Sizes{n} : Sizes{rows, n};
            SampleOptions options{.previous = t.graph.input("previous", shape_of(lists), DType::I32),
                                  .repetition_penalty = penalty,
                                  .bias = t.input("bias", shape_of(biases)),
                                  .temperature = 0.5f};
            if (shared)
              options.previous_count = count;
            else
              options.previous_counts = t.graph.input("counts", {rows}, DType::I32);
            t.graph.output("y", t.graph.sample(t.input("x", {rows, n}), options));
            for (const int64_t given : {int64_t{0}, listed / 2, listed}) {
              Run& run = t.run();
              if (shared) run.extents.push_back({"count", given});
              const Array x = run.input("x", uniform({rows, n}, 173, -9.0, 9.0));
              // Some ids are not in the vocabulary.
              const Array previous = run.input("previous", whole_numbers(lists, 174, -2, n + 2), DType::I32);
              Array bias = uniform(biases, 175);
              for (int64_t i = 0; i < bias.size(); ++i)
                if (bias.at(i) < 0.0) bias.at(i) = bias.at(i) < -0.01 ? -kInfinity : static_cast<double>(NAN);
              bias = run.input("bias", bias);
              SampleReference reference{.options = options, .previous = &previous, .bias = &bias, .count = given};
              Array counts({rows});
              for (int64_t r = 0; r < rows; ++r) counts.at(r) = static_cast<double>(given - 1 + r);  // past both ends
              if (!shared) {
                counts = run.input("counts", counts, DType::I32);
                reference.counts = &counts;
              }
              expect_tokens(run, x, reference);
            }
          }};
}

// A seed, step and settings for each row of the batch, which may differ from run to run.
Case apart_case(bool shared) {
  return {shared ? "seed, step and settings of a run" : "seeds, steps and settings of rows", [=](Trial& t) {
            const Dim n = t.graph.extent("n", 90);
            const Shape rows = shared ? Shape{1, 1} : Shape{2, 3};
            Shape words = rows;
            words.push_back(kSampleWords);
            SampleOptions options{.steps = t.graph.input("steps", rows, DType::I32),
                                  .seeds = t.graph.input("seeds", rows, DType::I32),
                                  .stream = 5,
                                  .settings = t.graph.input("settings", words, DType::I32)};
            // The last axis is strided.
            const Tensor x = t.graph.transpose(t.input("x", {2, n, 3}), 1, 2);
            t.graph.output("y", t.graph.sample(x, options));
            for (const int64_t length : {90, 1, 17}) {
              Run& run = t.run({{"n", length}});
              const Array v = permute(run.input("x", uniform({2, length, 3}, 176, -4.0, 4.0)), {0, 2, 1});
              const Sizes shape = shared ? Sizes{1, 1} : Sizes{2, 3};
              const Array steps = run.input("steps", whole_numbers(shape, 177, -5, 2000), DType::I32);
              const Array seeds = run.input("seeds", whole_numbers(shape, 178, -2147483647, 2147483647), DType::I32);
              Array settings(shared ? Sizes{1, 1, kSampleWords} : Sizes{2, 3, kSampleWords}), tokens({2, 3});
              for (int64_t r = 0; r < 6; ++r) {
                const SampleOptions& own = kSettings[shared ? 4 : static_cast<size_t>(r) + 2].options;
                SampleWords list;
                REQUIRE(sample_words(own, &list) == Status::Ok);
                for (int64_t i = 0; i < kSampleWords; ++i)
                  settings.at((shared ? 0 : r * kSampleWords) + i) = static_cast<double>(list[static_cast<size_t>(i)]);
                SampleReference reference{.options = own, .steps = &steps, .seeds = &seeds, .stream = 5};
                const Array all = sample(v, reference);
                tokens.at(r) = all.at(r);
                tokens.err(r) = all.err(r);
              }
              (void)run.input("settings", settings, DType::I32);
              run.expect_within("y", tokens, DType::I32);
            }
          }};
}

Case strange_case() {
  return {"infinities and NaN", [](Trial& t) {
            constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
            const Tensor x = t.input("x", {7, 3});
            t.graph.output("y", t.graph.sample(x));
            t.graph.output("z", t.graph.sample(x, {.temperature = 0.0f}));
            Run& run = t.run();
            (void)run.input("x", values({7, 3}, {-kInfinity, -kInfinity, -kInfinity,  //
                                                 kNan,       -kInfinity, kNan,        //
                                                 -kInfinity, -5,         -kInfinity,  //
                                                 kInfinity,  3,          kNan,        //
                                                 60000,      -60000,     -60000,      //
                                                 -60000,     kNan,       60000,       //
                                                 -60000,     kInfinity,  60000}));
            const Array tokens = values({7}, {-1, -1, 1, 0, 0, 2, 1});
            run.expect_exact("y", tokens, DType::I32);
            run.expect_exact("z", tokens, DType::I32);
          }};
}

}  // namespace

TEST_CASE("sample on every device", "[ops]") {
  Operation operation{"sample", {}};
  for (const Setting& setting : kSettings) {
    for (const int64_t n : {1, 2, 33, 129, 700}) operation.cases.push_back(rows_case({5, n}, setting));
    operation.cases.push_back(rows_case({3, 300}, setting, 6));
    operation.cases.push_back(rows_case({2, 300}, setting, 1));
  }
  for (const size_t setting : {0, 1, 9}) operation.cases.push_back(rows_case({1, 151936}, kSettings[setting], 60));
  operation.cases.push_back(rows_case({2, 3, 2, 20}, kSettings[2]));
  for (const float penalty : {1.0f, 1.3f, 0.5f}) {
    operation.cases.push_back(lists_case(3, 50, 20, true, penalty));
    operation.cases.push_back(lists_case(3, 50, 20, false, penalty));
  }
  operation.cases.push_back(lists_case(2, 33000, 700, false, 1.2f));
  operation.cases.push_back(lists_case(1, 70000, 3, true, 1.2f));
  operation.cases.push_back(apart_case(true));
  operation.cases.push_back(apart_case(false));
  operation.cases.push_back(strange_case());
  check(operation);
}

namespace {

// All options at once, with arbitrary words as settings.
Graph drawing(int64_t rows, int64_t n, DType type) {
  Graph g;
  SampleOptions options{.previous = g.input("previous", {40}, DType::I32),
                        .previous_counts = g.input("counts", {rows}, DType::I32),
                        .bias = g.input("bias", {n}, type),
                        .step = g.position("step", 9),
                        .settings = g.input("settings", {rows, kSampleWords}, DType::I32)};
  g.output("y", g.sample(g.input("x", {rows, n}, type), options));
  return g;
}

// The tokens that a device draws in a few runs.
std::vector<int32_t> drawn(Device device, int64_t rows, int64_t n, DType type, bool hostile) {
  Plan plan;
  REQUIRE(device.compile(drawing(rows, n, type), {}, &plan) == Status::Ok);
  std::vector<int32_t> all;
  for (int64_t i = 0; i < 3; ++i) {
    Run run;
    run.dtype = type;
    const uint64_t seed = 1000 + 10 * static_cast<uint64_t>(i);
    const double range = std::array{3.0, 12.0, 300.0}[static_cast<size_t>(i)];
    (void)run.input("x", uniform({rows, n}, seed, -range, range));
    (void)run.input("bias", uniform({n}, seed + 1, -1.0, 1.0));
    (void)run.input("previous", whole_numbers({40}, seed + 2, 0, n), DType::I32);
    (void)run.input("counts", whole_numbers({rows}, seed + 3, -3, 50), DType::I32);
    Array settings = whole_numbers({rows, kSampleWords}, seed + 4, -2147483647, 2147483647);
    for (int64_t r = 0; r < rows && !hostile; ++r) {
      const Array draw = uniform({5}, seed + 5 + static_cast<uint64_t>(r), 0.0, 1.0);
      SampleWords words;
      REQUIRE(sample_words({.repetition_penalty = static_cast<float>(0.5 + draw.at(0)),
                            .temperature = static_cast<float>(3.0 * draw.at(1)),
                            .top_k = r % 3 == 0 ? 0 : static_cast<int64_t>(400.0 * draw.at(2)),
                            .top_p = r % 4 == 0 ? 1.0f : static_cast<float>(draw.at(3)),
                            .min_p = r % 2 == 0 ? 0.0f : static_cast<float>(0.1 * draw.at(4))},
                           &words) == Status::Ok);
      for (int64_t w = 0; w < kSampleWords; ++w)
        settings.at(r * kSampleWords + w) = static_cast<double>(words[static_cast<size_t>(w)]);
    }
    (void)run.input("settings", settings, DType::I32);
    std::vector<int32_t> tokens(static_cast<size_t>(rows));
    std::vector<HostBuffer> buffers = {{"y", tokens}};
    for (const Run::Input& input : run.inputs) buffers.emplace_back(input.name, std::span(input.bytes));
    const ExtentValue step[] = {{"step", i}};
    REQUIRE(plan.run(buffers, step, {.seed = 5}) == Status::Ok);
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

}  // namespace

TEST_CASE("sample: every device draws the same tokens", "[ops]") {
  for (const DType type : {DType::F32, DType::F16, DType::BF16}) {
    for (const bool hostile : {false, true}) {
      std::map<int64_t, std::vector<int32_t>> want;
      for (const TestDevice& device : test_devices(Subgroups::Both)) {
        if (!device.device.impl()->supports(type)) continue;
        INFO(device.word << (hostile ? ", any settings" : ""));
        const bool in_software = device.device.info().kind == DeviceKind::SoftwareGpu;
        const int64_t rows = device.interpreted ? 12 : in_software ? 125 : 500;
        std::vector<int32_t>& expected = want[rows];
        if (expected.empty()) expected = drawn(test::open_cpu(), rows, 333, type, hostile);
        const std::vector<int32_t> got = drawn(device.device, rows, 333, type, hostile);
        size_t different = 0;
        for (size_t i = 0; i < got.size(); ++i) different += got[i] != expected[i];
        CHECK(different == 0);
        CHECK(take_checked_messages() == "");
      }
    }
  }
}

TEST_CASE("sample: tokens come as often as they are likely", "[ops]") {
  constexpr int64_t kRows = 40000, kTokens = 12;
  const Array logits = uniform({1, kTokens}, 179, -2.0, 2.0);
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    if (setting.options.temperature == 0.0f) continue;
    Graph g;
    g.output("y", g.sample(g.input("x", {kRows, kTokens}), setting.options));
    Plan plan = test::compiled(test::open_cpu(), g);
    std::vector<float> x;
    for (int64_t i = 0; i < kRows * kTokens; ++i) x.push_back(static_cast<float>(logits.at(i % kTokens)));
    std::vector<int32_t> tokens(kRows);
    REQUIRE(plan.run({{"x", x}, {"y", tokens}}, {}, {.seed = 11}) == Status::Ok);
    std::vector<double> counts(kTokens, 0.0);
    for (const int32_t token : tokens) ++counts[static_cast<size_t>(token)];
    const std::vector<double> likely = probabilities(logits, {.options = setting.options});
    for (size_t i = 0; i < kTokens; ++i) {
      const double expected = likely[i] * kRows, deviation = std::sqrt(expected * (1.0 - likely[i]));
      CHECK(std::abs(counts[i] - expected) <= 4.5 * deviation + 1e-3);
    }
  }
}

TEST_CASE("sample: seeds, streams, steps and rows draw apart", "[ops]") {
  Graph g;
  const Tensor x = g.input("x", {400, 50});
  const Dim step = g.position("step", 5);
  g.output("a", g.sample(x, {.step = step}));
  g.output("b", g.sample(x, {.step = step}));
  g.output("c", g.sample(x, {.step = step, .stream = 0}));
  g.output("d", g.sample(x, {.step = 5, .seeds = g.input("seeds", {1}, DType::I32), .stream = 0}));
  Plan plan = test::compiled(test::open_cpu(), g);
  const std::vector<float> logits(400 * 50, 1.0f);
  struct Tokens {
    std::vector<int32_t> a = std::vector<int32_t>(400), b = a, c = a, d = a;
  };
  const auto tokens = [&](int64_t at, uint32_t seed) {
    Tokens t;
    const std::vector<int32_t> seeds = {7};
    REQUIRE(plan.run({{"x", logits}, {"seeds", seeds}, {"a", t.a}, {"b", t.b}, {"c", t.c}, {"d", t.d}}, {{"step", at}},
                     {.seed = seed}) == Status::Ok);
    return t;
  };
  const auto agree = [](const std::vector<int32_t>& s, const std::vector<int32_t>& t) {
    int64_t same = 0;
    for (size_t i = 0; i < s.size(); ++i) same += s[i] == t[i];
    return same;
  };
  const Tokens first = tokens(0, 7), next = tokens(1, 7), other = tokens(0, 8), last = tokens(5, 7);
  CHECK(first.a == first.c);
  for (const auto* apart : {&first.b, &next.a, &other.a, &last.a}) CHECK(agree(first.a, *apart) < 30);
  // With its own seed every row behaves as row 0.
  CHECK(first.d == std::vector<int32_t>(400, last.a[0]));
}

TEST_CASE("sample: greedy is argmax", "[ops]") {
  Graph g;
  const Tensor x = g.input("x", {60, 301});
  g.output("a", g.argmax(x));
  g.output("b", g.sample(x, {.temperature = 0.0f}));
  g.output("c", g.sample(x, {.top_k = 1}));
  g.output("d", g.sample(x, {.top_p = 0.0f}));
  for (const TestDevice& device : test_devices()) {
    INFO(device.word);
    Plan plan;
    REQUIRE(device.device.impl()->supports(DType::F32));
    Device own = device.device;
    REQUIRE(own.compile(g, {}, &plan) == Status::Ok);
    std::vector<float> logits;
    const Array v = whole_numbers({60 * 301}, 180, -90, 90);
    for (const double one : v.value) logits.push_back(static_cast<float>(one));
    std::vector<int32_t> a(60), b(60), c(60), d(60);
    REQUIRE(plan.run({{"x", logits}, {"a", a}, {"b", b}, {"c", c}, {"d", d}}) == Status::Ok);
    CHECK(a == b);
    CHECK(a == c);
    CHECK(a == d);
    take_checked_messages();
  }
}

TEST_CASE("sample: mistakes are named") {
  const auto error = [](auto&& options_of, const Shape& shape = {2, 6}, DType type = DType::F32) {
    Graph g;
    (void)g.sample(g.input("x", shape, type), options_of(g));
    return std::string(g.error());
  };
  const auto given = [&](const SampleOptions& options) { return error([&](Graph&) { return options; }); };
  CHECK(given({}).empty());
  CHECK_THAT(given({.temperature = -1.0f}), holds("temperature"));
  CHECK_THAT(given({.temperature = NAN}), holds("temperature"));
  CHECK_THAT(given({.temperature = INFINITY}), holds("temperature"));
  CHECK_THAT(given({.top_k = -1}), holds("top_k"));
  CHECK_THAT(given({.top_p = 1.5f}), holds("top_p"));
  CHECK_THAT(given({.top_p = NAN}), holds("top_p"));
  CHECK_THAT(given({.min_p = -0.1f}), holds("min_p"));
  CHECK_THAT(given({.repetition_penalty = 0.0f}), holds("repetition_penalty"));
  CHECK_THAT(given({.repetition_penalty = NAN}), holds("repetition_penalty"));
  CHECK_THAT(given({.previous_count = 2}), holds("not given"));
  CHECK_THAT(given({.step = -1}), holds("numbers of this graph"));
  CHECK_THAT(error([](Graph&) { return SampleOptions{}; }, {6}), holds("rank 2"));
  CHECK_THAT(error([](Graph&) { return SampleOptions{}; }, {2, 6}, DType::I32), holds("f32, f16 or bf16"));
  const auto with = [&](Tensor SampleOptions::* member, const Shape& shape, DType type = DType::I32) {
    return error([&](Graph& g) {
      SampleOptions options;
      if (member == &SampleOptions::previous_counts) options.previous = g.input("p", {4}, DType::I32);
      options.*member = g.input("operand", shape, type);
      return options;
    });
  };
  CHECK(with(&SampleOptions::bias, {6}, DType::F32).empty());
  CHECK(with(&SampleOptions::bias, {2, 6}, DType::F32).empty());
  CHECK(with(&SampleOptions::bias, {1, 6}, DType::F32).empty());
  CHECK_THAT(with(&SampleOptions::bias, {6}, DType::F16), holds("f32 is needed"));
  CHECK_THAT(with(&SampleOptions::bias, {5}, DType::F32), holds("one row of 6 for each row"));
  CHECK_THAT(with(&SampleOptions::bias, {3, 6}, DType::F32), holds("one row of 6 for each row"));
  CHECK(with(&SampleOptions::previous, {2, 9}).empty());
  CHECK_THAT(with(&SampleOptions::previous, {3, 9}), holds("previous"));
  CHECK_THAT(with(&SampleOptions::previous, {9}, DType::F32), holds("i32 is needed"));
  CHECK(with(&SampleOptions::previous_counts, {2}).empty());
  CHECK_THAT(with(&SampleOptions::previous_counts, {3}), holds("one number for each row"));
  CHECK_THAT(with(&SampleOptions::seeds, {2, 1}), holds("one number for each row"));
  CHECK_THAT(with(&SampleOptions::settings, {7}), holds("one row of 8"));
  SampleWords words;
  CHECK(sample_words({.top_p = 2.0f}, &words) == Status::InvalidArgument);
  CHECK(sample_words({}, nullptr) == Status::InvalidArgument);
}

// Embeds the token, multiplies, samples, and appends the token to the text, from which the next step reads it.
namespace {

constexpr int64_t kRoom = 40, kWords = 97, kWidth = 24, kBatch = 2;

struct Writer {
  Trial trial{DType::F32};
  Array table = uniform({kWords, kWidth}, 181, -1.5, 1.5), weight = uniform({kWords, kWidth}, 182, -1.5, 1.5);
  SampleOptions options{.repetition_penalty = 1.2f, .temperature = 0.8f, .top_k = 50, .top_p = 0.95f};

  // With `stays` the text is a state, which grows on the device. Otherwise the host passes all of it to each run, and gets one token.
  explicit Writer(bool stays) {
    Graph& g = trial.graph;
    const Dim at = g.position("at", kRoom - 2), length = g.sum(at, 1, kRoom - 1);
    Tensor text = stays ? g.state("text", {kBatch, kRoom}, DType::I32) : g.input("text", {kBatch, kRoom}, DType::I32);
    const Tensor x = g.embedding(trial.weight("table", &table), g.slice(text, 1, at, 1));
    const Tensor logits = g.linear(x, trial.weight("weight", &weight));
    options.previous = text;
    options.previous_count = length;
    options.step = at;
    const Tensor next = g.sample(g.reshape(logits, {kBatch, kWords}), options);
    if (stays)
      (void)g.append(text, g.reshape(next, {kBatch, 1}), 1, length);
    else
      g.output("next", next);
  }
};

}  // namespace

TEST_CASE("sample: a text that grows in a state is the text that a host writes", "[ops][state]") {
  Writer stays(true), hosts(false);
  for (const TestDevice& device : test_devices()) {
    INFO(device.word);
    Device own = device.device;
    Weights weights;
    Plan plan, host_plan;
    REQUIRE(own.upload(stays.trial.host_weights(), &weights) == Status::Ok);
    REQUIRE(own.compile(stays.trial.graph, weights, &plan) == Status::Ok);
    REQUIRE(own.compile(hosts.trial.graph, weights, &host_plan) == Status::Ok);
    State state = test::state_of(plan);
    std::vector<int32_t> text(kBatch * kRoom, 0), grown(text.size());
    text[0] = 5, text[kRoom] = 9;
    REQUIRE(state.write("text", std::as_bytes(std::span(text))) == Status::Ok);
    const int64_t steps = device.interpreted ? 6 : kRoom - 1;
    for (int64_t at = 0; at < steps; ++at) {
      REQUIRE(plan.run({}, {{"at", at}}, {.seed = 3, .state = state}) == Status::Ok);
      std::vector<int32_t> next(kBatch);
      REQUIRE(host_plan.run({{"text", text}, {"next", next}}, {{"at", at}}, {.seed = 3}) == Status::Ok);
      for (int64_t b = 0; b < kBatch; ++b) text[static_cast<size_t>(b * kRoom + at + 1)] = next[static_cast<size_t>(b)];
    }
    REQUIRE(state.read("text", std::as_writable_bytes(std::span(grown))) == Status::Ok);
    CHECK(grown == text);
    const std::set<int32_t> different(grown.begin(), grown.end());
    CHECK(different.size() > (device.interpreted ? 5 : 20));
    CHECK(take_checked_messages() == "");
  }
}

}  // namespace heed::ops
