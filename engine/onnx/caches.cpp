// Inputs and outputs of the file that become states of the graph.
#include <algorithm>

#include "base/logging.hpp"
#include "onnx/importer.hpp"

namespace heed::onnx {
namespace {

// The axis along which a node appends to `past`: Concat's if `past` is its first operand, 2 if it is the past key or value of Attention.
std::optional<int64_t> grown_axis(const FileNode& node, std::string_view past) {
  const auto is_input = [&](size_t i) { return node.inputs.size() > i && node.inputs[i] == past; };
  if (node.op == "Attention" && (is_input(4) || is_input(5))) return 2;
  const FileAttribute* axis = node.find("axis");
  return node.op == "Concat" && is_input(0) && axis != nullptr ? std::optional(axis->integer) : std::nullopt;
}

}  // namespace

bool Importer::find_caches() {
  const FileGraph& graph = file_.graph;
  const auto of_name = [](std::string_view name) { return [name](const auto& one) { return one.name == name; }; };
  for (const OnnxState& state : options_.states) {
    const auto past = std::find_if(graph.inputs.begin(), graph.inputs.end(), of_name(state.past));
    const auto present = std::find_if(graph.outputs.begin(), graph.outputs.end(), of_name(state.present));
    const bool stays = state.present.empty();
    const bool has_default = std::any_of(graph.initializers.begin(), graph.initializers.end(), of_name(state.past));
    const bool is_taken = std::any_of(caches_.begin(), caches_.end(), [&](const Cache& c) {
      return c.past->name == state.past || (!stays && c.present == state.present);
    });
    if (past == graph.inputs.end() || (present == graph.outputs.end() && !stays) || has_default || is_taken) {
      fail(Status::InvalidArgument,
           format("'%s' and '%s' cannot be a state: %s", std::string(state.past).c_str(),
                  std::string(state.present).c_str(),
                  is_taken ? "one of them is one already" : "they must be an input and an output of the file"));
      return false;
    }
    Cache cache;
    cache.past = &*past;
    cache.present = state.present;
    if (!stays && !find_axis(&cache)) return false;
    caches_.push_back(std::move(cache));
  }
  return true;
}

bool Importer::find_axis(Cache* cache) {
  const FileValue& past = *cache->past;
  const auto rank = static_cast<int64_t>(past.dims.size());
  for (const FileNode& node : file_.graph.nodes) {
    const std::optional<int64_t> axis = grown_axis(node, past.name);
    if (!axis) continue;
    const int64_t counted = *axis < 0 ? *axis + rank : *axis;
    if (counted < 0 || counted >= rank) continue;  // importing the node reports the mistake
    const FileDim& dim = past.dims[static_cast<size_t>(counted)];
    if (dim.symbol.empty() && dim.size >= 0) {
      fail(Status::Unsupported, format("'%s' cannot be a state: it always has %lld rows, and grows", past.name.c_str(),
                                       static_cast<long long>(dim.size)));
      return false;
    }
    cache->axis = static_cast<int>(counted);
    positions_.insert(symbol_of(dim, past.name, static_cast<size_t>(counted)));
    return true;
  }
  return true;
}

// The state, viewed with the sizes of this run.
Tensor Importer::state_of(const Cache& cache, const Shape& whole) {
  Tensor state = g_.state(cache.past->name, whole, *device_type(cache.past->type));
  for (size_t i = 0; i < cache.dims.size(); ++i)  // empty for a scalar, whose state is [1]
    if (cache.axis != static_cast<int>(i) && !cache.dims[i].is_constant())
      state = g_.slice(state, static_cast<int>(i), 0, cache.dims[i]);
  return state;
}

bool Importer::add_past(int index) {
  Cache& cache = caches_[static_cast<size_t>(index)];
  Value value;
  value.type = cache.past->type;
  Shape whole;
  for (const Dim& dim : cache.dims) whole.push_back(dim.value);
  for (int i = 0; i < whole.rank; ++i)
    if (whole[i] == Dim(0) && cache.axis != i) {
      fail(Status::Unsupported, format("'%s' cannot be a state: it has no elements", cache.past->name.c_str()));
      return false;
    }
  if (cache.axis) {
    value.cache = index;
    value.dims = cache.dims;
  } else {
    value.tensor = cache.tensor = state_of(cache, whole.rank == 0 ? Shape{1} : whole);
    value.is_scalar = whole.rank == 0;
  }
  scope_.values.emplace(cache.past->name, value);
  return g_.status() == Status::Ok;
}

Value Importer::append(const Value& past, Tensor rows, int axis) {
  Cache& cache = caches_[static_cast<size_t>(past.cache)];
  Value made;
  made.type = past.type;
  if (failed() || g_.status() != Status::Ok) return made;
  if (cache.axis != axis || cache.tensor.valid()) {
    fail(Status::Unsupported, format("'%s' stays in a State, and grows once, along axis %d", cache.past->name.c_str(),
                                     cache.axis.value_or(0)));
    return made;
  }
  const Dim at = cache.dims[static_cast<size_t>(axis)], total = g_.sum(at, g_.shape(rows)[axis]);
  Shape whole;
  for (size_t i = 0; i < cache.dims.size(); ++i)
    whole.push_back(static_cast<int>(i) == axis ? total.value : cache.dims[i].value);
  made.tensor = cache.tensor = g_.slice(g_.append(state_of(cache, whole), rows, axis, at), axis, 0, total);
  return made;
}

bool Importer::may_be_0(const Dim& dim) const {
  return !dim.is_constant() && std::any_of(caches_.begin(), caches_.end(), [&](const Cache& cache) {
    return cache.axis && cache.dims[static_cast<size_t>(*cache.axis)] == dim;
  });
}

bool Importer::add_present(const Cache& cache) {
  if (cache.present.empty()) return true;
  const Value* value = scope_.find(cache.present);
  const auto refuse = [&](const char* why) {
    fail(Status::Unsupported, format("'%s' and '%s' cannot be a state: %s", cache.past->name.c_str(),
                                     std::string(cache.present).c_str(), why));
    return false;
  };
  if (cache.axis) {
    if (value != nullptr && cache.tensor.valid() && value->tensor == cache.tensor) return true;
    return refuse("the output is not the input with what comes behind it, by Concat or Attention");
  }
  if (value == nullptr) return refuse("no node makes the output");
  const std::vector<Dim> dims = dims_of(*value);
  bool is_same = dims.size() == cache.dims.size() && value->type == cache.past->type;
  for (size_t i = 0; is_same && i < dims.size(); ++i)
    is_same = dims[i] == cache.dims[i] || unite(dims[i], cache.dims[i]);
  if (must_retry_) return false;
  if (!is_same)
    return refuse(
        "the output has another shape or type, and no Concat or Attention joins the input with what comes behind it");
  const Tensor tensor = tensor_of(*value, cache.present);
  if (failed()) return false;
  g_.assign(cache.tensor, tensor);
  return true;
}

}  // namespace heed::onnx
