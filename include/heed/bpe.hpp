// Byte pair tokenizers of language models: the byte-level ones of GPT-2, SmolLM, Llama 3 and Qwen 2, and SentencePiece's of
// Llama 2 and Gemma (Sennrich et al. 2016, arXiv:1508.07909; Kudo and Richardson 2018, arXiv:1808.06226). Ids are those that
// llama.cpp's llama-tokenize prints for the same file.
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
// Any bytes may be encoded, and decode gives the same bytes back. Bytes that are not UTF-8 count as signs, each broken part
// for itself. There are three exceptions: a vocabulary without a token for some byte loses that byte (encode counts them),
// SentencePiece takes U+2581 for a space, and a tokenizer.json may ask for Unicode's composed form (Qwen).
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

// The numbers are those of GGUF's tokenizer.ggml.token_type.
enum class TokenType : uint8_t { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

// How a vocabulary cuts a text into tokens.
enum class BpeKind : uint8_t {
  ByteLevel,      // text is split into words, and a word is merged from its bytes, each written as a letter as in GPT-2
  SentencePiece,  // spaces become U+2581, all of a text is merged from its characters, unknown ones become byte tokens
};

// What a tokenizer is made of. from_json and from_gguf fill it from files.
struct BpeVocabulary {
  BpeKind kind = BpeKind::ByteLevel;
  // How ByteLevel text is split into words: "gpt-2", "smollm", "llama-bpe" (Llama 3) or "qwen2".
  std::string pre = "gpt-2";
  // By id. Empty tokens are never given; of equal tokens the last one is. Control, UserDefined and Unknown tokens are
  // written as they appear in a text.
  std::vector<std::string> tokens;
  std::vector<TokenType> types;  // by id; none: all are Normal
  // "left right", the first being merged first; both and their concatenation must be tokens. SentencePiece may have scores by
  // id instead, the highest being merged first.
  std::vector<std::string> merges;
  std::vector<float> scores;
  int32_t bos = -1, eos = -1, unknown = -1;  // ids, or -1
  bool add_bos = false, add_eos = false;     // what BpeOptions::add_special adds
  bool space_prefix = false;  // SentencePiece puts a space in front of the text, and behind special tokens
  bool space_once = false;    // in front of the text only
  bool whole_words = false;   // a word that is a token is not merged (Llama 3)
  bool compose = false;       // text is brought to Unicode's form NFC first
};

// How Bpe::encode reads a text.
struct BpeOptions {
  // Control and Unknown tokens that are written in the text become these tokens. Leave it off for what players write, or use
  // TextPart. UserDefined tokens always become tokens.
  bool read_special = false;
  bool add_special = false;  // bos in front and eos behind, as far as the model wants them
};

// A text may be put together from parts that are read differently, as a prompt is from a template and what players write.
// Words go across the borders of parts.
struct TextPart {
  std::string_view text;
  bool read_special = false;  // see BpeOptions
};

// How Bpe::decode and BpeStream write tokens as text.
struct DecodeOptions {
  bool show_special = false;  // write Control and Unknown tokens, which else give nothing
  // The first id begins a text, so that the space which space_prefix put there is left out.
  bool begins_text = true;
};

// A cheap handle: copies share the vocabulary. Several threads may make const calls.
class HEED_API Bpe {
 public:
  // Larger sizes are refused: files with InvalidFile, texts with InvalidArgument.
  static constexpr uint64_t kMaxFileBytes = 64u << 20;
  static constexpr size_t kMaxTokens = 1u << 24;
  static constexpr size_t kMaxTokenBytes = 4096;
  static constexpr size_t kMaxSpecialBytes = 256;  // of tokens that are looked for in texts
  static constexpr size_t kMaxTextBytes = 1u << 30;

  // Takes the vocabulary; `name` stands for it in messages. InvalidFile: a merge, an id or a score makes no sense, or something
  // is too large. Unsupported: `pre` is not known. On failure *bpe is unchanged.
  static Status make(BpeVocabulary vocabulary, std::string_view name, const Log& log, Bpe* bpe);
  // `path` is a tokenizer.json, or a directory with one; a tokenizer_config.json beside it says bos, eos and whether they are
  // added. NotFound: there is no such file. InvalidFile: it is damaged. Unsupported, with the name of what was not
  // understood: another kind of tokenizer.
  static Status open(std::string_view path, const Log& log, Bpe* bpe);
  static Status from_json(std::string_view text, std::string_view name, const Log& log, Bpe* bpe);
  // From the keys tokenizer.ggml.* of <heed/gguf.hpp>. The file may be closed afterwards.
  static Status from_gguf(const Gguf& file, const Log& log, Bpe* bpe);

  bool valid() const { return data_ != nullptr; }

  // Sets *ids. *lost, if not null, is the number of bytes that have no token and are left out. Takes time n log n in the
  // length of the text. InvalidArgument: more than kMaxTextBytes, or the tokenizer is not valid.
  Status encode(std::string_view text, const BpeOptions& options, std::vector<int32_t>* ids,
                size_t* lost = nullptr) const;
  // The parts say themselves whether special tokens are read. A token lies within one part.
  Status encode(std::span<const TextPart> parts, bool add_special, std::vector<int32_t>* ids,
                size_t* lost = nullptr) const;
  // Sets *text. IndexOutOfRange: an id is no token; *text then holds what was before it.
  Status decode(std::span<const int32_t> ids, const DecodeOptions& options, std::string* text) const;

  // The tokenizer must be valid for all of these.
  size_t size() const;                       // ids are 0 .. size() - 1
  std::string_view token(int32_t id) const;  // as in the file; "" outside that range
  int32_t id(std::string_view token) const;  // -1 if there is none
  TokenType type(int32_t id) const;
  // What the token adds to a text, before the rule of spaces at its beginning. "" for Control and Unknown tokens.
  std::string_view bytes(int32_t id) const;
  const BpeVocabulary& vocabulary() const;

  struct Data;  // private to the implementation
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

// Turns ids into text as they come, in whole characters: what it gives is valid UTF-8 at any time. Bytes that cannot belong
// to a character become U+FFFD.
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
  bool at_start_;        // a space of space_prefix would be here
  std::string pending_;  // the first bytes of a character
};

}  // namespace heed
