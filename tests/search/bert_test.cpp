// The tiny BERT of data/make_data.py on every device, compared with onnxruntime.

#include "search/rewritten.hpp"
#include "search/support.hpp"

namespace heed::test {
namespace {

struct Tiny {
  BertConfig config;
  Checkpoint checkpoint;
  BertWeights loaded;
  SafeTensors expected;
  Tiny() {
    const std::string folder = tiny_folder();
    const Log log = stderr_log();
    REQUIRE(read_bert_config(folder + "/config.json", log, &config) == Status::Ok);
    REQUIRE(Checkpoint::open(folder, log, &checkpoint) == Status::Ok);
    REQUIRE(BertWeights::load(checkpoint, config, log, &loaded) == Status::Ok);
    REQUIRE(SafeTensors::open(folder + ".safetensors", log, &expected) == Status::Ok);
  }
};

// Largest difference. Rows of `width` with keep 0 are left out. NaN counts as infinite.
double difference(const std::vector<float>& got, const std::vector<float>& want, std::span<const uint8_t> keep,
                  size_t width) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (!keep.empty() && keep[i / width] == 0) continue;
    const double d = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    worst = std::isnan(d) ? HUGE_VAL : std::max(worst, d);
  }
  return worst;
}

std::vector<uint8_t> bytes_of(const SafeTensors& file, std::string_view name) {
  std::vector<uint8_t> values;
  for (int32_t v : ints_of(file, name)) values.push_back(static_cast<uint8_t>(v));
  return values;
}

}  // namespace

TEST_CASE("The tiny BERT gives the reference's tokens, pooler, sentence and attention", "[bert]") {
  const Tiny tiny;
  const auto ids = ints_of(tiny.expected, "ids"), types = ints_of(tiny.expected, "types");
  const auto kept = bytes_of(tiny.expected, "keep");
  const int64_t batch = tiny.expected.find("ids")->shape[0], tokens = tiny.expected.find("ids")->shape[1];
  const size_t width = static_cast<size_t>(tiny.config.width);

  for (const ops::TestDevice& on : ops::test_devices()) {
    for (const bool joined : {true, false}) {
      INFO(on.word << (joined ? ", joined" : ", separate"));
      Graph g;
      // The extents' maxima exceed all runs, so that one plan serves every size.
      const Dim b = g.extent("batch", 7), s = g.extent("tokens", tiny.config.positions);
      const Tensor in = g.input("ids", {b, s}, DType::I32);
      const Mask padding = keep(g.input("keep", {b, s}, DType::U8));
      BertOptions options{.pooler = true, .attention = true, .joined_qkv = joined};
      options.types = g.input("types", {b, s}, DType::I32);
      const BertResult y = nn::bert(g, in, padding, tiny.config, options);
      g.output("tokens", y.tokens);
      g.output("pooled", y.pooled);
      g.output("sentence", nn::mean_sentence(g, y.tokens, padding));
      REQUIRE(y.attention.size() == 2);
      g.output("attention.0", y.attention[0]);
      g.output("attention.1", y.attention[1]);

      Device device = on.device;
      Plan plan;
      Weights weights = uploaded(
          device, joined ? tiny.loaded.tensors() : std::span<const HostTensor>(tiny.checkpoint.host_tensors()));
      const Status compiled = device.compile(g, weights, &plan);
      INFO(ops::take_checked_messages());
      REQUIRE(compiled == Status::Ok);
      std::vector<std::vector<float>> out(5);
      const char* names[] = {"tokens", "pooled", "sentence", "attention.0", "attention.1"};
      std::vector<HostBuffer> buffers = {{"ids", ids}, {"keep", kept}, {"types", types}};
      for (size_t i = 0; i < 5; ++i) {
        out[i].assign(floats_of(tiny.expected, std::string("typed.") + names[i]).size(), NAN);
        buffers.emplace_back(names[i], out[i]);
      }
      const ExtentValue sizes[] = {{"batch", batch}, {"tokens", tokens}};
      REQUIRE(plan.run(buffers, sizes) == Status::Ok);
      for (size_t i = 0; i < 5; ++i) {
        INFO(names[i]);
        // Rows of padded tokens are not compared.
        const std::span<const uint8_t> mask = i == 0 ? std::span<const uint8_t>(kept) : std::span<const uint8_t>();
        CHECK(difference(out[i], floats_of(tiny.expected, std::string("typed.") + names[i]), mask, width) < 2e-5);
      }
      CHECK(ops::take_checked_messages().empty());
    }
  }
}

TEST_CASE("One plan of the tiny BERT serves every size, and padding changes nothing", "[bert]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    for (const DType dtype : {DType::F32, DType::F16}) {
      INFO(on.word << " " << to_string(dtype));
      TextEncoder encoder = opened_on(on, tiny_folder(), {.dtype = dtype, .max_batch = 64});
      if (!encoder.valid()) continue;
      const size_t width = static_cast<size_t>(encoder.width());
      const auto row = [&](int64_t length) {
        std::vector<int32_t> ids(static_cast<size_t>(length));
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>((i * 131 + ids.size()) % 1700);
        return ids;
      };
      // Encodes each length alone, then all in one batch of 64 rows padded to 64 tokens.
      std::vector<std::vector<int32_t>> rows;
      std::vector<float> alone(64 * width), together(64 * width, NAN);
      for (int64_t i = 0; i < 64; ++i) {
        rows.push_back(row(i == 0 ? 64 : 1 + i * 37 % 64));
        const std::span<const int32_t> one[] = {rows.back()};
        REQUIRE(encoder.encode(make_batch(one, 0), std::span(alone).subspan(static_cast<size_t>(i) * width, width)) ==
                Status::Ok);
      }
      const std::vector<std::span<const int32_t>> all(rows.begin(), rows.end());
      REQUIRE(encoder.encode(make_batch(all, 0), together) == Status::Ok);
      CHECK(difference(together, alone, {}, width) < (dtype == DType::F32 ? 1e-5 : 1e-2));
      CHECK(ops::take_checked_messages().empty());
    }
  }
}

