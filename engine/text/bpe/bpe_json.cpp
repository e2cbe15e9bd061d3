// Byte pair tokenizers from Hugging Face's tokenizer.json and tokenizer_config.json.
#include <heed/bpe.hpp>

#include <filesystem>

#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"
#include "text/bpe/bpe_data.hpp"

namespace heed {

namespace {

constexpr size_t kMaxHoles = 65536;  // ids without a token

constexpr std::string_view kWordsBeforeNumbers = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view kWordsBehindNumbers = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class BpeJson {
 public:
  BpeJson(Json root, std::string name, const Log& log, BpeVocabulary* vocabulary)
      : root_(root, name, log), name_(std::move(name)), log_(log), vocabulary_(*vocabulary) {}

  Status read() {
    Status status = model();
    if (status == Status::Ok) status = normalizer();
    if (status == Status::Ok) status = pre_tokenizer();
    if (status == Status::Ok) status = added_tokens();
    if (status == Status::Ok) status = post_processor();
    if (status == Status::Ok) finish_types();
    return status;
  }

 private:
  std::string inside(const char* field) const { return name_ + ": " + field; }
  Status invalid(const std::string& what) const { return fail(log_, Status::InvalidFile, name_ + ": " + what); }
  Status unsupported(const char* field, Json value, const char* what) const {
    return fail(log_, Status::Unsupported,
                format("%s: %s is %s: %s", name_.c_str(), field, value.shown().c_str(), what));
  }
  static std::string text_of(Json value, std::string_view field) {
    const std::string* text = value.field(field).text();
    return text == nullptr ? std::string() : *text;
  }
  static bool is_type(Json value, std::string_view type) { return text_of(value, "type") == type; }
  static bool flag(Json value, std::string_view field, bool otherwise) {
    const bool* read = value.field(field).boolean();
    return read == nullptr ? otherwise : *read;
  }

  // --- The model: tokens and merges

  Status model() {
    Fields fields(root_.object("model"), inside("model"), log_);
    if (root_.status() != Status::Ok) return root_.status();
    if (fields.text("type", "BPE") != "BPE") fields.fail("type", "only 'BPE' is supported", Status::Unsupported);
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!fields.text(field, "").empty()) fields.fail(field, "only none is supported", Status::Unsupported);
    if (fields.number("dropout", 0, 1, 0.0) != 0) fields.fail("dropout", "only none is supported", Status::Unsupported);
    const bool fallback = fields.boolean("byte_fallback", false);
    vocabulary_.kind = fallback ? BpeKind::SentencePiece : BpeKind::ByteLevel;
    vocabulary_.whole_words = fields.boolean("ignore_merges", false);
    unknown_ = fields.text("unk_token", "");
    const Json tokens = fields.object("vocab"), merges = fields.array("merges");
    if (fields.status() != Status::Ok) return fields.status();
    most_ = tokens.size() + root_.field("added_tokens").size() + kMaxHoles;
    Status status = Status::Ok;
    tokens.each([&](const std::string& token, Json id) {
      status = place(token, id);
      return status == Status::Ok;
    });
    vocabulary_.merges.reserve(merges.size());
    merges.each([&](const std::string&, Json merge) {
      if (status == Status::Ok) status = add_merge(merge);
      return status == Status::Ok;
    });
    return status;
  }

  Status place(const std::string& token, Json value) {
    const uint64_t* id = value.natural();
    if (id == nullptr || *id >= Bpe::kMaxTokens || *id >= most_)
      return invalid(format("the id of token '%s' is %s, must be less than %zu", printable(token).c_str(),
                            value.shown().c_str(), std::min(Bpe::kMaxTokens, most_)));
    const auto at = static_cast<size_t>(*id);
    if (at >= vocabulary_.tokens.size()) {
      vocabulary_.tokens.resize(at + 1);
      vocabulary_.types.resize(at + 1, TokenType::Normal);
    }
    std::string& place = vocabulary_.tokens[at];
    if (!place.empty() && place != token)
      return invalid(format("the tokens '%s' and '%s' have the same id %zu", printable(place).c_str(),
                            printable(token).c_str(), at));
    place = token;
    return Status::Ok;
  }

  // A merge: "left right", or a list of both.
  Status add_merge(Json merge) {
    if (const std::string* text = merge.text()) {
      vocabulary_.merges.push_back(*text);
      return Status::Ok;
    }
    const std::string *left = merge.element(0).text(), *right = merge.element(1).text();
    if (left == nullptr || right == nullptr || merge.size() != 2 || left->find(' ', 1) != std::string::npos)
      return invalid(format("merge %zu is %s, must be two tokens without spaces", vocabulary_.merges.size(),
                            merge.shown().c_str()));
    vocabulary_.merges.push_back(*left + ' ' + *right);
    return Status::Ok;
  }

  // --- Normalizers and pre-tokenizers

