#include "vulkan/host_plan.hpp"

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

Tensors block_weights() {
  Tensors weights;
  weights.add_weights_of(block_graph());
  return weights;
}

Graph small_graph() {
  Graph g;
  const float ones[] = {1, 1, 1, 1};
  const Tensor rows = g.embedding(g.weight("table", {5, 4}), g.input("ids", {3}, DType::I32));
  g.output("y", g.layernorm(g.softmax(g.add(rows, g.constant("ones", {4}, ones))), {}, {}, 1e-5f));
  return g;
}

Tensors small_weights() {
  Tensors tensors;
  tensors.add("table", {5, 4}, 1);
  return tensors;
}

vulkan::HostDevice sabotaged(const HostVulkan& host, const Sabotage& what) {
  sabotage(what);
  set_sabotaged(host.vk().GetInstanceProcAddr);
  vulkan::HostDevice device = host.host_device();
  device.get_instance_proc_addr = sabotaged_instance_proc;
  return device;
}

std::string first_gpu() {
  std::vector<DeviceInfo> devices;
  REQUIRE(Device::list({}, &devices) == Status::Ok);
  for (const DeviceInfo& device : devices)
    if (device.kind != DeviceKind::Cpu && device.usable) return device.word;
  WARN("no Vulkan device here: what this test is about was not tested");
  return "";
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

std::string run_differs(Plan& plan, const Sample& sample, std::vector<float>* y) {
  std::vector<float> values(sample.y.size());
  REQUIRE(plan.run({{"x", sample.x}, {"padding", sample.padding}, {"y", values}},
                   {{"batch", sample.batch}, {"tokens", sample.tokens}}) == Status::Ok);
  if (y != nullptr) *y = values;
  return difference(values.data(), sample.y);
}

Block make_block(const vulkan::HostDevice& host, const CompileOptions& options) {
  Block block;
  block.device = adopted(host);
  block.weights = uploaded(block.device, block_weights().list());
  block.plan = compiled(block.device, block_graph(), block.weights, options);
  block.cpu_plan = block_on_cpu(host.log);
  return block;
}
Block make_block(const HostVulkan& host, const CompileOptions& options) {
  return make_block(host.host_device(), options);
}

Plan block_on_cpu(const Log& log) {
  const Device cpu = open_cpu({.log = log});
  return compiled(cpu, block_graph(), uploaded(cpu, block_weights().list()));
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

}  // namespace heed::test
