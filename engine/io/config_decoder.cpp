// config.json of decoders.
#include <heed/decoder_model.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/decoder_tensors.hpp"
#include "io/json_file.hpp"

namespace heed {

namespace {

class DecoderConfigReader {
 public:
  DecoderConfigReader(Fields* fields, const Log& log) : fields_(*fields), log_(log) {}

  Status read(DecoderConfig* config) {
    read_family();
    if (fields_.status() == Status::Ok) is_gpt2() ? read_gpt2() : read_llama();
    const Status status = fields_.status() == Status::Ok ? rotation_ : fields_.status();
    if (status == Status::Ok) *config = read_;
    return status;
  }

 private:
  bool is_gpt2() const { return read_.family == DecoderFamily::Gpt2; }

  void read_family() {
    const std::string type = fields_.text("model_type");
    if (type == "llama" || type == "mistral") return;
    if (type == "qwen2")
      read_.family = DecoderFamily::Qwen2;
    else if (type == "qwen3")
      read_.family = DecoderFamily::Qwen3;
    else if (type == "gpt2")
      read_.family = DecoderFamily::Gpt2;
    else
      fields_.fail("model_type", "llama, mistral, qwen2, qwen3 and gpt2 are supported", Status::Unsupported);
  }

  int64_t size(const char* name, std::optional<int64_t> otherwise = {}) {
    return fields_.integer(name, 1, kMaxDecoderSize, otherwise);
  }

  void refuse(const char* name, bool wrong) {
    if (wrong) fields_.fail(name, "is not supported", Status::Unsupported);
  }

  void check_heads(const char* name) {
    if (fields_.status() == Status::Ok && read_.head_width == 0 && read_.width % read_.heads != 0)
      fields_.fail(name, format("must divide the width %lld", static_cast<long long>(read_.width)));
    if (fields_.status() == Status::Ok && read_.head_width == 0) read_.head_width = read_.width / read_.heads;
  }

  void read_gpt2() {
    read_.layers = static_cast<int>(fields_.integer("n_layer", 1, nn::kMaxLayers));
    read_.width = size("n_embd");
    read_.heads = read_.kv_heads = size("n_head");
    read_.hidden = size("n_inner", 4 * read_.width);
    read_.vocabulary = size("vocab_size");
    read_.positions = size("n_positions");
    read_.eps = static_cast<float>(fields_.number("layer_norm_epsilon", 0.0, 1.0, 1e-5));
    read_.tied = fields_.boolean("tie_word_embeddings", true);
    const std::string act = fields_.text("activation_function", "gelu_new");
    refuse("activation_function", act != "gelu_new" && act != "gelu_pytorch_tanh");
    refuse("scale_attn_weights", !fields_.boolean("scale_attn_weights", true));
    refuse("scale_attn_by_inverse_layer_idx", fields_.boolean("scale_attn_by_inverse_layer_idx", false));
    refuse("add_cross_attention", fields_.boolean("add_cross_attention", false));
    check_heads("n_head");
  }

  void read_llama() {
    read_.layers = static_cast<int>(fields_.integer("num_hidden_layers", 1, nn::kMaxLayers));
    read_.width = size("hidden_size");
    read_.heads = size("num_attention_heads");
    read_.kv_heads = size("num_key_value_heads", read_.heads);
    read_.hidden = size("intermediate_size");
    read_.vocabulary = size("vocab_size");
    read_.positions = fields_.integer("max_position_embeddings", 1, INT32_MAX);
    read_.eps = static_cast<float>(fields_.number("rms_norm_eps", 0.0, 1.0, 1e-6));
    read_.tied = fields_.boolean("tie_word_embeddings", false);
    if (fields_.field("head_dim")) read_.head_width = size("head_dim");
    refuse("hidden_act", fields_.text("hidden_act", "silu") != "silu");
    if (read_.family != DecoderFamily::Qwen2) refuse("attention_bias", fields_.boolean("attention_bias", false));
    refuse("mlp_bias", fields_.boolean("mlp_bias", false));
    check_heads("num_attention_heads");
    if (fields_.status() == Status::Ok && read_.heads % read_.kv_heads != 0)
      fields_.fail("num_key_value_heads", format("must divide %lld", static_cast<long long>(read_.heads)));
    read_window();
    read_rotation();
  }

  // Mistral has a window if it is not null; Qwen has one only where it is switched on, and then not in all layers.
  void read_window() {
    if (read_.family == DecoderFamily::Llama)
      read_.window = fields_.integer("sliding_window", 0, INT32_MAX, 0);
    else
      refuse("use_sliding_window", fields_.boolean("use_sliding_window", false));
  }

  // Newer files have all of it in one object.
  void read_rotation() {
    refuse("partial_rotary_factor", fields_.number("partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0);
    const char* name = fields_.field("rope_parameters") ? "rope_parameters" : "rope_scaling";
    double base = fields_.number("rope_theta", 1.0, 1e30, 10000.0);
    if (fields_.field(name)) {
      Fields inner(fields_.object(name), fields_.where() + ": " + name, log_);
      base = inner.number("rope_theta", 1.0, 1e30, base);
      read_scaling(&inner);
      rotation_ = inner.status();
    }
    read_.rotary.base = static_cast<float>(base);
    if (fields_.status() == Status::Ok && read_.head_width % 2 != 0)
      fields_.fail("head_dim", format("heads of %lld cannot be turned", static_cast<long long>(read_.head_width)));
  }

  void read_scaling(Fields* inner) {
    const char* name = inner->field("rope_type") ? "rope_type" : "type";
    const std::string kind = inner->text(name, "default");
    RotaryScaling& scaling = read_.rotary.scaling;
    if (kind == "default") return;
    if (kind != "linear" && kind != "llama3") {
      inner->fail(name, "default, linear and llama3 are supported", Status::Unsupported);
      return;
    }
    scaling.kind = kind == "linear" ? RotaryScaling::Kind::Linear : RotaryScaling::Kind::Llama3;
    scaling.factor = static_cast<float>(inner->number("factor", 1.0, 1e6));
    if (kind == "linear") return;
    scaling.low = static_cast<float>(inner->number("low_freq_factor", 1e-6, 1e6));
    scaling.high = static_cast<float>(inner->number("high_freq_factor", 1e-6, 1e6));
    scaling.trained_length = inner->integer("original_max_position_embeddings", 1, INT32_MAX);
    if (inner->status() == Status::Ok && !(scaling.low < scaling.high))
      inner->fail("high_freq_factor", "must be above low_freq_factor");
  }

  Fields& fields_;
  const Log& log_;
  DecoderConfig read_;
  Status rotation_ = Status::Ok;  // of the fields of an object inside
};

}  // namespace

Status parse_decoder_config(std::string_view json, std::string_view name, const Log& log, DecoderConfig* config) {
  if (config == nullptr) return Status::InvalidArgument;
  JsonFile object;
  const Status status = parse_object(json, name, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), std::string(name), log);
  return DecoderConfigReader(&fields, log).read(config);
}

}  // namespace heed
