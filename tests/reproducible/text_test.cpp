// Conversations of reproducible plans: the same tokens on every device, also with random sampling.
#include <algorithm>

#include "harness/environment.hpp"
#include "talk/support.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

// The tokens that a model generates on this device; none if the device does not support reproducible plans.
std::vector<int32_t> said_on(Device device, const std::string& path, int64_t tokens, DType cache) {
  TextGenerator model;
  const TextGeneratorOptions options = {.context = 128, .read = 16, .cache_dtype = cache, .reproducible = true};
  const Status status = TextGenerator::open(device, path, options, &model);
  ops::take_checked_messages();
  if (status == Status::Unsupported && device.info().kind != DeviceKind::Cpu) return {};
  REQUIRE(status == Status::Ok);
  TextConversation conversation = prompted(model, drawn(11, tokens), "The dragon sleeps in the north, they say.");
  const Told told = tell(conversation);
  CHECK(told.tokens.size() > 2);
  return told.tokens;
}

// Compares with the CPU device, which generates `tokens`; other devices generate the first `elsewhere` of them. `cache`: type of keys and
// values.
void compare(const std::string& path, int64_t tokens, int64_t elsewhere, DType cache = DType::F32) {
  const std::vector<int32_t> want = said_on(open_cpu(), path, tokens, cache);
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    if (on.interpreted) continue;
    const bool cpu = on.device.info().kind == DeviceKind::Cpu;
    const std::vector<int32_t> said = said_on(on.device, path, cpu ? tokens : elsewhere, cache);
    if (said.empty()) continue;
    REQUIRE(said.size() == std::min(want.size(), static_cast<size_t>(cpu ? tokens : elsewhere)));
    CHECK(std::equal(said.begin(), said.end(), want.begin()));
  }
}

}  // namespace

TEST_CASE("reproducible: a model says the same on every device", "[reproducible]") { compare(kTinySpeaker, 24, 24); }

TEST_CASE("reproducible: a model whose keys and values have 16 bits says the same on every device", "[reproducible]") {
  for (const DType cache : {DType::F16, DType::BF16}) compare(kTinySpeaker, 24, 24, cache);
}

// HEED_ALL_STEPS=1: 64 on every device, which takes a software driver minutes.
TEST_CASE("reproducible: SmolLM2 says the same 64 tokens on every device", "[language_model][reproducible]") {
  const std::string path = smollm2_file();
  if (!path.empty()) compare(path, 64, number_from("HEED_ALL_STEPS", 0) != 0 ? 64 : 6);
}

}  // namespace heed::test
