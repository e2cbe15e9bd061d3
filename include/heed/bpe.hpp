// Byte pair tokenizers of language models: the byte-level ones of GPT-2, SmolLM, Llama 3 and Qwen 2, and SentencePiece's of Llama 2 and
// Gemma (Sennrich et al. 2016, arXiv:1508.07909; Kudo and Richardson 2018, arXiv:1808.06226). Ids are those that llama.cpp's llama-tokenize
// prints for the same file.
//
//   heed::Gguf file;
//   heed::Bpe bpe;
//   heed::Status s = heed::Gguf::open("model.gguf", heed::stderr_log(), &file);
//   s = heed::Bpe::from_gguf(file, heed::stderr_log(), &bpe);   // or open("model-directory"), for its tokenizer.json
//   std::vector<int32_t> ids;
//   s = bpe.encode("<|im_start|>user\nWhere can I buy a sword?", {.read_special = true}, &ids);
//   std::string text;
//   s = bpe.decode(ids, {.show_special = true}, &text);   // the same bytes
//
// Any bytes may be encoded, and decode gives the same bytes back. Each invalid part of a UTF-8 sequence counts as one character. There are
// three exceptions: bytes without a token in the vocabulary are lost (encode counts them), SentencePiece reads U+2581 as a space, and a
// tokenizer.json may ask for Unicode's composed form (Qwen).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/status.hpp>

namespace heed {

class Gguf;

// Values are those of GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

// How a vocabulary cuts a text into tokens.
enum class BpeKind : uint8_t {
  ByteLevel,      // each word of the text is merged from its bytes, each written as a letter as in GPT-2
  SentencePiece,  // spaces become U+2581; the whole text is merged from its characters; unknown ones become byte tokens
};

// The data of a tokenizer. from_json and from_gguf fill it from files.
struct BpeVocabulary {
  BpeKind kind = BpeKind::ByteLevel;
  // How ByteLevel text is split into words: "gpt-2", "smollm", "llama-bpe" (Llama 3) or "qwen2".
  std::string pre = "gpt-2";
  // The text of each token, by id. Empty tokens are never produced; of equal tokens the last one is. Control, UserDefined and Unknown
  // tokens are stored as they appear in a text.
  std::vector<std::string> tokens;
  std::vector<TokenType> types;  // type of each id; empty: all are Normal
  // Pairs "left right" in order of priority; both and their concatenation must be tokens. SentencePiece may have scores by id instead: the
  // pair with the highest score is merged first.
  std::vector<std::string> merges;
  std::vector<float> scores;
  int32_t bos = -1, eos = -1, unknown = -1;  // ids, or -1
  bool add_bos = false, add_eos = false;     // what BpeOptions::add_special adds
  bool space_prefix = false;                 // SentencePiece puts a space before the text and after special tokens
  bool space_once = false;                   // puts that space before the text only
  bool whole_words = false;                  // a word that is a token is not merged (Llama 3)
  bool compose = false;                      // text is brought to Unicode's form NFC first
};

// How Bpe::encode reads a text.
struct BpeOptions {
  // Control and Unknown tokens that are spelled out in the text become these tokens. Leave it off for text that players write, or use
  // TextPart. UserDefined tokens always become tokens.
  bool read_special = false;
  bool add_special = false;  // add bos before and eos after, if the model wants them
};

// A part of a text. Parts may be read differently, as those of a prompt that come from a template and from players. Words may span the
// borders of parts.
struct TextPart {
  std::string_view text;
  bool read_special = false;  // see BpeOptions
};

// How Bpe::decode and BpeStream write tokens as text.
struct DecodeOptions {
  bool show_special = false;  // write Control and Unknown tokens, which otherwise give nothing
  // The first id begins a text, so the space that space_prefix added is left out.
  bool begins_text = true;
};

// A cheap handle: copies share the vocabulary. Several threads may make const calls.
class HEED_API Bpe {
 public:
  // Larger files are InvalidFile, larger texts InvalidArgument.
  static constexpr uint64_t kMaxFileBytes = 64u << 20;
  static constexpr size_t kMaxTokens = 1u << 24;
  static constexpr size_t kMaxTokenBytes = 4096;
  static constexpr size_t kMaxSpecialBytes = 256;  // special tokens that are longer are not searched for in texts
  static constexpr size_t kMaxTextBytes = 1u << 30;

  // Takes the vocabulary; `name` stands for it in messages. InvalidFile: a merge, an id or a score makes no sense, or something
  // is too large. Unsupported: `pre` is not known. On failure *bpe is unchanged.
  static Status make(BpeVocabulary vocabulary, std::string_view name, const Log& log, Bpe* bpe);
  // `path` is a tokenizer.json, or a directory with one; a tokenizer_config.json beside it names bos and eos and says whether they are
  // added. NotFound: there is no such file. InvalidFile: it is damaged. Unsupported: another kind of tokenizer; the message names the part
  // that heed does not know.
  static Status open(std::string_view path, const Log& log, Bpe* bpe);
  static Status from_json(std::string_view text, std::string_view name, const Log& log, Bpe* bpe);
  // Reads the keys tokenizer.ggml.* of an open file (<heed/gguf.hpp>), which may be closed afterwards.
  static Status from_gguf(const Gguf& file, const Log& log, Bpe* bpe);

  bool valid() const { return data_ != nullptr; }

  // Sets *ids. *lost, if not null, is the number of bytes that have no token and are left out. Takes O(n log n) time for n bytes.
  // InvalidArgument: more than kMaxTextBytes, or the tokenizer is not valid.
  Status encode(std::string_view text, const BpeOptions& options, std::vector<int32_t>* ids,
                size_t* lost = nullptr) const;
  // Each part says whether special tokens are read in it. A token lies within one part.
  Status encode(std::span<const TextPart> parts, bool add_special, std::vector<int32_t>* ids,
                size_t* lost = nullptr) const;
  // Sets *text. IndexOutOfRange: an id is no token; *text then holds what was before it.
  Status decode(std::span<const int32_t> ids, const DecodeOptions& options, std::string* text) const;

  // The tokenizer must be valid for the calls below.
  size_t size() const;                       // ids are 0 .. size() - 1
  std::string_view token(int32_t id) const;  // as in the file; "" outside that range
  int32_t id(std::string_view token) const;  // -1 if there is none
  TokenType type(int32_t id) const;
  // The bytes of the token's text, before the space at the beginning of a text is removed. "" for Control and Unknown tokens.
  std::string_view bytes(int32_t id) const;
  const BpeVocabulary& vocabulary() const;

  struct Data;  // private to the implementation
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

// Turns ids into text one by one. It gives whole characters only, so its output is valid UTF-8 at any time. Bytes that cannot belong to a
// character become U+FFFD.
//
//   heed::BpeStream stream(bpe);
//   while (...) { std::string more; s = stream.add(next_id, &more); print(more); }
//   stream.finish(&more);
class HEED_API BpeStream {
 public:
  // Begins a text. Keeps the tokenizer alive.
  explicit BpeStream(Bpe bpe, const DecodeOptions& options = {});
  // Appends the characters that this token completes, perhaps none. IndexOutOfRange: `id` is no token; nothing changed.
  // InvalidArgument: the tokenizer is not valid.
  Status add(int32_t id, std::string* text);
  // Appends U+FFFD if the text ends within a character. The next id begins another text.
  void finish(std::string* text);

 private:
  Bpe bpe_;
  DecodeOptions options_;
  bool at_start_;        // a space that space_prefix added may come first
  std::string pending_;  // the first bytes of a character
};

}  // namespace heed
