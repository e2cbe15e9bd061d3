// The constants and parameters that all attention kernels have.
#include <algorithm>
#include <bit>

#include "base/philox.hpp"
#include "kernels/attention.hpp"

namespace heed::kernels::attention {
namespace {

// The constant head size, or 0 if it is an extent.
int64_t head_size(const SizeTable& sizes, const TensorInfo& info) {
  return sizes.is_constant(info.dims[3]) ? sizes.evaluate(info.dims[3], {}) : 0;
}

// Heads of queries that share one head of keys and values: 1 where their number is an extent.
uint32_t heads_per_key_head(const Select& select) {
  return u32(select.max_of(select.info(in::kQuery).dims[1]) / select.max_of(select.info(in::kKey).dims[1]));
}

// The scores that are never stored: what masks and biases broadcast to.
View scores_of(const View& query, const View& key) {
  View scores = query;
  scores.dim[3] = key.dim[2];
  return scores;
}

}  // namespace

Heads heads_of(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node) {
  return {head_size(sizes, tensors[node.inputs[in::kQuery].id]), head_size(sizes, tensors[node.inputs[in::kValue].id])};
}

uint32_t flags_of(const Select& select) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  uint32_t flags = 0;
  if (attrs.softmax.causal != Causal::None) flags |= HEED_SOFTMAX_CAUSAL;
  if (attrs.softmax.causal == Causal::BottomRight) flags |= HEED_ATTENTION_BOTTOM_RIGHT;
  if (select.has(in::kAttentionKeyPadding)) flags |= HEED_SOFTMAX_KEY_PADDING;
  if (attrs.softmax.key_padding_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_KEY_PADDING_KEEP;
  if (select.has(in::kAttentionMask)) flags |= HEED_SOFTMAX_MASK;
  if (attrs.softmax.mask_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_MASK_KEEP;
  if (select.has(in::kAttentionBias)) flags |= HEED_SOFTMAX_BIAS;
  if (attrs.softmax.masked_fill) flags |= HEED_SOFTMAX_FILL;
  if (attrs.dropout.p > 0.0f) flags |= HEED_ATTENTION_DROPOUT;
  if (select.node.outputs[out::kLogSumExp].valid()) flags |= HEED_ATTENTION_LOG_SUM_EXP;
  return flags;
}

KernelUse& add(const Select& select, KernelId id, uint32_t invocations, const Heads& heads,
               std::span<const uint32_t> own, const char* why) {
  const auto& attrs = select.node.as<AttentionAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_kernel(select, id, {invocations, 1, 1}, why);
  auto& spec = use.key.spec;
  spec[kDk] = u32(heads.d_k);
  spec[kDv] = u32(heads.d_v);
  spec[kFlags] = flags_of(select);
  spec[kScale] = std::bit_cast<uint32_t>(attrs.softmax.scale);
  spec[kFill] = std::bit_cast<uint32_t>(attrs.softmax.masked_fill.value_or(0.0f));
  spec[kThreshold] = words.threshold;
  spec[kKeepScale] = std::bit_cast<uint32_t>(words.keep_scale);
  spec[kGroup] = heads_per_key_head(select);
  std::copy(own.begin(), own.end(), spec.begin() + kOwn);
  use.key.spec_count = u32(static_cast<int64_t>(kOwn + own.size()));
  constexpr size_t kInputs[] = {in::kQuery,         in::kKey,          in::kValue, in::kAttentionKeyPadding,
                                in::kAttentionMask, in::kAttentionBias};
  bind(select, &use, kInputs);
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, log_sum_exp_or_output(select.node)};
  return use;
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
  p.batch_heads = u32(q.dim[0] * q.dim[1]);
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
  p.seed = emit.values.seed;
  p.stream = attrs.dropout.stream;
  return p;
}

}  // namespace heed::kernels::attention
