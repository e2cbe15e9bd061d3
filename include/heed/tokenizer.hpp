// The WordPiece tokenizer of BERT-family models. It gives the same token ids as the Hugging Face `tokenizers` package with a
// BertNormalizer, a BertPreTokenizer and a WordPiece model.
//
//   heed::WordPiece tokenizer;
//   heed::Status s = heed::WordPiece::open("model-directory", heed::stderr_log(), &tokenizer);
//   std::vector<int32_t> ids;
//   tokenizer.encode("Where can I buy a sword?", 256, &ids);   // [CLS] where can i buy a sword ? [SEP]
//
// Text is UTF-8. Invalid bytes are read as U+FFFD, one for each maximal invalid part, as Python's bytes.decode("utf-8", "replace") does;
// cleaning then drops them. Special tokens that are spelled out in the text ("[SEP]") become those tokens, as in that package.
//
// Marks, punctuation and format characters are those of Unicode 8, as in that package. Upper-case letters that are newer than the installed
// utf8proc stay upper case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed {

// How text is split into words. A tokenizer.json states all of it; a vocab.txt states nothing and is read with these options. The defaults
// suit "uncased" models.
struct WordPieceOptions {
  bool clean = true;        // drop control characters, turn whitespace into spaces
  bool cjk_spacing = true;  // each CJK ideograph is a word
  bool lowercase = true;
  std::optional<bool> strip_accents = {};  // default: the value of `lowercase`
  int max_word = 100;                      // words of more code points become the unknown token; at most 1000
  std::string prefix = "##";               // marks pieces that continue a word
  std::string unknown = "[UNK]", cls = "[CLS]", sep = "[SEP]",
              pad = "[PAD]";  // special tokens: unknown words, first, last, padding
};

// A cheap handle: copies share the vocabulary. Several threads may make const calls.
class HEED_API WordPiece {
 public:
  // Larger files, or files with more tokens, are InvalidFile.
  static constexpr uint64_t kMaxFileBytes = 64u << 20;
  static constexpr size_t kMaxTokens = 1u << 24;

  // `path` is a tokenizer.json, a vocab.txt, or a directory with one of them (the former is preferred). If the directory's file is
  // vocab.txt, its tokenizer_config.json replaces the options. NotFound: there is no such file. InvalidFile: the file is damaged, or its
  // vocabulary has missing ids or duplicates or lacks a special token. Unsupported: another kind of tokenizer. On failure *tokenizer is
  // unchanged.
  static Status open(std::string_view path, const Log& log, WordPiece* tokenizer, const WordPieceOptions& options = {});
  // Read from memory instead; `name` stands for the file in messages.
  static Status from_vocabulary(std::string_view text, std::string_view name, const Log& log, WordPiece* tokenizer,
                                const WordPieceOptions& options = {});
  static Status from_json(std::string_view text, std::string_view name, const Log& log, WordPiece* tokenizer);

  bool valid() const { return data_ != nullptr; }

  // Sets *ids to cls, the text's pieces and sep. The last pieces are left out if there are more than max_tokens ids; max_tokens below 2
  // counts as 2. Returns true if nothing was left out.
  bool encode(std::string_view text, size_t max_tokens, std::vector<int32_t>* ids) const;

  // The tokenizer must be valid for the calls below.
  size_t size() const;                       // ids are 0 .. size() - 1
  std::string_view token(int32_t id) const;  // "" outside that range
  int32_t id(std::string_view token) const;  // -1 if there is none
  int32_t pad_id() const;
  int32_t unknown_id() const;

  struct Data;  // private to the implementation
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

}  // namespace heed
