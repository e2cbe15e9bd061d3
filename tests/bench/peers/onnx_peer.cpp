// The encoder of onnx_peer.py, imported from its ONNX file or written with heed::nn, on any device; see works.hpp and onnx_peers.sh.
//   heed_onnx_peer DEVICE THREADS FOLDER   works: nn BATCH TOKENS; onnx BATCH TOKENS; open, which times OnnxModel::open
//   heed_onnx_peer memory DEVICE FILE      prints the bytes of its weights, and the peak growth of the process during their upload
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include <heed/heed.hpp>

#include "works.hpp"

namespace {

using namespace peers;
using heed::Status;

std::string device_word, folder;
uint32_t threads = 2;

struct Running {
  heed::Plan plan;
  std::vector<float> x, y;
};

Status open_device(const std::string& word, heed::Device* device) {
  heed::DeviceOptions options;
  options.select = word;
  options.threads = threads;
  options.log = heed::stderr_log();
  if (const char* loader = std::getenv("HEED_VULKAN_LOADER")) options.vulkan_loader = loader;
  return heed::Device::open(options, device);
}

Status compile_nn(heed::Device& device, int64_t batch, int64_t tokens, heed::Plan* plan) {
  heed::Graph g;
  heed::nn::EncoderLayerOptions layer;
  layer.attention.heads = static_cast<int>(kHeads);
  layer.feed_forward.hidden = kHidden;
  layer.feed_forward.activation = heed::Activation::GeluErf;
  g.output("y", heed::nn::encoder_stack(g, g.input("x", {g.extent("batch", batch), g.extent("tokens", tokens), kWidth}),
                                        "layers", layer, {.layers = static_cast<int>(kLayers)}));
  heed::Checkpoint checkpoint;
  heed::Weights weights;
  Status status = heed::Checkpoint::open(folder + "/encoder.safetensors", heed::stderr_log(), &checkpoint);
  if (status == Status::Ok) status = device.upload(checkpoint.host_tensors(), &weights);
  return status == Status::Ok ? device.compile(g, weights, plan) : status;
}

Status compile_onnx(heed::Device& device, int64_t batch, int64_t tokens, heed::Plan* plan) {
  heed::OnnxModel model;
  const Status status = heed::OnnxModel::open(folder + "/encoder.onnx", heed::stderr_log(), &model);
  const heed::OnnxExtent extents[] = {{"batch", batch}, {"tokens", tokens}};
  return status == Status::Ok ? model.compile(device, {.extents = extents}, heed::stderr_log(), plan) : status;
}

template <Status (*kCompile)(heed::Device&, int64_t, int64_t, heed::Plan*)>
bool prepare(std::istream& arguments, Work* work) {
  int64_t batch = 0, tokens = 0;
  heed::Device device;
  const auto running = std::make_shared<Running>();
  if (!(arguments >> batch >> tokens) || open_device(device_word, &device) != Status::Ok ||
      kCompile(device, batch, tokens, &running->plan) != Status::Ok)
    return false;
  running->x = tensor(kInput, batch * tokens * kWidth, kInputSize);
  running->y.resize(running->x.size());
  if (std::getenv("HEED_PASSES") != nullptr)
    for (const heed::PassInfo& pass : running->plan.passes())
      std::fprintf(stderr, "%s %s: %s\n", pass.op.c_str(), pass.label.c_str(), pass.why.c_str());
  work->run = [running, batch, tokens] {
    return running->plan.run({{"x", running->x}, {"y", running->y}}, {{"batch", batch}, {"tokens", tokens}}) ==
           Status::Ok;
  };
  work->result = [running](size_t i) { return running->y[i]; };
  work->count = running->y.size();
  return true;
}

bool prepare_open(std::istream&, Work* work) {
  work->run = [] {
    heed::OnnxModel model;
    return heed::OnnxModel::open(folder + "/part.onnx", heed::stderr_log(), &model) == Status::Ok;
  };
  return true;
}

// Peak resident memory since this program began. getrusage would include the process it was forked from.
int64_t most_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6);
  return 0;
}

int print_memory(const std::string& word, const std::string& file) {
  heed::Device device;
  heed::OnnxModel model;
  heed::Graph g;
  heed::Weights weights;
  if (open_device(word, &device) != Status::Ok) return 1;
  const int64_t before = most_kilobytes();
  if (heed::OnnxModel::open(file, heed::stderr_log(), &model) != Status::Ok ||
      model.build({.largest = 128}, heed::stderr_log(), &g) != Status::Ok ||
      model.upload(device, g, heed::stderr_log(), &weights) != Status::Ok)
    return 1;
  std::printf("%lld %lld\n", static_cast<long long>(weights.bytes()),
              static_cast<long long>(1024 * (most_kilobytes() - before)));
  return 0;
}

Prepare find(const std::string& work) {
  if (work == "nn") return prepare<compile_nn>;
  if (work == "onnx") return prepare<compile_onnx>;
  if (work == "open") return prepare_open;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  if (std::string(argv[1]) == "memory") return print_memory(argv[2], argv[3]);
  device_word = argv[1];
  threads = static_cast<uint32_t>(std::max(1, std::atoi(argv[2])));
  folder = argv[3];
  return serve("heed", find);
}
