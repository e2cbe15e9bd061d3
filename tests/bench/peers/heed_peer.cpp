// heed on the CPU device, and the limits of the machine (limits.hpp).
#include <cstdlib>
#include <heed/heed.hpp>
#include <memory>

#include "limits.hpp"
#include "works.hpp"

namespace {

using namespace peers;
using heed::DType;
using heed::Graph;
using heed::Shape;
using heed::Status;
using heed::Tensor;

uint32_t threads = 2;

// Replaces a host's threads: runs everything on one thread, and measures how well several threads could have shared the work.
struct Meter {
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kThreads = 16;
  double inside = 0,
         shared = 0;  // milliseconds of parallel work, on one thread and on as many threads as there were pieces

  static void run(void* user, uint32_t count, void (*task)(void*, uint32_t), void* context) {
    auto* meter = static_cast<Meter*>(user);
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < count; ++i) task(context, i);
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    meter->inside += ms;
    meter->shared += ms / count;
  }
};
Meter meter;
bool metered = false;

// A graph with the values of its weights and inputs.
struct Net {
  Graph g;
  DType stored = DType::F32;
  std::vector<std::pair<std::string, std::vector<float>>> weights, inputs;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<DType> types;

  static Shape shape_of(const std::vector<int64_t>& sizes) {
    Shape shape;
    for (const int64_t size : sizes) shape.push_back(size);
    return shape;
  }
  static int64_t count(const std::vector<int64_t>& sizes) {
    int64_t n = 1;
    for (const int64_t size : sizes) n *= size;
    return n;
  }
  Tensor input(const std::string& name, uint32_t salt, const std::vector<int64_t>& sizes) {
    inputs.emplace_back(name, tensor(salt, count(sizes), kInputSize));
    return g.input(name, shape_of(sizes));
  }
  Tensor weight(const std::string& name, std::vector<float> values, const std::vector<int64_t>& sizes) {
    weights.emplace_back(name, std::move(values));
    shapes.push_back(sizes);
    types.push_back(sizes.size() == 2 ? stored : DType::F32);
    return g.weight(name, shape_of(sizes), types.back());
  }
  Tensor linear(Tensor x, uint32_t salt, int64_t out, int64_t in) {
    const std::string name = std::to_string(salt);
    const Tensor w = weight(name + "w", tensor(salt, out * in, kWeightSize), {out, in});
    return g.linear(x, w, weight(name + "b", tensor(salt + 1, out, kBiasSize), {out}));
  }
  Tensor norm(Tensor x, const std::string& name) {
    const Tensor gamma = weight(name + "g", std::vector<float>(kWidth, 1.0f), {kWidth});
    return g.layernorm(x, gamma, weight(name + "c", std::vector<float>(kWidth, 0.0f), {kWidth}), 1e-5f);
  }
  Tensor feed_forward(Tensor x, uint32_t layer) {
    const Tensor wide = g.activation(linear(x, layer + kUp, kHidden, kWidth), heed::Activation::GeluErf);
    return norm(g.add(linear(wide, layer + kDown, kWidth, kHidden), x), std::to_string(layer + kDown));
  }
};

// A plan with the memory that it reads and writes.
struct Running {
  std::vector<std::vector<float>> storage;
  std::vector<float> y;
  std::vector<std::string> names;
  std::vector<heed::HostBuffer> buffers;
  heed::Plan plan;
};

Status upload(heed::Device& device, const Net& net, heed::Weights* weights) {
  std::vector<heed::HostTensor> tensors;
  for (size_t i = 0; i < net.weights.size(); ++i)
    tensors.push_back(
        {net.weights[i].first, DType::F32, net.shapes[i], std::as_bytes(std::span(net.weights[i].second))});
  if (tensors.empty()) return Status::Ok;
  return device.upload(tensors, weights, {.keep_dtype = false, .dtype = net.stored, .only_matrices = true});
}

