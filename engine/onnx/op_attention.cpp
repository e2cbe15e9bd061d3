// Attention and RotaryEmbedding, from opset 23 on.
#include <limits>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// [B, S, H d] viewed as [B, H, S, d]; unchanged if the rank is 4.
Tensor heads_of(Call& call, size_t i, int64_t heads) {
  const std::vector<Dim> dims = call.dims(i);
  const Tensor x = call.tensor(i);
  if (call.failed() || dims.size() == 4) return x;
  if (dims.size() != 3 || heads < 1) {
    call.fail("input %zu: [B, H, S, d], or [B, S, H d] with the number of heads, is needed", i);
    return {};
  }
  const Dim width = call.g.dim_quotient(dims[2], heads);
  return call.g.transpose(call.g.reshape(x, {dims[0], dims[1], heads, width}), 1, 2);
}

// The past rows with the new ones appended.
Tensor behind_past(Call& call, size_t past, Tensor fresh) {
  if (!call.has(past) || call.in(past).is_empty || call.failed()) return fresh;
  if (call.in(past).cache >= 0) return call.importer().append(call.in(past), fresh, 2).tensor;
  const Tensor before = call.tensor(past);
  return call.failed() ? fresh : call.g.concat({before, fresh}, 2);
}

// The number of keys before the new ones.
Dim length_of_past(Call& call) {
  if (!call.has(4)) return 0;
  const std::vector<Dim> dims = call.dims(4);
  if (dims.size() == 4) return dims[2];
  call.fail("a past of %zu dims; 4 are needed", dims.size());
  return 0;
}

// Query i has position past + i among the keys. Causal::BottomRight expresses that if there are past + queries keys; otherwise
// AttentionOptions::positions does. With a length for each row of the batch (input 6), positions follow from the lengths.
void place_queries(Call& call, Tensor query, Tensor key, AttentionOptions* options) {
  Graph& g = call.g;
  const bool has_window = options->window > 0 || options->window_ahead > 0;
  const bool is_causal = call.integer("is_causal", 0) != 0;
  const Dim past = length_of_past(call);
  const Shape queries = g.shape(query), keys = g.shape(key);
  if (is_causal) options->causal = call.has(4) || call.has(6) ? Causal::BottomRight : Causal::TopLeft;
  if (call.has(6) || !(has_window || (is_causal && call.has(4)))) return;
  if (keys[2] == g.sum(past, queries[2])) return;
  const Value place = known_value(ElementType::I32, Known{{1}, {Number(past)}});
  options->positions = g.expand(call.importer().tensor_of(place, "past"), {queries[0]});
}

void take_mask(Call& call, Tensor key, AttentionOptions* options) {
  Tensor mask = call.tensor(3);
  if (call.failed() || call.rank(3) == 0) return call.fail("a mask of no dims");
  const bool is_kept = call.type(3) == ElementType::Bool;
  // Keys beyond the width of the mask are excluded.
  const Dim keys = call.g.shape(key)[2], masked = call.dims(3).back();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (keys.is_constant() && masked.is_constant() && masked.value < keys.value)
    mask = call.g.pad(mask, -1, 0, keys.value - masked.value, {.value = is_kept ? 0 : -kInfinity});
  if (is_kept)
    options->mask = keep(mask);
  else
    options->bias = mask;
}

