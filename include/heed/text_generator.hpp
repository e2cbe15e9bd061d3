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
// Nothing calls back and no thread of the host's is used: text comes when the host asks for it.
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

// What a conversation does when its tokens fill the context.
enum class TextOverflow : uint8_t {
  // It forgets the oldest, and reads what is left again, which takes as long as reading a prompt of that length. Of messages,
  // the oldest ones behind the system message go, a user's together with its answer, but never the one that is being
  // answered. Of a raw text, the first `keep_tokens` and the last half of the context stay (Xiao et al. 2023, arXiv:2309.17453).
  DropOldest,
  Stop,  // the answer ends, with TextEnd::ContextFull
};

// How tokens are drawn; the members of SampleOptions say what they mean. A conversation's draws depend on its seed and on how many
// there were, not on other conversations.
struct TextSampling {
  float temperature = 0.7f;         // 0: the most likely token
  int64_t top_k = 40;               // the k most likely tokens; 0: all
  float top_p = 0.95f;              // the fewest of the most likely with this share; 1: all
  float min_p = 0.05f;              // those of at least this share of the most likely one
  float repetition_penalty = 1.0f;  // of all tokens of the conversation but control tokens
  uint32_t seed = 0;                // of the draws
};

// How much memory a language model and its conversations take, and in which types it computes.
struct TextGeneratorOptions {
  // The most tokens of a conversation. 0: as many as the model was trained with, at most 4096. Each conversation takes memory
  // for all of them from its beginning (TextGenerator::conversation_bytes).
  int64_t context = 0;
  int64_t read = 128;  // the most tokens that one step reads
  // The most conversations, 1 to 64, whose steps share a run, which reads each weight once for all of them. Conversations then lie
  // side by side in States for so many, and the first one in each State takes memory for all: together x conversation_bytes(). More
  // conversations than that take another State, whose runs take turns with those of the first. Products of up to
  // eight rows read weights most quickly on all devices.
  int64_t together = 1;
  DType dtype = DType::F32;
  // Storage of matrices and tables: F32, F16 or BF16. Default: as in the file, also if it is quantized; if the device cannot compute
  // with that, F16, which a warning tells.
  std::optional<DType> weight_dtype = {};
  // Storage of keys and values (nn::Cache::dtype): F16 or BF16 beside a dtype of F32, for half the memory of a conversation, where
  // the device can.
  std::optional<DType> cache_dtype = {};
  // Lets products with quantized weights round their rows where that is faster (CompileOptions::round_rows).
  // Answers may differ in words.
  bool round_rows = false;
  // Answers are the same, token for token, on every device (CompileOptions::reproducible).
  bool reproducible = false;
  // Instead of the file's chat template.
  std::optional<ChatTemplate> chat = {};
  UploadProgress progress = {};
  Log log = {};  // of the conversations, too
};

// How a conversation begins, draws tokens and ends its answers.
struct TextConversationOptions {
  std::string system = {};  // the first message; "": none, or the one that the template then makes up
  TextSampling sampling = {};
  // Any of these ends an answer and is not part of it, also if it begins in one token and ends in another. UTF-8, not empty.
  std::vector<std::string> stop = {};
  // What an answer may be: rules as <heed/grammar.hpp> describes them, of which "root" is all of it. A token that would break them
  // is never drawn, and the answer may end only where the root may. Settings of the sampling choose among those that are left. "": any.
  // A step needs to know on the host which token the last one drew; poll() and step() see to that, as they do for all answers.
  // An answer that something else ends, such as most_tokens or a stop string, may be incomplete: see TextEnd. The first conversation
  // with a grammar compiles plans for such; others run on their own plans as before.
  std::string grammar = {};
  int64_t most_tokens = 0;  // of an answer; 0: what the context has room for, or without end for DropOldest
  TextOverflow overflow = TextOverflow::DropOldest;
  int64_t keep_tokens = 4;     // of a raw text; see TextOverflow
  bool think = true;           // see ChatOptions
  std::string_view date = {};  // see ChatOptions; read by TextGenerator::begin
};

// Why an answer ended.
enum class TextEnd : uint8_t {
  None,         // the answer goes on
  EndOfTurn,    // the model ended it
  StopString,   // one of TextConversationOptions::stop came
  MostTokens,   // it has as many tokens as were asked for
  ContextFull,  // no more tokens fit, and nothing may be dropped
  Cancelled,    // by cancel()
  Complete,     // the grammar lets nothing follow; no token was drawn for the end
  NoToken,      // no token of the model can go on as the grammar wants, and the answer is incomplete
};
HEED_API const char* to_string(TextEnd end);

