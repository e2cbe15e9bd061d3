// A decoder's configuration from a GGUF file's metadata.
#include <algorithm>
#include <cstring>
#include <iterator>

#include <heed/decoder_model.hpp>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "models/config.hpp"
#include "models/family.hpp"
#include "models/rope_factors.hpp"

namespace heed {

namespace models {

namespace {

// Settings with which the same tensors would form another network, unless they are 0, false or the neutral value.
struct Refused {
  const char* key;
  double neutral;
};
constexpr Refused kRefused[] = {
    {".expert_count", 0},
    {"split.count", 1},  // a model split over several files
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

// Keys that are read only for some files, or that do not describe the network.
constexpr const char* kKnown[] = {
    ".attention.layer_norm_epsilon",
    ".attention.layer_norm_rms_epsilon",
    ".rope.dimension_count",
    ".rope.freq_base",
    ".rope.scaling.type",
    ".rope.scaling.factor",
    ".rope.scaling.original_context_length",
    ".rope.scaling.finetuned",
    ".rope.scale_linear",
    ".expert_used_count",
    ".tensor_data_layout",
};

}  // namespace

void GgufConfig::refuse_others(const DecoderFamily& family) {
  for (const Refused& refused : kRefused) {
    if (std::find(family.gguf_keys.begin(), family.gguf_keys.end(), refused.key) != family.gguf_keys.end()) continue;
    const Gguf::Value value = fields.value(refused.key);
    const std::optional<bool> flag = value.boolean();
    const double number = flag ? (*flag ? 1.0 : 0.0) : value.number().value_or(-1);
    if (value.there() && number != 0 && number != refused.neutral)
      fields.fail(refused.key, "is not supported", Status::Unsupported);
  }
  if (!fields.boolean(".attention.causal", true))
    fields.fail(".attention.causal", "only causal decoders are supported", Status::Unsupported);
}

void GgufConfig::read_sizes(const char* eps) {
  config.layers = static_cast<int>(fields.integer(".block_count", 1, nn::kMaxLayers));
  config.width = fields.integer(".embedding_length", 1, kMaxDecoderSize);
  config.hidden = fields.integer(".feed_forward_length", 1, kMaxDecoderSize);
  config.positions = fields.integer(".context_length", 1, INT32_MAX);
  config.heads = fields.integer(".attention.head_count", 1, kMaxDecoderSize);
  config.kv_heads = fields.integer(".attention.head_count_kv", 1, kMaxDecoderSize, config.heads);
  config.eps = static_cast<float>(fields.number(eps, 0.0, 1.0));
  config.window = fields.integer(".attention.sliding_window", 0, INT32_MAX, 0);
  if (fields.status() != Status::Ok) return;
  const auto heads_of = [&](int64_t count) { return format("must divide %lld", static_cast<long long>(count)); };
  if (config.heads % config.kv_heads != 0) fields.fail(".attention.head_count_kv", heads_of(config.heads));
  const bool has_width = fields.value(".attention.key_length").there();
  if (!has_width && config.width % config.heads != 0) fields.fail(".attention.head_count", heads_of(config.width));
  config.head_width = fields.integer(".attention.key_length", 1, kMaxDecoderSize, config.width / config.heads);
  if (fields.integer(".attention.value_length", 1, kMaxDecoderSize, config.head_width) != config.head_width)
    fields.fail(".attention.value_length", "keys and values of different widths are not supported",
                Status::Unsupported);
}

int64_t GgufConfig::rows_of(const char* name) {
  if (fields.status() != Status::Ok) return 0;
  const Gguf::Entry* table = file.find(name);
  if (table == nullptr) {
    fields.fail(name, "the file lacks this tensor", Status::MissingWeight);
    return 0;
  }
  if (table->shape.size() == 2 && table->shape[0] >= 1 && table->shape[0] <= kMaxDecoderSize) return table->shape[0];
  fields.fail(name, "the tensor is " + shape_text(table->shape) + "; it must be a table", Status::ShapeMismatch);
  return 0;
}

void GgufConfig::read_tables() {
  config.tied = file.find("output.weight") == nullptr;
  config.vocabulary = rows_of("token_embd.weight");
  if (fields.status() == Status::Ok)
    config.vocabulary = fields.integer(".vocab_size", 1, kMaxDecoderSize, config.vocabulary);
}

void GgufConfig::read_rotation() {
  RotaryOptions& rotary = config.rotary;
  rotary.base = static_cast<float>(fields.number(".rope.freq_base", 1.0, 1e30, rotary.base));
  rotary.width = fields.integer(".rope.dimension_count", 2, kMaxDecoderSize, config.head_width);
  if (fields.status() != Status::Ok) return;
  if (rotary.width % 2 != 0 || rotary.width > config.head_width)
    fields.fail(".rope.dimension_count",
                format("must be even, and at most the %lld of a head", static_cast<long long>(config.head_width)));
  read_scaling();
  read_factors();
}

void GgufConfig::read_scaling() {
  const bool is_old = fields.value(".rope.scale_linear").there();  // files from before there was a scaling type
  const char* factor_key = is_old ? ".rope.scale_linear" : ".rope.scaling.factor";
  const std::string kind = fields.text(".rope.scaling.type", is_old ? "linear" : "none");
  if (kind != "none" && kind != "linear")
    fields.fail(".rope.scaling.type", "only 'none' and 'linear' are supported", Status::Unsupported);
  if (fields.status() != Status::Ok || kind == "none") return;
  const double factor = fields.number(factor_key, 0.0, 1e6);
  if (factor == 0.0 || factor == 1.0) return;
  if (factor < 1.0)
    fields.fail(factor_key, "pairs that turn faster than in training are not supported", Status::Unsupported);
  config.rotary.scaling = {.kind = RotaryScaling::Kind::Linear, .factor = static_cast<float>(factor)};
}

void GgufConfig::read_factors() {
  constexpr const char* kName = "rope_freqs.weight";
  const Gguf::Entry* entry = file.find(kName);
  if (entry == nullptr || fields.status() != Status::Ok) return;
  DType dtype;
  if (!Gguf::storage_type(entry->type, &dtype) || dtype != DType::F32 ||
      entry->shape != std::vector<int64_t>{config.rotary.width / 2}) {
    fields.fail(kName,
                format("the tensor is %s %s; F32 [%lld] is needed", Gguf::type_name(entry->type),
                       shape_text(entry->shape).c_str(), static_cast<long long>(config.rotary.width / 2)),
                Status::ShapeMismatch);
    return;
  }
  std::vector<float> factors(entry->data.size() / sizeof(float));
  std::memcpy(factors.data(), entry->data.data(), entry->data.size());
  const int64_t trained = fields.integer(".rope.scaling.original_context_length", 1, INT32_MAX, 8192);
  const std::optional<RotaryScaling> scaling = scaling_of(factors, static_cast<double>(config.rotary.base), trained);
  if (!scaling) {
    fields.fail(kName, "its factors are not those of Llama 3; others are not supported", Status::Unsupported);
  } else if (scaling->kind != RotaryScaling::Kind::None) {
    if (config.rotary.scaling.kind != RotaryScaling::Kind::None)
      fields.fail(kName, "factors beside a scaling of all pairs are not supported", Status::Unsupported);
    config.rotary.scaling = *scaling;
  }
}

void GgufConfig::warn_of_unknown() const {
  const std::string prefix = fields.full(".");
  std::string unknown;
  int count = 0;
  for (const Gguf::Field& field : file.fields()) {
    if (!field.name.starts_with(prefix)) continue;
    const std::string_view key = field.name.substr(prefix.size() - 1);
    const bool known = fields.has_asked(field.name) ||
                       std::any_of(std::begin(kKnown), std::end(kKnown), [&](const char* k) { return key == k; });
    if (!known && ++count <= 10) unknown += (unknown.empty() ? "" : ", ") + printable(field.name);
  }
  if (count > 0)
    log(log_, LogLevel::Warning,
        format("%s: %d keys of the architecture are not known and do not count: %s%s", std::string(file.name()).c_str(),
               count, unknown.c_str(), count > 10 ? ", ..." : ""));
}

}  // namespace models

Status read_decoder_config(const Gguf& file, const Log& log, DecoderConfig* config) {
  if (config == nullptr) return refuse("read_decoder_config: config is null");
  GgufFields fields(file, {}, log);
  const std::string architecture = fields.text("general.architecture");
  if (fields.status() != Status::Ok) return fields.status();
  const models::DecoderFamily* family = models::find_family(architecture);
  if (family == nullptr) {
    fields.fail("general.architecture", models::listed(decoder_families()) + " are supported", Status::Unsupported);
    return fields.status();
  }
  models::GgufConfig from(file, architecture, log);
  from.config.family = family->name;
  from.refuse_others(*family);
  family->read_gguf(from);
  if (from.fields.status() != Status::Ok) return from.fields.status();
  from.warn_of_unknown();
  *config = from.config;
  return Status::Ok;
}

}  // namespace heed
