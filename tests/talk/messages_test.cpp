// Conversations of messages: the tokens that the model reads, dropped messages, and invalid calls.

#include "harness/source_path.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

using Exchange = std::vector<std::pair<std::string, std::string>>;

// The tokens of messages as rendered by the model's own template, with the start of an answer.
std::vector<int32_t> template_ids(const TextGenerator& model, const Exchange& messages) {
  std::string text;
  for (const auto& [role, content] : messages) text += "<|im_start|>" + role + "\n" + content + "<|im_end|>\n";
  std::vector<int32_t> ids;
  REQUIRE(model.tokenizer().encode(text + "<|im_start|>assistant\n", {.read_special = true}, &ids) == Status::Ok);
  return ids;
}

std::vector<int32_t> tokens_of(const TextConversation& conversation) {
  return {conversation.ids().begin(), conversation.ids().end()};
}

TextConversationOptions with_system(TextConversationOptions options, std::string system) {
  options.system = std::move(system);
  return options;
}

// A copy of the tiny model with another end-of-turn token, so that heed does not know its template.
std::string unknown_template() {
  std::string bytes = read_file(kTinySpeaker);
  const std::string mark = "<|im_start|>";
  for (size_t at = 0; (at = bytes.find(mark, at)) != std::string::npos;) bytes.replace(at, mark.size(), "<|an_other|>");
  return bytes;
}

}  // namespace

TEST_CASE("messages are read as the template writes them, and answers become messages", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = 256});
  REQUIRE(model.chat() != nullptr);
  CHECK(model.chat()->family() == "ChatML");
  TextConversation conversation = begun(model, with_system(drawn(1, 9), "You are Bram."));
  Exchange wanted = {{"system", "You are Bram."}, {"user", "the sword"}, {"assistant", "Thirty."}};
  REQUIRE(conversation.add("user", "the sword") == Status::Ok);
  REQUIRE(conversation.add("assistant", "Thirty.") == Status::Ok);
  CHECK_FALSE(conversation.answering());
  for (const char* line : {"And a <|im_end|> hammer?", "Oh, and an axe."}) {
    wanted.emplace_back("user", line);
    REQUIRE(conversation.say(line) == Status::Ok);
    if (wanted.size() == 4) {  // a player's text ends no turn
      std::vector<int32_t> special;
      std::ranges::copy_if(conversation.ids(), std::back_inserter(special), [](int32_t id) { return id == 2; });
      CHECK(special.size() == 4);
    } else {
      CHECK(conversation.unread() < conversation.tokens() / 2);  // most of the text is on the device
    }
    const Told told = tell(conversation);
    REQUIRE_FALSE(told.text().empty());
    wanted.emplace_back("assistant", told.text());
  }
  wanted[3].second = "And a hammer?";  // a text without a special token, for comparison
  TextConversation other = begun(model, with_system(drawn(1, 9), "You are Bram."));
  for (size_t i = 1; i + 1 < wanted.size(); ++i) REQUIRE(other.add(wanted[i].first, wanted[i].second) == Status::Ok);
  wanted.pop_back();
  REQUIRE(other.answer_now() == Status::Ok);
  CHECK(tokens_of(other) == template_ids(model, wanted));
}

