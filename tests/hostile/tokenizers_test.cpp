// Random or damaged vocabularies, files and chat templates: tokenizers either read them or refuse them with a message, and give ids of the
// vocabulary for any bytes.
#include <iterator>

#include "hostile/hostile.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

using ops::Random;

std::string odd_text(Random& r, int64_t most) {
  const char* const pieces[] = {"a",
                                "b",
                                " ",
                                "\n",
                                "\xC4\xA0",
                                "\xE2\x96\x81",
                                "\xFF",
                                "\xC3",
                                "\xF0\x9F\x98\x80",
                                "'s",
                                "12",
                                "<s>",
                                "<0x41>",
                                "\r",
                                "\xE2\x96",
                                "z",
                                "<",
                                "e\xCC\x81",
                                "\xED\xA0\x80",
                                "ab",
                                "\xC4\x8A"};
  std::string text;
  for (int64_t n = r.below(most + 1); n > 0; --n) text += pieces[static_cast<size_t>(r.below(std::size(pieces)))];
  if (r.one_in(10)) text.push_back('\0');
  return text;
}

BpeVocabulary odd_vocabulary(Random& r) {
  BpeVocabulary vocabulary;
  vocabulary.kind = r.coin() ? BpeKind::ByteLevel : BpeKind::SentencePiece;
  const char* const pre[] = {"gpt-2", "smollm", "llama-bpe", "qwen2"};
  vocabulary.pre = r.one_in(30) ? odd_text(r, 3) : pre[r.below(4)];
  const int64_t count = r.pick({0, 1, 2, 5, 20, 60});
  for (int64_t i = 0; i < count; ++i) vocabulary.tokens.push_back(odd_text(r, 3));
  if (r.coin())
    for (int64_t i = 0; i < count + r.one_in(40); ++i)
      vocabulary.types.push_back(static_cast<TokenType>(r.one_in(300) ? r.below(256) : 1 + r.below(6)));
  const float odd[] = {0, -0.0f, -1, 1, -1e30f, 1e-40f, -2, std::numeric_limits<float>::max(), NAN, -INFINITY};
  if (r.coin())
    for (int64_t i = 0; i < count; ++i) vocabulary.scores.push_back(odd[r.below(r.one_in(100) ? 10 : 8)]);
  // Mostly pairs whose concatenation becomes a token, too.
  for (int64_t i = r.coin() && count > 0 ? r.below(20) : 0; i > 0; --i) {
    const auto drawn = [&] { return vocabulary.tokens[static_cast<size_t>(r.below(count))]; };
    const std::string left = drawn(), right = drawn();
    if (!r.one_in(200) && (left.empty() || right.empty() || (left + right).find(' ') != std::string::npos)) continue;
    vocabulary.merges.push_back(left + ' ' + right);
    if (!r.one_in(100)) vocabulary.tokens[static_cast<size_t>(r.below(count))] = left + right;
  }
  const auto id = [&] {
    return static_cast<int32_t>(r.one_in(100) ? r.pick({-2, INT32_MAX, INT32_MIN}) : r.below(count + 1) - 1);
  };
  vocabulary.bos = id(), vocabulary.eos = id(), vocabulary.unknown = id();
  vocabulary.add_bos = r.coin(), vocabulary.add_eos = r.coin(), vocabulary.space_prefix = r.coin();
  vocabulary.whole_words = r.coin(), vocabulary.compose = r.one_in(4);
  return vocabulary;
}

// For any vocabulary ids are valid, and streams return the text in whole characters.
void use(Random& r, const Bpe& bpe) {
  for (int i = 0; i < 4; ++i) {
    const std::string text = odd_text(r, i == 0 ? 200 : 12);
    std::vector<int32_t> ids;
    size_t lost = 0;
    REQUIRE(bpe.encode(text, {.read_special = r.coin(), .add_special = r.coin()}, &ids, &lost) == Status::Ok);
    // A space becomes three bytes in SentencePiece, one may be added in front, and composing lengthens.
    CHECK(lost <= 20 * text.size());
    BpeStream stream(bpe);
    std::string whole, streamed;
    REQUIRE(bpe.decode(ids, {}, &whole) == Status::Ok);
    for (const int32_t id : ids) REQUIRE(stream.add(id, &streamed) == Status::Ok);
    stream.finish(&streamed);
    CHECK((streamed == whole || streamed.find("\xEF\xBF\xBD") != std::string::npos));
  }
}

}  // namespace

