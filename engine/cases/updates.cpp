// Steps of optimizers with zero states and clipped gradients. Sizes: elements.
#include <bit>

#include "cases/op_case.hpp"
#include "graph/build/build.hpp"
#include "graph/build/update.hpp"

namespace heed {
namespace {

constexpr UpdateSettings kStep = {.rate = 0.1f,
                                  .decay = 0.01f,
                                  .first = 0.9f,
                                  .first_rest = 0.1f,
                                  .second = 0.99f,
                                  .second_rest = 0.01f,
                                  .eps = 1e-3f,
                                  .log_first = -0.105360516f,
                                  .log_second = -0.010050336f,
                                  .gradient = 0.5f,
                                  .most_norm = 7.0f,
                                  .applies = 1.0f,
                                  .loss_scale = 1.0f,
                                  .unused = {}};

detail::GradientNorm norm_of(CaseGraph& c, std::initializer_list<Tensor> gradients, Tensor* settings) {
  const auto words = std::bit_cast<std::array<float, detail::kUpdateWords>>(kStep);
  *settings = c.graph.constant("settings", {1, detail::kUpdateWords}, std::span<const float>(words));
  return detail::gradient_norm(detail::data_of(c.graph), std::span(gradients.begin(), gradients.size()), *settings,
                               c.state("step", {1}, DType::F32));
}

void gradient_norm(CaseGraph& c) {
  Tensor settings;
  const Tensor x = c.input("x", {c.size(0)}, DType::F32), z = c.input("z", {33}, DType::F32);
  const detail::GradientNorm norm = norm_of(c, {x, z}, &settings);
  c.output("y", norm.factors);
  c.output("step", norm.step);
}

// AdamW for w, which clears its gradients, and Nesterov's momentum for u.
void update(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0)}, DType::F32);
  Tensor settings;
  const Tensor factors = norm_of(c, {x}, &settings).factors;
  const auto state = [&](const char* name) { return c.state(name, {c.size(0)}, DType::F32); };
  static_cast<void>(c.graph.assign(state("g"), x));
  detail::GraphData& data = detail::data_of(c.graph);
  detail::update(data, {state("w"), state("m"), state("v"), state("g")}, factors, settings, 0, {.clears = true});
  detail::update(data, {state("u"), state("n"), {}, x}, factors, settings, 0,
                 {.rule = UpdateAttrs::Rule::Sgd, .nesterov = true});
  for (const char* name : {"w", "m", "v", "g", "u", "n"}) c.output((std::string(name) + ".out").c_str(), state(name));
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kUpdateCases[] = {
    {.op = "gradient_norm", .build = gradient_norm, .one_type = true, .plans = kBoth, .self_test = {{9001}},
     .compilers = {{4194304}}, .floor = {{5000000}}},
    {.op = "update", .build = update, .one_type = true, .plans = kBoth, .self_test = {{1301}},
     .compilers = {{4194304}}, .floor = {{20000000}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> update_cases() { return kUpdateCases; }

}  // namespace heed
