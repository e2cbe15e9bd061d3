// The numbers of a decoder in a GGUF file's metadata.
#include <algorithm>
#include <cstring>
#include <iterator>

#include <heed/decoder_model.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/decoder_tensors.hpp"
#include "io/gguf_fields.hpp"
#include "io/rope_factors.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

struct GgufFamily {
  const char* architecture;
  DecoderFamily family;
  RotaryPairs pairs;
};
constexpr GgufFamily kGgufFamilies[] = {
    {"llama", DecoderFamily::Llama, RotaryPairs::Adjacent},
    {"qwen2", DecoderFamily::Qwen2, RotaryPairs::Halves},
    {"qwen3", DecoderFamily::Qwen3, RotaryPairs::Halves},
    {"gpt2", DecoderFamily::Gpt2, RotaryPairs::Halves},
};

// Settings that would make another network of the same tensors, unless they are 0, false or the neutral value.
struct Refused {
  const char* key;
  double neutral;
};
constexpr Refused kRefused[] = {
    {".expert_count", 0},
    {"split.count", 1},  // files of which each has a part of the tensors
    {".use_parallel_residual", 0},
    {".attn_logit_softcapping", 0},
    {".final_logit_softcapping", 0},
    {".logit_scale", 1},
    {".embedding_scale", 1},
    {".residual_scale", 1},
    {".attention.scale", 0},
    {".attention.max_alibi_bias", 0},
    {".attention.clamp_kqv", 0},
    {".attention.sliding_window_pattern", 0},
    {".attention.temperature_scale", 0},
    {".rope.scaling.attn_factor", 1},
};

// Keys that are read here, or that say nothing about the network.
constexpr const char* kKnown[] = {
    ".block_count",
    ".context_length",
    ".embedding_length",
    ".feed_forward_length",
    ".vocab_size",
    ".attention.head_count",
    ".attention.head_count_kv",
    ".attention.key_length",
    ".attention.value_length",
    ".attention.layer_norm_epsilon",
    ".attention.layer_norm_rms_epsilon",
    ".attention.causal",
    ".attention.sliding_window",
    ".rope.dimension_count",
    ".rope.freq_base",
    ".rope.scale_linear",
    ".rope.scaling.type",
    ".rope.scaling.factor",
    ".rope.scaling.original_context_length",
    ".rope.scaling.finetuned",
    ".expert_used_count",
    ".tensor_data_layout",
};

class GgufConfigReader {
 public:
  GgufConfigReader(const Gguf& file, const GgufFamily& family, const Log& log)
      : file_(file), log_(log), fields_(file, family.architecture, log) {
    read_.family = family.family;
    read_.rotary.pairs = family.pairs;
  }

  Status read(DecoderConfig* config) {
    refuse_others();
    read_sizes();
    read_tables();
    if (read_.family != DecoderFamily::Gpt2) read_rotation();
    if (fields_.status() == Status::Ok) {
      warn_of_unknown();
      *config = read_;
    }
    return fields_.status();
  }

 private:
  bool is_gpt2() const { return read_.family == DecoderFamily::Gpt2; }

  void refuse_others() {
    for (const Refused& refused : kRefused) {
      const Gguf::Value value = fields_.value(refused.key);
      const std::optional<bool> flag = value.boolean();
      const double number = flag ? (*flag ? 1.0 : 0.0) : value.number().value_or(-1);
      if (value.there() && number != 0 && number != refused.neutral)
        fields_.fail(refused.key, "is not supported", Status::Unsupported);
    }
    if (!fields_.boolean(".attention.causal", true))
      fields_.fail(".attention.causal", "only causal decoders are supported", Status::Unsupported);
  }

  void read_sizes() {
    read_.layers = static_cast<int>(fields_.integer(".block_count", 1, nn::kMaxLayers));
    read_.width = fields_.integer(".embedding_length", 1, kMaxDecoderSize);
    read_.hidden = fields_.integer(".feed_forward_length", 1, kMaxDecoderSize);
    read_.positions = fields_.integer(".context_length", 1, INT32_MAX);
    read_.heads = fields_.integer(".attention.head_count", 1, kMaxDecoderSize);
    read_.kv_heads = fields_.integer(".attention.head_count_kv", 1, kMaxDecoderSize, read_.heads);
    read_.eps = static_cast<float>(
        fields_.number(is_gpt2() ? ".attention.layer_norm_epsilon" : ".attention.layer_norm_rms_epsilon", 0.0, 1.0));
    read_.window = fields_.integer(".attention.sliding_window", 0, INT32_MAX, 0);
    if (fields_.status() != Status::Ok) return;
    const auto heads_of = [&](int64_t count) { return format("must divide %lld", static_cast<long long>(count)); };
    if (read_.heads % read_.kv_heads != 0) fields_.fail(".attention.head_count_kv", heads_of(read_.heads));
    const bool has_width = fields_.value(".attention.key_length").there();
    if (!has_width && read_.width % read_.heads != 0) fields_.fail(".attention.head_count", heads_of(read_.width));
    read_.head_width = fields_.integer(".attention.key_length", 1, kMaxDecoderSize, read_.width / read_.heads);
    if (fields_.integer(".attention.value_length", 1, kMaxDecoderSize, read_.head_width) != read_.head_width)
      fields_.fail(".attention.value_length", "keys and values of different widths are not supported",
                   Status::Unsupported);
    if (is_gpt2()) {
      read_.in_out = false;
      if (read_.kv_heads != read_.heads || read_.head_width * read_.heads != read_.width)
        fields_.fail(".attention.head_count", "heads of another kind than GPT-2's", Status::Unsupported);
    }
  }

