// Optimizers on every device: their steps on given gradients, skipped steps, and files.
#include <heed/optimizer.hpp>

#include <cstring>
#include <filesystem>

#include "harness/counting.hpp"
#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/reference.hpp"
#include "harness/setup.hpp"

#if defined(__linux__)
#include <sys/resource.h>

#include <csignal>
#include "harness/source_path.hpp"
#endif

namespace heed::train {
namespace {

using Bytes = std::vector<std::byte>;
using Floats = std::vector<float>;

// The formula of make.py.
float value(int64_t i, int64_t salt) {
  return static_cast<float>((i * 7919 + salt * 104729 + i * i % 1013) % 2049 - 1024) / 1024.0f;
}

struct Weight {
  const char* name;
  std::vector<int64_t> shape;
  int64_t elements() const {
    int64_t n = 1;
    for (const int64_t dim : shape) n *= dim;
    return n;
  }
};

// A graph without a model, whose gradients are inputs.
class Training {
 public:
  Training(Device device, const OptimizerOptions& options, std::vector<Weight> weights)
      : optimizer(options), rule_(options.rule), weights_(std::move(weights)) {
    Graph g;
    std::vector<Tensor> gradients;
    for (const Weight& weight : weights_) {
      Shape shape;
      for (const int64_t dim : weight.shape) shape.push_back(dim);
      static_cast<void>(g.weight(weight.name, shape));
      gradients.push_back(g.input(std::string(weight.name) + ".grad", shape));
    }
    REQUIRE(optimizer.add_weights(g) == Status::Ok);
    const Tensor settings = optimizer.settings(g);
    g.output("step", optimizer.step(g, gradients, settings));
    INFO(g.error());
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    state = made();
  }

  State made() {
    State fresh = test::state_of(plan);
    test::Tensors tensors;
    for (size_t w = 0; w < weights_.size(); ++w)
      tensors.add(weights_[w].name, weights_[w].shape, values(w, static_cast<int64_t>(w), 1.0f));
    REQUIRE(optimizer.load(fresh, tensors.list()) == Status::Ok);
    return fresh;
  }

  Floats values(size_t weight, int64_t salt, float scale) const {
    Floats result;
    for (int64_t i = 0; i < weights_[weight].elements(); ++i) result.push_back(value(i, salt) * scale);
    return result;
  }

  // Gradients of step number `step`; `spoil` changes some of them.
  StepReport run(int64_t step, const std::vector<StepNumbers>& groups,
                 const std::function<void(std::vector<Floats>*)>& spoil = {}) {
    std::vector<Floats> gradients;
    for (size_t w = 0; w < weights_.size(); ++w)
      gradients.push_back(values(w, 100 + 10 * step + static_cast<int64_t>(w), 0.25f));
    if (spoil) spoil(&gradients);
    std::vector<StepWords> rows(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) REQUIRE(step_words(rule_, groups[i], &rows[i]) == Status::Ok);
    StepReport report;
    std::vector<std::string> names;
    for (const Weight& weight : weights_) names.push_back(std::string(weight.name) + ".grad");
    std::vector<HostBuffer> buffers = {{"optimizer.settings", std::as_bytes(std::span(rows))},
                                       {"step", std::as_writable_bytes(std::span(&report, 1))}};
    for (size_t w = 0; w < weights_.size(); ++w) buffers.push_back({names[w], std::span(gradients[w])});
    REQUIRE(plan.run(buffers, {}, {.state = state}) == Status::Ok);
    return report;
  }

  Bytes saved() const {
    Bytes blob;
    REQUIRE(state.save(&blob) == Status::Ok);
    return blob;
  }
  Floats weight(size_t w) const {
    Floats result(static_cast<size_t>(weights_[w].elements()));
    REQUIRE(optimizer.read(state, weights_[w].name, result) == Status::Ok);
    return result;
  }

  Optimizer optimizer;
  Plan plan;
  State state;

