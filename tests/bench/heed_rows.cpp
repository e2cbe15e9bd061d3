// Times the rows of rows.hpp in heed.
//   heed_rows DEVICE SECONDS ROW...     DEVICE as for Device::open: "cpu", "vulkan", part of a name
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <heed/heed.hpp>
#include <numeric>
#include <set>

#include "rows.hpp"

namespace heed::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A GPU lowers its clock while it has little to do, as between two rows, and raises it slowly.
constexpr double kWarmUp = 0.3;  // seconds

constexpr int64_t kWidth = 768, kHidden = 3072, kHeads = 12, kLayers = 12;

// A graph with the names of its inputs and weights.
struct Problem {
  Graph graph;
  DType type = DType::F32;
  std::vector<std::pair<std::string, Tensor>> inputs, weights;

  Tensor input(const char* name, const Shape& shape) {
    return inputs.emplace_back(name, graph.input(name, shape, type)).second;
  }
  Tensor weight(const std::string& name, const Shape& shape) {
    return weights.emplace_back(name, graph.weight(name, shape, type)).second;
  }
  std::vector<int64_t> sizes(Tensor tensor) const {
    const Shape shape = graph.shape(tensor);
    std::vector<int64_t> all;
    for (int i = 0; i < shape.rank; ++i) all.push_back(shape[i].value);
    return all;
  }
};

Tensor build_encoder(const Row& row, Problem* p) {
  const nn::EncoderLayerOptions layer = {.attention = {.heads = kHeads},
                                         .feed_forward = {.hidden = kHidden, .activation = Activation::GeluErf}};
  const Tensor y =
      nn::encoder_stack(p->graph, p->input("x", {1, row.sizes[0], kWidth}), "layers", layer, {.layers = kLayers});
  for (int64_t i = 0; i < kLayers; ++i)
    for (const char* part :
         {".self_attn.in_proj_", ".self_attn.out_proj.", ".linear1.", ".linear2.", ".norm1.", ".norm2."})
      for (const char* what : {"weight", "bias"}) {
        const std::string name = "layers." + std::to_string(i) + part + what;
        p->weights.emplace_back(name, p->graph.find_weight(name));
      }
  return y;
}

Tensor build(const Row& row, Problem* p) {
  const auto& s = row.sizes;
  Graph& g = p->graph;
  if (row.op == "encoder") return build_encoder(row, p);
  if (row.op == "matmul") {
    const Tensor x = p->input("x", {s[0], s[2]});
    return g.linear(x, p->weight("w", {s[1], s[2]}));
  }
  if (row.op == "attention") {
    const Shape shape = {1, s[0], s[1], s[2]};
    const Tensor q = p->input("q", shape), k = p->input("k", shape), v = p->input("v", shape);
    const Causal causal = row.causal ? Causal::TopLeft : Causal::None;
    // The output has the layout of the result in memory, so that nothing is copied at the end.
    return g.transpose(g.attention(q, k, v, {.causal = causal}).output, 1, 2);
  }
  const Shape shape = {s[0], s[1]};
  const Tensor x = p->input("x", shape);
  if (row.op == "softmax") return g.softmax(x);
  if (row.op == "add") return g.add(x, p->input("z", shape));
  const Tensor gamma = p->weight("gamma", {s[1]}), beta = p->weight("beta", {s[1]});
  return g.layernorm(x, gamma, beta, 1e-5f);
}

int64_t elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Small values that are never subnormal. f16: 0x2c00 and up is 1/16 and up.
std::vector<std::byte> values(int64_t count, DType type) {
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(type));
  uint32_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const float value = (static_cast<float>(state >> 8) / 16777216.0f - 0.5f) * 0.1f + 0.001f;
    const auto half = static_cast<uint16_t>(0x2400u + (state >> 21) + (state & 0x8000u));
    const auto upper = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
    if (type == DType::F16)
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], &half, 2);
    else if (type == DType::BF16)
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], &upper, 2);
    else
      std::memcpy(&bytes[static_cast<size_t>(i) * 4], &value, 4);
  }
  return bytes;
}

Status upload(Device& device, const Problem& p, Weights* weights) {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<std::byte>> data;
  std::vector<HostTensor> tensors;
  for (const auto& [name, tensor] : p.weights) {
    shapes.push_back(p.sizes(tensor));
    data.push_back(values(elements(shapes.back()), p.type));
  }
  for (size_t i = 0; i < data.size(); ++i) tensors.push_back({p.weights[i].first, p.type, shapes[i], data[i]});
  return device.upload(tensors, weights);
}

double run_once(Plan& plan, const std::vector<HostBuffer>& buffers, bool gpu) {
  const Clock::time_point start = Clock::now();
  if (plan.run(buffers) != Status::Ok) return -1.0;
  const double wall = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  std::vector<PassTime> passes;
  if (!gpu || plan.timings(&passes) != Status::Ok) return wall;
  return std::accumulate(passes.begin(), passes.end(), 0.0,
                         [](double sum, const PassTime& pass) { return sum + pass.milliseconds; });
}

std::string kernels_of(const Plan& plan) {
  std::set<std::string> names;
  for (const PassInfo& pass : plan.passes()) names.insert(pass.kernel);
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

void measure(Device& device, const Row& row, double seconds) {
  Problem p;
  p.type = row.type == "f16" ? DType::F16 : row.type == "bf16" ? DType::BF16 : DType::F32;
  const Tensor y = build(row, &p);
  p.graph.output("y", y);
  Weights weights;
  Plan plan;
  const bool gpu = device.info().kind != DeviceKind::Cpu;
  Status status = p.weights.empty() ? Status::Ok : upload(device, p, &weights);
  if (status == Status::Ok) status = device.compile(p.graph, weights, &plan, {.timestamps = gpu});
  if (status != Status::Ok) return print_row(row, -1, to_string(status));
  std::vector<std::vector<std::byte>> storage;
  std::vector<HostBuffer> buffers;
  for (const auto& [name, tensor] : p.inputs) storage.push_back(values(elements(p.sizes(tensor)), p.type));
  storage.emplace_back(static_cast<size_t>(elements(p.sizes(y))) * size_of(p.type));
  for (size_t i = 0; i < p.inputs.size(); ++i) buffers.emplace_back(p.inputs[i].first, storage[i]);
  buffers.emplace_back("y", storage.back());

  std::vector<double> times = {run_once(plan, buffers, gpu)};
  const Clock::time_point start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  if (times[0] < 10e3 * seconds) times.clear();  // the first run only warms up, unless there is time for only one
  while (gpu && spent() < std::min(kWarmUp, seconds / 2)) run_once(plan, buffers, gpu);
  while (times.size() < 3 || (spent() < seconds && times.size() < 100)) {
    if (times.size() == 1 && times[0] >= 10e3 * seconds) break;
    times.push_back(run_once(plan, buffers, gpu));
    if (times.back() < 0) return print_row(row, -1, "run failed");
  }
  print_row(row, median(times), kernels_of(plan));
}

}  // namespace
}  // namespace heed::bench

int main(int argc, char** argv) {
  using namespace heed;
  if (argc < 4) {
    std::fprintf(stderr, "usage: heed_rows DEVICE SECONDS ROW...\n");
    return 2;
  }
  Device device;
  if (Device::open({.select = argv[1], .log = stderr_log()}, &device) != Status::Ok) return 1;
  std::fprintf(stderr, "%s, %s\n", device.info().name.c_str(), device.info().driver.c_str());
  for (int i = 3; i < argc; ++i) bench::measure(device, bench::parse_row(argv[i]), std::atof(argv[2]));
  return 0;
}
