// The loop of a training, whatever learns: steps, losses, a progress bar, checkpoints, samples, Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <heed/optimizer.hpp>

#include "curve.hpp"

namespace learn {

struct Task {
  int64_t steps = 0;  // of the whole training
  double every = 60;  // seconds between what is told
  std::string folder;
  // One step; *loss is that before it.
  std::function<heed::Status(int64_t number, float* loss, heed::train::StepReport* report)> step;
  std::function<heed::Status(float* loss)> judge;     // of what was held out
  std::function<bool(std::string* error)> keep;       // writes a checkpoint
  std::function<int(int64_t steps, bool last)> show;  // a sample of what it can by now; an exit code
  int64_t each = 0;                                   // characters or tokens of a step, or 0
  std::string unit;
};

// Trains from the step that the losses have come to. Gives an exit code.
int train(const Task& task, Losses& losses);

}  // namespace learn
