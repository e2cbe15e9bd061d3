// Loaded conversations give the same tokens as those that were saved, and damaged files are refused.
#include <cstring>

#include "base/fnv.hpp"
#include "base/sealed_blob.hpp"
#include "base/utf8.hpp"
#include "harness/counting.hpp"
#include "hostile/hostile.hpp"
#include "talk/support.hpp"

namespace heed::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* kNorth = "The dragon sleeps in the north, they say.";

Bytes saved(const TextConversation& conversation, bool keys) {
  const TextConversation* const one = &conversation;
  Bytes bytes;
  REQUIRE(TextConversation::save_all({&one, 1}, {.keys = keys}, &bytes) == Status::Ok);
  return bytes;
}

TextConversation loaded(const TextGenerator& model, std::span<const std::byte> bytes) {
  std::vector<TextConversation> all;
  REQUIRE(TextConversation::load_all(model, bytes, &all) == Status::Ok);
  REQUIRE(all.size() == 1);
  return std::move(all[0]);
}

// The further text of a fork and of a loaded conversation.
void check_goes_on(const TextGenerator& model, const TextConversation& conversation, bool keys) {
  TextConversation twin;
  REQUIRE(conversation.fork(&twin) == Status::Ok);
  const Bytes bytes = saved(conversation, keys);
  TextConversation again = loaded(model, bytes);
  CHECK(again.answer() == conversation.answer());
  CHECK(again.answering() == conversation.answering());
  CHECK(again.end() == conversation.end());
  CHECK(std::ranges::equal(again.ids(), conversation.ids()));
  if (keys) {
    CHECK(again.unread() == conversation.unread());
    CHECK(saved(again, true) == bytes);
  }
  for (int answers = 0; answers < 2; ++answers) {
    TextPiece piece;
    Told wanted, told;
    for (const auto& [one, to] : {std::pair(&twin, &wanted), std::pair(&again, &told)})
      while (one->answering()) {
        REQUIRE(one->step(&piece) == Status::Ok);
        add(piece, to);
      }
    CHECK(told.tokens == wanted.tokens);
    CHECK(told.text() == wanted.text());
    CHECK(told.end == wanted.end);
    if (keys) CHECK(told == wanted);
    CHECK(again.answer() == twin.answer());
    if (twin.ids().empty()) return;
    const Status status = twin.answer_now();
    CHECK(again.answer_now() == status);
    if (status != Status::Ok) return;
  }
}

// Runs all steps, and checks after each.
void check_everywhere(const TextGenerator& model, TextConversation& conversation, bool keys) {
  TextPiece piece;
  for (int steps = 0;; ++steps) {
    INFO("after " << steps << " steps");
    check_goes_on(model, conversation, keys);
    if (!conversation.answering()) return;
    REQUIRE(conversation.step(&piece) == Status::Ok);
  }
}

TextGeneratorOptions small(int64_t together, bool reproducible = true) {
  return {.context = 128, .read = 16, .together = together, .reproducible = reproducible};
}

TextConversationOptions penalized(uint32_t seed, int64_t most_tokens) {
  TextConversationOptions options = drawn(seed, most_tokens);
  options.sampling.repetition_penalty = 1.3f;
  return options;
}

}  // namespace

TEST_CASE("a saved conversation goes on as it would have, with and without its keys", "[talk][saved]") {
  // If plans are reproducible, keys and values that are computed again have the same bits.
  for (const int64_t together : {int64_t{1}, int64_t{3}})
    for (const bool keys : {false, true}) {
      INFO(together << " together, keys " << keys);
      const TextGenerator model = tiny_speaker(open_cpu(), small(together, !keys));
      TextConversation raw = prompted(model, penalized(3, 12), kNorth);
      check_everywhere(model, raw, keys);
      TextConversation long_one = prompted(model, penalized(4, 120), kNorth);  // its beginning is dropped
      for (TextPiece piece; long_one.answering() && long_one.tokens() < 122;)
        REQUIRE(long_one.step(&piece) == Status::Ok);
      check_everywhere(model, long_one, keys);

      TextConversationOptions options = penalized(5, 8);
      options.system = "You are Bram.";
      TextConversation smith = begun(model, options);
      check_goes_on(model, smith, keys);
      REQUIRE(smith.read_ahead() == Status::Ok);
      check_everywhere(model, smith, keys);
      REQUIRE(smith.say("the sword") == Status::Ok);
      check_everywhere(model, smith, keys);
      REQUIRE(smith.set_sampling(drawn(9, 0).sampling) == Status::Ok);
      REQUIRE(smith.say("An axe?") == Status::Ok);
      check_everywhere(model, smith, keys);
      smith.reset();
      check_goes_on(model, smith, keys);
    }
}

