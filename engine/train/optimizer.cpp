// Weights that are stored in states, and the passes of a step.
#include <heed/optimizer.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/arith.hpp"
#include "base/float_environment.hpp"
#include "graph/build/build.hpp"
#include "graph/build/update.hpp"

namespace heed::train {
namespace {

// Weights begin at cache lines (elements).
constexpr int64_t kAlignment = 16;

static_assert(kStepWords == detail::kUpdateWords && sizeof(StepReport) == sizeof(UpdateFactors));

bool is_share(float x) { return x >= 0.0f && x < 1.0f; }  // false for NaN
bool is_amount(float x) { return x >= 0.0f && std::isfinite(x); }

std::vector<int64_t> shape_of(const Graph& g, Tensor t) {
  std::vector<int64_t> dims;
  const Shape shape = g.shape(t);
  for (int i = 0; i < shape.rank; ++i) dims.push_back(shape[i].value);
  return dims;
}

}  // namespace

namespace {

// The first number that is out of range; null if all are in range.
const char* mistake_in(UpdateRule rule, const StepNumbers& numbers) {
  const bool adam = rule == UpdateRule::AdamW;
  if (!is_amount(numbers.rate)) return "rate must be 0 or more";
  if (!is_amount(numbers.weight_decay)) return "weight_decay must be 0 or more";
  if (!is_share(numbers.beta1) || (adam && numbers.beta1 == 0.0f)) return "beta1 is outside its range";
  if (!is_share(numbers.beta2) || (adam && numbers.beta2 == 0.0f)) return "beta2 is outside its range";
  if (!is_amount(numbers.eps)) return "eps must be 0 or more";
  if (numbers.runs < 1) return "runs must be 1 or more";
  if (!is_amount(numbers.max_norm)) return "max_norm must be 0 or more";
  if (!is_amount(numbers.loss_scale) || numbers.loss_scale == 0.0f) return "loss_scale must be more than 0";
  return nullptr;
}

}  // namespace

Status step_words(UpdateRule rule, const StepNumbers& numbers, StepWords* words) {
  const bool adam = rule == UpdateRule::AdamW;
  if (words == nullptr) return refuse("step_words: words is null");
  if (const char* mistake = mistake_in(rule, numbers)) return refuse((std::string("step_words: ") + mistake).c_str());
  const UsualFloats floats;
  // volatile keeps the compiler from reordering or fusing the arithmetic.
  const volatile double rate = numbers.rate, decay = numbers.weight_decay, beta1 = numbers.beta1, beta2 = numbers.beta2,
                        scale = numbers.loss_scale, runs = static_cast<double>(numbers.runs);
  UpdateSettings settings{};
  settings.rate = numbers.rate;
  settings.decay = static_cast<float>(adam ? rate * decay : decay);
  settings.first = numbers.beta1;
  settings.first_rest = adam ? static_cast<float>(1.0 - beta1) : 1.0f;
  settings.second = numbers.beta2;
  settings.second_rest = static_cast<float>(1.0 - beta2);
  settings.eps = numbers.eps;
  settings.log_first = adam ? static_cast<float>(std::log(beta1)) : 0.0f;
  settings.log_second = adam ? static_cast<float>(std::log(beta2)) : 0.0f;
  settings.gradient = static_cast<float>(1.0 / (scale * runs));
  settings.most_norm = numbers.max_norm;
  settings.applies = numbers.apply ? 1.0f : 0.0f;
  settings.loss_scale = numbers.loss_scale;
  *words = std::bit_cast<StepWords>(settings);
  return Status::Ok;
}

void LossScale::update(const StepReport& report) {
  if (report.taken == 0.0f) return;
  if (report.taken < 0.0f) {
    scale = std::max(scale * 0.5f, least);
    good = 0;
    return;
  }
  if (good < INT64_MAX) ++good;
  if (good >= grow_after) {
    scale = std::min(scale * 2.0f, most);
    good = 0;
  }
}

int64_t Optimizer::Parameter::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

int Optimizer::groups() const {
  int most = 0;
  for (const Parameter& parameter : parameters_) most = std::max(most, parameter.group);
  return most + 1;
}

int64_t Optimizer::group_size(int group) const {
  int64_t end = 0;
  for (const Parameter& parameter : parameters_)
    if (parameter.group == group) end = std::max(end, align_up(parameter.at + parameter.elements(), kAlignment));
  return end;
}

std::string Optimizer::state_name(int group, std::string_view what) const {
  return options_.prefix + "." + std::to_string(group) + "." + std::string(what);
}

Status Optimizer::add(std::string_view name, std::span<const int64_t> shape, int group) {
  int64_t elements = 1;
  for (const int64_t dim : shape)
    if (dim < 1 || !checked_mul(elements, dim, &elements) || elements > INT32_MAX)
      return refuse(format("Optimizer::add: '%s' has shape %s; sizes are at least 1, and elements fewer than 2^31",
                           std::string(name).c_str(), shape_text(shape).c_str())
                        .c_str());
  const bool known =
      std::any_of(parameters_.begin(), parameters_.end(), [&](const Parameter& one) { return one.name == name; });
  if (known || name.empty() || shape.empty() || group < 0 || group >= kMostGroups)
    return refuse(format("Optimizer::add: '%s' %s", std::string(name).c_str(),
                         known          ? "was added before"
                         : name.empty() ? "is no name"
                         : shape.empty()
                             ? "has no sizes"
                             : format("is put into group %d; there are 0 to %d", group, kMostGroups - 1).c_str())
                      .c_str());
  parameters_.push_back({std::string(name), {shape.begin(), shape.end()}, group, group_size(group)});
  return Status::Ok;
}

Status Optimizer::add_weights(const Graph& g) {
  for (const detail::NamedTensor& weight : g.data().weights) {
    if (g.dtype({weight.tensor}) != DType::F32) continue;
    const std::vector<int64_t> shape = shape_of(g, {weight.tensor});
    const Status status = add(weight.name, shape, shape.size() > 1 ? 0 : 1);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

void Optimizer::keep(Graph& g) const {
  detail::GraphData& data = detail::data_of(g);
  for (const Parameter& parameter : parameters_) {
    const auto known = std::find_if(data.weights.begin(), data.weights.end(),
                                    [&](const detail::NamedTensor& one) { return one.name == parameter.name; });
    if (known == data.weights.end()) continue;
    const Tensor weight{known->tensor};
    if (shape_of(g, weight) != parameter.shape) {
      static_cast<void>(g.fail(Status::ShapeMismatch, "optimizer: weight '" + parameter.name + "' is " +
                                                          shape_text(shape_of(g, weight)) + "; it was declared as " +
                                                          shape_text(parameter.shape)));
      return;
    }
    const Tensor state = g.state(state_name(parameter.group, "weights"), {group_size(parameter.group)});
    if (!state.valid()) return;
    detail::weight_in_state(data, weight, state, parameter.at);
  }
}

std::vector<Tensor> Optimizer::weights(Graph& g) const {
  std::vector<Tensor> found;
  for (const Parameter& parameter : parameters_) {
    found.push_back(g.find_weight(parameter.name));
    if (!found.back().valid())
      static_cast<void>(g.fail(Status::MissingWeight, "optimizer: the graph has no weight '" + parameter.name + "'"));
  }
  return found;
}

Tensor Optimizer::settings(Graph& g) const {
  return g.input(options_.prefix + ".settings", {groups(), int64_t{kStepWords}});
}

Tensor Optimizer::loss_scale(Graph& g, Tensor settings) const {
  const auto word = static_cast<int64_t>(offsetof(UpdateSettings, loss_scale) / sizeof(float));
  return g.reshape(g.slice(g.slice(settings, 0, 0, 1), 1, word, 1), {1});
}

// The names of the first and second moment in PyTorch's optimizers.
std::vector<std::string> Optimizer::moments() const {
  if (options_.rule == UpdateRule::AdamW) return {"exp_avg", "exp_avg_sq"};
  return options_.momentum ? std::vector<std::string>{"momentum_buffer"} : std::vector<std::string>{};
}

Tensor Optimizer::step(Graph& g, std::span<const Tensor> gradients, Tensor settings) const {
  if (gradients.size() != parameters_.size() || parameters_.empty())
    return g.fail(Status::InvalidArgument, "optimizer: " + std::to_string(gradients.size()) + " gradients for " +
                                               std::to_string(parameters_.size()) + " weights");
  keep(g);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (g.status() != Status::Ok) return {};
    if (shape_of(g, gradients[i]) != parameter.shape)
      return g.fail(Status::ShapeMismatch, "optimizer: the gradient of '" + parameter.name + "' is " +
                                               shape_text(shape_of(g, gradients[i])) + "; its weight is " +
                                               shape_text(parameter.shape));
    const int64_t n = parameter.elements();
    const Tensor sums = g.state(state_name(parameter.group, "gradient"), {group_size(parameter.group)});
    const Tensor row = g.reshape(gradients[i], {n});
    if (options_.accumulate) {
      const Tensor place = g.slice(sums, 0, parameter.at, n);
      static_cast<void>(g.assign(place, g.add(place, row)));
    } else {
      static_cast<void>(g.append(sums, row, 0, parameter.at));
    }
  }
  const auto state = [&](int group, std::string_view what) {
    return g.state(state_name(group, what), {group_size(group)});
  };
  detail::GraphData& data = detail::data_of(g);
  std::vector<Tensor> sums;
  for (int group = 0; group < groups(); ++group)
    if (group_size(group) > 0) sums.push_back(state(group, "gradient"));
  if (g.status() != Status::Ok) return {};
  const Tensor factors = detail::gradient_norm(data, sums, settings, g.state(options_.prefix + ".step", {1})).factors;
  UpdateAttrs attrs;
  attrs.rule = options_.rule == UpdateRule::AdamW ? UpdateAttrs::Rule::AdamW : UpdateAttrs::Rule::Sgd;
  attrs.nesterov = options_.nesterov;
  attrs.clears = options_.accumulate;
  for (int group = 0; group < groups(); ++group) {
    if (group_size(group) == 0) continue;
    detail::Updated operands{state(group, "weights"), {}, {}, state(group, "gradient")};
    const std::vector<std::string> names = moments();
    if (!names.empty()) operands.first = state(group, names[0]);
    if (names.size() > 1) operands.second = state(group, names[1]);
    if (g.status() == Status::Ok) detail::update(data, operands, factors, settings, group, attrs);
  }
  return g.status() == Status::Ok ? factors : Tensor{};
}

}  // namespace heed::train
