// The training loop of both modes: steps, losses, a progress bar, checkpoints, samples, Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <heed/optimizer.hpp>

#include "curve.hpp"

namespace learn {

struct Task {
  int64_t steps = 0;  // of the whole training
  double every = 60;  // seconds between reports
  std::string folder;
  // Runs one step; *loss is the loss before it.
  std::function<heed::Status(int64_t number, float* loss, heed::train::StepReport* report)> step;
  std::function<heed::Status(float* loss)> judge;     // the held-out loss
  std::function<bool(std::string* error)> keep;       // writes a checkpoint
  std::function<int(int64_t steps, bool last)> show;  // prints a sample; returns an exit code
  int64_t each = 0;                                   // characters or tokens of a step, or 0
  std::string unit;
};

// Trains from the last step in the losses. Returns an exit code.
int train(const Task& task, Losses& losses);

}  // namespace learn