TEST_CASE("Odd vocabularies of byte pairs are refused or used", "[hostile][bpe]") {
  int64_t sound = 0;
  const int64_t cases = hostile_cases("vocabularies", 3000, [&](Random& r) {
    Messages messages;
    Bpe bpe;
    const Status status = Bpe::make(odd_vocabulary(r), "odd", messages.log(), &bpe);
    if (status != Status::Ok) {
      CHECK((status == Status::InvalidFile || status == Status::Unsupported));
      CHECK(messages.count() == 1);
      CHECK_FALSE(bpe.valid());
      return;
    }
    ++sound;
    use(r, bpe);
  });
  tell_sound(sound, cases);
}

TEST_CASE("Damaged GGUF vocabularies are refused or used", "[hostile][bpe]") {
  std::vector<std::string> files;
  for (const char* name : {"gpt-2", "llama"})
    files.push_back(read_file(text_data() / "vocabularies" / (std::string(name) + ".gguf")));
  int64_t sound = 0;
  const int64_t cases = hostile_cases("gguf vocabularies", 300, [&](Random& r) {
    std::string bytes = files[static_cast<size_t>(r.below(2))];
    for (int64_t edits = 1 + r.below(4); edits > 0; --edits)
      bytes[static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size())))] = static_cast<char>(r.next());
    if (r.one_in(10)) bytes.resize(static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size()))));
    Gguf file;
    Bpe bpe;
    Messages messages;
    if (Gguf::parse(std::as_bytes(std::span(bytes)), "odd", messages.log(), &file) != Status::Ok) return;
    if (Bpe::from_gguf(file, messages.log(), &bpe) != Status::Ok) {
      CHECK(messages.count() == 1);
      return;
    }
    ++sound;
    use(r, bpe);
  });
  tell_sound(sound, cases);
}

TEST_CASE("Damaged chat templates are refused or used", "[hostile][chat]") {
  const std::string templates = read_file(text_data() / "chat_templates.py");
  int64_t sound = 0;
  const int64_t cases = hostile_cases("chat templates", 2000, [&](Random& r) {
    const auto place = [&] { return static_cast<size_t>(r.below(static_cast<int64_t>(templates.size()))); };
    std::string jinja = templates.substr(place(), static_cast<size_t>(r.below(2000)));
    if (r.coin() && !jinja.empty()) jinja.insert(place() % jinja.size(), odd_text(r, 5));
    Messages messages;
    ChatTemplate chat;
    if (ChatTemplate::recognize(jinja, "odd", messages.log(), &chat) != Status::Ok) {
      CHECK(messages.count() == 1);
      return;
    }
    ++sound;
    std::vector<std::string> texts;
    for (int i = 0; i < 8; ++i) texts.push_back(odd_text(r, 6));
    std::vector<ChatMessage> list;
    const char* const roles[] = {"system", "user", "assistant", ""};
    const auto count = static_cast<size_t>(r.below(5));
    for (size_t i = 0; i < count; ++i)
      list.push_back({r.one_in(8) ? std::string_view(roles[r.below(4)]) : roles[1 + i % 2], texts[i]});
    std::string text;
    const ChatOptions options = {.generation_prompt = r.coin(), .bos = texts[6], .eos = texts[7], .think = r.coin()};
    const Status status = chat.render(list, options, messages.log(), &text);
    CHECK((status == Status::Ok || (status == Status::InvalidArgument && messages.count() == 1)));
  });
  tell_sound(sound, cases);
}

}  // namespace heed::test
