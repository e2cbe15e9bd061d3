#include "bench_cases.hpp"

namespace heed::program {

namespace {

// The widths of a common encoder (BERT base, Devlin et al. 2018, arXiv:1810.04805).
constexpr int64_t kWidth = 768, kHidden = 3072, kHeads = 12, kHead = 64, kLayers = 12, kVocabulary = 30522;

Shape shape_of(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
}

std::string text(const std::vector<int64_t>& sizes, const char* suffix = "") {
  std::string joined;
  for (int64_t size : sizes) joined.append(joined.empty() ? "" : "x").append(std::to_string(size));
  return joined + suffix;
}

// A benchmark row for an operation that keeps the shape [rows, columns].
BenchCase row_wise(const char* op, int64_t rows, int64_t columns, std::function<Tensor(Graph&, Tensor)> apply,
                   const char* suffix = "", bool training = false) {
  const std::vector<int64_t> shape = {rows, columns};
  const auto build = [=](BenchGraph& b) { b.result(apply(b.graph, b.input("x", shape)), shape); };
  return {op, text(shape, suffix), Bound::Memory, build, training};
}

BenchCase matmul(int64_t m, int64_t n, int64_t k, Bound bound) {
  const auto build = [=](BenchGraph& b) {
    b.weight("w", {n, k});
    b.result(b.graph.linear(b.input("x", {m, k}), b.graph.weight("w", {n, k})), {m, n});
  };
  return {"matmul", text({m, n, k}), bound, build};
}

// By a quantized weight.
BenchCase matmul(int64_t m, int64_t n, int64_t k, DType type, Bound bound) {
  const auto build = [=](BenchGraph& b) {
    b.weight_dtype = type;
    b.weight("w", {n, k});
    b.result(b.graph.linear(b.input("x", {m, k}), b.graph.weight("w", {n, k}, type)), {m, n});
  };
  return {.op = "matmul",
          .shape = text({m, n, k}, "-").append(to_string(type)),
          .bound = bound,
          .build = build,
          .may_be_unsupported = true};
}

BenchCase attention(int64_t tokens, Causal causal, const char* suffix) {
  const std::vector<int64_t> shape = {1, kHeads, tokens, kHead};
  const auto build = [=](BenchGraph& b) {
    const Tensor q = b.input("q", shape), k = b.input("k", shape), v = b.input("v", shape);
    b.result(b.graph.attention(q, k, v, {.causal = causal}).output, shape);
  };
  return {"attention", text(shape, suffix), Bound::Arithmetic, build};
}

BenchCase softmax(int64_t tokens, Causal causal, const char* suffix) {
  const std::vector<int64_t> shape = {1, kHeads, tokens, tokens};
  const auto build = [=](BenchGraph& b) {
    b.result(b.graph.softmax(b.input("x", shape), {.scale = 0.125f, .causal = causal}), shape);
  };
  return {"softmax", text(shape, suffix), Bound::Memory, build};
}

BenchCase embedding(int64_t tokens) {
  const auto build = [=](BenchGraph& b) {
    b.weight("table", {kVocabulary, kWidth});
    const Tensor table = b.graph.weight("table", {kVocabulary, kWidth});
    b.result(b.graph.embedding(table, b.ids("ids", {tokens}, kVocabulary)), {tokens, kWidth});
  };
  return {"embedding", text({tokens, kWidth}), Bound::Memory, build};
}

BenchCase mean(int64_t batch, int64_t tokens) {
  const std::vector<int64_t> shape = {batch, tokens, kWidth};
  const auto build = [=](BenchGraph& b) {
    const Mask mask = exclude(b.padding("padding", {batch, tokens}));
    b.result(b.graph.mean(b.input("x", shape), 1, mask), {batch, kWidth});
  };
  return {"mean", text(shape), Bound::Memory, build};
}

BenchCase concat(int64_t rows) {
  const auto build = [=](BenchGraph& b) {
    const Tensor a = b.input("a", {rows, kWidth}), c = b.input("b", {rows, kWidth});
    b.result(b.graph.concat({a, c}, 1), {rows, 2 * kWidth});
  };
  return {"concat", text({rows, 2 * kWidth}), Bound::Memory, build};
}

BenchCase argmax(int64_t rows) {
  const std::vector<int64_t> shape = {rows, kVocabulary};
  const auto build = [=](BenchGraph& b) { b.result(b.graph.argmax(b.input("x", shape)), {rows}, DType::I32); };
  return {"argmax", text(shape), Bound::Memory, build};
}

BenchCase cross_entropy(int64_t rows) {
  const std::vector<int64_t> shape = {rows, kVocabulary};
  const auto build = [=](BenchGraph& b) {
    b.result(b.graph.cross_entropy(b.input("x", shape), b.ids("labels", {rows}, kVocabulary)), {rows});
  };
  return {"cross_entropy", text(shape), Bound::Memory, build};
}

// As a chat would have it: temperature, top-k and top-p.
BenchCase sample(int64_t rows) {
  const std::vector<int64_t> shape = {rows, kVocabulary};
  const auto build = [=](BenchGraph& b) {
    const SampleOptions options{.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};
    b.result(b.graph.sample(b.input("x", shape), options), {rows}, DType::I32);
  };
  return {"sample", text(shape), Bound::Memory, build};
}

BenchCase addition(int64_t rows) {
  const std::vector<int64_t> shape = {rows, kHidden};
  const auto build = [=](BenchGraph& b) {
    const Tensor x = b.input("x", shape), y = b.input("y", shape);
    b.result(b.graph.add(x, y), shape);
  };
  return {"elementwise", text(shape, "-add"), Bound::Memory, build};
}

BenchCase normalized(const char* op, int64_t rows, bool layer) {
  const std::vector<int64_t> shape = {rows, kWidth};
  const auto build = [=](BenchGraph& b) {
    b.weight("gamma", {kWidth});
    b.weight("beta", {kWidth});
    const Tensor x = b.input("x", shape), gamma = b.graph.weight("gamma", {kWidth});
    const Tensor beta = layer ? b.graph.weight("beta", {kWidth}) : Tensor{};
    b.result(layer ? b.graph.layernorm(x, gamma, beta, 1e-5f) : b.graph.rmsnorm(x, gamma, 1e-5f), shape);
  };
  return {op, text(shape), Bound::Memory, build};
}

void encoder_weights(BenchGraph& b, const std::string& layer) {
  const auto linear = [&](const std::string& name, const char* dot, int64_t out, int64_t in) {
    b.weight(layer + name + dot + "weight", {out, in});
    b.weight(layer + name + dot + "bias", {out});
  };
  linear(".self_attn.in_proj", "_", 3 * kWidth, kWidth);
  linear(".self_attn.out_proj", ".", kWidth, kWidth);
  linear(".linear1", ".", kHidden, kWidth);
  linear(".linear2", ".", kWidth, kHidden);
  for (const char* norm : {".norm1.", ".norm2."})
    for (const char* part : {"weight", "bias"}) b.weight(layer + norm + part, {kWidth});
}

BenchCase encoder(int64_t tokens) {
  const std::vector<int64_t> shape = {1, tokens, kWidth};
  const auto build = [=](BenchGraph& b) {
    for (int64_t i = 0; i < kLayers; ++i) encoder_weights(b, std::string("layers.").append(std::to_string(i)));
    const nn::EncoderLayerOptions layer = {.attention = {.heads = kHeads},
                                           .feed_forward = {.hidden = kHidden, .activation = Activation::GeluErf}};
    b.result(nn::encoder_stack(b.graph, b.input("x", shape), "layers", layer, {.layers = kLayers}), shape);
  };
  return {.op = "encoder",
          .shape = text(shape, "-12-layers"),
          .bound = Bound::Arithmetic,
          .build = build,
          .whole_model = true};
}

std::vector<BenchCase> make_cases() {
  return {
      matmul(1, kHidden, kWidth, Bound::Memory),
      matmul(128, kWidth, kWidth, Bound::Arithmetic),
      matmul(512, kHidden, kWidth, Bound::Arithmetic),
      matmul(512, kWidth, kHidden, Bound::Arithmetic),
      matmul(1, 11008, 4096, DType::Q4_1, Bound::Memory),
      matmul(1, 11008, 4096, DType::Q8_0, Bound::Memory),
      matmul(1, 11008, 4096, DType::Q4_K, Bound::Memory),
      matmul(1, 11008, 4096, DType::Q6_K, Bound::Memory),
      matmul(8, 11008, 4096, DType::Q4_1, Bound::Memory),
      matmul(128, 4096, 4096, DType::Q4_1, Bound::Arithmetic),
      softmax(512, Causal::None, ""),
      softmax(512, Causal::TopLeft, "-causal"),
      row_wise(
          "dropout", 512, kHidden, [](Graph& g, Tensor x) { return g.dropout(x, 0.1f); }, "", true),
      normalized("layernorm", 512, true),
      normalized("rmsnorm", 512, false),
      attention(128, Causal::None, ""),
      attention(512, Causal::None, ""),
      attention(512, Causal::TopLeft, "-causal"),
      embedding(512),
      row_wise("positional_encoding", 512, kWidth, [](Graph& g, Tensor x) { return g.positional_encoding(x); }),
      row_wise(
          "elementwise", 512, kHidden, [](Graph& g, Tensor x) { return g.activation(x, Activation::GeluErf); },
          "-gelu"),
      addition(512),
      mean(8, 512),
      row_wise("l2_normalize", 512, kWidth, [](Graph& g, Tensor x) { return g.l2_normalize(x); }),
      concat(512),
      argmax(64),
      cross_entropy(64),
      sample(1),
      encoder(128),
      encoder(512),
      decode_step(1, 8, DType::F16),
      decode_step(1, 500, DType::F16),
      decode_step(8, 500, DType::F16),
      decode_step(1, 500, DType::F16, DType::F16),
      decode_step(8, 500, DType::F16, DType::F16),
      decode_step(1, 8, DType::Q4_1),
      decode_step(1, 500, DType::Q4_1),
      decode_step(8, 500, DType::Q4_1),
  };
}

}  // namespace

size_t BenchGraph::Buffer::elements() const {
  size_t n = 1;
  for (int64_t size : shape) n *= static_cast<size_t>(size);
  return n;
}

Tensor BenchGraph::input(const std::string& name, const std::vector<int64_t>& shape) {
  inputs.push_back({name, shape});
  return graph.input(name, shape_of(shape));
}

Tensor BenchGraph::ids(const std::string& name, const std::vector<int64_t>& shape, int32_t below) {
  inputs.push_back({name, shape, DType::I32, below});
  return graph.input(name, shape_of(shape), DType::I32);
}

Tensor BenchGraph::padding(const std::string& name, const std::vector<int64_t>& shape) {
  inputs.push_back({name, shape, DType::U8});
  return graph.input(name, shape_of(shape), DType::U8);
}

void BenchGraph::weight(const std::string& name, const std::vector<int64_t>& shape) {
  weights.push_back({name, shape});
}

void BenchGraph::result(Tensor tensor, const std::vector<int64_t>& shape, DType dtype) {
  output = {"result", shape, dtype};
  graph.output("result", tensor);
}

const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> cases = make_cases();
  return cases;
}

}  // namespace heed::program
