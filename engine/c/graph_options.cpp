// Structs of options as the engine takes them.
#include "c/graph_object.hpp"

namespace heed::c {
namespace {

std::optional<float> fill_of(int32_t has, float fill) { return has != 0 ? std::optional(fill) : std::nullopt; }
std::optional<float> scale_of(float scale) { return scale != 0 ? std::optional(scale) : std::nullopt; }
float or_default(float value, float otherwise) { return value != 0 ? value : otherwise; }
template <class T>
T or_default(T value, T otherwise) {
  return value != 0 ? value : otherwise;
}
Causal causal_of(Call& call, int32_t causal) { return call.one_of(causal, Causal::BottomRight, "causal"); }

}  // namespace

SoftmaxOptions Building::softmax(const heed_softmax_options* options) {
  const Given<heed_softmax_options> from(call_, options, "the softmax options");
  return {.scale = or_default(from->scale, 1.0f),
          .causal = causal_of(call_, from->causal),
          .key_padding = mask(from->key_padding, from->key_padding_meaning, "key_padding"),
          .mask = mask(from->mask, from->mask_meaning, "mask"),
          .bias = in(from->bias),
          .masked_fill = fill_of(from->has_masked_fill, from->masked_fill)};
}

RotaryOptions Building::rotary(const heed_rotary_options* options) {
  const Given<heed_rotary_options> from(call_, options, "the rotary options");
  RotaryOptions to;
  to.pairs = from->pairs == HEED_ROTARY_ADJACENT ? RotaryPairs::Adjacent : RotaryPairs::Halves;
  (void)call_.one_of(from->pairs, HEED_ROTARY_ADJACENT, "pairs");
  to.width = from->width;
  to.base = or_default(from->base, to.base);
  to.scaling = {.kind = call_.one_of(from->scaling, RotaryScaling::Kind::Llama3, "scaling"),
                .factor = or_default(from->factor, to.scaling.factor),
                .low = or_default(from->low, to.scaling.low),
                .high = or_default(from->high, to.scaling.high),
                .trained_length = or_default(from->trained_length, to.scaling.trained_length)};
  to.first = dim(from->first);
  to.positions = in(from->positions);
  return to;
}

SampleOptions sample_numbers(Call& call, const heed_sample_options& from) {
  if (from.top_k < 0) call.fail(HEED_INVALID_ARGUMENT, "top_k is negative");
  return {.repetition_penalty = or_default(from.repetition_penalty, 1.0f),
          .temperature = from.greedy != 0 ? 0.0f : or_default(from.temperature, 1.0f),
          .top_k = from.top_k,
          .top_p = or_default(from.top_p, 1.0f),
          .min_p = from.min_p};
}

SampleOptions Building::sample(const heed_sample_options* options) {
  const Given<heed_sample_options> from(call_, options, "the sample options");
  SampleOptions to = sample_numbers(call_, *from);
  to.previous = in(from->previous);
  if (from->previous_count != 0) to.previous_count = dim(from->previous_count);
  to.previous_counts = in(from->previous_counts);
  to.bias = in(from->bias);
  to.step = dim(from->step);
  to.steps = in(from->steps);
  to.seeds = in(from->seeds);
  to.settings = in(from->settings);
  if (from->has_stream != 0) to.stream = from->stream;
  return to;
}

AttentionOptions Building::attention(const heed_attention_options* options) {
  const Given<heed_attention_options> from(call_, options, "the attention options");
  return {.scale = scale_of(from->scale),
          .causal = causal_of(call_, from->causal),
          .window = from->window,
          .lengths = in(from->lengths),
          .positions = in(from->positions),
          .key_padding = mask(from->key_padding, from->key_padding_meaning, "key_padding"),
          .mask = mask(from->mask, from->mask_meaning, "mask"),
          .bias = in(from->bias),
          .masked_fill = fill_of(from->has_masked_fill, from->masked_fill),
          .dropout = from->dropout,
          .return_weights = from->return_weights != 0,
          .return_log_sum_exp = from->return_log_sum_exp != 0};
}

nn::Cache Building::cache(const heed_cache* cache) {
  const Given<heed_cache> from(call_, cache, "the cache");
  return {.capacity = from->capacity,
          .past = dim(from->past),
          .dtype = call_.dtype_if(from->dtype),
          .positions = in(from->positions),
          .rows = from->rows,
          .row = dim(from->row),
          .tokens = {in(from->token_rows), in(from->token_of_rows), in(from->token_positions)}};
}

nn::MultiHeadOptions Building::multi_head(const heed_multi_head_options* options) {
  static constexpr nn::AttentionNames kSets[] = {{}, nn::kFusedQkv, nn::kFusedKv, nn::kSeparate, nn::kTorchMultihead};
  const Given<heed_multi_head_options> from(call_, options, "the multi-head options");
  nn::MultiHeadOptions to;
  to.heads = or_default<int64_t>(from->heads, 1);
  to.kv_heads = from->kv_heads;
  to.d_k = from->d_k;
  to.d_v = from->d_v;
  to.out_width = from->out_width;
  const auto naming = call_.one_of(from->naming, HEED_NAMES_TORCH_MULTIHEAD, "naming");
  if (naming != HEED_NAMES_DEFAULT) to.names = kSets[naming];
  if (from->names != nullptr) {
    const Given<heed_attention_names> names(call_, from->names, "the attention names");
    to.names = {.qkv = call_.text_or(names->qkv),
                .q = call_.text_or(names->q),
                .kv = call_.text_or(names->kv),
                .k = call_.text_or(names->k),
                .v = call_.text_or(names->v),
                .out = call_.text_or(names->out),
                .in_out = names->in_out != 0,
                .transposed = names->transposed != 0,
                .q_norm = call_.text_or(names->q_norm),
                .k_norm = call_.text_or(names->k_norm)};
  }
  to.bias = from->no_bias == 0;
  to.out_bias = from->no_out_bias == 0;
  to.weight_dtype = call_.dtype_if(from->weight_dtype);
  to.scale = scale_of(from->scale);
  to.causal = causal_of(call_, from->causal);
  to.window = from->window;
  to.lengths = in(from->lengths);
  to.positions = in(from->positions);
  to.key_padding = mask(from->key_padding, from->key_padding_meaning, "key_padding");
  to.mask = mask(from->mask, from->mask_meaning, "mask");
  to.score_bias = in(from->score_bias);
  to.masked_fill = fill_of(from->has_masked_fill, from->masked_fill);
  if (from->rotary != nullptr) to.rotary = rotary(from->rotary);
  to.head_norm_eps = or_default(from->head_norm_eps, to.head_norm_eps);
  if (from->cache != nullptr) to.cache = cache(from->cache);
  to.attention_dropout = from->attention_dropout;
  to.output_dropout = from->output_dropout;
  if (from->weights != nullptr) {
    told_.push_back({{}, from->weights});
    to.weights = &told_.back().tensor;
  }
  return to;
}

nn::NormOptions Building::norm(const heed_norm_options* options) {
  const Given<heed_norm_options> from(call_, options, "the norm options");
  return {.placement = call_.one_of(from->placement, nn::NormPlacement::Pre, "placement"),
          .eps = or_default(from->eps, 1e-5f),
          .kind = call_.one_of(from->kind, nn::NormKind::Rms, "the norm's kind")};
}

nn::AttentionBlockNames Building::names(const heed_attention_block_names* names, nn::AttentionBlockNames otherwise) {
  const Given<heed_attention_block_names> from(call_, names, "the block's names");
  return {.attention = call_.text_or(from->attention, otherwise.attention),
          .norm = call_.text_or(from->norm, otherwise.norm),
          .streams = call_.text_or(from->streams),
          .streams_twice = from->streams_twice != 0};
}

nn::FeedForwardBlockNames Building::names(const heed_feed_forward_block_names* names,
                                          nn::FeedForwardBlockNames otherwise) {
  const Given<heed_feed_forward_block_names> from(call_, names, "the block's names");
  return {.feed_forward = call_.text_or(from->feed_forward, otherwise.feed_forward),
          .norm = call_.text_or(from->norm, otherwise.norm)};
}

nn::FeedForwardOptions Building::feed_forward(const heed_feed_forward_options* options) {
  const Given<heed_feed_forward_options> from(call_, options, "the feed-forward options");
  nn::FeedForwardOptions to;
  to.hidden = from->hidden;
  to.activation = activation_of(call_, from->activation, to.activation);
  to.first = call_.text_or(from->first, to.first);
  to.second = call_.text_or(from->second, to.second);
  to.gate = call_.text_or(from->gate);
  to.transposed = from->transposed != 0;
  to.bias = from->no_bias == 0;
  to.weight_dtype = call_.dtype_if(from->weight_dtype);
  to.hidden_dropout = from->hidden_dropout;
  to.output_dropout = from->output_dropout;
  return to;
}

nn::EncoderLayerOptions Building::encoder_layer(const heed_encoder_layer_options* options) {
  const Given<heed_encoder_layer_options> from(call_, options, "the encoder layer's options");
  const nn::EncoderLayerOptions usual;
  return {.attention = multi_head(from->attention),
          .feed_forward = feed_forward(from->feed_forward),
          .norm = norm(from->norm),
          .attention_names = names(from->attention_names, usual.attention_names),
          .feed_forward_names = names(from->feed_forward_names, usual.feed_forward_names)};
}

nn::DecoderLayerOptions Building::decoder_layer(const heed_decoder_layer_options* options) {
  const Given<heed_decoder_layer_options> from(call_, options, "the decoder layer's options");
  const nn::DecoderLayerOptions usual;
  return {.self_attention = multi_head(from->self_attention),
          .cross_attention = multi_head(from->cross_attention),
          .feed_forward = feed_forward(from->feed_forward),
          .norm = norm(from->norm),
          .self_names = names(from->self_names, usual.self_names),
          .cross_names = names(from->cross_names, usual.cross_names),
          .feed_forward_names = names(from->feed_forward_names, usual.feed_forward_names)};
}

}  // namespace heed::c