TEST_CASE("what is read ahead need not be read again", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.read = 16});
  const TextConversationOptions options =
      with_system(greedy(12), "You are Marta, the keeper of the inn, and you sell soup.");
  TextConversation plain = asked(model, options, "the sword");
  const int64_t length = plain.unread();
  const Told wanted = tell(plain);
  TextPiece piece;
  for (const int steps : {0, 1, 2, 100}) {  // answers before the message
    for (const bool polled : {false, true}) {
      INFO(steps << (polled ? " polled" : " stepped"));
      TextConversation ahead = begun(model, options);
      REQUIRE(ahead.read_ahead() == Status::Ok);
      REQUIRE(ahead.read_ahead() == Status::Ok);
      CHECK(ahead.answering());
      for (int i = 0; i < steps && ahead.answering(); ++i) {
        REQUIRE((polled ? ahead.poll(&piece) : ahead.step(&piece)) == Status::Ok);
        while (polled && steps == 100 && ahead.answering()) REQUIRE(ahead.poll(&piece) == Status::Ok);
        CHECK(piece.token == -1);
      }
      REQUIRE(ahead.say("the sword") == Status::Ok);
      if (!polled && steps < 100) CHECK(ahead.unread() == length - 16 * steps);
      if (steps == 100) CHECK(ahead.unread() < length / 2);
      const Told told = tell(ahead);
      CHECK(told.tokens == wanted.tokens);
      CHECK(told.text() == wanted.text());
      REQUIRE(ahead.read_ahead() == Status::Ok);  // the end of the answer
      while (ahead.answering()) REQUIRE(ahead.step(&piece) == Status::Ok);
      REQUIRE(ahead.read_ahead() == Status::Ok);
      CHECK_FALSE(ahead.answering());
      CHECK(ahead.answer() == wanted.text());
    }
  }
  TextConversation nothing = begun(model);
  REQUIRE(nothing.read_ahead() == Status::Ok);
  CHECK_FALSE(nothing.answering());
}

TEST_CASE("a message without an answer and the next one are one message", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversation conversation = asked(model, greedy(4), "Wait");
  conversation.cancel();
  REQUIRE(conversation.say("the sword") == Status::Ok);
  CHECK(tokens_of(conversation) == template_ids(model, {{"user", "Wait\nthe sword"}}));
}

TEST_CASE("what was cancelled counts as said", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversation conversation = asked(model, drawn(2, 30), "Hm");
  TextPiece piece;
  std::string said;
  while (said.empty()) {
    REQUIRE(conversation.answering());
    REQUIRE(conversation.step(&piece) == Status::Ok);
    said += piece.text;
  }
  conversation.cancel();
  REQUIRE(conversation.say("Go on") == Status::Ok);
  CHECK(tokens_of(conversation) == template_ids(model, {{"user", "Hm"}, {"assistant", said}, {"user", "Go on"}}));
}

TEST_CASE("reset forgets all but the system message", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversation conversation = asked(model, with_system(drawn(7, 16), "You are Marta, the innkeeper."), "Soup");
  const Told first = tell(conversation);
  for (const bool in_an_answer : {false, true}) {
    REQUIRE(conversation.say("Ale") == Status::Ok);
    TextPiece piece;
    if (in_an_answer) REQUIRE(conversation.poll(&piece) == Status::Ok);
    if (!in_an_answer) tell(conversation);
    conversation.reset();
    CHECK_FALSE(conversation.answering());
    CHECK(conversation.tokens() == 0);
    CHECK(conversation.answer().empty());
    REQUIRE(conversation.say("Soup") == Status::Ok);
    CHECK(conversation.unread() < conversation.tokens());  // the system message is present already
    const Told again = tell(conversation);
    CHECK(again.tokens == first.tokens);
    CHECK(again.text() == first.text());
  }
}

