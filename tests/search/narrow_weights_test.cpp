// Models whose matrices and tables are f16 or bf16 with activations of f32: a BERT, and every layer of nn.

#include "graph/graph_data.hpp"
#include "harness/reference.hpp"
#include "search/rewritten.hpp"
#include "search/support.hpp"

namespace heed::test {
namespace {

// The tiny model as one file with every tensor in bf16, like many checkpoints.
class Bf16Model {
 public:
  Bf16Model() { write_as_bf16(copy_ / "model.safetensors"); }  // preferred to the index file
  std::string path() const { return copy_.path(); }

 private:
  ModelCopy copy_;
};

// Vectors of the reference's sentences by the model in `folder`.
struct Encoded {
  Status status = Status::Ok;
  DType weight_dtype = DType::F32;
  uint64_t bytes = 0;
  std::vector<float> sentences;
};

Encoded encode(Device device, const std::string& folder, TextEncoderOptions options) {
  const SafeTensors expected = opened<SafeTensors>(tiny_folder() + ".safetensors", stderr_log());
  TokenBatch batch;
  batch.count = expected.find("ids")->shape[0];
  batch.tokens = expected.find("ids")->shape[1];
  batch.ids = ints_of(expected, "ids");
  for (const int32_t kept : ints_of(expected, "keep")) batch.keep.push_back(static_cast<uint8_t>(kept));
  TextEncoder encoder;
  Encoded encoded;
  encoded.status = TextEncoder::open(device, folder, options, &encoder);
  if (encoded.status != Status::Ok) return encoded;
  encoded.weight_dtype = encoder.weight_dtype();
  encoded.bytes = encoder.weights().bytes();
  encoded.sentences.assign(static_cast<size_t>(batch.count * encoder.width()), NAN);
  REQUIRE(encoder.encode(batch, encoded.sentences) == Status::Ok);
  TextAttention attention;
  CHECK(encoder.attention("the old dragon", &attention) == Status::Ok);
  return encoded;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::isnan(d) ? HUGE_VAL : std::max(worst, d);
  }
  return worst;
}

bool is_cpu(const ops::TestDevice& on) { return on.device.info().kind == DeviceKind::Cpu; }

// Whether activations are rounded: dot products of bf16 on some processors round the other operand, too.
bool rounds_activations(const ops::TestDevice& on, DType weights) {
  return weights == DType::BF16 && is_cpu(on) && on.device.info().reason.find("bf16") != std::string::npos;
}

}  // namespace

TEST_CASE("A BERT keeps its weights as the checkpoint has them, or as is asked", "[bert][narrow]") {
  const SafeTensors expected = opened<SafeTensors>(tiny_folder() + ".safetensors", stderr_log());
  const std::vector<float> want = floats_of(expected, "plain.sentence");  // with weights of f32
  const Bf16Model bf16;
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word << ": " << on.device.info().reason);
    const Encoded wide = encode(on.device, bf16.path(), {});
    CHECK(wide.weight_dtype == DType::F32);
    const Encoded kept = encode(on.device, bf16.path(), {.keep_weight_dtype = true});
    REQUIRE(kept.status == Status::Ok);
    CHECK(kept.weight_dtype == DType::BF16);
    // The values are equal, so that only the order of sums differs.
    CHECK(difference(kept.sentences, wide.sentences) < (rounds_activations(on, DType::BF16) ? 4e-3 : 5e-6));
    CHECK(static_cast<double>(kept.bytes) < 0.6 * static_cast<double>(wide.bytes));
    CHECK(encode(on.device, tiny_folder(), {.keep_weight_dtype = true}).weight_dtype == DType::F32);
    for (const DType asked : {DType::F16, DType::BF16}) {
      const Encoded narrow = encode(on.device, tiny_folder(), {.weight_dtype = asked});
      INFO(to_string(asked));
      CHECK(narrow.weight_dtype == asked);
      CHECK(difference(narrow.sentences, want) < (asked == DType::F16 ? 2e-3 : 1e-2));
    }
    const Encoded all = encode(on.device, tiny_folder(), {.dtype = DType::BF16});
    if (all.status == Status::Ok)
      CHECK(difference(all.sentences, want) < 3e-2);
    else
      CHECK((all.status == Status::Unsupported && ops::take_messages().size() == 1));  // no 16-bit storage
    CHECK(ops::take_checked_messages() == "");
  }
}