 private:
  UpdateRule rule_;
  std::vector<Weight> weights_;
};

const std::vector<Weight> kWeights = {{"a", {3, 5}}, {"b", {7}}, {"c", {9, 500}}};
constexpr int64_t kSteps = 12;

SafeTensors opened(const std::string& path) { return test::opened<SafeTensors>(path, stderr_log()); }

Floats floats_of(const SafeTensors& file, const std::string& name) {
  Floats values;
  INFO(name);
  REQUIRE(file.find(name) != nullptr);
  REQUIRE(read_f32(*file.find(name), {}, &values) == Status::Ok);
  return values;
}

// The largest difference, relative to the larger of 1 and the value.
double apart(const Floats& got, const Floats& want) {
  REQUIRE(got.size() == want.size());
  double most = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    most = std::isnan(error) ? 1e30 : std::max(most, error / std::max(1.0, std::abs(static_cast<double>(want[i]))));
  }
  return most;
}

std::vector<StepNumbers> numbers_at(int64_t step, UpdateRule rule) {
  StepNumbers numbers;
  numbers.rate = 0.01f * (1.0f - static_cast<float>(step) / 16.0f);
  numbers.weight_decay = 0.05f;
  numbers.beta2 = 0.99f;
  numbers.eps = 1e-6f;
  numbers.max_norm = 6.0f;
  if (rule == UpdateRule::Sgd) numbers.beta1 = 0.8f;
  StepNumbers vectors = numbers;
  vectors.weight_decay = 0.0f;
  return {numbers, vectors};
}

}  // namespace

TEST_CASE("optimizers: AdamW and SGD do what PyTorch does", "[train]") {
  struct Row {
    const char* name;
    OptimizerOptions options;
  };
  const Row rows[] = {{"adamw", {}},
                      {"sgd", {.rule = UpdateRule::Sgd, .momentum = false}},
                      {"momentum", {.rule = UpdateRule::Sgd}},
                      {"nesterov", {.rule = UpdateRule::Sgd, .nesterov = true}}};
  const SafeTensors want = opened(test::source_path("tests/train/optimizers.safetensors"));
  ops::on_each([&](Device device) {
    for (const Row& row : rows) {
      INFO(row.name);
      Training training(device, row.options, kWeights);
      Floats norms;
      for (int64_t step = 0; step < kSteps; ++step) {
        const StepReport report = training.run(step, numbers_at(step, row.options.rule));
        CHECK(report.taken == 1.0f);
        CHECK(report.steps == static_cast<float>(step + 1));
        norms.push_back(report.norm);
      }
      CHECK(apart(norms, floats_of(want, row.name + std::string(".norms"))) < 1e-6);
      for (size_t w = 0; w < kWeights.size(); ++w)
        CHECK(apart(training.weight(w), floats_of(want, row.name + std::string(".") + kWeights[w].name)) < 2e-6);
      if (row.options.rule != UpdateRule::AdamW) continue;
      const test::ScratchFolder folder;
      const std::string path = (folder / "adamw.safetensors").string();
      REQUIRE(training.optimizer.save(training.state, path) == Status::Ok);
      const SafeTensors file = opened(path);
      CHECK(floats_of(file, "optimizer.step") == Floats{static_cast<float>(kSteps)});
      for (const Weight& weight : kWeights) {
        CHECK(file.find(weight.name)->shape == weight.shape);
        for (const char* moment : {".exp_avg", ".exp_avg_sq"})
          CHECK(apart(floats_of(file, std::string("optimizer.") + weight.name + moment),
                      floats_of(want, std::string("adamw.") + weight.name + moment)) < 1e-6);
      }
    }
  });
}

