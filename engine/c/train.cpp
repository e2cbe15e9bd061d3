// Gradients, and the numbers of an optimizer's steps.
#include <heed/optimizer.hpp>
#include <heed/train.hpp>

#include "c/graph_object.hpp"

namespace heed::c {
namespace {

train::StepNumbers numbers_of(const Given<heed_step_numbers>& given) {
  train::StepNumbers made;
  made.rate = given->rate;
  made.weight_decay = given->weight_decay;
  if (given->beta1 != 0 || given->has_betas != 0) made.beta1 = given->beta1;
  if (given->beta2 != 0 || given->has_betas != 0) made.beta2 = given->beta2;
  if (given->eps != 0 || given->has_betas != 0) made.eps = given->eps;
  made.max_norm = given->max_norm;
  if (given->loss_scale != 0) made.loss_scale = given->loss_scale;
  if (given->runs != 0) made.runs = given->runs;
  made.apply = given->only_adds == 0;
  return made;
}

train::LossScale scale_of(const Given<heed_loss_scale>& given) {
  train::LossScale made;
  if (given->scale != 0) made.scale = given->scale;
  if (given->least != 0) made.least = given->least;
  if (given->most != 0) made.most = given->most;
  if (given->grow_after != 0) made.grow_after = given->grow_after;
  made.good = given->good;
  return made;
}

heed_status gradients_of(const char* function, heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                         const heed_tensor* of, size_t of_count, const heed_gradient_options* options,
                         heed_tensor* gradients) {
  Building on(function, graph);
  Call& call = on.call();
  const Given<heed_gradient_options> given(call, options, "the gradients' options");
  if (call.has_array(gradients, of_count, "gradients")) std::fill_n(gradients, of_count, heed_tensor{0});
  if (!call.has_array(outputs, output_count, "outputs") || !call.has_array(of, of_count, "of") || !on) return on.end();
  std::vector<train::Upstream> from;
  std::vector<heed::Tensor> wanted;
  for (size_t i = 0; i < output_count; ++i)
    from.push_back({on.tensor(outputs[i].output, "an output"), on.tensor_if(outputs[i].gradient)});
  for (size_t i = 0; i < of_count; ++i) wanted.push_back(on.tensor(of[i]));
  if (!on) return on.end();
  const Lending lending(on.graph(), graph);
  const train::GradientOptions wishes = {.remat = call.text_or(given->remat)};
  const std::vector<heed::Tensor> made = train::gradients(on.graph().it, from, wanted, wishes);
  for (size_t i = 0; i < of_count && on; ++i) gradients[i] = on.graph().name(made[i]);
  return on.end();
}

static_assert(HEED_STEP_WORDS == train::kStepWords && sizeof(heed_step_report) == sizeof(train::StepReport));
static_assert(HEED_UPDATE_SGD == static_cast<int>(train::UpdateRule::Sgd));

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_train_gradients(heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                                 const heed_tensor* of, size_t of_count, heed_tensor* gradients) {
  return gradients_of(__func__, graph, outputs, output_count, of, of_count, nullptr, gradients);
}

heed_status heed_train_gradients_with(heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                                      const heed_tensor* of, size_t of_count, const heed_gradient_options* options,
                                      heed_tensor* gradients) {
  return gradients_of(__func__, graph, outputs, output_count, of, of_count, options, gradients);
}

heed_status heed_step_words(int32_t rule, const heed_step_numbers* numbers, float words[16]) {
  Call call(__func__);
  const auto kind = call.one_of(rule, heed::train::UpdateRule::Sgd, "the rule");
  const Given<heed_step_numbers> given(call, numbers, "the step's numbers");
  if (!call.has(words, "words") || call.failed()) return call.status();
  heed::train::StepWords made{};
  if (heed::train::step_words(kind, numbers_of(given), &made) != heed::Status::Ok)
    return call.fail(HEED_INVALID_ARGUMENT, "a number of the step is outside its range");
  std::copy(made.begin(), made.end(), words);
  return call.status();
}

heed_status heed_loss_scale_update(heed_loss_scale* loss, const heed_step_report* report) {
  Call call(__func__);
  Wanted<heed_loss_scale> wanted(call, loss, "the loss scale");
  const Given<heed_loss_scale> given(call, loss, "the loss scale");
  if (!call.has(report, "report") || call.failed()) return call.status();
  heed::train::LossScale scale = scale_of(given);
  scale.update({report->factor, report->taken, report->norm, report->steps});
  heed_loss_scale now = *given;
  now.scale = scale.scale;
  now.least = scale.least;
  now.most = scale.most;
  now.grow_after = scale.grow_after;
  now.good = scale.good;
  wanted.set(now);
  return call.status();
}
