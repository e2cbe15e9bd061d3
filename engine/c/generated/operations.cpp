// Made by engine/c/generate.py of the C++ headers: change those, and run it.
// clang-format off
#include <heed/c/heed.h>

#include "c/generated/options.hpp"

using namespace heed::c;

heed_dim heed_graph_extent(heed_graph* graph, const char* name, int64_t max) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.extent(on.call().text(name, "name"), max); });
}

heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t max) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.position(on.call().text(name, "name"), max); });
}

heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim b, int64_t most) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sum(on.dim(a), on.dim(b), most); });
}

heed_dim heed_graph_dim_product(heed_graph* graph, heed_dim a, heed_dim b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.dim_product(on.dim(a), on.dim(b)); });
}

heed_dim heed_graph_dim_difference(heed_graph* graph, heed_dim a, heed_dim b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.dim_difference(on.dim(a), on.dim(b)); });
}

heed_dim heed_graph_dim_quotient(heed_graph* graph, heed_dim a, heed_dim b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.dim_quotient(on.dim(a), on.dim(b)); });
}

heed_dim heed_graph_dim_floor_quotient(heed_graph* graph, heed_dim a, heed_dim b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.dim_floor_quotient(on.dim(a), on.dim(b)); });
}

heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.input(on.call().text(name, "name"), on.shape(shape, rank), on.call().dtype(dtype)); });
}

heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.weight(on.call().text(name, "name"), on.shape(shape, rank), on.call().dtype(dtype)); });
}

heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.find_weight(on.call().text(name, "name")); });
}

heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor tensor) {
  Building on(__func__, graph);
  if (on) on.graph().it.output(on.call().text(name, "name"), on.tensor(tensor, "tensor"));
  return on.end();
}

heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.state(on.call().text(name, "name"), on.shape(shape, rank), on.call().dtype(dtype)); });
}

heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis, heed_dim at) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.append(on.tensor(state, "state"), on.tensor(rows, "rows"), axis, on.dim(at)); });
}

heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis, heed_tensor at) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.append(on.tensor(state, "state"), on.tensor(rows, "rows"), axis, on.tensor(at, "at")); });
}

heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.assign(on.tensor(state, "state"), on.tensor(value, "value")); });
}

heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.reshape(on.tensor(x, "x"), on.shape(shape, rank)); });
}

heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t axes_count) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.permute(on.tensor(x, "x"), on.call().array(axes, axes_count, "axes")); });
}

heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.transpose(on.tensor(x, "x"), axis_a, axis_b); });
}

heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim size) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.slice(on.tensor(x, "x"), axis, on.dim(begin), on.dim(size)); });
}

heed_tensor heed_graph_stride(heed_graph* graph, heed_tensor x, int32_t axis, int64_t step) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.stride(on.tensor(x, "x"), axis, step); });
}

heed_tensor heed_graph_flip(heed_graph* graph, heed_tensor x, int32_t axis) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.flip(on.tensor(x, "x"), axis); });
}

heed_tensor heed_graph_pad(heed_graph* graph, heed_tensor x, int32_t axis, int64_t before, int64_t behind,
    const heed_pad_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.pad(on.tensor(x, "x"), axis, before, behind, read(on.call(), options)); });
}

heed_tensor heed_graph_tile(heed_graph* graph, heed_tensor x, int32_t axis, int64_t times) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.tile(on.tensor(x, "x"), axis, times); });
}

heed_tensor heed_graph_expand(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.expand(on.tensor(x, "x"), on.shape(shape, rank)); });
}

heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x, int32_t axis) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.last(on.tensor(x, "x"), axis); });
}

heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.select(on.tensor(x, "x"), axis, index); });
}

heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.take(on.tensor(x, "x"), axis, on.tensor(places, "places")); });
}

heed_tensor heed_graph_gather(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.gather(on.tensor(x, "x"), axis, on.tensor(places, "places")); });
}

heed_tensor heed_graph_scatter(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places, heed_tensor values) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.scatter(on.tensor(x, "x"), axis, on.tensor(places, "places"), on.tensor(values, "values")); });
}