bool start(Net& net, Tensor y, int64_t count, Work* work) {
  heed::DeviceOptions options;
  options.select = "cpu";
  options.log = heed::stderr_log();
  if (const char* instructions = std::getenv("HEED_CPU_TARGET")) options.cpu_instructions = instructions;
  options.threads = metered ? Meter::kThreads : threads;
  if (metered) options.parallel_for = {Meter::run, &meter};
  heed::Device device;
  heed::Weights weights;
  auto running = std::make_shared<Running>();
  net.g.output("y", y);
  Status status = heed::Device::open(options, &device);
  if (status == Status::Ok) status = upload(device, net, &weights);
  if (status == Status::Ok) status = device.compile(net.g, weights, &running->plan);
  if (status != Status::Ok) return false;
  running->y.resize(static_cast<size_t>(count));
  running->names.reserve(net.inputs.size());
  for (auto& [name, values] : net.inputs) {
    running->names.push_back(name);
    running->storage.push_back(std::move(values));
  }
  for (size_t i = 0; i < running->names.size(); ++i)
    running->buffers.emplace_back(running->names[i], running->storage[i]);
  running->buffers.emplace_back("y", running->y);
  work->run = [running] { return running->plan.run(running->buffers) == Status::Ok; };
  work->result = [running](size_t i) { return running->y[i]; };
  work->count = running->y.size();
  return true;
}

bool stored_as(const std::string& word, DType* type) {
  *type = word == "f16" ? DType::F16 : word == "bf16" ? DType::BF16 : DType::F32;
  return word == "f16" || word == "bf16" || word == "f32";
}

bool prepare_matmul(std::istream& arguments, Work* work) {
  int64_t m = 0, n = 0, k = 0;
  std::string type;
  Net net;
  if (!(arguments >> m >> n >> k >> type) || !stored_as(type, &net.stored)) return false;
  const Tensor w = net.weight("w", tensor(kQkv, n * k, kWeightSize), {n, k});
  return start(net, net.g.linear(net.input("x", kInput, {m, k}), w), m * n, work);
}

bool prepare_attention(std::istream& arguments, Work* work) {
  int64_t tokens = 0;
  std::string kind, type;
  if (!(arguments >> tokens >> kind >> type) || type != "f32") return false;
  Net net;
  const std::vector<int64_t> shape = {1, kHeads, tokens, kHead};
  const Tensor q = net.input("q", kInput, shape), k = net.input("k", kInput + 1, shape),
               v = net.input("v", kInput + 2, shape);
  const heed::Causal causal = kind == "causal" ? heed::Causal::TopLeft : heed::Causal::None;
  return start(net, net.g.attention(q, k, v, {.causal = causal}).output, kWidth * tokens, work);
}

bool prepare_encoder(std::istream& arguments, Work* work) {
  int64_t batch = 0, tokens = 0;
  std::string type;
  Net net;
  if (!(arguments >> batch >> tokens >> type) || !stored_as(type, &net.stored)) return false;
  Tensor x = net.input("x", kInput, {batch, tokens, kWidth});
  for (uint32_t i = 0; i < kLayers; ++i) {
    const Tensor qkv =
        net.g.reshape(net.linear(x, 16 * i + kQkv, 3 * kWidth, kWidth), {batch, tokens, 3, kHeads, kHead});
    const auto part = [&](int64_t p) { return net.g.transpose(net.g.select(qkv, 2, p), 1, 2); };
    const Tensor heads = net.g.transpose(net.g.attention(part(0), part(1), part(2), {}).output, 1, 2);
    const Tensor mixed = net.linear(net.g.reshape(heads, {batch, tokens, kWidth}), 16 * i + kOut, kWidth, kWidth);
    x = net.feed_forward(net.norm(net.g.add(mixed, x), std::to_string(16 * i + kOut)), 16 * i);
  }
  return start(net, x, batch * tokens * kWidth, work);
}

// scaling BATCH TOKENS TYPE: estimates from a run on one thread how much faster 16 threads would run an encoder. The results are the
// percentage of time in which only one thread can work, and the speed-up that follows from that and from the sizes of the pieces of work.
bool prepare_scaling(std::istream& arguments, Work* work) {
  metered = true;
  Work encoder;
  const bool ready = prepare_encoder(arguments, &encoder);
  metered = false;
  if (!ready) return false;
  struct State {
    Work encoder;
    double serial = 100, speed_up = 1;
  };
  const auto state = std::make_shared<State>();
  state->encoder = std::move(encoder);
  work->run = [state] {
    meter = {};
    const auto begin = Meter::Clock::now();
    if (!state->encoder.run()) return false;
    const double all = std::chrono::duration<double, std::milli>(Meter::Clock::now() - begin).count();
    const double serial = std::max(0.0, all - meter.inside);
    state->serial = std::min(state->serial, 100 * serial / all);
    state->speed_up = std::max(state->speed_up, all / (serial + meter.shared));
    return true;
  };
  work->result = [state](size_t i) { return static_cast<float>(i == 0 ? state->serial : state->speed_up); };
  work->count = 2;
  return true;
}

