// Matmuls of rows x [B, S, K] with one to three weights [N, K], with the norm of x before them, and rotary or gate after them. Rows of x
// are contiguous; all weights, biases and the norm's gamma and beta are views of one binding.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(ProjectionParams)
uint offset[7];     // x, the norm's beta, positions, table, results
uint rows, tokens;  // B * S and S
uint x_b, x_s;
uint weight[3];  // offsets of weights, in their elements; of quantized ones, in groups of 16 bytes
uint bias[3];
uint gamma;
uint out_b[3], out_s[3], out_head[3];
uint tiles;  // number of workgroups with work
uint first;  // position of the first row, if there is no positions input
uint position_b, position_s;
uint room;  // number of positions for placed rows
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(ProjectionConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_CONSTANT(5, uint, ACTIVATION, 0)
HEED_CONSTANT(6, uint, BM, 1)  // most rows
HEED_CONSTANT(8, uint, K, 8)
HEED_CONSTANT(9, uint, SECOND, 0xffffffffu)  // the first tiles of the second and third results
HEED_CONSTANT(10, uint, THIRD, 0xffffffffu)
HEED_CONSTANT(11, uint, HEAD, 4)   // columns of a head
HEED_CONSTANT(12, uint, PAIRS, 0)  // rotary pairs of a head
HEED_CONSTANT(13, float, EPS, 0.0)
HEED_CONSTANT(24, uint, COLUMNS, 4)  // per workgroup; a power of two
HEED_END_CONSTANTS
