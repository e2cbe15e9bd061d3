// out[o, v, :] = the sum of rows[o, i, :] over all i < count with ids[o, i] == v, in their order. Nothing has gaps. A dispatch takes begin <=
// i < end, and adds to what the dispatches before it have left in out.
#include "params.h"

HEED_BEGIN_PARAMS(EmbeddingBackwardParams)
uint offset[3];  // rows, ids, out
uint rows, n;    // of out
uint blocks;     // of a row, each with a column for every lane
uint vocabulary, count;
uint begin, end;
HEED_END_PARAMS
