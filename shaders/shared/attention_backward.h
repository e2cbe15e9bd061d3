// The gradients of attention (see attention.h), by the weights P, which are computed again from rows of log-sum-exp and D, the
// products of the output and its gradient dO (Dao et al. 2022, arXiv:2205.14135):
//   dV[j] = sum over i of drop(P)[i, j] dO[i];  dS[i, j] = P[i, j] (drop(dO[i] . v[j]) - D[i])
//   dQ[i] = scale sum over j of dS[i, j] k[j];  dK[j] = scale sum over i of dS[i, j] q[i]
//
// A workgroup owns OWN keys of a head of keys and goes over the queries of all heads that share it, VISIT at a time; or it owns
// queries and goes over keys. Tokens of the result lie OUT_TOKEN apart, one batch behind the other, and heads OUT_HEAD; dV begins
// VALUE_AT behind dK. dO lies as [B, S_q, H, D_V]. The gradient of the bias is the sum of dS over all axes along which the bias is
// broadcast, and has no gaps.
//
// A dispatch of those visits AT_ONCE rows of each head, from `begin` on, and adds to what the dispatches before it have left in the result.
//
// Two of key padding, mask and bias may be there: in bindings 5 and 6, with strides of the scores' shape. Where there is none, the
// kernel that owns queries comes first and makes the rows itself (variants with MAKES_ROWS): bindings 5 and 6 then hold the output,
// which lies as dO, and the log-sum-exp.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionBackwardParams)
uint offset[8];  // q, k, v, dO, rows, two masks, result
uint begin;      // the first row that is visited
uint heads, s_q, s_kv;
uint q_b, q_h, q_s;
uint k_b, k_h, k_s;
uint v_b, v_h, v_s;
uint first_b, first_h, first_q, first_k;  // of the mask in binding 5, then of that in binding 6
uint second_b, second_h, second_q, second_k;
uint seed, stream;
uint batches;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(AttentionBackwardConstants)
HEED_CONSTANT(4, uint, D_K, 64)
HEED_CONSTANT(5, uint, D_V, 64)
HEED_CONSTANT(6, uint, FLAGS, 0)
HEED_CONSTANT(7, uint, SCALE_BITS, 0)  // f32
HEED_CONSTANT(8, uint, FILL_BITS, 0)   // f32
HEED_CONSTANT(9, uint, DROPOUT_THRESHOLD, 0)
HEED_CONSTANT(10, uint, KEEP_SCALE_BITS, 0)  // f32
HEED_CONSTANT(11, uint, GROUP, 1)
HEED_CONSTANT(12, uint, WINDOW, 0)
HEED_CONSTANT(13, bool, OWNS_KEYS, false)
HEED_CONSTANT(14, uint, OWN, 16)
HEED_CONSTANT(15, uint, VISIT, 8)
// The binding of each, or 0.
HEED_CONSTANT(16, uint, PADDING_AT, 0)
HEED_CONSTANT(17, uint, MASK_AT, 0)
HEED_CONSTANT(18, uint, BIAS_AT, 0)
HEED_CONSTANT(19, uint, OUT_TOKEN, 0)
HEED_CONSTANT(20, uint, OUT_HEAD, 0)
HEED_CONSTANT(21, uint, VALUE_AT, 0)  // modulo 2^32
HEED_CONSTANT(22, uint, STORES, 3)    // of those that own keys: 1 dK, 2 dV
// The gradient of the bias needs this: bit i is set if the bias is broadcast along axis i of the scores.
HEED_CONSTANT(23, uint, SUMS, 0)
HEED_CONSTANT(24, uint, AT_ONCE, 0x40000000)
HEED_END_CONSTANTS
