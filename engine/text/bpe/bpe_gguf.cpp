// The tokenizer of a GGUF file: its keys tokenizer.ggml.*.
#include <heed/bpe.hpp>
#include <heed/gguf.hpp>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

class GgufVocabulary {
 public:
  GgufVocabulary(const Gguf& file, const Log& log, BpeVocabulary* vocabulary)
      : file_(file), log_(log), vocabulary_(*vocabulary) {}

  Status read() {
    std::vector<std::string_view> texts;
    Status status = read_list("tokens", true, &texts);
    if (status == Status::Ok) status = read_types();
    if (status == Status::Ok) vocabulary_.tokens.assign(texts.begin(), texts.end());
    if (status == Status::Ok) status = read_model();
    const std::pair<const char*, int32_t*> ids[] = {{"bos_token_id", &vocabulary_.bos},
                                                    {"eos_token_id", &vocabulary_.eos},
                                                    {"unknown_token_id", &vocabulary_.unknown}};
    for (const auto& [key, id] : ids)
      if (status == Status::Ok) status = read_id(key, id);
    const std::pair<const char*, bool*> flags[] = {{"add_bos_token", &vocabulary_.add_bos},
                                                   {"add_eos_token", &vocabulary_.add_eos},
                                                   {"add_space_prefix", &vocabulary_.space_prefix}};
    for (const auto& [key, flag] : flags)
      if (status == Status::Ok) status = read_flag(key, flag);
    return status;
  }

 private:
  static std::string full(const char* key) { return std::string("tokenizer.ggml.") + key; }
  Gguf::Value value(const char* key) const { return file_.value(full(key)); }
  std::string text(const char* key) const { return std::string(value(key).text().value_or("")); }

  Status failed(const char* key, const std::string& what, Status status = Status::InvalidFile) const {
    return fail(log_, status,
                format("%s: '%s' is %s: %s", std::string(file_.name()).c_str(), full(key).c_str(),
                       value(key).shown().c_str(), what.c_str()));
  }

  template <class T>
  Status read_list(const char* key, bool required, std::vector<T>* list) const {
    if (!required && !value(key).there()) return Status::Ok;
    if (value(key).size() > Bpe::kMaxTokens) return failed(key, format("at most %zu are read", Bpe::kMaxTokens));
    return value(key).read(list) ? Status::Ok : failed(key, "must be a list of such values");
  }

  Status read_types() const {
    std::vector<int32_t> types;
    const Status status = read_list("token_type", false, &types);
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] < static_cast<int>(TokenType::Normal) || types[i] > static_cast<int>(TokenType::Byte))
        return failed("token_type", format("token %zu is of type %d, must be 1 to 6", i, types[i]));
      vocabulary_.types.push_back(static_cast<TokenType>(types[i]));
    }
    return status;
  }

  // Defaults for missing keys are llama.cpp's.
  Status read_model() const {
    const std::string model = text("model");
    if (model == "llama") {
      vocabulary_.kind = BpeKind::SentencePiece;
      vocabulary_.space_prefix = vocabulary_.add_bos = true;
      vocabulary_.bos = 1, vocabulary_.eos = 2, vocabulary_.unknown = 0;
      return read_list("scores", true, &vocabulary_.scores);
    }
    if (model != "gpt2") return failed("model", "only 'gpt2' and 'llama' are supported", Status::Unsupported);
    vocabulary_.kind = BpeKind::ByteLevel;
    vocabulary_.pre = text("pre");
    if (vocabulary_.pre.empty()) return failed("pre", "it must say how text is split into words", Status::Unsupported);
    vocabulary_.whole_words = vocabulary_.add_bos =
        vocabulary_.pre == "llama-bpe" || vocabulary_.pre == "llama-v3" || vocabulary_.pre == "llama3";
    std::vector<std::string_view> merges;
    const Status status = read_list("merges", true, &merges);
    if (status == Status::Ok) vocabulary_.merges.assign(merges.begin(), merges.end());
    return status;
  }

  Status read_id(const char* key, int32_t* id) const {
    if (!value(key).there()) return Status::Ok;
    const std::optional<int64_t> read = value(key).integer();
    if (!read || *read < 0 || *read >= static_cast<int64_t>(vocabulary_.tokens.size()))
      return failed(key, format("must be the id of one of the %zu tokens", vocabulary_.tokens.size()));
    *id = static_cast<int32_t>(*read);
    return Status::Ok;
  }

  Status read_flag(const char* key, bool* flag) const {
    if (!value(key).there()) return Status::Ok;
    const std::optional<bool> read = value(key).boolean();
    if (!read) return failed(key, "must be true or false");
    *flag = *read;
    return Status::Ok;
  }

  const Gguf& file_;
  const Log& log_;
  BpeVocabulary& vocabulary_;
};

}  // namespace

Status Bpe::from_gguf(const Gguf& file, const Log& log, Bpe* bpe) {
  if (bpe == nullptr) return refuse("Bpe::from_gguf: bpe is null");
  BpeVocabulary vocabulary;
  const Status status = GgufVocabulary(file, log, &vocabulary).read();
  return status == Status::Ok ? make(std::move(vocabulary), file.name(), log, bpe) : status;
}

}  // namespace heed
