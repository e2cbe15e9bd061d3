// 200 steps of a small model, compared with PyTorch's, which make_curve.py computed in double. A second training, and one from a
// checkpoint, give the same bits. Devices are compared with each other.
#include <cstring>
#include <filesystem>

#include "harness/devices.hpp"
#include "harness/environment.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "train/writer.hpp"

namespace heed::train_tests {
namespace {

std::vector<float> curve_of(const SafeTensors& file, const char* name) {
  std::vector<float> values;
  REQUIRE(file.find(name) != nullptr);
  REQUIRE(read_f32(*file.find(name), {}, &values) == Status::Ok);
  return values;
}

double relative(float got, float want) {
  return std::abs(static_cast<double>(got) - static_cast<double>(want)) / std::abs(static_cast<double>(want));
}

// The CPU runs all steps, and other devices do with HEED_ALL_STEPS=1. Otherwise they run enough to find gross errors.
int64_t steps_on(const ops::TestDevice& on) {
  return on.word == "cpu" || test::number_from("HEED_ALL_STEPS", 0) != 0 ? Writer::kSteps : 20;
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("curve: 200 steps of AdamW are PyTorch's, and the same bits again and from a checkpoint on",
          "[train][curve]") {
  const SafeTensors file = test::opened<SafeTensors>(test::source_path("tests/train/curve.safetensors"), stderr_log());
  const std::vector<float> losses = curve_of(file, "losses"), norms = curve_of(file, "norms"),
                           out = curve_of(file, "out");
  REQUIRE(losses.size() == static_cast<size_t>(Writer::kSteps));
  const test::ScratchFolder folder;
  const std::filesystem::path checkpoint = folder / "curve.safetensors";
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Writer writer;
    Device device = test.device;
    Plan plan = test::compiled(device, writer.learns(), {}, {.training = true});
    State state = writer.begin(plan);
    const int64_t steps = steps_on(test), kept = steps * 3 / 4;
    double apart = 0.0, norms_apart = 0.0;
    std::vector<float> mine;
    for (int64_t step = 0; step < steps; ++step) {
      if (step == kept) REQUIRE(writer.optimizer.save(state, checkpoint.string()) == Status::Ok);
      const Writer::Loss now = writer.step(plan, state, step);
      const auto i = static_cast<size_t>(step);
      REQUIRE(now.report.taken == 1.0f);
      REQUIRE(now.report.steps == static_cast<float>(step + 1));
      mine.push_back(now.loss);
      apart = std::max(apart, relative(now.loss, losses[i]));
      norms_apart = std::max(norms_apart, relative(now.report.norm, norms[i]));
    }
    INFO("after " << steps << " steps, from PyTorch: losses " << apart << ", norms " << norms_apart);
    CHECK(apart < 1e-5);
    CHECK(norms_apart < 5e-5);
    if (steps == Writer::kSteps) {
      std::vector<float> trained(out.size());
      REQUIRE(writer.optimizer.read(state, "out.weight", trained) == Status::Ok);
      double weights_apart = 0.0;
      for (size_t i = 0; i < out.size(); ++i)
        weights_apart =
            std::max(weights_apart, std::abs(static_cast<double>(trained[i]) - static_cast<double>(out[i])));
      CHECK(weights_apart < 1e-5);  // two devices differ by at most twice that
    }

    State again = writer.begin(plan);
    for (int64_t step = 0; step < steps / 4; ++step)
      REQUIRE(same_bits(writer.step(plan, again, step).loss, mine[static_cast<size_t>(step)]));
    const SafeTensors saved = test::opened<SafeTensors>(checkpoint.string(), stderr_log());
    State resumed = test::state_of(plan);
    REQUIRE(writer.optimizer.load(resumed, saved.host_tensors()) == Status::Ok);
    for (int64_t step = kept; step < steps; ++step)
      REQUIRE(same_bits(writer.step(plan, resumed, step).loss, mine[static_cast<size_t>(step)]));
    std::vector<std::byte> whole, halves;
    REQUIRE(state.save(&whole) == Status::Ok);
    REQUIRE(resumed.save(&halves) == Status::Ok);
    CHECK(whole == halves);
    CHECK(ops::take_checked_messages() == "");
  }
}

// A run that continues while the host draws frames. vulkan/train_frames_test.cpp spreads it over frames.
TEST_CASE("curve: a step that runs beside the host's frames leaves the same bits", "[train][curve]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Writer writer({}, 0.1f);
    Device device = test.device;
    Plan plan = test::compiled(device, writer.learns(), {}, {.training = true});
    State whole = writer.begin(plan), beside = writer.begin(plan);
    for (int64_t step = 0; step < 3; ++step) {
      const Writer::Batch rows = writer.batch(step);
      const auto settings = writer.words(step, true, 1);
      float loss[2] = {};
      train::StepReport report[2];
      const auto buffers = [&](size_t i) {
        return std::vector<HostBuffer>{{"ids", rows.ids},
                                       {"next", rows.next},
                                       {"optimizer.settings", std::as_bytes(std::span(settings))},
                                       {"loss", std::span(&loss[i], 1)},
                                       {"report", std::as_writable_bytes(std::span(&report[i], 1))}};
      };
      const auto seed = static_cast<uint32_t>(step);
      REQUIRE(plan.run(buffers(0), {}, {.seed = seed, .state = whole}) == Status::Ok);
      StartedRun started;
      REQUIRE(plan.start(buffers(1), {}, {.seed = seed, .state = beside}, &started) == Status::Ok);
      std::vector<float> weight(32);
      CHECK(writer.optimizer.read(beside, "norm.weight", weight) == Status::InvalidArgument);  // the State is in use
      static_cast<void>(ops::take_messages());
      REQUIRE(started.wait() == Status::Ok);
      CHECK(same_bits(loss[0], loss[1]));
      CHECK(same_bits(report[0].norm, report[1].norm));
    }
    std::vector<std::byte> a, b;
    REQUIRE(whole.save(&a) == Status::Ok);
    REQUIRE(beside.save(&b) == Status::Ok);
    CHECK(a == b);
  }
}

}  // namespace heed::train_tests