TEST_CASE("a saved answer keeps what may become a stop string, and its place in a grammar", "[talk][saved]") {
  const TextGenerator model = tiny_speaker(open_cpu(), small(1));
  TextConversation plain = prompted(model, drawn(6, 12), kNorth);
  const std::string said = tell(plain).text();
  REQUIRE(said.size() > 10);
  TextConversationOptions options = drawn(6, 12);
  for (size_t at = 0; at < said.size(); ++at)
    if ((static_cast<uint8_t>(said[at]) & 0xC0) != 0x80)
      options.stop.push_back(said.substr(at, 8) + "never");  // text is held back wherever the stop string begins
  std::erase_if(options.stop, [](const std::string& stop) { return !is_utf8(stop); });
  REQUIRE_FALSE(options.stop.empty());
  TextConversation held = prompted(model, options, kNorth);
  check_everywhere(model, held, false);

  options = drawn(7, 0);
  options.grammar = R"(root ::= "the " ("sword" | "axe" | "hélas"){2,3} [a-d]{4} ".")";
  TextConversation ruled = prompted(model, options, kNorth);
  check_everywhere(model, ruled, false);
  CHECK(ruled.end() == TextEnd::Complete);
}

TEST_CASE("a saved conversation is the same wherever it is loaded", "[talk][saved]") {
  std::vector<TextGenerator> models;
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted) continue;
    TextGeneratorOptions options = small(1);
    options.log = no_log();
    TextGenerator model;
    Device device = on.device;
    const Status status = TextGenerator::open(device, kTinySpeaker, options, &model);
    if (status == Status::Unsupported) continue;
    REQUIRE(status == Status::Ok);
    models.push_back(std::move(model));
  }
  REQUIRE_FALSE(models.empty());
  for (const bool keys : {false, true})
    for (const TextGenerator& from : models) {
      TextConversation conversation = prompted(from, penalized(8, 16), kNorth);
      TextPiece piece;
      while (conversation.answer().size() < 8 && conversation.answering())
        REQUIRE(conversation.step(&piece) == Status::Ok);
      const Bytes bytes = saved(conversation, keys);
      while (conversation.answering()) REQUIRE(conversation.step(&piece) == Status::Ok);
      for (const TextGenerator& to : models) {
        TextConversation again = loaded(to, bytes);
        while (again.answering()) REQUIRE(again.step(&piece) == Status::Ok);
        CHECK(std::ranges::equal(again.ids(), conversation.ids()));
      }
    }
  ops::take_messages();
}

TEST_CASE("each device goes on from its own keys bit for bit", "[talk][saved]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted) continue;
    INFO(on.word);
    for (const int64_t together : {int64_t{1}, int64_t{2}}) {
      const TextGenerator model = tiny_speaker(on.device, small(together, false));
      TextConversation first = prompted(model, penalized(1, 6), kNorth), conversation = begun(model, penalized(2, 6));
      REQUIRE(conversation.prompt(kNorth) == Status::Ok);
      TextPiece piece;
      for (int i = 0; i < 4; ++i) REQUIRE(conversation.step(&piece) == Status::Ok);
      check_goes_on(model, conversation, true);
    }
  }
}

