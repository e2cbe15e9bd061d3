// Graphs: the operations.
#include "c/graph_object.hpp"

using namespace heed::c;
using heed::Tensor;

namespace {

// The five numbers that sample_words takes, too.
heed::SampleOptions draws_of(const Given<heed_sample_options>& given) {
  heed::SampleOptions made;
  if (given->repetition_penalty != 0) made.repetition_penalty = given->repetition_penalty;
  if (given->temperature != 0) made.temperature = given->temperature;
  if (given->greedy != 0) made.temperature = 0;
  made.top_k = given->top_k;
  if (given->top_p != 0) made.top_p = given->top_p;
  made.min_p = given->min_p;
  return made;
}

heed::SampleOptions sample_of(Building& on, const heed_sample_options* options) {
  const Given<heed_sample_options> given(on.call(), options, "the sample options");
  heed::SampleOptions made = draws_of(given);
  made.previous = on.tensor_if(given->previous);
  if (given->previous_count != 0) made.previous_count = on.dim(given->previous_count);
  made.previous_counts = on.tensor_if(given->previous_counts);
  made.bias = on.tensor_if(given->bias);
  made.step = on.dim(given->step);
  made.steps = on.tensor_if(given->steps);
  made.seeds = on.tensor_if(given->seeds);
  if (given->has_stream != 0) made.stream = given->stream;
  made.settings = on.tensor_if(given->settings);
  return made;
}

heed::SoftmaxOptions softmax_of(Building& on, const heed_softmax_options* options) {
  const Given<heed_softmax_options> given(on.call(), options, "the softmax options");
  heed::SoftmaxOptions made;
  if (given->scale != 0) made.scale = given->scale;
  made.causal = on.call().one_of(given->causal, heed::Causal::BottomRight, "causal");
  made.key_padding = on.mask(given->key_padding, given->key_padding_meaning, "key_padding");
  made.mask = on.mask(given->mask, given->mask_meaning, "the mask");
  made.bias = on.tensor_if(given->bias);
  made.masked_fill = fill_of(given->has_masked_fill, given->masked_fill);
  return made;
}

}  // namespace

// --- Products --------------------------------------------------------------------------------------------------

heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b, const heed_matmul_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    const Given<heed_matmul_options> given(on.call(), options, "the matmul options");
    heed::MatmulOptions made;
    made.transpose_a = given->transpose_a != 0;
    made.transpose_b = given->transpose_b != 0;
    if (given->scale != 0) made.scale = given->scale;
    return g.matmul(on.tensor(a), on.tensor(b), made);
  });
}

heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.linear(on.tensor(x), on.tensor(weight), on.tensor_if(bias)); });
}

// --- Rows ------------------------------------------------------------------------------------------------------

heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.softmax(on.tensor(x), softmax_of(on, options)); });
}

heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta, float eps) {
  Building on(__func__, graph);
  return on.add(
      [&](heed::Graph& g) { return g.layernorm(on.tensor(x), on.tensor_if(gamma), on.tensor_if(beta), eps); });
}

heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.rmsnorm(on.tensor(x), on.tensor_if(gamma), eps); });
}

heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.l2_normalize(on.tensor(x), eps); });
}

heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.rotary(on.tensor(x), rotary_of(on, options)); });
}

heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels, float label_smoothing) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cross_entropy(on.tensor(logits), on.tensor(labels), label_smoothing); });
}

heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.argmax(on.tensor(x)); });
}

heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.sample(on.tensor(logits), sample_of(on, options)); });
}

heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]) {
  Call call(__func__);
  const Given<heed_sample_options> given(call, options, "the sample options");
  if (!call.has(words, "words") || call.failed()) return call.status();
  heed::SampleWords made{};
  if (call.end(heed::sample_words(draws_of(given), &made)) == HEED_OK) std::copy(made.begin(), made.end(), words);
  return call.status();
}
static_assert(HEED_SAMPLE_WORDS == heed::kSampleWords);

heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                 const heed_attention_options* options, heed_attention_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::AttentionResult made = on.graph().it.attention(on.tensor(query, "the query"), on.tensor(key, "the key"),
                                                             on.tensor(value, "the value"), attention_of(on, options));
  return write(on, made, result);
}

// --- Everything else -------------------------------------------------------------------------------------------

heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, int32_t kind) {
  Building on(__func__, graph);
  return on.add(
      [&](heed::Graph& g) { return g.activation(on.tensor(x), activation_of(on, kind, heed::Activation::Relu)); });
}

heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    std::optional<uint32_t> word;
    if (stream >= 0) word = static_cast<uint32_t>(stream);
    if (stream > int64_t{UINT32_MAX})
      on.call().fail(HEED_INVALID_ARGUMENT,
                     heed::format("the stream is %lld; %lu is the largest", static_cast<long long>(stream),
                                  static_cast<unsigned long>(UINT32_MAX)));
    return g.dropout(on.tensor(x), p, word);
  });
}

heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add(
      [&](heed::Graph& g) { return g.embedding(on.tensor(table), on.tensor(ids), on.call().dtype_if(dtype)); });
}

heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.positional_encoding(on.tensor(x)); });
}

heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.add(on.tensor(a), on.tensor(b)); });
}

heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.mul(on.tensor(a), on.tensor(b)); });
}

heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.scale(on.tensor(x), factor); });
}

heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.cast(on.tensor(x), on.call().dtype(dtype)); });
}

heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask, int32_t mask_meaning) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return g.mean(on.tensor(x), axis, on.mask(mask, mask_meaning, "the mask")); });
}

heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t count, int32_t axis) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    if (!on.call().has_array(parts, count, "parts")) return Tensor{};
    std::vector<Tensor> all;
    for (size_t i = 0; i < count && on; ++i) all.push_back(on.tensor(parts[i]));
    return g.concat(all, axis);
  });
}
