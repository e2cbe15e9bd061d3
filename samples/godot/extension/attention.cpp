#include "attention.hpp"

#include <utility>

#include "attention_work.hpp"

namespace {

// Reads the values of a weight from a checkpoint. Returns false with *problem naming what is missing or has another shape.
bool fill(const heed::Checkpoint& checkpoint, AttentionWeight* weight, std::string* problem) {
  const heed::SafeTensors::Entry* entry = checkpoint.find(weight->name);
  if (entry == nullptr) {
    *problem = "it has no " + weight->name;
    return false;
  }
  if (entry->type != heed::SafeTensors::Type::F32 || entry->shape != weight->shape) {
    *problem = weight->name + " is " + heed::to_string(entry->type) + " of " + std::to_string(entry->elements()) +
               " elements; F32 of " + std::to_string(weight->elements()) + " is needed by these properties";
    return false;
  }
  weight->values.resize(static_cast<size_t>(weight->elements()));
  std::copy(entry->data.begin(), entry->data.end(), reinterpret_cast<std::byte*>(weight->values.data()));
  return true;
}

}  // namespace

HeedAttention::~HeedAttention() = default;

bool HeedAttention::check_closed() const {
  if (is_open()) godot::error("HeedAttention: properties of an open layer stay as they are; call close() first");
  return !is_open();
}

bool HeedAttention::check_bounds(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return true;
  godot::error(std::string("HeedAttention.") + name + ": must be from " + std::to_string(least) + " to " +
               std::to_string(most) + ", not " + std::to_string(value));
  return false;
}

void HeedAttention::set_scale(double scale) {
  if (!check_closed()) return;
  if (scale >= 0)
    shape_.scale = scale;
  else
    godot::error("HeedAttention.scale: must be 0 or more");
}

bool HeedAttention::check_open(const char* method) const {
  if (!is_open())
    godot::error(std::string("HeedAttention.") + method + ": there is no layer; call open() or open_by_rule() first");
  return is_open();
}

godot::Error HeedAttention::make(const char* method, godot::Object object, const std::string& prefix,
                                 std::vector<AttentionWeight> weights) {
  const std::string caller = std::string("HeedAttention.") + method;
  const HeedDevice* device = HeedDevice::opened(object, caller.c_str());
  if (device == nullptr) return godot::Error::InvalidParameter;
  if (device->gpu() && !device->gpu()->is_alive()) {
    godot::error(caller + ": " + device->gpu()->problem());
    return godot::Error::Unavailable;
  }
  const heed::Graph graph = attention_graph(shape_, prefix);
  if (graph.status() != heed::Status::Ok) {
    godot::error(caller + ": these properties make no layer: " + graph.error());
    return godot::Error::InvalidParameter;
  }
  auto work = std::make_shared<AttentionWork>(shape_, device->gpu(), device->cpu());
  const heed::Status status = work->make(graph, weights);
  if (status != heed::Status::Ok) {
    godot::error(caller + ": the layer could not be made: " + heed::to_string(status));
    return godot::Error::Failed;
  }
  work_ = std::move(work);
  return godot::Error::Ok;
}

godot::Error HeedAttention::open(godot::Object device, const std::string& given, const std::string& prefix) {
  const std::string path = godot::system_path(given);
  heed::Checkpoint checkpoint;
  if (heed::Checkpoint::open(path, godot::log(), &checkpoint) != heed::Status::Ok) {
    godot::error("HeedAttention.open: there are no weights in " + path + godot::why_no_file(path));
    return godot::Error::FileCannotBeRead;
  }
  std::vector<AttentionWeight> weights = weights_of(shape_, prefix);
  std::string problem;
  for (AttentionWeight& weight : weights)
    if (!fill(checkpoint, &weight, &problem)) {
      godot::error("HeedAttention.open: " + path + " does not fit: " + problem);
      return godot::Error::FileCannotBeRead;
    }
  return make("open", device, prefix, std::move(weights));
}

godot::Error HeedAttention::open_by_rule(godot::Object device, int64_t seed) {
  std::vector<AttentionWeight> weights = weights_of(shape_, "");
  for (AttentionWeight& weight : weights) {
    draw(static_cast<uint64_t>(seed), &weight);
    const auto given = given_.find(weight.name);
    if (given == given_.end()) continue;
    if (given->second.size() != weight.values.size()) {
      godot::error("HeedAttention.open_by_rule: " + weight.name + " has " + std::to_string(weight.values.size()) +
                   " values, and " + std::to_string(given->second.size()) + " were given");
      return godot::Error::InvalidParameter;
    }
    weight.values = given->second;
  }
  return make("open_by_rule", device, "", std::move(weights));
}