heed_tensor heed_graph_scatter_add(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places,
    heed_tensor values) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.scatter_add(on.tensor(x, "x"), axis, on.tensor(places, "places"), on.tensor(values, "values")); });
}

heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b, const heed_matmul_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.matmul(on.tensor(a, "a"), on.tensor(b, "b"), read(on.call(), options)); });
}

heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.linear(on.tensor(x, "x"), on.tensor(weight, "weight"), on.tensor_if(bias)); });
}

heed_tensor heed_graph_windows(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size,
    const heed_window_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.windows(on.tensor(x, "x"), axis, size, read(on.call(), options)); });
}

heed_tensor heed_graph_conv1d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_window_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.conv1d(on.tensor(x, "x"), on.tensor(weight, "weight"), on.tensor_if(bias), read(on.call(), options)); });
}

heed_tensor heed_graph_conv2d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_conv2d_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.conv2d(on.tensor(x, "x"), on.tensor(weight, "weight"), on.tensor_if(bias), read(on.call(), options)); });
}

heed_tensor heed_graph_pool(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size, heed_reduction kind,
    const heed_window_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.pool(on.tensor(x, "x"), axis, size, on.call().one_of(kind, heed::Reduction::L2, "kind"), read(on.call(), options)); });
}

heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.softmax(on.tensor(x, "x"), read(on, options)); });
}

heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.layernorm(on.tensor(x, "x"), on.tensor_if(gamma), on.tensor_if(beta), eps); });
}

heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.rmsnorm(on.tensor(x, "x"), on.tensor_if(gamma), eps); });
}

heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.l2_normalize(on.tensor(x, "x"), eps); });
}

heed_tensor heed_graph_log_softmax(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.log_softmax(on.tensor(x, "x")); });
}

heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.rotary(on.tensor(x, "x"), read(on, options)); });
}

heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels, float label_smoothing) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cross_entropy(on.tensor(logits, "logits"), on.tensor(labels, "labels"), label_smoothing); });
}

heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sample(on.tensor(logits, "logits"), read(on, options)); });
}

heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const heed_attention_options* options, heed_attention_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::AttentionResult made = on.graph().it.attention(on.tensor(query, "query"), on.tensor(key, "key"), on.tensor(value, "value"), read(on, options));
  on.give();
  const heed_attention_result named = {on.name(made.output), on.name(made.weights), on.name(made.log_sum_exp), on.name(made.scores)};
  if (result != nullptr) *result = named;
  return named.output;
}

heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.dropout(on.tensor(x, "x"), p, on.call().word_if(stream, "stream")); });
}

heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.embedding(on.tensor(table, "table"), on.tensor(ids, "ids"), on.call().dtype_if(dtype)); });
}

heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.positional_encoding(on.tensor(x, "x")); });
}

heed_tensor heed_graph_number(heed_graph* graph, double value, heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.number(value, on.call().dtype(dtype)); });
}

heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.add(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_sub(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sub(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.mul(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_div(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.div(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_mod(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.mod(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_minimum(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.minimum(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_maximum(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.maximum(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_pow(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.pow(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_clamp(heed_graph* graph, heed_tensor x, float low, float high) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.clamp(on.tensor(x, "x"), low, high); });
}

heed_tensor heed_graph_neg(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.neg(on.tensor(x, "x")); });
}

heed_tensor heed_graph_abs(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.abs(on.tensor(x, "x")); });
}

heed_tensor heed_graph_sign(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sign(on.tensor(x, "x")); });
}

heed_tensor heed_graph_reciprocal(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.reciprocal(on.tensor(x, "x")); });
}

heed_tensor heed_graph_sqrt(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sqrt(on.tensor(x, "x")); });
}

heed_tensor heed_graph_rsqrt(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.rsqrt(on.tensor(x, "x")); });
}

heed_tensor heed_graph_exp(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.exp(on.tensor(x, "x")); });
}

heed_tensor heed_graph_log(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.log(on.tensor(x, "x")); });
}

heed_tensor heed_graph_sin(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sin(on.tensor(x, "x")); });
}

