// Answers: which tokens are sampled, how they become text, and what ends them.
#include <thread>

#include "base/utf8.hpp"
#include "models/support.hpp"
#include "talk/support.hpp"
#include "text/generator/generator_shared.hpp"
#include "text/generator/stop_strings.hpp"

namespace heed::test {
namespace {

constexpr const char* kPrompt = "The dragon sleeps in the north, they say.";

std::vector<int32_t> prompt_ids(const TextGenerator& model) {
  std::vector<int32_t> ids;
  REQUIRE(model.tokenizer().encode(kPrompt, {}, &ids) == Status::Ok);
  return ids;
}

// The likeliest token; rows of the table after the vocabulary do not count.
int32_t likeliest(const TextGenerator& model, std::span<const float> logits) {
  REQUIRE(logits.size() > model.tokenizer().size());
  const auto tokens = logits.first(model.tokenizer().size());
  return static_cast<int32_t>(std::ranges::max_element(tokens) - tokens.begin());
}

// Checks that pieces are whole characters, and together the tokenizer's text, except that invalid bytes become U+FFFD.
void check_pieces(const TextGenerator& model, const Told& told) {
  BpeStream stream(model.tokenizer(), {.begins_text = false});
  std::string text;
  for (const std::string& piece : told.pieces) CHECK(is_utf8(piece));
  for (const int32_t id : told.tokens)
    if (!model.ends_answer(id)) REQUIRE(stream.add(id, &text) == Status::Ok);
  stream.finish(&text);
  CHECK(told.text() == text);
}

}  // namespace

TEST_CASE("an answer's tokens are those of a plain loop over the decoder", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted) continue;
    INFO(on.word);
    const DecoderModel plain = opened_model(kTinySpeaker);
    const TextGenerator model = tiny_speaker(on.device, {.read = 7});  // the prompt needs several runs
    const std::vector<int32_t> ids = prompt_ids(model);
    REQUIRE(ids.size() > 14);
    std::vector<int32_t> wanted;
    ModelSpeaker speaker(on.device, plain, 128, 7);
    speaker.read(ids);
    while (wanted.size() < 40) {
      const int32_t next = wanted.emplace_back(likeliest(model, speaker.logits));
      if (model.ends_answer(next)) break;
      speaker.read({&next, 1});
    }
    TextConversation conversation = prompted(model, greedy(40), kPrompt);
    const Told told = tell(conversation);
    CHECK(told.tokens == wanted);
    CHECK(told.end == (wanted.size() == 40 ? TextEnd::MostTokens : TextEnd::EndOfTurn));
    CHECK(told.read == static_cast<int64_t>(ids.size() + wanted.size()) - 1);
    check_pieces(model, told);
  }
}

TEST_CASE("draws depend on the seed alone, and pieces are whole characters", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  std::set<std::vector<int32_t>> all;
  std::set<TextEnd> ends;
  size_t incomplete = 0;
  for (uint32_t seed = 0; seed < 24; ++seed) {
    INFO("seed " << seed);
    TextConversation conversation = prompted(model, drawn(seed, 60), kPrompt);
    const Told told = tell(conversation);
    check_pieces(model, told);
    for (size_t i = 0; i + 1 < told.pieces.size(); ++i) incomplete += told.pieces[i].empty() ? 1 : 0;
    all.insert(told.tokens);
    ends.insert(told.end);
    if (told.end == TextEnd::EndOfTurn) CHECK(model.ends_answer(told.tokens.back()));

    TextConversation again = prompted(model, drawn(seed, 60), kPrompt);
    CHECK(tell(again) == told);
  }
  CHECK(all.size() > 20);
  CHECK(incomplete > 20);  // else the model would not reach the tested case
  CHECK(ends == std::set{TextEnd::EndOfTurn, TextEnd::MostTokens});
}

TEST_CASE("a repetition penalty and other settings reach the draws", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversationOptions options = greedy(40);
  TextConversation plain = begun(model, options);
  options.sampling.repetition_penalty = 4;
  TextConversation penalized = begun(model, options);
  REQUIRE(plain.prompt(kPrompt) == Status::Ok);
  REQUIRE(penalized.prompt(kPrompt) == Status::Ok);
  const Told a = tell(plain), b = tell(penalized);
  CHECK(a.tokens != b.tokens);
  const auto different = [](const Told& told) { return std::set(told.tokens.begin(), told.tokens.end()).size(); };
  CHECK(different(b) > different(a));

  // The same from the logits of the plain decoder. Control tokens do not count.
  const DecoderModel decoder = opened_model(kTinySpeaker);
  ModelSpeaker speaker(open_cpu(), decoder, 128, 128);
  std::vector<int32_t> ids;
  REQUIRE(model.tokenizer().encode("<|im_end|>the sword<|im_end|>", {.read_special = true}, &ids) == Status::Ok);
  TextConversation marked = prompted(model, options, ids);
  const Told told = tell(marked);
  std::set<int32_t> before(ids.begin(), ids.end());
  before.erase(2);
  speaker.read(ids);
  for (const int32_t token : told.tokens) {
    std::vector<float>& logits = speaker.logits;
    for (const int32_t id : before) {
      float& logit = logits[static_cast<size_t>(id)];
      logit = logit > 0 ? logit / 4 : logit * 4;
    }
    REQUIRE(token == likeliest(model, logits));
    before.insert(token);
    speaker.read({&token, 1});
  }
}

TEST_CASE("settings of the draws may change within a conversation", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversation one = begun(model, drawn(5, 30)), two = begun(model, drawn(6, 30));
  REQUIRE(two.set_sampling(drawn(5, 30).sampling) == Status::Ok);
  REQUIRE(one.prompt(kPrompt) == Status::Ok);
  REQUIRE(two.prompt(kPrompt) == Status::Ok);
  CHECK(tell(one) == tell(two));
}

TEST_CASE("strings that end an answer are found across pieces, and what may become one is held back", "[talk]") {
  struct Case {
    std::vector<std::string> strings, pieces, given;
    bool found;
  };
  const Case cases[] = {
      {{"END"}, {"one", " EN", "D two"}, {"one", " ", ""}, true},
      {{"END"}, {"one", " EN", "TRY"}, {"one", " ", "ENTRY"}, false},
      {{"END"}, {"EEN", "D"}, {"E", ""}, true},
      {{"aab"}, {"a", "a", "a", "b"}, {"", "", "a", ""}, true},
      {{"\n\n", "You:"}, {"Hm\nY", "ou", ": no"}, {"Hm\n", "", ""}, true},
      {{"er", "later"}, {"sooner, later"}, {"soon"}, true},
      {{"er", "later"}, {"later"}, {""}, true},
      {{"bc", "abcd"}, {"abcd"}, {""}, true},
      {{"ä"}, {"x\xC3", "\xA4"}, {"x", ""}, true},
      {{}, {"any", "thing"}, {"any", "thing"}, false},
  };
  for (const Case& c : cases) {
    StopStrings stops(c.strings);
    std::vector<std::string> given;
    bool found = false;
    for (const std::string& piece : c.pieces) {
      found = stops.add(piece, &given.emplace_back());
      if (found) break;
    }
    INFO(c.pieces[0]);
    CHECK(given == c.given);
    CHECK(found == c.found);
  }
  StopStrings stops({"END"});
  std::string given;
  CHECK_FALSE(stops.add("the EN", &given));
  stops.finish(&given);
  CHECK(given == "the EN");
}

TEST_CASE("a stop string ends an answer wherever tokens meet", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  size_t tried = 0;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    TextConversation whole = prompted(model, drawn(seed, 50), kPrompt);
    const Told told = tell(whole);
    const std::string text = told.text();
    for (size_t i = 1; i + 1 < told.pieces.size(); i += 7) {
      const std::string stop = told.pieces[i] + told.pieces[i + 1];
      if (told.pieces[i].empty() || told.pieces[i + 1].empty()) continue;
      INFO("seed " << seed << ", '" << stop << "'");
      TextConversationOptions options = drawn(seed, 50);
      options.stop = {"never said", stop};
      TextConversation stopped = prompted(model, options, kPrompt);
      const Told cut = tell(stopped);
      CHECK(cut.text() == text.substr(0, text.find(stop)));
      CHECK(cut.end == TextEnd::StopString);
      for (const std::string& piece : cut.pieces) CHECK(is_utf8(piece));
      ++tried;
    }
  }
  CHECK(tried > 10);
}

TEST_CASE("conversations side by side say what they say alone, stepped or polled", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const TextGenerator model = tiny_speaker(on.device, {.read = 16});
    constexpr uint32_t kCount = 3;
    std::vector<Told> alone;
    for (uint32_t i = 0; i < kCount; ++i) {
      TextConversation one = prompted(model, drawn(i, 12), std::string(kPrompt) + std::string(3 * i, '!'));
      alone.push_back(tell(one));
    }
    for (const bool polled : {false, true}) {
      INFO((polled ? "polled" : "stepped"));
      std::vector<TextConversation> all;
      for (uint32_t i = 0; i < kCount; ++i) {
        all.push_back(begun(model, drawn(i, 12)));
        REQUIRE(all[i].prompt(std::string(kPrompt) + std::string(3 * i, '!')) == Status::Ok);
      }
      std::vector<Told> told(kCount);
      size_t calls = 0;
      for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < kCount; ++i) {
          if (!all[i].answering()) continue;
          TextPiece piece;
          REQUIRE((polled ? all[i].poll(&piece) : all[i].step(&piece)) == Status::Ok);
          add(piece, &told[i]);
          goes_on = true;
        }
        REQUIRE(++calls < 100'000'000);
      }
      CHECK(told == alone);
    }
  }
}

TEST_CASE("conversations that are polled in turn get their steps in turn", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  constexpr size_t kCount = 5;
  std::vector<TextConversation> all;
  for (size_t i = 0; i < kCount; ++i) {
    all.push_back(begun(model, drawn(3, 24)));  // all give the same tokens
    REQUIRE(all[i].prompt(kPrompt) == Status::Ok);
  }
  check_turns(all);
  // An answer that nobody polls does not block others.
  TextPiece piece;
  for (const size_t i : {1, 3}) {
    size_t passes = 0;
    while (all[i].answering()) {
      REQUIRE(all[i].poll(&piece) == Status::Ok);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      REQUIRE(++passes < 10'000);
    }
  }
}

TEST_CASE("polls and steps may be mixed, and a conversation may end while its step goes on", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  TextConversation alone = prompted(model, drawn(1, 20), kPrompt);
  const Told wanted = tell(alone);
  TextConversation mixed = prompted(model, drawn(1, 20), kPrompt), other = prompted(model, drawn(2, 20), kPrompt);
  Told told;
  TextPiece piece;
  for (size_t i = 0; mixed.answering(); ++i) {
    REQUIRE((i % 3 == 0 ? mixed.step(&piece) : mixed.poll(&piece)) == Status::Ok);
    add(piece, &told);
    if (i == 5) REQUIRE(other.poll(&piece) == Status::Ok);
    if (i == 7) other = TextConversation();
  }
  CHECK(told == wanted);
}

TEST_CASE("a fork goes on as its origin would, and either leaves the other alone", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    const TextGenerator model = tiny_speaker(on.device);
    TextConversation alone = prompted(model, drawn(3, 24), kPrompt);
    const Told wanted = tell(alone);
    for (const bool polled : {false, true}) {
      TextConversation origin = begun(model, drawn(3, 24)), twin, stranger;
      REQUIRE(origin.prompt(kPrompt) == Status::Ok);
      Told told;
      TextPiece piece;
      while (told.tokens.size() < 8) {
        REQUIRE((polled ? origin.poll(&piece) : origin.step(&piece)) == Status::Ok);
        add(piece, &told);
      }
      REQUIRE(origin.fork(&twin) == Status::Ok);
      REQUIRE(origin.fork(&stranger) == Status::Ok);
      REQUIRE(stranger.set_sampling(drawn(99, 0).sampling) == Status::Ok);
      Told copy = told, odd = told;
      const auto finish = [&](TextConversation& conversation, Told* to) {
        while (conversation.answering()) {
          REQUIRE(conversation.step(&piece) == Status::Ok);
          add(piece, to);
        }
      };
      finish(stranger, &odd);
      finish(twin, &copy);
      finish(origin, &told);
      CHECK(told == wanted);
      CHECK(copy == wanted);
      CHECK(odd.tokens != wanted.tokens);
    }
  }
}

