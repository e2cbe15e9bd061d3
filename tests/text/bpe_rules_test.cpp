// Byte pair tokenizers with unusual texts and vocabularies, and those that are refused.
#include <chrono>

#include "ops/random.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

using Ids = std::vector<int32_t>;

// Byte-level: ids 0 to 3 are a, b, c and ab, then abc, a special token and a user token.
BpeVocabulary letters() {
  BpeVocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "c", "ab", "abc", "<s>", "<u>", "", "\xC4\xA0"};  // the last is a space
  vocabulary.types.assign(9, TokenType::Normal);
  vocabulary.types[5] = TokenType::Control;
  vocabulary.types[6] = TokenType::UserDefined;
  vocabulary.merges = {"a b", "ab c"};
  return vocabulary;
}

Bpe made(BpeVocabulary vocabulary) {
  Bpe bpe;
  REQUIRE(Bpe::make(std::move(vocabulary), "test", stderr_log(), &bpe) == Status::Ok);
  return bpe;
}

BpeVocabulary sentence_piece() {
  BpeVocabulary vocabulary;
  vocabulary.kind = BpeKind::SentencePiece;
  vocabulary.space_prefix = true;
  vocabulary.tokens = {"<unk>",
                       "<s>",
                       "\xE2\x96\x81",
                       "a",
                       "b",
                       "ab",
                       "\xE2\x96\x81"
                       "ab",
                       "<0x63>",
                       "ba"};
  vocabulary.types = {TokenType::Unknown, TokenType::Control, TokenType::Normal, TokenType::Normal, TokenType::Normal,
                      TokenType::Normal,  TokenType::Normal,  TokenType::Byte,   TokenType::Normal};
  vocabulary.scores = {0, 0, -9, -9, -9, -1, -2, 0, -0.5f};
  vocabulary.unknown = 0, vocabulary.bos = 1, vocabulary.add_bos = true;
  return vocabulary;
}

}  // namespace

TEST_CASE("Bpe reads special tokens where it is told to", "[bpe]") {
  const Bpe bpe = made(letters());
  CHECK(ids_of(bpe, "abc<s>ab", {.read_special = true}) == Ids{4, 5, 3});
  CHECK(ids_of(bpe, "a<u>b") == Ids{0, 6, 1});
  size_t lost = 0;
  Ids ids;
  REQUIRE(bpe.encode("ab<s>c", {}, &ids, &lost) == Status::Ok);
  CHECK(ids == Ids{3, 2});  // no token for '<', 's' and '>'
  CHECK(lost == 3);
  CHECK(text_of(bpe, Ids{4, 5, 6, 7}) == "abc<u>");
  CHECK(text_of(bpe, Ids{4, 5, 6, 7}, {.show_special = true}) == "abc<s><u>");
  // A word may span parts of a text, a special token may not.
  const TextPart parts[] = {{"a", true}, {"b", false}, {"c<s>", true}, {"<s>a", false}, {"<", true}, {"s>", true}};
  REQUIRE(bpe.encode(parts, false, &ids, &lost) == Status::Ok);
  CHECK(ids == Ids{4, 5, 0});
  CHECK(lost == 6);
}

TEST_CASE("Bpe adds bos and eos as the vocabulary says", "[bpe]") {
  BpeVocabulary vocabulary = letters();
  vocabulary.bos = 5, vocabulary.eos = 6;
  CHECK(ids_of(made(vocabulary), "a", {.add_special = true}) == Ids{0});
  vocabulary.add_bos = true;
  CHECK(ids_of(made(vocabulary), "a", {.add_special = true}) == Ids{5, 0});
  CHECK(ids_of(made(vocabulary), "", {.add_special = true}) == Ids{5});
  vocabulary.add_eos = true;
  CHECK(ids_of(made(vocabulary), "a", {.add_special = true}) == Ids{5, 0, 6});
  CHECK(ids_of(made(vocabulary), "a") == Ids{0});
}

TEST_CASE("Bpe merges by rank and takes whole words where the vocabulary says so", "[bpe]") {
  BpeVocabulary vocabulary = letters();
  vocabulary.merges = {"b c", "a b"};
  vocabulary.tokens[7] = "bc";
  CHECK(ids_of(made(vocabulary), "abc") == Ids{0, 7});
  CHECK(ids_of(made(vocabulary), "abab") == Ids{3, 3});
  vocabulary.whole_words = true;
  CHECK(ids_of(made(vocabulary), "abc") == Ids{4});
  CHECK(ids_of(made(vocabulary), "abcc") == Ids{0, 7, 2});
  vocabulary.types[4] = TokenType::Control;  // plain text does not produce it
  CHECK(ids_of(made(vocabulary), "abc") == Ids{0, 7});
}

