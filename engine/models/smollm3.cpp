// SmolLM3 (Bakouch et al. 2025): Llama, but every fourth layer has no rotary embedding (Yang et al. 2025, arXiv:2501.18795).
#include "models/llama.hpp"

namespace heed::models {

namespace {

constexpr int kUnturned = 4;  // layers without rotary are kUnturned - 1, 2 kUnturned - 1, ...

bool turns(int layer) { return (layer + 1) % kUnturned != 0; }

void read_smollm3_json(JsonConfig& from) {
  from.refuse("attention_bias", from.fields.boolean("attention_bias", false));
  read_llama_json(from);
  from.refuse("use_sliding_window", from.fields.boolean("use_sliding_window", false));
  from.refuse("no_rope_layer_interval",
              from.fields.integer("no_rope_layer_interval", 0, INT32_MAX, kUnturned) != kUnturned);
  // A list with 1 for each layer with rotary.
  const Json layers = from.fields.field("no_rope_layers");
  for (size_t i = 0; i < layers.size(); ++i) {
    const int64_t* flag = layers.element(i).integer();
    from.refuse("no_rope_layers", flag == nullptr || (*flag != 0) != turns(static_cast<int>(i)));
  }
}

// GGUF files order the rows of queries and keys for RotaryPairs::Adjacent, and have no key for the layers without rotary.
void read_smollm3_gguf(GgufConfig& from) {
  from.config.rotary.pairs = RotaryPairs::Adjacent;
  read_llama_gguf(from);
}

Tensor add_smollm3_layer(Graph& g, Tensor x, const Layer& layer) {
  nn::EncoderLayerOptions options = llama_layer(layer);
  if (!turns(layer.index)) options.attention.rotary.reset();
  return nn::encoder_layer(g, x, layer.name, options);
}

}  // namespace

extern constinit const DecoderFamily smollm3 =
    like_llama("smollm3", read_smollm3_json, read_smollm3_gguf, add_smollm3_layer);

}  // namespace heed::models