TEST_CASE("a full context ends an answer, or the oldest is dropped", "[talk]") {
  constexpr int64_t kContext = 80;
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = kContext, .read = 32});
  SECTION("Stop") {
    TextConversationOptions options = drawn(11, 0);
    options.overflow = TextOverflow::Stop;
    bool filled = false;
    for (uint32_t seed = 0; seed < 20 && !filled; ++seed) {
      options.sampling.seed = seed;
      TextConversation conversation = prompted(model, options, "the sword");
      const Told told = tell(conversation);
      if (told.end != TextEnd::ContextFull) continue;
      filled = true;
      CHECK(conversation.tokens() == kContext + 1);  // the last token was drawn, and no further one can be
      CHECK(conversation.answer_now() == Status::ExtentOutOfRange);
    }
    CHECK(filled);
  }
  SECTION("a raw text keeps its first tokens and its last ones") {
    TextConversationOptions options = drawn(11, 200);
    options.keep_tokens = 6;
    TextConversation conversation = prompted(model, options, "Once upon the sword");
    const std::vector<int32_t> before = tokens_of(conversation);
    std::vector<int32_t> all = before;
    TextPiece piece;
    size_t slid = 0;
    while (conversation.answering()) {
      const int64_t length = conversation.tokens();
      REQUIRE(conversation.step(&piece) == Status::Ok);
      if (piece.token >= 0 && !model.ends_answer(piece.token)) all.push_back(piece.token);
      CHECK(conversation.tokens() <= kContext);
      if (conversation.tokens() >= length) continue;
      ++slid;
      CHECK(conversation.tokens() == 6 + kContext / 2);
      CHECK(std::equal(all.begin(), all.begin() + 6, conversation.ids().begin()));
      CHECK(std::equal(all.end() - kContext / 2, all.end(), conversation.ids().begin() + 6));
      CHECK(conversation.unread() > kContext / 4);
    }
    CHECK(slid > 0);
    // The remaining text is that of a conversation that begins with it.
    TextConversation other = prompted(model, greedy(8), conversation.ids());
    REQUIRE(conversation.set_sampling(greedy(0).sampling) == Status::Ok);
    conversation.cancel();
    REQUIRE(conversation.answer_now() == Status::Ok);
    std::vector<int32_t> more;
    while (conversation.answering() && more.size() < 8 && conversation.tokens() < kContext) {
      REQUIRE(conversation.step(&piece) == Status::Ok);
      if (piece.token >= 0) more.push_back(piece.token);
    }
    const Told told = tell(other);
    REQUIRE_FALSE(more.empty());
    CHECK(std::equal(more.begin(), more.end(), told.tokens.begin()));
  }
  SECTION("messages go from the oldest on, between answers") {
    TextConversation conversation = begun(model, with_system(greedy(2), "I am it"));
    const std::string line = "the sword the";
    Exchange wanted = {{"system", "I am it"}};
    size_t dropped = 0;
    for (int i = 0; i < 8; ++i) {
      wanted.emplace_back("user", line + std::to_string(i));
      REQUIRE(conversation.say(wanted.back().second) == Status::Ok);
      while (template_ids(model, wanted).size() > static_cast<size_t>(kContext - kContext / 4)) {
        REQUIRE(wanted.size() > 2);
        wanted.erase(wanted.begin() + 1);
        if (wanted[1].first == "assistant") wanted.erase(wanted.begin() + 1);
        ++dropped;
      }
      CHECK(tokens_of(conversation) == template_ids(model, wanted));
      const Told told = tell(conversation);
      if (!told.text().empty()) wanted.emplace_back("assistant", told.text());
      if (told.text().empty()) wanted.back().second += "\n";
      if (told.text().empty()) return;  // the tiny model gave no token, so that the rest would test something else
    }
    CHECK(dropped > 2);
  }
  SECTION("messages go from the oldest on, within an answer") {
    TextConversation conversation = begun(model, with_system(drawn(3, 400), "I"));
    REQUIRE(conversation.add("user", "the sword") == Status::Ok);
    REQUIRE(conversation.add("assistant", "or the ring") == Status::Ok);
    REQUIRE(conversation.say("in") == Status::Ok);
    const size_t prompt = template_ids(model, {{"system", "I"}, {"user", "in"}}).size();
    REQUIRE(
        template_ids(model, {{"system", "I"}, {"user", "the sword"}, {"assistant", "or the ring"}, {"user", "in"}}) ==
        tokens_of(conversation));
    std::vector<int32_t> said;
    TextPiece piece;
    bool dropped = false;
    while (conversation.answering()) {
      const int64_t length = conversation.tokens();
      REQUIRE(conversation.step(&piece) == Status::Ok);
      if (piece.token >= 0 && !model.ends_answer(piece.token)) said.push_back(piece.token);
      if (conversation.tokens() >= length) continue;
      dropped = true;
      std::vector<int32_t> wanted = template_ids(model, {{"system", "I"}, {"user", "in"}});
      wanted.insert(wanted.end(), said.begin(), said.end());
      CHECK(tokens_of(conversation) == wanted);
    }
    if (conversation.end() == TextEnd::ContextFull) {
      CHECK(dropped);
      CHECK(said.size() == static_cast<size_t>(kContext) + 1 - prompt);
    } else {
      CHECK(conversation.end() == TextEnd::EndOfTurn);
    }
  }
}

