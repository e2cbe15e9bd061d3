// Made by engine/c/generate.py of the C++ headers: change those, and run it.
// clang-format off
#include <cmath>

#include "c/generated/options.hpp"

namespace heed::c {

heed::WindowOptions read(Call& call, const heed_window_options* given) {
  heed::WindowOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_window_options")) return made;
  made.stride = given->stride;
  made.before = given->before;
  made.behind = given->behind;
  made.dilation = given->dilation;
  return made;
}

heed_window_options to_c(const heed::WindowOptions& from) {
  heed_window_options to = {};
  to.size = sizeof(to);
  to.stride = from.stride;
  to.before = from.before;
  to.behind = from.behind;
  to.dilation = from.dilation;
  return to;
}

heed::Conv2dOptions read(Call& call, const heed_conv2d_options* given) {
  heed::Conv2dOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_conv2d_options")) return made;
  made.rows = read(call, &given->rows);
  made.columns = read(call, &given->columns);
  return made;
}

heed_conv2d_options to_c(const heed::Conv2dOptions& from) {
  heed_conv2d_options to = {};
  to.size = sizeof(to);
  to.rows = to_c(from.rows);
  to.columns = to_c(from.columns);
  return to;
}

heed::MatmulOptions read(Call& call, const heed_matmul_options* given) {
  heed::MatmulOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_matmul_options")) return made;
  made.transpose_a = given->transpose_a != 0;
  made.transpose_b = given->transpose_b != 0;
  made.scale = given->scale;
  return made;
}

heed_matmul_options to_c(const heed::MatmulOptions& from) {
  heed_matmul_options to = {};
  to.size = sizeof(to);
  to.transpose_a = from.transpose_a;
  to.transpose_b = from.transpose_b;
  to.scale = from.scale;
  return to;
}

heed::SoftmaxOptions read(Building& on, const heed_softmax_options* given) {
  heed::SoftmaxOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_softmax_options")) return made;
  made.scale = given->scale;
  made.causal = on.call().one_of(given->causal, heed::Causal::BottomRight, "causal");
  made.key_padding = on.mask(given->key_padding, given->key_padding_meaning, "key_padding");
  made.mask = on.mask(given->mask, given->mask_meaning, "mask");
  made.bias = on.tensor_if(given->bias);
  if (!std::isnan(given->masked_fill)) made.masked_fill = given->masked_fill;
  return made;
}

heed_softmax_options to_c(const heed::SoftmaxOptions& from) {
  heed_softmax_options to = {};
  to.size = sizeof(to);
  to.scale = from.scale;
  to.causal = static_cast<heed_causal>(from.causal);
  to.key_padding_meaning = -1;
  to.mask_meaning = -1;
  to.masked_fill = from.masked_fill ? *from.masked_fill : NAN;
  return to;
}

heed::AttentionOptions read(Building& on, const heed_attention_options* given) {
  heed::AttentionOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_attention_options")) return made;
  if (!std::isnan(given->scale)) made.scale = given->scale;
  made.softcap = given->softcap;
  made.causal = on.call().one_of(given->causal, heed::Causal::BottomRight, "causal");
  made.window = given->window;
  made.window_ahead = given->window_ahead;
  made.lengths = on.tensor_if(given->lengths);
  made.positions = on.tensor_if(given->positions);
  made.key_padding = on.mask(given->key_padding, given->key_padding_meaning, "key_padding");
  made.mask = on.mask(given->mask, given->mask_meaning, "mask");
  made.bias = on.tensor_if(given->bias);
  if (!std::isnan(given->masked_fill)) made.masked_fill = given->masked_fill;
  made.dropout = given->dropout;
  made.return_weights = given->return_weights != 0;
  made.return_log_sum_exp = given->return_log_sum_exp != 0;
  made.return_scores = on.call().one_of(given->return_scores, heed::Scores::Masked, "return_scores");
  return made;
}

heed_attention_options to_c(const heed::AttentionOptions& from) {
  heed_attention_options to = {};
  to.size = sizeof(to);
  to.scale = from.scale ? *from.scale : NAN;
  to.softcap = from.softcap;
  to.causal = static_cast<heed_causal>(from.causal);
  to.window = from.window;
  to.window_ahead = from.window_ahead;
  to.key_padding_meaning = -1;
  to.mask_meaning = -1;
  to.masked_fill = from.masked_fill ? *from.masked_fill : NAN;
  to.dropout = from.dropout;
  to.return_weights = from.return_weights;
  to.return_log_sum_exp = from.return_log_sum_exp;
  to.return_scores = static_cast<heed_scores>(from.return_scores);
  return to;
}

heed::PadOptions read(Call& call, const heed_pad_options* given) {
  heed::PadOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_pad_options")) return made;
  made.mode = call.one_of(given->mode, heed::Padding::Wrap, "mode");
  made.value = given->value;
  return made;
}

heed_pad_options to_c(const heed::PadOptions& from) {
  heed_pad_options to = {};
  to.size = sizeof(to);
  to.mode = static_cast<heed_padding>(from.mode);
  to.value = from.value;
  return to;
}

heed::RotaryScaling read(Call& call, const heed_rotary_scaling* given) {
  heed::RotaryScaling made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_rotary_scaling")) return made;
  made.kind = call.one_of(given->kind, heed::RotaryScaling::Kind::Llama3, "kind");
  made.factor = given->factor;
  made.low = given->low;
  made.high = given->high;
  made.trained_length = given->trained_length;
  return made;
}

heed_rotary_scaling to_c(const heed::RotaryScaling& from) {
  heed_rotary_scaling to = {};
  to.size = sizeof(to);
  to.kind = static_cast<heed_rotary_scaling_kind>(from.kind);
  to.factor = from.factor;
  to.low = from.low;
  to.high = from.high;
  to.trained_length = from.trained_length;
  return to;
}

heed::RotaryOptions read(Building& on, const heed_rotary_options* given) {
  heed::RotaryOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_rotary_options")) return made;
  made.pairs = on.call().one_of(given->pairs, heed::RotaryPairs::Halves, "pairs");
  made.width = given->width;
  made.base = given->base;
  made.scaling = read(on.call(), &given->scaling);
  made.first = on.dim(given->first);
  made.positions = on.tensor_if(given->positions);
  return made;
}

heed_rotary_options to_c(const heed::RotaryOptions& from) {
  heed_rotary_options to = {};
  to.size = sizeof(to);
  to.pairs = static_cast<heed_rotary_pairs>(from.pairs);
  to.width = from.width;
  to.base = from.base;
  to.scaling = to_c(from.scaling);
  to.first = from.first.value;
  return to;
}

heed::SampleOptions read(Building& on, const heed_sample_options* given) {
  heed::SampleOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_sample_options")) return made;
  made.previous = on.tensor_if(given->previous);
  if (given->previous_count != -1) made.previous_count = on.dim(given->previous_count);
  made.previous_counts = on.tensor_if(given->previous_counts);
  made.repetition_penalty = given->repetition_penalty;
  made.bias = on.tensor_if(given->bias);
  made.temperature = given->temperature;
  made.top_k = given->top_k;
  made.top_p = given->top_p;
  made.min_p = given->min_p;
  made.step = on.dim(given->step);
  made.steps = on.tensor_if(given->steps);
  made.seeds = on.tensor_if(given->seeds);
  made.stream = on.call().word_if(given->stream, "stream");
  made.settings = on.tensor_if(given->settings);
  return made;
}

heed_sample_options to_c(const heed::SampleOptions& from) {
  heed_sample_options to = {};
  to.size = sizeof(to);
  to.previous_count = -1;
  to.repetition_penalty = from.repetition_penalty;
  to.temperature = from.temperature;
  to.top_k = from.top_k;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.step = from.step.value;
  to.stream = from.stream ? *from.stream : int64_t{-1};
  return to;
}

heed::nn::AttentionNames read(Call& call, const heed_attention_names* given) {
  heed::nn::AttentionNames made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_attention_names")) return made;
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

heed_attention_names to_c(const heed::nn::AttentionNames& from) {
  heed_attention_names to = {};
  to.size = sizeof(to);
  to.qkv = from.qkv.empty() ? nullptr : from.qkv.data();
  to.q = from.q.empty() ? nullptr : from.q.data();
  to.kv = from.kv.empty() ? nullptr : from.kv.data();
  to.k = from.k.empty() ? nullptr : from.k.data();
  to.v = from.v.empty() ? nullptr : from.v.data();
  to.out = from.out.empty() ? nullptr : from.out.data();
  to.in_out = from.in_out;
  to.transposed = from.transposed;
  to.q_norm = from.q_norm.empty() ? nullptr : from.q_norm.data();
  to.k_norm = from.k_norm.empty() ? nullptr : from.k_norm.data();
  return to;
}

heed::nn::CacheTokens read(Building& on, const heed_cache_tokens* given) {
  heed::nn::CacheTokens made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_cache_tokens")) return made;
  made.rows = on.tensor_if(given->rows);
  made.of_rows = on.tensor_if(given->of_rows);
  made.positions = on.tensor_if(given->positions);
  return made;
}

heed_cache_tokens to_c(const heed::nn::CacheTokens&) {
  heed_cache_tokens to = {};
  to.size = sizeof(to);
  return to;
}

heed::nn::Cache read(Building& on, const heed_cache* given) {
  heed::nn::Cache made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_cache")) return made;
  made.capacity = given->capacity;
  made.past = on.dim(given->past);
  made.dtype = on.call().dtype_if(given->dtype);
  made.positions = on.tensor_if(given->positions);
  made.rows = given->rows;
  made.row = on.dim(given->row);
  made.tokens = read(on, &given->tokens);
  return made;
}

heed_cache to_c(const heed::nn::Cache& from) {
  heed_cache to = {};
  to.size = sizeof(to);
  to.capacity = from.capacity;
  to.past = from.past.value;
  to.dtype = from.dtype ? static_cast<heed_dtype>(*from.dtype) : -1;
  to.rows = from.rows;
  to.row = from.row.value;
  to.tokens = to_c(from.tokens);
  return to;
}

heed::nn::MultiHeadOptions read(Building& on, const heed_multi_head_options* given) {
  heed::nn::MultiHeadOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_multi_head_options")) return made;
  made.heads = given->heads;
  made.kv_heads = given->kv_heads;
  made.d_k = given->d_k;
  made.d_v = given->d_v;
  made.out_width = given->out_width;
  if (given->names != nullptr) made.names = read(on.call(), given->names);
  made.bias = given->bias != 0;
  made.out_bias = given->out_bias != 0;
  made.weight_dtype = on.call().dtype_if(given->weight_dtype);
  if (!std::isnan(given->scale)) made.scale = given->scale;
  made.softcap = given->softcap;
  made.causal = on.call().one_of(given->causal, heed::Causal::BottomRight, "causal");
  made.window = given->window;
  made.window_ahead = given->window_ahead;
  made.lengths = on.tensor_if(given->lengths);
  made.positions = on.tensor_if(given->positions);
  made.key_padding = on.mask(given->key_padding, given->key_padding_meaning, "key_padding");
  made.mask = on.mask(given->mask, given->mask_meaning, "mask");
  made.score_bias = on.tensor_if(given->score_bias);
  if (!std::isnan(given->masked_fill)) made.masked_fill = given->masked_fill;
  if (given->rotary != nullptr) made.rotary = read(on, given->rotary);
  made.head_norm_eps = given->head_norm_eps;
  made.cache = read(on, &given->cache);
  made.attention_dropout = given->attention_dropout;
  made.output_dropout = given->output_dropout;
  made.weights = on.wanted(given->weights);
  return made;
}

heed_multi_head_options to_c(const heed::nn::MultiHeadOptions& from) {
  heed_multi_head_options to = {};
  to.size = sizeof(to);
  to.heads = from.heads;
  to.kv_heads = from.kv_heads;
  to.d_k = from.d_k;
  to.d_v = from.d_v;
  to.out_width = from.out_width;
  to.bias = from.bias;
  to.out_bias = from.out_bias;
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.scale = from.scale ? *from.scale : NAN;
  to.softcap = from.softcap;
  to.causal = static_cast<heed_causal>(from.causal);
  to.window = from.window;
  to.window_ahead = from.window_ahead;
  to.key_padding_meaning = -1;
  to.mask_meaning = -1;
  to.masked_fill = from.masked_fill ? *from.masked_fill : NAN;
  to.head_norm_eps = from.head_norm_eps;
  to.cache = to_c(from.cache);
  to.attention_dropout = from.attention_dropout;
  to.output_dropout = from.output_dropout;
  return to;
}

heed::nn::NormOptions read(Call& call, const heed_norm_options* given) {
  heed::nn::NormOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_norm_options")) return made;
  made.placement = call.one_of(given->placement, heed::nn::NormPlacement::Pre, "placement");
  made.eps = given->eps;
  made.kind = call.one_of(given->kind, heed::nn::NormKind::Rms, "kind");
  return made;
}

heed_norm_options to_c(const heed::nn::NormOptions& from) {
  heed_norm_options to = {};
  to.size = sizeof(to);
  to.placement = static_cast<heed_norm_placement>(from.placement);
  to.eps = from.eps;
  to.kind = static_cast<heed_norm_kind>(from.kind);
  return to;
}

heed::nn::AttentionBlockNames read(Call& call, const heed_attention_block_names* given) {
  heed::nn::AttentionBlockNames made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_attention_block_names")) return made;
  made.attention = call.text_or(given->attention);
  made.norm = call.text_or(given->norm);
  return made;
}

heed_attention_block_names to_c(const heed::nn::AttentionBlockNames& from) {
  heed_attention_block_names to = {};
  to.size = sizeof(to);
  to.attention = from.attention.empty() ? nullptr : from.attention.data();
  to.norm = from.norm.empty() ? nullptr : from.norm.data();
  return to;
}

heed::nn::FeedForwardOptions read(Call& call, const heed_feed_forward_options* given) {
  heed::nn::FeedForwardOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_feed_forward_options")) return made;
  made.hidden = given->hidden;
  made.activation = call.one_of(given->activation, heed::Activation::Tanh, "activation");
  made.first = call.text_or(given->first);
  made.second = call.text_or(given->second);
  made.gate = call.text_or(given->gate);
  made.transposed = given->transposed != 0;
  made.bias = given->bias != 0;
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  made.hidden_dropout = given->hidden_dropout;
  made.output_dropout = given->output_dropout;
  return made;
}

heed_feed_forward_options to_c(const heed::nn::FeedForwardOptions& from) {
  heed_feed_forward_options to = {};
  to.size = sizeof(to);
  to.hidden = from.hidden;
  to.activation = static_cast<heed_activation>(from.activation);
  to.first = from.first.empty() ? nullptr : from.first.data();
  to.second = from.second.empty() ? nullptr : from.second.data();
  to.gate = from.gate.empty() ? nullptr : from.gate.data();
  to.transposed = from.transposed;
  to.bias = from.bias;
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.hidden_dropout = from.hidden_dropout;
  to.output_dropout = from.output_dropout;
  return to;
}

heed::nn::FeedForwardBlockNames read(Call& call, const heed_feed_forward_block_names* given) {
  heed::nn::FeedForwardBlockNames made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_feed_forward_block_names")) return made;
  made.feed_forward = call.text_or(given->feed_forward);
  made.norm = call.text_or(given->norm);
  return made;
}

heed_feed_forward_block_names to_c(const heed::nn::FeedForwardBlockNames& from) {
  heed_feed_forward_block_names to = {};
  to.size = sizeof(to);
  to.feed_forward = from.feed_forward.empty() ? nullptr : from.feed_forward.data();
  to.norm = from.norm.empty() ? nullptr : from.norm.data();
  return to;
}

heed::nn::EncoderLayerOptions read(Building& on, const heed_encoder_layer_options* given) {
  heed::nn::EncoderLayerOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_encoder_layer_options")) return made;
  made.attention = read(on, &given->attention);
  made.feed_forward = read(on.call(), &given->feed_forward);
  made.norm = read(on.call(), &given->norm);
  made.attention_names = read(on.call(), &given->attention_names);
  made.feed_forward_names = read(on.call(), &given->feed_forward_names);
  return made;
}

heed_encoder_layer_options to_c(const heed::nn::EncoderLayerOptions& from) {
  heed_encoder_layer_options to = {};
  to.size = sizeof(to);
  to.attention = to_c(from.attention);
  to.feed_forward = to_c(from.feed_forward);
  to.norm = to_c(from.norm);
  to.attention_names = to_c(from.attention_names);
  to.feed_forward_names = to_c(from.feed_forward_names);
  return to;
}

heed::nn::DecoderLayerOptions read(Building& on, const heed_decoder_layer_options* given) {
  heed::nn::DecoderLayerOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_decoder_layer_options")) return made;
  made.self_attention = read(on, &given->self_attention);
  made.cross_attention = read(on, &given->cross_attention);
  made.feed_forward = read(on.call(), &given->feed_forward);
  made.norm = read(on.call(), &given->norm);
  made.self_names = read(on.call(), &given->self_names);
  made.cross_names = read(on.call(), &given->cross_names);
  made.feed_forward_names = read(on.call(), &given->feed_forward_names);
  return made;
}

heed_decoder_layer_options to_c(const heed::nn::DecoderLayerOptions& from) {
  heed_decoder_layer_options to = {};
  to.size = sizeof(to);
  to.self_attention = to_c(from.self_attention);
  to.cross_attention = to_c(from.cross_attention);
  to.feed_forward = to_c(from.feed_forward);
  to.norm = to_c(from.norm);
  to.self_names = to_c(from.self_names);
  to.cross_names = to_c(from.cross_names);
  to.feed_forward_names = to_c(from.feed_forward_names);
  return to;
}

heed::nn::StackOptions read(Call& call, const heed_stack_options* given) {
  heed::nn::StackOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_stack_options")) return made;
  made.layers = given->layers;
  made.final_norm = call.text_or(given->final_norm);
  return made;
}

heed_stack_options to_c(const heed::nn::StackOptions& from) {
  heed_stack_options to = {};
  to.size = sizeof(to);
  to.layers = from.layers;
  to.final_norm = from.final_norm.empty() ? nullptr : from.final_norm.data();
  return to;
}

heed::nn::CrossEntropyOptions read(Building& on, const heed_cross_entropy_options* given) {
  heed::nn::CrossEntropyOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_cross_entropy_options")) return made;
  made.class_weights = on.tensor_if(given->class_weights);
  made.ignored = given->ignored;
  made.label_smoothing = given->label_smoothing;
  made.reduction = on.call().one_of(given->reduction, heed::nn::LossReduction::Mean, "reduction");
  made.of_log_probabilities = given->of_log_probabilities != 0;
  return made;
}

heed_cross_entropy_options to_c(const heed::nn::CrossEntropyOptions& from) {
  heed_cross_entropy_options to = {};
  to.size = sizeof(to);
  to.ignored = from.ignored;
  to.label_smoothing = from.label_smoothing;
  to.reduction = static_cast<heed_loss_reduction>(from.reduction);
  to.of_log_probabilities = from.of_log_probabilities;
  return to;
}

heed::nn::TransformerOptions read(Building& on, const heed_transformer_options* given) {
  heed::nn::TransformerOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_transformer_options")) return made;
  made.encoder = read(on, &given->encoder);
  made.decoder = read(on, &given->decoder);
  made.encoder_stack = read(on.call(), &given->encoder_stack);
  made.decoder_stack = read(on.call(), &given->decoder_stack);
  made.encoder_prefix = on.call().text_or(given->encoder_prefix);
  made.decoder_prefix = on.call().text_or(given->decoder_prefix);
  made.positional_encoding = given->positional_encoding != 0;
  made.input_dropout = given->input_dropout;
  made.vocabulary = given->vocabulary;
  made.out = on.call().text_or(given->out);
  made.out_weight_dtype = on.call().dtype_if(given->out_weight_dtype);
  return made;
}

heed_transformer_options to_c(const heed::nn::TransformerOptions& from) {
  heed_transformer_options to = {};
  to.size = sizeof(to);
  to.encoder = to_c(from.encoder);
  to.decoder = to_c(from.decoder);
  to.encoder_stack = to_c(from.encoder_stack);
  to.decoder_stack = to_c(from.decoder_stack);
  to.encoder_prefix = from.encoder_prefix.empty() ? nullptr : from.encoder_prefix.data();
  to.decoder_prefix = from.decoder_prefix.empty() ? nullptr : from.decoder_prefix.data();
  to.positional_encoding = from.positional_encoding;
  to.input_dropout = from.input_dropout;
  to.vocabulary = from.vocabulary;
  to.out = from.out.empty() ? nullptr : from.out.data();
  to.out_weight_dtype = from.out_weight_dtype ? static_cast<heed_dtype>(*from.out_weight_dtype) : -1;
  return to;
}

heed::DeviceOptions read(Call& call, const heed_device_options* given) {
  heed::DeviceOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_device_options")) return made;
  made.select = call.text_or(given->select);
  made.threads = given->threads;
  made.cpu_instructions = call.text_or(given->cpu_instructions);
  made.vulkan_loader = call.text_or(given->vulkan_loader);
  if (call.has_array(given->pipeline_cache, given->pipeline_cache_bytes, "pipeline_cache"))
    made.pipeline_cache = {static_cast<const std::byte*>(given->pipeline_cache), given->pipeline_cache_bytes};
  made.validation = given->validation != 0;
  made.debug_labels = given->debug_labels != 0;
  made.low_priority = given->low_priority != 0;
  made.async_compute = given->async_compute != 0;
  made.self_test = given->self_test != 0;
  if (call.has_array(given->self_test_results, given->self_test_results_bytes, "self_test_results"))
    made.self_test_results = {static_cast<const std::byte*>(given->self_test_results), given->self_test_results_bytes};
  return made;
}

heed_device_options to_c(const heed::DeviceOptions& from) {
  heed_device_options to = {};
  to.size = sizeof(to);
  to.select = from.select.empty() ? nullptr : from.select.data();
  to.threads = from.threads;
  to.parallel_for = nullptr;
  to.cpu_instructions = from.cpu_instructions.empty() ? nullptr : from.cpu_instructions.data();
  to.vulkan_loader = from.vulkan_loader.empty() ? nullptr : from.vulkan_loader.data();
  to.validation = from.validation;
  to.debug_labels = from.debug_labels;
  to.low_priority = from.low_priority;
  to.async_compute = from.async_compute;
  to.self_test = from.self_test;
  return to;
}

heed::UploadOptions read(Call& call, const heed_upload_options* given) {
  heed::UploadOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_upload_options")) return made;
  made.progress = {given->progress, given->progress_user};
  return made;
}

heed_upload_options to_c(const heed::UploadOptions&) {
  heed_upload_options to = {};
  to.size = sizeof(to);
  to.dtype = HEED_DTYPE_DEFAULT;
  to.only_matrices = 0;
  to.release = nullptr;
  to.release_user = nullptr;
  return to;
}

heed::CompileOptions read(Call& call, const heed_compile_options* given) {
  heed::CompileOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_compile_options")) return made;
  made.training = given->training != 0;
  made.timestamps = given->timestamps != 0;
  made.strict = given->strict != 0;
  made.memory_limit = given->memory_limit;
  made.host_scratch = given->host_scratch != 0;
  made.record_slots = given->record_slots;
  made.pipelines = call.one_of(given->pipelines, heed::PipelineCreation::Background, "pipelines");
  made.round_rows = given->round_rows != 0;
  made.emulate_f32 = given->emulate_f32 != 0;
  made.reproducible = given->reproducible != 0;
  made.progress = given->progress != 0;
  return made;
}

heed_compile_options to_c(const heed::CompileOptions& from) {
  heed_compile_options to = {};
  to.size = sizeof(to);
  to.training = from.training;
  to.timestamps = from.timestamps;
  to.strict = from.strict;
  to.memory_limit = from.memory_limit;
  to.host_scratch = from.host_scratch;
  to.record_slots = from.record_slots;
  to.pipelines = static_cast<heed_pipeline_creation>(from.pipelines);
  to.round_rows = from.round_rows;
  to.emulate_f32 = from.emulate_f32;
  to.reproducible = from.reproducible;
  to.progress = from.progress;
  return to;
}

heed::train::GradientOptions read(Call& call, const heed_gradient_options* given) {
  heed::train::GradientOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_gradient_options")) return made;
  made.remat = call.text_or(given->remat);
  return made;
}

heed_gradient_options to_c(const heed::train::GradientOptions& from) {
  heed_gradient_options to = {};
  to.size = sizeof(to);
  to.remat = from.remat.empty() ? nullptr : from.remat.data();
  return to;
}

heed::train::OptimizerOptions read(Call& call, const heed_optimizer_options* given) {
  heed::train::OptimizerOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_optimizer_options")) return made;
  made.rule = call.one_of(given->rule, heed::train::UpdateRule::Sgd, "rule");
  made.momentum = given->momentum != 0;
  made.nesterov = given->nesterov != 0;
  made.accumulate = given->accumulate != 0;
  made.prefix = call.text_or(given->prefix);
  return made;
}

heed_optimizer_options to_c(const heed::train::OptimizerOptions& from) {
  heed_optimizer_options to = {};
  to.size = sizeof(to);
  to.rule = static_cast<heed_update_rule>(from.rule);
  to.momentum = from.momentum;
  to.nesterov = from.nesterov;
  to.accumulate = from.accumulate;
  to.prefix = from.prefix.empty() ? nullptr : from.prefix.data();
  return to;
}

heed::train::StepNumbers read(Call& call, const heed_step_numbers* given) {
  heed::train::StepNumbers made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_step_numbers")) return made;
  made.rate = given->rate;
  made.weight_decay = given->weight_decay;
  made.beta1 = given->beta1;
  made.beta2 = given->beta2;
  made.eps = given->eps;
  made.apply = given->apply != 0;
  made.runs = given->runs;
  made.loss_scale = given->loss_scale;
  made.max_norm = given->max_norm;
  return made;
}

heed_step_numbers to_c(const heed::train::StepNumbers& from) {
  heed_step_numbers to = {};
  to.size = sizeof(to);
  to.rate = from.rate;
  to.weight_decay = from.weight_decay;
  to.beta1 = from.beta1;
  to.beta2 = from.beta2;
  to.eps = from.eps;
  to.apply = from.apply;
  to.runs = from.runs;
  to.loss_scale = from.loss_scale;
  to.max_norm = from.max_norm;
  return to;
}

heed::train::LossScale read(Call& call, const heed_loss_scale* given) {
  heed::train::LossScale made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_loss_scale")) return made;
  made.scale = given->scale;
  made.least = given->least;
  made.most = given->most;
  made.grow_after = given->grow_after;
  made.good = given->good;
  return made;
}

heed_loss_scale to_c(const heed::train::LossScale& from) {
  heed_loss_scale to = {};
  to.size = sizeof(to);
  to.scale = from.scale;
  to.least = from.least;
  to.most = from.most;
  to.grow_after = from.grow_after;
  to.good = from.good;
  return to;
}

heed::train::InitialOptions read(Call& call, const heed_initial_options* given) {
  heed::train::InitialOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_initial_options")) return made;
  made.kind = call.one_of(given->kind, heed::train::Initial::KaimingNormal, "kind");
  made.mean = given->mean;
  made.deviation = given->deviation;
  made.gain = given->gain;
  made.seed = given->seed;
  made.stream = given->stream;
  return made;
}

heed_initial_options to_c(const heed::train::InitialOptions& from) {
  heed_initial_options to = {};
  to.size = sizeof(to);
  to.kind = static_cast<heed_initial>(from.kind);
  to.mean = from.mean;
  to.deviation = from.deviation;
  to.gain = from.gain;
  to.seed = from.seed;
  to.stream = from.stream;
  return to;
}

heed::BertConfig read(Call& call, const heed_bert_config* given) {
  heed::BertConfig made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_bert_config")) return made;
  made.vocabulary = given->vocabulary;
  made.width = given->width;
  made.layers = given->layers;
  made.heads = given->heads;
  made.hidden = given->hidden;
  made.positions = given->positions;
  made.types = given->types;
  made.activation = call.one_of(given->activation, heed::Activation::Tanh, "activation");
  made.eps = given->eps;
  made.pad_id = given->pad_id;
  return made;
}

heed_bert_config to_c(const heed::BertConfig& from) {
  heed_bert_config to = {};
  to.size = sizeof(to);
  to.vocabulary = from.vocabulary;
  to.width = from.width;
  to.layers = from.layers;
  to.heads = from.heads;
  to.hidden = from.hidden;
  to.positions = from.positions;
  to.types = from.types;
  to.activation = static_cast<heed_activation>(from.activation);
  to.eps = from.eps;
  to.pad_id = from.pad_id;
  return to;
}

heed::BertOptions read(Building& on, const heed_bert_options* given) {
  heed::BertOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_bert_options")) return made;
  made.dtype = on.call().dtype(given->dtype);
  made.weight_dtype = on.call().dtype_if(given->weight_dtype);
  made.pooler = given->pooler != 0;
  made.attention = given->attention != 0;
  made.joined_qkv = given->joined_qkv != 0;
  made.types = on.tensor_if(given->types);
  return made;
}

heed_bert_options to_c(const heed::BertOptions& from) {
  heed_bert_options to = {};
  to.size = sizeof(to);
  to.dtype = static_cast<heed_dtype>(from.dtype);
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.pooler = from.pooler;
  to.attention = from.attention;
  to.joined_qkv = from.joined_qkv;
  return to;
}

heed::DecoderConfig read(Building& on, const heed_decoder_config* given) {
  heed::DecoderConfig made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_decoder_config")) return made;
  made.family = on.call().text_or(given->family);
  made.layers = given->layers;
  made.width = given->width;
  made.heads = given->heads;
  made.kv_heads = given->kv_heads;
  made.head_width = given->head_width;
  made.hidden = given->hidden;
  made.vocabulary = given->vocabulary;
  made.positions = given->positions;
  made.window = given->window;
  made.window_from = given->window_from;
  made.full_every = given->full_every;
  made.eps = given->eps;
  made.rotary = read(on, &given->rotary);
  made.window_base = given->window_base;
  made.score_width = given->score_width;
  made.tied = given->tied != 0;
  made.in_out = given->in_out != 0;
  return made;
}

heed_decoder_config to_c(const heed::DecoderConfig& from) {
  heed_decoder_config to = {};
  to.size = sizeof(to);
  to.family = from.family.empty() ? nullptr : from.family.data();
  to.layers = from.layers;
  to.width = from.width;
  to.heads = from.heads;
  to.kv_heads = from.kv_heads;
  to.head_width = from.head_width;
  to.hidden = from.hidden;
  to.vocabulary = from.vocabulary;
  to.positions = from.positions;
  to.window = from.window;
  to.window_from = from.window_from;
  to.full_every = from.full_every;
  to.eps = from.eps;
  to.rotary = to_c(from.rotary);
  to.window_base = from.window_base;
  to.score_width = from.score_width;
  to.tied = from.tied;
  to.in_out = from.in_out;
  return to;
}

heed::DecoderOptions read(Building& on, const heed_decoder_options* given) {
  heed::DecoderOptions made;
  if (given == nullptr || !check_struct(on.call(), given, sizeof(*given), "heed_decoder_options")) return made;
  made.cache = read(on, &given->cache);
  made.all_logits = given->all_logits != 0;
  made.attention = given->attention != 0;
  made.last = on.tensor_if(given->last);
  made.dtype = on.call().dtype(given->dtype);
  made.weight_dtype = on.call().dtype_if(given->weight_dtype);
  made.prefix = on.call().text_or(given->prefix);
  return made;
}

heed_decoder_options to_c(const heed::DecoderOptions& from) {
  heed_decoder_options to = {};
  to.size = sizeof(to);
  to.cache = to_c(from.cache);
  to.all_logits = from.all_logits;
  to.attention = from.attention;
  to.dtype = static_cast<heed_dtype>(from.dtype);
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.prefix = from.prefix.empty() ? nullptr : from.prefix.data();
  return to;
}

heed::TextEncoderOptions read(Call& call, const heed_text_encoder_options* given) {
  heed::TextEncoderOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_text_encoder_options")) return made;
  made.dtype = call.dtype(given->dtype);
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  made.keep_weight_dtype = given->keep_weight_dtype != 0;
  made.max_batch = given->max_batch;
  made.max_tokens = given->max_tokens;
  made.timestamps = given->timestamps != 0;
  made.reproducible = given->reproducible != 0;
  made.progress = {given->progress, given->progress_user};
  return made;
}

heed_text_encoder_options to_c(const heed::TextEncoderOptions& from) {
  heed_text_encoder_options to = {};
  to.size = sizeof(to);
  to.dtype = static_cast<heed_dtype>(from.dtype);
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.keep_weight_dtype = from.keep_weight_dtype;
  to.max_batch = from.max_batch;
  to.max_tokens = from.max_tokens;
  to.timestamps = from.timestamps;
  to.reproducible = from.reproducible;
  return to;
}

heed::TextSampling read(Call& call, const heed_text_sampling* given) {
  heed::TextSampling made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_text_sampling")) return made;
  made.temperature = given->temperature;
  made.top_k = given->top_k;
  made.top_p = given->top_p;
  made.min_p = given->min_p;
  made.repetition_penalty = given->repetition_penalty;
  made.seed = given->seed;
  return made;
}

heed_text_sampling to_c(const heed::TextSampling& from) {
  heed_text_sampling to = {};
  to.size = sizeof(to);
  to.temperature = from.temperature;
  to.top_k = from.top_k;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.repetition_penalty = from.repetition_penalty;
  to.seed = from.seed;
  return to;
}

heed::TextGeneratorOptions read(Call& call, const heed_text_generator_options* given) {
  heed::TextGeneratorOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_text_generator_options")) return made;
  made.context = given->context;
  made.read = given->read;
  made.together = given->together;
  made.dtype = call.dtype(given->dtype);
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  made.cache_dtype = call.dtype_if(given->cache_dtype);
  made.round_rows = given->round_rows != 0;
  made.reproducible = given->reproducible != 0;
  made.progress = {given->progress, given->progress_user};
  return made;
}

heed_text_generator_options to_c(const heed::TextGeneratorOptions& from) {
  heed_text_generator_options to = {};
  to.size = sizeof(to);
  to.context = from.context;
  to.read = from.read;
  to.together = from.together;
  to.dtype = static_cast<heed_dtype>(from.dtype);
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.cache_dtype = from.cache_dtype ? static_cast<heed_dtype>(*from.cache_dtype) : -1;
  to.round_rows = from.round_rows;
  to.reproducible = from.reproducible;
  to.chat_template = nullptr;
  return to;
}

heed::TextConversationOptions read(Call& call, const heed_conversation_options* given) {
  heed::TextConversationOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_conversation_options")) return made;
  made.system = call.text_or(given->system);
  made.sampling = read(call, &given->sampling);
  made.grammar = call.text_or(given->grammar);
  made.most_tokens = given->most_tokens;
  made.overflow = call.one_of(given->overflow, heed::TextOverflow::Stop, "overflow");
  made.keep_tokens = given->keep_tokens;
  made.think = given->think != 0;
  made.date = call.text_or(given->date);
  return made;
}

heed_conversation_options to_c(const heed::TextConversationOptions& from) {
  heed_conversation_options to = {};
  to.size = sizeof(to);
  to.system = from.system.empty() ? nullptr : from.system.data();
  to.sampling = to_c(from.sampling);
  to.stop = nullptr;
  to.stop_count = 0;
  to.grammar = from.grammar.empty() ? nullptr : from.grammar.data();
  to.most_tokens = from.most_tokens;
  to.overflow = static_cast<heed_overflow>(from.overflow);
  to.keep_tokens = from.keep_tokens;
  to.think = from.think;
  to.date = from.date.empty() ? nullptr : from.date.data();
  return to;
}

heed::TextSaveOptions read(Call& call, const heed_text_save_options* given) {
  heed::TextSaveOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_text_save_options")) return made;
  made.keys = given->keys != 0;
  return made;
}

heed_text_save_options to_c(const heed::TextSaveOptions& from) {
  heed_text_save_options to = {};
  to.size = sizeof(to);
  to.keys = from.keys;
  return to;
}

heed::SpeechRecognizerOptions read(Call& call, const heed_speech_recognizer_options* given) {
  heed::SpeechRecognizerOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_speech_recognizer_options")) return made;
  made.weight_dtype = call.dtype_if(given->weight_dtype);
  made.cache_dtype = call.dtype_if(given->cache_dtype);
  made.round_rows = given->round_rows != 0;
  made.reproducible = given->reproducible != 0;
  made.timestamps = given->timestamps != 0;
  made.progress = {given->progress, given->progress_user};
  return made;
}

heed_speech_recognizer_options to_c(const heed::SpeechRecognizerOptions& from) {
  heed_speech_recognizer_options to = {};
  to.size = sizeof(to);
  to.weight_dtype = from.weight_dtype ? static_cast<heed_dtype>(*from.weight_dtype) : -1;
  to.cache_dtype = from.cache_dtype ? static_cast<heed_dtype>(*from.cache_dtype) : -1;
  to.round_rows = from.round_rows;
  to.reproducible = from.reproducible;
  to.timestamps = from.timestamps;
  return to;
}

heed::SpeechOptions read(Call& call, const heed_speech_options* given) {
  heed::SpeechOptions made;
  if (given == nullptr || !check_struct(call, given, sizeof(*given), "heed_speech_options")) return made;
  made.language = call.text_or(given->language);
  made.task = call.one_of(given->task, heed::SpeechTask::Translate, "task");
  made.timestamps = given->timestamps != 0;
  made.most_tokens = given->most_tokens;
  made.words = given->words != 0;
  made.least_log_probability = given->least_log_probability;
  made.least_entropy = given->least_entropy;
  made.temperature_step = given->temperature_step;
  made.seed = given->seed;
  made.most_no_speech = given->most_no_speech;
  made.pause_seconds = given->pause_seconds;
  made.pause_level = given->pause_level;
  made.partial_seconds = given->partial_seconds;
  return made;
}

heed_speech_options to_c(const heed::SpeechOptions& from) {
  heed_speech_options to = {};
  to.size = sizeof(to);
  to.language = from.language.empty() ? nullptr : from.language.data();
  to.task = static_cast<heed_speech_task>(from.task);
  to.timestamps = from.timestamps;
  to.most_tokens = from.most_tokens;
  to.words = from.words;
  to.least_log_probability = from.least_log_probability;
  to.least_entropy = from.least_entropy;
  to.temperature_step = from.temperature_step;
  to.seed = from.seed;
  to.most_no_speech = from.most_no_speech;
  to.pause_seconds = from.pause_seconds;
  to.pause_level = from.pause_level;
  to.partial_seconds = from.partial_seconds;
  return to;
}

// C and C++ have the same numbers for enumerators.
static_assert(HEED_F32 == static_cast<int>(heed::DType::F32));
static_assert(HEED_F16 == static_cast<int>(heed::DType::F16));
static_assert(HEED_BF16 == static_cast<int>(heed::DType::BF16));
static_assert(HEED_I32 == static_cast<int>(heed::DType::I32));
static_assert(HEED_U8 == static_cast<int>(heed::DType::U8));
static_assert(HEED_Q8_0 == static_cast<int>(heed::DType::Q8_0));
static_assert(HEED_Q4_0 == static_cast<int>(heed::DType::Q4_0));
static_assert(HEED_Q4_1 == static_cast<int>(heed::DType::Q4_1));
static_assert(HEED_Q5_0 == static_cast<int>(heed::DType::Q5_0));
static_assert(HEED_Q5_1 == static_cast<int>(heed::DType::Q5_1));
static_assert(HEED_Q4_K == static_cast<int>(heed::DType::Q4_K));
static_assert(HEED_Q5_K == static_cast<int>(heed::DType::Q5_K));
static_assert(HEED_Q6_K == static_cast<int>(heed::DType::Q6_K));
static_assert(HEED_OK == static_cast<int>(heed::Status::Ok));
static_assert(HEED_INVALID_ARGUMENT == static_cast<int>(heed::Status::InvalidArgument));
static_assert(HEED_INVALID_GRAPH == static_cast<int>(heed::Status::InvalidGraph));
static_assert(HEED_SHAPE_MISMATCH == static_cast<int>(heed::Status::ShapeMismatch));
static_assert(HEED_DTYPE_MISMATCH == static_cast<int>(heed::Status::DTypeMismatch));
static_assert(HEED_MISSING_WEIGHT == static_cast<int>(heed::Status::MissingWeight));
static_assert(HEED_MISSING_BUFFER == static_cast<int>(heed::Status::MissingBuffer));
static_assert(HEED_EXTENT_OUT_OF_RANGE == static_cast<int>(heed::Status::ExtentOutOfRange));
static_assert(HEED_BUFFER_TOO_SMALL == static_cast<int>(heed::Status::BufferTooSmall));
static_assert(HEED_INDEX_OUT_OF_RANGE == static_cast<int>(heed::Status::IndexOutOfRange));
static_assert(HEED_NOT_FOUND == static_cast<int>(heed::Status::NotFound));
static_assert(HEED_UNSUPPORTED == static_cast<int>(heed::Status::Unsupported));
static_assert(HEED_OUT_OF_MEMORY == static_cast<int>(heed::Status::OutOfMemory));
static_assert(HEED_OUT_OF_DEVICE_MEMORY == static_cast<int>(heed::Status::OutOfDeviceMemory));
static_assert(HEED_DEVICE_LOST == static_cast<int>(heed::Status::DeviceLost));
static_assert(HEED_INVALID_FILE == static_cast<int>(heed::Status::InvalidFile));
static_assert(HEED_DRIVER_ERROR == static_cast<int>(heed::Status::DriverError));
static_assert(HEED_NOT_READY == static_cast<int>(heed::Status::NotReady));
static_assert(HEED_FILE_ERROR == static_cast<int>(heed::Status::FileError));
static_assert(HEED_LOG_DEBUG == static_cast<int>(heed::LogLevel::Debug));
static_assert(HEED_LOG_INFO == static_cast<int>(heed::LogLevel::Info));
static_assert(HEED_LOG_WARNING == static_cast<int>(heed::LogLevel::Warning));
static_assert(HEED_LOG_ERROR == static_cast<int>(heed::LogLevel::Error));
static_assert(HEED_ACTIVATION_NONE == static_cast<int>(heed::Activation::None));
static_assert(HEED_ACTIVATION_RELU == static_cast<int>(heed::Activation::Relu));
static_assert(HEED_ACTIVATION_GELU_ERF == static_cast<int>(heed::Activation::GeluErf));
static_assert(HEED_ACTIVATION_GELU_TANH == static_cast<int>(heed::Activation::GeluTanh));
static_assert(HEED_ACTIVATION_SILU == static_cast<int>(heed::Activation::Silu));
static_assert(HEED_ACTIVATION_TANH == static_cast<int>(heed::Activation::Tanh));
static_assert(HEED_CAUSAL_NONE == static_cast<int>(heed::Causal::None));
static_assert(HEED_CAUSAL_TOP_LEFT == static_cast<int>(heed::Causal::TopLeft));
static_assert(HEED_CAUSAL_BOTTOM_RIGHT == static_cast<int>(heed::Causal::BottomRight));
static_assert(HEED_MASK_EXCLUDE == static_cast<int>(heed::Mask::Meaning::Exclude));
static_assert(HEED_MASK_KEEP == static_cast<int>(heed::Mask::Meaning::Keep));
static_assert(HEED_REDUCTION_SUM == static_cast<int>(heed::Reduction::Sum));
static_assert(HEED_REDUCTION_MEAN == static_cast<int>(heed::Reduction::Mean));
static_assert(HEED_REDUCTION_PRODUCT == static_cast<int>(heed::Reduction::Product));
static_assert(HEED_REDUCTION_MAX == static_cast<int>(heed::Reduction::Max));
static_assert(HEED_REDUCTION_MIN == static_cast<int>(heed::Reduction::Min));
static_assert(HEED_REDUCTION_LOG_SUM_EXP == static_cast<int>(heed::Reduction::LogSumExp));
static_assert(HEED_REDUCTION_L2 == static_cast<int>(heed::Reduction::L2));
static_assert(HEED_SCORES_NONE == static_cast<int>(heed::Scores::None));
static_assert(HEED_SCORES_SCALED == static_cast<int>(heed::Scores::Scaled));
static_assert(HEED_SCORES_CAPPED == static_cast<int>(heed::Scores::Capped));
static_assert(HEED_SCORES_MASKED == static_cast<int>(heed::Scores::Masked));
static_assert(HEED_PADDING_CONSTANT == static_cast<int>(heed::Padding::Constant));
static_assert(HEED_PADDING_REFLECT == static_cast<int>(heed::Padding::Reflect));
static_assert(HEED_PADDING_EDGE == static_cast<int>(heed::Padding::Edge));
static_assert(HEED_PADDING_WRAP == static_cast<int>(heed::Padding::Wrap));
static_assert(HEED_ROTARY_ADJACENT == static_cast<int>(heed::RotaryPairs::Adjacent));
static_assert(HEED_ROTARY_HALVES == static_cast<int>(heed::RotaryPairs::Halves));
static_assert(HEED_ROTARY_SCALING_NONE == static_cast<int>(heed::RotaryScaling::Kind::None));
static_assert(HEED_ROTARY_SCALING_LINEAR == static_cast<int>(heed::RotaryScaling::Kind::Linear));
static_assert(HEED_ROTARY_SCALING_LLAMA3 == static_cast<int>(heed::RotaryScaling::Kind::Llama3));
static_assert(HEED_NORM_POST == static_cast<int>(heed::nn::NormPlacement::Post));
static_assert(HEED_NORM_PRE == static_cast<int>(heed::nn::NormPlacement::Pre));
static_assert(HEED_NORM_LAYER == static_cast<int>(heed::nn::NormKind::Layer));
static_assert(HEED_NORM_RMS == static_cast<int>(heed::nn::NormKind::Rms));
static_assert(HEED_LOSS_REDUCTION_NONE == static_cast<int>(heed::nn::LossReduction::None));
static_assert(HEED_LOSS_REDUCTION_SUM == static_cast<int>(heed::nn::LossReduction::Sum));
static_assert(HEED_LOSS_REDUCTION_MEAN == static_cast<int>(heed::nn::LossReduction::Mean));
static_assert(HEED_DEVICE_CPU == static_cast<int>(heed::DeviceKind::Cpu));
static_assert(HEED_DEVICE_DISCRETE_GPU == static_cast<int>(heed::DeviceKind::DiscreteGpu));
static_assert(HEED_DEVICE_INTEGRATED_GPU == static_cast<int>(heed::DeviceKind::IntegratedGpu));
static_assert(HEED_DEVICE_VIRTUAL_GPU == static_cast<int>(heed::DeviceKind::VirtualGpu));
static_assert(HEED_DEVICE_SOFTWARE_GPU == static_cast<int>(heed::DeviceKind::SoftwareGpu));
static_assert(HEED_DEVICE_OTHER_GPU == static_cast<int>(heed::DeviceKind::OtherGpu));
static_assert(HEED_PIPELINES_NOW == static_cast<int>(heed::PipelineCreation::Now));
static_assert(HEED_PIPELINES_DEFERRED == static_cast<int>(heed::PipelineCreation::Deferred));
static_assert(HEED_PIPELINES_BACKGROUND == static_cast<int>(heed::PipelineCreation::Background));
static_assert(HEED_SELF_TEST_PASSED == static_cast<int>(heed::SelfTestVerdict::Passed));
static_assert(HEED_SELF_TEST_WRONG == static_cast<int>(heed::SelfTestVerdict::Wrong));
static_assert(HEED_SELF_TEST_FAILED == static_cast<int>(heed::SelfTestVerdict::Failed));
static_assert(HEED_SELF_TEST_TIMED_OUT == static_cast<int>(heed::SelfTestVerdict::TimedOut));
static_assert(HEED_SELF_TEST_UNUSED == static_cast<int>(heed::SelfTestVerdict::Unused));
static_assert(HEED_UPDATE_ADAMW == static_cast<int>(heed::train::UpdateRule::AdamW));
static_assert(HEED_UPDATE_SGD == static_cast<int>(heed::train::UpdateRule::Sgd));
static_assert(HEED_INITIAL_ZEROS == static_cast<int>(heed::train::Initial::Zeros));
static_assert(HEED_INITIAL_ONES == static_cast<int>(heed::train::Initial::Ones));
static_assert(HEED_INITIAL_NORMAL == static_cast<int>(heed::train::Initial::Normal));
static_assert(HEED_INITIAL_XAVIER_UNIFORM == static_cast<int>(heed::train::Initial::XavierUniform));
static_assert(HEED_INITIAL_XAVIER_NORMAL == static_cast<int>(heed::train::Initial::XavierNormal));
static_assert(HEED_INITIAL_KAIMING_UNIFORM == static_cast<int>(heed::train::Initial::KaimingUniform));
static_assert(HEED_INITIAL_KAIMING_NORMAL == static_cast<int>(heed::train::Initial::KaimingNormal));
static_assert(HEED_OVERFLOW_DROP_OLDEST == static_cast<int>(heed::TextOverflow::DropOldest));
static_assert(HEED_OVERFLOW_STOP == static_cast<int>(heed::TextOverflow::Stop));
static_assert(HEED_END_NONE == static_cast<int>(heed::TextEnd::None));
static_assert(HEED_END_OF_TURN == static_cast<int>(heed::TextEnd::EndOfTurn));
static_assert(HEED_END_STOP_STRING == static_cast<int>(heed::TextEnd::StopString));
static_assert(HEED_END_MOST_TOKENS == static_cast<int>(heed::TextEnd::MostTokens));
static_assert(HEED_END_CONTEXT_FULL == static_cast<int>(heed::TextEnd::ContextFull));
static_assert(HEED_END_CANCELLED == static_cast<int>(heed::TextEnd::Cancelled));
static_assert(HEED_END_COMPLETE == static_cast<int>(heed::TextEnd::Complete));
static_assert(HEED_END_NO_TOKEN == static_cast<int>(heed::TextEnd::NoToken));
static_assert(HEED_SPEECH_TASK_TRANSCRIBE == static_cast<int>(heed::SpeechTask::Transcribe));
static_assert(HEED_SPEECH_TASK_TRANSLATE == static_cast<int>(heed::SpeechTask::Translate));

// Fills a struct of options with the defaults of C++'s Options. Texts point into a static object.
template <class Options, class T>
static heed_status init(const char* function, T* options) {
  static const auto* const usual = new Options;  // never destroyed, so that no code runs at the process' exit
  Call call(function);
  if (call.has(options, "options")) *options = to_c(*usual);
  return call.status();
}

}  // namespace heed::c

using namespace heed::c;

heed_status heed_window_options_init(heed_window_options* options) { return init<heed::WindowOptions>(__func__, options); }
heed_status heed_conv2d_options_init(heed_conv2d_options* options) { return init<heed::Conv2dOptions>(__func__, options); }
heed_status heed_matmul_options_init(heed_matmul_options* options) { return init<heed::MatmulOptions>(__func__, options); }
heed_status heed_softmax_options_init(heed_softmax_options* options) { return init<heed::SoftmaxOptions>(__func__, options); }
heed_status heed_attention_options_init(heed_attention_options* options) { return init<heed::AttentionOptions>(__func__, options); }
heed_status heed_pad_options_init(heed_pad_options* options) { return init<heed::PadOptions>(__func__, options); }
heed_status heed_rotary_scaling_init(heed_rotary_scaling* options) { return init<heed::RotaryScaling>(__func__, options); }
heed_status heed_rotary_options_init(heed_rotary_options* options) { return init<heed::RotaryOptions>(__func__, options); }
heed_status heed_sample_options_init(heed_sample_options* options) { return init<heed::SampleOptions>(__func__, options); }
heed_status heed_attention_names_init(heed_attention_names* options) { return init<heed::nn::AttentionNames>(__func__, options); }
heed_status heed_cache_tokens_init(heed_cache_tokens* options) { return init<heed::nn::CacheTokens>(__func__, options); }
heed_status heed_cache_init(heed_cache* options) { return init<heed::nn::Cache>(__func__, options); }
heed_status heed_multi_head_options_init(heed_multi_head_options* options) { return init<heed::nn::MultiHeadOptions>(__func__, options); }
heed_status heed_norm_options_init(heed_norm_options* options) { return init<heed::nn::NormOptions>(__func__, options); }
heed_status heed_attention_block_names_init(heed_attention_block_names* options) { return init<heed::nn::AttentionBlockNames>(__func__, options); }
heed_status heed_feed_forward_options_init(heed_feed_forward_options* options) { return init<heed::nn::FeedForwardOptions>(__func__, options); }
heed_status heed_feed_forward_block_names_init(heed_feed_forward_block_names* options) { return init<heed::nn::FeedForwardBlockNames>(__func__, options); }
heed_status heed_encoder_layer_options_init(heed_encoder_layer_options* options) { return init<heed::nn::EncoderLayerOptions>(__func__, options); }
heed_status heed_decoder_layer_options_init(heed_decoder_layer_options* options) { return init<heed::nn::DecoderLayerOptions>(__func__, options); }
heed_status heed_stack_options_init(heed_stack_options* options) { return init<heed::nn::StackOptions>(__func__, options); }
heed_status heed_cross_entropy_options_init(heed_cross_entropy_options* options) { return init<heed::nn::CrossEntropyOptions>(__func__, options); }
heed_status heed_transformer_options_init(heed_transformer_options* options) { return init<heed::nn::TransformerOptions>(__func__, options); }
heed_status heed_device_options_init(heed_device_options* options) { return init<heed::DeviceOptions>(__func__, options); }
heed_status heed_upload_options_init(heed_upload_options* options) { return init<heed::UploadOptions>(__func__, options); }
heed_status heed_compile_options_init(heed_compile_options* options) { return init<heed::CompileOptions>(__func__, options); }
heed_status heed_gradient_options_init(heed_gradient_options* options) { return init<heed::train::GradientOptions>(__func__, options); }
heed_status heed_optimizer_options_init(heed_optimizer_options* options) { return init<heed::train::OptimizerOptions>(__func__, options); }
heed_status heed_step_numbers_init(heed_step_numbers* options) { return init<heed::train::StepNumbers>(__func__, options); }
heed_status heed_loss_scale_init(heed_loss_scale* options) { return init<heed::train::LossScale>(__func__, options); }
heed_status heed_initial_options_init(heed_initial_options* options) { return init<heed::train::InitialOptions>(__func__, options); }
heed_status heed_bert_config_init(heed_bert_config* options) { return init<heed::BertConfig>(__func__, options); }
heed_status heed_bert_options_init(heed_bert_options* options) { return init<heed::BertOptions>(__func__, options); }
heed_status heed_decoder_config_init(heed_decoder_config* options) { return init<heed::DecoderConfig>(__func__, options); }
heed_status heed_decoder_options_init(heed_decoder_options* options) { return init<heed::DecoderOptions>(__func__, options); }
heed_status heed_text_encoder_options_init(heed_text_encoder_options* options) { return init<heed::TextEncoderOptions>(__func__, options); }
heed_status heed_text_sampling_init(heed_text_sampling* options) { return init<heed::TextSampling>(__func__, options); }
heed_status heed_text_generator_options_init(heed_text_generator_options* options) { return init<heed::TextGeneratorOptions>(__func__, options); }
heed_status heed_conversation_options_init(heed_conversation_options* options) { return init<heed::TextConversationOptions>(__func__, options); }
heed_status heed_text_save_options_init(heed_text_save_options* options) { return init<heed::TextSaveOptions>(__func__, options); }
heed_status heed_speech_recognizer_options_init(heed_speech_recognizer_options* options) { return init<heed::SpeechRecognizerOptions>(__func__, options); }
heed_status heed_speech_options_init(heed_speech_options* options) { return init<heed::SpeechOptions>(__func__, options); }

const heed_attention_names* heed_nn_fused_qkv(void) {
  static const heed_attention_names names = to_c(heed::nn::kFusedQkv);
  return &names;
}

const heed_attention_names* heed_nn_fused_kv(void) {
  static const heed_attention_names names = to_c(heed::nn::kFusedKv);
  return &names;
}

const heed_attention_names* heed_nn_separate(void) {
  static const heed_attention_names names = to_c(heed::nn::kSeparate);
  return &names;
}

const heed_attention_names* heed_nn_torch_multihead(void) {
  static const heed_attention_names names = to_c(heed::nn::kTorchMultihead);
  return &names;
}