// One token through 12 layers, with the keys and values of earlier tokens as inputs.
bool prepare_decode(std::istream& arguments, Work* work) {
  int64_t keys = 0;
  std::string type;
  Net net;
  if (!(arguments >> keys >> type) || !stored_as(type, &net.stored)) return false;
  Tensor x = net.input("x", kInput, {1, 1, kWidth});
  for (uint32_t i = 0; i < kLayers; ++i) {
    const Tensor k = net.input(std::to_string(i) + "k", 16 * i + kPastKeys, {1, kHeads, keys, kHead});
    const Tensor v = net.input(std::to_string(i) + "v", 16 * i + kPastValues, {1, kHeads, keys, kHead});
    const Tensor qkv = net.g.reshape(net.linear(x, 16 * i + kQkv, 3 * kWidth, kWidth), {1, 1, 3, kHeads, kHead});
    const Tensor q = net.g.transpose(net.g.select(qkv, 2, 0), 1, 2);
    const Tensor heads = net.g.transpose(net.g.attention(q, k, v, {}).output, 1, 2);
    const Tensor mixed = net.linear(net.g.reshape(heads, {1, 1, kWidth}), 16 * i + kOut, kWidth, kWidth);
    x = net.feed_forward(net.norm(net.g.add(mixed, x), std::to_string(16 * i + kOut)), 16 * i);
  }
  return start(net, x, kWidth, work);
}

// rows NAME TIMES: one operation that reads and writes every element once, on TIMES times as many rows as a layer of 512 tokens has. `copy
// BYTES` is its limit.
bool prepare_rows(std::istream& arguments, Work* work) {
  std::string kind;
  int64_t times = 0;
  if (!(arguments >> kind >> times) || times < 1) return false;
  Net net;
  const int64_t rows = 512 * times;
  if (kind == "layernorm")
    return start(net, net.norm(net.input("x", kInput, {rows, kWidth}), "n"), rows * kWidth, work);
  if (kind == "gelu")
    return start(net, net.g.activation(net.input("x", kInput, {rows, kHidden}), heed::Activation::GeluErf),
                 rows * kHidden, work);
  if (kind == "softmax")
    return start(net, net.g.softmax(net.input("x", kInput, {1, kHeads, rows, 512}), {.scale = 0.125f}),
                 kHeads * rows * 512, work);
  return false;
}

bool prepare_conv1d(std::istream& arguments, Work* work) {
  int64_t length = 0, channels = 0, made = 0, stride = 0;
  std::string type;
  if (!(arguments >> length >> channels >> made >> stride >> type) || type != "f32") return false;
  Net net;
  const Tensor w = net.weight("w", tensor(kQkv, made * 3 * channels, kWeightSize), {made, 3, channels});
  const Tensor b = net.weight("b", tensor(kQkvBias, made, kBiasSize), {made});
  const Tensor x = net.input("x", kInput, {1, length, channels});
  return start(net, net.g.conv1d(x, w, b, {.stride = stride, .before = 1, .behind = 1}),
               ((length - 1) / stride + 1) * made, work);
}

bool prepare_patches(std::istream& arguments, Work* work) {
  int64_t side = 0;
  std::string type;
  if (!(arguments >> side >> type) || type != "f32") return false;
  Net net;
  const Tensor w = net.weight("w", tensor(kQkv, kWidth * 16 * 16 * 3, kWeightSize), {kWidth, 16, 16, 3});
  const Tensor b = net.weight("b", tensor(kQkvBias, kWidth, kBiasSize), {kWidth});
  const Tensor x = net.input("x", kInput, {1, side, side, 3});
  return start(net, net.g.conv2d(x, w, b, {.rows = {.stride = 16}, .columns = {.stride = 16}}),
               side / 16 * (side / 16) * kWidth, work);
}

Prepare find(const std::string& work) {
  if (work == "conv1d") return prepare_conv1d;
  if (work == "patches") return prepare_patches;
  if (work == "matmul") return prepare_matmul;
  if (work == "attention") return prepare_attention;
  if (work == "encoder") return prepare_encoder;
  if (work == "decode") return prepare_decode;
  if (work == "rows") return prepare_rows;
  if (work == "scaling") return prepare_scaling;
  return limits(work, threads);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) threads = static_cast<uint32_t>(std::max(1, std::atoi(argv[1])));
  return serve("heed", find);
}
