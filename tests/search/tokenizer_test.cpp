// Compares the tokenizer with the `tokenizers` package, on the lines of data/make_data.py.

#include "search/model.hpp"
#include "search/support.hpp"

namespace heed::test {
namespace {

// Lists of bytes or of pairs of bytes are concatenated; NAME.end has the end of each.
struct Lists {
  std::span<const std::byte> data;
  std::vector<int32_t> ends;
  size_t unit;
  Lists(const SafeTensors& file, const std::string& name, size_t unit_bytes)
      : ends(ints_of(file, name + ".end")), unit(unit_bytes) {
    REQUIRE(file.find(name) != nullptr);
    data = file.find(name)->data;
    REQUIRE(data.size() == static_cast<size_t>(ends.back()) * unit);
  }
  size_t size() const { return ends.size(); }
  std::span<const std::byte> at(size_t i) const {
    const size_t begin = i == 0 ? 0 : static_cast<size_t>(ends[i - 1]);
    return data.subspan(begin * unit, (static_cast<size_t>(ends[i]) - begin) * unit);
  }
  std::string_view text(size_t i) const { return {reinterpret_cast<const char*>(at(i).data()), at(i).size()}; }
  std::vector<int32_t> ids(size_t i) const {
    std::vector<int32_t> out;
    const auto bytes = at(i);
    for (size_t k = 0; k + 1 < bytes.size(); k += 2)
      out.push_back(static_cast<int32_t>(bytes[k]) | static_cast<int32_t>(bytes[k + 1]) << 8);
    return out;
  }
};

std::string words_of(const WordPiece& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  for (int32_t id : ids) text.append(tokenizer.token(id)).append(" ");
  return text;
}

// Checks that every `step`th line gives the ids in `expected`. Prints the first few wrong ones.
void compare(const WordPiece& tokenizer, const SafeTensors& file, const std::string& expected, size_t step,
             size_t limit) {
  const Lists lines(file, "text", 1), wanted(file, expected, 2);
  REQUIRE(lines.size() >= 2000);
  REQUIRE(wanted.size() == (lines.size() + step - 1) / step);
  int different = 0;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool whole = tokenizer.encode(lines.text(i * step), limit, &ids);
    if (ids == wanted.ids(i) && (whole || ids.size() == limit)) continue;
    if (++different > 5) continue;
    UNSCOPED_INFO(expected << " line " << i * step << ": " << lines.text(i * step) << "\n  is   "
                           << words_of(tokenizer, ids) << "\n  want " << words_of(tokenizer, wanted.ids(i)));
  }
  CHECK(different == 0);
}

SafeTensors open_lines() { return opened<SafeTensors>((data_folder() / "lines.safetensors").string(), stderr_log()); }

WordPiece tiny(const WordPieceOptions& options) {
  WordPiece tokenizer;
  REQUIRE(WordPiece::open((data_folder() / "tiny" / "vocab.txt").string(), stderr_log(), &tokenizer, options) ==
          Status::Ok);
  return tokenizer;
}

std::vector<int32_t> encode(const WordPiece& tokenizer, std::string_view text, size_t limit = 512) {
  std::vector<int32_t> ids;
  tokenizer.encode(text, limit, &ids);
  return ids;
}

}  // namespace

TEST_CASE("WordPiece equals the reference with a small vocabulary", "[tokenizer]") {
  const SafeTensors file = open_lines();
  compare(tiny({}), file, "uncased", 1, 128);
  compare(tiny({.lowercase = false}), file, "cased", 7, 128);
  compare(tiny({.strip_accents = false}), file, "accents", 7, 128);
  compare(tiny({.clean = false, .cjk_spacing = false, .lowercase = false, .strip_accents = true}), file, "raw", 7, 128);
}

TEST_CASE("WordPiece from tokenizer.json equals the reference", "[tokenizer]") {
  WordPiece tokenizer = opened<WordPiece>(tiny_folder(), stderr_log());
  compare(tokenizer, open_lines(), "uncased", 1, 128);
}

