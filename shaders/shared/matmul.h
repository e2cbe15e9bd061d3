// out[b0, b1, m, n] = residual + dropout(act(scale * sum_k a[b0, b1, m, k] b[b0, b1, k, n] + bias[n])), or the residual times it; or, with
// HEED_MATMUL_SLOPES, scale * sum_k a b times the derivative of act at the residual. Strides are in elements; 0 along broadcast batch
// dimensions. out and residual have an innermost stride of 1.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(MatmulParams)
uint offset[6];  // a, b, bias, residual, out, and the activation's input
uint m, n, k;
uint batch_1;  // size of b1
uint tiles_m, tiles_n;
uint tiles;  // tiles_m * tiles_n * batches: number of workgroups with work
uint a_m, a_k, a_b0, a_b1;
uint b_k, b_n, b_b0, b_b1;  // for a quantized b, whose columns are contiguous, b_k is the number of blocks of its
                            // storage
uint bias_n;
uint residual_m, residual_b0, residual_b1;
uint out_m, out_b0, out_b1;
float scale;
uint seed, stream;
uint partial;  // 0: k is not split; else the number of batches, and out receives each split's sums, contiguous and in
               // f32
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(MatmulConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_CONSTANT(5, uint, ACTIVATION, 0)
HEED_CONSTANT(6, uint, DROPOUT_THRESHOLD, 0)
HEED_CONSTANT(7, float, DROPOUT_SCALE, 1.0)
HEED_CONSTANT(8, uint, BM, 64)  // rows and columns of a workgroup's tile
HEED_CONSTANT(9, uint, BN, 64)
HEED_END_CONSTANTS