// What a step gave.
struct TextPiece {
  // What can be shown now: whole characters of UTF-8, often one word, and empty while a character or what may become a stop
  // string is incomplete. The pieces of an answer together are answer().
  std::string text;
  int32_t token = -1;  // which the step drew, also one that ends the answer; -1: it only read, or none is over
  int64_t read = 0;    // how many tokens the step read
  bool done = false;   // a step is over; poll() may have none to tell of, step() always has
  TextEnd end = TextEnd::None;
};

// What the last token of a text looked at.
struct TokenAttention {
  int64_t layers = 0, heads = 0, tokens = 0;
  // [layers, heads, tokens]: how much each head took from each token, the last one included. Those of a head sum to 1.
  std::vector<float> weights;
  std::span<const float> of(int64_t layer, int64_t head) const {
    return std::span(weights).subspan(static_cast<size_t>((layer * heads + head) * tokens),
                                      static_cast<size_t>(tokens));
  }
};

// What is saved of a conversation beside its messages, tokens, settings and the number of its draws, which take a few KB.
struct TextSaveOptions {
  // Also the keys and values of the tokens that were read, so that none is read again after loading. A token takes
  // TextGenerator::conversation_bytes() / context() bytes.
  bool keys = false;
};

class TextConversation;
struct TextAccess;  // private to the implementation

// A cheap handle: copies share device, weights and plans, and the model's file, which stays mapped. All of a model's conversations run on the same plans, one run after the
// other, so that their calls, and those of the handle, must not overlap in time.
//
// With TextGeneratorOptions::together, the step of one conversation that draws a token is also a step of all others of its State that
// answer and have read their prompts. Each is given its own piece when the host asks for it, and has no further step before that.
// What a conversation says does not depend on its company, except that sums of kernels for other numbers of rows, or of keys, may
// round differently.
class HEED_API TextGenerator {
 public:
  // `path` is a GGUF file, or a folder as Hugging Face has it with config.json, safetensors and tokenizer.json.
  // DecoderModel::open, Bpe and Device::compile say which failures there are; ShapeMismatch, too, if the tokenizer has more tokens
  // than the model. A chat template that is not known is a failure of TextConversation::say only. On failure *generator is unchanged.
  static Status open(Device& device, std::string_view path, const TextGeneratorOptions& options,
                     TextGenerator* generator);

  // Begins a conversation. Reads nothing yet: the first step does. InvalidArgument: an option is outside of its range, a text is
  // not UTF-8, or the grammar is none (the log has line and column), or one that no token of the model can begin. OutOfMemory, OutOfDeviceMemory: there is no room for its State. On failure *conversation is unchanged.
  Status begin(const TextConversationOptions& options, TextConversation* conversation) const;

  // How likely the model takes a text to be: the mean over its tokens behind the first of -log(probability), in nats; its
  // exponential is the perplexity. Texts longer than the context are read in windows of it that overlap by half, and each token
  // counts once. *count, if not null, is how many tokens counted. The first call compiles a plan. InvalidArgument: fewer than two tokens.
  Status loss(std::span<const int32_t> ids, double* mean, size_t* count = nullptr);

  // What the last of these tokens looks at. The first call compiles a plan. InvalidArgument: no
  // tokens, or one that the model has not. ExtentOutOfRange: more than the context. On failure *attention is unchanged.
  Status attention(std::span<const int32_t> ids, TokenAttention* attention);

  bool valid() const { return shared_ != nullptr; }
  // The generator must be valid for all of these.
  const DecoderConfig& config() const;
  const Bpe& tokenizer() const;
  const ChatTemplate* chat() const;  // null: there is none, or it is not known
  int64_t context() const;
  DType weight_dtype() const;  // of most bytes of the weights
  uint64_t conversation_bytes() const;
  const Weights& weights() const;
  const Plan& plan() const;  // of an answer's steps, for PassInfo
  bool ends_answer(int32_t id) const;

  struct Shared;  // private to the implementation

 private:
  friend class TextConversation;
  friend struct TextAccess;
  std::shared_ptr<Shared> shared_;
};

// One conversation: messages, or a raw text, with keys and values on the device. Move-only; it keeps the model alive. Destroying it
// waits for the step that poll began, which is at most one.
class HEED_API TextConversation {
 public:
  TextConversation();
  ~TextConversation();
  TextConversation(TextConversation&&) noexcept;
  TextConversation& operator=(TextConversation&&) noexcept;
  bool valid() const { return impl_ != nullptr; }

  // --- What is said. While answering(), these return InvalidArgument, as they do for text that is not UTF-8, a raw text in a
  // conversation of messages and the other way round. On failure the conversation is as it was.