TEST_CASE("Bpe of SentencePiece merges by score, puts a space in front and falls back to bytes", "[bpe]") {
  const Bpe bpe = made(sentence_piece());
  CHECK(ids_of(bpe, "ab") == Ids{6});
  CHECK(ids_of(bpe, "aba") == Ids{2, 3, 8});  // "ba" has the higher score
  CHECK(ids_of(bpe, "ab", {.add_special = true}) == Ids{1, 6});
  CHECK(ids_of(bpe, "ab<s>ab", {.read_special = true}) == Ids{6, 1, 6});
  CHECK(ids_of(bpe, "c") == Ids{2, 7});
  Ids ids;
  size_t lost = 0;
  REQUIRE(bpe.encode("\xC3\xA4", {}, &ids, &lost) == Status::Ok);
  CHECK(ids == Ids{2, 0, 0});
  CHECK(lost == 2);
  CHECK(text_of(bpe, Ids{6, 1, 6}) == "abab");
  CHECK(text_of(bpe, Ids{6, 6}) == "ab ab");
  CHECK(text_of(bpe, Ids{6, 6}, {.begins_text = false}) == " ab ab");
  CHECK(text_of(bpe, ids_of(bpe, "  ab c ")) == "  ab c ");
  CHECK(ids_of(bpe, "").empty());

  BpeVocabulary once = sentence_piece();
  once.space_once = true;
  const Bpe first = made(once);
  CHECK(ids_of(first, "ab<s>ab", {.read_special = true, .add_special = true}) == Ids{1, 6, 1, 5});
  CHECK(ids_of(first, "<s>ab", {.read_special = true}) == Ids{1, 5});
  CHECK(text_of(first, Ids{1, 6, 1, 6}) == "ab ab");
}

TEST_CASE("Bpe brings text to its composed form where the vocabulary says so", "[bpe]") {
  Bpe plain = small_bpe("qwen2");
  BpeVocabulary vocabulary = plain.vocabulary();
  vocabulary.compose = true;
  const Bpe composing = made(vocabulary);
  CHECK(ids_of(composing, "cafe\xCC\x81") == ids_of(plain, "caf\xC3\xA9"));
  CHECK(ids_of(composing,
               "\xFF"
               "e\xCC\x81") == ids_of(plain,
                                      "\xFF"
                                      "e\xCC\x81"));
}

TEST_CASE("BpeStream gives whole characters as they come", "[bpe]") {
  for (const char* name : {"gpt-2", "llama"}) {
    const Bpe bpe = small_bpe(name);
    const std::string text =
        "d\xC3\xA9j\xC3\xA0 \xE5\x89\x91 \xF0\x9F\x98\x80!<note>\xF0\x9F\x91\x8B\xF0\x9F\x8F\xBD end";
    BpeStream stream(bpe);
    std::string all;
    for (int round = 0; round < 2; ++round) {
      all.clear();
      for (const int32_t id : ids_of(bpe, text)) {
        REQUIRE(stream.add(id, &all) == Status::Ok);
        CHECK(text.starts_with(all));
        CHECK((static_cast<unsigned char>(text[all.size()]) & 0xC0) != 0x80);
      }
      stream.finish(&all);
      CHECK(all == text);
    }
    CHECK(stream.add(-1, &all) == Status::IndexOutOfRange);
    CHECK(stream.add(static_cast<int32_t>(bpe.size()), &all) == Status::IndexOutOfRange);
    CHECK(stream.add(0, nullptr) == Status::InvalidArgument);
  }
}

TEST_CASE("BpeStream gives U+FFFD for bytes that are no character", "[bpe]") {
  const Bpe bpe = small_bpe("gpt-2");
  const std::string bad = "\xEF\xBF\xBD";
  struct Case {
    std::string bytes, text;
  };
  const Case cases[] = {{"\xFF", bad},
                        {"a\xC3", "a" + bad},
                        {"\xE2\x82", bad},
                        {"\xC3"
                         "b",
                         bad + "b"},
                        {"\xE2\x82\xC3\xA9", bad + "\xC3\xA9"},
                        {"\x80\x80", bad + bad},
                        {"\xF0\x9F\x98", bad},
                        {"\xED\xA0\x80", bad + bad + bad}};
  for (const Case& c : cases) {
    BpeStream stream(bpe);
    std::string text;
    for (const char byte : c.bytes)
      for (const int32_t id : ids_of(bpe, std::string_view(&byte, 1))) REQUIRE(stream.add(id, &text) == Status::Ok);
    stream.finish(&text);
    CHECK(text == c.text);
  }
}

