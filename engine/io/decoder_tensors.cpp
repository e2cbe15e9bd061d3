#include "io/decoder_tensors.hpp"

namespace heed {

namespace {

class DecoderList {
 public:
  explicit DecoderList(const DecoderConfig& config) : config_(config) {
    const int64_t heads = config.heads, kv_heads = config.kv_heads ? config.kv_heads : heads;
    const int64_t head_width = config.head_width ? config.head_width : config.width / heads;
    queries_ = heads * head_width;
    keys_ = kv_heads * head_width;
    hidden_ = config.hidden ? config.hidden : 4 * config.width;
  }

  std::vector<DecoderTensor> take() {
    const bool is_gpt2 = config_.family == DecoderFamily::Gpt2;
    table(is_gpt2 ? "wte.weight" : "model.embed_tokens.weight", "token_embd.weight", config_.vocabulary);
    if (is_gpt2) {
      table("wpe.weight", "position_embd.weight", config_.positions);
      list_.back().may_be_quantized = false;  // it is sliced and added
    }
    for (int layer = 0; layer < config_.layers; ++layer) {
      prefix_ = (is_gpt2 ? "h." : "model.layers.") + std::to_string(layer) + ".";
      gguf_prefix_ = "blk." + std::to_string(layer) + ".";
      is_gpt2 ? gpt2_layer() : llama_layer();
    }
    prefix_ = gguf_prefix_ = {};
    norm(is_gpt2 ? "ln_f" : "model.norm", "output_norm");
    if (!config_.tied) table("lm_head.weight", "output.weight", config_.vocabulary);
    return std::move(list_);
  }

 private:
  void add(const std::string& name, const std::string& gguf, std::vector<int64_t> shape) {
    const bool is_matrix = shape.size() > 1;
    list_.push_back({prefix_ + name, gguf_prefix_ + gguf, std::move(shape), is_matrix});
  }

  void table(const char* name, const char* gguf, int64_t rows) { add(name, gguf, {rows, config_.width}); }

  void vector(const std::string& name, const std::string& gguf, int64_t size) { add(name, gguf, {size}); }

  void norm(const std::string& name, const std::string& gguf) {
    vector(name + ".weight", gguf + ".weight", config_.width);
    if (config_.family == DecoderFamily::Gpt2) vector(name + ".bias", gguf + ".bias", config_.width);
  }

  void linear(const std::string& name, const std::string& gguf, int64_t out, int64_t in, bool bias) {
    const bool turned = config_.family == DecoderFamily::Gpt2 && config_.in_out;
    add(name + ".weight", gguf + ".weight", turned ? std::vector{in, out} : std::vector{out, in});
    if (bias) vector(name + ".bias", gguf + ".bias", out);
  }

  void llama_layer() {
    const bool has_biases = config_.family == DecoderFamily::Qwen2;
    norm("input_layernorm", "attn_norm");
    linear("self_attn.q_proj", "attn_q", queries_, config_.width, has_biases);
    linear("self_attn.k_proj", "attn_k", keys_, config_.width, has_biases);
    linear("self_attn.v_proj", "attn_v", keys_, config_.width, has_biases);
    linear("self_attn.o_proj", "attn_output", config_.width, queries_, false);
    if (config_.family == DecoderFamily::Qwen3) {
      vector("self_attn.q_norm.weight", "attn_q_norm.weight", queries_ / config_.heads);
      vector("self_attn.k_norm.weight", "attn_k_norm.weight", queries_ / config_.heads);
    }
    norm("post_attention_layernorm", "ffn_norm");
    linear("mlp.gate_proj", "ffn_gate", hidden_, config_.width, false);
    linear("mlp.up_proj", "ffn_up", hidden_, config_.width, false);
    linear("mlp.down_proj", "ffn_down", config_.width, hidden_, false);
  }

  void gpt2_layer() {
    norm("ln_1", "attn_norm");
    linear("attn.c_attn", "attn_qkv", queries_ + 2 * keys_, config_.width, true);
    linear("attn.c_proj", "attn_output", config_.width, queries_, true);
    norm("ln_2", "ffn_norm");
    linear("mlp.c_fc", "ffn_up", hidden_, config_.width, true);
    linear("mlp.c_proj", "ffn_down", config_.width, hidden_, true);
  }

  const DecoderConfig& config_;
  int64_t queries_ = 0, keys_ = 0, hidden_ = 0;  // widths
  std::string prefix_, gguf_prefix_;
  std::vector<DecoderTensor> list_;
};

}  // namespace

std::vector<DecoderTensor> decoder_tensors(const DecoderConfig& config) { return DecoderList(config).take(); }

}  // namespace heed