  // Adds a message of the user, and asks for an answer. A user's message that nobody answered yet becomes its first line. What it
  // holds is read as plain text: no special tokens.
  // ExtentOutOfRange: more tokens than the context has room for, even if all that may be dropped is. Unsupported: no known chat
  // template; the log tells which. InvalidArgument, too: what ChatTemplate::render refuses.
  Status say(std::string_view text);
  // Adds a message without asking for an answer, such as an earlier answer: roles are those of ChatMessage.
  Status add(std::string_view role, std::string_view text);
  // Adds to a raw text, which the answer continues. options.add_special counts at the beginning only. InvalidArgument: there are
  // no tokens in it. ExtentOutOfRange: more than the context has room for.
  Status prompt(std::string_view text, const BpeOptions& options = {.read_special = true, .add_special = true});
  Status prompt(std::span<const int32_t> ids);
  // Asks for an answer to what is there, or for more of a raw text. InvalidArgument: nothing is there.
  Status answer_now();

  // Lets steps read what is there already, so that an answer can begin sooner: the system message while the player comes near, say.
  // answering() is true until all is read; what is said meanwhile ends the reading, and is no failure. Does nothing if there is
  // nothing to read.
  Status read_ahead();

  // --- Answers. Without one, step and poll return InvalidArgument.

  // Reads some tokens, or draws one, and waits for it.
  Status step(TextPiece* piece);
  // The same without waiting, as far as Plan::start does not wait: begins a step, or gives what the last one gave and begins the
  // next. While a step of another conversation goes on, it does nothing; conversations that are polled in turn get their steps in
  // turn. Where steps are shared (TextGeneratorOptions::together), the next one begins when all that take part were given their
  // pieces: at the last of a frame's polls. After a failure of either, the answer is over; what was said is still there, and
  // answer_now() may ask again.
  Status poll(TextPiece* piece);
  // Ends the answer. What was given of it counts as said. It waits for the step that poll began, and what that gives is lost.
  void cancel();
  bool answering() const;
  // The text of the answer so far, or of the last one.
  const std::string& answer() const;
  TextEnd end() const;  // how the last answer ended

  // --- The conversation as a whole.

  // Makes *other a conversation of its own that goes on from here, also in the middle of an answer; its keys and values are copied
  // on the device. On failure *other is unchanged.
  Status fork(TextConversation* other) const;
  // Forgets all but the system message, and begins the draws anew. What the device has read of it, it need not read again.
  void reset();
  // Counts from the next draw on; a step that another conversation shared may have made that already. InvalidArgument if
  // sample_words refuses it.
  Status set_sampling(const TextSampling& sampling);

  // --- Saved conversations. They may be in the middle of an answer, which goes on after loading. The step under way is not saved, but
  // made again. Keys and values that are not in the file are computed again by the next steps.
  //
  // The same tokens follow after loading: with TextSaveOptions::keys bit for bit on the same device, and with
  // TextGeneratorOptions::reproducible on every device, with and without keys. Otherwise keys and values that are computed again,
  // many tokens at a time, may round differently from those of an answer's steps.

  // Writes a file, as a whole or not at all; one of this name is replaced. FileError: it cannot be written, as where the disk is
  // full. Otherwise the failures of save_all.
  Status save(std::string_view path, const TextSaveOptions& options = {}) const;
  // Reads such a file. NotFound: it is not there. InvalidArgument: it holds several conversations. Otherwise the failures of load_all.
  static Status load(const TextGenerator& model, std::string_view path, TextConversation* conversation);
  // The same for several conversations of one model, in bytes that a host keeps in a file of its own. InvalidArgument: there is none,
  // one is empty, models differ, or with keys that a step is recorded (vulkan::record_step). OutOfMemory. With keys it waits for a
  // step of these conversations that goes on; other failures are those of State::read. After a failure *bytes is unchanged.
  static Status save_all(std::span<const TextConversation* const> conversations, const TextSaveOptions& options,
                         std::vector<std::byte>* bytes);
  // Replaces *conversations by those of the bytes, in their order. All settings are the saved ones. InvalidFile: damaged, or no saved
  // conversations. Unsupported: of another version of heed. InvalidArgument: of another model; files of one model in several types
  // count as several. ExtentOutOfRange: an answer under way has more tokens than the model's context. OutOfMemory. Other failures are
  // those of TextGenerator::begin and, with keys, State::write. On failure *conversations is unchanged. Keys of another
  // cache_dtype, or of more tokens than the context, are computed again, which a warning tells.
  static Status load_all(const TextGenerator& model, std::span<const std::byte> bytes,
                         std::vector<TextConversation>* conversations);

  std::span<const int32_t> ids() const;  // all tokens, as they are or will be read
  int64_t tokens() const { return static_cast<int64_t>(ids().size()); }
  int64_t unread() const;  // how many of them steps have yet to read
  // Keys and values, of valid conversations only: of its own, or in row() of the first axis of those that share its State
  // (TextGeneratorOptions::together).
  const State& state() const;
  int64_t row() const;

  struct Impl;  // private to the implementation

 private:
  friend class TextGenerator;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed
