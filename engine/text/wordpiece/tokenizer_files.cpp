// Tokenizers from vocab.txt, tokenizer.json and tokenizer_config.json.
#include <heed/tokenizer.hpp>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"
#include "text/wordpiece/tokenizer_data.hpp"

namespace heed {

namespace fs = std::filesystem;

namespace {

using Data = WordPiece::Data;

constexpr int kMaxWord = 1000;        // the search for pieces is quadratic in the length of a word
constexpr size_t kMaxSpecial = 1000;  // each is searched for at every byte of a text

Status invalid(std::string_view name, const Log& log, const std::string& what) {
  return fail(log, Status::InvalidFile, format("%s: %s", std::string(name).c_str(), what.c_str()));
}

bool fail_unless(bool holds, Fields* fields, const char* field, const char* what) {
  if (!holds) fields->fail(field, what, Status::Unsupported);
  return holds;
}

// Fills the members that follow from `tokens` and `options`. InvalidFile, naming the token: an id has no token, a token occurs twice, or a
// special token is missing.
Status finish(std::string_view name, const Log& log, Data* data) {
  for (size_t i = 0; i < data->tokens.size(); ++i) {
    const std::string& token = data->tokens[i];
    if (token.empty()) return invalid(name, log, format("the vocabulary has a hole: no token has id %zu", i));
    const auto [found, added] = data->ids.emplace(token, static_cast<int32_t>(i));
    if (!added)
      return invalid(name, log,
                     format("token '%s' has the ids %d and %zu", printable(token).c_str(), found->second, i));
  }
  data->sorted.resize(data->tokens.size());
  std::iota(data->sorted.begin(), data->sorted.end(), 0);
  std::sort(data->sorted.begin(), data->sorted.end(), [&](int32_t a, int32_t b) {
    return data->tokens[static_cast<size_t>(a)] < data->tokens[static_cast<size_t>(b)];
  });
  const auto find = [&](const std::string& token, int32_t* id) {
    *id = data->find(token);
    if (*id >= 0) return Status::Ok;
    return invalid(name, log,
                   format("the vocabulary of %zu tokens has no '%s'", data->tokens.size(), printable(token).c_str()));
  };
  const WordPieceOptions& options = data->options;
  Status status = find(options.unknown, &data->unknown);
  if (status == Status::Ok) status = find(options.cls, &data->cls);
  if (status == Status::Ok) status = find(options.sep, &data->sep);
  if (status == Status::Ok) status = find(options.pad, &data->pad);
  data->strips_accents = options.strip_accents.value_or(options.lowercase);
  return status;
}

// Sorts by length, since one special token may begin with another.
void put_longest_first(Data* data) {
  std::sort(data->special.begin(), data->special.end(), [&](int32_t a, int32_t b) {
    return data->tokens[static_cast<size_t>(a)].size() > data->tokens[static_cast<size_t>(b)].size();
  });
}

}  // namespace

// --- vocab.txt ---------------------------------------------------------------------------------------------------

Status WordPiece::from_vocabulary(std::string_view text, std::string_view name, const Log& log, WordPiece* tokenizer,
                                  const WordPieceOptions& options) {
  if (tokenizer == nullptr) return refuse("WordPiece::from_vocabulary: tokenizer is null");
  if (options.max_word < 1 || options.max_word > kMaxWord)
    return fail(log, Status::InvalidArgument, format("max_word is %d; it must be 1 to %d", options.max_word, kMaxWord));
  auto data = std::make_shared<Data>();
  data->options = options;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t last = line.find_last_not_of(" \t\r");
    line = line.substr(0, last == std::string_view::npos ? 0 : last + 1);
    if (line.empty())
      return invalid(name, log, format("line %zu is empty: the vocabulary has a hole", data->tokens.size() + 1));
    if (data->tokens.size() == kMaxTokens)
      return invalid(name, log, format("has more than the %zu tokens allowed", kMaxTokens));
    data->tokens.emplace_back(line);
  }
  const Status status = finish(name, log, data.get());
  if (status != Status::Ok) return status;
  data->special = {data->unknown, data->cls, data->sep, data->pad};
  if (const int32_t mask = data->find("[MASK]"); mask >= 0) data->special.push_back(mask);
  put_longest_first(data.get());
  tokenizer->data_ = std::move(data);
  return Status::Ok;
}

