// Constants and parameters shared by all attention kernels.
#include <bit>
#include <iterator>

#include "base/philox.hpp"
#include "kernels/attention/attention.hpp"

namespace heed::kernels::attention {
namespace {

// The constant head size, or 0 if it is an extent.
int64_t head_size(const SizeTable& sizes, const TensorInfo& info) {
  return sizes.is_constant(info.dims[3]) ? sizes.evaluate(info.dims[3], {}) : 0;
}

// Query heads that share one key head; 1 if the number of heads is an extent.
uint32_t heads_per_key_head(const Select& select) {
  return u32(select.max_of(select.info(in::kQuery).dims[1]) / select.max_of(select.info(in::kKey).dims[1]));
}

// The shape of the scores, to which masks and biases broadcast. No tensor stores the scores.
View scores_of(const View& query, const View& key) {
  View scores = query;
  scores.dim[3] = key.dim[2];
  return scores;
}

}  // namespace

Heads heads_of(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node) {
  return {head_size(sizes, tensors[node.inputs[in::kQuery].id]), head_size(sizes, tensors[node.inputs[in::kValue].id])};
}

RowBindings row_bindings(const Node& node) {
  // Bindings of these inputs are free if they are absent.
  constexpr size_t kMasks[] = {in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias};
  const bool joined = node.as<AttentionAttrs>().rows_joined;
  RowBindings bindings;
  size_t next = 0;
  const auto take = [&](size_t input, uint32_t* binding) {
    if (!node.inputs[input].valid()) return;
    while (next < std::size(kMasks) && node.inputs[kMasks[next]].valid()) ++next;
    if (next < std::size(kMasks))
      *binding = static_cast<uint32_t>(kMasks[next++]);
    else if (joined && !node.outputs[out::kLogSumExp].valid())
      *binding = static_cast<uint32_t>(kLogSumExpBinding);  // free, and a joined tensor has offset 0
    else
      bindings.fit = false;
  };
  take(in::kLengths, &bindings.lengths);
  if (joined && node.inputs[in::kLengths].valid() && node.inputs[in::kQueryPositions].valid())
    bindings.positions = bindings.lengths;
  else
    take(in::kQueryPositions, &bindings.positions);
  return bindings;
}

uint32_t flags_of(const Select& select) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  uint32_t flags =
      masking_flags(select, attrs.softmax, in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias);
  if (attrs.dropout.p > 0.0f) flags |= HEED_ATTENTION_DROPOUT;
  if (select.node.outputs[out::kLogSumExp].valid()) flags |= HEED_ATTENTION_LOG_SUM_EXP;
  const DType keys = select.info(in::kKey).dtype;
  if (keys != select.info(in::kQuery).dtype && keys == DType::BF16) flags |= HEED_ATTENTION_KEYS_BFLOAT;
  return flags;
}

KernelUse& add(const Select& select, const Heads& heads, const Candidate& candidate, bool vec4) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_candidate(select, candidate);
  auto& spec = use.key.spec;
  spec[Spec::D_K] = u32(heads.d_k);
  spec[Spec::D_V] = u32(heads.d_v);
  spec[Spec::FLAGS] = flags_of(select) | (vec4 ? HEED_ATTENTION_VEC4 : 0);
  spec[Spec::SCALE_BITS] = std::bit_cast<uint32_t>(attrs.softmax.scale);
  spec[Spec::FILL_BITS] = std::bit_cast<uint32_t>(attrs.softmax.masked_fill.value_or(0.0f));
  spec[Spec::DROPOUT_THRESHOLD] = words.threshold;
  spec[Spec::KEEP_SCALE_BITS] = std::bit_cast<uint32_t>(words.keep_scale);
  spec[Spec::GROUP] = heads_per_key_head(select);
  // A constant with its default value is left out of the key.
  if (attrs.softmax.window > 0) use.key.set(Spec::WINDOW, attrs.softmax.window);
  constexpr size_t kInputs[] = {in::kQuery,         in::kKey,          in::kValue, in::kAttentionKeyPadding,
                                in::kAttentionMask, in::kAttentionBias};
  bind(select, &use, kInputs);
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, log_sum_exp_or_output(select.node)};
  const auto bind_rows = [&](uint32_t binding, size_t constant, size_t input) {
    if (binding == 0) return;
    use.key.set(constant, binding);
    use.buffers[binding] = {BufferUse::Kind::Tensor, false, select.node.inputs[input]};
  };
  const RowBindings rows = row_bindings(select.node);
  bind_rows(rows.lengths, Spec::LENGTHS_AT, in::kLengths);
  bind_rows(rows.positions, Spec::POSITIONS_AT, in::kQueryPositions);
  return use;
}

