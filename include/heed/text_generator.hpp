// TextGenerator: a language model on a device, and conversations with it.
//
//   heed::TextGenerator model;
//   heed::Status s = heed::TextGenerator::open(device, "model.gguf", {.log = heed::stderr_log()}, &model);
//   heed::TextConversation smith;
//   if (s == heed::Status::Ok) s = model.begin({.system = "You are Bram, a grumpy blacksmith."}, &smith);
//   if (s == heed::Status::Ok) s = smith.say("Where can I buy a sword?");
//   heed::TextPiece piece;
//   while (s == heed::Status::Ok && smith.answering()) {
//     s = smith.step(&piece);   // waits; or smith.poll(&piece) once in each frame, which never does
//     print(piece.text);
//   }
//
// There are no callbacks, and no thread of the host's is used: the host polls for text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/bpe.hpp>
#include <heed/chat.hpp>
#include <heed/decoder.hpp>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/grammar.hpp>
#include <heed/plan.hpp>
#include <heed/state.hpp>
#include <heed/status.hpp>

namespace heed {

// What happens when the tokens of a conversation fill the context.
enum class TextOverflow : uint8_t {
  // Drops the oldest tokens and reads the rest again, which takes as long as a prompt of that length. Of messages, the oldest after the
  // system message are dropped, a user's together with its answer, but never the one that is being answered. Of a raw text, the first
  // `keep_tokens` and the last half of the context stay (Xiao et al. 2023, arXiv:2309.17453).
  DropOldest,
  Stop,  // the answer ends, with TextEnd::ContextFull
};

// How tokens are drawn; SampleOptions explains the members. The draws of a conversation depend on its seed and on how many there were, not
// on other conversations.
struct TextSampling {
  float temperature = 0.7f;         // 0: always the most likely token
  int64_t top_k = 40;               // keeps the k most likely tokens; 0: all
  float top_p = 0.95f;              // keeps the fewest of the most likely tokens with this total probability; 1: all
  float min_p = 0.05f;              // keeps tokens with at least this share of the largest probability
  float repetition_penalty = 1.0f;  // for all tokens of the conversation except control tokens
  uint32_t seed = 0;                // seed of the draws
};

// The sizes and types of a language model and its conversations.
struct TextGeneratorOptions {
  // The most tokens of a conversation. 0: as many as the model was trained with, at most 4096. A conversation allocates memory for all of
  // them when it begins (TextGenerator::conversation_bytes).
  int64_t context = 0;
  int64_t read = 128;  // the most prompt tokens that one step reads
  // The most conversations, 1 to 64, that decode as one batch, which reads each weight once for all of them. They share a State with one
  // row each; the first conversation in a State allocates memory for all rows: together x conversation_bytes(). Further conversations use
  // another State, whose runs alternate with those of the first. Matmuls of up to eight rows read weights fastest on all devices.
  int64_t together = 1;
  DType dtype = DType::F32;
  // Storage of matrices and tables: F32, F16 or BF16. Default: as in the file, also if it is quantized; if the device cannot compute with
  // that, F16, with a warning in the log.
  std::optional<DType> weight_dtype = {};
  // Storage of keys and values (nn::Cache::dtype): F16 or BF16 beside a dtype of F32, for half the memory of a conversation, if the device
  // supports it.
  std::optional<DType> cache_dtype = {};
  // Lets matmuls with quantized weights round their rows where that is faster (CompileOptions::round_rows). It may change words of answers.
  bool round_rows = false;
  // Answers have the same tokens on every device (CompileOptions::reproducible).
  bool reproducible = false;
  // Replaces the file's chat template.
  std::optional<ChatTemplate> chat = {};
  UploadProgress progress = {};
  Log log = {};  // also receives the messages of conversations
};

// How a conversation begins, draws tokens and ends its answers.
struct TextConversationOptions {
  std::string system = {};  // the first message; "": none, or the template's default
  TextSampling sampling = {};
  // Each of these texts ends an answer and is not part of it, even if it spans several tokens. UTF-8, not empty.
  std::vector<std::string> stop = {};
  // A grammar for answers (<heed/grammar.hpp>), of which "root" is the whole answer. Tokens that would violate it are never drawn, and the
  // answer ends only where the root may. The sampling applies to the remaining tokens. "": no grammar. An answer that ends for another
  // reason, such as most_tokens or a stop string, may be incomplete: see TextEnd. The first conversation with a grammar compiles additional
  // plans; conversations without one keep using theirs.
  std::string grammar = {};
  int64_t most_tokens = 0;  // per answer; 0: as many as fit into the context, or unlimited for DropOldest
  TextOverflow overflow = TextOverflow::DropOldest;
  int64_t keep_tokens = 4;     // number of first tokens of a raw text that are kept; see TextOverflow::DropOldest
  bool think = true;           // see ChatOptions
  std::string_view date = {};  // see ChatOptions; read by TextGenerator::begin
};

// Why an answer ended.
enum class TextEnd : uint8_t {
  None,         // the answer goes on
  EndOfTurn,    // the model ended it
  StopString,   // one of TextConversationOptions::stop occurred
  MostTokens,   // it has TextConversationOptions::most_tokens
  ContextFull,  // no more tokens fit, and nothing may be dropped
  Cancelled,    // by cancel()
  Complete,     // the grammar allows nothing more; no token was drawn for the end
  NoToken,      // no token satisfies the grammar, and the answer is incomplete
};
HEED_API const char* to_string(TextEnd end);

// The result of a step.
struct TextPiece {
  // Text that can be shown now: whole characters of UTF-8, often one word. It is empty while a character or a possible stop string is
  // incomplete. The pieces of an answer together are answer().
  std::string text;
  int32_t token = -1;  // the token that the step drew, which may end the answer; -1: none
  int64_t read = 0;    // how many prompt tokens the step read
  bool done = false;   // a step has ended; false if poll() has none to report; always true after step()
  TextEnd end = TextEnd::None;
};

// The attention of a text's last token.
struct TokenAttention {
  int64_t layers = 0, heads = 0, tokens = 0;
  // [layers, heads, tokens]: the weight of each token, including the last one. The weights of a head sum to 1.
  std::vector<float> weights;
  std::span<const float> of(int64_t layer, int64_t head) const {
    return std::span(weights).subspan(static_cast<size_t>((layer * heads + head) * tokens),
                                      static_cast<size_t>(tokens));
  }
};

// What is saved of a conversation beside its messages, tokens, settings and number of draws, which take a few KB.
struct TextSaveOptions {
  // Also saves keys and values, so that no token is read again after loading. Each token needs
  // TextGenerator::conversation_bytes() / context() bytes.
  bool keys = false;
};

class TextConversation;
struct TextAccess;  // private to the implementation

// A cheap handle: copies share device, weights and plans, and the model's file, which stays mapped. All of a model's conversations use the
// same plans, one run after the other, so their calls, and those of the handle, must not overlap in time.
//
// With TextGeneratorOptions::together, a step in which one conversation draws a token is also a step of all others in its State that are
// answering and have read their prompts. Each returns its own piece when it is polled, and has no further step before that. Answers do not
// depend on the other conversations of the batch, except that kernels for another number of rows or keys may round sums differently.
class HEED_API TextGenerator {
 public:
  // Loads a model. `path` is a GGUF file, or a folder in Hugging Face's format with config.json, safetensors and tokenizer.json. Failures
  // are those of DecoderModel::open, Bpe and Device::compile; ShapeMismatch, too, if the tokenizer has more tokens than the model. An
  // unknown chat template makes only TextConversation::say fail. On failure *generator is unchanged.
  static Status open(Device& device, std::string_view path, const TextGeneratorOptions& options,
                     TextGenerator* generator);