void attention(Call& call) {
  Graph& g = call.g;
  const bool is_flat = call.rank(0) == 3;
  const Tensor query = heads_of(call, 0, call.integer("q_num_heads", 0));
  const int64_t key_heads = call.integer("kv_num_heads", 0);
  const Tensor key = behind_past(call, 4, heads_of(call, 1, key_heads)),
               value = behind_past(call, 5, heads_of(call, 2, key_heads));
  if (call.failed()) return;
  AttentionOptions options;
  if (call.find("scale") != nullptr) options.scale = call.number("scale", 1.0f);
  options.softcap = call.number("softcap", 0.0f);
  options.window = call.integer("left_window_size", -1) + 1;
  options.window_ahead = call.integer("right_window_size", -1) + 1;
  place_queries(call, query, key, &options);
  if (call.has(6)) options.lengths = call.tensor(6);
  if (call.has(3)) take_mask(call, key, &options);
  const bool has_scores = call.node.outputs.size() > 3 && !call.node.outputs[3].empty();
  constexpr Scores kSteps[] = {Scores::Scaled, Scores::Capped, Scores::Masked, Scores::None};
  const int64_t step = call.integer("qk_matmul_output_mode", 0);
  if (step < 0 || step > 3) return call.fail("scores of mode %lld", static_cast<long long>(step));
  if (has_scores) options.return_scores = kSteps[step];
  options.return_weights = has_scores && step == 3;
  if (call.failed()) return;
  const AttentionResult made = g.attention(query, key, value, options);
  if (call.failed()) return;
  const Shape shape = g.shape(made.output);
  const Tensor y =
      is_flat ? g.reshape(g.transpose(made.output, 1, 2), {shape[0], shape[2], g.dim_product(shape[1], shape[3])})
              : made.output;
  call.give(y, call.type(0));
  call.give(key, call.type(1));
  call.give(value, call.type(2));
  if (has_scores) call.give(options.return_weights ? made.weights : made.scores, call.type(0));
}

// cos and sin tables: [positions, width / 2], or [B, S, width / 2] without a positions input.
void rotary(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const bool is_flat = dims.size() == 3;
  const Tensor heads = heads_of(call, 0, call.integer("num_heads", 0));
  Tensor cos = call.tensor(1), sin = call.tensor(2);
  if (call.failed()) return;
  const Shape shape = g.shape(heads);  // [B, H, S, d]
  if (call.has(3)) {
    const Tensor ids = call.tensor(3);
    cos = g.embedding(cos, ids, g.dtype(cos));
    sin = g.embedding(sin, ids, g.dtype(sin));
  }
  Shape table = g.shape(cos);
  if (call.failed() || table.rank != 3) return call.fail("tables of rank 3, or of rank 2 with positions, are needed");
  table = {table[0], 1, table[1], table[2]};
  cos = g.reshape(cos, table);
  sin = g.reshape(sin, table);
  const int64_t given = call.integer("rotary_embedding_dim", 0), whole = shape[3].value,
                width = given > 0 ? given : whole;
  const Tensor turned = width < whole ? g.slice(heads, 3, 0, width) : heads;
  const bool neighbours = call.integer("interleaved", 0) != 0;
  const Tensor a = neighbours ? g.stride(turned, 3, 2) : g.slice(turned, 3, 0, width / 2);
  const Tensor b = neighbours ? g.stride(g.slice(turned, 3, 1, -1), 3, 2) : g.slice(turned, 3, width / 2, width / 2);
  const Tensor first = g.sub(g.mul(cos, a), g.mul(sin, b)), second = g.add(g.mul(sin, a), g.mul(cos, b));
  Tensor y;
  if (neighbours) {
    const Shape one = {shape[0], shape[1], shape[2], width / 2, 1};
    y = g.reshape(g.concat({g.reshape(first, one), g.reshape(second, one)}, 4), {shape[0], shape[1], shape[2], width});
  } else {
    y = g.concat({first, second}, 3);
  }
  if (width < whole) y = g.concat({y, g.slice(heads, 3, width, whole - width)}, 3);
  if (!call.failed()) call.give(is_flat ? reshaped(call, g.transpose(y, 1, 2), dims) : y, call.type(0));
}

constexpr Operator kAttentionOperators[] = {{"Attention", attention}, {"RotaryEmbedding", rotary}};

}  // namespace

std::span<const Operator> attention_operators() { return kAttentionOperators; }

}  // namespace heed::onnx
