// Gradients and optimizers through the C interface give the bits of C++, and refuse invalid arguments.
#include <heed/initial.hpp>
#include <heed/optimizer.hpp>
#include <heed/train.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "c/kept.hpp"
#include "harness/files.hpp"

namespace heed::test {
namespace {

using Floats = std::vector<float>;

constexpr int64_t kExamples = 5, kWidth = 7, kKinds = 3;
constexpr int kSteps = 6;

Floats waves(int64_t count, int salt) {
  Floats values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(static_cast<float>(i * 37 + salt * 11)));
  return values;
}

// The same classifier through both interfaces: a layer with a bias, and the mean of its losses.
struct Learner {
  explicit Learner(const heed_optimizer_options& options, Device cpu) : cpp(options_of(options)) {
    const heed_dim x_shape[] = {kExamples, kWidth}, labels_shape[] = {kExamples}, line[] = {1, kExamples};
    const heed_dim w_shape[] = {kKinds, kWidth}, b_shape[] = {kKinds};
    done(heed_optimizer_create(&options, optimizer.out()));
    const heed_tensor x = heed_graph_input(graph, "x", x_shape, 2, HEED_F32);
    const heed_tensor w_tensor = heed_graph_weight(graph, "w", w_shape, 2, HEED_F32);
    const heed_tensor b_tensor = heed_graph_weight(graph, "b", b_shape, 1, HEED_F32);
    const heed_tensor y = heed_graph_linear(graph, x, w_tensor, b_tensor);
    const heed_tensor losses =
        heed_graph_cross_entropy(graph, y, heed_graph_input(graph, "labels", labels_shape, 1, HEED_I32), 0);
    const heed_tensor mean = heed_graph_mean(graph, heed_graph_reshape(graph, losses, line, 2), 1, 0, 0);
    done(heed_optimizer_add_weights(optimizer, graph));
    const heed_tensor settings = heed_optimizer_settings(optimizer, graph);
    loss = heed_graph_mul(graph, mean, heed_optimizer_loss_scale(optimizer, graph, settings));
    heed_tensor weights[2] = {}, gradients[2] = {};
    size_t count = 0;
    refused(heed_optimizer_weights(optimizer, graph, weights, 1, &count), HEED_BUFFER_TOO_SMALL, "2");
    CHECK((count == 2 && weights[0] == 0));
    done(heed_optimizer_weights(optimizer, graph, weights, 2, &count));
    const heed_upstream from[] = {{loss, 0}};
    done(heed_train_gradients(graph, from, 1, weights, count, gradients));
    done(heed_graph_output(graph, "step", heed_optimizer_step(optimizer, graph, gradients, count, settings)));
    done(heed_graph_output(graph, "loss", mean));
    done(heed_device_compile(device, graph, nullptr, nullptr, plan.out()));
    done(heed_plan_make_state(plan, state.out()));

    Graph g;
    const Tensor cpp_x = g.input("x", {kExamples, kWidth}), cpp_w = g.weight("w", {kKinds, kWidth});
    const Tensor z = g.linear(cpp_x, cpp_w, g.weight("b", {kKinds}));
    const Tensor cpp_mean =
        g.mean(g.reshape(g.cross_entropy(z, g.input("labels", {kExamples}, DType::I32)), {1, kExamples}), 1);
    REQUIRE(cpp.add_weights(g) == Status::Ok);
    const Tensor numbers = cpp.settings(g);
    const Tensor scaled = g.mul(cpp_mean, cpp.loss_scale(g, numbers));
    g.output("step", cpp.step(g, train::gradients(g, scaled, cpp.weights(g)), numbers));
    g.output("loss", cpp_mean);
    cpp_plan = compiled(cpu, g);
    REQUIRE(cpp_plan.make_state(&cpp_state) == Status::Ok);
  }

  static train::OptimizerOptions options_of(const heed_optimizer_options& from) {
    return {.rule = static_cast<train::UpdateRule>(from.rule),
            .momentum = from.momentum != 0,
            .nesterov = from.nesterov != 0,
            .accumulate = from.accumulate != 0,
            .prefix = from.prefix};
  }

