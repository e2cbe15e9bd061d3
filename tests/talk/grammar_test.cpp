// Answers under a grammar can be parsed, whatever the model generates.
#include <heed/grammar.hpp>

#include <nlohmann/json.hpp>

#include "talk/support.hpp"

namespace heed::test {
namespace {

constexpr const char* kNpcSchema = R"({"type": "object", "properties": {
    "mood": {"enum": ["calm", "grumpy"]},
    "text": {"type": "string", "minLength": 1, "maxLength": 8},
    "gold": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
    "required": ["mood", "text", "gold"]})";

TextConversationOptions under(const std::string& grammar, TextConversationOptions options) {
  options.grammar = grammar;
  return options;
}

std::string npc_grammar() {
  std::string grammar;
  REQUIRE(grammar_of_json_schema(kNpcSchema, stderr_log(), &grammar) == Status::Ok);
  return grammar;
}

void check_npc(const std::string& text) {
  INFO(text);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  REQUIRE(json.is_object());
  REQUIRE(json.size() == 3);
  CHECK((json["mood"] == "calm" || json["mood"] == "grumpy"));
  CHECK_FALSE(json["text"].get<std::string>().empty());
  CHECK(json["gold"].size() <= 2);
}

}  // namespace

TEST_CASE("what a model that speaks nonsense says under a grammar can be parsed", "[talk][grammar]") {
  const std::string grammar = npc_grammar();
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const bool is_cpu = on.word == "cpu";
    const TextGenerator model = tiny_speaker(on.device, {.context = 256, .read = 16});
    std::set<std::string> all;
    for (uint32_t seed = 0; seed < (is_cpu ? 24 : 3); ++seed) {
      INFO("seed " << seed);
      TextConversation conversation = asked(model, under(grammar, drawn(seed, 0)), "Where can I buy a sword?");
      const Told told = tell(conversation);
      CHECK(told.end == TextEnd::Complete);  // nothing follows the last brace
      check_npc(told.text());
      all.insert(told.text());
      // The next answer starts the grammar again, and a greedy one follows it, too.
      REQUIRE(conversation.set_sampling(drawn(seed + 100, 0).sampling) == Status::Ok);
      REQUIRE(conversation.say("And?") == Status::Ok);
      check_npc(tell(conversation).text());
    }
    CHECK(all.size() > (is_cpu ? 20u : 2u));
  }
}

TEST_CASE("stepped, polled and among conversations without a grammar, an answer is the same", "[talk][grammar]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const TextGenerator model = tiny_speaker(on.device, {.context = 256, .read = 16});
    TextConversation free = prompted(model, drawn(5, 20), "the sword");
    const Told free_told = tell(free);

    const TextConversationOptions options = under(npc_grammar(), drawn(4, 0));
    TextConversation alone = asked(model, options, "the sword");
    const Told wanted = tell(alone);

    TextConversation polled = asked(model, options, "the sword"), again = prompted(model, drawn(5, 20), "the sword");
    Told told, again_told;
    TextPiece piece;
    while (polled.answering() || again.answering()) {
      if (polled.answering()) {
        REQUIRE(polled.poll(&piece) == Status::Ok);
        add(piece, &told);
      }
      if (again.answering()) {
        REQUIRE(again.poll(&piece) == Status::Ok);
        add(piece, &again_told);
      }
    }
    CHECK(told == wanted);
    CHECK(again_told == free_told);
  }
}

TEST_CASE("a grammar of any characters keeps bytes away that belong to none", "[talk][grammar]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  size_t same = 0;
  for (uint32_t seed = 0; seed < 12; ++seed) {
    TextConversationOptions options = drawn(seed, 24);
    TextConversation free = prompted(model, under("", options), "the sword"),
                     bound = prompted(model, under("root ::= .*", options), "the sword");
    const Told a = tell(free), b = tell(bound);
    // Only most_tokens may cut the last character.
    const size_t broken = b.text().find("\xEF\xBF\xBD");
    CHECK((broken == std::string::npos || (broken + 3 == b.text().size() && b.end == TextEnd::MostTokens)));
    const size_t first = std::min(a.tokens.size(), b.tokens.size());
    same += first > 0 && a.tokens[0] == b.tokens[0] ? 1 : 0;
  }
  CHECK(same > 3);
}

