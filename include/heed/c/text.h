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

// A byte pair tokenizer. Several threads may use it at the same time.
//
// `path` is a tokenizer.json, a folder with one, or a GGUF file. InvalidFile: damaged. Unsupported: another kind.
HEED_API heed_status heed_tokenizer_open(const char* path, const heed_log* log, heed_tokenizer** tokenizer);
HEED_API heed_status heed_tokenizer_destroy(heed_tokenizer* tokenizer);
HEED_API size_t heed_tokenizer_size(heed_tokenizer* tokenizer);  // ids are 0 .. size - 1; 0 if the handle is invalid
// *id becomes that of a token, spelled as in the file. NotFound: there is none.
HEED_API heed_status heed_tokenizer_id(heed_tokenizer* tokenizer, const char* token, int32_t* id);
// The token as in the file; valid until the tokenizer is destroyed. IndexOutOfRange.
HEED_API heed_status heed_tokenizer_token(heed_tokenizer* tokenizer, int32_t id, const char** token);
// The ids of a text. read_special: control tokens that are spelled out in the text become these tokens. add_special: adds the special
// tokens that the model wants before and after the text. `bytes` is the length of the text, which may then contain zeros; SIZE_MAX: up to
// the first 0.
HEED_API heed_status heed_tokenizer_encode(heed_tokenizer* tokenizer, const char* text, size_t bytes,
                                           int32_t read_special, int32_t add_special, int32_t* ids, size_t capacity,
                                           size_t* count);
// The text of ids. show_special: writes control tokens, too. IndexOutOfRange: an id is outside the vocabulary.
HEED_API heed_status heed_tokenizer_decode(heed_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                           int32_t show_special, heed_blob** text);

// Attention weights [layers, heads, queries, tokens]. In a text encoder all tokens are queries; in a language model the last one is.
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

// A sentence-transformers model on a device: turns texts into vectors of length 1. One thread at a time.

// Loads a model. `folder` holds config.json, model.safetensors and tokenizer.json or vocab.txt, as sentence-transformers writes them.
// Unsupported: a module other than a BERT, mean pooling, and normalizing.
HEED_API heed_status heed_text_encoder_open(heed_device* device, const char* folder,
                                            const heed_text_encoder_options* options, heed_text_encoder** encoder);
HEED_API heed_status heed_text_encoder_destroy(heed_text_encoder* encoder);

// The model's properties.
typedef struct heed_text_encoder_info {
  size_t size;
  int64_t width;  // number of elements of a vector
  int64_t max_tokens;
  int64_t max_batch;
  uint64_t fingerprint;  // vectors of two encoders can be compared if these are equal
  heed_dtype weight_dtype;
  int32_t reserved;
} heed_text_encoder_info;
HEED_API heed_status heed_text_encoder_get_info(heed_text_encoder* encoder, heed_text_encoder_info* info);
// Its plan and weights, for heed_plan_pass and the like; destroy them like other handles.
HEED_API heed_status heed_text_encoder_plan(heed_text_encoder* encoder, heed_plan** plan);
HEED_API heed_status heed_text_encoder_weights(heed_text_encoder* encoder, heed_weights** weights);

// Options of heed_text_encoder_encode.
typedef struct heed_encode_options {
  size_t size;
  // Called during the encoding, on the calling thread, with the number of texts that are done; a nonzero result stops it. NULL: none.
  int32_t (*progress)(void* user, size_t done, size_t total);
  void* progress_user;
  size_t* truncated;  // becomes the number of texts with more than max_tokens tokens; may be NULL
  size_t* done;       // becomes the number of texts that are done; may be NULL
} heed_encode_options;
// Fills vectors [count, width]; `capacity` counts floats (InvalidArgument: too few).
HEED_API heed_status heed_text_encoder_encode(heed_text_encoder* encoder, const char* const* texts, size_t count,
                                              float* vectors, size_t capacity, const heed_encode_options* options);
// The ids of a text as encode reads them, at most max_tokens.
HEED_API heed_status heed_text_encoder_tokens(heed_text_encoder* encoder, const char* text, int32_t* ids,
                                              size_t capacity, size_t* count);
// The attention weights of one text. OutOfMemory: they would take more than 1 GiB.
HEED_API heed_status heed_text_encoder_attention(heed_text_encoder* encoder, const char* text,
                                                 heed_attention_map** map);

// --- Language models ------------------------------------------------------------------------------------------

// A language model on a device. It and all its conversations serve one thread at a time.

// Loads a model. `path` is a GGUF file, or a folder with config.json, safetensors and tokenizer.json.
HEED_API heed_status heed_text_generator_open(heed_device* device, const char* path,
                                              const heed_text_generator_options* options,
                                              heed_text_generator** generator);
HEED_API heed_status heed_text_generator_destroy(heed_text_generator* generator);

// The model's properties, and the memory of a conversation.
typedef struct heed_text_generator_info {
  size_t size;
  int64_t context;
  uint64_t conversation_bytes;  // memory of each conversation
  heed_dtype weight_dtype;      // the type of most of the weights' bytes
  int32_t has_chat;             // 1: its chat template is known, so that heed_conversation_say works
} heed_text_generator_info;
HEED_API heed_status heed_text_generator_get_info(heed_text_generator* generator, heed_text_generator_info* info);
// The network's configuration, as the files state it.
HEED_API heed_status heed_text_generator_config(heed_text_generator* generator, heed_decoder_config* config);
// Handles of its parts; destroy them like others.
HEED_API heed_status heed_text_generator_tokenizer(heed_text_generator* generator, heed_tokenizer** tokenizer);
HEED_API heed_status heed_text_generator_plan(heed_text_generator* generator, heed_plan** plan);
HEED_API heed_status heed_text_generator_weights(heed_text_generator* generator, heed_weights** weights);
// The loss of the model on a text: the mean of -log(probability) over all tokens but the first, in nats. *count, if not NULL, is the number
// of tokens that counted. InvalidArgument: fewer than two tokens.
HEED_API heed_status heed_text_generator_loss(heed_text_generator* generator, const int32_t* ids, size_t id_count,
                                              double* mean, size_t* count);
