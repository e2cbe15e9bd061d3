#include "bench/cases.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cases/op_case.hpp"

namespace heed::program {

namespace {

// The widths of a common encoder (BERT base, Devlin et al. 2018, arXiv:1810.04805).
constexpr int64_t kWidth = 768, kHidden = 3072, kHeads = 12, kLayers = 12;

Shape shape_of(const std::vector<int64_t>& sizes) {
  Shape shape;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
}

BenchGraph::Buffer buffer_of(const CaseGraph::Operand& operand) {
  BenchGraph::Buffer buffer{operand.name, {}, operand.dtype, static_cast<int32_t>(operand.below)};
  for (int i = 0; i < operand.shape.rank; ++i) buffer.shape.push_back(operand.shape[i].value);
  return buffer;
}

std::string text(const std::vector<int64_t>& sizes, const char* suffix = "") {
  std::string joined;
  for (int64_t size : sizes) joined.append(joined.empty() ? "" : "x").append(std::to_string(size));
  return joined + suffix;
}

BenchCase row_of(const OpCase& one, const CaseSizes& sizes, DType type = DType::F32) {
  const auto build = [&one, sizes, type](BenchGraph& b) {
    CaseGraph made(type, sizes);
    one.build(made);
    b.graph = std::move(made.graph);
    for (const CaseGraph::Operand& x : made.inputs) b.inputs.push_back(buffer_of(x));
    for (const CaseGraph::Operand& w : made.weights) {
      b.weights.push_back(buffer_of(w));
      if (w.shape.rank > 1) b.weight_dtype = w.dtype;
    }
    b.output = buffer_of(made.outputs.front());
  };
  std::string shape = one.name(sizes).substr(std::strlen(one.op) + 1);
  std::replace(shape.begin(), shape.end(), ' ', '-');
  if (type != DType::F32) shape.append("-").append(to_string(type));
  return {.op = one.op,
          .shape = shape,
          .build = build,
          .training = one.training,
          .may_be_unsupported = one.one_type || type != DType::F32};
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
  return {.op = "encoder", .shape = text(shape, "-12-layers"), .build = build, .whole_model = true};
}

std::vector<BenchCase> make_cases() {
  std::vector<BenchCase> rows;
  for (const std::span<const OpCase> some : {matmul_cases(), attention_cases(), row_cases(), element_cases()})
    for (const OpCase& one : some)
      for (const CaseSizes& sizes : one.bench) rows.push_back(row_of(one, sizes));
  for (const int64_t tokens : {128, 512}) rows.push_back(encoder(tokens));
  for (const auto& [weights, cache] :
       {std::pair{DType::F16, DType::F32}, {DType::F16, DType::F16}, {DType::Q4_1, DType::F32}}) {
    if (cache == DType::F32) rows.push_back(decode_step(1, 8, weights));
    for (const int64_t sequences : {1, 8}) rows.push_back(decode_step(sequences, 500, weights, cache));
  }
  return rows;
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

void BenchGraph::weight(const std::string& name, const std::vector<int64_t>& shape) {
  weights.push_back({name, shape});
}

void BenchGraph::result(Tensor tensor, const std::vector<int64_t>& shape, DType dtype) {
  output = {"result", shape, dtype};
  graph.output("result", tensor);
}

BenchCase bench_case(std::string_view op, std::string_view label, const std::array<int64_t, 5>& sizes, DType type) {
  for (const std::span<const OpCase> some : {matmul_cases(), attention_cases(), row_cases(), element_cases()})
    for (const OpCase& one : some)
      if (op == one.op && label == one.label && one.bench.size() > 0) return row_of(one, sizes, type);
  return {};
}

const std::vector<BenchCase>& bench_cases() {
  static const std::vector<BenchCase> cases = make_cases();
  return cases;
}

}  // namespace heed::program
