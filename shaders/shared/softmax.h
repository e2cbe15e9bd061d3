// out[r, j] = softmax over j of scale * x[r, j] + bias[r, j], for rows r = [d0, d1, S_q] and keys j < S_k.
// Masks are bytes. Key padding is [d0, S_k]; its strides along other row dimensions are 0.
#include "params.h"

HEED_BEGIN_PARAMS(SoftmaxParams)
uint offset[5];  // x, key_padding, mask, bias, out
uint dim[4];     // d0, d1, S_q, S_k
uint x_stride[4];
uint key_padding_stride[4];
uint mask_stride[4];
uint bias_stride[4];
uint out_stride[4];
float scale;
float fill;         // the logit of a hidden key, with HEED_SOFTMAX_FILL
int causal_offset;  // key j is visible to query i when j <= i + causal_offset
HEED_END_PARAMS
