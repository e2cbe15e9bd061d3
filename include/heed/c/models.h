// Networks of language models and of BERT-family encoders. text.h combines them with their tokenizers.
#ifndef HEED_C_MODELS_H
#define HEED_C_MODELS_H

#include <heed/c/files.h>
#include <heed/c/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Decoders --------------------------------------------------------------------------------------------------

// Reads a GGUF checkpoint's metadata; Unsupported for others.
HEED_API heed_status heed_decoder_config_read(heed_checkpoint* checkpoint, heed_decoder_config* config);
// Reads the text of a Hugging Face config.json; `name` is for messages.
HEED_API heed_status heed_decoder_config_parse(const char* json, const char* name, const heed_log* log,
                                               heed_decoder_config* config);

// Results of heed_nn_decoder.
typedef struct heed_decoder_result {
  heed_tensor hidden;  // [B, S, width], after the final norm
  heed_tensor logits;  // [B, 1, vocabulary], or [B, S, vocabulary] with all_logits
} heed_decoder_result;
// Ids I32 [B, S] -> logits. With options->attention, attention[0 .. layers - 1] become the weights of each layer, [B, heads, S, keys];
// attention_capacity is the size of that array (BufferTooSmall, and the graph is unchanged). Returns the graph's status.
HEED_API heed_status heed_nn_decoder(heed_graph* graph, heed_tensor ids, const heed_decoder_config* config,
                                     const heed_decoder_options* options, heed_decoder_result* result,
                                     heed_tensor* attention, size_t attention_capacity);

// A language model's network and weights in files: a GGUF file, or a folder with config.json and safetensors. Several threads may use it at
// the same time.
//
// MissingWeight, ShapeMismatch, Unsupported: tensors of the network are missing or do not fit its configuration; the message names them.
HEED_API heed_status heed_decoder_model_open(const char* path, const heed_log* log, heed_decoder_model** model);
HEED_API heed_status heed_decoder_model_destroy(heed_decoder_model* model);
HEED_API heed_status heed_decoder_model_get_config(heed_decoder_model* model, heed_decoder_config* config);
HEED_API heed_status heed_decoder_model_bytes(heed_decoder_model* model, uint64_t* bytes);  // total size of its tensors
// Uploads the network's weights. If options->dtype is F32, matrices keep the file's type, or are converted to options->weight_dtype. Of
// `upload` only `progress` has an effect.
HEED_API heed_status heed_decoder_model_upload(heed_decoder_model* model, heed_device* device,
                                               const heed_decoder_options* options, const heed_upload_options* upload,
                                               heed_weights** weights);
// As heed_nn_decoder, with the same dtype and weight_dtype as the upload; options->prefix must be NULL.
HEED_API heed_status heed_decoder_model_build(heed_decoder_model* model, heed_graph* graph, heed_tensor ids,
                                              const heed_decoder_options* options, heed_decoder_result* result,
                                              heed_tensor* attention, size_t attention_capacity);

// --- BERT ------------------------------------------------------------------------------------------------------

// Read a config.json from disk, or its text. InvalidFile, Unsupported: the message names the field.
HEED_API heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config);
HEED_API heed_status heed_bert_config_parse(const char* json, const char* name, const heed_log* log,
                                            heed_bert_config* config);
// Uploads a safetensors checkpoint, opened or parsed, in the form that heed_nn_bert asks for. MissingWeight, ShapeMismatch, DTypeMismatch:
// it does not fit the configuration. Unsupported: a GGUF file.
HEED_API heed_status heed_bert_upload(heed_checkpoint* checkpoint, const heed_bert_config* config, heed_device* device,
                                      const heed_upload_options* options, heed_weights** weights);

// Results of heed_nn_bert.
typedef struct heed_bert_result {
  heed_tensor tokens;  // [B, S, width], after the last layer
  heed_tensor pooled;  // [B, width]; 0 unless options->pooler
} heed_bert_result;
// Ids I32 [B, S]; `padding` U8 [B, S] with its HEED_MASK_* meaning. With options->attention, attention[0 .. layers - 1] become
// the weights of each layer, [B, heads, S, S].
HEED_API heed_status heed_nn_bert(heed_graph* graph, heed_tensor ids, heed_tensor padding, int32_t padding_meaning,
                                  const heed_bert_config* config, const heed_bert_options* options,
                                  heed_bert_result* result, heed_tensor* attention, size_t attention_capacity);

#ifdef __cplusplus
}
#endif

#endif