  void load() {
    const int64_t w_shape[] = {kKinds, kWidth}, b_shape[] = {kKinds};
    const heed_host_tensor tensors[] = {{"w", w_shape, 2, w.data(), w.size() * 4, HEED_F32, 0},
                                        {"b", b_shape, 1, b.data(), b.size() * 4, HEED_F32, 0}};
    refused(heed_optimizer_load(optimizer, state, tensors, 1), HEED_MISSING_WEIGHT, "'b'");
    done(heed_optimizer_load(optimizer, state, tensors, 2));
    const HostTensor same[] = {{"w", DType::F32, w_shape, std::as_bytes(std::span(w))},
                               {"b", DType::F32, b_shape, std::as_bytes(std::span(b))}};
    REQUIRE(cpp.load(cpp_state, same) == Status::Ok);
  }

  // A step with rows of both parameter groups, in C and in C++. The report and the loss must be equal.
  heed_step_report step(int number, const std::string& prefix, int32_t rule, const heed_step_numbers& c,
                        const train::StepNumbers& plain) {
    const Floats x = waves(kExamples * kWidth, number);
    const std::vector<int32_t> labels = {0, 2, 1, 2, number % 3};
    Floats words(2 * HEED_STEP_WORDS), report(4), mean(1);
    train::StepWords same{};
    for (size_t group = 0; group < 2; ++group) done(heed_step_words(rule, &c, words.data() + group * HEED_STEP_WORDS));
    REQUIRE(train::step_words(static_cast<train::UpdateRule>(rule), plain, &same) == Status::Ok);
    CHECK(std::memcmp(words.data() + HEED_STEP_WORDS, same.data(), sizeof(same)) == 0);
    const std::string name = prefix + ".settings";
    run(plan, {in("x", x), in("labels", labels), in(name.c_str(), words)}, {out("step", report), out("loss", mean)},
        state);
    Floats cpp_report(4), cpp_mean(1);
    REQUIRE(cpp_plan.run({{"x", x}, {"labels", labels}, {name, words}, {"step", cpp_report}, {"loss", cpp_mean}}, {},
                         {.state = cpp_state}) == Status::Ok);
    CHECK(report == cpp_report);
    CHECK(mean == cpp_mean);
    heed_step_report made = {};
    std::memcpy(&made, report.data(), sizeof(made));
    return made;
  }

  Floats weight(const char* name, size_t count) {
    Floats got(count), want(count);
    done(heed_optimizer_read(optimizer, state, name, got.data(), count));
    REQUIRE(cpp.read(cpp_state, name, want) == Status::Ok);
    CHECK(got == want);
    return got;
  }

  Floats w = waves(kKinds * kWidth, 1), b = waves(kKinds, 2);
  heed_tensor loss = 0;
  KeptDevice device = open_c("cpu");
  KeptGraph graph{heed_graph_create};
  KeptOptimizer optimizer;
  KeptPlan plan;
  KeptState state;
  train::Optimizer cpp;
  Plan cpp_plan;
  State cpp_state;
};

}  // namespace

