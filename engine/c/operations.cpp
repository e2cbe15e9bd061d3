// Operations of graphs, as graph.hpp has them.
#include "c/graph_object.hpp"

using namespace heed::c;
using heed::Tensor;

heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor c, const heed_matmul_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const Given<heed_matmul_options> from(b.call(), options, "the matmul options");
    const heed::MatmulOptions to = {.transpose_a = from->transpose_a != 0,
                                    .transpose_b = from->transpose_b != 0,
                                    .scale = from->scale != 0 ? from->scale : 1.0f};
    return g.matmul(b.in(a), b.in(c), to);
  });
}

heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.linear(b.in(x), b.in(weight), b.in(bias)); });
}

heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.softmax(b.in(x), b.softmax(options)); });
}

heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta, float eps) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.layernorm(b.in(x), b.in(gamma), b.in(beta), eps); });
}

heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.rmsnorm(b.in(x), b.in(gamma), eps); });
}

heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.l2_normalize(b.in(x), eps); });
}

heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.rotary(b.in(x), b.rotary(options)); });
}

heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels, float label_smoothing) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.cross_entropy(b.in(logits), b.in(labels), label_smoothing); });
}

heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.argmax(b.in(x)); });
}

heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.sample(b.in(logits), b.sample(options)); });
}

heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]) {
  Call call(__func__);
  const Given<heed_sample_options> from(call, options, "the sample options");
  const heed::SampleOptions numbers = sample_numbers(call, *from);
  if (!call.has(words, "words") || call.failed()) return call.status();
  heed::SampleWords made;
  if (call.end(heed::sample_words(numbers, &made)) == HEED_OK) std::memcpy(words, made.data(), sizeof(made));
  return call.status();
}

heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                 const heed_attention_options* options, heed_attention_result* result) {
  Building b(__func__, graph);
  if (result != nullptr) *result = {};
  return b.add([&](heed::Graph& g) {
    const heed::AttentionResult made = g.attention(b.in(query), b.in(key), b.in(value), b.attention(options));
    if (result != nullptr) *result = {b.out(made.output), b.out(made.weights), b.out(made.log_sum_exp)};
    return made.output;
  });
}

heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, int32_t kind) {
  Building b(__func__, graph);
  return b.add(
      [&](heed::Graph& g) { return g.activation(b.in(x), activation_of(b.call(), kind, heed::Activation::None)); });
}

heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    if (stream > UINT32_MAX) b.call().fail(HEED_INVALID_ARGUMENT, "the stream has more than 32 bits");
    return g.dropout(b.in(x), p, stream < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(stream)));
  });
}

heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.embedding(b.in(table), b.in(ids), b.call().dtype_if(dtype)); });
}

heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.positional_encoding(b.in(x)); });
}

heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor c) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.add(b.in(a), b.in(c)); });
}

heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor c) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.mul(b.in(a), b.in(c)); });
}

heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.scale(b.in(x), factor); });
}

heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.cast(b.in(x), b.call().dtype(dtype)); });
}

heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask, int32_t mask_meaning) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) { return g.mean(b.in(x), axis, b.mask(mask, mask_meaning, "mask")); });
}

heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t count, int32_t axis) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    std::vector<Tensor> all;
    if (b.call().has_array(parts, count, "parts"))
      for (size_t i = 0; i < count && !b.call().failed(); ++i) all.push_back(b.in(parts[i]));
    return g.concat(all, axis);
  });
}