  // Accepts no normalizer, NFC, or SentencePiece's replacement of spaces by U+2581.
  Status normalizer() {
    const Json all = root_.field("normalizer");
    Status status = Status::Ok;
    const auto one = [&](Json rule) {
      if (is_type(rule, "NFC"))
        vocabulary_.compose = true;
      else if (is_sentence_piece() && is_type(rule, "Prepend") && text_of(rule, "prepend") == kSpaceMark)
        vocabulary_.space_prefix = true;
      else if (is_sentence_piece() && is_type(rule, "Replace") && text_of(rule.field("pattern"), "String") == " " &&
               text_of(rule, "content") == kSpaceMark)
        marks_spaces_ = true;
      else
        status = unsupported("normalizer", rule, "such rules are not supported");
      return status == Status::Ok;
    };
    if (!all) return status;
    if (is_type(all, "Sequence"))
      all.field("normalizers").each([&](const std::string&, Json rule) { return one(rule); });
    else
      one(all);
    return status;
  }

  bool is_sentence_piece() const { return vocabulary_.kind == BpeKind::SentencePiece; }

  Status pre_tokenizer() {
    const Json rule = root_.field("pre_tokenizer");
    if (is_sentence_piece()) return sentence_piece(rule);
    if (is_byte_level(rule, true)) {
      vocabulary_.pre = "gpt-2";
      return Status::Ok;
    }
    const Json both = rule.field("pretokenizers");
    if (is_type(rule, "Sequence") && both.size() == 2) {
      const Json first = both.element(0), second = both.element(1);
      if (is_type(first, "Digits") && flag(first, "individual_digits", false) && is_byte_level(second, true))
        vocabulary_.pre = "smollm";
      else if (is_split(first, R"(\p{N}{1,3})") && is_byte_level(second, false))
        vocabulary_.pre = "llama-bpe";
      else if (is_split(first, R"(\p{N})") && is_byte_level(second, false))
        vocabulary_.pre = "qwen2";
      else
        return unsupported("pre_tokenizer", rule, "only those of GPT-2, SmolLM, Llama 3 and Qwen 2 are supported");
      return Status::Ok;
    }
    return unsupported("pre_tokenizer", rule, "only those of GPT-2, SmolLM, Llama 3 and Qwen 2 are supported");
  }

  Status sentence_piece(Json rule) {
    if (is_type(rule, "Metaspace") && text_of(rule, "replacement") == kSpaceMark && !flag(rule, "split", true)) {
      const std::string scheme = text_of(rule, "prepend_scheme");
      vocabulary_.space_prefix = scheme != "never";
      vocabulary_.space_once = scheme == "first";
      return Status::Ok;
    }
    // Gemma's pre-tokenizer splits at spaces, but the normalizer has replaced all of them.
    const bool is_idle = marks_spaces_ && is_type(rule, "Split") && text_of(rule.field("pattern"), "String") == " ";
    if (is_idle) return Status::Ok;
    if (rule) return unsupported("pre_tokenizer", rule, "only none and Metaspace are supported with byte_fallback");
    if (marks_spaces_) return Status::Ok;
    return unsupported("normalizer", root_.field("normalizer"), "it must write U+2581 for spaces");
  }

  static bool is_byte_level(Json rule, bool splits) {
    return is_type(rule, "ByteLevel") && !flag(rule, "add_prefix_space", true) &&
           flag(rule, "use_regex", true) == splits;
  }

  // Whether the rule splits by the regular expression of Llama 3, with this subexpression for numbers, and drops nothing.
  static bool is_split(Json rule, std::string_view numbers) {
    std::string words(kWordsBeforeNumbers);
    words.append(numbers).append(kWordsBehindNumbers);
    return is_type(rule, "Split") && text_of(rule, "behavior") == "Isolated" && !flag(rule, "invert", false) &&
           text_of(rule.field("pattern"), "Regex") == words;
  }

  // --- Special tokens

  Status added_tokens() {
    if (!root_.field("added_tokens")) return Status::Ok;
    Status status = Status::Ok;
    root_.array("added_tokens").each([&](const std::string&, Json entry) {
      status = added_token(entry);
      return status == Status::Ok;
    });
    return status == Status::Ok ? root_.status() : status;
  }

  Status added_token(Json entry) {
    Fields fields(entry, inside("added_tokens"), log_);
    const std::string content = fields.text("content");
    const bool special = fields.boolean("special", false);
    for (const char* rule : {"single_word", "lstrip", "rstrip"})
      if (fields.boolean(rule, false))
        fields.fail(rule, "added tokens with this rule are not supported", Status::Unsupported);
    const Json id = fields.field("id");
    if (fields.status() != Status::Ok) return fields.status();
    if (!id || content.empty())
      return invalid(format("added token '%s' has no id or no content", printable(content).c_str()));
    const Status status = place(content, id);
    if (status == Status::Ok)
      vocabulary_.types[static_cast<size_t>(*id.natural())] = special ? TokenType::Control : TokenType::UserDefined;
    return status;
  }