TEST_CASE("a cast is saved while it speaks, in a few KB", "[talk][saved]") {
  const TextGenerator model = tiny_speaker(open_cpu(), {.together = 2});
  std::vector<TextConversation> all;
  std::vector<const TextConversation*> cast;
  for (uint32_t i = 0; i < 5; ++i) {
    TextConversationOptions options = greedy(10);
    options.system = "You are number " + std::to_string(i);
    all.push_back(asked(model, options, kNorth));
  }
  TextPiece piece;
  while (all[4].answering() && all[4].answer().empty()) {
    for (TextConversation& one : all)
      if (one.answering()) REQUIRE(one.poll(&piece) == Status::Ok);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (const TextConversation& one : all) cast.push_back(&one);
  for (const bool keys : {false, true}) {
    Bytes bytes;
    std::vector<TextConversation> again;
    REQUIRE(TextConversation::save_all(cast, {.keys = keys}, &bytes) == Status::Ok);
    CHECK((bytes.size() < all.size() * 4096) == !keys);
    REQUIRE(TextConversation::load_all(model, bytes, &again) == Status::Ok);
    REQUIRE(again.size() == all.size());
    if (!keys) continue;
    for (size_t i = 0; i < all.size(); ++i) {
      while (again[i].answering()) REQUIRE(again[i].step(&piece) == Status::Ok);
      while (all[i].answering()) REQUIRE(all[i].step(&piece) == Status::Ok);
      CHECK(again[i].answer() == all[i].answer());
      CHECK(std::ranges::equal(again[i].ids(), all[i].ids()));
    }
  }
}

TEST_CASE("files of conversations: what is written, and what is refused", "[talk][saved]") {
  const ScratchFolder folder;
  const std::string path = (folder / "smith.talk").string();
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu(), {.context = 64, .log = messages.log()});
  TextConversation smith = asked(model, greedy(6), "the sword"), again = begun(model);
  TextPiece piece;
  for (int i = 0; i < 3; ++i) REQUIRE(smith.step(&piece) == Status::Ok);
  REQUIRE(smith.save(path, {.keys = true}) == Status::Ok);
  REQUIRE(TextConversation::load(model, path, &again) == Status::Ok);
  for (TextConversation* one : {&again, &smith})
    while (one->answering()) REQUIRE(one->step(&piece) == Status::Ok);
  CHECK(again.answer() == smith.answer());
  CHECK(std::ranges::equal(again.ids(), smith.ids()));

  const int64_t kept = again.tokens();
  const auto load = [&] { return TextConversation::load(model, path, &again); };
  const std::string sound = read_file(path);
  for (size_t i = 0; i < sound.size(); i += i < 300 ? 1 : 37) {
    INFO("at byte " << i);
    write_file(path, sound.substr(0, i));
    CHECK(load() == Status::InvalidFile);
    std::string flipped = sound;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    write_file(path, flipped);
    CHECK(load() == Status::InvalidFile);
    CHECK(messages.mention("smith.talk: "));
    messages.take();
  }
  write_file(path, sound + "x");
  CHECK(load() == Status::InvalidFile);
  messages.take();
  messages.refused(TextConversation::load(model, (folder / "no.talk").string(), &again), Status::NotFound, "no.talk");
  messages.refused(smith.save((folder / "no/such.talk").string()), Status::FileError, "such.talk");
  const TextConversation* const two[] = {&smith, &again};
  Bytes bytes;
  REQUIRE(TextConversation::save_all(two, {}, &bytes) == Status::Ok);
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  messages.refused(load(), Status::InvalidArgument, "2 conversations");
  bytes = BlobWriter("heedtalk", 2, 0).seal();
  write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  messages.refused(load(), Status::Unsupported, "another version");

  // Another model, and the same one with a shorter context or other types of keys.
  bytes = saved(smith, true);
  std::string other_bytes = read_file(kTinySpeaker);
  other_bytes[other_bytes.size() - 50] ^= 1;  // a bit of the last weights
  folder.write("other.gguf", other_bytes);
  Device cpu = open_cpu();
  TextGenerator other;
  std::vector<TextConversation> all;
  const TextGeneratorOptions options = {.context = 64, .log = messages.log()};
  REQUIRE(TextGenerator::open(cpu, (folder / "other.gguf").string(), options, &other) == Status::Ok);
  messages.refused(TextConversation::load_all(other, bytes, &all), Status::InvalidArgument, "another model");
  const TextGenerator half = tiny_speaker(cpu, {.context = 64, .cache_dtype = DType::F16, .log = messages.log()});
  TextConversation read_again = loaded(half, bytes);
  CHECK(messages.mention("computed again"));
  messages.take();
  CHECK(read_again.unread() == read_again.tokens());
  TextConversation under_way = prompted(model, greedy(9), kNorth);
  const TextGenerator brief = tiny_speaker(cpu, {.context = 16, .log = messages.log()});
  messages.refused(TextConversation::load_all(brief, saved(under_way, false), &all), Status::ExtentOutOfRange, "16");

  CHECK(again.tokens() == kept);
  CHECK(all.empty());
  const TextConversation none;
  const TextConversation* const with_none[] = {&smith, &none};
  const TextConversation other_one = begun(other);
  const TextConversation* const mixed[] = {&smith, &other_one};
  CHECK(none.save(path) == Status::InvalidArgument);
  CHECK(TextConversation::save_all({}, {}, &bytes) == Status::InvalidArgument);
  CHECK(TextConversation::save_all(two, {}, nullptr) == Status::InvalidArgument);
  CHECK(TextConversation::save_all(with_none, {}, &bytes) == Status::InvalidArgument);
  CHECK(TextConversation::load(model, path, nullptr) == Status::InvalidArgument);
  CHECK(TextConversation::load_all({}, bytes, &all) == Status::InvalidArgument);
  messages.refused(TextConversation::save_all(mixed, {}, &bytes), Status::InvalidArgument, "different models");
}