Tensor log_sum_exp_or_output(const Node& node) {
  const Tensor wanted = node.outputs[out::kLogSumExp];
  return wanted.valid() ? wanted : node.outputs[0];
}

AttentionParams params_of(const Emit& emit, const View& q, const View& k, const View& v) {
  const auto& attrs = emit.node.as<AttentionAttrs>();
  const View scores = scores_of(q, k);
  AttentionParams p{};
  p.offset[0] = u32(q.offset);
  p.offset[1] = u32(k.offset);
  p.offset[2] = u32(v.offset);
  p.offset[kOutBinding] = u32(emit.out().offset);
  if (emit.node.outputs[out::kLogSumExp].valid())
    p.offset[kLogSumExpBinding] = u32(resolve(emit.schedule, emit.node.outputs[out::kLogSumExp], emit.values).offset);
  p.heads_splits = u32(q.dim[1]);
  p.s_q = u32(q.dim[2]), p.s_kv = u32(k.dim[2]);
  p.q_b = u32(q.stride[0]), p.q_h = u32(q.stride[1]), p.q_s = u32(q.stride[2]);
  p.k_b = u32(k.stride[0]), p.k_h = u32(k.stride[1]), p.k_s = u32(k.stride[2]);
  p.v_b = u32(v.stride[0]), p.v_h = u32(v.stride[1]), p.v_s = u32(v.stride[2]);
  if (emit.has(in::kAttentionKeyPadding)) {
    const View padding = emit.in(in::kAttentionKeyPadding);
    p.offset[3] = u32(padding.offset);
    p.key_padding_b = u32(padding.stride[0]);
  }
  if (emit.has(in::kAttentionMask)) {
    const View mask = broadcast_to(emit.in(in::kAttentionMask), scores);
    p.offset[4] = u32(mask.offset);
    p.mask_b = u32(mask.stride[0]), p.mask_h = u32(mask.stride[1]);
    p.mask_q = u32(mask.stride[2]), p.mask_k = u32(mask.stride[3]);
  }
  if (emit.has(in::kAttentionBias)) {
    const View bias = broadcast_to(emit.in(in::kAttentionBias), scores);
    p.offset[5] = u32(bias.offset);
    p.bias_b = u32(bias.stride[0]), p.bias_h = u32(bias.stride[1]);
    p.bias_q = u32(bias.stride[2]), p.bias_k = u32(bias.stride[3]);
  }
  const auto place_rows = [&](uint32_t binding, size_t input) {
    if (binding == 0 || binding == kLogSumExpBinding) return;
    const View rows = emit.in(input);
    p.offset[binding] = u32(rows.offset);
    (binding == 3 ? p.key_padding_b : binding == 4 ? p.mask_b : p.bias_b) = u32(rows.stride[0]);
  };
  const RowBindings rows = row_bindings(emit.node);
  place_rows(rows.lengths, in::kLengths);
  if (rows.positions != rows.lengths) place_rows(rows.positions, in::kQueryPositions);
  p.seed = emit.values.seed;
  p.stream = attrs.dropout.stream;
  return p;
}

}  // namespace heed::kernels::attention