TEST_CASE("C: activations that are computed again give the bits of C++", "[c][train]") {
  constexpr int64_t kRows = 6, kSize = 8;
  const heed_dim shape[] = {kRows, kSize}, w_shape[] = {kSize, kSize};
  const Floats x = waves(kRows * kSize, 1), w0 = waves(kSize * kSize, 2), w1 = waves(kSize * kSize, 3),
               up = waves(kRows * kSize, 4);
  KeptDevice device = open_c("cpu");
  size_t passes[2] = {};
  for (const bool again : {false, true}) {
    KeptGraph graph(heed_graph_create);
    Graph g;
    heed_tensor y = heed_graph_input(graph, "x", shape, 2, HEED_F32), of[2] = {}, gradients[2] = {};
    Tensor plain_y = g.input("x", {kRows, kSize});
    std::vector<Tensor> plain_of;
    for (int i = 0; i < 2; ++i) {
      const std::string layer = "layers." + std::to_string(i), name = "w" + std::to_string(i);
      done(heed_graph_push_label(graph, layer.c_str()));
      of[i] = heed_graph_input(graph, name.c_str(), w_shape, 2, HEED_F32);
      y = heed_graph_activation(graph, heed_graph_linear(graph, y, of[i], 0), HEED_ACTIVATION_GELU_ERF);
      heed_graph_pop_label(graph);
      g.push_label(layer);
      plain_of.push_back(g.input(name, {kSize, kSize}));
      plain_y = g.activation(g.linear(plain_y, plain_of.back()), Activation::GeluErf);
      g.pop_label();
    }
    const heed_upstream from[] = {{y, heed_graph_input(graph, "up", shape, 2, HEED_F32)}};
    const train::Upstream plain_from[] = {{plain_y, g.input("up", {kRows, kSize})}};
    auto options = sized<heed_gradient_options>();
    options.remat = again ? "layers" : nullptr;
    done(heed_train_gradients_with(graph, from, 1, of, 2, &options, gradients));
    const std::vector<Tensor> made = train::gradients(g, plain_from, plain_of, {.remat = again ? "layers" : ""});
    for (size_t i = 0; i < 2; ++i) {
      const std::string name = "d" + std::to_string(i);
      done(heed_graph_output(graph, name.c_str(), gradients[i]));
      g.output(name, made[i]);
    }
    KeptPlan plan(heed_device_compile, device, graph, nullptr, nullptr);
    Plan plain = compiled(open_cpu(), g);
    passes[again] = heed_plan_pass_count(plan);
    CHECK(passes[again] == plain.passes().size());
    Floats d0(w0.size()), d1(w1.size()), plain_d0(w0.size()), plain_d1(w1.size());
    run(plan, {in("x", x), in("w0", w0), in("w1", w1), in("up", up)}, {out("d0", d0), out("d1", d1)});
    REQUIRE(plain.run({{"x", x}, {"w0", w0}, {"w1", w1}, {"up", up}, {"d0", plain_d0}, {"d1", plain_d1}}) ==
            Status::Ok);
    CHECK(d0 == plain_d0);
    CHECK(d1 == plain_d1);
  }
  CHECK(passes[1] > passes[0]);
}

TEST_CASE("C: steps of optimizers leave the bits of C++", "[c][train]") {
  const Device cpu = open_cpu();
  for (const int32_t rule : {HEED_UPDATE_ADAMW, HEED_UPDATE_SGD}) {
    INFO("rule " << rule);
    auto options = sized<heed_optimizer_options>();
    options.rule = rule;
    options.nesterov = rule;
    options.accumulate = 1;
    if (rule == HEED_UPDATE_SGD) options.prefix = "sgd";
    Learner learner(options, cpu);
    learner.load();
    auto numbers = sized<heed_step_numbers>();
    train::StepNumbers plain;
    numbers.rate = plain.rate = 0.05f;
    numbers.weight_decay = plain.weight_decay = 0.01f;
    numbers.max_norm = plain.max_norm = 0.25f;
    numbers.loss_scale = plain.loss_scale = 64.0f;
    numbers.runs = plain.runs = 2;
    const std::string prefix = Learner::options_of(options).prefix;
    for (int i = 0; i < kSteps; ++i) {
      numbers.apply = i % 2;
      plain.apply = i % 2 != 0;
      const heed_step_report report = learner.step(i, prefix, rule, numbers, plain);
      CHECK(report.taken == static_cast<float>(i % 2));
      CHECK(report.steps == static_cast<float>((i + 1) / 2));
    }
    CHECK(learner.weight("w", kKinds * kWidth) != learner.w);
    CHECK(learner.weight("b", kKinds) != learner.b);

    // A file brings another state to the same bits, through a checkpoint's handle.
    const ScratchFolder folder;
    const std::string file = (folder / "learned").string();
    done(heed_optimizer_save(learner.optimizer, learner.state, file.c_str()));
    KeptCheckpoint saved(heed_checkpoint_open, file.c_str(), nullptr);
    CHECK(heed_checkpoint_count(saved) == (rule == HEED_UPDATE_ADAMW ? 7u : 5u));
    KeptState other(heed_plan_make_state, learner.plan);
    done(heed_optimizer_load_checkpoint(learner.optimizer, other, saved));
    KeptBlob before(heed_state_save, learner.state);
    KeptBlob after(heed_state_save, other);
    CHECK(text_of(before) == text_of(after));
  }
}

