// Optimizers: weights that live in a State, and the passes that change them there.
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
// The weights of a group lie one behind the other in one state, f32 [n], and so do their gradients and moments: one pass changes
// a group, whatever the number of weights. The model is built with Graph::weight as ever; keep() then makes its weights views of
// the state, in the training graph and in any other graph that is to read them, such as one that answers.
//
// The order of all sums is fixed: the same gradients leave the same bits at every run on a device, however a run is sliced.
//
// A step that vulkan::record_some slices over frames may be given up between slices. Weights, moments and the count of steps are
// written by the last passes alone, gradient_norm and an update for each group: before them nothing is lost, since the next run
// overwrites the gradients. Where gradients are accumulated, or to undo a step as late as that, copy the State before it (State::copy).
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

// How an Optimizer changes weights.
struct OptimizerOptions {
  UpdateRule rule = UpdateRule::AdamW;
  bool momentum = true;   // of Sgd; without it there are no moments
  bool nesterov = false;  // of Sgd with momentum
  // Gradients of several runs are added up, until a run with StepNumbers::apply takes the step and makes them zero.
  bool accumulate = false;
  std::string prefix = "optimizer";  // of the names of states and of the input
};

// What a run does with a group of weights. The last five count for all groups as group 0 gives them.
struct StepNumbers {
  float rate = 1e-3f;         // how far a step goes
  float weight_decay = 0.0f;  // times the rate: by which share a step makes weights smaller
  float beta1 = 0.9f;         // Sgd: the momentum
  float beta2 = 0.999f;       // of AdamW's second moment
  float eps = 1e-8f;          // of AdamW: added to the root of the second moment

  bool apply = true;        // false: the run only adds to the gradients
  int64_t runs = 1;         // whose gradients were added up: their mean counts
  float loss_scale = 1.0f;  // what the loss was multiplied by (Optimizer::loss_scale); gradients are divided by it
  float max_norm =
      0.0f;  // gradients of a larger norm are scaled down, as torch.nn.utils.clip_grad_norm_ does; 0: none are
};
// StepNumbers as a run is given them.
inline constexpr int kStepWords = 16;
using StepWords = std::array<float, kStepWords>;
// A row of Optimizer::settings. InvalidArgument if a number is outside its range: betas are 0 or more and below 1 (beta1 above 0
// for AdamW), rate, weight_decay, eps and max_norm 0 or more, runs 1 or more, loss_scale more than 0.
HEED_API Status step_words(UpdateRule rule, const StepNumbers& numbers, StepWords* words);

// What Optimizer::step gives a run: F32 [4].
struct StepReport {
  float factor = 0.0f;  // what the gradients were multiplied by
  float taken =
      0.0f;  // 1: the step was taken; 0: none was asked for; -1: it was left out, since the norm is infinite or NaN
  float norm = 0.0f;   // of the gradients, before they were scaled down
  float steps = 0.0f;  // taken so far, this one included
};

// The scale of a loss whose gradients pass through f16 (Micikevicius et al. 2018, arXiv:1710.03740): it falls to half at a
// step that was left out, and doubles after `grow_after` steps in a row that were not; `good` counts these. It stays within
// `least` and `most`.
struct LossScale {
  float scale = 65536.0f;
  float least = 1.0f, most = 16777216.0f;
  int64_t grow_after = 2000, good = 0;
  // Changes the scale by what a run reported.
  HEED_API void update(const StepReport& report);
};

// Weights and their moments in a State, and the passes that change them. A plain value, which knows no device.
class HEED_API Optimizer {
 public:
  // Groups are 0 .. kMostGroups - 1.
  static constexpr int kMostGroups = 8;

  // Takes the options; nothing is declared yet.
  explicit Optimizer(OptimizerOptions options = {}) : options_(std::move(options)) {}

  // Declares a weight, before any other call. InvalidArgument: the name is there already, the shape has no elements or the group is
  // not one of kMostGroups.
  Status add(std::string_view name, std::span<const int64_t> shape, int group = 0);
  // Declares all weights of f32 that `g` has so far: those of rank 2 and more in group 0, others, which are commonly not decayed,
  // in group 1. InvalidArgument if one was declared already.
  Status add_weights(const Graph& g);

  // A weight that was declared.
  struct Parameter {
    std::string name;
    std::vector<int64_t> shape;
    int group = 0;
    int64_t at = 0;  // its first element in the states of the group; a multiple of 16
    int64_t elements() const;
  };
  std::span<const Parameter> parameters() const { return parameters_; }  // in the order of the declarations
  int groups() const;  // 1 more than the largest; rows of the settings

  // Calls on graphs. Their mistakes are the graph's.
  //
  // Makes the declared weights that `g` has views of states, also for all that was built with them. step() does so, too.
  void keep(Graph& g) const;
  // The declared weights, all of which `g` must have.
  std::vector<Tensor> weights(Graph& g) const;
  // The input "PREFIX.settings", F32 [groups(), kStepWords].
  Tensor settings(Graph& g) const;
  Tensor loss_scale(Graph& g, Tensor settings) const;  // F32 [1], to multiply the loss by
  // Adds the step: `gradients` are those of parameters(), each of its weight's shape. It comes behind all that reads the weights;
  // later graph calls find the new weights by keep() in another graph only. Gives a StepReport, F32 [4].
  Tensor step(Graph& g, std::span<const Tensor> gradients, Tensor settings) const;

  // Calls on a State that a plan with the step has made. They read and write all weights, or nothing.
  //
  // Takes weights from tensors of f32, f16 or bf16 by their names, and moments and the count of steps as save() names them; where
  // there are none of these, they become zero. Other tensors do not matter. The State may also be that of a plan that only reads the
  // weights, such as one that answers: it has no moments to take. MissingWeight, NotFound, ShapeMismatch, DTypeMismatch, OutOfMemory:
  // nothing was written.
  Status load(State& state, std::span<const HostTensor> tensors, const Log& log = {}) const;
  // Writes a file of safetensors: weights by their names, moments as "PREFIX.NAME.exp_avg" and "PREFIX.NAME.exp_avg_sq" (Sgd:
  // "PREFIX.NAME.momentum_buffer"), and the count of steps as "PREFIX.step", F32 [1]. The file is there as a whole or not at all
  // (FileError); a file of this name is replaced.
  Status save(const State& state, std::string_view path, const Log& log = {}) const;
  // One weight, as the State has it. NotFound: no such weight. ShapeMismatch: `values` has another size.
  Status read(const State& state, std::string_view name, std::span<float> values) const;

 private:
  std::vector<std::string> moments() const;
  std::string state_name(int group, std::string_view what) const;
  int64_t group_size(int group) const;

  OptimizerOptions options_;
  std::vector<Parameter> parameters_;
};

}  // namespace heed::train