// The attention of the last of these tokens.
HEED_API heed_status heed_text_generator_attention(heed_text_generator* generator, const int32_t* ids, size_t count,
                                                   heed_attention_map** map);

// Begins a conversation; the first step reads its prompt. InvalidArgument: an option is out of range, or the grammar is invalid.
HEED_API heed_status heed_conversation_begin(heed_text_generator* generator, const heed_conversation_options* options,
                                             heed_conversation** conversation);
// Makes an independent conversation that continues from here, also in the middle of an answer.
HEED_API heed_status heed_conversation_fork(heed_conversation* conversation, heed_conversation** other);
// Saves a conversation as bytes, also in the middle of an answer: messages, tokens, settings and the number of draws, a few KB, and with
// options->keys its keys and values. TextConversation in <heed/text_generator.hpp> says when the same tokens follow. OutOfMemory.
// InvalidArgument: with keys, a step is recorded.
HEED_API heed_status heed_conversation_save(heed_conversation* conversation, const heed_text_save_options* options,
                                            heed_blob** bytes);
// Restores a saved conversation. InvalidFile: the bytes are damaged, or no saved conversation. Unsupported: another version of heed saved it.
// InvalidArgument: it is of another model, or there are several. ExtentOutOfRange: it is longer than the context. OutOfMemory.
HEED_API heed_status heed_conversation_load(heed_text_generator* generator, const void* data, size_t bytes,
                                            heed_conversation** conversation);
// Waits for the step that poll began, if any.
HEED_API heed_status heed_conversation_destroy(heed_conversation* conversation);

// Input of a conversation. These calls return InvalidArgument while it answers, for text that is not UTF-8, and if messages and raw text
// are mixed.
//
// Adds a message of the user, and asks for an answer. ExtentOutOfRange: more tokens than the context can hold. Unsupported: no known chat
// template.
HEED_API heed_status heed_conversation_say(heed_conversation* conversation, const char* text);
// Adds a message without asking for an answer; role is "system", "user" or "assistant".
HEED_API heed_status heed_conversation_add(heed_conversation* conversation, const char* role, const char* text);
// Adds to a raw text, which the answer continues. special 1: control tokens in the text are read as such, and those that the model wants
// are added.
HEED_API heed_status heed_conversation_prompt(heed_conversation* conversation, const char* text, int32_t special);
HEED_API heed_status heed_conversation_prompt_ids(heed_conversation* conversation, const int32_t* ids, size_t count);
// Asks for an answer to the messages so far, or for more of a raw text.
HEED_API heed_status heed_conversation_answer_now(heed_conversation* conversation);
// Lets steps read the existing messages already, so that an answer can begin sooner.
HEED_API heed_status heed_conversation_read_ahead(heed_conversation* conversation);

// The result of a step.
typedef struct heed_text_piece {
  size_t size;
  const char* text;   // whole characters, perhaps none; valid until the next call for the conversation
  size_t text_bytes;  // without the final 0
  int64_t read;       // how many prompt tokens the step read
  int32_t token;      // the token that the step drew; -1: none
  int32_t done;       // 1: a step has ended
  int32_t end;        // HEED_END_*
  int32_t reserved;
} heed_text_piece;
// Reads some prompt tokens, or draws one, and waits for it. InvalidArgument: the conversation is not answering.
HEED_API heed_status heed_conversation_step(heed_conversation* conversation, heed_text_piece* piece);
// The same without waiting: begins a step, or returns the last one's result and begins the next.
HEED_API heed_status heed_conversation_poll(heed_conversation* conversation, heed_text_piece* piece);
// Steps until the answer is over, and passes each piece that has text to `callback`, on this thread and within this call. A nonzero result
// of the callback cancels the answer. The callback must not call heed with this model.
HEED_API heed_status heed_conversation_answer(heed_conversation* conversation,
                                              int32_t (*callback)(void* user, const char* text, size_t bytes),
                                              void* user);
// Ends the answer; the text so far counts as said.
HEED_API heed_status heed_conversation_cancel(heed_conversation* conversation);
HEED_API heed_status heed_conversation_answering(heed_conversation* conversation, int32_t* answering);
// The text of the answer so far, or of the last one, and how it ended (HEED_END_*; may be NULL).
HEED_API heed_status heed_conversation_text(heed_conversation* conversation, heed_blob** text, int32_t* end);

// Drops everything except the system message, and restarts the draws.
HEED_API heed_status heed_conversation_reset(heed_conversation* conversation);
HEED_API heed_status heed_conversation_set_sampling(heed_conversation* conversation,
                                                    const heed_text_sampling* sampling);
// All tokens, read or yet to be read. *unread, if not NULL, is how many of them are yet to be read.
HEED_API heed_status heed_conversation_ids(heed_conversation* conversation, int32_t* ids, size_t capacity,
                                           size_t* count, int64_t* unread);
// Its keys and values, in row *row (may be NULL) of the first axis; destroy the handle like others.
HEED_API heed_status heed_conversation_state(heed_conversation* conversation, heed_state** state, int64_t* row);

// Makes a grammar for JSON that is valid for a schema; <heed/grammar.hpp> lists what is supported. Unsupported: another keyword.
HEED_API heed_status heed_grammar_of_json_schema(const char* schema, const heed_log* log, heed_blob** grammar);

#ifdef __cplusplus
}
#endif

#endif