TEST_CASE("C: a graph that keeps an optimizer's weights reads what was learned", "[c][train]") {
  auto options = sized<heed_optimizer_options>();
  Learner learner(options, open_cpu());
  learner.load();
  auto numbers = sized<heed_step_numbers>();
  numbers.rate = 0.1f;
  learner.step(0, "optimizer", HEED_UPDATE_ADAMW, numbers, {.rate = 0.1f});
  KeptGraph answers(heed_graph_create);
  const heed_dim shape[] = {kKinds, kWidth};
  const heed_tensor w = heed_graph_weight(answers, "w", shape, 2, HEED_F32);
  done(heed_graph_output(answers, "doubled", heed_graph_add(answers, w, w)));
  done(heed_optimizer_keep(learner.optimizer, answers));
  KeptPlan plan(heed_device_compile, learner.device, answers, nullptr, nullptr);
  Floats doubled(kKinds * kWidth), want = learner.weight("w", kKinds * kWidth);
  run(plan, {}, {out("doubled", doubled)}, learner.state);
  for (float& value : want) value *= 2;
  CHECK(doubled == want);
}

TEST_CASE("C: declared weights and a loss scale", "[c][train]") {
  KeptOptimizer optimizer(heed_optimizer_create, nullptr);
  CHECK(heed_optimizer_group_count(optimizer) == 1);
  const int64_t shape[] = {2, 3}, none[] = {2, 0};
  done(heed_optimizer_add(optimizer, "a", shape, 2, 5));
  CHECK((heed_optimizer_count(optimizer) == 1 && heed_optimizer_group_count(optimizer) == 6));
  auto parameter = sized<heed_parameter>();
  done(heed_optimizer_parameter(optimizer, 0, &parameter));
  CHECK(std::string_view(parameter.name) == "a");
  CHECK((parameter.rank == 2 && parameter.shape[1] == 3 && parameter.group == 5));
  refused(heed_optimizer_parameter(optimizer, 1, &parameter), HEED_INDEX_OUT_OF_RANGE, "1");
  refused(heed_optimizer_add(optimizer, "a", shape, 2, 0), HEED_INVALID_ARGUMENT, "declared before");
  refused(heed_optimizer_add(optimizer, "b", shape, 2, 8), HEED_INVALID_ARGUMENT, "group 8");
  refused(heed_optimizer_add(optimizer, "b", none, 2, 0), HEED_INVALID_ARGUMENT, "no elements");
  refused(heed_optimizer_add(optimizer, "b", shape, 99, 0), HEED_INVALID_ARGUMENT, "too many");
  refused(heed_optimizer_add(optimizer, nullptr, shape, 2, 0), HEED_INVALID_ARGUMENT, "name is NULL");
  refused(heed_optimizer_add(optimizer, "b", nullptr, 2, 0), HEED_INVALID_ARGUMENT, "shape is NULL");
  CHECK(heed_optimizer_count(optimizer) == 1);

  auto scale = sized<heed_loss_scale>();
  scale.grow_after = 2;
  heed_step_report report = {1, -1, 0, 0};
  done(heed_loss_scale_update(&scale, &report));
  CHECK((scale.scale == 32768.0f && scale.least == 1.0f && scale.most == 16777216.0f));
  report.taken = 1;
  done(heed_loss_scale_update(&scale, &report));
  CHECK((scale.scale == 32768.0f && scale.good == 1));
  done(heed_loss_scale_update(&scale, &report));
  CHECK((scale.scale == 65536.0f && scale.good == 0));
  refused(heed_loss_scale_update(&scale, nullptr), HEED_INVALID_ARGUMENT, "report is NULL");
  refused(heed_loss_scale_update(nullptr, &report), HEED_INVALID_ARGUMENT, "is NULL");
}