// Sizes around those of workgroups, blocks of squares and vectors; accumulated gradients of three runs; a scale of the loss.
TEST_CASE("optimizers: weights of any size, and gradients of several runs", "[train]") {
  const std::vector<Weight> weights = {{"w0", {1, 1}},   {"w1", {127}},   {"w2", {4097}},         {"w3", {2, 4095}},
                                       {"w4", {65, 63}}, {"w5", {16384}}, {"w6", {3, 5, 7, 2, 1}}};
  ops::on_each([&](Device device) {
    Training training(device, {.accumulate = true}, weights);
    StepNumbers numbers;
    numbers.loss_scale = 64.0f;
    numbers.runs = 3;
    numbers.weight_decay = 0.25f;
    numbers.rate = 0.125f;
    std::vector<std::vector<double>> w, m, v, sums;
    for (size_t i = 0; i < weights.size(); ++i) {
      const Floats first = training.values(i, static_cast<int64_t>(i), 1.0f);
      w.emplace_back(first.begin(), first.end());
      m.emplace_back(first.size()), v.emplace_back(first.size()), sums.emplace_back(first.size());
    }
    for (int64_t run = 0; run < 9; ++run) {
      numbers.apply = run % 3 == 2;
      const StepReport report = training.run(run, {numbers, numbers});
      const auto t = static_cast<double>(run / 3 + 1);
      CHECK(report.taken == (numbers.apply ? 1.0f : 0.0f));
      CHECK(report.steps == static_cast<float>((run + 1) / 3));
      double squares = 0.0;
      for (size_t i = 0; i < weights.size(); ++i) {
        const Floats gradient = training.values(i, 100 + 10 * run + static_cast<int64_t>(i), 0.25f);
        for (size_t j = 0; j < gradient.size(); ++j) {
          sums[i][j] += static_cast<double>(gradient[j]);
          const double g = sums[i][j] / (64.0 * 3.0);
          squares += g * g;
          if (!numbers.apply) continue;
          m[i][j] = 0.9 * m[i][j] + 0.1 * g;
          v[i][j] = 0.999 * v[i][j] + 0.001 * g * g;
          w[i][j] -= 0.125 * (0.25 * w[i][j] + m[i][j] / (1.0 - std::pow(0.9, t)) /
                                                   (std::sqrt(v[i][j] / (1.0 - std::pow(0.999, t))) + 1e-8));
          sums[i][j] = 0.0;
        }
      }
      CHECK(std::abs(static_cast<double>(report.norm) - std::sqrt(squares)) < 1e-5 * std::sqrt(squares));
    }
    for (size_t i = 0; i < weights.size(); ++i) {
      INFO(weights[i].name);
      CHECK(apart(training.weight(i), Floats(w[i].begin(), w[i].end())) < 4e-6);
    }
  });
}

TEST_CASE("optimizers: a step whose gradients are no numbers is left out and told", "[train]") {
  const float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
  ops::on_each([&](Device device) {
    for (const bool accumulate : {false, true})
      for (const float bad : {kNaN, kInfinity, -kInfinity, 3e38f}) {
        INFO(accumulate << " " << bad);
        const OptimizerOptions options{.accumulate = accumulate};
        Training training(device, options, kWeights), other(device, options, kWeights);
        training.run(0, numbers_at(0, UpdateRule::AdamW));
        other.run(0, numbers_at(0, UpdateRule::AdamW));
        const Floats before = training.weight(2);
        const auto spoil = [&](std::vector<Floats>* gradients) { (*gradients)[2][4097] = bad; };
        const StepReport report = training.run(1, numbers_at(1, UpdateRule::AdamW), spoil);
        CHECK(report.taken == -1.0f);
        CHECK(report.steps == 1.0f);
        CHECK(!std::isfinite(report.norm));
        CHECK(training.weight(2) == before);
        // The next step behaves as if the skipped one had not happened.
        CHECK(training.run(2, numbers_at(2, UpdateRule::AdamW)).taken == 1.0f);
        other.run(2, numbers_at(2, UpdateRule::AdamW));
        CHECK(training.saved() == other.saved());
      }
  });
}

TEST_CASE("optimizers: the same bits at every run, and after a file", "[train]") {
  ops::on_each([](Device device) {
    const test::ScratchFolder folder;
    const std::string path = (folder / "resume.safetensors").string();
    Training whole(device, {}, kWeights), halves(device, {}, kWeights);
    for (int64_t step = 0; step < 6; ++step) whole.run(step, numbers_at(step, UpdateRule::AdamW));
    for (int64_t step = 0; step < 3; ++step) halves.run(step, numbers_at(step, UpdateRule::AdamW));
    REQUIRE(halves.optimizer.save(halves.state, path) == Status::Ok);
    Training resumed(device, {}, kWeights);
    REQUIRE(resumed.optimizer.load(resumed.state, opened(path).host_tensors()) == Status::Ok);
    for (int64_t step = 3; step < 6; ++step) resumed.run(step, numbers_at(step, UpdateRule::AdamW));
    CHECK(resumed.saved() == whole.saved());
  });
}