namespace {

// A special token is text, or an object with its text in "content".
void read_special(Fields* fields, const char* name, const Log& log, std::string* token) {
  const Json value = fields->field(name);
  if (!value) return;
  if (!value.is_object()) {
    *token = fields->text(name);
    return;
  }
  Fields inner(value, fields->where() + ": " + name, log);
  *token = inner.text("content");
  if (inner.status() != Status::Ok) fields->fail(name, "has no content");
}

// Reads tokenizer_config.json, if there is one.
Status read_tokenizer_config(const fs::path& path, const Log& log, WordPieceOptions* options) {
  if (!is_there(path)) return Status::Ok;
  JsonFile object;
  const Status status = read_object(path.string(), kMaxConfigBytes, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path.string(), log);
  options->lowercase = fields.boolean("do_lower_case", options->lowercase);
  options->cjk_spacing = fields.boolean("tokenize_chinese_chars", options->cjk_spacing);
  if (fields.field("strip_accents")) options->strip_accents = fields.boolean("strip_accents");
  read_special(&fields, "unk_token", log, &options->unknown);
  read_special(&fields, "cls_token", log, &options->cls);
  read_special(&fields, "sep_token", log, &options->sep);
  read_special(&fields, "pad_token", log, &options->pad);
  return fields.status();
}

// --- tokenizer.json ------------------------------------------------------------------------------------------------

class TokenizerJson {
 public:
  TokenizerJson(Json root, std::string name, const Log& log, Data* data)
      : root_(root, name, log), name_(std::move(name)), log_(log), data_(*data) {}

  Status read() {
    Status status = normalizer();
    if (status == Status::Ok) status = pre_tokenizer();
    if (status == Status::Ok) status = model();
    if (status == Status::Ok) status = added_tokens();
    if (status == Status::Ok) status = post_processor();
    if (status == Status::Ok) status = padding();
    return status;
  }

 private:
  std::string inside(const char* field) const { return name_ + ": " + field; }

  Status normalizer() {
    Fields fields(root_.object("normalizer"), inside("normalizer"), log_);
    if (root_.status() != Status::Ok) return root_.status();
    WordPieceOptions& options = data_.options;
    fail_unless(fields.text("type") == "BertNormalizer", &fields, "type", "only 'BertNormalizer' is supported");
    options.clean = fields.boolean("clean_text", true);
    options.cjk_spacing = fields.boolean("handle_chinese_chars", true);
    options.lowercase = fields.boolean("lowercase", true);
    if (fields.field("strip_accents")) options.strip_accents = fields.boolean("strip_accents");
    return fields.status();
  }

  Status pre_tokenizer() {
    Fields fields(root_.object("pre_tokenizer"), inside("pre_tokenizer"), log_);
    if (root_.status() != Status::Ok) return root_.status();
    fail_unless(fields.text("type") == "BertPreTokenizer", &fields, "type", "only 'BertPreTokenizer' is supported");
    return fields.status();
  }

  Status model() {
    Fields fields(root_.object("model"), inside("model"), log_);
    if (root_.status() != Status::Ok) return root_.status();
    // Old files do not state the type.
    fail_unless(fields.text("type", "WordPiece") == "WordPiece", &fields, "type", "only 'WordPiece' is supported");
    data_.options.unknown = fields.text("unk_token", "[UNK]");
    data_.options.prefix = fields.text("continuing_subword_prefix", "##");
    data_.options.max_word = static_cast<int>(fields.integer("max_input_chars_per_word", 1, kMaxWord, 100));
    const Json vocabulary = fields.object("vocab");
    most_ = vocabulary.size() + root_.field("added_tokens").size();
    if (fields.status() != Status::Ok) return fields.status();
    Status status = Status::Ok;
    vocabulary.each([&](const std::string& token, Json id) {
      status = place(token, id);
      return status == Status::Ok;
    });
    return status;
  }

