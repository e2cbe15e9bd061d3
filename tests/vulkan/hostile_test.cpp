// Absurd programs and damaged blobs on Vulkan devices. Plans create no pipelines, so that driver compilers take no time.

#include "base/fnv.hpp"
#include "graph/schedule/backend.hpp"
#include "graph/schedule/self_test_blob.hpp"
#include "harness/devices.hpp"
#include "hostile/program.hpp"
#include "kernels/choose/tuning_choice.hpp"
#include "vulkan/pipelines/cache_blob.hpp"

namespace heed::test {
namespace {

// Changes, removes or inserts some bytes. Half of the time it corrects the checksum at the end.
std::vector<std::byte> mutated(Random& r, std::vector<std::byte> blob, bool sealed) {
  for (int64_t edits = 1 + r.below(4); edits > 0 && !blob.empty(); --edits) {
    const auto at = blob.begin() + r.below(static_cast<int64_t>(blob.size()));
    switch (r.below(4)) {
      case 0: blob.resize(static_cast<size_t>(at - blob.begin())); break;
      case 1: blob.insert(at, static_cast<size_t>(r.below(9)), static_cast<std::byte>(r.next())); break;
      default: *at = static_cast<std::byte>(r.pick({0, 1, 255, r.below(256)}));
    }
  }
  if (!sealed || blob.size() < sizeof(uint64_t) || r.coin()) return blob;
  const uint64_t checksum = fnv1a(std::span(blob).first(blob.size() - sizeof(uint64_t)));
  std::memcpy(blob.data() + blob.size() - sizeof checksum, &checksum, sizeof checksum);
  return blob;
}

Tuning sound_tuning() {
  return {{{"matmul_f32 64x64", 0xff}, {"attention_f32 128x32", UINT64_MAX}, {"matmul_f32_matrix 16x16", 1}}};
}

}  // namespace

TEST_CASE("hostile: changed blobs of hosts are refused with a reason, or read", "[hostile]") {
  constexpr uint64_t kKey = 7;
  const std::vector<std::byte> tuned = write_tuning(kKey, sound_tuning());
  const KernelTest kernels[] = {{"matmul_f32", SelfTestVerdict::Passed, 1, 0, ""},
                                {"softmax_f32", SelfTestVerdict::Wrong, 0, 9, "far off"}};
  const std::vector<std::byte> tested = write_self_test(kKey, kernels);
  const VkPhysicalDeviceProperties properties = {};
  VkPipelineCacheHeaderVersionOne driver = {sizeof driver, VK_PIPELINE_CACHE_HEADER_VERSION_ONE, 0, 0, {}};
  const std::vector<std::byte> cached = vulkan::wrap_cache_blob(std::as_bytes(std::span(&driver, 1)));
  const char* reason = nullptr;
  REQUIRE_FALSE(vulkan::open_cache_blob(cached, properties, &reason).empty());
  hostile_cases("blobs", 3000, [&](Random& r) {
    Tuning tuning;
    std::string why;
    std::vector<std::string> failed;
    const std::vector<std::byte> t = mutated(r, tuned, true), s = mutated(r, tested, true),
                                 c = mutated(r, cached, false);
    if (read_tuning(t, kKey, &tuning, &why) != Status::Ok) CHECK((!why.empty() && tuning.choices.empty()));
    if (!read_self_test(s, kKey, &failed).empty()) CHECK(failed.empty());
    if (vulkan::open_cache_blob(c, properties, &reason).empty()) CHECK(*reason != '\0');
  });
}

TEST_CASE("hostile: programs and tunings on Vulkan devices", "[hostile][vulkan][drivers]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    Device device = test.device;
    if (device.info().kind == DeviceKind::Cpu) continue;
    INFO(test.word);
    const uint64_t key = device.impl()->self_test_key();
    int64_t compiled = 0;
    const int64_t cases = hostile_cases("programs on " + test.word, 60, [&](Random& r) {
      const Program program = random_program(r);
      (void)use_tuning(device, mutated(r, write_tuning(key, sound_tuning()), true));
      Weights weights;
      (void)upload_weights(r, device, program.graph, &weights);
      (void)ops::take_messages();
      Plan plan;
      const CompileOptions options = {
          .training = r.coin(), .memory_limit = 64u << 20, .pipelines = PipelineCreation::Deferred};
      const Status status = device.compile(program.graph, weights, &plan, options);
      if (status == Status::Ok) ++compiled, (void)plan.passes();
      CHECK(ops::take_messages().size() == (status == Status::Ok ? 0 : 1));
    });
    (void)use_tuning(device, write_tuning(key, {}));
    tell_sound(compiled, cases);
  }
}

}  // namespace heed::test
