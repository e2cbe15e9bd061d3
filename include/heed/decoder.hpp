// Decoders of language models: networks of families such as Llama, Qwen and GPT-2, from token ids to logits, with keys and values that stay
// from run to run.
//
//   heed::Graph g;
//   heed::Dim past = g.position("past", 511), tokens = g.extent("tokens", 32);
//   heed::Tensor ids = g.input("ids", {1, tokens}, heed::DType::I32);
//   heed::DecoderResult y = heed::nn::decoder(g, ids, config, {.cache = {.capacity = 512, .past = past}});
//   g.output("next", g.argmax(y.logits));                                          // [1, 1]
//
// A plan of this graph reads a prompt in runs of up to 32 tokens and then decodes token by token. Each conversation has a heed::State of
// its own (<heed/state.hpp>).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/nn.hpp>

namespace heed {

// The families of decoders that heed knows, by the names that DecoderConfig::family takes. Each is described in a file of
// engine/models. The names end in a zero byte and live as long as the program.
HEED_API std::vector<std::string_view> decoder_families();

// The numbers of a checkpoint's config.json, or of a GGUF file's metadata (<heed/decoder_model.hpp> reads both). Weights have Hugging
// Face's names. Factors of norms are complete: Gemma's checkpoints store them minus 1, and loading adds it.
struct DecoderConfig {
  std::string_view family = "llama";  // one of decoder_families(); only read during calls
  int layers = 0;
  int64_t width = 0;       // width of a token's embedding
  int64_t heads = 0;       // number of query heads
  int64_t kv_heads = 0;    // number of key and value heads; 0: heads
  int64_t head_width = 0;  // 0: width / heads
  int64_t hidden = 0;      // width of the feed-forward; 0: four times the width
  int64_t vocabulary = 0;  // rows of the table of tokens
  // The longest text of the training, in tokens. With a table of positions (gpt2): its rows, and the most tokens of a conversation.
  int64_t positions = 0;
  // The sliding window of attention, in tokens ("sliding_window"; AttentionOptions::window). 0: none. It applies to layers from
  // `window_from` on (Qwen's "max_window_layers"), except every `full_every`th layer, which attends to all tokens: layers full_every - 1, 2
  // full_every - 1, ... (2 where layers alternate; Gemma's "sliding_window_pattern"). full_every 0: no such layers, as in Mistral.
  int64_t window = 0;
  int window_from = 0, full_every = 0;
  float eps = 1e-5f;          // added under the root of the norms
  RotaryOptions rotary = {};  // base and scaling; not of gpt2
  // The rotary base of layers with a sliding window, which then have no scaling (Gemma's "rope_local_base_freq"). 0: as in the other
  // layers.
  float window_base = 0.0f;
  // Attention scores are divided by the square root of this (Gemma's "query_pre_attn_scalar"). 0: head_width.
  int64_t score_width = 0;
  bool tied = true;    // true: logits are matmuls with the token table; false: with the matrix "lm_head.weight"
  bool in_out = true;  // gpt2: matrices are stored as [in, out]; false: as [out, in], as in GGUF files
};

// What nn::decoder computes, and in which types.
struct DecoderOptions {
  nn::Cache cache = {};     // capacity 0: every run has all tokens
  bool all_logits = false;  // logits of every token, not only of a run's last one
  bool attention = false;  // gives the attention weights; attentions then store them (AttentionOptions::return_weights)
  // Which token of each row gives logits, I32 [B, 1], where rows of a batch have different numbers of tokens. 0 is the run's first token;
  // -1 gives logits of a row of zeros. Default: the last token of a run.
  Tensor last = {};
  DType dtype = DType::F32;
  // Storage of matrices and tables: F16 or BF16 if `dtype` is F32. Default: `dtype`. Upload the weights with {.keep_dtype = false, .dtype =
  // weight_dtype, .only_matrices = true}. A weight that the graph already has keeps its type.
  std::optional<DType> weight_dtype = {};
  // Precedes all names. States are named after the attentions: "model.layers.0.self_attn.keys" behind the prefix.
  std::string_view prefix = {};
};

// What nn::decoder gives.
struct DecoderResult {
  Tensor hidden;  // [B, S, width], after the final norm
  Tensor logits;  // [B, 1, vocabulary], or [B, S, vocabulary] with all_logits
  // With DecoderOptions::attention: the weights of each layer, [B, heads, S, keys], over the keys of the cache, too.
  std::vector<Tensor> attention;
};

namespace nn {

// Adds the network to `g`. ids: I32 [B, S], from 0 to vocabulary - 1; B and S may be extents. Attention is causal.
HEED_API DecoderResult decoder(Graph& g, Tensor ids, const DecoderConfig& config, const DecoderOptions& options = {});

}  // namespace nn
}  // namespace heed