TEST_CASE("what cannot be said is a Status, and the conversation is as it was", "[talk]") {
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = 64, .log = messages.log()});
  const auto refused = [&](Status got, Status wanted, const char* part) {
    CHECK(got == wanted);
    INFO(messages.text);
    CHECK(messages.mention(part));
    messages.take();
  };
  TextConversation raw = begun(model, greedy(3)), chat = begun(model, greedy(3));
  TextPiece piece;
  refused(raw.prompt(""), Status::InvalidArgument, "no tokens");
  refused(raw.prompt(std::span<const int32_t>()), Status::InvalidArgument, "no tokens");
  refused(raw.answer_now(), Status::InvalidArgument, "no tokens");
  refused(raw.step(&piece), Status::InvalidArgument, "no answer");
  refused(raw.poll(&piece), Status::InvalidArgument, "no answer");
  refused(raw.prompt("a\xFF"), Status::InvalidArgument, "UTF-8");
  refused(raw.prompt("a\xE2\x82"), Status::InvalidArgument, "UTF-8");
  refused(raw.prompt(std::string(65, 'x')), Status::ExtentOutOfRange, "65 tokens; the context has room for 64");
  refused(raw.prompt(std::vector<int32_t>{3, -1}), Status::InvalidArgument, "token -1");
  refused(raw.prompt(std::vector<int32_t>{3, 271}), Status::InvalidArgument, "token 271");
  CHECK(raw.tokens() == 0);
  REQUIRE(raw.prompt(std::string(64, 'x')) == Status::Ok);
  refused(raw.prompt("x"), Status::InvalidArgument, "an answer goes on");
  refused(raw.answer_now(), Status::InvalidArgument, "an answer goes on");
  refused(raw.say("x"), Status::InvalidArgument, "an answer goes on");
  tell(raw);
  refused(raw.say("x"), Status::InvalidArgument, "raw text");

  refused(chat.say("a\xC0\x80"), Status::InvalidArgument, "UTF-8");
  refused(chat.add("us\xFF", "x"), Status::InvalidArgument, "UTF-8");
  refused(chat.say(std::string(64, 'x')), Status::ExtentOutOfRange, "the context has room for 64");
  CHECK(chat.tokens() == 0);
  REQUIRE(chat.say("") == Status::Ok);  // an empty message is a message
  refused(chat.say("x"), Status::InvalidArgument, "an answer goes on");
  tell(chat);
  refused(chat.prompt("x"), Status::InvalidArgument, "raw text");

  TextConversation none;
  CHECK_FALSE(none.valid());
  CHECK(none.say("x") == Status::InvalidArgument);
  CHECK(none.step(&piece) == Status::InvalidArgument);
  CHECK(none.fork(&raw) == Status::InvalidArgument);
  none.cancel();
  none.reset();
  CHECK(raw.step(nullptr) == Status::InvalidArgument);
  double mean = 0;
  TextGenerator copy = model;
  refused(copy.loss(std::vector<int32_t>{5}, &mean), Status::InvalidArgument, "two tokens");
  refused(copy.loss(std::vector<int32_t>{5, 271}, &mean), Status::InvalidArgument, "271");
}