  // Accepts a template of special tokens before and after the text, alone or in a sequence with ByteLevel, which changes no ids.
  Status post_processor() {
    const Json all = root_.field("post_processor");
    if (!all) return Status::Ok;
    if (!is_type(all, "Sequence")) return one_processor(all);
    constexpr size_t kMostProcessors = 8;
    if (all.field("processors").size() > kMostProcessors)
      return unsupported("post_processor", all, "so many processors are not supported");
    Status status = Status::Ok;
    all.field("processors").each([&](const std::string&, Json one) {
      status = one_processor(one);
      return status == Status::Ok;
    });
    return status;
  }

  Status one_processor(Json rule) {
    if (is_type(rule, "ByteLevel")) return Status::Ok;
    const Json single = rule.field("single");
    size_t text = single.size();
    for (size_t i = 0; i < single.size(); ++i)
      if (single.element(i).field("Sequence")) text = i;
    if (!is_type(rule, "TemplateProcessing") || text == single.size() || text > 1 || single.size() - text > 2)
      return unsupported("post_processor", rule, "only one special token before and one behind the text are supported");
    if (text == 1) vocabulary_.add_bos = true, vocabulary_.bos = special_of(single.element(0));
    if (text + 1 < single.size()) vocabulary_.add_eos = true, vocabulary_.eos = special_of(single.element(text + 1));
    if ((vocabulary_.add_bos && vocabulary_.bos < 0) || (vocabulary_.add_eos && vocabulary_.eos < 0))
      return invalid("post_processor: names a special token that is not in the vocabulary");
    return Status::Ok;
  }

  int32_t special_of(Json element) const { return id_of(text_of(element.field("SpecialToken"), "id")); }

  int32_t id_of(const std::string& token) const {
    if (token.empty()) return -1;
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i)
      if (vocabulary_.tokens[i] == token) return static_cast<int32_t>(i);
    return -1;
  }

  void finish_types() {
    vocabulary_.unknown = id_of(unknown_);
    if (vocabulary_.unknown >= 0) vocabulary_.types[static_cast<size_t>(vocabulary_.unknown)] = TokenType::Unknown;
    if (!is_sentence_piece()) return;
    for (size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      const std::string& token = vocabulary_.tokens[i];
      if (token.size() == 6 && token.starts_with("<0x") && token.ends_with('>')) vocabulary_.types[i] = TokenType::Byte;
    }
  }

  Fields root_;
  std::string name_;
  const Log& log_;
  BpeVocabulary& vocabulary_;
  size_t most_ = 0;
  std::string unknown_;
  bool marks_spaces_ = false;
};

Status read_vocabulary(std::string_view text, std::string_view name, const Log& log, BpeVocabulary* vocabulary) {
  JsonFile object;
  const Status status = parse_object(text, name, log, &object);
  return status == Status::Ok ? BpeJson(object.root(), std::string(name), log, vocabulary).read() : status;
}

// A special token is text, or an object with its text in "content". The id is unchanged if the file has none.
void read_special_id(const Fields& fields, const char* field, const BpeVocabulary& vocabulary, int32_t* id) {
  const Json value = fields.field(field);
  const std::string* text = value.is_object() ? value.field("content").text() : value.text();
  if (text == nullptr || text->empty()) return;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i)
    if (vocabulary.tokens[i] == *text) *id = static_cast<int32_t>(i);
}

Status read_config(const std::string& path, const Log& log, BpeVocabulary* vocabulary) {
  if (!is_there(path)) return Status::Ok;
  constexpr uint64_t kMostBytes = 16u << 20;  // the file lists all added tokens
  JsonFile object;
  const Status status = read_object(path, kMostBytes, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path, log);
  read_special_id(fields, "bos_token", *vocabulary, &vocabulary->bos);
  read_special_id(fields, "eos_token", *vocabulary, &vocabulary->eos);
  vocabulary->add_bos = fields.boolean("add_bos_token", vocabulary->add_bos);
  vocabulary->add_eos = fields.boolean("add_eos_token", vocabulary->add_eos);
  return fields.status();
}

}  // namespace

Status Bpe::from_json(std::string_view text, std::string_view name, const Log& log, Bpe* bpe) {
  if (bpe == nullptr) return refuse("Bpe::from_json: bpe is null");
  BpeVocabulary vocabulary;
  const Status status = read_vocabulary(text, name, log, &vocabulary);
  return status == Status::Ok ? make(std::move(vocabulary), name, log, bpe) : status;
}

Status Bpe::open(std::string_view path, const Log& log, Bpe* bpe) {
  if (bpe == nullptr) return refuse("Bpe::open: bpe is null");
  std::error_code error;
  std::filesystem::path file(path);
  if (std::filesystem::is_directory(file, error)) file /= "tokenizer.json";
  std::string text;
  BpeVocabulary vocabulary;
  Status status = read_text(file.string(), kMaxFileBytes, log, &text);
  if (status == Status::Ok) status = read_vocabulary(text, file.string(), log, &vocabulary);
  if (status == Status::Ok)
    status = read_config((file.parent_path() / "tokenizer_config.json").string(), log, &vocabulary);
  return status == Status::Ok ? make(std::move(vocabulary), file.string(), log, bpe) : status;
}

}  // namespace heed
