// Conversations of reproducible plans: the same tokens on every device, also drawn at random.
#include "talk/support.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

// The tokens that a model says on this device; none if the device cannot promise them.
std::vector<int32_t> said_on(const ops::TestDevice& on, const std::string& path, int64_t tokens) {
  Device device = on.device;
  TextGenerator model;
  const Status status = TextGenerator::open(device, path, {.context = 128, .read = 16, .reproducible = true}, &model);
  ops::take_checked_messages();
  if (status == Status::Unsupported && device.info().kind != DeviceKind::Cpu) return {};
  REQUIRE(status == Status::Ok);
  TextConversation conversation = begun(model, drawn(11, tokens));
  REQUIRE(conversation.prompt("The dragon sleeps in the north, they say.") == Status::Ok);
  const Told told = tell(conversation);
  CHECK(told.tokens.size() > 2);
  return told.tokens;
}

void compare(const std::string& path, int64_t tokens) {
  std::vector<int32_t> first;
  for (const ops::TestDevice& on : ops::test_devices()) {
    INFO(on.word);
    if (on.interpreted) continue;
    const std::vector<int32_t> said = said_on(on, path, tokens);
    if (said.empty()) continue;
    if (first.empty()) first = said;
    CHECK(said == first);
  }
}

}  // namespace

TEST_CASE("reproducible: a model says the same on every device", "[reproducible]") { compare(kTinySpeaker, 24); }

TEST_CASE("reproducible: SmolLM2 says the same 64 tokens on every device", "[language_model][reproducible]") {
  const std::string path = smollm2_file();
  if (!path.empty()) compare(path, 64);
}

}  // namespace heed::test