TEST_CASE("memory that is not there for saved conversations is a status", "[talk][saved]") {
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu(), {.together = 3, .log = messages.log()});
  TextConversationOptions options = greedy(3);
  options.system = std::string(6000, 'x');
  const TextConversation wordy = begun(model, options);
  const Bytes text = saved(wordy, false);
  TextConversation smith = prompted(model, greedy(3), kNorth);
  tell(smith);
  const Bytes keys = saved(smith, true);
  size_t row_bytes = 0;
  for (const StateInfo& tensor : smith.state().tensors())
    if (tensor.shape.size() == 4)
      row_bytes = static_cast<size_t>(tensor.shape[1] * tensor.shape[2] * tensor.shape[3]) * sizeof(float);
  REQUIRE(row_bytes > 4096);
  const TextConversation* const one = &smith;
  Bytes bytes;
  std::vector<TextConversation> all;
  Status statuses[3];
  {
    const LimitNews limit(4096);
    statuses[0] = TextConversation::save_all({&one, 1}, {.keys = true}, &bytes);
    statuses[1] = TextConversation::load_all(model, text, &all);
    statuses[2] = TextConversation::load_all(model, keys, &all);
  }
  for (const Status status : statuses) CHECK(status == Status::OutOfMemory);
  CHECK(bytes.empty());
  CHECK(all.empty());
  CHECK(messages.mention("no memory for"));
}

TEST_CASE("hostile: changed conversations whose checksum is right", "[hostile][talk][saved]") {
  Messages messages;
  const TextGenerator model = tiny_speaker(open_cpu({.threads = 1}), {.context = 64, .log = messages.log()});
  std::vector<Bytes> sound;
  for (const bool keys : {false, true})
    for (const bool ruled : {false, true}) {
      TextConversationOptions options = drawn(3, 20);
      options.stop = {"never said"};
      if (ruled) options.grammar = "root ::= [a-z ]{8,40} \".\"";
      TextConversation conversation = asked(model, options, "the sword");
      TextPiece piece;
      for (int i = 0; i < 4; ++i) REQUIRE(conversation.step(&piece) == Status::Ok);
      sound.push_back(saved(conversation, keys));
    }
  int64_t taken = 0;
  const int64_t cases = hostile_cases("conversations", 400, [&](ops::Random& r) {
    Bytes bytes = sound[static_cast<size_t>(r.below(static_cast<int64_t>(sound.size())))];
    bytes.resize(bytes.size() - sizeof(uint64_t));
    const auto place = [&](size_t most) { return static_cast<size_t>(r.below(static_cast<int64_t>(most))); };
    for (int64_t edits = 1 + r.below(2); edits > 0; --edits) {
      const size_t at = r.one_in(8) ? place(bytes.size()) : 32 + place(std::min<size_t>(bytes.size() - 32, 700));
      const uint64_t number = r.coin() ? r.next() >> r.below(64) : static_cast<uint64_t>(r.pick({0, 1, -1, INT64_MIN}));
      switch (r.below(5)) {
        case 0: bytes.resize(at); break;
        case 1: bytes.erase(bytes.begin() + static_cast<long>(at)); break;
        case 2:
          if (bytes.size() - at >= sizeof number) std::memcpy(bytes.data() + at, &number, sizeof number);
          break;
        default: bytes[at] ^= static_cast<std::byte>(1 << r.below(8));
      }
      if (bytes.size() < 33) break;
    }
    const uint64_t checksum = fnv1a(bytes);
    const std::span<const std::byte> seal = std::as_bytes(std::span(&checksum, 1));
    bytes.insert(bytes.end(), seal.begin(), seal.end());
    messages.take();
    std::vector<TextConversation> all;
    const Status status = TextConversation::load_all(model, bytes, &all);
    if (status != Status::Ok) {
      CHECK_FALSE(messages.text.empty());
      return;
    }
    ++taken;
    for (TextConversation& one : all) {
      TextPiece piece;
      for (int i = 0; i < 6 && one.answering(); ++i)
        if (one.step(&piece) != Status::Ok) break;
      one.cancel();
      (void)one.say("Hm");
    }
  });
  tell_sound(taken, cases);
}

}  // namespace heed::test