  // Begins a conversation. The first step reads its prompt. InvalidArgument: an option is outside its range, a text is not UTF-8, or the
  // grammar is invalid (the log has line and column) or cannot begin with any token of the model. OutOfMemory, OutOfDeviceMemory: there is
  // no room for its State. On failure *conversation is unchanged.
  Status begin(const TextConversationOptions& options, TextConversation* conversation) const;

  // The loss of the model on a text: the mean of -log(probability) over all tokens but the first, in nats; its exponential is the
  // perplexity. Texts longer than the context are read in windows that overlap by half, and each token counts once. *count, if not null, is
  // the number of tokens that counted. The first call compiles a plan. InvalidArgument: fewer than two tokens.
  Status loss(std::span<const int32_t> ids, double* mean, size_t* count = nullptr);

  // The attention of the last of these tokens. The first call compiles a plan. InvalidArgument: no tokens, or an id outside the vocabulary.
  // ExtentOutOfRange: more tokens than the context. On failure *attention is unchanged.
  Status attention(std::span<const int32_t> ids, TokenAttention* attention);

  bool valid() const { return shared_ != nullptr; }
  // The generator must be valid for the calls below.
  const DecoderConfig& config() const;
  const Bpe& tokenizer() const;
  const ChatTemplate* chat() const;  // null: the model has none, or heed does not know it
  int64_t context() const;
  DType weight_dtype() const;  // the type of most of the weights' bytes
  uint64_t conversation_bytes() const;
  const Weights& weights() const;
  const Plan& plan() const;  // plan of decoding, for its PassInfo
  bool ends_answer(int32_t id) const;

  struct Shared;  // private to the implementation

 private:
  friend class TextConversation;
  friend struct TextAccess;
  std::shared_ptr<Shared> shared_;
};

// One conversation: messages, or a raw text, with keys and values on the device. Move-only; it keeps the model alive. The destructor waits
// for the step that poll began, if any.
class HEED_API TextConversation {
 public:
  TextConversation();
  ~TextConversation();
  TextConversation(TextConversation&&) noexcept;
  TextConversation& operator=(TextConversation&&) noexcept;
  bool valid() const { return impl_ != nullptr; }

  // --- Input. While answering(), these calls return InvalidArgument, as they do for text that is not UTF-8, for a raw text in a
  // conversation of messages, and for messages in a raw text. On failure the conversation is unchanged.