TEST_CASE("Weights that no device multiplies by are refused by name", "[bert][narrow]") {
  const Bf16Model bf16;
  Messages messages;
  const auto open = [&](Device device, TextEncoderOptions options) {
    options.log = messages.log();
    messages.text.clear();
    TextEncoder encoder;
    return TextEncoder::open(device, bf16.path(), options, &encoder);
  };
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    CHECK(open(on.device, {.dtype = DType::F16, .weight_dtype = DType::BF16}) == Status::InvalidArgument);
    CHECK_THAT(messages.text, holds("weights of bf16 beside a dtype of f16"));
    CHECK(open(on.device, {.weight_dtype = DType::I32}) == Status::InvalidArgument);
  }
}

namespace {

// A transformer with every kind of projection, matrices as `type`.
Graph transformer_graph(std::optional<DType> type) {
  Graph g;
  nn::TransformerOptions options;
  options.encoder.attention = {.heads = 2, .weight_dtype = type};
  options.encoder.feed_forward = {.hidden = 20, .weight_dtype = type};
  options.decoder.self_attention = {
      .heads = 2, .names = nn::AttentionNames{.q = "q", .kv = "kv", .out = "o", .in_out = true}, .weight_dtype = type};
  options.decoder.cross_attention = {.heads = 4, .kv_heads = 2, .names = nn::kSeparate, .weight_dtype = type};
  options.decoder.feed_forward = options.encoder.feed_forward;
  options.vocabulary = 11;
  options.out_weight_dtype = type;
  const Tensor source = g.input("source", {2, 5, 16}), target = g.input("target", {2, 3, 16});
  g.output("y", nn::transformer(g, source, target, "t", options).logits);
  return g;
}

}  // namespace

TEST_CASE("Every layer of nn takes matrices of f16 and bf16 beside f32", "[narrow]") {
  const Graph plain = transformer_graph({});
  REQUIRE(plain.status() == Status::Ok);
  for (const ops::TestDevice& on : ops::test_devices()) {
    for (const DType type : {DType::F16, DType::BF16}) {
      INFO(on.word << ", " << to_string(type));
      Device device = on.device;
      const Graph narrow = transformer_graph(type);
      REQUIRE(narrow.status() == Status::Ok);
      // Multiples of 1/8, which f16 and bf16 represent exactly.
      std::vector<std::vector<float>> values;
      std::vector<std::vector<int64_t>> shapes;
      std::vector<HostTensor> tensors;
      size_t matrices = 0;
      for (const detail::NamedTensor& weight : narrow.data().weights) {
        const Shape shape = narrow.shape({weight.tensor});
        shapes.emplace_back();
        for (int i = 0; i < shape.rank; ++i) shapes.back().push_back(shape[i].value);
        const ops::Array drawn = ops::whole_numbers(shapes.back(), weight.tensor + 1, -3, 4);
        values.emplace_back();
        for (const double value : drawn.value) values.back().push_back(static_cast<float>(value / 8));
        CHECK(narrow.dtype({weight.tensor}) == (shape.rank == 2 ? type : DType::F32));
        matrices += shape.rank == 2;
      }
      CHECK(matrices == 14);  // 2 + 2 of the encoder, 3 + 4 + 2 of the decoder, and the last linear layer
      for (size_t i = 0; i < values.size(); ++i)
        tensors.push_back({narrow.data().weights[i].name, DType::F32, shapes[i], std::as_bytes(std::span(values[i]))});
      const ops::Array x = ops::uniform({2, 5, 16}, 1), z = ops::uniform({2, 3, 16}, 2);
      const std::vector<float> source(x.value.begin(), x.value.end()), target(z.value.begin(), z.value.end());
      std::vector<float> got(2 * 3 * 11, NAN), want = got;
      Weights wide_weights = uploaded(device, tensors);
      Weights narrow_weights = uploaded(device, tensors, {.keep_dtype = false, .dtype = type, .only_matrices = true});
      Plan wide_plan = compiled(device, plain, wide_weights);
      Plan narrow_plan = compiled(device, narrow, narrow_weights);
      REQUIRE(wide_plan.run({{"source", source}, {"target", target}, {"y", want}}) == Status::Ok);
      REQUIRE(narrow_plan.run({{"source", source}, {"target", target}, {"y", got}}) == Status::Ok);
      CHECK(difference(got, want) < (rounds_activations(on, type) ? 2e-2 : 1e-5));
      CHECK(ops::take_checked_messages().empty());
    }
  }
}

}  // namespace heed::test
