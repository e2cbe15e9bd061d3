// Graphs: making them, asking them, sources and results, tensors that stay, views.
#include "c/graph_object.hpp"

using namespace heed::c;
using heed::Dim;
using heed::Tensor;

heed_status heed_graph_create(heed_graph** graph) {
  Call call(__func__);
  if (!has_place(call, graph, "graph")) return call.status();
  return give(call, std::make_unique<Graph>(), graph);
}

heed_status heed_graph_clone(heed_graph* handle, heed_graph** copy) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  if (!has_place(call, copy, "copy") || call.failed()) return call.status();
  auto made = std::make_unique<Graph>();
  made->it = graph->it;
  made->tag = graph->tag;
  made->dims = graph->dims;
  made->customs = graph->customs;
  return give(call, std::move(made), copy);
}

heed_status heed_graph_destroy(heed_graph* graph) { return destroy<Graph>(__func__, graph); }

heed_status heed_graph_get_status(heed_graph* handle) {
  Call call(__func__);
  const Pin<Graph> graph(call, handle);
  return call.failed() ? call.status() : call.adopt(graph->it.status(), graph->it.error());
}

heed_status heed_graph_fail(heed_graph* graph, heed_status status, const char* message) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) {
    (void)g.fail(b.call().one_of(status, heed::Status::NotReady, "the status"), b.call().text(message, "message"));
  });
}

heed_status heed_graph_shape(heed_graph* graph, heed_tensor x, heed_dim* shape, size_t capacity, size_t* rank) {
  Building b(__func__, graph);
  Call& call = b.call();
  if (!b.ok()) return call.status();
  call.fails_into(nullptr);
  const Tensor tensor = b.in(x);
  if (!call.failed() && !tensor.valid()) call.fail(HEED_INVALID_ARGUMENT, "0 is no tensor");
  if (call.failed()) return call.status();
  std::vector<heed_dim> dims;
  const heed::Shape sizes = b.graph().shape(tensor);
  for (int i = 0; i < sizes.rank; ++i) dims.push_back(b.out(sizes[i]));
  return fill<heed_dim>(call, dims, shape, capacity, rank);
}

heed_status heed_graph_dtype(heed_graph* graph, heed_tensor x, heed_dtype* dtype) {
  Building b(__func__, graph);
  Call& call = b.call();
  if (!b.ok()) return call.status();
  call.fails_into(nullptr);
  const Tensor tensor = b.in(x);
  if (!call.failed() && !tensor.valid()) call.fail(HEED_INVALID_ARGUMENT, "0 is no tensor");
  if (call.has(dtype, "dtype") && !call.failed()) *dtype = to_c(b.graph().dtype(tensor));
  return call.status();
}

heed_status heed_graph_dim_max(heed_graph* graph, heed_dim dim, int64_t* most) {
  Building b(__func__, graph);
  Call& call = b.call();
  if (!b.ok()) return call.status();
  call.fails_into(nullptr);
  const Dim found = b.dim(dim);
  if (call.has(most, "most") && !call.failed()) *most = found.value;
  return call.status();
}

heed_status heed_graph_push_label(heed_graph* graph, const char* name) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) { g.push_label(b.call().text(name, "name")); });
}

heed_status heed_graph_pop_label(heed_graph* graph) {
  Building b(__func__, graph);
  return b.act([](heed::Graph& g) { g.pop_label(); });
}

heed_dim heed_graph_extent(heed_graph* graph, const char* name, int64_t most) {
  Building b(__func__, graph);
  return b.ok() ? b.out(b.graph().extent(b.call().text(name, "name"), most)) : 0;
}

heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t most) {
  Building b(__func__, graph);
  return b.ok() ? b.out(b.graph().position(b.call().text(name, "name"), most)) : 0;
}

heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim c, int64_t most) {
  Building b(__func__, graph);
  return b.ok() ? b.out(b.graph().sum(b.dim(a), b.dim(c), most)) : 0;
}

heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                             heed_dtype dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const heed::DType type = b.call().dtype(dtype);
    return g.input(b.call().text(name, "name"), b.shape(shape, rank), type);
  });
}

heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                              heed_dtype dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const heed::DType type = b.call().dtype(dtype);
    return g.weight(b.call().text(name, "name"), b.shape(shape, rank), type);
  });
}

heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name) {
  Building b(__func__, graph);
  return b.ok() ? b.out(b.graph().find_weight(b.call().text_or(name))) : 0;
}

heed_tensor heed_graph_constant(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                heed_dtype dtype, const void* values, size_t bytes) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) -> Tensor {
    Call& call = b.call();
    const heed::DType type = call.dtype(dtype);
    const std::string_view called = call.text(name, "name");
    const heed::Shape sizes = b.shape(shape, rank);
    const size_t each = heed::size_of(type);
    if (!call.has_array(values, bytes, "values")) return {};
    if (type != heed::DType::F32 && type != heed::DType::I32 && type != heed::DType::U8) {
      call.fail(HEED_DTYPE_MISMATCH, heed::format("a constant is f32, i32 or u8, not %s", heed::to_string(type)));
      return {};
    }
    if (bytes % each != 0)
      call.fail(HEED_SHAPE_MISMATCH, heed::format("%zu bytes are no whole elements of %zu", bytes, each));
    // Rust and C# do not promise alignment of bytes: the values are copied to where they are aligned.
    std::vector<float> floats;
    std::vector<int32_t> integers;
    if (type == heed::DType::U8)
      return g.constant(called, sizes, std::span(static_cast<const uint8_t*>(values), bytes));
    if (type == heed::DType::F32) {
      floats.resize(bytes / each);
      if (bytes != 0) std::memcpy(floats.data(), values, floats.size() * each);
      return g.constant(called, sizes, std::span<const float>(floats));
    }
    integers.resize(bytes / each);
    if (bytes != 0) std::memcpy(integers.data(), values, integers.size() * each);
    return g.constant(called, sizes, std::span<const int32_t>(integers));
  });
}

heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor x) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) { g.output(b.call().text(name, "name"), b.in(x)); });
}

heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                             heed_dtype dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const heed::DType type = b.call().dtype(dtype);
    return g.state(b.call().text(name, "name"), b.shape(shape, rank), type);
  });
}

heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis, heed_dim at) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.append(b.in(state), b.in(rows), axis, b.dim(at)); });
}

heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis, heed_tensor at) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.append(b.in(state), b.in(rows), axis, b.in(at)); });
}

heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.assign(b.in(state), b.in(value)); });
}

heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.reshape(b.in(x), b.shape(shape, rank)); });
}

heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t count) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const bool is_there = b.call().has_array(axes, count, "axes");
    return g.permute(b.in(x), std::span<const int>(axes, is_there ? count : 0));
  });
}

heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.transpose(b.in(x), axis_a, axis_b); });
}

heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim count) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.slice(b.in(x), axis, b.dim(begin), b.dim(count)); });
}

heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x, int32_t axis) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.last(b.in(x), axis); });
}

heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.select(b.in(x), axis, index); });
}

heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.take(b.in(x), axis, b.in(places)); });
}
