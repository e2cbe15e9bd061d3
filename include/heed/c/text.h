// Text: tokenizers, sentence vectors, and conversations with language models.
#ifndef HEED_C_TEXT_H
#define HEED_C_TEXT_H

#include <heed/c/device.h>
#include <heed/c/models.h>
#include <heed/c/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Tokenizers of language models ------------------------------------------------------------------------------

// A byte pair tokenizer. Several threads may use it at a time.
//
// From a tokenizer.json, a folder with one, or a GGUF file. InvalidFile: damaged. Unsupported: another kind.
HEED_API heed_status heed_tokenizer_open(const char* path, const heed_log* log, heed_tokenizer** tokenizer);
HEED_API heed_status heed_tokenizer_destroy(heed_tokenizer* tokenizer);
HEED_API size_t heed_tokenizer_size(heed_tokenizer* tokenizer);  // ids are 0 .. size - 1; 0 if the handle is none
// *id becomes that of a token as in the file. NotFound: there is none.
HEED_API heed_status heed_tokenizer_id(heed_tokenizer* tokenizer, const char* token, int32_t* id);
// The token as in the file; valid until the tokenizer is destroyed. IndexOutOfRange.
HEED_API heed_status heed_tokenizer_token(heed_tokenizer* tokenizer, int32_t id, const char** token);
// The ids of a text. read_special: control tokens that are written in the text become these tokens. add_special: adds what the
// model wants in front and behind. `bytes` is the length of the text, which then may hold zeros; SIZE_MAX: up to its 0.
HEED_API heed_status heed_tokenizer_encode(heed_tokenizer* tokenizer, const char* text, size_t bytes,
                                           int32_t read_special, int32_t add_special, int32_t* ids, size_t capacity,
                                           size_t* count);
// The text of ids. show_special: writes control tokens, too. IndexOutOfRange: an id is none.
HEED_API heed_status heed_tokenizer_decode(heed_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                           int32_t show_special, heed_blob** text);

// What tokens looked at: weights [layers, heads, queries, tokens]. Of a text encoder all tokens are queries; of a language model the last
// one is.
//
// Pointers are valid until the map is destroyed.
typedef struct heed_attention_map_info {
  size_t size;
  int64_t layers, heads, queries, tokens;
  const float* weights;
  size_t weight_count;
  const char* const* token_texts;  // `tokens` of them for text encoders, else NULL
} heed_attention_map_info;
HEED_API heed_status heed_attention_map_get_info(heed_attention_map* map, heed_attention_map_info* info);
HEED_API heed_status heed_attention_map_destroy(heed_attention_map* map);

// --- Sentence vectors -------------------------------------------------------------------------------------------

// A sentence-transformers model on a device: texts become vectors of length 1. One thread at a time.

// `folder` holds config.json, model.safetensors and tokenizer.json or vocab.txt, as sentence-transformers writes them. Unsupported: a
// module other than a BERT, pooling by the mean, and normalizing.
HEED_API heed_status heed_text_encoder_open(heed_device* device, const char* folder,
                                            const heed_text_encoder_options* options, heed_text_encoder** encoder);
HEED_API heed_status heed_text_encoder_destroy(heed_text_encoder* encoder);

// What was read of the model's files.
typedef struct heed_text_encoder_info {
  size_t size;
  int64_t width;  // of a vector
  int64_t max_tokens;
  int64_t max_batch;
  uint64_t fingerprint;  // vectors of two encoders can be compared if these are equal
  heed_dtype weight_dtype;
  int32_t reserved;
} heed_text_encoder_info;
HEED_API heed_status heed_text_encoder_get_info(heed_text_encoder* encoder, heed_text_encoder_info* info);
// Its plan and weights, for heed_plan_pass and the like; destroy them as others.
HEED_API heed_status heed_text_encoder_plan(heed_text_encoder* encoder, heed_plan** plan);
HEED_API heed_status heed_text_encoder_weights(heed_text_encoder* encoder, heed_weights** weights);

