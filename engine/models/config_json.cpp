// A decoder's configuration from a config.json.
#include <heed/decoder_model.hpp>

#include "base/logging.hpp"
#include "models/config.hpp"
#include "models/family.hpp"

namespace heed {

namespace models {

int64_t JsonConfig::size(const char* name, std::optional<int64_t> otherwise) {
  return fields.integer(name, 1, kMaxDecoderSize, otherwise);
}

void JsonConfig::refuse(const char* name, bool wrong) {
  if (wrong) fields.fail(name, "is not supported", Status::Unsupported);
}

void JsonConfig::check_heads(const char* name) {
  if (fields.status() != Status::Ok || config.head_width != 0) return;
  if (config.width % config.heads != 0)
    fields.fail(name, format("must divide the width %lld", static_cast<long long>(config.width)));
  config.head_width = config.width / config.heads;
}

// Newer files have all rotary settings in one object, or in one for each kind of layer.
void JsonConfig::read_rotation() {
  refuse("partial_rotary_factor", fields.number("partial_rotary_factor", 0.0, 1.0, 1.0) != 1.0);
  const char* name = fields.field("rope_parameters") ? "rope_parameters" : "rope_scaling";
  double base = fields.number("rope_theta", 1.0, 1e30, static_cast<double>(config.rotary.base));
  if (fields.field(name)) {
    const Json all = fields.object(name), of_full = all.field("full_attention");
    const std::string where = fields.where() + ": " + name;
    Fields inner(of_full ? of_full : all, where, log_);
    base = inner.number("rope_theta", 1.0, 1e30, base);
    read_scaling(&inner);
    inner_ = inner.status();
    if (of_full && inner_ == Status::Ok) read_window_rotation(all.field("sliding_attention"), where);
  }
  config.rotary.base = static_cast<float>(base);
  if (fields.status() == Status::Ok && config.head_width % 2 != 0)
    fields.fail("head_dim", format("heads of %lld cannot be turned", static_cast<long long>(config.head_width)));
}

void JsonConfig::read_window_rotation(Json of_windows, const std::string& where) {
  Fields inner(of_windows, where + ": sliding_attention", log_);
  config.window_base = static_cast<float>(inner.number("rope_theta", 1.0, 1e30));
  if (inner.text("rope_type", "default") != "default")
    inner.fail("rope_type", "only default is supported", Status::Unsupported);
  inner_ = inner.status();
}

void JsonConfig::read_scaling(Fields* inner) {
  const char* name = inner->field("rope_type") ? "rope_type" : "type";
  const std::string kind = inner->text(name, "default");
  RotaryScaling& scaling = config.rotary.scaling;
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

namespace {

const DecoderFamily* family_of(Fields* fields) {
  const std::string type = fields->text("model_type");
  const DecoderFamily* family = find_model_type(type);
  if (family != nullptr || fields->status() != Status::Ok) return family;
  std::vector<std::string_view> types;
  for (const DecoderFamily* one : all_families()) {
    types.push_back(one->name);
    types.insert(types.end(), one->other_types.begin(), one->other_types.end());
  }
  fields->fail("model_type", listed(types) + " are supported", Status::Unsupported);
  return nullptr;
}

}  // namespace

}  // namespace models

Status parse_decoder_config(std::string_view json, std::string_view name, const Log& log, DecoderConfig* config) {
  if (config == nullptr) return refuse("parse_decoder_config: config is null");
  JsonFile object;
  const Status status = parse_object(json, name, log, &object);
  if (status != Status::Ok) return status;
  models::JsonConfig from(object.root(), std::string(name), log);
  const models::DecoderFamily* family = models::family_of(&from.fields);
  if (family == nullptr) return from.status();
  from.config.family = family->name;
  family->read_json(from);
  if (from.status() == Status::Ok) *config = from.config;
  return from.status();
}

}  // namespace heed
