// Training with heed, for train_peers.sh: a step of a causal model, and the gradient of attention.
//
//   train_peer THREADS           answers works (works.hpp) on the CPU device
//   train_peer THREADS passes    prints the times of a step's passes, on the device HEED_TRAIN_DEVICE (default: cpu)
#include <array>
#include <cstdlib>
#include <cstring>
#include <heed/heed.hpp>
#include <heed/optimizer.hpp>
#include <heed/train.hpp>
#include <map>
#include <memory>

#include "limits.hpp"
#include "works.hpp"

namespace {

using namespace peers;
using heed::Graph;
using heed::Status;
using heed::Tensor;

constexpr int64_t kStepWidth = 384, kStepHeads = 6, kStepLayers = 6, kCharacters = 96;

uint32_t threads = 2;

Status open(heed::Device* device) {
  heed::DeviceOptions options;
  const char* name = std::getenv("HEED_TRAIN_DEVICE");
  options.select = name != nullptr ? name : "cpu";
  options.log = heed::stderr_log();
  options.threads = threads;
  return heed::Device::open(options, device);
}

// Milliseconds of forward passes, of gradients and of the optimizer, and the numbers of passes and dispatches.
struct Parts {
  double forward = 0, backward = 0, update = 0;
  uint32_t passes = 0, dispatches = 0;
};
Parts parts_of(const heed::Plan& plan) {
  Parts parts;
  std::vector<heed::PassTime> times;
  if (plan.timings(&times) != Status::Ok) return parts;
  const std::vector<heed::PassInfo> passes = plan.passes();
  for (size_t i = 0; i < passes.size(); ++i) {
    const bool back = passes[i].label.find("gradients") != std::string::npos;
    const bool updates = passes[i].op == "update" || passes[i].op == "gradient_norm";
    (back ? parts.backward : updates ? parts.update : parts.forward) += times[i].milliseconds;
    ++parts.passes;
    parts.dispatches += passes[i].dispatches;
  }
  return parts;
}

// --- A step: forward, backward, AdamW

struct Step {
  heed::Plan plan;
  heed::State state;
  heed::train::Optimizer optimizer;
  std::vector<int32_t> ids, next;
  std::vector<heed::train::StepWords> words;
  float loss = 0.0f;
  heed::train::StepReport report;
  std::vector<float> losses;  // losses of the first steps