  // Adds a message of the user, and asks for an answer. An earlier message of the user without an answer becomes its first line. The text
  // is read as plain text, without special tokens. ExtentOutOfRange: more tokens than the context can hold, even if everything that may be
  // dropped is. Unsupported: no known chat template; the log says which. InvalidArgument, too: as for ChatTemplate::render.
  Status say(std::string_view text);
  // Adds a message without asking for an answer, such as an earlier answer: roles are those of ChatMessage.
  Status add(std::string_view role, std::string_view text);
  // Adds to a raw text, which the answer continues. options.add_special has an effect at the beginning only. InvalidArgument: the text has
  // no tokens. ExtentOutOfRange: more tokens than the context can hold.
  Status prompt(std::string_view text, const BpeOptions& options = {.read_special = true, .add_special = true});
  Status prompt(std::span<const int32_t> ids);
  // Asks for an answer to the messages so far, or for more of a raw text. InvalidArgument: there are none.
  Status answer_now();

  // Lets steps read the existing messages already, so that an answer can begin sooner: for example the system message while the player
  // comes near. answering() is true until all is read. New input ends the reading without a failure. Does nothing if there is nothing to
  // read.
  Status read_ahead();

  // --- Answers. Unless answering(), step and poll return InvalidArgument.

  // Reads some prompt tokens, or draws one, and waits for it.
  Status step(TextPiece* piece);
  // The same without waiting, as far as Plan::start does not wait: begins a step, or returns the last one's result and begins the next.
  // While a step of another conversation is running, it does nothing; conversations that are polled in turn get their steps in turn. If
  // conversations share steps (TextGeneratorOptions::together), the next step begins when all of them have received their pieces, at the
  // last of a frame's polls. After a failure of step or poll, the answer is over; messages stay, and answer_now() may ask again.
  Status poll(TextPiece* piece);
  // Ends the answer. The text so far counts as said. It waits for the step that poll began and discards its result.
  void cancel();
  bool answering() const;
  // The text of the answer so far, or of the last one.
  const std::string& answer() const;
  TextEnd end() const;  // how the last answer ended

  // --- The conversation as a whole.

  // Makes *other an independent conversation that continues from here, also in the middle of an answer; keys and values are copied on the
  // device. On failure *other is unchanged.
  Status fork(TextConversation* other) const;
  // Drops everything except the system message, and restarts the draws. Tokens of it that the device has read are not read again.
  void reset();
  // Applies from the next draw on, which a step of the batch may already have made. InvalidArgument if sample_words refuses it.
  Status set_sampling(const TextSampling& sampling);

  // --- Saved conversations. A conversation may be saved in the middle of an answer, which goes on after loading. A step that is under way is
  // not saved and runs again. Without TextSaveOptions::keys the next steps recompute keys and values.
  //
  // After loading, the same tokens follow: with TextSaveOptions::keys bit for bit on the same device, and with
  // TextGeneratorOptions::reproducible on every device, with and without keys. Otherwise recomputed keys and values may round differently
  // from those of an answer's steps, since a prompt is read many tokens at a time.

  // Writes a file, or changes nothing; replaces a file of this name. FileError: it cannot be written, for example because the disk is full.
  // Other failures are those of save_all.
  Status save(std::string_view path, const TextSaveOptions& options = {}) const;
  // Reads such a file. NotFound: there is none. InvalidArgument: it holds several conversations. Other failures are those of load_all.
  static Status load(const TextGenerator& model, std::string_view path, TextConversation* conversation);
  // Saves several conversations of one model as bytes, for a host's own file. InvalidArgument: there is no conversation, one is empty,
  // their models differ, or, with keys, a step of one is recorded (vulkan::record_step). OutOfMemory. With keys it waits for steps of
  // these conversations, and may fail like State::read. After a failure *bytes is unchanged.
  static Status save_all(std::span<const TextConversation* const> conversations, const TextSaveOptions& options,
                         std::vector<std::byte>* bytes);
  // Replaces *conversations by the saved ones, in their order, with all settings. InvalidFile: the bytes are damaged, or no saved
  // conversations. Unsupported: another version of heed saved them. InvalidArgument: they are of another model; the same model in another
  // quantization counts as another. ExtentOutOfRange: an unfinished answer has more tokens than the model's context. OutOfMemory. Other
  // failures are those of TextGenerator::begin and, with keys, State::write. After a failure *conversations is unchanged. Keys of another
  // cache_dtype, or of more tokens than the context, are recomputed, with a warning.
  static Status load_all(const TextGenerator& model, std::span<const std::byte> bytes,
                         std::vector<TextConversation>* conversations);

  std::span<const int32_t> ids() const;  // all tokens, read or yet to be read
  int64_t tokens() const { return static_cast<int64_t>(ids().size()); }
  int64_t unread() const;  // how many of them are yet to be read
  // Keys and values, of valid conversations only: a State of its own, or index row() of the first axis of a shared one
  // (TextGeneratorOptions::together).
  const State& state() const;
  int64_t row() const;

  struct Impl;  // private to the implementation

 private:
  friend class TextGenerator;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed
