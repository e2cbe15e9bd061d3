// Gradients, and the numbers of an optimizer's steps.
#include <heed/initial.hpp>
#include <heed/optimizer.hpp>
#include <heed/train.hpp>

#include "c/generated/options.hpp"

namespace heed::c {
namespace {

heed_status gradients_of(const char* function, heed_graph* graph, const heed_upstream* outputs, size_t output_count,
                         const heed_tensor* of, size_t of_count, const heed_gradient_options* options,
                         heed_tensor* gradients) {
  Building on(function, graph);
  Call& call = on.call();
  const train::GradientOptions wishes = read(call, options);
  if (call.has_array(gradients, of_count, "gradients")) std::fill_n(gradients, of_count, heed_tensor{0});
  if (!call.has_array(outputs, output_count, "outputs") || !call.has_array(of, of_count, "of") || !on) return on.end();
  std::vector<train::Upstream> from;
  std::vector<heed::Tensor> wanted;
  for (size_t i = 0; i < output_count; ++i)
    from.push_back({on.tensor(outputs[i].output, "an output"), on.tensor_if(outputs[i].gradient)});
  for (size_t i = 0; i < of_count; ++i) wanted.push_back(on.tensor(of[i]));
  if (!on) return on.end();
  const Lending lending(on.graph(), graph);
  const std::vector<heed::Tensor> made = train::gradients(on.graph().it, from, wanted, wishes);
  for (size_t i = 0; i < of_count && on; ++i) gradients[i] = on.graph().name(made[i]);
  return on.end();
}

static_assert(HEED_STEP_WORDS == train::kStepWords && sizeof(heed_step_report) == sizeof(train::StepReport));

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
  const heed::train::StepNumbers given = read(call, numbers);
  if (!call.has(words, "words") || call.failed()) return call.status();
  heed::train::StepWords made{};
  if (heed::train::step_words(kind, given, &made) != heed::Status::Ok)
    return call.fail(HEED_INVALID_ARGUMENT, "a number of the step is outside its range");
  std::copy(made.begin(), made.end(), words);
  return call.status();
}

heed_status heed_initial_values(const heed_initial_options* options, const int64_t* shape, size_t rank, float* values,
                                size_t count) {
  Call call(__func__);
  const heed::train::InitialOptions given = read(call, options);
  if (!call.has_array(shape, rank, "shape") || !call.has_array(values, count, "values") || call.failed())
    return call.status();
  const heed::Status status = heed::train::initial_values(given, {shape, rank}, {values, count});
  return call.repeat(status, heed::last_message());
}

heed_status heed_loss_scale_update(heed_loss_scale* loss, const heed_step_report* report) {
  Call call(__func__);
  call.has(loss, "the loss scale");
  heed::train::LossScale scale = read(call, loss);
  if (!call.has(report, "report") || call.failed()) return call.status();
  scale.update({report->factor, report->taken, report->norm, report->steps});
  *loss = to_c(scale);
  return call.status();
}