TEST_CASE("optimizers: a pass for each group, and none for gradients that a pass can leave in place", "[train]") {
  ops::on_each([](Device device) {
    Graph g;
    std::vector<Tensor> gradients;
    for (const char* name : {"a", "b", "c"}) {
      static_cast<void>(g.weight(name, {6, 40}));
      gradients.push_back(
          g.matmul(g.input(std::string(name) + ".x", {6, 9}), g.input(std::string(name) + ".y", {9, 40})));
    }
    static_cast<void>(g.weight("bias", {40}));
    gradients.push_back(g.mean(gradients[0], 0));
    Optimizer optimizer;
    REQUIRE(optimizer.add_weights(g) == Status::Ok);
    gradients[0] = g.matmul(g.input("x", {6, 9}), g.input("y", {9, 40}));
    static_cast<void>(optimizer.step(g, gradients, optimizer.settings(g)));
    Plan plan;
    REQUIRE(device.compile(g, {}, &plan) == Status::Ok);
    std::map<std::string, int> count;
    for (const PassInfo& pass : plan.passes()) ++count[pass.op];
    CHECK(count["update"] == 2);
    CHECK(count["gradient_norm"] == 1);
    CHECK(count["matmul"] == 4);
    CHECK(count["elementwise"] <= 1);  // the mean
  });
}

// A model built with named weights runs on those of the State, in the graph that trains and in another graph.
TEST_CASE("optimizers: models read the weights of a State", "[train]") {
  test::Tensors tensors;
  tensors.add("fc.weight", {24, 20}, 3);
  tensors.add("fc.bias", {24}, 4);
  tensors.add("table", {11, 20}, 5);
  const auto model = [](Graph& g) {
    const Tensor x = g.embedding(g.weight("table", {11, 20}), g.input("ids", {2, 5}, DType::I32));
    return g.linear(x, g.weight("fc.weight", {24, 20}), g.weight("fc.bias", {24}));
  };
  const std::vector<int32_t> ids = {0, 10, 3, 3, 1, 7, 2, 9, 4, 5};
  ops::on_each([&](Device device) {
    Graph plain;
    plain.output("y", model(plain));
    Floats want(240), got(240);
    REQUIRE(test::compiled(device, plain, test::uploaded(device, tensors.list()))
                .run({{"ids", std::span(ids)}, {"y", std::span(want)}}) == Status::Ok);
    const Floats unlearned = want;

    Graph g;
    const Tensor y = model(g);
    Optimizer optimizer;
    REQUIRE(optimizer.add_weights(g) == Status::Ok);
    const std::vector<Tensor> weights = optimizer.weights(g);
    std::vector<Tensor> gradients;
    for (const Tensor weight : weights) gradients.push_back(g.scale(weight, 2.0f));
    g.output("y", g.scale(y, 1.0f));
    static_cast<void>(optimizer.step(g, gradients, optimizer.settings(g)));
    Plan plan = test::compiled(device, g);
    State state = test::state_of(plan);
    REQUIRE(optimizer.load(state, tensors.list()) == Status::Ok);
    std::vector<StepWords> words(2);
    for (StepWords& row : words) REQUIRE(step_words(UpdateRule::AdamW, {.rate = 0.5f}, &row) == Status::Ok);
    const auto run = [&] {
      REQUIRE(
          plan.run(
              {{"ids", std::span(ids)}, {"y", std::span(got)}, {"optimizer.settings", std::as_bytes(std::span(words))}},
              {}, {.state = state}) == Status::Ok);
    };
    run();
    CHECK(test::difference(got.data(), want) == "");
    run();
    CHECK(test::difference(got.data(), want) != "");  // the weights have changed
    want = got;

    Graph answers;
    answers.output("y", model(answers));
    optimizer.keep(answers);
    Plan answering = test::compiled(device, answers);
    REQUIRE(answering.run({{"ids", std::span(ids)}, {"y", std::span(got)}}, {}, {.state = state}) == Status::Ok);
    // A separate State has the weights, and no moments.
    State alone = test::state_of(answering);
    CHECK(alone.bytes() < state.bytes() / 3);
    REQUIRE(optimizer.load(alone, tensors.list()) == Status::Ok);
    Floats first(240);
    REQUIRE(answering.run({{"ids", std::span(ids)}, {"y", std::span(first)}}, {}, {.state = alone}) == Status::Ok);
    CHECK(test::difference(first.data(), unlearned) == "");
    run();
    // The first run used the weights that the other plan has read.
    Floats same(240);
    std::swap(same, got);
    run();
    CHECK(test::difference(got.data(), same) != "");
  });
}

