// out[b, h, i, :] = sum over keys j of dropout(softmax over j of scale * q[b, h, i, :] . k[b, g, j, :] + bias)[j] * v[b, g, j, :]
// with g = h / GROUP.
// log_sum_exp[b, h, i], [B, H, S_q] in f32, is the logarithm of the sum of exp(logit) over the visible keys, -inf without any.
// With splits every one stores in partial[b, h, i, split, D_V + 2] its sums, the largest logit and the sum of the weights.
// Strides in elements. q, k, v and out have an innermost stride of 1; out lies in memory as [B, S_q, H, D_V]; key
// padding as [B, S_kv] with an innermost stride of 1. What is the same at every run is in specialization constants.
#include "params.h"

HEED_BEGIN_PARAMS(AttentionParams)
uint offset[8];     // q, k, v, key_padding, mask, bias, out (or the partial results), log_sum_exp
uint batch_heads;   // B * H
uint heads_splits;  // H, and above its 24 bits the number of splits of the keys, less one
uint s_q, s_kv;
uint q_b, q_h, q_s;
uint k_b, k_h, k_s;
uint v_b, v_h, v_s;
uint key_padding_b;
uint mask_b, mask_h, mask_q, mask_k;
uint bias_b, bias_h, bias_q, bias_k;
uint seed, stream;
HEED_END_PARAMS
