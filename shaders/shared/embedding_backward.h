// out[o, v, :] = the sum of rows[o, i, :] over all i < count with ids[o, i] == v, in their order. Nothing has gaps.
#include "params.h"

HEED_BEGIN_PARAMS(EmbeddingBackwardParams)
uint offset[3];  // rows, ids, out
uint rows, n;    // of out
uint vocabulary, count;
HEED_END_PARAMS
