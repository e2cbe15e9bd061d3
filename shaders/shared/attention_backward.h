// The gradients of attention (see attention.h). The weights P are recomputed from rows of log-sum-exp and D, the dot products of the output
// and its gradient dO (Dao et al. 2022, arXiv:2205.14135):
//   dV[j] = sum over i of drop(P)[i, j] dO[i];  dS[i, j] = P[i, j] (drop(dO[i] . v[j]) - D[i])
//   dQ[i] = scale sum over j of dS[i, j] k[j];  dK[j] = scale sum over i of dS[i, j] q[i]
//
// A workgroup owns OWN keys of a key head and visits the queries of all heads that share it, VISIT at a time; or it owns queries and visits
// keys. Tokens of the result are OUT_TOKEN apart, batches follow each other, and heads are OUT_HEAD apart; dV begins VALUE_AT after dK. dO
// has the memory layout [B, S_q, H, D_V]. The gradient of the bias is the sum of dS over all axes along which the bias is broadcast; it is
// contiguous.
//
// A dispatch visits AT_ONCE rows of each head, from `begin` on, and adds to the result of the dispatches before it.
//
// At most two of key padding, mask and bias may be given: in bindings 5 and 6, with strides of the scores' shape. If there are none, the
// kernel that owns queries runs first and computes the rows itself (variants with MAKES_ROWS): bindings 5 and 6 then are the output, with
// the layout of dO, and the log-sum-exp.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionBackwardParams)
uint offset[8];  // q, k, v, dO, rows, two masks, result
uint begin;      // the first visited row
uint heads, s_q, s_kv;
uint q_b, q_h, q_s;
uint k_b, k_h, k_s;
uint v_b, v_h, v_s;
uint first_b, first_h, first_q, first_k;  // strides of the mask in binding 5, then of that in binding 6
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
// The binding of each mask, or 0.
HEED_CONSTANT(16, uint, PADDING_AT, 0)
HEED_CONSTANT(17, uint, MASK_AT, 0)
HEED_CONSTANT(18, uint, BIAS_AT, 0)
HEED_CONSTANT(19, uint, OUT_TOKEN, 0)
HEED_CONSTANT(20, uint, OUT_HEAD, 0)
HEED_CONSTANT(21, uint, VALUE_AT, 0)  // modulo 2^32
HEED_CONSTANT(22, uint, STORES, 3)    // for kernels that own keys: 1 dK, 2 dV
// For the gradient of the bias: bit i is set if the bias is broadcast along axis i of the scores.
HEED_CONSTANT(23, uint, SUMS, 0)
HEED_CONSTANT(24, uint, AT_ONCE, 0x40000000)
HEED_END_CONSTANTS