TEST_CASE("a fork, a cancelled answer and a reset are each where they should be in the grammar", "[talk][grammar]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = 256});
  const TextConversationOptions options = under(npc_grammar(), drawn(7, 0));
  TextConversation alone = asked(model, options, "the sword");
  const Told wanted = tell(alone);
  REQUIRE(wanted.tokens.size() > 12);
  for (const bool polled : {false, true}) {
    TextConversation origin = begun(model, options), twin, stranger;
    REQUIRE(origin.say("the sword") == Status::Ok);
    TextPiece piece;
    Told told;
    while (told.tokens.size() < 10) {
      REQUIRE((polled ? origin.poll(&piece) : origin.step(&piece)) == Status::Ok);
      add(piece, &told);
    }
    REQUIRE(origin.fork(&twin) == Status::Ok);
    REQUIRE(origin.fork(&stranger) == Status::Ok);
    REQUIRE(stranger.set_sampling(drawn(1, 0).sampling) == Status::Ok);
    while (origin.answering()) REQUIRE(origin.step(&piece) == Status::Ok);
    while (twin.answering()) REQUIRE(twin.step(&piece) == Status::Ok);
    while (stranger.answering()) REQUIRE(stranger.step(&piece) == Status::Ok);
    CHECK(origin.answer() == wanted.text());
    CHECK(twin.answer() == wanted.text());
    check_npc(stranger.answer());
    // After an answer is cancelled in the middle, the next one begins at the root again.
    REQUIRE(twin.say("and?") == Status::Ok);
    for (int i = 0; i < 6; ++i) REQUIRE((polled ? twin.poll(&piece) : twin.step(&piece)) == Status::Ok);
    twin.cancel();
    REQUIRE(twin.say("well?") == Status::Ok);
    check_npc(tell(twin).text());
    twin.reset();
    REQUIRE(twin.say("the sword") == Status::Ok);
    CHECK(tell(twin).tokens == wanted.tokens);
  }
}

TEST_CASE("an answer under a grammar goes on where the oldest text is dropped", "[talk][grammar]") {
  constexpr int64_t kContext = 64;
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = kContext, .read = 16});
  TextConversation conversation = prompted(model, under("root ::= \"<\" [a-z]{300} \">\"", drawn(3, 0)), "the sword");
  const Told told = tell(conversation);
  CHECK(told.tokens.size() > static_cast<size_t>(kContext));
  CHECK(told.end == TextEnd::Complete);
  REQUIRE(told.text().size() == 302);
  CHECK(told.text().find_first_not_of("abcdefghijklmnopqrstuvwxyz", 1) == 301);
}

TEST_CASE("how an answer under a grammar ends", "[talk][grammar]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  const auto ended = [&](const std::string& grammar, const TextConversationOptions& options) {
    TextConversation conversation = prompted(model, under(grammar, options), "the sword");
    return tell(conversation);
  };
  CHECK(ended("root ::= \"aye\"", drawn(1, 0)).end == TextEnd::Complete);
  CHECK(ended("root ::= \"aye\"", drawn(1, 0)).text() == "aye");
  const Told nothing = ended("root ::= \"\"", drawn(1, 0));
  CHECK(nothing.end == TextEnd::EndOfTurn);
  CHECK(nothing.text().empty());
  CHECK(ended("root ::= \"a\"{50}", drawn(1, 10)).end == TextEnd::MostTokens);
  TextConversationOptions options = drawn(1, 0);
  options.stop = {"ab"};
  const Told stopped = ended("root ::= \"a\" \"b\" \"c\"", options);
  CHECK(stopped.end == TextEnd::StopString);
  CHECK(stopped.text().empty());
  std::set<TextEnd> ends;
  for (uint32_t seed = 0; seed < 40; ++seed) ends.insert(ended("root ::= [ab]+", drawn(seed, 30)).end);
  CHECK(ends.contains(TextEnd::EndOfTurn));  // chosen by the model where the grammar allows it
  for (const TextEnd end : {TextEnd::Complete, TextEnd::NoToken}) CHECK(std::string(to_string(end)).size() > 6);
}

TEST_CASE("a grammar that is none is refused when a conversation begins", "[talk][grammar]") {
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu(), {.log = messages.log()});
  for (const auto& [grammar, part] :
       {std::pair("root ::= x", "line 1, column 10"), std::pair("root ::= root", "never ends"),
        std::pair("\xFF", "UTF-8"), std::pair("x", "a rule is expected")}) {
    TextConversation conversation;
    CHECK(model.begin(under(grammar, {}), &conversation) == Status::InvalidArgument);
    CHECK_FALSE(conversation.valid());
    INFO(messages.text);
    CHECK(messages.mention(part));
    messages.take();
  }
}

}  // namespace heed::test