  int64_t rows_of(const char* name) {
    if (fields_.status() != Status::Ok) return 0;
    const Gguf::Entry* table = file_.find(name);
    if (table == nullptr) {
      fields_.fail(name, "the file lacks this tensor", Status::MissingWeight);
      return 0;
    }
    if (table->shape.size() == 2 && table->shape[0] >= 1 && table->shape[0] <= kMaxDecoderSize) return table->shape[0];
    fields_.fail(name, "the tensor is " + shape_text(table->shape) + "; it must be a table", Status::ShapeMismatch);
    return 0;
  }

  void read_tables() {
    read_.tied = file_.find("output.weight") == nullptr;
    read_.vocabulary = rows_of("token_embd.weight");
    if (is_gpt2()) read_.positions = rows_of("position_embd.weight");
    if (fields_.status() == Status::Ok)
      read_.vocabulary = fields_.integer(".vocab_size", 1, kMaxDecoderSize, read_.vocabulary);
  }

  void read_rotation() {
    RotaryOptions& rotary = read_.rotary;
    rotary.base = static_cast<float>(fields_.number(".rope.freq_base", 1.0, 1e30, 10000.0));
    rotary.width = fields_.integer(".rope.dimension_count", 2, kMaxDecoderSize, read_.head_width);
    if (fields_.status() != Status::Ok) return;
    if (rotary.width % 2 != 0 || rotary.width > read_.head_width)
      fields_.fail(".rope.dimension_count",
                   format("must be even, and at most the %lld of a head", static_cast<long long>(read_.head_width)));
    read_scaling();
    read_factors();
  }

  void read_scaling() {
    const bool is_old = fields_.value(".rope.scale_linear").there();  // in files from before there was a type
    const char* factor_key = is_old ? ".rope.scale_linear" : ".rope.scaling.factor";
    const std::string kind = fields_.text(".rope.scaling.type", is_old ? "linear" : "none");
    if (kind != "none" && kind != "linear")
      fields_.fail(".rope.scaling.type", "only 'none' and 'linear' are supported", Status::Unsupported);
    if (fields_.status() != Status::Ok || kind == "none") return;
    const double factor = fields_.number(factor_key, 0.0, 1e6);
    if (factor == 0.0 || factor == 1.0) return;
    if (factor < 1.0)
      fields_.fail(factor_key, "pairs that turn faster than in training are not supported", Status::Unsupported);
    read_.rotary.scaling = {.kind = RotaryScaling::Kind::Linear, .factor = static_cast<float>(factor)};
  }

  void read_factors() {
    constexpr const char* kName = "rope_freqs.weight";
    const Gguf::Entry* entry = file_.find(kName);
    if (entry == nullptr || fields_.status() != Status::Ok) return;
    DType dtype;
    if (!Gguf::storage_type(entry->type, &dtype) || dtype != DType::F32 ||
        entry->shape != std::vector<int64_t>{read_.rotary.width / 2}) {
      fields_.fail(kName,
                   format("the tensor is %s %s; F32 [%lld] is needed", Gguf::type_name(entry->type),
                          shape_text(entry->shape).c_str(), static_cast<long long>(read_.rotary.width / 2)),
                   Status::ShapeMismatch);
      return;
    }
    std::vector<float> factors(entry->data.size() / sizeof(float));
    std::memcpy(factors.data(), entry->data.data(), entry->data.size());
    const int64_t trained = fields_.integer(".rope.scaling.original_context_length", 1, INT32_MAX, 8192);
    const std::optional<RotaryScaling> scaling = scaling_of(factors, static_cast<double>(read_.rotary.base), trained);
    if (!scaling) {
      fields_.fail(kName, "its factors are not those of Llama 3; others are not supported", Status::Unsupported);
    } else if (scaling->kind != RotaryScaling::Kind::None) {
      if (read_.rotary.scaling.kind != RotaryScaling::Kind::None)
        fields_.fail(kName, "factors beside a scaling of all pairs are not supported", Status::Unsupported);
      read_.rotary.scaling = *scaling;
    }
  }

  void warn_of_unknown() const {
    const std::string prefix = fields_.full(".");
    std::string unknown;
    int count = 0;
    for (const Gguf::Field& field : file_.fields()) {
      if (!field.name.starts_with(prefix)) continue;
      const std::string_view key = field.name.substr(prefix.size() - 1);
      const bool known = std::any_of(std::begin(kKnown), std::end(kKnown), [&](const char* k) { return key == k; }) ||
                         std::any_of(std::begin(kRefused), std::end(kRefused), [&](auto& r) { return key == r.key; });
      if (!known && ++count <= 10) unknown += (unknown.empty() ? "" : ", ") + printable(field.name);
    }
    if (count > 0)
      log(log_, LogLevel::Warning,
          format("%s: %d keys of the architecture are not known and do not count: %s%s",
                 std::string(file_.name()).c_str(), count, unknown.c_str(), count > 10 ? ", ..." : ""));
  }

  const Gguf& file_;
  const Log& log_;
  GgufFields fields_;
  DecoderConfig read_;
};

}  // namespace

Status read_decoder_config(const Gguf& file, const Log& log, DecoderConfig* config) {
  if (config == nullptr) return Status::InvalidArgument;
  GgufFields fields(file, {}, log);
  const std::string architecture = fields.text("general.architecture");
  if (fields.status() != Status::Ok) return fields.status();
  for (const GgufFamily& family : kGgufFamilies)
    if (architecture == family.architecture) return GgufConfigReader(file, family, log).read(config);
  fields.fail("general.architecture", "llama, qwen2, qwen3 and gpt2 are supported", Status::Unsupported);
  return fields.status();
}

}  // namespace heed
