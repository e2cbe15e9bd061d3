#include "model.hpp"

#include <algorithm>
#include <cmath>

#include <heed/initial.hpp>
#include <heed/safetensors.hpp>
#include <heed/train.hpp>

namespace learn {
namespace {

using heed::Status;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

heed::Tensor Model::network(heed::Graph& g, heed::Tensor ids) const {
  const auto characters = static_cast<int64_t>(config_.characters.size());
  heed::Tensor x = g.embedding(g.weight("characters.weight", {characters, config_.width}), ids);
  x = g.positional_encoding(g.scale(x, std::sqrt(static_cast<float>(config_.width))));
  x = g.dropout(x, config_.dropout);
  heed::nn::EncoderLayerOptions layer;
  layer.attention.heads = config_.heads;
  layer.attention.causal = heed::Causal::TopLeft;
  layer.feed_forward.activation = heed::Activation::GeluErf;
  layer.feed_forward.output_dropout = config_.dropout;
  layer.norm.placement = heed::nn::NormPlacement::Pre;
  x = heed::nn::encoder_stack(g, x, "layers", layer, {.layers = config_.layers, .final_norm = "norm"});
  return heed::nn::linear(g, x, "out", characters);
}

heed::Tensor Model::loss(heed::Graph& g) const {
  const int64_t rows = config_.batch * config_.context;
  const heed::Tensor ids = g.input("ids", {config_.batch, config_.context}, heed::DType::I32);
  const heed::Tensor next = g.input("next", {config_.batch, config_.context}, heed::DType::I32);
  const heed::Tensor losses = g.cross_entropy(network(g, ids), next);
  return g.mean(g.reshape(losses, {1, rows}), 1);
}

Status Model::open(heed::Device device, const Config& config, const heed::Log& log) {
  config_ = config;
  log_ = log;
  device_ = std::move(device);

  heed::Graph learns;
  const heed::Tensor lost = loss(learns);
  Status status = optimizer_.add_weights(learns);
  if (status != Status::Ok) return status;
  const std::vector<heed::Tensor> gradients = heed::train::gradients(learns, lost, optimizer_.weights(learns));
  learns.output("loss", lost);
  learns.output("report", optimizer_.step(learns, gradients, optimizer_.settings(learns)));
  status = device_.compile(learns, {}, &learns_, {.training = true});
  if (status != Status::Ok) return status;

  heed::Graph judges;
  judges.output("loss", loss(judges));
  optimizer_.keep(judges);
  status = device_.compile(judges, {}, &judges_);
  if (status != Status::Ok) return status;

  heed::Graph writes;
  const heed::Dim tokens = writes.extent("tokens", config_.context);
  const heed::Tensor logits = network(writes, writes.input("ids", {1, tokens}, heed::DType::I32));
  const heed::Tensor settings = writes.input("settings", {heed::kSampleWords}, heed::DType::I32);
  writes.output("next", writes.sample(writes.last(logits, 1), {.settings = settings}));
  optimizer_.keep(writes);
  status = device_.compile(writes, {}, &writes_);
  return status == Status::Ok ? learns_.make_state(&state_) : status;
}

int64_t Model::weights() const {
  int64_t count = 0;
  for (const auto& parameter : optimizer_.parameters()) count += parameter.elements();
  return count;
}

Status Model::begin() {
  std::vector<std::vector<float>> values;
  std::vector<heed::HostTensor> tensors;
  heed::train::InitialOptions how = {.seed = config_.seed};
  for (const auto& parameter : optimizer_.parameters()) {
    using enum heed::train::Initial;
    std::vector<float>& one = values.emplace_back(static_cast<size_t>(parameter.elements()));
    how.kind = parameter.shape.size() > 1 ? XavierNormal : ends_with(parameter.name, ".weight") ? Ones : Zeros;
    if (parameter.name == "characters.weight") {
      how.kind = Normal;
      how.deviation = 1.0f / std::sqrt(static_cast<float>(config_.width));
    }
    const Status status = heed::train::initial_values(how, parameter.shape, one);
    if (status != Status::Ok) return status;
    ++how.stream;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& parameter = optimizer_.parameters()[i];
    tensors.push_back({parameter.name, heed::DType::F32, parameter.shape, std::as_bytes(std::span(values[i]))});
  }
  return optimizer_.load(state_, tensors, log_);
}

Status Model::load(const std::string& path) {
  heed::SafeTensors file;
  const Status status = heed::SafeTensors::open(path, log_, &file);
  return status == Status::Ok ? optimizer_.load(state_, file.host_tensors(), log_) : status;
}

Status Model::save(const std::string& path) const { return optimizer_.save(state_, path, log_); }

Status Model::step(const Batch& batch, int64_t number, float* loss, heed::train::StepReport* report) {
  std::vector<heed::train::StepWords> words(static_cast<size_t>(optimizer_.groups()));
  for (size_t group = 0; group < words.size(); ++group) {
    // The second group has biases and scales of norms.
    const heed::train::StepNumbers numbers = {.rate = rate_at(config_.rate, config_.steps, number),
                                              .weight_decay = group == 0 ? 0.05f : 0.0f,
                                              .beta2 = 0.99f,
                                              .max_norm = 1.0f};
    const Status status = heed::train::step_words(heed::train::UpdateRule::AdamW, numbers, &words[group]);
    if (status != Status::Ok) return status;
  }
  const heed::HostBuffer buffers[] = {{"ids", batch.ids},
                                      {"next", batch.next},
                                      {"optimizer.settings", std::as_bytes(std::span(words))},
                                      {"loss", std::span(loss, 1)},
                                      {"report", std::as_writable_bytes(std::span(report, 1))}};
  return learns_.run(buffers, {}, {.seed = static_cast<uint32_t>(number), .state = state_});
}

Status Model::judge(const Batch& batch, float* loss) {
  const heed::HostBuffer buffers[] = {{"ids", batch.ids}, {"next", batch.next}, {"loss", std::span(loss, 1)}};
  return judges_.run(buffers, {}, {.state = state_});
}

Status Model::write(const std::string& start, int64_t count, float temperature, uint32_t seed,
                    const std::function<void(char)>& each) {
  heed::SampleWords settings;
  Status status = heed::sample_words({.temperature = temperature}, &settings);
  std::vector<int32_t> ids = numbers_of(start, config_.characters);
  if (ids.empty()) ids.push_back(0);
  // Positions are indices in the window. Once it slides they change for all characters, and with them keys and values, so that there is no
  // cache.
  for (int64_t i = 0; i < count && status == Status::Ok; ++i) {
    const size_t seen = std::min(ids.size(), static_cast<size_t>(config_.context));
    int32_t next = 0;
    const heed::HostBuffer buffers[] = {
        {"ids", std::span(ids).last(seen)}, {"settings", settings}, {"next", std::span(&next, 1)}};
    const heed::ExtentValue extents[] = {{"tokens", static_cast<int64_t>(seen)}};
    // Each draw has its own random bits.
    status = writes_.run(buffers, extents,
                         {.seed = static_cast<uint32_t>(random_bits(seed, static_cast<uint64_t>(i))), .state = state_});
    if (status != Status::Ok || next < 0) break;
    ids.push_back(next);
    each(config_.characters[static_cast<size_t>(next)]);
  }
  return status;
}

}  // namespace learn