godot::Texts HeedAttention::weight_names() const {
  godot::Texts names;
  for (const AttentionWeight& weight : weights_of(shape_, "")) names.push_back(weight.name);
  return names;
}

int64_t HeedAttention::weight_size(const std::string& name) const {
  for (const AttentionWeight& weight : weights_of(shape_, ""))
    if (weight.name == name) return weight.elements();
  return 0;
}

godot::Error HeedAttention::set_weight(const std::string& name, const godot::Floats& values) {
  if (!check_closed()) return godot::Error::InvalidParameter;
  const int64_t wanted = weight_size(name);
  if (wanted > 0 && static_cast<int64_t>(values.size()) == wanted) {
    given_[name] = values;
    return godot::Error::Ok;
  }
  godot::error("HeedAttention.set_weight: " +
               (wanted == 0
                    ? "there is no weight " + name + "; get_weight_names() lists them"
                    : name + " has " + std::to_string(wanted) + " values, not " + std::to_string(values.size())));
  return godot::Error::InvalidParameter;
}

int64_t HeedAttention::row_width(const std::string& name) const { return work_ ? work_->width_of(name) : 0; }

godot::Rid HeedAttention::make_buffer(const std::string& name) {
  if (!check_open("make_buffer")) return {};
  const int64_t rows = work_->most_rows_of(name), width = work_->width_of(name);
  const auto bytes = static_cast<size_t>(rows * width) * sizeof(float);
  godot::Rid buffer;
  if (!work_->gpu || bytes == 0 || bytes > UINT32_MAX)
    godot::error(std::string("HeedAttention.make_buffer: ") +
                 (bytes == 0 ? "the layer has no " + name
                  : !work_->gpu
                      ? "buffers are the GPU's, and the layer is on the CPU; use run()"
                      : name + " would have " + std::to_string(bytes) + " bytes; Godot makes buffers below 4 GiB"));
  else if (!work_->gpu->is_alive() ||
           !work_->gpu->run([&] { buffer = work_->gpu->create_buffer(godot::Bytes(bytes)); }))
    godot::error("HeedAttention.make_buffer: " + work_->gpu->refusal());
  else if (buffer.id != 0)
    (void)bind(name, buffer);
  return buffer;
}

godot::Error HeedAttention::bind(const std::string& name, godot::Rid buffer) {
  if (!check_open("bind_buffer")) return godot::Error::Unconfigured;
  const bool is_known = work_->width_of(name) > 0;
  if (is_known && work_->gpu && buffer.id != 0) {
    const std::lock_guard lock(work_->mutex);
    work_->bound[name] = buffer;
    return godot::Error::Ok;
  }
  godot::error("HeedAttention.bind_buffer: " +
               (!is_known        ? "the layer has no " + name + "; it has x, y and what its properties add"
                : buffer.id == 0 ? "the buffer of " + name + " is no valid RID"
                                 : std::string("buffers are the GPU's, and the layer is on the CPU; use run()")));
  return is_known ? godot::Error::InvalidParameter : godot::Error::DoesNotExist;
}

godot::Error HeedAttention::compute(int64_t queries, int64_t keys) {
  if (!check_open("compute")) return godot::Error::Unconfigured;
  if (!work_->gpu) {
    godot::error("HeedAttention.compute: the layer is on the CPU, which has no buffers of Godot's; use run()");
    return godot::Error::Unavailable;
  }
  const bool fits =
      queries >= 1 && queries <= shape_.max_queries && (!shape_.is_cross() || (keys >= 1 && keys <= shape_.max_keys));
  std::string missing;
  if (!fits || !work_->has_all_buffers(&missing)) {
    godot::error(std::string("HeedAttention.compute: ") +
                 (fits ? "no buffer is bound to " + missing : "rows must be from 1 to max_queries and max_keys"));
    return fits ? godot::Error::Unconfigured : godot::Error::InvalidParameter;
  }
  if (work_->gpu->is_alive() && work_->gpu->post([work = work_, queries, keys] { work->submit(queries, keys); }))
    return godot::Error::Ok;
  godot::error("HeedAttention.compute: " + work_->gpu->refusal());
  return godot::Error::Unavailable;
}

