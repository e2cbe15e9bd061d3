// A causal character-level model: the graphs that train, evaluate and write, all with the weights of one State.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <heed/heed.hpp>
#include <heed/optimizer.hpp>

#include "text.hpp"

namespace learn {

// The configuration stored in a checkpoint.
struct Config {
  int layers = 4;
  int64_t width = 128, heads = 4, context = 128, batch = 16;
  float dropout = 0.1f;
  uint32_t seed = 1;
  int64_t steps = 1500;  // of the whole training, which determine the learning rate
  float rate = 2e-3f;
  std::string characters;
};

class Model {
 public:
  // Compiles the three plans.
  heed::Status open(heed::Device device, const Config& config, const heed::Log& log);
  const Config& config() const { return config_; }
  int64_t weights() const;

  // Initial weights: matrices are normal with a deviation that preserves the variance of rows (Glorot & Bengio 2010), scales of norms are
  // 1, biases 0.
  heed::Status begin();
  // The file of weights and moments, written by Optimizer::save.
  heed::Status load(const std::string& path);
  heed::Status save(const std::string& path) const;

  // One step of AdamW. *loss is the loss before the step, in nats per character.
  heed::Status step(const Batch& batch, int64_t number, float* loss, heed::train::StepReport* report);
  heed::Status judge(const Batch& batch, float* loss);
  // Continues `start` by so many characters, and passes each to `each`.
  heed::Status write(const std::string& start, int64_t count, float temperature, uint32_t seed,
                     const std::function<void(char)>& each);

 private:
  heed::Tensor network(heed::Graph& g, heed::Tensor ids) const;
  heed::Tensor loss(heed::Graph& g) const;

  Config config_;
  heed::Log log_;
  heed::Device device_;
  heed::train::Optimizer optimizer_;
  heed::Plan learns_, judges_, writes_;
  heed::State state_;
};

}  // namespace learn
