// out[o, v, :] = the sum of rows[o, i, :] over all i < count with ids[o, i] == v, in order of i. All tensors are contiguous. A dispatch
// processes begin <= i < end, and adds to the result of the dispatches before it.
#include "params.h"

HEED_BEGIN_PARAMS(EmbeddingBackwardParams)
uint offset[3];  // rows, ids, out
uint rows, n;    // dims of out
uint blocks;     // per row, each with a column for every lane
uint vocabulary, count;
uint begin, end;
HEED_END_PARAMS