TEST_CASE("TextEncoder gives the reference's sentences", "[bert]") {
  const Tiny tiny;
  const auto ids = ints_of(tiny.expected, "ids");
  const auto kept = bytes_of(tiny.expected, "keep");
  const auto want = floats_of(tiny.expected, "plain.sentence");
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    Device device = on.device;
    uint64_t last[2] = {UINT64_MAX, 0};
    TextEncoderOptions options;
    options.progress = {[](void* user, uint64_t done, uint64_t total) {
                          auto* seen = static_cast<uint64_t*>(user);
                          CHECK((seen[0] == UINT64_MAX ? done == 0 : done >= seen[0]));
                          seen[0] = done, seen[1] = total;
                        },
                        last};
    TextEncoder encoder = opened(device, tiny_folder(), options);
    CHECK(last[0] == last[1]);
    CHECK(last[1] > 0);
    TokenBatch batch{tiny.expected.find("ids")->shape[0], tiny.expected.find("ids")->shape[1], ids, kept};
    std::vector<float> got(want.size(), NAN);
    REQUIRE(encoder.encode(batch, got) == Status::Ok);
    CHECK(difference(got, want, {}, 1) < 5e-6);
  }
}

TEST_CASE("TextEncoder encodes texts of any length in the order given", "[bert]") {
  Device device = ops::test_devices().back().device;
  TextEncoder encoder = opened(device, tiny_folder(), {.max_batch = 3});
  const std::string longest(100000, 'a'), many(100000, '!');
  const std::string_view texts[] = {"where",        "", longest, "a \xFF\xFE dragon", many, "the old man",
                                    "\xED\xA0\x80", "x"};
  const size_t width = static_cast<size_t>(encoder.width());
  std::vector<float> vectors(std::size(texts) * width), one(width);
  size_t truncated = 0, done = 0;
  REQUIRE(encoder.encode(texts, vectors, &truncated, {}, &done) == Status::Ok);
  CHECK(done == std::size(texts));
  CHECK(truncated == 1);
  for (size_t i = 0; i < std::size(texts); ++i) {
    REQUIRE(encoder.encode(std::span(texts + i, 1), one) == Status::Ok);
    const std::vector<float> got(vectors.begin() + static_cast<long>(i * width),
                                 vectors.begin() + static_cast<long>((i + 1) * width));
    CHECK(difference(got, one, {}, 1) < 1e-5);
    double length = 0;
    for (float x : got) length += static_cast<double>(x) * static_cast<double>(x);
    CHECK(length == Approx(1).margin(1e-5));
  }
  // Stops when it is asked to.
  const EncodeProgress stop = {[](void*, size_t, size_t) { return false; }, nullptr};
  REQUIRE(encoder.encode(texts, vectors, nullptr, stop, &done) == Status::Ok);
  CHECK(done == 3);
  CHECK(encoder.encode(texts, std::span(vectors).first(width)) == Status::InvalidArgument);
}

TEST_CASE("Attention of a text has one matrix per layer and head, each row a distribution", "[bert]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    Device device = on.device;
    TextEncoder encoder = opened(device, tiny_folder());
    TextAttention attention;
    REQUIRE(encoder.attention("the old dragon", &attention) == Status::Ok);
    const size_t tokens = attention.tokens.size();
    REQUIRE(tokens >= 5);
    CHECK(attention.tokens.front() == "[CLS]");
    CHECK(attention.tokens.back() == "[SEP]");
    REQUIRE(attention.weights.size() == 2 * 3 * tokens * tokens);
    for (size_t row = 0; row < 2 * 3 * tokens; ++row) {
      double sum = 0;
      for (size_t i = 0; i < tokens; ++i) sum += static_cast<double>(attention.weights[row * tokens + i]);
      CHECK(sum == Approx(1).margin(1e-5));
    }
  }
}

TEST_CASE("Attention of a text that would take more than 1 GiB is refused", "[bert]") {
  constexpr int64_t kPositions = 6690;  // 2 layers of 3 heads: 6,688 tokens take 1 GiB
  ModelCopy model;
  lengthen(model, kPositions);
  Messages messages;
  Device device = open_cpu({.log = messages.log(), .threads = 1});
  TextEncoder encoder;
  REQUIRE(TextEncoder::open(device, model.path(), {.max_batch = 1, .max_tokens = kPositions, .log = messages.log()},
                            &encoder) == Status::Ok);
  std::string text;
  for (int64_t i = 0; i < kPositions; ++i) text += "a ";
  TextAttention attention;
  CHECK(encoder.attention(text, &attention) == Status::OutOfMemory);
  CHECK(messages.mention("the attention of 6690 tokens in 2 layers of 3 heads"));
  CHECK(encoder.attention("a b", &attention) == Status::Ok);
}

}  // namespace heed::test
