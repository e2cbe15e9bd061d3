// Byte pair tokenizers from tokenizer.json and from GGUF keys, valid and damaged.
#include <nlohmann/json.hpp>

#include <iterator>

#include "hostile/hostile.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

constexpr const char* kWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json byte_level(bool splits) { return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", splits}}; }

json pre_tokenizer_json(const std::string& pre) {
  if (pre == "gpt-2") return byte_level(true);
  json first = {{"type", "Digits"}, {"individual_digits", true}};
  if (pre != "smollm") {
    std::string words = kWords;
    words.replace(words.find("%s"), 2, pre == "qwen2" ? "" : "{1,3}");
    first = {{"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Isolated"}, {"invert", false}};
  }
  return {{"type", "Sequence"}, {"pretokenizers", {first, byte_level(pre == "smollm")}}};
}

// All ways to compose a token of two others, by descending score, as in the converter of Hugging Face's library.
json merges_of_scores(const Bpe& bpe) {
  const BpeVocabulary& vocabulary = bpe.vocabulary();
  std::vector<size_t> order(bpe.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return vocabulary.scores[a] > vocabulary.scores[b]; });
  json merges = json::array();
  for (const size_t i : order) {
    const std::string& token = vocabulary.tokens[i];
    if (bpe.type(static_cast<int32_t>(i)) != TokenType::Normal) continue;
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const std::string left = token.substr(0, cut), right = token.substr(cut);
      const int32_t ids[] = {bpe.id(left), bpe.id(right)};
      if (ids[0] >= 0 && ids[1] >= 0 && bpe.type(ids[0]) == TokenType::Normal && bpe.type(ids[1]) == TokenType::Normal)
        merges.push_back(json::array({left, right}));
    }
  }
  return merges;
}

