// A decoder's step in the benchmark: SmolLM2-135M's shape with f16 or quantized weights, one token for each sequence after earlier tokens,
// whose keys and values are in a State of 512.
#include <heed/decoder.hpp>

#include "bench/cases.hpp"

namespace heed::program {

namespace {

constexpr int64_t kCapacity = 512;

DecoderConfig smollm2() {
  return {.layers = 30,
          .width = 576,
          .heads = 9,
          .kv_heads = 3,
          .hidden = 1536,
          .vocabulary = 49152,
          .rotary = {.base = 100000}};
}

void weights_of(BenchGraph& b, const DecoderConfig& config) {
  const int64_t width = config.width, keys = width / config.heads * config.kv_heads;
  b.weight("model.embed_tokens.weight", {config.vocabulary, width});
  b.weight("model.norm.weight", {width});
  for (int i = 0; i < config.layers; ++i) {
    const std::string layer = std::string("model.layers.").append(std::to_string(i));
    const auto matrix = [&](const char* name, int64_t out, int64_t in) { b.weight(layer + name, {out, in}); };
    matrix(".self_attn.q_proj.weight", width, width);
    matrix(".self_attn.k_proj.weight", keys, width);
    matrix(".self_attn.v_proj.weight", keys, width);
    matrix(".self_attn.o_proj.weight", width, width);
    matrix(".mlp.gate_proj.weight", config.hidden, width);
    matrix(".mlp.up_proj.weight", config.hidden, width);
    matrix(".mlp.down_proj.weight", width, config.hidden);
    for (const char* norm : {".input_layernorm.weight", ".post_attention_layernorm.weight"})
      b.weight(layer + norm, {width});
  }
}

}  // namespace

BenchCase decode_step(int64_t sequences, int64_t context, DType weights, DType cache) {
  const auto build = [=](BenchGraph& b) {
    const DecoderConfig config = smollm2();
    b.weight_dtype = weights;
    weights_of(b, config);
    b.extents = {{"past", context}};
    // With the context as the position's maximum, the passes' byte counts are those of this step.
    const Dim past = b.graph.position("past", context);
    const Tensor ids = b.ids("ids", {sequences, 1}, static_cast<int32_t>(config.vocabulary));
    const DecoderResult y =
        nn::decoder(b.graph, ids, config,
                    {.cache = {.capacity = kCapacity, .past = past, .dtype = cache}, .weight_dtype = weights});
    b.result(b.graph.argmax(y.logits), {sequences, 1}, DType::I32);
  };
  std::string shape = std::to_string(sequences);
  shape.append("-after-").append(std::to_string(context)).append("-").append(to_string(weights));
  if (cache != DType::F32) shape.append("-cache-").append(to_string(cache));
  return {.op = "decode", .shape = shape, .build = build, .whole_model = true, .may_be_unsupported = true};
}

}  // namespace heed::program