namespace {

// y = x * x on the CPU, with a gradient.
struct Squares {
  static void run(void*, const heed_custom_call* call) {
    const auto* x = static_cast<const float*>(call->inputs[0].data);
    auto* y = static_cast<float*>(call->outputs[0].data);
    for (int64_t i = 0; i < call->inputs[0].shape[0]; ++i) y[i] = x[i] * x[i];
  }
  static void differentiate(void* user, heed_graph* g, const heed_custom_gradient_call* call) {
    Squares& self = *static_cast<Squares*>(user);
    ++self.calls;
    CHECK((call->input_count == 2 && call->output_count == 1 && call->gradients[0] == 0));
    CHECK((call->wanted[0] == 1 && call->wanted[1] == 0));
    size_t rank = 0;
    heed_dim size = 0;
    done(heed_graph_shape(g, call->outputs[0], &size, 1, &rank));
    CHECK(size == 3);
    call->gradients[0] =
        self.given != 0 ? self.given : heed_graph_scale(g, heed_graph_mul(g, call->inputs[0], call->upstream[0]), 2);
  }
  // Differentiates x squared, squared again, through two custom passes.
  heed_status gradients(heed_graph* g, bool has_gradient) {
    const heed_dim three[] = {3};
    const heed_custom_output output = {three, 1, HEED_F32, 0};
    auto pass = sized<heed_custom_pass>();
    pass.name = "square";
    pass.outputs = &output;
    pass.output_count = 1;
    pass.cpu = run;
    pass.user = this;
    if (has_gradient) pass.gradient = differentiate;
    const heed_tensor x = heed_graph_input(g, "x", three, 1, HEED_F32);
    const heed_tensor apart = heed_graph_input(g, "apart", three, 1, HEED_F32);
    heed_tensor y = x;
    for (int i = 0; i < 2; ++i) {
      const heed_tensor inputs[] = {y, apart};
      done(heed_graph_custom(g, &pass, inputs, 2, &y));
    }
    const heed_upstream from[] = {{y, heed_graph_input(g, "upstream", three, 1, HEED_F32)}};
    heed_tensor gradient = 0;
    const heed_status status = heed_train_gradients(g, from, 1, &x, 1, &gradient);
    if (status == HEED_OK) done(heed_graph_output(g, "gradient", gradient));
    return status;
  }
  heed_tensor given = 0;
  int calls = 0;
};

}  // namespace

TEST_CASE("C: gradients pass through the host's own passes", "[c][train]") {
  KeptDevice device = open_c("cpu");
  KeptPlan plan;
  KeptGraph graph(heed_graph_create);
  Squares squares;
  done(squares.gradients(graph, true));
  CHECK(squares.calls == 2);
  done(heed_device_compile(device, graph, nullptr, nullptr, plan.out()));
  const Floats x = {1, -2, 0.5f}, upstream = {1, 2, -4};
  Floats gradient(3);
  run(plan, {in("x", x), in("apart", x), in("upstream", upstream)}, {out("gradient", gradient)});
  CHECK(gradient == Floats{4, -64, -2});  // 4 x^3 times the upstream gradient

  KeptGraph foreign;
  KeptGraph without(heed_graph_create);
  refused(squares.gradients(without, false), HEED_UNSUPPORTED, "'square' has no gradient");
  done(heed_graph_create(foreign.out()));
  squares.given = heed_graph_find_weight(graph, "none") + 7;
  refused(squares.gradients(foreign, true), HEED_INVALID_ARGUMENT, "no tensor of its graph");
}