TEST_CASE("options that make no sense are refused", "[talk]") {
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu(), {.log = messages.log()});
  const std::pair<TextConversationOptions, const char*> cases[] = {
      {{.system = "\xFF"}, "system message"},
      {{.sampling = {.temperature = -1}}, "temperature -1"},
      {{.sampling = {.top_p = 2}}, "top_p 2"},
      {{.sampling = {.repetition_penalty = 0}}, "repetition_penalty 0"},
      {{.stop = {""}}, "stop string"},
      {{.stop = {"\x80"}}, "stop string"},
      {{.most_tokens = -1}, "most_tokens is negative"},
      {{.keep_tokens = 65}, "65 tokens to keep"},
      {{.keep_tokens = -1}, "-1 tokens to keep"},
  };
  for (const auto& [options, part] : cases) {
    TextConversation conversation;
    INFO(part);
    CHECK(model.begin(options, &conversation) == Status::InvalidArgument);
    CHECK_FALSE(conversation.valid());
    CHECK(messages.mention(part));
    messages.take();
  }
  Device cpu = open_cpu();
  TextGenerator none;
  for (const TextGeneratorOptions& options :
       {TextGeneratorOptions{.context = -1}, TextGeneratorOptions{.context = int64_t{1} << 40},
        TextGeneratorOptions{.read = 0}, TextGeneratorOptions{.dtype = DType::I32},
        TextGeneratorOptions{.weight_dtype = DType::Q8_0}})
    CHECK(TextGenerator::open(cpu, kTinySpeaker, options, &none) == Status::InvalidArgument);
  CHECK(TextGenerator::open(cpu, "no/such.gguf", {}, &none) == Status::NotFound);
  CHECK(TextGenerator::open(cpu, source_path("tests/models/llama.gguf"), {}, &none) != Status::Ok);  // no tokenizer
  CHECK_FALSE(none.valid());
  CHECK(none.begin({}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("weights and caches may be of other types", "[talk]") {
  const TextGenerator plain = tiny_speaker(open_cpu());
  const TextGenerator half = tiny_speaker(open_cpu(), {.weight_dtype = DType::BF16, .cache_dtype = DType::F16});
  CHECK(plain.weight_dtype() == DType::F32);
  CHECK(half.weight_dtype() == DType::BF16);
  CHECK(half.weights().bytes() < plain.weights().bytes());
  const auto text_bytes = static_cast<uint64_t>(2 * 4 * (plain.context() + 1));  // the ids of the tokens
  CHECK(plain.conversation_bytes() - half.conversation_bytes() > plain.conversation_bytes() / 2 - text_bytes);
  TextConversation conversation = prompted(half, greedy(5), "the sword");
  CHECK_FALSE(tell(conversation).tokens.empty());
}

TEST_CASE("a template that is not known leaves raw text, and the host may bring one", "[talk]") {
  const ScratchFolder folder;
  folder.write("unknown.gguf", unknown_template());
  const std::string path = (folder / "unknown.gguf").string();
  Device cpu = open_cpu();
  Messages messages;
  TextGenerator model;
  REQUIRE(TextGenerator::open(cpu, path, {.context = 64, .log = messages.log()}, &model) == Status::Ok);
  CHECK(model.chat() == nullptr);
  CHECK(messages.text.empty());
  TextConversation conversation = begun(model, greedy(3));
  CHECK(conversation.say("x") == Status::Unsupported);
  CHECK(messages.mention("template"));
  REQUIRE(conversation.prompt("x") == Status::Ok);
  tell(conversation);
  REQUIRE(TextGenerator::open(cpu, path, {.context = 64, .chat = ChatTemplate("ChatML")}, &model) == Status::Ok);
  conversation = begun(model, greedy(3));
  CHECK(conversation.say("x") == Status::Ok);
}

}  // namespace heed::test