TEST_CASE("WordPiece equals the reference with the vocabulary of all-MiniLM-L6-v2", "[tokenizer][model]") {
  const std::string folder = minilm_folder();
  if (folder.empty()) return;
  const SafeTensors file = open_lines();
  for (const char* name : {"tokenizer.json", "vocab.txt"}) {
    WordPiece tokenizer = opened<WordPiece>(folder + "/" + name, stderr_log());
    CHECK(tokenizer.size() == 30522);
    compare(tokenizer, file, "minilm", 1, 256);
  }
}

TEST_CASE("WordPiece leaves out what does not fit", "[tokenizer]") {
  const WordPiece tokenizer = tiny({});
  const int32_t cls = tokenizer.id("[CLS]"), sep = tokenizer.id("[SEP]"), a = tokenizer.id("a");
  REQUIRE(a >= 0);
  std::vector<int32_t> ids;
  CHECK(tokenizer.encode("a a", 4, &ids));
  CHECK(ids == std::vector<int32_t>{cls, a, a, sep});
  CHECK_FALSE(tokenizer.encode("a a", 3, &ids));
  CHECK(ids == std::vector<int32_t>{cls, a, sep});
  CHECK_FALSE(tokenizer.encode("a", 0, &ids));
  CHECK(ids == std::vector<int32_t>{cls, sep});
  CHECK(tokenizer.encode("", 0, &ids));
  CHECK_FALSE(tokenizer.encode("a[SEP]a", 4, &ids));
  CHECK(ids == std::vector<int32_t>{cls, a, sep, sep});
  CHECK_FALSE(tokenizer.encode("a[SEP]", 3, &ids));
  CHECK(ids == std::vector<int32_t>{cls, a, sep});
}

TEST_CASE("WordPiece takes the longest of special tokens that begin alike", "[tokenizer]") {
  WordPiece tokenizer;
  const WordPieceOptions options = {.unknown = "<", .cls = "<s", .sep = "<s>", .pad = "<s>>"};
  const char* vocabulary = "<\n<s\n<s>\n<s>>\na\n";
  REQUIRE(WordPiece::from_vocabulary(vocabulary, "v.txt", stderr_log(), &tokenizer, options) == Status::Ok);
  CHECK(encode(tokenizer, "a<s>><s><s a<") == std::vector<int32_t>{1, 4, 3, 2, 1, 4, 0, 2});
}

TEST_CASE("WordPiece takes very long lines", "[tokenizer]") {
  const WordPiece tokenizer = tiny({});
  std::vector<int32_t> ids;
  for (std::string_view unit : {"a", "a ", "\xC4\xB0", "e\xCC\x81", "\xF0\x9F", "[SEP]", "\xE4\xBD\xA0", "\xCC\x81"}) {
    std::string line;
    while (line.size() < 200000) line += unit;
    tokenizer.encode(line, 256, &ids);
    CHECK(ids.size() <= 256);
    CHECK(ids.back() == tokenizer.id("[SEP]"));
    tokenizer.encode(line, 1u << 20, &ids);
    CHECK(ids.size() >= 2);
  }
}