TEST_CASE("C: training refuses what makes no sense", "[c][hostile]") {
  auto options = sized<heed_optimizer_options>();
  options.rule = 2;
  heed_optimizer* made = nullptr;
  refused(heed_optimizer_create(&options, &made), HEED_INVALID_ARGUMENT, "rule is 2");
  CHECK(made == nullptr);
  options.rule = HEED_UPDATE_ADAMW;
  Learner learner(options, open_cpu());
  learner.load();
  CHECK((heed_optimizer_count(nullptr) == 0 && heed_optimizer_group_count(nullptr) == 0));

  auto numbers = sized<heed_step_numbers>();
  float words[HEED_STEP_WORDS] = {};
  done(heed_step_words(HEED_UPDATE_ADAMW, &numbers, words));
  refused(heed_step_words(-1, &numbers, words), HEED_INVALID_ARGUMENT, "the rule is -1");
  refused(heed_step_words(HEED_UPDATE_ADAMW, &numbers, nullptr), HEED_INVALID_ARGUMENT, "words is NULL");
  const auto wrong = [&](float heed_step_numbers::* member, float value) {
    heed_step_numbers changed = numbers;
    changed.*member = value;
    refused(heed_step_words(HEED_UPDATE_ADAMW, &changed, words), HEED_INVALID_ARGUMENT, "outside its range");
  };
  wrong(&heed_step_numbers::rate, -1);
  wrong(&heed_step_numbers::beta1, 1);
  wrong(&heed_step_numbers::beta2, std::numeric_limits<float>::quiet_NaN());
  wrong(&heed_step_numbers::loss_scale, -1);
  wrong(&heed_step_numbers::max_norm, -1);
  numbers.beta1 = 0;  // AdamW has no momentum; a momentum of 0 is a value
  refused(heed_step_words(HEED_UPDATE_ADAMW, &numbers, words), HEED_INVALID_ARGUMENT, "outside its range");
  done(heed_step_words(HEED_UPDATE_SGD, &numbers, words));

  // Nothing was read or written.
  Floats w(kKinds * kWidth);
  refused(heed_optimizer_read(learner.optimizer, learner.state, "none", w.data(), w.size()), HEED_NOT_FOUND, "'none'");
  refused(heed_optimizer_read(learner.optimizer, learner.state, "w", w.data(), 2), HEED_SHAPE_MISMATCH, "2 elements");
  refused(heed_optimizer_read(learner.optimizer, learner.state, "w", nullptr, 2), HEED_INVALID_ARGUMENT, "is NULL");
  CHECK(w == Floats(kKinds * kWidth));
  refused(heed_optimizer_save(learner.optimizer, learner.state, "/nonexistent/folder/file"), HEED_FILE_ERROR,
          "/nonexistent/folder/file");
  refused(heed_optimizer_save(learner.optimizer, learner.state, nullptr), HEED_INVALID_ARGUMENT, "path is NULL");
  refused(heed_optimizer_load_checkpoint(learner.optimizer, learner.state, nullptr), HEED_INVALID_ARGUMENT, "is NULL");

  // A graph keeps the first mistake.
  const auto mistaken = [&](heed_status wanted, const char* text, const auto& make) {
    KeptGraph graph(heed_graph_create);
    const heed_dim shape[] = {kKinds, kWidth}, b_shape[] = {kKinds};
    (void)heed_graph_weight(graph, "b", b_shape, 1, HEED_F32);
    make(static_cast<heed_graph*>(graph), heed_graph_weight(graph, "w", shape, 2, HEED_F32));
    refused(heed_graph_get_status(graph), wanted, text);
  };
  mistaken(HEED_SHAPE_MISMATCH, "is not one number", [&](heed_graph* g, heed_tensor w_tensor) {
    const heed_upstream from[] = {{w_tensor, 0}};
    heed_tensor gradient = 7;
    refused(heed_train_gradients(g, from, 1, &w_tensor, 1, &gradient), HEED_SHAPE_MISMATCH, "is not one number");
    CHECK(gradient == 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "an output is 0", [&](heed_graph* g, heed_tensor w_tensor) {
    const heed_upstream from[] = {{0, w_tensor}};
    heed_tensor gradient = 7;
    CHECK(heed_train_gradients(g, from, 1, &w_tensor, 1, &gradient) == HEED_INVALID_ARGUMENT);
  });
  mistaken(HEED_INVALID_ARGUMENT, "of is NULL", [&](heed_graph* g, heed_tensor) {
    heed_tensor gradient = 7;
    CHECK(heed_train_gradients(g, nullptr, 0, nullptr, 1, &gradient) == HEED_INVALID_ARGUMENT);
    CHECK(gradient == 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "is none of this graph's", [&](heed_graph* g, heed_tensor) {
    CHECK(heed_optimizer_step(learner.optimizer, g, &learner.loss, 1, learner.loss) == 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "1 gradients for 2 weights", [&](heed_graph* g, heed_tensor w_tensor) {
    CHECK(heed_optimizer_step(learner.optimizer, g, &w_tensor, 1, heed_optimizer_settings(learner.optimizer, g)) == 0);
  });
  mistaken(HEED_SHAPE_MISMATCH, "the gradient of 'b'", [&](heed_graph* g, heed_tensor w_tensor) {
    const heed_tensor gradients[] = {w_tensor, w_tensor};
    CHECK(heed_optimizer_step(learner.optimizer, g, gradients, 2, heed_optimizer_settings(learner.optimizer, g)) == 0);
  });
  mistaken(HEED_INVALID_ARGUMENT, "the optimizer was destroyed", [&](heed_graph* g, heed_tensor) {
    KeptOptimizer gone(heed_optimizer_create, nullptr);
    CHECK(heed_optimizer_settings(gone.gone(), g) == 0);
  });
  KeptGraph empty(heed_graph_create);
  heed_tensor weights[2] = {};
  size_t count = 0;
  refused(heed_optimizer_weights(learner.optimizer, empty, weights, 2, &count), HEED_MISSING_WEIGHT, "'w'");
  // A plan without the optimizer's step has no such states.
  KeptGraph plain(heed_graph_create);
  const heed_dim one[] = {1};
  const heed_tensor x = heed_graph_input(plain, "x", one, 1, HEED_F32);
  done(heed_graph_output(plain, "y", heed_graph_assign(plain, heed_graph_state(plain, "s", one, 1, HEED_F32), x)));
  KeptPlan plan(heed_device_compile, learner.device, plain, nullptr, nullptr);
  KeptState foreign(heed_plan_make_state, plan);
  CHECK(heed_optimizer_read(learner.optimizer, foreign, "w", w.data(), w.size()) == HEED_NOT_FOUND);
  CHECK(heed_optimizer_save(learner.optimizer, foreign, "file") == HEED_NOT_FOUND);
}

TEST_CASE("c train: first values are those of C++", "[c]") {
  const int64_t shape[] = {3, 7};
  Floats values(21), same(21);
  heed_initial_options options;
  done(heed_initial_options_init(&options));
  options.kind = HEED_INITIAL_KAIMING_NORMAL;
  options.seed = 5;
  options.stream = 9;
  done(heed_initial_values(&options, shape, 2, values.data(), values.size()));
  CHECK(train::initial_values({.kind = train::Initial::KaimingNormal, .seed = 5, .stream = 9}, shape, same) ==
        Status::Ok);
  CHECK(values == same);
  done(heed_initial_values(nullptr, shape, 2, values.data(), values.size()));
  CHECK(values != same);
  refused(heed_initial_values(&options, shape, 1, values.data(), 3), HEED_INVALID_ARGUMENT, "two axes");
  refused(heed_initial_values(&options, shape, 2, values.data(), 20), HEED_SHAPE_MISMATCH, "[3, 7]");
  CHECK(heed_initial_values(&options, nullptr, 2, values.data(), 21) == HEED_INVALID_ARGUMENT);
  CHECK(heed_initial_values(&options, shape, 2, nullptr, 21) == HEED_INVALID_ARGUMENT);
  options.kind = 7;
  CHECK(heed_initial_values(&options, shape, 2, values.data(), 21) == HEED_INVALID_ARGUMENT);
}

}  // namespace heed::test