godot::Floats HeedAttention::run(const godot::Floats& x, const godot::Floats& context) {
  if (!check_open("run")) return {};
  const auto rows_fit = [](size_t floats, int64_t width, int64_t most) {
    const auto count = static_cast<int64_t>(floats);
    return count > 0 && count % width == 0 && count / width <= most;
  };
  if (!rows_fit(x.size(), shape_.width, shape_.max_queries) ||
      (shape_.is_cross() && !rows_fit(context.size(), shape_.context_width, shape_.max_keys)) ||
      (!shape_.is_cross() && !context.empty())) {
    godot::error(
        "HeedAttention.run: x must be 1 to max_queries rows of width numbers, and context 1 to max_keys rows of "
        "context_width, or empty where context_width is 0");
    return {};
  }
  godot::Floats y;
  const heed::Status status = work_->run(x, context, &y);
  if (status == heed::Status::Ok) return y;
  const bool is_refused = work_->gpu && (status == heed::Status::NotReady || !work_->gpu->is_alive());
  godot::error("HeedAttention.run: " + (is_refused ? work_->gpu->refusal() : std::string(heed::to_string(status))));
  return {};
}

int64_t HeedAttention::runs() const { return work_ ? work_->ended.load() : 0; }
double HeedAttention::msec() const { return work_ ? work_->milliseconds.load() : 0; }

const godot::Class& HeedAttention::description() {
  using godot::Kind, godot::method, godot::property;
  using A = HeedAttention;
  using S = AttentionShape;
  constexpr int64_t kWidest = 65536, kMostRows = 65536;
  static const godot::Class result{
      "HeedAttention",
      "RefCounted",
      godot::create<A>,
      {method<&A::open>("open", {{"device", Kind::Object, "HeedDevice"}, {"path"}, {"prefix"}}),
       method<&A::open_by_rule>("open_by_rule", {{"device", Kind::Object, "HeedDevice"}, {"seed"}}),
       method<&A::close>("close"), method<&A::is_open>("is_open"), method<&A::weight_names>("get_weight_names"),
       method<&A::weight_size>("get_weight_size", {{"name"}}),
       method<&A::set_weight>("set_weight", {{"name"}, {"values"}}), method<&A::row_width>("get_row_width", {{"name"}}),
       method<&A::make_buffer>("make_buffer", {{"name"}}), method<&A::bind>("bind_buffer", {{"name"}, {"buffer"}}),
       method<&A::compute>("compute", {{"queries"}, {"keys"}}), method<&A::run>("run", {{"x"}, {"context"}}),
       method<&A::runs>("get_runs"), method<&A::msec>("get_msec")},
      {},
      {property<&A::set<"width", &S::width, 1, kWidest>, &A::get<&S::width>>("width", "set_width", "get_width"),
       property<&A::set<"context_width", &S::context_width, 0, kWidest>, &A::get<&S::context_width>>(
           "context_width", "set_context_width", "get_context_width"),
       property<&A::set<"heads", &S::heads, 1, 1024>, &A::get<&S::heads>>("heads", "set_heads", "get_heads"),
       property<&A::set<"key_width", &S::key_width, 0, 1024>, &A::get<&S::key_width>>("key_width", "set_key_width",
                                                                                      "get_key_width"),
       property<&A::set<"value_width", &S::value_width, 0, 1024>, &A::get<&S::value_width>>(
           "value_width", "set_value_width", "get_value_width"),
       property<&A::set<"max_queries", &S::max_queries, 1, kMostRows>, &A::get<&S::max_queries>>(
           "max_queries", "set_max_queries", "get_max_queries"),
       property<&A::set<"max_keys", &S::max_keys, 1, kMostRows>, &A::get<&S::max_keys>>("max_keys", "set_max_keys",
                                                                                        "get_max_keys"),
       property<&A::set<"encoder_layers", &S::encoder_layers, 0, heed::nn::kMaxLayers>, &A::get<&S::encoder_layers>>(
           "encoder_layers", "set_encoder_layers", "get_encoder_layers"),
       property<&A::set<"hidden", &S::hidden, 0, kWidest>, &A::get<&S::hidden>>("hidden", "set_hidden", "get_hidden"),
       property<&A::set_flag<&S::fused>, &A::get<&S::fused>>("fused", "set_fused", "is_fused"),
       property<&A::set_flag<&S::out_projection>, &A::get<&S::out_projection>>("out_projection", "set_out_projection",
                                                                               "has_out_projection"),
       property<&A::set_flag<&S::bias>, &A::get<&S::bias>>("bias", "set_bias", "has_bias"),
       property<&A::set_flag<&S::causal>, &A::get<&S::causal>>("causal", "set_causal", "is_causal"),
       property<&A::set_flag<&S::gives_weights>, &A::get<&S::gives_weights>>("gives_weights", "set_gives_weights",
                                                                             "is_giving_weights"),
       property<&A::set_scale, &A::get<&S::scale>>("scale", "set_scale", "get_scale")}};
  return result;
}
