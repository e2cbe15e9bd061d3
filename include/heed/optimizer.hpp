// Optimizers: weights that are stored in a State, and the passes that update them.
//
//   heed::train::Optimizer optimizer;                       // AdamW
//   optimizer.add_weights(g);                               // all weights that the model in g has named
//   const heed::Tensor settings = optimizer.settings(g);    // an input; rows from step_words
//   const auto gradients = heed::train::gradients(g, loss, optimizer.weights(g));  // <heed/train.hpp>
//   g.output("step", optimizer.step(g, gradients, settings));
//   ...
//   s = plan.make_state(&state);
//   s = optimizer.load(state, file.host_tensors(), log);    // initial values, or a file of save()
//   s = plan.run({{"tokens", tokens}, {"optimizer.settings", words}, {"step", report}}, {}, {.state = state});
//
// The weights of a group are contiguous in one state, f32 [n], and so are their gradients and moments: one pass updates a group, whatever
// the number of weights. The model is built with Graph::weight as usual. keep() then rebinds its weights to views of the state, in the
// training graph and in any other graph that reads them, such as one for inference.
//
// The order of all sums is fixed: the same gradients give the same bits at every run on a device, however a run is split into parts.
//
// A step that vulkan::record_some spreads over frames may be abandoned between parts. Only the last passes, gradient_norm and an update for
// each group, write weights, moments and the count of steps; before them nothing is lost, since the next run overwrites the gradients. If
// gradients are accumulated, or to undo the last passes, copy the State before the step (State::copy).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/state.hpp>
#include <heed/status.hpp>

namespace heed::train {

// AdamW: decoupled weight decay (Loshchilov & Hutter 2019, arXiv:1711.05101), as torch.optim.AdamW.
// Sgd: with momentum and weight decay as torch.optim.SGD has them.
enum class UpdateRule : uint8_t { AdamW, Sgd };

// How an Optimizer updates weights.
struct OptimizerOptions {
  UpdateRule rule = UpdateRule::AdamW;
  bool momentum = true;   // for Sgd; without it there are no moments
  bool nesterov = false;  // Nesterov's momentum, for Sgd with momentum
  // Adds up the gradients of several runs until a run with StepNumbers::apply takes the step and sets them to zero.
  bool accumulate = false;
  std::string prefix = "optimizer";  // prefix of the names of states and of the input
};

// The numbers of one step, for a group of weights. The last five apply to all groups and are read from group 0.
struct StepNumbers {
  float rate = 1e-3f;         // the learning rate
  float weight_decay = 0.0f;  // a step subtracts rate * weight_decay * weight
  float beta1 = 0.9f;         // Sgd: the momentum
  float beta2 = 0.999f;       // AdamW's decay of the second moment
  float eps = 1e-8f;          // AdamW adds it to the root of the second moment

  bool apply = true;        // false: the run only adds to the gradients
  int64_t runs = 1;         // number of runs whose gradients were added up; the step uses their mean
  float loss_scale = 1.0f;  // the factor of the loss (Optimizer::loss_scale); gradients are divided by it
  float max_norm = 0.0f;    // gradients of a larger norm are scaled to it, as by torch.nn.utils.clip_grad_norm_; 0: off
};
// StepNumbers in the form that a run reads.
inline constexpr int kStepWords = 16;
using StepWords = std::array<float, kStepWords>;
// Makes a row of Optimizer::settings. InvalidArgument if a number is outside its range: betas are 0 or more and below 1 (beta1 above 0 for
// AdamW), rate, weight_decay, eps and max_norm 0 or more, runs 1 or more, loss_scale more than 0.
HEED_API Status step_words(UpdateRule rule, const StepNumbers& numbers, StepWords* words);

// The result of Optimizer::step in a run: F32 [4].
struct StepReport {
  float factor = 0.0f;  // the factor that was applied to the gradients
  float taken = 0.0f;   // 1: the step was taken; 0: `apply` was false; -1: skipped, as the norm is infinite or NaN
  float norm = 0.0f;    // norm of all gradients, before clipping
  float steps = 0.0f;   // steps taken so far, including this one
};

// Dynamic loss scale for gradients that pass through f16 (Micikevicius et al. 2018, arXiv:1710.03740). It is halved at a skipped step and
// doubled after `grow_after` consecutive steps that were taken, which `good` counts. It stays within `least` and `most`.
struct LossScale {
  float scale = 65536.0f;
  float least = 1.0f, most = 16777216.0f;
  int64_t grow_after = 2000, good = 0;
  // Adjusts the scale to a run's report.
  HEED_API void update(const StepReport& report);
};

// Weights and their moments in a State, and the passes that update them. A plain value without a device.
class HEED_API Optimizer {
 public:
  // Groups are 0 .. kMostGroups - 1.
  static constexpr int kMostGroups = 8;

