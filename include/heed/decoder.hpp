// Decoders that speak: networks of families such as Llama, Qwen and GPT-2, from token ids to logits, with keys and values that
// stay from run to run.
//
//   heed::Graph g;
//   heed::Dim past = g.position("past", 511), tokens = g.extent("tokens", 32);
//   heed::Tensor ids = g.input("ids", {1, tokens}, heed::DType::I32);
//   heed::DecoderResult y = heed::nn::decoder(g, ids, config, {.cache = {.capacity = 512, .past = past}});
//   g.output("next", g.argmax(y.logits));                                          // [1, 1]
//
// A plan of this graph reads a prompt in runs of up to 32 tokens and goes on token by token; each conversation has a
// heed::State of its own (<heed/state.hpp>).
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

// The numbers of a checkpoint's config.json, or of a GGUF file's metadata (<heed/decoder_model.hpp> reads both). Weights have
// Hugging Face's names; factors of norms are whole, also those of Gemma, whose checkpoints leave out 1.
struct DecoderConfig {
  std::string_view family = "llama";  // one of decoder_families(); only read during calls
  int layers = 0;
  int64_t width = 0;       // of a token's row
  int64_t heads = 0;       // query heads
  int64_t kv_heads = 0;    // 0: heads
  int64_t head_width = 0;  // 0: width / heads
  int64_t hidden = 0;      // width of the feed-forward; 0: four times the width
  int64_t vocabulary = 0;  // rows of the table of tokens
  // The longest text of the training. Where a table tells positions (gpt2), its rows, and the most tokens of a conversation.
  int64_t positions = 0;
  // The sliding window of attention, in tokens ("sliding_window"; AttentionOptions::window). 0: none. Layers have it from
  // `window_from` on (Qwen's "max_window_layers"), but for each `full_every`th, which sees all: layer full_every - 1,
  // 2 full_every - 1, ... (2 where layers alternate; Gemma's "sliding_window_pattern"). 0: no such layer, as Mistral has none.
  int64_t window = 0;
  int window_from = 0, full_every = 0;
  float eps = 1e-5f;          // of the norms
  RotaryOptions rotary = {};  // base and scaling; not of gpt2
  // The rotary base of layers that do not see all, which then have no scaling (Gemma's "rope_local_base_freq"). 0: as the others.
  float window_base = 0.0f;
  // Scores of attention are divided by the root of this (Gemma's "query_pre_attn_scalar"). 0: head_width.
  int64_t score_width = 0;
  bool tied = true;    // logits are products with the table of tokens; false: with the matrix "lm_head.weight"
  bool in_out = true;  // gpt2: matrices are stored as [in, out]; false: as [out, in], as in GGUF files
};

// What nn::decoder computes, and in which types.
struct DecoderOptions {
  nn::Cache cache = {};     // capacity 0: every run has all tokens
  bool all_logits = false;  // of each token, not only of the last one of a run
  bool attention =
      false;  // gives what tokens looked at; attentions then store their weights (AttentionOptions::return_weights)
  // Which token of each row gives logits, I32 [B, 1], where rows of a batch have different numbers of tokens: 0 is a run's
  // first, and -1 gives those of a row of zeros. Default: the last one of a run.
  Tensor last = {};
  DType dtype = DType::F32;
  // Storage of matrices and tables: F16 or BF16 if `dtype` is F32. Default: `dtype`. Upload the weights with
  // {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}. A weight that the graph has already keeps its type.
  std::optional<DType> weight_dtype = {};
  // Comes before all names; states are named as the attentions, "model.layers.0.self_attn.keys", with it.
  std::string_view prefix = {};
};

// What nn::decoder gives.
struct DecoderResult {
  Tensor hidden;  // [B, S, width], after the last norm
  Tensor logits;  // [B, 1, vocabulary], or [B, S, vocabulary] with all_logits
  // With DecoderOptions::attention, the weights of each layer: [B, heads, S, keys], where keys are those of the cache, too.
  std::vector<Tensor> attention;
};

namespace nn {

// Ids I32 [B, S], from 0 to vocabulary - 1; B and S may be extents. Tokens see themselves and those before them.
HEED_API DecoderResult decoder(Graph& g, Tensor ids, const DecoderConfig& config, const DecoderOptions& options = {});

}  // namespace nn
}  // namespace heed