TEST_CASE("optimizers: files of another shape, full disks and folders that are not there", "[train]") {
  ops::on_each([](Device device) {
    Training training(device, {}, kWeights);
    training.run(0, numbers_at(0, UpdateRule::AdamW));
    const Bytes before = training.saved();
    test::Messages messages;

    test::Tensors missing, other;
    missing.add("a", {3, 5}, 1);
    CHECK(training.optimizer.load(training.state, missing.list(), messages.log()) == Status::MissingWeight);
    CHECK(messages.mention("'c'"));
    other.add("a", {3, 5}, 1);
    other.add("b", {7}, 2);
    other.add("c", {500, 9}, 3);
    CHECK(training.optimizer.load(training.state, other.list(), messages.log()) == Status::ShapeMismatch);
    CHECK(messages.mention("[500, 9]"));
    other.add("c", {9, 500}, 3);
    other.add("optimizer.b.exp_avg", {8}, 3);
    CHECK(training.optimizer.load(training.state, other.list(), messages.log()) == Status::ShapeMismatch);
    CHECK(training.saved() == before);

    // A State without the tensors for which an optimizer would need memory: heed checks this first.
    Optimizer absurd;
    for (int i = 0; i < 64; ++i)
      REQUIRE(absurd.add("w" + std::to_string(i), std::vector<int64_t>{INT32_MAX}) == Status::Ok);
    const test::ScratchFolder folder;
    const auto unwritten = (folder / "unwritten.safetensors").string();
    {
      const test::LimitNews limit(size_t{1} << 20);
      CHECK(absurd.load(training.state, {}, messages.log()) == Status::ShapeMismatch);
      CHECK(absurd.save(training.state, unwritten, messages.log()) == Status::ShapeMismatch);
    }
    Optimizer renamed({.prefix = "renamed"});
    REQUIRE(renamed.add("a", std::vector<int64_t>{3, 5}) == Status::Ok);
    CHECK(renamed.load(training.state, other.list(), messages.log()) == Status::NotFound);
    CHECK(renamed.save(training.state, unwritten, messages.log()) == Status::NotFound);
    CHECK(messages.mention("renamed.step"));
    State none;
    CHECK(renamed.load(none, other.list()) == Status::InvalidArgument);
    CHECK(renamed.save(none, unwritten) == Status::InvalidArgument);
    // The host lacks memory: group 0 needs 4,515 elements.
    test::Tensors good;
    good.add("a", {3, 5}, 1);
    good.add("b", {7}, 2);
    good.add("c", {9, 500}, 3);
    {
      const test::LimitNews limit(4 * 4515);
      CHECK(training.optimizer.load(training.state, good.list(), messages.log()) == Status::OutOfMemory);
      CHECK(training.optimizer.save(training.state, unwritten, messages.log()) == Status::OutOfMemory);
    }
    CHECK(messages.mention("no memory for the"));
    CHECK(!std::filesystem::exists(unwritten));
    CHECK(training.saved() == before);

    const auto nowhere = (folder / "nowhere/x.safetensors").string();
    CHECK(training.optimizer.save(training.state, nowhere, messages.log()) == Status::FileError);
    CHECK(messages.mention("x.safetensors"));
#if defined(__linux__)
    const std::string path = (folder / "full.safetensors").string();
    REQUIRE(training.optimizer.save(training.state, path) == Status::Ok);
    const auto size = std::filesystem::file_size(path);
    training.run(1, numbers_at(1, UpdateRule::AdamW));
    rlimit usual{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &usual) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{size / 2, usual.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const Status full = training.optimizer.save(training.state, path, messages.log());
    REQUIRE(setrlimit(RLIMIT_FSIZE, &usual) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK(full == Status::FileError);
    CHECK(!std::filesystem::exists(path + ".part"));
    CHECK(floats_of(opened(path), "optimizer.step") == Floats{1.0f});  // the previous file is intact
#endif
  });
}

TEST_CASE("optimizers: mistakes", "[train]") {
  const std::vector<int64_t> shape = {2, 3};
  Optimizer optimizer;
  CHECK(optimizer.add("w", shape) == Status::Ok);
  CHECK(optimizer.add("w", shape) == Status::InvalidArgument);
  CHECK(optimizer.add("v", std::vector<int64_t>{2, 0}) == Status::InvalidArgument);
  CHECK(optimizer.add("v", shape, Optimizer::kMostGroups) == Status::InvalidArgument);
  CHECK(optimizer.add("", shape) == Status::InvalidArgument);

  const auto status_of = [&](const std::function<void(Graph&)>& build) {
    Graph g;
    build(g);
    return g.status();
  };
  const auto step = [&](Graph& g, Tensor gradient) {
    const Tensor settings = optimizer.settings(g);
    static_cast<void>(optimizer.step(g, std::span(&gradient, 1), settings));
  };
  CHECK(status_of([&](Graph& g) {
          static_cast<void>(g.weight("w", {2, 3}));
          step(g, g.input("g", {2, 3}));
        }) == Status::Ok);
  CHECK(status_of([&](Graph& g) { static_cast<void>(optimizer.weights(g)); }) == Status::MissingWeight);
  CHECK(status_of([&](Graph& g) {
          static_cast<void>(g.weight("w", {3, 2}));
          optimizer.keep(g);
        }) == Status::ShapeMismatch);
  CHECK(status_of([&](Graph& g) { step(g, g.input("g", {3, 2})); }) == Status::ShapeMismatch);
  CHECK(status_of([&](Graph& g) { static_cast<void>(optimizer.step(g, {}, optimizer.settings(g))); }) ==
        Status::InvalidArgument);
  // A step changes the weights.
  CHECK(status_of([&](Graph& g) {
          const Tensor w = g.weight("w", {2, 3});
          step(g, g.input("g", {2, 3}));
          g.output("y", g.scale(w, 2.0f));
        }) == Status::InvalidArgument);

  StepWords words;
  const auto numbers = [&](const std::function<void(StepNumbers*)>& change) {
    StepNumbers one;
    change(&one);
    return step_words(UpdateRule::AdamW, one, &words);
  };
  CHECK(numbers([](StepNumbers*) {}) == Status::Ok);
  CHECK(numbers([](StepNumbers* n) { n->rate = -1.0f; }) == Status::InvalidArgument);
  CHECK(numbers([](StepNumbers* n) { n->beta1 = 1.0f; }) == Status::InvalidArgument);
  CHECK(numbers([](StepNumbers* n) { n->beta2 = 0.0f; }) == Status::InvalidArgument);
  CHECK(numbers([](StepNumbers* n) { n->eps = std::numeric_limits<float>::quiet_NaN(); }) == Status::InvalidArgument);
  CHECK(numbers([](StepNumbers* n) { n->runs = 0; }) == Status::InvalidArgument);
  CHECK(numbers([](StepNumbers* n) { n->loss_scale = 0.0f; }) == Status::InvalidArgument);
  CHECK(step_words(UpdateRule::Sgd, {.beta1 = 0.0f, .beta2 = 0.0f}, &words) == Status::Ok);
  CHECK(step_words(UpdateRule::Sgd, {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("optimizers: the scale of the loss falls at once and grows slowly", "[train]") {
  LossScale scale{.scale = 8.0f, .least = 1.0f, .most = 16.0f, .grow_after = 2};
  const auto after = [&](float taken) {
    scale.update({.taken = taken});
    return scale.scale;
  };
  CHECK(after(-1.0f) == 4.0f);
  CHECK(after(1.0f) == 4.0f);
  CHECK(after(0.0f) == 4.0f);
  CHECK(after(1.0f) == 8.0f);
  CHECK(after(1.0f) == 8.0f);
  CHECK(after(-1.0f) == 4.0f);
  for (int i = 0; i < 8; ++i) after(1.0f);
  CHECK(scale.scale == 16.0f);
  for (int i = 0; i < 8; ++i) after(-1.0f);
  CHECK(scale.scale == 1.0f);
  scale.good = scale.grow_after = INT64_MAX;
  CHECK(after(1.0f) == 2.0f);
  CHECK(scale.good == 0);
}

}  // namespace heed::train