json tokenizer_json(const Bpe& bpe, const std::string& pre) {
  const BpeVocabulary& vocabulary = bpe.vocabulary();
  const bool sentence_piece = vocabulary.kind == BpeKind::SentencePiece;
  json tokens = json::object(), added = json::array();
  for (size_t i = 0; i < bpe.size(); ++i) {
    const TokenType type = bpe.type(static_cast<int32_t>(i));
    if (vocabulary.tokens[i].empty()) continue;
    if (type == TokenType::Normal || type == TokenType::Byte)
      tokens[vocabulary.tokens[i]] = i;
    else
      added.push_back({{"id", i},
                       {"content", vocabulary.tokens[i]},
                       {"special", type != TokenType::UserDefined},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false}});
  }
  json all = {{"version", "1.0"}, {"added_tokens", added}, {"normalizer", nullptr}};
  all["model"] = {{"type", "BPE"},
                  {"vocab", tokens},
                  {"merges", sentence_piece ? merges_of_scores(bpe) : json(vocabulary.merges)},
                  {"byte_fallback", sentence_piece},
                  {"ignore_merges", pre == "llama-bpe"},
                  {"unk_token", nullptr}};
  if (sentence_piece) {
    all["model"]["unk_token"] = "<unk>";
    const json mark = "\xE2\x96\x81";
    all["normalizer"] = {{"type", "Sequence"},
                         {"normalizers",
                          {{{"type", "Prepend"}, {"prepend", mark}},
                           {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", mark}}}}};
    all["pre_tokenizer"] = nullptr;
  } else {
    all["pre_tokenizer"] = pre_tokenizer_json(pre);
  }
  return all;
}

Bpe from_json(const json& all) {
  Bpe bpe;
  REQUIRE(Bpe::from_json(all.dump(), "tokenizer.json", stderr_log(), &bpe) == Status::Ok);
  return bpe;
}

// GGUF files with keys only.
class Keys {
 public:
  Keys& text(const std::string& key, const std::string& value) {
    begin(key, 8);
    put(value);
    return *this;
  }
  Keys& texts(const std::string& key, const std::vector<std::string>& values) {
    list(key, 8, values.size());
    for (const std::string& value : values) put(value);
    return *this;
  }
  Keys& numbers(const std::string& key, const std::vector<int32_t>& values) {
    list(key, 5, values.size());
    for (const int32_t value : values) raw(value);
    return *this;
  }
  Keys& floats(const std::string& key, const std::vector<float>& values) {
    list(key, 6, values.size());
    for (const float value : values) raw(value);
    return *this;
  }
  Keys& number(const std::string& key, uint32_t value) {
    begin(key, 4);
    raw(value);
    return *this;
  }
  Keys& flag(const std::string& key, bool value) {
    begin(key, 7);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  Status open(const Log& log, Bpe* bpe) const {
    std::string whole = "GGUF";
    const uint32_t version = 3;
    const uint64_t counts[] = {0, count_};
    whole.append(reinterpret_cast<const char*>(&version), 4).append(reinterpret_cast<const char*>(counts), 16);
    whole += bytes_;
    Gguf file;
    REQUIRE(Gguf::parse(std::as_bytes(std::span(whole)), "keys.gguf", stderr_log(), &file) == Status::Ok);
    return Bpe::from_gguf(file, log, bpe);
  }

 private:
  template <class T>
  void raw(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    raw(uint64_t{text.size()});
    bytes_ += text;
  }
  void begin(const std::string& key, uint32_t type) {
    ++count_;
    put("tokenizer.ggml." + key);
    raw(type);
  }
  void list(const std::string& key, uint32_t type, size_t size) {
    begin(key, 9);
    raw(type);
    raw(uint64_t{size});
  }
  std::string bytes_;
  uint64_t count_ = 0;
};

Keys gpt2_keys() {
  return Keys().text("model", "gpt2").text("pre", "gpt-2").texts("tokens", {"a", "b", "ab"}).texts("merges", {"a b"});
}

}  // namespace

TEST_CASE("Bpe from tokenizer.json gives the ids of the GGUF file", "[bpe]") {
  const json wanted = json::parse(read_file(text_data() / "ids.json"));
  for (const std::string name : {"gpt-2", "llama-bpe", "qwen2", "llama"}) {
    INFO(name);
    const Bpe gguf = small_bpe(name), bpe = from_json(tokenizer_json(gguf, name));
    int different = 0;
    for (const json& text : wanted["texts"])
      for (const bool read : {false, true})
        different += ids_of(bpe, text.get<std::string>(), {.read_special = read}) !=
                     ids_of(gguf, text.get<std::string>(), {.read_special = read});
    CHECK(different == 0);
  }
  CHECK(from_json(tokenizer_json(small_bpe("gpt-2"), "smollm")).vocabulary().pre == "smollm");
  // As in Gemma's: no space in front, and a rule that splits at spaces, none of which are left by then.
  json gemma = tokenizer_json(small_bpe("llama"), "llama");
  gemma["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\xE2\x96\x81"}};
  gemma["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"String", " "}}}, {"behavior", "MergedWithPrevious"}};
  const Bpe plain = from_json(gemma);
  CHECK_FALSE(plain.vocabulary().space_prefix);
  CHECK(text_of(plain, ids_of(plain, "the  sword")) == "the  sword");
}

TEST_CASE("Bpe reads what tokenizer.json and tokenizer_config.json say of special tokens", "[bpe]") {
  const Bpe gguf = small_bpe("llama-bpe");
  json all = tokenizer_json(gguf, "llama-bpe");
  const json start = {{"SpecialToken", {{"id", "<|im_start|>"}, {"type_id", 0}}}};
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json inner = {{"type", "TemplateProcessing"}, {"single", {start, text}}};
  all["post_processor"] = {{"type", "Sequence"}, {"processors", {byte_level(true), inner}}};
  const int32_t id = gguf.id("<|im_start|>");
  CHECK(ids_of(from_json(all), "a", {.add_special = true}) == Ids{id, gguf.id("a")});
  all["post_processor"] = {{"type", "TemplateProcessing"}, {"single", {text, start}}};
  CHECK(ids_of(from_json(all), "a", {.add_special = true}) == Ids{gguf.id("a"), id});
  all["normalizer"] = {{"type", "NFC"}};
  CHECK(from_json(all).vocabulary().compose);

  const ModelCopy folder;
  write_file(folder / "tokenizer.json", all.dump());
  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": {"content": "<|endoftext|>"}, "eos_token": "<|im_end|>", "add_eos_token": false})");
  Bpe bpe;
  REQUIRE(Bpe::open(folder.path(), stderr_log(), &bpe) == Status::Ok);
  CHECK(bpe.vocabulary().bos == gguf.id("<|endoftext|>"));
  CHECK(bpe.vocabulary().eos == gguf.id("<|im_end|>"));
  CHECK(ids_of(bpe, "a", {.add_special = true}) == Ids{gguf.id("a")});
  CHECK(Bpe::open(folder.path() + "/none", {}, &bpe) == Status::NotFound);
}

TEST_CASE("Bpe names what it does not understand of a tokenizer.json", "[bpe]") {
  struct Case {
    const char *pointer, *value;
    Status status;
    const char* message;
  };
  const Case cases[] = {
      {"/model/type", "\"Unigram\"", Status::Unsupported, "'type' is \"Unigram\""},
      {"/model", "7", Status::InvalidFile, "'model' is 7"},
      {"/model/merges", "{}", Status::InvalidFile, "merges"},
      {"/model/merges/0", "[\"a\"]", Status::InvalidFile, "merge 0 is [\"a\"]"},
      {"/model/merges/0", "[\"a b\",\"c\"]", Status::InvalidFile, "merge 0"},
      {"/model/merges/0", "\"a nothing\"", Status::InvalidFile, "no 'nothing'"},
      {"/model/vocab/a", "-1", Status::InvalidFile, "the id of token 'a' is -1"},
      {"/model/vocab/a", "16777215", Status::InvalidFile, "the id of token 'a'"},
      {"/model/vocab/a", "98", Status::InvalidFile, "the same id 98"},
      {"/model/dropout", "0.5", Status::Unsupported, "dropout"},
      {"/model/end_of_word_suffix", "\"</w>\"", Status::Unsupported, "end_of_word_suffix"},
      {"/normalizer", "{\"type\":\"Lowercase\"}", Status::Unsupported, "Lowercase"},
      {"/pre_tokenizer", "{\"type\":\"Whitespace\"}", Status::Unsupported, "Whitespace"},
      {"/pre_tokenizer/pretokenizers/0/pattern/Regex", "\"\\\\s+\"", Status::Unsupported, "pre_tokenizer"},
      {"/pre_tokenizer/pretokenizers/0/behavior", "\"Removed\"", Status::Unsupported, "Removed"},
      {"/post_processor", "{\"type\":\"RobertaProcessing\"}", Status::Unsupported, "RobertaProcessing"},
      {"/added_tokens/0/lstrip", "true", Status::Unsupported, "lstrip"},
      {"/added_tokens/0/id", "null", Status::InvalidFile, "no id"},
      {"/added_tokens/0", "7", Status::InvalidFile, "content"},
  };
  const json good = tokenizer_json(small_bpe("qwen2"), "qwen2");
  for (const Case& c : cases) {
    json bad = good;
    bad[json::json_pointer(c.pointer)] = json::parse(c.value);
    Messages messages;
    Bpe bpe;
    INFO(c.pointer << " = " << c.value);
    CHECK(Bpe::from_json(bad.dump(), "t.json", messages.log(), &bpe) == c.status);
    INFO(messages.text);
    CHECK(messages.mention("t.json"));
    CHECK(messages.mention(c.message));
    CHECK_FALSE(bpe.valid());
  }
  CHECK(Bpe::from_json("{}", "t", {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("Bpe names what it does not understand of a GGUF file's keys", "[bpe]") {
  Bpe bpe;
  REQUIRE(gpt2_keys().open(stderr_log(), &bpe) == Status::Ok);
  CHECK(ids_of(bpe, "ab") == Ids{2});
  CHECK(bpe.vocabulary().bos == -1);
  REQUIRE(gpt2_keys().number("bos_token_id", 1).flag("add_bos_token", true).open(stderr_log(), &bpe) == Status::Ok);
  CHECK(ids_of(bpe, "ab", {.add_special = true}) == Ids{1, 2});

  const std::vector<std::string> three = {"<unk>", "<s>", "</s>"};
  REQUIRE(Keys().text("model", "llama").texts("tokens", three).floats("scores", {0, 0, 0}).open(stderr_log(), &bpe) ==
          Status::Ok);
  CHECK(bpe.vocabulary().space_prefix);
  CHECK(ids_of(bpe, "", {.add_special = true}) == Ids{1});

  const auto refuses = [&](const Keys& keys, const char* message, Status status = Status::InvalidFile) {
    Messages messages;
    Bpe other;
    CHECK(keys.open(messages.log(), &other) == status);
    INFO(messages.text);
    CHECK(messages.mention("keys.gguf"));
    CHECK(messages.mention(message));
    CHECK_FALSE(other.valid());
  };
  refuses(Keys(), "'tokenizer.ggml.tokens' is absent");
  refuses(Keys().texts("tokens", {"a"}), "'tokenizer.ggml.model' is absent", Status::Unsupported);
  refuses(Keys().texts("tokens", {"a"}).text("model", "bert"), "'bert'", Status::Unsupported);
  refuses(Keys().texts("tokens", {"a"}).text("model", "gpt2"), "'tokenizer.ggml.pre' is absent", Status::Unsupported);
  refuses(Keys().texts("tokens", {"a"}).text("model", "gpt2").text("pre", "tekken"), "merges");
  refuses(Keys().texts("tokens", {"a"}).text("model", "gpt2").text("pre", "tekken").texts("merges", {}), "tekken",
          Status::Unsupported);
  refuses(Keys().texts("tokens", {"a"}).text("model", "llama"), "'tokenizer.ggml.scores' is absent");
  refuses(Keys().texts("tokens", {}).text("model", "llama").floats("scores", {}), "0 tokens");
  refuses(Keys().numbers("tokens", {1}), "'tokenizer.ggml.tokens' is");
  refuses(gpt2_keys().numbers("token_type", {1, 0, 1}), "token 1 is of type 0");
  refuses(gpt2_keys().numbers("token_type", {1}), "1 types for 3 tokens");
  refuses(gpt2_keys().number("eos_token_id", 3), "must be the id of one of the 3 tokens");
  refuses(gpt2_keys().text("eos_token_id", "x"), "'tokenizer.ggml.eos_token_id' is 'x'");
  refuses(gpt2_keys().number("add_bos_token", 1), "true or false");
  CHECK(Bpe::from_gguf(Gguf(), {}, &bpe) == Status::InvalidFile);
  CHECK(Bpe::from_gguf(Gguf(), {}, nullptr) == Status::InvalidArgument);
}

TEST_CASE("Damaged tokenizer.json files are refused or used", "[hostile][bpe]") {
  const json good = tokenizer_json(small_bpe("qwen2"), "qwen2");
  json small = good;  // so that most changes affect its rules, not its tokens
  small["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}};
  small["model"]["merges"] = {"a b"};
  small["added_tokens"] = {{{"id", 3}, {"content", "<s>"}, {"special", true}}};
  const std::string text = small.dump();
  const char* const words[] = {"null", "{", "]", "\"", "7", "-1", "16777215", "true", "BPE", "Sequence", "\xFF", "NFC"};
  int64_t sound = 0;
  const int64_t cases = hostile_cases("tokenizer.json", 2000, [&](ops::Random& r) {
    std::string bytes = text;
    const auto place = [&] { return static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size()))); };
    for (int64_t edits = 1 + r.below(2); edits > 0; --edits) {
      const size_t begin = place();
      bytes.replace(begin, static_cast<size_t>(r.below(6)), r.coin() ? words[r.below(std::size(words))] : "");
      if (bytes.empty()) bytes = "{";
    }
    Messages messages;
    Bpe bpe;
    const Status status = Bpe::from_json(bytes, "odd", messages.log(), &bpe);
    if (status != Status::Ok) {
      CHECK((status == Status::InvalidFile || status == Status::Unsupported));
      CHECK(messages.count() == 1);
      CHECK_FALSE(bpe.valid());
      return;
    }
    ++sound;
    std::string back;
    CHECK(bpe.decode(ids_of(bpe, "ab<s>ba", {.read_special = r.coin()}), {}, &back) == Status::Ok);
  });
  tell_sound(sound, cases);
}

}  // namespace heed::test