TEST_CASE("Bpe refuses vocabularies that make no sense", "[bpe]") {
  Messages messages;
  Bpe bpe = made(letters());
  const auto refuses = [&](const char* message, auto change, Status status = Status::InvalidFile) {
    BpeVocabulary vocabulary = letters();
    change(vocabulary);
    messages.text.clear();
    CHECK(Bpe::make(vocabulary, "v.gguf", messages.log(), &bpe) == status);
    INFO(messages.text);
    CHECK(messages.mention("v.gguf"));
    CHECK(messages.mention(message));
    CHECK(bpe.size() == 9);
  };
  refuses("has 0 tokens", [](BpeVocabulary& v) { v.tokens.clear(); });
  refuses("8 types for 9 tokens", [](BpeVocabulary& v) { v.types.pop_back(); });
  refuses("1 scores for 9 tokens", [](BpeVocabulary& v) { v.scores = {1}; });
  refuses("token 2 is of type 7", [](BpeVocabulary& v) { v.types[2] = static_cast<TokenType>(7); });
  refuses("the score of token 1", [](BpeVocabulary& v) { v.scores.assign(9, 0), v.scores[1] = NAN; });
  refuses("token 0 has 5000 bytes", [](BpeVocabulary& v) { v.tokens[0].assign(5000, 'x'); });
  refuses("special token 5 has 300 bytes", [](BpeVocabulary& v) { v.tokens[5].assign(300, 'x'); });
  refuses("the id of eos is 9", [](BpeVocabulary& v) { v.eos = 9; });
  refuses("the id of bos is -2", [](BpeVocabulary& v) { v.bos = -2; });
  refuses("merge 1, 'a x': the vocabulary has no 'x'", [](BpeVocabulary& v) { v.merges[1] = "a x"; });
  refuses("merge 1, 'b c': the vocabulary has no 'bc'", [](BpeVocabulary& v) { v.merges[1] = "b c"; });
  for (const char* merge : {"", " ", "ab", "a ", " a"})
    refuses("is not two tokens", [&](BpeVocabulary& v) { v.merges[0] = merge; });
  refuses("pre-tokenizer 'tekken' is not known", [](BpeVocabulary& v) { v.pre = "tekken"; }, Status::Unsupported);
  CHECK(Bpe::make(letters(), "v", {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("Bpe takes holes, doubles and a missing unknown token", "[bpe]") {
  BpeVocabulary vocabulary = letters();
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"", "a", ""});  // the later "a" counts
  vocabulary.types.resize(12, TokenType::Normal);
  vocabulary.merges.clear();
  const Bpe bpe = made(vocabulary);
  CHECK(ids_of(bpe, "ba") == Ids{1, 10});
  CHECK(text_of(bpe, Ids{0, 9, 10, 11}) == "aa");
  CHECK(bpe.id("") == -1);
  CHECK(bpe.token(12).empty());
  CHECK(bpe.bytes(-1).empty());
  std::string text;
  CHECK(bpe.decode(Ids{0, 12, 0}, {}, &text) == Status::IndexOutOfRange);
  CHECK(text == "a");
  Ids ids;
  CHECK(Bpe().encode("a", {}, &ids) == Status::InvalidArgument);
  CHECK(Bpe().decode(ids, {}, &text) == Status::InvalidArgument);
  CHECK(BpeStream(Bpe()).add(0, &text) == Status::InvalidArgument);
  CHECK(bpe.encode("a", {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("Bpe takes a megabyte without spaces in a moment", "[bpe][slow]") {
  ops::Random random(3);
  std::string noise(1u << 20, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  const std::string texts[] = {std::string(1u << 20, 'a'), std::string(1u << 20, ' '), std::string(1u << 20, '<'),
                               std::string(1u << 20, '\n'), noise};
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "llama"}) {
    BpeVocabulary vocabulary = small_bpe(name).vocabulary();
    vocabulary.pre = vocabulary.pre == "gpt-2" ? "smollm" : vocabulary.pre;
    const Bpe bpe = made(std::move(vocabulary));
    for (const std::string& text : texts) {
      // At most a second; quadratic work would take hours.
      const auto start = std::chrono::steady_clock::now();
      const Ids ids = ids_of(bpe, text, {.read_special = true});
      const std::string back = text_of(bpe, ids, {.show_special = true});
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
      if (bpe.vocabulary().kind == BpeKind::ByteLevel || &text != &texts[4]) CHECK(back == text);
    }
  }
}

}  // namespace heed::test