// What heed_text_encoder_encode tells while it works.
typedef struct heed_encode_options {
  size_t size;
  // Called on this thread while it works, with the number of texts that are done; anything but 0 stops. NULL: none.
  int32_t (*progress)(void* user, size_t done, size_t total);
  void* progress_user;
  size_t* truncated;  // becomes the number of texts that lost tokens beyond max_tokens; may be NULL
  size_t* done;       // becomes the number of texts that are done; may be NULL
} heed_encode_options;
// Fills vectors [count, width]; `capacity` is of floats (InvalidArgument: too few).
HEED_API heed_status heed_text_encoder_encode(heed_text_encoder* encoder, const char* const* texts, size_t count,
                                              float* vectors, size_t capacity, const heed_encode_options* options);
// The ids of a text as encode reads it, at most max_tokens.
HEED_API heed_status heed_text_encoder_tokens(heed_text_encoder* encoder, const char* text, int32_t* ids,
                                              size_t capacity, size_t* count);
// The attention weights of one text. OutOfMemory: they would take more than 1 GiB.
HEED_API heed_status heed_text_encoder_attention(heed_text_encoder* encoder, const char* text,
                                                 heed_attention_map** map);

// --- Language models ------------------------------------------------------------------------------------------

// A language model on a device. It and all its conversations serve one thread at a time.

// `path` is a GGUF file, or a folder with config.json, safetensors and tokenizer.json.
HEED_API heed_status heed_text_generator_open(heed_device* device, const char* path,
                                              const heed_text_generator_options* options,
                                              heed_text_generator** generator);
HEED_API heed_status heed_text_generator_destroy(heed_text_generator* generator);

// What was read of the model's files, and what a conversation takes.
typedef struct heed_text_generator_info {
  size_t size;
  int64_t context;
  uint64_t conversation_bytes;  // memory of each conversation
  heed_dtype weight_dtype;      // of most bytes of the weights
  int32_t has_chat;             // 1: its chat template is known, so that heed_conversation_say works
} heed_text_generator_info;
HEED_API heed_status heed_text_generator_get_info(heed_text_generator* generator, heed_text_generator_info* info);
// The network's numbers, as the files give them.
HEED_API heed_status heed_text_generator_config(heed_text_generator* generator, heed_decoder_config* config);
// Handles of its parts; destroy them as others.
HEED_API heed_status heed_text_generator_tokenizer(heed_text_generator* generator, heed_tokenizer** tokenizer);
HEED_API heed_status heed_text_generator_plan(heed_text_generator* generator, heed_plan** plan);
HEED_API heed_status heed_text_generator_weights(heed_text_generator* generator, heed_weights** weights);
// How likely the model takes a text to be: the mean over its tokens behind the first of -log(probability), in nats. *count, if
// not NULL, is how many counted. InvalidArgument: fewer than two tokens.
HEED_API heed_status heed_text_generator_loss(heed_text_generator* generator, const int32_t* ids, size_t id_count,
                                              double* mean, size_t* count);
// What the last of these tokens looks at.
HEED_API heed_status heed_text_generator_attention(heed_text_generator* generator, const int32_t* ids, size_t count,
                                                   heed_attention_map** map);

// Begins a conversation; reads nothing yet. InvalidArgument: an option is out of range, or the grammar is none.
HEED_API heed_status heed_conversation_begin(heed_text_generator* generator, const heed_conversation_options* options,
                                             heed_conversation** conversation);
// Makes another conversation that goes on from here, also in the middle of an answer.
HEED_API heed_status heed_conversation_fork(heed_conversation* conversation, heed_conversation** other);
// Writes a conversation as bytes, also in the middle of an answer: messages, tokens, settings and how many draws there were, a few KB,
// and with options->keys its keys and values, too. TextConversation of <heed/text_generator.hpp> says when the same tokens follow.
// OutOfMemory; InvalidArgument: with keys while a step is recorded.
HEED_API heed_status heed_conversation_save(heed_conversation* conversation, const heed_text_save_options* options,
                                            heed_blob** bytes);
// Makes the conversation that was saved. InvalidFile: damaged, or no saved conversation. Unsupported: of another version of heed.
// InvalidArgument: of another model, or several conversations of C++'s save_all. ExtentOutOfRange: longer than the context. OutOfMemory.
HEED_API heed_status heed_conversation_load(heed_text_generator* generator, const void* data, size_t bytes,
                                            heed_conversation** conversation);
