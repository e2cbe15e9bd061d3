// Graphs: handles, queries and constants. generated/operations.cpp has the operations.
#include "c/graph_object.hpp"
#include "graph/build/build.hpp"
#include "graph/graph_data.hpp"

using namespace heed::c;
using heed::Tensor;

namespace {

// The values, aligned as the engine reads them.
template <class T>
std::vector<T> copied(const void* values, size_t bytes) {
  std::vector<T> copy(bytes / sizeof(T));
  if (bytes != 0) std::memcpy(copy.data(), values, bytes);
  return copy;
}

// For queries: the graph of a handle, which may have a mistake, and one of its tensors.
bool has_tensor(Call& call, const Pin<Graph>& graph, heed_tensor named, Tensor* tensor) {
  if (call.failed()) return false;
  if (graph->find(named, tensor)) return true;
  call.fail(HEED_INVALID_ARGUMENT, "the tensor is none of this graph's");
  return false;
}

// Null if there is no such kind.
const std::vector<heed::detail::NamedTensor>* named_of(const Graph& graph, int32_t kind) {
  const heed::detail::GraphData& data = graph.it.data();
  return kind == HEED_GRAPH_INPUTS    ? &data.inputs
         : kind == HEED_GRAPH_OUTPUTS ? &data.outputs
         : kind == HEED_GRAPH_STATES  ? &data.states
                                      : nullptr;
}

// The extents whose values runs give, without those that runs compute.
std::vector<const heed::detail::ExtentInfo*> extents_of(const Graph& graph) {
  std::vector<const heed::detail::ExtentInfo*> all;
  for (const heed::detail::ExtentInfo& extent : graph.it.data().extents)
    if (!extent.is_computed) all.push_back(&extent);
  return all;
}

}  // namespace

heed_status heed_graph_create(heed_graph** graph) {
  Call call(__func__);
  if (!has_place(call, graph, "graph")) return call.status();
  return give(call, std::make_unique<Graph>(), graph);
}

heed_status heed_graph_clone(heed_graph* handle, heed_graph** copy) {
  Call call(__func__);
  if (!has_place(call, copy, "copy")) return call.status();
  const Pin<Graph> graph(call, handle);
  if (call.failed()) return call.status();
  return give(call, graph->clone(), copy);
}

heed_status heed_graph_destroy(heed_graph* graph) { return destroy<Graph>(__func__, graph); }

heed_status heed_graph_get_status(heed_graph* graph) { return Building(__func__, graph).end(); }

heed_status heed_graph_roll_back(heed_graph* handle) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (call.failed() || graph->it.status() == heed::Status::Ok) return call.status();
  Graph::Before& before = graph->before;
  if (before.copy)
    graph->it = std::move(*before.copy);
  else
    before.mark->restore(&heed::detail::data_of(graph->it));
  before = {};
  return call.status();
}

heed_status heed_graph_fail(heed_graph* graph, heed_status status, const char* message) {
  Building on(__func__, graph);
  if (!on) return on.end();
  if (status <= HEED_OK || status > HEED_FILE_ERROR) status = HEED_INVALID_ARGUMENT;
  on.graph().it.fail(static_cast<heed::Status>(status), on.call().text(message, "message"));
  return on.end();
}

heed_status heed_graph_shape(heed_graph* handle, heed_tensor x, heed_dim* shape, size_t capacity, size_t* rank) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  Tensor tensor;
  if (!has_tensor(call, graph, x, &tensor)) return call.status();
  const heed::Shape found = graph->it.shape(tensor);
  std::array<heed_dim, heed::kMaxRank> sizes{};
  for (int i = 0; i < found.rank; ++i) sizes[static_cast<size_t>(i)] = graph->name(found[i]);
  return fill(call, std::span<const heed_dim>(sizes.data(), static_cast<size_t>(found.rank)), shape, capacity, rank);
}

heed_status heed_graph_dtype(heed_graph* handle, heed_tensor x, heed_dtype* dtype) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  Tensor tensor;
  if (!call.has(dtype, "dtype") || !has_tensor(call, graph, x, &tensor)) return call.status();
  *dtype = to_c(graph->it.dtype(tensor));
  return call.status();
}

size_t heed_graph_weight_count(heed_graph* handle) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  return graph ? graph->it.weights().size() : 0;
}

heed_status heed_graph_get_weight(heed_graph* handle, size_t index, heed_weight_info* info) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  Wanted<heed_weight_info> wanted(call, info, "heed_weight_info");
  if (call.failed()) return call.status();
  const std::vector<heed::WeightInfo> all = graph->it.weights();
  if (!call.has_index(index, all.size())) return call.status();
  const heed::WeightInfo& weight = all[index];
  heed_weight_info found{};
  found.name = weight.name.data();  // zero-terminated, since it is the graph's std::string
  found.rank = static_cast<size_t>(weight.shape.rank);
  graph->weight_shapes.resize(all.size());
  for (size_t i = 0; i < found.rank; ++i) graph->weight_shapes[index][i] = weight.shape.dims[i].value;
  found.shape = graph->weight_shapes[index].data();
  found.dtype = to_c(weight.dtype);
  wanted.set(found);
  return call.status();
}

size_t heed_graph_named_count(heed_graph* handle, int32_t kind) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  const auto* all = graph ? named_of(*graph, kind) : nullptr;
  return all != nullptr ? all->size() : 0;
}

