// Draws a token per row of logits. The result depends only on integer arithmetic on the logits' bits, apart from at most one product and
// one sum of f32 per logit (the penalty and the bias) and the distance to the largest logit, so that every device draws the same token:
//
//   key      of a logit: an unsigned number that orders as logits do; 0: the token may not be drawn
//   order    of tokens: larger keys first, of equal keys the lower token
//   weight   2^31 * 2^(-rate * distance): a whole number; 2^31 for the largest logit
//
// The tokens that top-k, top-p and min-p keep are the first ones in this order. The token is drawn at which the cumulative weight, in this
// order, exceeds a random share of the total.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(SampleParams)
uint offset[8];  // x, bias, previous, counts, steps, seeds, settings, out
uint rows, n;
uint index_bits;                            // bits of the largest index, n - 1; at least 1
uint dim[4];                                // dims of the rows, right-aligned
uint x_stride[5];                           // four of the rows, then that within a row
uint bias_row, previous_row, settings_row;  // distance between rows; 0: all rows share one
uint count_row, step_row, seed_row;
uint previous;           // tokens in a row of Previous
uint count, step, seed;  // if no tensor gives them
uint stream;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(SampleConstants)
HEED_CONSTANT(4, bool, BIAS, false)
HEED_CONSTANT(5, bool, PREVIOUS, false)
HEED_CONSTANT(6, bool, COUNTS, false)
HEED_CONSTANT(7, bool, STEPS, false)
HEED_CONSTANT(8, bool, SEEDS, false)
HEED_END_CONSTANTS

// Bits of a key or an index that one loop over a row determines.
#define HEED_SAMPLE_DIGIT 9u

// The words of a row of settings; engine/base/sample.hpp explains them.
#define HEED_SAMPLE_RATE 0u
#define HEED_SAMPLE_REACH 1u
#define HEED_SAMPLE_TOP_K 2u
#define HEED_SAMPLE_TOP_P 3u
#define HEED_SAMPLE_MIN_P 4u
#define HEED_SAMPLE_PENALTY 5u
#define HEED_SAMPLE_INVERSE 6u
#define HEED_SAMPLE_WORDS 8u
