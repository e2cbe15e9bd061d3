// out[r, j] = softmax over j of scale * x[r, j] + bias[r, j], for rows r = [d0, d1, S_q] and keys j < S_k. Masks are bytes. Key padding is
// [d0, S_k]; its strides along other row dimensions are 0. Lengths and positions are [d0]: the number of keys, and the position of query 0
// among them.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(SoftmaxParams)
uint offset[7];  // x, key_padding, mask, bias, lengths, positions, out
uint dim[4];     // d0, d1, S_q, S_k
uint x_stride[4];
uint key_padding_stride[4];
uint mask_stride[4];
uint bias_stride[4];
uint out_stride[4];
float scale;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(SoftmaxConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_CONSTANT(20, uint, FILL_BITS, 0)  // f32: the logit of hidden keys, with HEED_SOFTMAX_FILL
HEED_CONSTANT(21, uint, WINDOW, 0)     // with HEED_SOFTMAX_CAUSAL: the most keys that a query sees, its own the last;
                                       // 0: all
HEED_END_CONSTANTS
