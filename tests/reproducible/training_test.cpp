// Training that gives the same weights on every device.
#include "base/fingerprint.hpp"
#include "cpu/support.hpp"
#include "harness/devices.hpp"
#include "harness/environment.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "train/writer.hpp"

namespace heed::train_tests {
namespace {

constexpr uint64_t kAfterTwoSteps = 0x4944e907a9643f22u;  // on every device

// Weights, moments and losses after so many steps of the model of samples/learn. Its losses are `curve`.
uint64_t trained(Plan& plan, const Writer& writer, int64_t steps, std::span<const float> curve) {
  State state = writer.begin(plan);
  Fingerprint fingerprint;
  for (int64_t step = 0; step < steps; ++step) {
    const Writer::Loss now = writer.step(plan, state, step);
    REQUIRE(now.report.taken == 1.0f);
    const float want = curve[static_cast<size_t>(step)];
    CHECK(std::abs(now.loss - want) < 1e-5f * want);
    fingerprint.add(std::as_bytes(std::span(&now.loss, 1)));
    fingerprint.add(std::as_bytes(std::span(&now.report, 1)));
  }
  std::vector<std::byte> weights;
  REQUIRE(state.save(&weights) == Status::Ok);
  fingerprint.add(weights);
  return fingerprint.value();
}

}  // namespace

// HEED_ALL_STEPS=1: all 200.
TEST_CASE("reproducible: training gives the same weights on every device", "[reproducible][train]") {
  const int64_t steps = test::number_from("HEED_ALL_STEPS", 0) != 0 ? Writer::kSteps : 2;
  const SafeTensors file = test::opened<SafeTensors>(test::source_path("tests/train/curve.safetensors"), stderr_log());
  std::vector<float> curve;
  REQUIRE(file.find("losses") != nullptr);
  REQUIRE(read_f32(*file.find("losses"), {}, &curve) == Status::Ok);
  std::optional<uint64_t> want;
  const auto compare = [&](Device device, const std::string& word) {
    INFO(word);
    Writer writer;
    const Graph g = writer.learns();
    Plan plan;
    const Status status = device.compile(g, {}, &plan, {.training = true, .reproducible = true});
    INFO(ops::take_checked_messages());
    if (status == Status::Unsupported && device.info().kind != DeviceKind::Cpu) return;
    REQUIRE(status == Status::Ok);
    const uint64_t bits = trained(plan, writer, steps, curve);
    if (!want) want = bits;
    CHECK(bits == *want);
  };
  for (const uint32_t threads : {1u, 3u})
    cpu_test::on_every_set([&](Device device, const char* set) { compare(device, set); }, threads);
  for (const ops::TestDevice& on : ops::test_devices())
    if (on.device.info().kind != DeviceKind::Cpu && !on.interpreted) compare(on.device, on.word);
  if (steps == 2) CHECK(*want == kAfterTwoSteps);
}

}  // namespace heed::train_tests
