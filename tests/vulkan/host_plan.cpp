#include "vulkan/host_plan.hpp"

#include <cmath>
#include <cstring>

#include "catch.hpp"

namespace heed::test {

Graph block_graph(DType dtype) {
  Graph g;
  const Dim batch = g.extent("batch", kBlockBatch), tokens = g.extent("tokens", kBlockTokens);
  const int64_t head = kBlockWidth / kBlockHeads;
  const Tensor x = g.input("x", {batch, tokens, kBlockWidth}, dtype);
  const Tensor padding = g.input("padding", {batch, tokens}, DType::U8);
  const auto weight = [&](const char* name, const Shape& shape) { return g.weight(name, shape, dtype); };
  const Tensor qkv = g.reshape(
      g.linear(x, weight("qkv.weight", {3 * kBlockWidth, kBlockWidth}), weight("qkv.bias", {3 * kBlockWidth})),
      {batch, tokens, 3, kBlockHeads, head});
  Tensor part[3];
  for (int i = 0; i < 3; ++i) part[i] = g.transpose(g.select(qkv, 2, i), 1, 2);
  const Tensor mixed =
      g.attention(part[0], part[1], part[2], {.causal = Causal::TopLeft, .key_padding = exclude(padding)}).output;
  const Tensor merged = g.reshape(g.transpose(mixed, 1, 2), {batch, tokens, kBlockWidth});
  const Tensor projected =
      g.linear(merged, weight("out.weight", {kBlockWidth, kBlockWidth}), weight("out.bias", {kBlockWidth}));
  const Tensor normed =
      g.layernorm(g.add(projected, x), weight("norm.weight", {kBlockWidth}), weight("norm.bias", {kBlockWidth}), 1e-5f);
  g.output("y", normed);
  return g;
}

std::vector<float> pattern(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

void Tensors::add(const std::string& name, std::vector<int64_t> shape, uint32_t seed) {
  size_t count = 1;
  for (int64_t dim : shape) count *= static_cast<size_t>(dim);
  values[name] = pattern(count, seed);
  shapes[name] = std::move(shape);
}

std::vector<HostTensor> Tensors::list() const {
  std::vector<HostTensor> tensors;
  for (const auto& [name, data] : values)
    tensors.push_back({name, DType::F32, shapes.at(name), std::as_bytes(std::span(data))});
  return tensors;
}

Tensors block_weights() {
  Tensors weights;
  weights.add("qkv.weight", {3 * kBlockWidth, kBlockWidth}, 1);
  weights.add("qkv.bias", {3 * kBlockWidth}, 2);
  weights.add("out.weight", {kBlockWidth, kBlockWidth}, 3);
  weights.add("out.bias", {kBlockWidth}, 4);
  weights.add("norm.weight", {kBlockWidth}, 5);
  weights.add("norm.bias", {kBlockWidth}, 6);
  return weights;
}

Sample make_sample(Plan& cpu_plan, int64_t batch, int64_t tokens, uint32_t seed) {
  Sample sample;
  sample.batch = batch;
  sample.tokens = tokens;
  const size_t rows = static_cast<size_t>(batch * tokens);
  sample.x = pattern(rows * kBlockWidth, seed);
  sample.y.resize(sample.x.size());
  sample.padding.assign((rows + 3) / 4 * 4, 0);
  for (size_t i = 0; i < rows; ++i) sample.padding[i] = (i * 7 + seed) % 5 == 0;
  REQUIRE(cpu_plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", sample.y}},
                       {{"batch", batch}, {"tokens", tokens}}) == Status::Ok);
  return sample;
}

void make_block(const vulkan::HostDevice& host, const CompileOptions& options, Block* block) {
  const Tensors weights = block_weights();
  const Graph graph = block_graph();
  REQUIRE(vulkan::adopt(host, &block->device) == Status::Ok);
  REQUIRE(block->device.upload(weights.list(), &block->weights) == Status::Ok);
  REQUIRE(block->device.compile(graph, block->weights, &block->plan, options) == Status::Ok);
  Device cpu;
  Weights cpu_weights;
  REQUIRE(Device::open({.select = "cpu", .log = host.log}, &cpu) == Status::Ok);
  REQUIRE(cpu.upload(weights.list(), &cpu_weights) == Status::Ok);
  REQUIRE(cpu.compile(graph, cpu_weights, &block->cpu_plan) == Status::Ok);
}

void write_inputs(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample) {
  std::memcpy(memory.mapped + at.x, sample.x.data(), sample.x.size() * sizeof(float));
  std::memcpy(memory.mapped + at.padding, sample.padding.data(), sample.padding.size());
}

std::string outputs_differ(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample) {
  std::vector<float> y(sample.y.size());
  std::memcpy(y.data(), memory.mapped + at.y, y.size() * sizeof(float));
  return difference(y.data(), sample.y);
}

SampleInfo::SampleInfo(const HostVulkan::Memory& memory, const Layout& at, const Sample& sample, uint32_t slot)
    : buffer_list{{"x", memory.buffer, at.x, sample.x.size() * sizeof(float)},
                  {"padding", memory.buffer, at.padding, sample.padding.size()},
                  {"y", memory.buffer, at.y}},
      extent_list{{"batch", sample.batch}, {"tokens", sample.tokens}},
      info{.buffers = buffer_list, .extents = extent_list, .slot = slot} {}

std::string difference(const float* got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::fabs(got[i] - want[i]) <= 2e-5f + 1e-4f * std::fabs(want[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]);
  }
  return "";
}

}  // namespace heed::test
