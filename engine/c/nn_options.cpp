#include "c/nn_options.hpp"

namespace heed::c {
namespace {

std::optional<nn::AttentionNames> names_of(Building& on, const heed_attention_names* names, int32_t naming) {
  Call& call = on.call();
  if (names == nullptr) {
    switch (call.one_of(naming, int32_t{HEED_NAMES_TORCH_MULTIHEAD}, "naming")) {
      case HEED_NAMES_FUSED_QKV: return nn::kFusedQkv;
      case HEED_NAMES_FUSED_KV: return nn::kFusedKv;
      case HEED_NAMES_SEPARATE: return nn::kSeparate;
      case HEED_NAMES_TORCH_MULTIHEAD: return nn::kTorchMultihead;
      default: return {};
    }
  }
  const Given<heed_attention_names> given(call, names, "the attention's names");
  nn::AttentionNames made;
  made.qkv = call.text_or(given->qkv);
  made.q = call.text_or(given->q);
  made.kv = call.text_or(given->kv);
  made.k = call.text_or(given->k);
  made.v = call.text_or(given->v);
  made.out = call.text_or(given->out);
  made.in_out = given->in_out != 0;
  made.transposed = given->transposed != 0;
  made.q_norm = call.text_or(given->q_norm);
  made.k_norm = call.text_or(given->k_norm);
  return made;
}

}  // namespace

nn::Cache cache_of(Building& on, const heed_cache* cache) {
  nn::Cache made;
  if (cache == nullptr) return made;
  const Given<heed_cache> given(on.call(), cache, "the cache");
  made.capacity = given->capacity;
  made.past = on.dim(given->past);
  made.dtype = on.call().dtype_if(given->dtype);
  made.positions = on.tensor_if(given->positions);
  made.rows = given->rows;
  made.row = on.dim(given->row);
  made.tokens.rows = on.tensor_if(given->token_rows);
  made.tokens.of_rows = on.tensor_if(given->token_of_rows);
  made.tokens.positions = on.tensor_if(given->token_positions);
  return made;
}

MultiHead::MultiHead(Building& on, const heed_multi_head_options* options) {
  Call& call = on.call();
  const Given<heed_multi_head_options> given(call, options, "the attention's options");
  nn::MultiHeadOptions& made = options_;
  if (given->heads != 0) made.heads = given->heads;
  made.kv_heads = given->kv_heads;
  made.d_k = given->d_k;
  made.d_v = given->d_v;
  made.out_width = given->out_width;
  made.names = names_of(on, given->names, given->naming);
  made.bias = given->no_bias == 0;
  made.out_bias = given->no_out_bias == 0;
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  if (given->scale != 0) made.scale = given->scale;
  made.causal = call.one_of(given->causal, Causal::BottomRight, "causal");
  made.window = given->window;
  made.lengths = on.tensor_if(given->lengths);
  made.positions = on.tensor_if(given->positions);
  made.key_padding = on.mask(given->key_padding, given->key_padding_meaning, "key_padding");
  made.mask = on.mask(given->mask, given->mask_meaning, "the mask");
  made.score_bias = on.tensor_if(given->score_bias);
  made.masked_fill = fill_of(given->has_masked_fill, given->masked_fill);
  if (given->rotary != nullptr) made.rotary = rotary_of(on, given->rotary);
  if (given->head_norm_eps != 0) made.head_norm_eps = given->head_norm_eps;
  made.cache = cache_of(on, given->cache);
  made.attention_dropout = given->attention_dropout;
  made.output_dropout = given->output_dropout;
  wanted_ = given->weights;
  if (wanted_ == nullptr) return;
  *wanted_ = 0;
  made.weights = &weights_;
}

void MultiHead::give(Building& on) const {
  if (wanted_ != nullptr && on) *wanted_ = on.graph().name(weights_);
}

nn::FeedForwardOptions feed_forward_of(Building& on, const heed_feed_forward_options* options) {
  Call& call = on.call();
  const Given<heed_feed_forward_options> given(call, options, "the feed-forward options");
  nn::FeedForwardOptions made;
  made.hidden = given->hidden;
  made.activation = activation_of(on, given->activation, made.activation);
  made.first = call.text_or(given->first, made.first);
  made.second = call.text_or(given->second, made.second);
  made.gate = call.text_or(given->gate);
  made.transposed = given->transposed != 0;
  made.bias = given->no_bias == 0;
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  made.hidden_dropout = given->hidden_dropout;
  made.output_dropout = given->output_dropout;
  return made;
}

nn::NormOptions norm_of(Building& on, const heed_norm_options* options) {
  const Given<heed_norm_options> given(on.call(), options, "the norm options");
  nn::NormOptions made;
  made.placement = on.call().one_of(given->placement, nn::NormPlacement::Pre, "the norm's placement");
  made.kind = on.call().one_of(given->kind, nn::NormKind::Rms, "the norm's kind");
  if (given->eps != 0) made.eps = given->eps;
  return made;
}

nn::AttentionBlockNames names_of(Building& on, const heed_attention_block_names* names, nn::AttentionBlockNames usual) {
  const Given<heed_attention_block_names> given(on.call(), names, "the block's names");
  usual.attention = on.call().text_or(given->attention, usual.attention);
  usual.norm = on.call().text_or(given->norm, usual.norm);
  return usual;
}

nn::FeedForwardBlockNames names_of(Building& on, const heed_feed_forward_block_names* names,
                                   nn::FeedForwardBlockNames usual) {
  const Given<heed_feed_forward_block_names> given(on.call(), names, "the block's names");
  usual.feed_forward = on.call().text_or(given->feed_forward);
  usual.norm = on.call().text_or(given->norm, usual.norm);
  return usual;
}

EncoderLayer::EncoderLayer(Building& on, const heed_encoder_layer_options* given)
    : given_(on.call(), given, "the encoder layer's options"), attention_(on, given_->attention) {
  options_.attention = attention_.options();
  options_.feed_forward = feed_forward_of(on, given_->feed_forward);
  options_.norm = norm_of(on, given_->norm);
  options_.attention_names = names_of(on, given_->attention_names, options_.attention_names);
  options_.feed_forward_names = names_of(on, given_->feed_forward_names, options_.feed_forward_names);
}

DecoderLayer::DecoderLayer(Building& on, const heed_decoder_layer_options* given)
    : given_(on.call(), given, "the decoder layer's options"),
      self_(on, given_->self_attention),
      cross_(on, given_->cross_attention) {
  options_.self_attention = self_.options();
  options_.cross_attention = cross_.options();
  options_.feed_forward = feed_forward_of(on, given_->feed_forward);
  options_.norm = norm_of(on, given_->norm);
  options_.self_names = names_of(on, given_->self_names, options_.self_names);
  options_.cross_names = names_of(on, given_->cross_names, options_.cross_names);
  options_.feed_forward_names = names_of(on, given_->feed_forward_names, options_.feed_forward_names);
}

// The numbers of the interface are those of the engine.
static_assert(HEED_CAUSAL_BOTTOM_RIGHT == static_cast<int>(Causal::BottomRight));
static_assert(HEED_NORM_PRE == static_cast<int>(nn::NormPlacement::Pre));
static_assert(HEED_NORM_RMS == static_cast<int>(nn::NormKind::Rms));
static_assert(HEED_ACTIVATION_TANH == static_cast<int>(Activation::Tanh) + 1);
static_assert(HEED_ROTARY_SCALING_LLAMA3 == static_cast<int>(RotaryScaling::Kind::Llama3));
static_assert(HEED_PIPELINES_BACKGROUND == static_cast<int>(PipelineCreation::Background));

}  // namespace heed::c
