// out[b, h, i, :] = sum over keys j of dropout(softmax over j of scale * q[b, h, i, :] . k[b, g, j, :] + bias)[j] *
// v[b, g, j, :] with g = h / GROUP.
// log_sum_exp[b, h, i], [B, H, S_q] in f32, is the logarithm of the sum of exp(logit) over the visible keys, -inf
// without any. Strides in elements. q, k, v and out have an innermost stride of 1; out lies in memory as [B, S_q, H,
// D_V]; key padding as [B, S_kv] with an innermost stride of 1. Specialization constants hold what is the same in every
// run.
//
// A workgroup makes a block of queries; blocks are counted through all heads. Each split of the keys, if there are
// several, stores in partial[row, split, D_V + 2] sums, largest logit and sum of the weights. row counts through
// [B, H, S_q]; partial has the rows of the dispatch's blocks alone. Splits have their first block in the place of the last
// offset.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionParams)
uint offset[8];     // q, k, v, key_padding, mask, bias, out, log_sum_exp
uint end_block;     // one past the dispatch's last
uint heads_splits;  // H, and above its 24 bits the number of splits of the keys, less one
uint s_q, s_kv;
uint q_b, q_h, q_s;
uint k_b, k_h, k_s;
uint v_b, v_h, v_s;
uint key_padding_b;  // of padding, or of lengths or positions in its binding; mask_b and bias_b likewise
uint mask_b, mask_h, mask_q, mask_k;
uint bias_b, bias_h, bias_q, bias_k;
uint seed, stream;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(AttentionConstants)
HEED_CONSTANT(4, uint, D_K, 64)
HEED_CONSTANT(5, uint, D_V, 64)
HEED_CONSTANT(6, uint, FLAGS, 0)
HEED_CONSTANT(7, uint, SCALE_BITS, 0)  // f32
HEED_CONSTANT(8, uint, FILL_BITS, 0)   // f32: the logit of hidden keys, with HEED_SOFTMAX_FILL
HEED_CONSTANT(9, uint, DROPOUT_THRESHOLD, 0)
HEED_CONSTANT(10, uint, KEEP_SCALE_BITS, 0)  // f32
HEED_CONSTANT(11, uint, GROUP, 1)            // heads of queries that share one head of keys and values
HEED_CONSTANT(21, uint, WINDOW, 0)  // with HEED_SOFTMAX_CAUSAL: keys that a query sees, its own the last; 0: all
// Lengths and positions of the rows of a batch have the bindings of masks that are absent, or, from the beginning of its
// buffer, that of the log-sum-exp: their numbers, or 0 for none. Where both have the same, they lie side by side, lengths first.
HEED_CONSTANT(22, uint, LENGTHS_AT, 0)
HEED_CONSTANT(23, uint, POSITIONS_AT, 0)
HEED_END_CONSTANTS