  Status place(const std::string& token, Json value) {
    const uint64_t* id = value.natural();
    if (id == nullptr || *id >= WordPiece::kMaxTokens)
      return invalid(name_, log_,
                     format("the id of token '%s' is %s, must be 0 to %zu", printable(token).c_str(),
                            value.shown().c_str(), WordPiece::kMaxTokens - 1));
    if (*id >= most_)
      return invalid(name_, log_,
                     format("the vocabulary has a hole: token '%s' of %zu has the id %llu", printable(token).c_str(),
                            most_, static_cast<unsigned long long>(*id)));
    if (*id >= data_.tokens.size()) data_.tokens.resize(static_cast<size_t>(*id) + 1);
    std::string& place = data_.tokens[static_cast<size_t>(*id)];
    if (!place.empty() && place != token)
      return invalid(name_, log_,
                     format("the tokens '%s' and '%s' have the same id %llu", printable(place).c_str(),
                            printable(token).c_str(), static_cast<unsigned long long>(*id)));
    place = token;
    return Status::Ok;
  }

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
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"})
      if (fields.boolean(flag, false))
        fields.fail(flag, "added tokens with this rule are not supported", Status::Unsupported);
    const Json id = fields.field("id");
    if (fields.status() == Status::Ok && (!id || content.empty()))
      return invalid(name_, log_, format("added token '%s' has no id or no content", printable(content).c_str()));
    if (fields.status() != Status::Ok) return fields.status();
    if (const Status status = place(content, id); status != Status::Ok) return status;
    if (data_.special.size() == kMaxSpecial)
      return invalid(name_, log_, format("has more than the %zu added tokens allowed", kMaxSpecial));
    data_.special.push_back(static_cast<int32_t>(*id.natural()));
    return Status::Ok;
  }

  // The text of an element {"SpecialToken": {"id": ...}} of a template, or "".
  static std::string special_of(Json element) {
    const std::string* id = element.field("SpecialToken").field("id").text();
    return id == nullptr ? std::string() : *id;
  }

  // Accepts only cls, the text, sep.
  Status post_processor() {
    Fields fields(root_.object("post_processor"), inside("post_processor"), log_);
    if (root_.status() != Status::Ok) return root_.status();
    const std::string type = fields.text("type");
    if (type == "BertProcessing") return bert_processing(&fields);
    if (!fail_unless(type == "TemplateProcessing", &fields, "type",
                     "only 'TemplateProcessing' and 'BertProcessing' are supported"))
      return fields.status();
    const Json single = fields.array("single");
    const bool fits = single.size() == 3 && single.element(1).field("Sequence");
    data_.options.cls = fits ? special_of(single.element(0)) : "";
    data_.options.sep = fits ? special_of(single.element(2)) : "";
    fail_unless(!data_.options.cls.empty() && !data_.options.sep.empty(), &fields, "single",
                "only a special token, the text, a special token is supported");
    return fields.status();
  }

  // Reads {"sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}.
  Status bert_processing(Fields* fields) {
    const auto read = [&](const char* field, std::string* token) {
      const std::string* text = fields->array(field).element(0).text();
      if (text == nullptr)
        fields->fail(field, "must be a pair of a token and its id");
      else
        *token = *text;
    };
    read("cls", &data_.options.cls);
    read("sep", &data_.options.sep);
    return fields->status();
  }

  Status padding() {
    if (!root_.field("padding")) return Status::Ok;
    Fields fields(root_.object("padding"), inside("padding"), log_);
    data_.options.pad = fields.text("pad_token", data_.options.pad);
    return fields.status();
  }

  Fields root_;
  size_t most_ = 0;  // the most tokens that there can be
  std::string name_;
  const Log& log_;
  Data& data_;
};

}  // namespace

Status WordPiece::from_json(std::string_view text, std::string_view name, const Log& log, WordPiece* tokenizer) {
  if (tokenizer == nullptr) return refuse("WordPiece::from_json: tokenizer is null");
  JsonFile object;
  Status status = parse_object(text, name, log, &object);
  if (status != Status::Ok) return status;
  auto data = std::make_shared<Data>();
  status = TokenizerJson(object.root(), std::string(name), log, data.get()).read();
  if (status == Status::Ok) status = finish(name, log, data.get());
  if (status != Status::Ok) return status;
  put_longest_first(data.get());
  tokenizer->data_ = std::move(data);
  return status;
}

// --- Files -----------------------------------------------------------------------------------------------------------

Status WordPiece::open(std::string_view path, const Log& log, WordPiece* tokenizer, const WordPieceOptions& options) {
  if (tokenizer == nullptr) return refuse("WordPiece::open: tokenizer is null");
  std::error_code error;
  fs::path file(path);
  WordPieceOptions own = options;
  if (fs::is_directory(file, error)) {
    const bool has_json = is_there(file / "tokenizer.json");
    if (!has_json) {
      const Status status = read_tokenizer_config(file / "tokenizer_config.json", log, &own);
      if (status != Status::Ok) return status;
    }
    file /= has_json ? "tokenizer.json" : "vocab.txt";
  }
  std::string text;
  const Status status = read_text(file.string(), kMaxFileBytes, log, &text);
  if (status != Status::Ok) return status;
  if (file.extension() == ".json") return from_json(text, file.string(), log, tokenizer);
  return from_vocabulary(text, file.string(), log, tokenizer, own);
}

}  // namespace heed