heed_tensor heed_graph_cos(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cos(on.tensor(x, "x")); });
}

heed_tensor heed_graph_erf(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.erf(on.tensor(x, "x")); });
}

heed_tensor heed_graph_sigmoid(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sigmoid(on.tensor(x, "x")); });
}

heed_tensor heed_graph_softplus(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.softplus(on.tensor(x, "x")); });
}

heed_tensor heed_graph_elu(heed_graph* graph, heed_tensor x, float alpha) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.elu(on.tensor(x, "x"), alpha); });
}

heed_tensor heed_graph_leaky_relu(heed_graph* graph, heed_tensor x, float slope) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.leaky_relu(on.tensor(x, "x"), slope); });
}

heed_tensor heed_graph_hard_sigmoid(heed_graph* graph, heed_tensor x, float slope) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.hard_sigmoid(on.tensor(x, "x"), slope); });
}

heed_tensor heed_graph_hard_swish(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.hard_swish(on.tensor(x, "x")); });
}

heed_tensor heed_graph_floor(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.floor(on.tensor(x, "x")); });
}

heed_tensor heed_graph_round(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.round(on.tensor(x, "x")); });
}

heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.scale(on.tensor(x, "x"), factor); });
}

heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, heed_activation kind) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.activation(on.tensor(x, "x"), on.call().one_of(kind, heed::Activation::Tanh, "kind")); });
}

heed_tensor heed_graph_eq(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.eq(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_ne(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.ne(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_lt(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.lt(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_le(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.le(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_gt(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.gt(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_ge(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.ge(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_logical_and(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.logical_and(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_logical_or(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.logical_or(on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_logical_not(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.logical_not(on.tensor(x, "x")); });
}

heed_tensor heed_graph_where(heed_graph* graph, heed_tensor mask, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.where(on.tensor(mask, "mask"), on.tensor(a, "a"), on.tensor(b, "b")); });
}

heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cast(on.tensor(x, "x"), on.call().dtype(dtype)); });
}

heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask,
    heed_mask_meaning mask_meaning) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.mean(on.tensor(x, "x"), axis, on.mask(mask, mask_meaning, "mask")); });
}

heed_tensor heed_graph_sum_axis(heed_graph* graph, heed_tensor x, int32_t axis) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sum(on.tensor(x, "x"), axis); });
}

heed_tensor heed_graph_reduce(heed_graph* graph, heed_tensor x, heed_reduction kind, const int32_t* axes,
    size_t axes_count, int32_t keep) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.reduce(on.tensor(x, "x"), on.call().one_of(kind, heed::Reduction::L2, "kind"), on.call().array(axes, axes_count, "axes"), keep != 0); });
}

heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.argmax(on.tensor(x, "x"), axis, keep != 0, last != 0); });
}

heed_tensor heed_graph_argmin(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.argmin(on.tensor(x, "x"), axis, keep != 0, last != 0); });
}

heed_tensor heed_graph_top_k(heed_graph* graph, heed_tensor x, int64_t k, int32_t axis, int32_t smallest,
    heed_top_k_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::TopKResult made = on.graph().it.top_k(on.tensor(x, "x"), k, axis, smallest != 0);
  on.give();
  const heed_top_k_result named = {on.name(made.values), on.name(made.indices)};
  if (result != nullptr) *result = named;
  return named.values;
}

heed_tensor heed_graph_cumsum(heed_graph* graph, heed_tensor x, int32_t axis, int32_t exclusive, int32_t reverse) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cumsum(on.tensor(x, "x"), axis, exclusive != 0, reverse != 0); });
}

heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t parts_count, int32_t axis) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.concat(on.tensors(parts, parts_count, "parts"), axis); });
}

heed_status heed_graph_push_label(heed_graph* graph, const char* name) {
  Building on(__func__, graph);
  if (on) on.graph().it.push_label(on.call().text(name, "name"));
  return on.end();
}

heed_status heed_graph_pop_label(heed_graph* graph) {
  Building on(__func__, graph);
  if (on) on.graph().it.pop_label();
  return on.end();
}
