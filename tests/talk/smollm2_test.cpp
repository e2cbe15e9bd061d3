// What SmolLM2 says in conversations, where its file is there.
#include <nlohmann/json.hpp>

#include "talk/support.hpp"

namespace heed::test {
namespace {

// $HEED_SMOLLM2, else where samples/talk/fetch_model.sh puts the file. Empty, after a warning in the report, if it is not there;
// with HEED_REQUIRE_MODEL=1 that is a failure.
std::string speaker_file() {
  const char* named = std::getenv("HEED_SMOLLM2");
  const std::string file = named != nullptr && *named != 0 ? named
                                                           : HEED_SOURCE_DIR
                               "/.cache/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf";
  std::error_code error;
  if (std::filesystem::exists(file, error)) return file;
  const char* required = std::getenv("HEED_REQUIRE_MODEL");
  if (required != nullptr && *required == '1') FAIL("SmolLM2 is not in " << file);
  WARN("SKIPPED: SmolLM2 is not in " << file << "; samples/talk/fetch_model.sh gets it");
  return {};
}

}  // namespace

TEST_CASE("conversations with SmolLM2 say what its weights say in double", "[language_model][talk]") {
  const std::string path = speaker_file();
  if (path.empty()) return;
  std::ifstream file(HEED_SOURCE_DIR "/tests/models/smollm2-greedy.json");
  const auto prompts = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(prompts.is_array());
  REQUIRE(prompts.size() == 8);
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const bool is_cpu = on.word == "cpu";
    Device device = on.device;
    TextGenerator model;
    REQUIRE(TextGenerator::open(device, path, {.context = 128, .read = 16, .log = stderr_log()}, &model) == Status::Ok);
    TextConversation conversation = begun(model, greedy(24));
    for (size_t i = 0; i < (is_cpu ? prompts.size() : 1); ++i) {
      const auto& one = prompts[i];
      const std::string text = one["text"];
      INFO(text);
      conversation.reset();
      REQUIRE(conversation.prompt(text) == Status::Ok);
      CHECK(std::ranges::equal(conversation.ids(), one["ids"].get<std::vector<int32_t>>()));
      const Told told = tell(conversation);
      CHECK(told.tokens == one["greedy"].get<std::vector<int32_t>>());
    }
    // The third prompt is a conversation, which the file's own template writes.
    TextConversationOptions options = greedy(24);
    options.system = "You are Bram, a grumpy blacksmith in a fantasy village. Answer in one sentence.";
    conversation = begun(model, options);
    REQUIRE(conversation.say("Where can I buy a sword?") == Status::Ok);
    CHECK(std::ranges::equal(conversation.ids(), prompts[2]["ids"].get<std::vector<int32_t>>()));
    if (!is_cpu) continue;
    const Told told = tell(conversation);
    CHECK(told.tokens == prompts[2]["greedy"].get<std::vector<int32_t>>());
    CHECK(told.end == TextEnd::EndOfTurn);
    CHECK(conversation.answer() ==
          "In a village called Elyria, where the land is filled with the beauty of magic and the brave.");
  }
}

}  // namespace heed::test
