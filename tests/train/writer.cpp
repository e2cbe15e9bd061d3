#include "train/writer.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>

#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::train_tests {
namespace {

constexpr size_t kBytes = 20000;
constexpr double kRate = 3e-3;

uint64_t bits_at(uint64_t seed, uint64_t counter) {
  uint64_t z = seed * 0xd1342543de82ef95u + counter * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

std::vector<float> initial(const train::Optimizer::Parameter& parameter) {
  std::vector<float> values(static_cast<size_t>(parameter.elements()));
  if (parameter.shape.size() == 1) {
    const bool is_factor = parameter.name.ends_with(".weight");
    values.assign(values.size(), is_factor ? 1.0f : 0.0f);
    return values;
  }
  const auto rows = static_cast<double>(parameter.shape[0]), columns = static_cast<double>(parameter.shape[1]);
  const auto most =
      static_cast<float>(std::sqrt(parameter.name == "characters.weight" ? 3.0 / columns : 6.0 / (rows + columns)));
  uint64_t seed = 0;
  for (size_t i = 0; i < parameter.name.size(); ++i) seed += (i + 1) * static_cast<unsigned char>(parameter.name[i]);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (static_cast<float>(bits_at(seed, i) >> 40) * 0x1p-23f - 1.0f) * most;
  return values;
}

float rate_of(int64_t step) {
  constexpr double warm = Writer::kSteps / 20.0;
  const double at = static_cast<double>(step) + 1.0;
  if (at < warm) return static_cast<float>(kRate * at / warm);
  const double rest = std::min(1.0, (at - warm) / (Writer::kSteps - warm));
  return static_cast<float>(kRate * (0.55 + 0.45 * std::cos(std::numbers::pi * rest)));
}

}  // namespace

Writer::Writer(const train::OptimizerOptions& options, float dropout) : optimizer(options), dropout_(dropout) {
  std::ifstream file(test::source_path("samples/learn/genesis.txt"), std::ios::binary);
  std::string bytes(kBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file);
  std::array<int32_t, 256> number{};
  for (const char c : bytes) number[static_cast<unsigned char>(c)] = 1;
  for (int32_t& one : number) one = one == 0 ? -1 : static_cast<int32_t>(characters_++);
  for (const char c : bytes) text_.push_back(number[static_cast<unsigned char>(c)]);
}

Graph Writer::learns(std::string_view remat) {
  Graph g;
  const Tensor ids = g.input("ids", {kRows, kContext}, DType::I32),
               next = g.input("next", {kRows, kContext}, DType::I32);
  Tensor x = g.embedding(g.weight("characters.weight", {characters_, kWidth}), ids);
  x = g.positional_encoding(g.scale(x, std::sqrt(static_cast<float>(kWidth))));
  nn::EncoderLayerOptions layer;
  layer.attention.heads = kHeads;
  layer.attention.causal = Causal::TopLeft;
  layer.attention.attention_dropout = dropout_;
  layer.feed_forward.activation = Activation::GeluErf;
  layer.feed_forward.output_dropout = dropout_;
  layer.norm.placement = nn::NormPlacement::Pre;
  x = nn::encoder_stack(g, x, "layers", layer, {.layers = kLayers, .final_norm = "norm"});
  const Tensor losses = g.cross_entropy(nn::linear(g, x, "out", characters_), next);
  const Tensor loss = g.mean(g.reshape(losses, {1, kRows * kContext}), 1);
  if (optimizer.parameters().empty()) REQUIRE(optimizer.add_weights(g) == Status::Ok);
  const std::vector<Tensor> gradients = train::gradients(g, loss, optimizer.weights(g), {.remat = remat});
  g.output("loss", loss);
  g.output("report", optimizer.step(g, gradients, optimizer.settings(g)));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  return g;
}

State Writer::begin(Plan& plan) const {
  State state = test::state_of(plan);
  test::Tensors tensors;
  for (const auto& parameter : optimizer.parameters()) tensors.add(parameter.name, parameter.shape, initial(parameter));
  REQUIRE(optimizer.load(state, tensors.list()) == Status::Ok);
  return state;
}

Writer::Batch Writer::batch(int64_t run) const {
  Batch batch;
  for (int64_t row = 0; row < kRows; ++row) {
    const uint64_t place = bits_at(11, static_cast<uint64_t>(run * kRows + row)) % (text_.size() - kContext);
    const auto begin = text_.begin() + static_cast<ptrdiff_t>(place);
    batch.ids.insert(batch.ids.end(), begin, begin + kContext);
    batch.next.insert(batch.next.end(), begin + 1, begin + kContext + 1);
  }
  return batch;
}

std::vector<train::StepWords> Writer::words(int64_t step, bool apply, int64_t runs) const {
  std::vector<train::StepWords> rows(2);
  for (size_t group = 0; group < rows.size(); ++group) {
    const train::StepNumbers numbers = {.rate = rate_of(step),
                                        .weight_decay = group == 0 ? 0.05f : 0.0f,
                                        .beta2 = 0.99f,
                                        .apply = apply,
                                        .runs = runs,
                                        .max_norm = 1.0f};
    REQUIRE(train::step_words(train::UpdateRule::AdamW, numbers, &rows[group]) == Status::Ok);
  }
  return rows;
}

Writer::Loss Writer::step(Plan& plan, State& state, int64_t step) const {
  Loss mean;
  for (int64_t run = 0; run < kRuns; ++run) {
    const Batch rows = batch(step * kRuns + run);
    const auto settings = words(step, run + 1 == kRuns, kRuns);
    float loss = 0.0f;
    REQUIRE(plan.run({{"ids", rows.ids},
                      {"next", rows.next},
                      {"optimizer.settings", std::as_bytes(std::span(settings))},
                      {"loss", std::span(&loss, 1)},
                      {"report", std::as_writable_bytes(std::span(&mean.report, 1))}},
                     {}, {.seed = static_cast<uint32_t>(step), .state = state}) == Status::Ok);
    mean.loss += loss / static_cast<float>(kRuns);
  }
  return mean;
}

}  // namespace heed::train_tests
