// SmolLM2 in conversations, if its file is present.
#include <nlohmann/json.hpp>

#include "harness/source_path.hpp"
#include "talk/support.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

nlohmann::json eight_prompts() {
  std::ifstream file(source_path("tests/models/smollm2-greedy.json"));
  nlohmann::json prompts = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(prompts.is_array());
  REQUIRE(prompts.size() == 8);
  return prompts;
}

}  // namespace

TEST_CASE("conversations with SmolLM2 say what its weights say in double", "[language_model][talk]") {
  const std::string path = smollm2_file();
  if (path.empty()) return;
  const nlohmann::json prompts = eight_prompts();
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
    // The third prompt is a conversation, rendered by the file's own template.
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

TEST_CASE("eight conversations with SmolLM2 at once say what its weights say in double", "[language_model][talk]") {
  const std::string path = smollm2_file();
  if (path.empty()) return;
  const nlohmann::json prompts = eight_prompts();
  Device cpu = open_cpu();
  TextGenerator model;
  REQUIRE(TextGenerator::open(cpu, path, {.context = 128, .together = 8, .log = stderr_log()}, &model) == Status::Ok);
  std::vector<TextConversation> all;
  for (const auto& one : prompts) {
    all.push_back(begun(model, greedy(24)));
    REQUIRE(all.back().prompt(one["text"].get<std::string>()) == Status::Ok);
  }
  std::vector<Told> told(all.size());
  TextPiece piece;
  while (std::ranges::any_of(all, [](const TextConversation& one) { return one.answering(); }))
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].answering()) continue;
      REQUIRE(all[i].step(&piece) == Status::Ok);
      add(piece, &told[i]);
    }
  for (size_t i = 0; i < all.size(); ++i) CHECK(told[i].tokens == prompts[i]["greedy"].get<std::vector<int32_t>>());
}

// The program that made smollm2-greedy.json computed the mean with numpy in double, from the dequantized weights.
TEST_CASE("SmolLM2 takes a text to be as likely as in double", "[language_model][talk]") {
  const std::string path = smollm2_file();
  if (path.empty()) return;
  constexpr double kMean = 3.4836332607191975;  // a perplexity of 32.5779
  std::ifstream file(source_path("tests/talk/story.txt"), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.word != "cpu") continue;
    Device device = on.device;
    for (const bool round_rows : {false, true}) {
      TextGenerator model;
      const TextGeneratorOptions options = {.context = 256, .round_rows = round_rows, .log = stderr_log()};
      REQUIRE(TextGenerator::open(device, path, options, &model) == Status::Ok);
      std::vector<int32_t> ids;
      REQUIRE(model.tokenizer().encode(text.str(), {}, &ids) == Status::Ok);
      double mean = 0;
      size_t count = 0;
      REQUIRE(model.loss(ids, &mean, &count) == Status::Ok);
      CHECK(count == 194);
      CHECK(std::fabs(mean - kMean) < (round_rows ? 0.02 : 1e-5));
    }
  }
}

}  // namespace heed::test