  // Stores the options and declares nothing.
  explicit Optimizer(OptimizerOptions options = {}) : options_(std::move(options)) {}

  // Declares a weight, before any other call. InvalidArgument: the name is already declared, the shape has no elements or the group is not
  // one of kMostGroups.
  Status add(std::string_view name, std::span<const int64_t> shape, int group = 0);
  // Declares all f32 weights that `g` has so far: those of rank 2 and more in group 0, others, which are commonly not decayed, in group 1.
  // InvalidArgument if one was declared already.
  Status add_weights(const Graph& g);

  // A declared weight.
  struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
    int group = 0;
    int64_t at = 0;  // index of its first element in the states of the group; a multiple of 16
    int64_t elements() const;
  };
  std::span<const Parameter> parameters() const { return parameters_; }  // in the order of the declarations
  int groups() const;  // the largest group plus 1: the number of rows of the settings

  // Calls on graphs. Their mistakes are the graph's.
  //
  // Rebinds each declared weight in `g` to a view of its state, for operations that were already built, too. step() also does this.
  void keep(Graph& g) const;
  // The declared weights in `g`, which must have all of them.
  std::vector<Tensor> weights(Graph& g) const;
  // The input "PREFIX.settings", F32 [groups(), kStepWords].
  Tensor settings(Graph& g) const;
  Tensor loss_scale(Graph& g, Tensor settings) const;  // F32 [1], to multiply the loss by
  // Adds the optimizer step; `gradients` are those of parameters(), each of its weight's shape. The step runs after everything that reads
  // the weights. Later calls on this graph cannot read the new weights; another graph can, after keep(). Returns a StepReport, F32 [4].
  Tensor step(Graph& g, std::span<const Tensor> gradients, Tensor settings) const;

  // Calls on a State that a plan with the step has made. They read and write all weights, or nothing.
  //
  // Reads weights from tensors of f32, f16 or bf16 by their names, and moments and the count of steps by the names that save() gives.
  // Missing moments and counts become zero; other tensors are ignored. The State may also be that of a plan that only reads the weights,
  // such as one for inference, which has no moments. MissingWeight, NotFound, ShapeMismatch, DTypeMismatch, OutOfMemory: nothing was
  // written.
  Status load(State& state, std::span<const HostTensor> tensors, const Log& log = {}) const;
  // Writes a file of safetensors: weights by their names, moments as "PREFIX.NAME.exp_avg" and "PREFIX.NAME.exp_avg_sq" (Sgd:
  // "PREFIX.NAME.momentum_buffer"), and the count of steps as "PREFIX.step", F32 [1]. The file is written as a whole or not at all
  // (FileError); an existing file is replaced.
  Status save(const State& state, std::string_view path, const Log& log = {}) const;
  // Reads one weight from the State. NotFound: no such weight. ShapeMismatch: `values` has another size.
  Status read(const State& state, std::string_view name, std::span<float> values) const;

 private:
  std::vector<std::string> moments() const;
  std::string state_name(int group, std::string_view what) const;
  int64_t group_size(int group) const;

  OptimizerOptions options_;
  std::vector<Parameter> parameters_;
};

}  // namespace heed::train