heed_status heed_graph_get_named(heed_graph* handle, int32_t kind, size_t index, const char** name,
                                 heed_tensor* tensor) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (!call.has(name, "name") || !call.has(tensor, "tensor") || call.failed()) return call.status();
  const auto* all = named_of(*graph, kind);
  if (all == nullptr)
    return call.fail(HEED_INVALID_ARGUMENT, heed::format("%d is no kind of tensor that has a name", kind));
  if (!call.has_index(index, all->size())) return call.status();
  *name = (*all)[index].name.c_str();
  *tensor = graph->name(Tensor{(*all)[index].tensor});
  return call.status();
}

size_t heed_graph_extent_count(heed_graph* handle) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  return graph ? extents_of(*graph).size() : 0;
}

heed_status heed_graph_get_extent(heed_graph* handle, size_t index, const char** name, heed_dim* dim) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (!call.has(name, "name") || !call.has(dim, "dim") || call.failed()) return call.status();
  const std::vector<const heed::detail::ExtentInfo*> all = extents_of(*graph);
  if (!call.has_index(index, all.size())) return call.status();
  *name = all[index]->name.c_str();
  heed::Dim found = all[index]->max;
  found.expr = all[index]->size;
  *dim = graph->name(found);
  return call.status();
}

heed_status heed_graph_dim_max(heed_graph* handle, heed_dim dim, int64_t* most) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (!call.has(most, "most") || call.failed()) return call.status();
  heed::Dim found;
  if (!graph->find(dim, &found)) return call.fail(HEED_INVALID_ARGUMENT, "the size is none of this graph's");
  *most = found.value;
  return call.status();
}

heed_status heed_graph_dim_value(heed_graph* handle, heed_dim dim, const heed_extent_value* extents,
                                 size_t extent_count, int64_t* value) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (!call.has(value, "value") || !call.has_array(extents, extent_count, "extents") || call.failed())
    return call.status();
  heed::Dim found;
  if (!graph->find(dim, &found)) return call.fail(HEED_INVALID_ARGUMENT, "the size is none of this graph's");
  const heed::detail::GraphData& data = graph->it.data();
  std::vector<int64_t> values;
  std::vector<bool> given;
  for (const heed::detail::ExtentInfo& extent : data.extents) {
    values.push_back(0);
    given.push_back(extent.least == 0 || extent.is_computed);
  }
  for (size_t i = 0; i < extent_count; ++i) {
    const std::string name(call.text(extents[i].name, "the name of an extent"));
    if (call.failed()) return call.status();
    const auto of_name = [&](const heed::detail::ExtentInfo& extent) {
      return extent.name == name && !extent.is_computed;
    };
    const auto extent = std::find_if(data.extents.begin(), data.extents.end(), of_name);
    if (extent == data.extents.end())
      return call.fail(HEED_NOT_FOUND, heed::format("the graph has no extent '%s'", name.c_str()));
    if (extents[i].value < extent->least || extents[i].value > extent->max)
      return call.fail(
          HEED_EXTENT_OUT_OF_RANGE,
          heed::format("'%s' is %lld; it must be %lld to %lld", name.c_str(), static_cast<long long>(extents[i].value),
                       static_cast<long long>(extent->least), static_cast<long long>(extent->max)));
    values[static_cast<size_t>(extent - data.extents.begin())] = extents[i].value;
    given[static_cast<size_t>(extent - data.extents.begin())] = true;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && !found.is_constant() && data.sizes.depends_on(found.expr, static_cast<uint32_t>(i)))
      return call.fail(HEED_EXTENT_OUT_OF_RANGE,
                       heed::format("extent '%s' is not given", data.extents[i].name.c_str()));
  std::string wrong;
  for (size_t i = 0; i < given.size(); ++i)
    if (data.extents[i].is_computed && !found.is_constant() &&
        data.sizes.depends_on(found.expr, static_cast<uint32_t>(i)) &&
        !compute(data.sizes, data.extents[i], values, &values[i], &wrong))
      return call.fail(HEED_EXTENT_OUT_OF_RANGE, wrong);
  *value = found.is_constant() ? found.value : data.sizes.evaluate(found.expr, values);
  return call.status();
}

heed_tensor heed_graph_constant(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                heed_dtype dtype, const void* values, size_t bytes) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    const std::string_view text = on.call().text(name, "name");
    const heed::Shape sizes = on.shape(shape, rank);
    const heed::DType type = on.call().dtype(dtype);
    if (!on.call().has_array(values, bytes, "values")) return Tensor{};
    if (heed::size_of(type) != 0 && bytes % heed::size_of(type) != 0) {
      on.call().fail(HEED_SHAPE_MISMATCH,
                     heed::format("'%s' has %zu bytes, which are no whole %s", name, bytes, to_string(type)));
      return Tensor{};
    }
    if (type == heed::DType::F32) return g.constant(text, sizes, copied<float>(values, bytes));
    if (type == heed::DType::I32) return g.constant(text, sizes, copied<int32_t>(values, bytes));
    if (type == heed::DType::U8) return g.constant(text, sizes, copied<uint8_t>(values, bytes));
    on.call().fail(HEED_DTYPE_MISMATCH,
                   heed::format("'%s' is %s; constants are f32, i32 or u8", name, to_string(type)));
    return Tensor{};
  });
}

heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]) {
  Call call(__func__);
  heed::SampleOptions given;
  if (options != nullptr && check_struct(call, options, sizeof(*options), "heed_sample_options")) {
    given.repetition_penalty = options->repetition_penalty;
    given.temperature = options->temperature;
    given.top_k = options->top_k;
    given.top_p = options->top_p;
    given.min_p = options->min_p;
  }
  if (!call.has(words, "words") || call.failed()) return call.status();
  heed::SampleWords made{};
  if (call.end(heed::sample_words(given, &made)) == HEED_OK) std::copy(made.begin(), made.end(), words);
  return call.status();
}
static_assert(HEED_SAMPLE_WORDS == heed::kSampleWords);