// Waits for the step that poll began, which is at most one.
HEED_API heed_status heed_conversation_destroy(heed_conversation* conversation);

// What is said. These return InvalidArgument while it answers, for text that is not UTF-8, and where messages and raw text mix.
//
// Adds a message of the user, and asks for an answer. ExtentOutOfRange: more tokens than the context has room for. Unsupported:
// no known chat template.
HEED_API heed_status heed_conversation_say(heed_conversation* conversation, const char* text);
// Adds a message without asking for an answer; role is "system", "user" or "assistant".
HEED_API heed_status heed_conversation_add(heed_conversation* conversation, const char* role, const char* text);
// Adds to a raw text, which the answer continues. special, 1: control tokens are read in it, and those that the model wants are added.
HEED_API heed_status heed_conversation_prompt(heed_conversation* conversation, const char* text, int32_t special);
HEED_API heed_status heed_conversation_prompt_ids(heed_conversation* conversation, const int32_t* ids, size_t count);
// Asks for an answer to what is there, or for more of a raw text.
HEED_API heed_status heed_conversation_answer_now(heed_conversation* conversation);
// Lets steps read what is there already, so that an answer can begin sooner.
HEED_API heed_status heed_conversation_read_ahead(heed_conversation* conversation);

// What a step gave.
typedef struct heed_text_piece {
  size_t size;
  const char* text;   // whole characters, perhaps none; valid until the next call for the conversation
  size_t text_bytes;  // without the 0 behind it
  int64_t read;       // how many tokens the step read
  int32_t token;      // which the step drew; -1: it only read, or none is over
  int32_t done;       // 1: a step is over
  int32_t end;        // HEED_END_*
  int32_t reserved;
} heed_text_piece;
// Reads some tokens, or draws one, and waits for it. InvalidArgument: it does not answer.
HEED_API heed_status heed_conversation_step(heed_conversation* conversation, heed_text_piece* piece);
// The same without waiting: begins a step, or gives what the last one gave and begins the next.
HEED_API heed_status heed_conversation_poll(heed_conversation* conversation, heed_text_piece* piece);
// Steps until the answer is over, and gives each piece that has text to `callback`, on this thread and within this call.
// If that returns anything but 0, the answer is cancelled. It must not call heed with this model.
HEED_API heed_status heed_conversation_answer(heed_conversation* conversation,
                                              int32_t (*callback)(void* user, const char* text, size_t bytes),
                                              void* user);
// Ends the answer; what was given of it counts as said.
HEED_API heed_status heed_conversation_cancel(heed_conversation* conversation);
HEED_API heed_status heed_conversation_answering(heed_conversation* conversation, int32_t* answering);
// The text of the answer so far, or of the last one, and how it ended (HEED_END_*; may be NULL).
HEED_API heed_status heed_conversation_text(heed_conversation* conversation, heed_blob** text, int32_t* end);

// Forgets all but the system message, and begins the draws anew.
HEED_API heed_status heed_conversation_reset(heed_conversation* conversation);
HEED_API heed_status heed_conversation_set_sampling(heed_conversation* conversation,
                                                    const heed_text_sampling* sampling);
// All tokens, as they are or will be read. *unread, if not NULL, is how many of them steps have yet to read.
HEED_API heed_status heed_conversation_ids(heed_conversation* conversation, int32_t* ids, size_t capacity,
                                           size_t* count, int64_t* unread);
// Its keys and values, which lie in row *row (may be NULL) of the first axis; destroy the handle as others.
HEED_API heed_status heed_conversation_state(heed_conversation* conversation, heed_state** state, int64_t* row);

// Makes a grammar for JSON that is valid for a schema; <heed/grammar.hpp> says which schemas. Unsupported: a keyword that is
// not understood.
HEED_API heed_status heed_grammar_of_json_schema(const char* schema, const heed_log* log, heed_blob** grammar);

#ifdef __cplusplus
}
#endif

#endif
