// Conversations whose steps share runs give the same text as alone.
#include <numeric>
#include <random>
#include <thread>

#include "talk/support.hpp"

namespace heed::test {
namespace {

constexpr const char* kSaying = "The dragon sleeps in the north, they say.";

std::string prompt_of(size_t i) { return std::string(kSaying).substr(0, 12 + 5 * (i % 6)) + std::string(i % 4, '!'); }

// Polls these in turn, as a game does in each frame, until all answers have ended. Returns the number of frames with new text. A busy
// machine, whose steps take several frames, at most doubles that.
size_t poll_some(const std::vector<size_t>& some, std::vector<TextConversation>& all, std::vector<Told>* told) {
  TextPiece piece;
  size_t heard = 0;
  for (size_t frames = 0;; ++frames) {
    bool goes_on = false, hears = false;
    for (const size_t i : some) {
      if (!all[i].answering()) continue;
      REQUIRE(all[i].poll(&piece) == Status::Ok);
      const size_t before = (*told)[i].tokens.size();
      add(piece, &(*told)[i]);
      hears = hears || (*told)[i].tokens.size() > before;
      goes_on = true;
    }
    heard += hears;
    if (!goes_on) return heard;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the step ends before the next frame begins
    REQUIRE(frames < 100'000);
  }
}
size_t poll_all(std::vector<TextConversation>& all, std::vector<Told>* told) {
  std::vector<size_t> each(all.size());
  std::iota(each.begin(), each.end(), size_t{0});
  return poll_some(each, all, told);
}

}  // namespace

TEST_CASE("conversations that share runs say what they say alone, stepped or polled", "[talk]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    INFO(on.word);
    constexpr size_t kCount = 6;  // four of them share a State, and two another
    const auto options_of = [](size_t i) {
      TextConversationOptions options = i % 3 == 0 ? greedy(14) : drawn(static_cast<uint32_t>(i), 14);
      options.sampling.repetition_penalty = i % 2 == 0 ? 1.0f : 1.3f;
      return options;
    };
    const TextGenerator one = tiny_speaker(on.device, {.read = 16});
    const TextGenerator model = tiny_speaker(on.device, {.read = 16, .together = 4});
    std::vector<Told> alone;
    for (size_t i = 0; i < kCount; ++i) {
      TextConversation conversation = prompted(one, options_of(i), prompt_of(i));
      alone.push_back(tell(conversation));
    }
    for (const bool polled : {false, true}) {
      INFO((polled ? "polled" : "stepped"));
      std::vector<TextConversation> all;
      for (size_t i = 0; i < kCount; ++i) {
        all.push_back(begun(model, options_of(i)));
        REQUIRE(all[i].prompt(prompt_of(i)) == Status::Ok);
        CHECK(all[i].row() == static_cast<int64_t>(i % 4));
        CHECK(all[i].state().bytes() >= 4 * model.conversation_bytes());
      }
      std::vector<Told> told(kCount);
      if (polled) {
        poll_all(all, &told);
      } else {
        TextPiece piece;
        for (bool goes_on = true; goes_on;) {
          goes_on = false;
          for (size_t i = 0; i < kCount; ++i) {
            if (!all[i].answering()) continue;
            REQUIRE(all[i].step(&piece) == Status::Ok);
            REQUIRE(piece.done);
            add(piece, &told[i]);
            goes_on = true;
          }
        }
      }
      for (size_t i = 0; i < kCount; ++i) {
        INFO("conversation " << i);
        CHECK(told[i] == alone[i]);
      }
    }
    CHECK(ops::take_checked_messages() == "");
  }
}

TEST_CASE("a frame's polls share one run, and one that nobody polls any more keeps none from going on", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.together = 8});
  constexpr size_t kCount = 8;
  constexpr int64_t kTokens = 30;
  std::vector<TextConversation> all;
  std::vector<Told> told(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    TextConversationOptions options = drawn(3, kTokens);  // all give the same text
    all.push_back(begun(model, options));
    REQUIRE(all[i].prompt(kSaying) == Status::Ok);
  }
  const size_t frames = poll_all(all, &told);
  for (size_t i = 1; i < kCount; ++i) CHECK(told[i] == told[0]);
  const size_t tokens = told[0].tokens.size();
  REQUIRE(tokens > 10);
  // Each reads its prompt in its own run, and then all steps share runs. One after the other they would take kCount * tokens frames.
  CHECK(frames < 3 * (kCount + tokens));

  for (TextConversation& one : all) {
    one.reset();
    REQUIRE(one.prompt(kSaying) == Status::Ok);
  }
  TextPiece piece;
  for (size_t frame = 0; frame < 20; ++frame) {
    for (TextConversation& one : all)
      if (one.answering()) REQUIRE(one.poll(&piece) == Status::Ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // Drops three of the conversations.
  std::vector<Told> rest(kCount);
  CHECK(poll_some({1, 2, 4, 6, 7}, all, &rest) < 3 * tokens);
  CHECK(all[6].answer() == told[6].text());
}

TEST_CASE("conversations in several States get their steps in turn", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.together = 2});
  constexpr size_t kCount = 5;
  std::vector<TextConversation> all;
  for (size_t i = 0; i < kCount; ++i) {
    all.push_back(begun(model, drawn(3, 24)));
    REQUIRE(all[i].prompt(kSaying) == Status::Ok);
  }
  check_turns(all);
}

namespace {

// A conversation among others, and one of another generator that does the same alone.
struct Pair {
  TextConversation main, alone;
};

class Interleaving {
 public:
  Interleaving(const TextGenerator& together, const TextGenerator& one, uint32_t seed)
      : together_(together), one_(one), random_(seed) {}

  void run(int calls) {
    for (int i = 0; i < calls; ++i) {
      if (pairs_.empty() || (pairs_.size() < 9 && below(24) == 0)) begin();
      const size_t which = below(pairs_.size());
      INFO("call " << i << ", conversation " << which);
      call(which);
      for (const Pair& pair : pairs_) {
        REQUIRE(pair.main.answering() == pair.alone.answering());
        REQUIRE(std::ranges::equal(pair.main.ids(), pair.alone.ids()));
        REQUIRE(pair.main.answer() == pair.alone.answer());
        REQUIRE(pair.main.end() == pair.alone.end());
      }
    }
    while (!pairs_.empty()) {
      for (Pair& pair : pairs_)
        while (pair.main.answering()) advance(pair, below(3) == 0);
      pairs_.pop_back();
    }
  }
  size_t tokens = 0, polls_without = 0;

 private:
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  void begin() {
    TextConversationOptions options = below(3) == 0 ? greedy(0) : drawn(static_cast<uint32_t>(below(100)), 0);
    options.most_tokens = static_cast<int64_t>(4 + below(60));  // some are longer than the context
    options.sampling.repetition_penalty = below(2) == 0 ? 1.0f : 1.2f;
    if (below(4) == 0) options.overflow = TextOverflow::Stop;
    Pair pair = {begun(together_, options), begun(one_, options)};
    pairs_.push_back(std::move(pair));
    say(pairs_.back());
  }

  void say(Pair& pair) {
    const std::string text = prompt_of(below(30));
    const Status status = pair.main.prompt(text);
    CHECK(pair.alone.prompt(text) == status);
    if (status != Status::Ok) {  // the context is full
      pair.main.reset();
      pair.alone.reset();
    }
  }

  // Runs both up to the same token. Their numbers of steps may differ: a step that was cancelled on one side only leaves fewer steps to
  // reuse.
  void advance(Pair& pair, bool polled) {
    TextPiece piece, same;
    REQUIRE((polled ? pair.main.poll(&piece) : pair.main.step(&piece)) == Status::Ok);
    polls_without += piece.done ? 0 : 1;
    if (piece.token < 0) return;
    while (same.token < 0) REQUIRE(pair.alone.step(&same) == Status::Ok);
    REQUIRE(piece.token == same.token);
    REQUIRE(piece.text == same.text);
    REQUIRE(piece.end == same.end);
    ++tokens;
  }

