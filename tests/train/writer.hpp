// A narrow model as in samples/learn, which make_curve.py trains in PyTorch: the same weights, rows and rates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace heed::train_tests {

class Writer {
 public:
  static constexpr int64_t kSteps = 200, kRuns = 2, kRows = 4, kContext = 24, kLayers = 2, kWidth = 32, kHeads = 2;

  explicit Writer(const train::OptimizerOptions& options = {.accumulate = true}, float dropout = 0.0f);

  // Inputs ids, next and optimizer.settings; outputs loss and report. `remat` is GradientOptions::remat.
  Graph learns(std::string_view remat = {});
  // Weights by make_curve.py's formula.
  State begin(Plan& plan) const;

  struct Batch {
    std::vector<int32_t> ids, next;
  };
  Batch batch(int64_t run) const;
  // The rows of settings for one run of a step.
  std::vector<train::StepWords> words(int64_t step, bool apply, int64_t runs) const;
  struct Loss {
    float loss = 0.0f;
    train::StepReport report;
  };
  // A step of kRuns runs: returns the mean loss, and the report of the last run.
  Loss step(Plan& plan, State& state, int64_t step) const;

  train::Optimizer optimizer;

 private:
  float dropout_;
  std::vector<int32_t> text_;
  int64_t characters_ = 0;
};

}  // namespace heed::train_tests