TEST_CASE("WordPiece reads broken UTF-8 as replacement characters", "[tokenizer]") {
  // Without cleaning the replacement character stays and makes the word unknown; cleaning removes it.
  const WordPiece kept = tiny({.clean = false}), cleaned = tiny({});
  for (const char* broken : {"\xFF", "\xC3", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    const std::string text = std::string("a") + broken + "a";
    CHECK(encode(cleaned, text) == encode(cleaned, "aa"));
    CHECK(encode(kept, text)[1] == kept.unknown_id());
  }
}

TEST_CASE("WordPiece refuses vocabularies with holes or doubles", "[tokenizer]") {
  Messages messages;
  WordPiece tokenizer;
  const auto open = [&](std::string_view text) {
    messages.text.clear();
    return WordPiece::from_vocabulary(text, "v.txt", messages.log(), &tokenizer);
  };
  CHECK(open("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\r\nb") == Status::Ok);
  CHECK(tokenizer.size() == 6);
  CHECK(tokenizer.token(4) == "a");
  CHECK(tokenizer.token(-1).empty());
  CHECK(tokenizer.token(6).empty());
  CHECK(open("[PAD]\n[UNK]\n\n[CLS]\n[SEP]\n") == Status::InvalidFile);
  CHECK(messages.mention("line 3 is empty"));
  CHECK(open("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\na\n") == Status::InvalidFile);
  CHECK(messages.mention("token 'a' has the ids 4 and 6"));
  CHECK(open("[PAD]\n[UNK]\n[CLS]\na\n") == Status::InvalidFile);
  CHECK(messages.mention("no '[SEP]'"));
  CHECK(open("") == Status::InvalidFile);
  CHECK(tokenizer.size() == 6);
}

TEST_CASE("WordPiece refuses other and damaged tokenizer files", "[tokenizer]") {
  const std::string good = read_file(data_folder() / "tiny" / "tokenizer.json");
  struct Case {
    const char *from, *to;
    Status status;
    const char* message;
  };
  const Case cases[] = {
      {"\"type\":\"WordPiece\"", "\"type\":\"BPE\"", Status::Unsupported, "only 'WordPiece'"},
      {"\"type\":\"BertNormalizer\"", "\"type\":\"NFC\"", Status::Unsupported, "only 'BertNormalizer'"},
      {"\"type\":\"BertPreTokenizer\"", "\"type\":\"Metaspace\"", Status::Unsupported, "only 'BertPreTokenizer'"},
      {"\"clean_text\":true", "\"clean_text\":7", Status::InvalidFile, "'clean_text' is 7"},
      {"\"max_input_chars_per_word\":100", "\"max_input_chars_per_word\":1e9", Status::InvalidFile, "max_input_chars"},
      {"\"max_input_chars_per_word\":100", "\"max_input_chars_per_word\":-1", Status::InvalidFile, "max_input_chars"},
      {"\"[PAD]\":0", "\"[PAD]\":-1", Status::InvalidFile, "the id of token '[PAD]' is -1"},
      {"\"[PAD]\":0", "\"[PAD]\":99999999999", Status::InvalidFile, "the id of token '[PAD]'"},
      {"\"[PAD]\":0", "\"[PAD]\":\"x\"", Status::InvalidFile, "the id of token '[PAD]'"},
      {"\"[PAD]\":0", "\"[PAD]\":5000", Status::InvalidFile, "hole"},
      {"\"[PAD]\":0", "\"[PAD]\":16777215", Status::InvalidFile, "hole: token '[PAD]'"},
      {"\"[PAD]\":0", "\"[PAD]\":1", Status::InvalidFile, "the same id 1"},
      {"\"vocab\":{", "\"vocab\":[{", Status::InvalidFile, "not valid JSON"},
      {"\"unk_token\":\"[UNK]\"", "\"unk_token\":\"[NONE]\"", Status::InvalidFile, "no '[NONE]'"},
      {"\"unk_token\":\"[UNK]\"", "\"unk_token\":{}", Status::InvalidFile, "'unk_token' is {}"},
      {"\"post_processor\":{", "\"post_processor\":null,\"other\":{", Status::InvalidFile, "post_processor"},
      {"\"model\":{", "\"model\":[],\"other\":{", Status::InvalidFile, "'model' is []"},
      {"\"added_tokens\":[", "\"added_tokens\":[7,", Status::InvalidFile, "content"},
      {"\"lstrip\":false", "\"lstrip\":true", Status::Unsupported, "lstrip"},
      {"\"id\":0", "\"id\":null", Status::InvalidFile, "has no id"},
  };
  WordPiece tokenizer;
  Messages messages;
  REQUIRE(WordPiece::from_json(good, "t.json", messages.log(), &tokenizer) == Status::Ok);
  for (const Case& c : cases) {
    messages.text.clear();
    INFO(c.to);
    WordPiece other;
    CHECK(WordPiece::from_json(replaced(good, c.from, c.to), "t.json", messages.log(), &other) == c.status);
    INFO(messages.text);
    CHECK(messages.mention(c.message));
    CHECK(messages.mention("t.json"));
    CHECK_FALSE(other.valid());
  }
  // Every truncation is an error, and no truncation crashes.
  for (size_t length = 0; length < good.size(); length += 97) {
    WordPiece other;
    CHECK(WordPiece::from_json(good.substr(0, length), "t.json", {}, &other) == Status::InvalidFile);
  }
  const std::string deep(200000, '[');
  CHECK(WordPiece::from_json(deep, "t.json", messages.log(), &tokenizer) == Status::InvalidFile);
  CHECK(messages.mention("nested 200000 deep"));
  for (const char* text : {"", "null", "[]", "7", "\"x\"", "{}", "{\"model\":{}}", "\xFF"})
    CHECK(WordPiece::from_json(text, "t.json", {}, &tokenizer) == Status::InvalidFile);
  CHECK(tokenizer.valid());
}

TEST_CASE("WordPiece takes no longer than a hostile vocabulary is allowed to make it take", "[tokenizer]") {
  WordPiece tokenizer;
  Messages messages;
  const std::string good = read_file(data_folder() / "tiny" / "tokenizer.json");
  std::string special = "\"added_tokens\":[";
  for (int i = 0; i <= 1000; ++i) special += R"({"id":0,"content":"[PAD]"},)";
  CHECK(WordPiece::from_json(replaced(good, "\"added_tokens\":[", special), "t.json", messages.log(), &tokenizer) ==
        Status::InvalidFile);
  CHECK(messages.mention("1000 added tokens"));

  // Every suffix of these words begins like a token that is almost as long as the word.
  const std::string a(900, 'a');
  const std::string vocabulary = "[UNK]\n[CLS]\n[SEP]\n[PAD]\na\n##a\n" + a + "b\n##" + a + "b";
  CHECK(WordPiece::from_vocabulary(vocabulary, "v", messages.log(), &tokenizer, {.max_word = 1001}) ==
        Status::InvalidArgument);
  REQUIRE(WordPiece::from_vocabulary(vocabulary, "v", messages.log(), &tokenizer, {.max_word = 1000}) == Status::Ok);
  std::string text;
  for (int i = 0; i < 5; ++i) text += a + std::string(99, 'a') + "c ";
  std::vector<int32_t> ids;
  CHECK(tokenizer.encode(text + a + "b", 100, &ids));
  std::vector<int32_t> wanted(8, 0);
  wanted.front() = 1, wanted[6] = 6, wanted.back() = 2;
  CHECK(ids == wanted);
}

TEST_CASE("WordPiece reads a tokenizer_config.json beside a vocab.txt", "[tokenizer]") {
  ModelCopy copy;
  std::filesystem::remove(copy / "tokenizer.json");
  write_file(copy / "tokenizer_config.json",
             R"({"do_lower_case": false, "strip_accents": null, "unk_token": {"content": "[MASK]"}})");
  WordPiece tokenizer;
  Messages messages;
  REQUIRE(WordPiece::open(copy.path(), messages.log(), &tokenizer) == Status::Ok);
  CHECK(tokenizer.unknown_id() == tokenizer.id("[MASK]"));
  CHECK(encode(tokenizer, "\xF0\x90\x80\x80")[1] == tokenizer.id("[MASK]"));
  CHECK(encode(tokenizer, "Where") != encode(tokenizer, "where"));
  write_file(copy / "tokenizer_config.json", R"({"do_lower_case": "yes"})");
  CHECK(WordPiece::open(copy.path(), messages.log(), &tokenizer) == Status::InvalidFile);
  CHECK(messages.mention("do_lower_case"));
  std::filesystem::remove(copy / "vocab.txt");
  std::filesystem::remove(copy / "tokenizer_config.json");
  CHECK(WordPiece::open(copy.path(), messages.log(), &tokenizer) == Status::NotFound);
}

}  // namespace heed::test