  void call(size_t which) {
    Pair& pair = pairs_[which];
    if (!pair.main.answering()) {
      const size_t what = below(8);
      if (what == 0) {
        const TextSampling sampling = drawn(static_cast<uint32_t>(below(100)), 0).sampling;
        REQUIRE(pair.main.set_sampling(sampling) == Status::Ok);
        REQUIRE(pair.alone.set_sampling(sampling) == Status::Ok);
      } else if (what == 1) {
        pair.main.reset();
        pair.alone.reset();
      } else if (what < 5 && pair.main.tokens() > 0) {
        const Status status = pair.main.answer_now();
        CHECK(pair.alone.answer_now() == status);
      } else {
        say(pair);
      }
      return;
    }
    switch (below(40)) {
      case 0:
        pair.main.cancel();
        pair.alone.cancel();
        return;
      case 1: pairs_.erase(pairs_.begin() + static_cast<long>(which)); return;
      case 2: {
        if (pairs_.size() > 9) return;
        Pair twin;
        REQUIRE(pair.main.fork(&twin.main) == Status::Ok);
        REQUIRE(pair.alone.fork(&twin.alone) == Status::Ok);
        pairs_.push_back(std::move(twin));
        return;
      }
      default: advance(pair, below(4) != 0);
    }
  }

  TextGenerator together_, one_;
  std::mt19937 random_;
  std::vector<Pair> pairs_;
};

}  // namespace

TEST_CASE("conversations in company do as they do alone, whatever is called in whatever order", "[talk][slow]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted) continue;
    Messages messages;
    const bool is_cpu = on.word.starts_with("cpu");
    for (uint32_t seed = 0; seed < (is_cpu ? 12 : 2); ++seed) {
      INFO(on.word << ", seed " << seed);
      const int64_t room = seed % 3 == 0 ? 8 : static_cast<int64_t>(2 + seed % 3);
      const TextGenerator model =
          tiny_speaker(on.device, {.context = 48, .read = 11, .together = room, .log = messages.log()});
      const TextGenerator one = tiny_speaker(on.device, {.context = 48, .read = 11, .log = messages.log()});
      Interleaving calls(model, one, seed);
      calls.run(is_cpu ? 900 : 250);
      CHECK(calls.tokens > 60);
      CHECK(calls.polls_without > 20);
      CHECK(ops::take_checked_messages() == "");
    }
  }
}

TEST_CASE("what a row held before is not heard by the conversation that has it next", "[talk]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.together = 3});
  TextConversationOptions options = drawn(7, 20);
  options.sampling.repetition_penalty = 1.5f;
  std::optional<Told> first;
  TextConversation neighbour = begun(model, greedy(20));
  for (int i = 0; i < 3; ++i) {
    TextConversation conversation = begun(model, options);
    CHECK(conversation.row() == 1);
    REQUIRE(conversation.prompt(kSaying) == Status::Ok);
    const Told told = tell(conversation);
    if (!first) first = told;
    CHECK(told == *first);
    REQUIRE(conversation.prompt(std::string(40, '?')) == Status::Ok);  // leaves another text in the row
    tell(conversation);
  }
  CHECK(neighbour.row() == 0);
}

TEST_CASE("options of conversations together that make no sense are refused", "[talk]") {
  Messages messages;
  Device cpu = open_cpu();
  TextGenerator none;
  for (const int64_t together : {int64_t{0}, int64_t{-1}, int64_t{65}, int64_t{1} << 40}) {
    CHECK(TextGenerator::open(cpu, kTinySpeaker, {.together = together, .log = messages.log()}, &none) ==
          Status::InvalidArgument);
    CHECK(messages.mention("conversations together"));
    messages.take();
  }
  CHECK_FALSE(none.valid());
}

}  // namespace heed::test
