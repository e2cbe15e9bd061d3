// Networks of language models and of BERT's family. text.h has them with their tokenizers.
#ifndef HEED_C_MODELS_H
#define HEED_C_MODELS_H

#include <heed/c/files.h>
#include <heed/c/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Decoders --------------------------------------------------------------------------------------------------

// The numbers of a config.json or of a GGUF file's metadata. Weights have Hugging Face's names.
typedef struct heed_decoder_config {
  size_t size;
  const char* family;  // "llama", "qwen2", ...; NULL: "llama". One that was read lives as long as the program.
  int64_t width;       // of a token's row
  int64_t heads;       // query heads
  int64_t kv_heads;    // 0: heads
  int64_t head_width;  // 0: width / heads
  int64_t hidden;      // width of the feed-forward; 0: four times the width
  int64_t vocabulary;
  int64_t positions;     // the longest text of the training; of GPT-2 rows of the table of positions
  int64_t window;        // the sliding window of attention, in tokens; 0: none
  int64_t rotary_width;  // these are those of heed_rotary_options
  int64_t trained_length;
  int32_t layers;
  int32_t window_from;  // the first layer with a window
  int32_t full_every;   // layers full_every - 1, 2 full_every - 1, ... have none; 0: all have it
  float eps;            // of the norms; 0: 1e-5
  float rotary_base;
  int32_t rotary_pairs;
  int32_t scaling;
  float factor;
  float low;
  float high;
  int32_t untied;  // 1: logits are products with "lm_head.weight"; 0: with the table of tokens
  int32_t out_in;  // GPT-2: 1: matrices are stored as [out, in], as in GGUF files; 0: as [in, out]
} heed_decoder_config;

// Read from a GGUF checkpoint's metadata; Unsupported for others.
HEED_API heed_status heed_decoder_config_read(heed_checkpoint* checkpoint, heed_decoder_config* config);
// From the text of a Hugging Face config.json; `name` is for messages.
HEED_API heed_status heed_decoder_config_parse(const char* json, const char* name, const heed_log* log,
                                               heed_decoder_config* config);

typedef struct heed_decoder_options {
  size_t size;
  const heed_cache* cache;  // NULL: every run has all tokens
  heed_tensor last;         // I32 [B, 1]: which token of each row gives logits; default: the last one of a run
  const char* prefix;       // comes before all names; NULL: none
  int32_t all_logits;       // 1: of each token, not only of the last one of a run
  int32_t attention;        // 1: gives what tokens looked at
  heed_dtype dtype;         // of activations
  heed_dtype weight_dtype;  // storage of matrices and tables: F16 or BF16 if dtype is F32; default: dtype
} heed_decoder_options;
typedef struct heed_decoder_result {
  heed_tensor hidden;  // [B, S, width], after the last norm
  heed_tensor logits;  // [B, 1, vocabulary], or [B, S, vocabulary] with all_logits
} heed_decoder_result;
// Ids I32 [B, S] -> logits. With options->attention, attention[0 .. layers - 1] become the weights of each layer, [B, heads, S,
// keys]; attention_capacity is how many fit (BufferTooSmall, and the graph is unchanged). Returns the graph's status.
HEED_API heed_status heed_nn_decoder(heed_graph* graph, heed_tensor ids, const heed_decoder_config* config,
                                     const heed_decoder_options* options, heed_decoder_result* result,
                                     heed_tensor* attention, size_t attention_capacity);

// A language model's network and weights in files: a GGUF file, or a folder with config.json and safetensors. Several
// threads may use it at a time.
//
// MissingWeight, ShapeMismatch, Unsupported: the network's tensors are not all there as its numbers ask; the message names them.
HEED_API heed_status heed_decoder_model_open(const char* path, const heed_log* log, heed_decoder_model** model);
HEED_API heed_status heed_decoder_model_destroy(heed_decoder_model* model);
HEED_API heed_status heed_decoder_model_get_config(heed_decoder_model* model, heed_decoder_config* config);
HEED_API heed_status heed_decoder_model_bytes(heed_decoder_model* model, uint64_t* bytes);  // of its tensors
// Uploads the network's weights. If options->dtype is F32, matrices stay as they are in the file, or become options->weight_dtype. Of
// `upload` only `progress` counts.
HEED_API heed_status heed_decoder_model_upload(heed_decoder_model* model, heed_device* device,
                                               const heed_decoder_options* options, const heed_upload_options* upload,
                                               heed_weights** weights);
// As heed_nn_decoder, with the same dtype and weight_dtype as the upload; options->prefix must be NULL.
HEED_API heed_status heed_decoder_model_build(heed_decoder_model* model, heed_graph* graph, heed_tensor ids,
                                              const heed_decoder_options* options, heed_decoder_result* result,
                                              heed_tensor* attention, size_t attention_capacity);

// --- BERT ------------------------------------------------------------------------------------------------------

typedef struct heed_bert_config {
  size_t size;
  int64_t vocabulary;  // rows of the word table; 0: 30522
  int64_t width;       // 0: 768
  int64_t layers;      // 0: 12
  int64_t heads;       // divides width; 0: 12
  int64_t hidden;      // 0: 3072
  int64_t positions;   // the longest input; 0: 512
  int64_t types;       // 0: 2
  int64_t pad_id;
  int32_t activation;  // HEED_ACTIVATION_*; 0: GELU_ERF
  float eps;           // 0: 1e-12
} heed_bert_config;
// From a config.json on disk, or its text. InvalidFile, Unsupported: the message names the field.
HEED_API heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config);
HEED_API heed_status heed_bert_config_parse(const char* json, const char* name, const heed_log* log,
                                            heed_bert_config* config);
// Uploads a safetensors checkpoint, opened or parsed, in the form that heed_nn_bert asks for. MissingWeight, ShapeMismatch,
// DTypeMismatch: it is not what the configuration says. Unsupported: a GGUF file.
HEED_API heed_status heed_bert_upload(heed_checkpoint* checkpoint, const heed_bert_config* config, heed_device* device,
                                      const heed_upload_options* options, heed_weights** weights);

typedef struct heed_bert_options {
  size_t size;
  heed_tensor types;        // token types, I32 [B, S]; 0: all are 0
  heed_dtype dtype;         // F32, F16 or BF16: storage of the weights and of all results
  heed_dtype weight_dtype;  // of matrices and tables: F16 or BF16 if dtype is F32
  int32_t pooler;           // 1: heed_bert_result::pooled
  int32_t attention;        // 1: the weights of each layer
  int32_t separate_qkv;     // 1: weights have a checkpoint's own names; 0: those of heed_bert_upload
  int32_t reserved;         // 0
} heed_bert_options;
typedef struct heed_bert_result {
  heed_tensor tokens;  // [B, S, width], after the last layer
  heed_tensor pooled;  // [B, width]; 0 unless asked for
} heed_bert_result;
// Ids I32 [B, S]; `padding` U8 [B, S] with its HEED_MASK_* meaning. With options->attention, attention[0 .. layers - 1] become
// the weights of each layer, [B, heads, S, S].
HEED_API heed_status heed_nn_bert(heed_graph* graph, heed_tensor ids, heed_tensor padding, int32_t padding_meaning,
                                  const heed_bert_config* config, const heed_bert_options* options,
                                  heed_bert_result* result, heed_tensor* attention, size_t attention_capacity);
// The mean of the kept tokens, [B, S, C] -> [B, C], with each row scaled to length 1.
HEED_API heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding,
                                           int32_t padding_meaning);

#ifdef __cplusplus
}
#endif

#endif