TEST_CASE("a cancelled answer ends at once, and the text goes on from what was given", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu());
  for (const bool polled : {false, true}) {
    TextConversation conversation = prompted(model, drawn(3, 40), kPrompt);
    Told told;
    TextPiece piece;
    while (told.tokens.size() < 10) {
      REQUIRE((polled ? conversation.poll(&piece) : conversation.step(&piece)) == Status::Ok);
      add(piece, &told);
    }
    conversation.cancel();
    CHECK_FALSE(conversation.answering());
    CHECK(conversation.end() == TextEnd::Cancelled);
    CHECK(conversation.answer() == told.text());
    std::vector<int32_t> wanted = prompt_ids(model);
    wanted.insert(wanted.end(), told.tokens.begin(), told.tokens.end());
    CHECK(std::ranges::equal(conversation.ids(), wanted));
    conversation.cancel();  // nothing is left to end

    // It continues like a conversation that has read the same text, with as many samples drawn.
    TextConversation other = prompted(model, greedy(12), wanted);
    REQUIRE(conversation.set_sampling(greedy(0).sampling) == Status::Ok);
    REQUIRE(conversation.answer_now() == Status::Ok);
    std::vector<int32_t> more;
    while (conversation.answering() && more.size() < 12) {
      REQUIRE(conversation.step(&piece) == Status::Ok);
      if (piece.token >= 0) more.push_back(piece.token);
    }
    CHECK(more == tell(other).tokens);
  }
}

TEST_CASE("the loss is the mean of what the decoder's logits say, in windows where a text is long", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted) continue;
    INFO(on.word);
    constexpr int64_t kContext = 20;
    const DecoderModel plain = opened_model(kTinySpeaker);
    TextGenerator model = tiny_speaker(on.device, {.context = kContext, .read = 6});
    const std::vector<int32_t> all = prompt_ids(model);
    REQUIRE(all.size() > 27);
    ModelSpeaker speaker(on.device, plain, kContext, 1);
    for (const size_t length : {2, 7, 20, 21, 27}) {
      const std::span ids = std::span(all).first(length);
      double sum = 0;
      size_t counted = 1, begin = 0;
      for (;;) {
        speaker.forget();
        const size_t end = std::min<size_t>(begin + kContext, length);
        for (size_t at = begin; at < end; ++at) {
          speaker.read(ids.subspan(at, 1));
          if (at + 1 != counted || counted == length) continue;
          double total = 0;
          for (const float logit : speaker.logits) total += std::exp(static_cast<double>(logit));
          sum += std::log(total) - static_cast<double>(speaker.logits[static_cast<size_t>(ids[counted++])]);
        }
        if (end == length) break;
        begin = end - kContext / 2;
      }
      double mean = 0;
      size_t count = 0;
      REQUIRE(model.loss(ids, &mean, &count) == Status::Ok);
      CHECK(count == length - 1);
      CHECK(std::fabs(mean - sum / static_cast<double>(count)) < 1e-4);
    }
  }
}

}  // namespace heed::test