  bool run() {
    const heed::HostBuffer buffers[] = {{"ids", ids},
                                        {"next", next},
                                        {"optimizer.settings", std::as_bytes(std::span(words))},
                                        {"loss", std::span(&loss, 1)},
                                        {"report", std::as_writable_bytes(std::span(&report, 1))}};
    if (plan.run(buffers, {}, {.state = state}) != Status::Ok) return false;
    if (losses.size() < 4) losses.push_back(loss);
    return true;
  }
};

Tensor network(Graph& g, Tensor ids) {
  Tensor x = g.embedding(g.weight("characters.weight", {kCharacters, kStepWidth}), ids);
  heed::nn::EncoderLayerOptions layer;
  layer.attention.heads = kStepHeads;
  layer.attention.causal = heed::Causal::TopLeft;
  layer.feed_forward.activation = heed::Activation::GeluErf;
  layer.norm.placement = heed::nn::NormPlacement::Pre;
  x = heed::nn::encoder_stack(g, x, "layers", layer, {.layers = kStepLayers, .final_norm = "norm"});
  return heed::nn::linear(g, x, "out", kCharacters);
}

// Weights by their index: matrices are uniform around 0, scales of norms 1, and biases 0. torch_train_peer.py has the same.
bool begin(Step& step) {
  std::vector<std::vector<float>> values;
  std::vector<heed::HostTensor> tensors;
  for (const auto& parameter : step.optimizer.parameters()) {
    const bool factor = parameter.name.find("norm") != std::string::npos && parameter.name.ends_with("weight");
    values.emplace_back(static_cast<size_t>(parameter.elements()), factor ? 1.0f : 0.0f);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& parameter = step.optimizer.parameters()[i];
    if (parameter.shape.size() > 1) values[i] = tensor(static_cast<uint32_t>(i), parameter.elements(), kWeightSize);
    tensors.push_back({parameter.name, heed::DType::F32, parameter.shape, std::as_bytes(std::span(values[i]))});
  }
  return step.optimizer.load(step.state, tensors, heed::stderr_log()) == Status::Ok;
}

std::shared_ptr<Step> make_step(int64_t batch, int64_t tokens, bool timestamps) {
  auto step = std::make_shared<Step>();
  heed::Device device;
  if (open(&device) != Status::Ok) return nullptr;
  Graph g;
  const Tensor ids = g.input("ids", {batch, tokens}, heed::DType::I32);
  const Tensor next = g.input("next", {batch, tokens}, heed::DType::I32);
  const Tensor loss = g.mean(g.reshape(g.cross_entropy(network(g, ids), next), {1, batch * tokens}), 1);
  if (step->optimizer.add_weights(g) != Status::Ok) return nullptr;
  const std::vector<Tensor> gradients = heed::train::gradients(g, loss, step->optimizer.weights(g));
  g.output("loss", loss);
  g.output("report", step->optimizer.step(g, gradients, step->optimizer.settings(g)));
  heed::CompileOptions options;
  options.training = true;
  options.timestamps = timestamps;
  if (device.compile(g, {}, &step->plan, options) != Status::Ok || step->plan.make_state(&step->state) != Status::Ok ||
      !begin(*step))
    return nullptr;
  step->words.resize(static_cast<size_t>(step->optimizer.groups()));
  for (size_t group = 0; group < step->words.size(); ++group) {
    const heed::train::StepNumbers numbers = {.rate = 1e-3f, .weight_decay = group == 0 ? 0.01f : 0.0f};
    if (heed::train::step_words(heed::train::UpdateRule::AdamW, numbers, &step->words[group]) != Status::Ok)
      return nullptr;
  }
  for (int64_t i = 0; i < batch * tokens; ++i) {
    step->ids.push_back(static_cast<int32_t>(i * 7919 % kCharacters));
    step->next.push_back(static_cast<int32_t>((i + 1) * 7919 % kCharacters));
  }
  return step;
}

bool prepare_step(std::istream& arguments, Work* work) {
  int64_t batch = 0, tokens = 0;
  std::string type;
  if (!(arguments >> batch >> tokens >> type) || type != "f32") return false;
  const std::shared_ptr<Step> step = make_step(batch, tokens, false);
  if (step == nullptr) return false;
  work->run = [step] { return step->run(); };
  work->result = [step](size_t i) { return step->losses[i]; };
  work->count = 4;
  return true;
}

// --- The gradient of attention alone

struct Backward {
  heed::Plan plan;
  std::vector<std::vector<float>> inputs, results;
  std::vector<heed::HostBuffer> buffers;
};

// backward TOKENS f32: the time of the gradients; forward TOKENS f32: the time of attention itself, in the same plan.
bool prepare_attention(std::istream& arguments, Work* work, bool backward) {
  int64_t tokens = 0;
  std::string type;
  heed::Device device;
  if (!(arguments >> tokens >> type) || type != "f32" || open(&device) != Status::Ok) return false;
  auto made = std::make_shared<Backward>();
  Graph g;
  const heed::Shape shape = {1, kHeads, tokens, kHead};
  std::array<Tensor, 4> x;
  constexpr const char* kNames[] = {"q", "k", "v", "up", "dq", "dk", "dv", "y"};
  for (uint32_t i = 0; i < x.size(); ++i) {
    x[i] = g.input(kNames[i], shape);
    made->inputs.push_back(tensor(kInput + i, kWidth * tokens, kInputSize));
    made->results.emplace_back(static_cast<size_t>(kWidth * tokens));
  }
  const Tensor y = g.attention(x[0], x[1], x[2], {.causal = heed::Causal::TopLeft}).output;
  const heed::train::Upstream upstream{y, x[3]};
  const std::vector<Tensor> of = heed::train::gradients(g, {&upstream, 1}, {x.data(), 3});
  for (size_t i = 0; i < of.size(); ++i) g.output(kNames[4 + i], of[i]);
  g.output("y", y);
  for (size_t i = 0; i < 4; ++i) made->buffers.emplace_back(kNames[i], made->inputs[i]);
  for (size_t i = 0; i < 4; ++i) made->buffers.emplace_back(kNames[4 + i], made->results[i]);
  heed::CompileOptions options;
  options.timestamps = true;
  if (device.compile(g, {}, &made->plan, options) != Status::Ok) return false;
  work->run = [made] { return made->plan.run(made->buffers) == Status::Ok; };
  work->took = [made, backward] {
    std::vector<heed::PassTime> times;
    if (made->plan.timings(&times) != Status::Ok) return -1.0;
    const std::vector<heed::PassInfo> passes = made->plan.passes();
    double ms = 0.0;
    for (size_t i = 0; i < passes.size(); ++i)
      if ((passes[i].op == "attention_backward") == backward && passes[i].op.starts_with("attention"))
        ms += times[i].milliseconds;
    return ms;
  };
  work->result = [made, backward](size_t i) { return made->results[backward ? i % 3 : 3][i]; };
  work->count = static_cast<size_t>(kWidth * tokens);
  return true;
}

Prepare find(const std::string& work) {
  if (work == "step") return prepare_step;
  if (work == "backward") return [](std::istream& in, Work* out) { return prepare_attention(in, out, true); };
  if (work == "forward") return [](std::istream& in, Work* out) { return prepare_attention(in, out, false); };
  return limits(work, threads);
}

// --- The times of a step's passes

int print_passes(int64_t batch, int64_t tokens, int runs) {
  const std::shared_ptr<Step> step = make_step(batch, tokens, true);
  if (step == nullptr || !step->run()) return 2;
  Parts best;
  std::vector<double> least(step->plan.passes().size(), 1e30);
  for (int i = 0; i < runs; ++i) {
    if (!step->run()) return 2;
    const Parts parts = parts_of(step->plan);
    if (i == 0 || parts.forward + parts.backward < best.forward + best.backward) best = parts;
    std::vector<heed::PassTime> times;
    if (step->plan.timings(&times) != Status::Ok) return 2;
    for (size_t p = 0; p < times.size(); ++p) least[p] = std::min(least[p], times[p].milliseconds);
  }
  const std::vector<heed::PassInfo> passes = step->plan.passes();
  std::map<std::string, double> by_op;
  for (size_t p = 0; p < passes.size(); ++p) {
    const bool back = passes[p].label.find("gradients") != std::string::npos;
    by_op[(back ? "backward " : "forward ") + passes[p].op] += least[p];
    std::printf("%8.3f ms %7.1f GFLOP/s %7.1f GB/s %2u  %-20s %s\n", least[p], passes[p].flops / least[p] * 1e-6,
                passes[p].bytes / least[p] * 1e-6, passes[p].dispatches, passes[p].op.c_str(), passes[p].label.c_str());
  }
  for (const auto& [name, ms] : by_op) std::printf("%9.3f ms %s\n", ms, name.c_str());
  std::printf(
      "%s, batch %lld, %lld tokens: forward %.2f ms, backward %.2f (%.2f x), update %.2f; %u passes, %u dispatches\n",
      std::getenv("HEED_TRAIN_DEVICE") != nullptr ? std::getenv("HEED_TRAIN_DEVICE") : "cpu",
      static_cast<long long>(batch), static_cast<long long>(tokens), best.forward, best.backward,
      best.backward / best.forward, best.update, best.passes, best.dispatches);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) threads = static_cast<uint32_t>(std::max(1, std::atoi(argv[1])));
  const auto number = [&](int i, int64_t otherwise) { return argc > i ? std::atoll(argv[i]) : otherwise; };
  if (argc > 2 && std::strcmp(argv[2], "passes") == 0)
    return print_passes(number(3, 8), number(4, 256), static_cast<int>(number(5, 3)));
  return serve("heed", find);
}
