// out[b0, b1, m, n] = residual + dropout(act(scale * sum_k a[b0, b1, m, k] b[b0, b1, k, n] + bias[n]))
// Strides in elements; 0 along broadcast batch dimensions. out and residual have an innermost stride of 1.
#include "params.h"

HEED_BEGIN_PARAMS(MatmulParams)
uint offset[5];  // a, b, bias, residual, out
uint m, n, k;
uint batch_1;  // size of b1
uint tiles_m, tiles_n;
uint tiles;  // tiles_m * tiles_n * batches: workgroups with work
uint a_m, a_k, a_b0, a_b1;
uint b_k, b_n, b_b0, b_b1;
uint bias_n;
uint residual_m, residual_b0, residual_b1;
uint out_m, out_b0, out_b1;
float scale;
uint seed, stream;
uint partial;  // batches of one part of k: out is f32 and gets the parts' sums, dense; 0: all of k
HEED_END_PARAMS
