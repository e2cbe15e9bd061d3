// out[b, h, i, :] = sum over keys j of dropout(softmax over j of scale * q[b, h, i, :] . k[b, g, j, :] + bias)[j] * v[b, g, j, :] with g =
// h / GROUP. log_sum_exp[b, h, i], [B, H, S_q] in f32, is the logarithm of the sum of exp(logit) over the visible keys, -inf if there are
// none. Strides are in elements. q, k, v and out have an innermost stride of 1; out has the memory layout [B, S_q, H, D_V], key padding [B,
// S_kv] with an innermost stride of 1. Specialization constants have the values that are the same in every run.
//
// A workgroup computes a block of queries; blocks are numbered through all heads. If the keys are split, each split stores its sums,
// largest logit and sum of the weights in partial[row, split, D_V + 2]. row numbers [B, H, S_q]; partial has only the rows of the
// dispatch's blocks. Splits store their first block instead of the last offset.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(AttentionParams)
uint offset[8];     // q, k, v, key_padding, mask, bias, out, log_sum_exp
uint end_block;     // end of the dispatch's blocks
uint heads_splits;  // H in the lower 24 bits, number of splits of the keys minus one above
uint s_q, s_kv;
uint q_b, q_h, q_s;
uint k_b, k_h, k_s;
uint v_b, v_h, v_s;
uint key_padding_b;  // stride along B of padding, or of lengths or positions in its binding; mask_b and bias_b likewise
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
HEED_CONSTANT(11, uint, GROUP, 1)            // query heads that share one key and value head
HEED_CONSTANT(21, uint, WINDOW, 0)  // with HEED_SOFTMAX_CAUSAL: the most keys that a query sees, its own the last; 0:
                                    // all
// Lengths and positions of the batch's rows use the bindings of absent masks, or, with offset 0, that of the log-sum-exp: these are the
// bindings' numbers, or 0 for none. If both have the same number, they are joined, lengths first.
HEED_CONSTANT(22, uint, LENGTHS_AT, 0)
HEED_CONSTANT(23, uint, POSITIONS_AT, 0)
HEED_END_CONSTANTS
