// out[r, :] = table[ids[r] - first, :] for ids from first to first + vocabulary - 1. Other rows are not written, except that with first ==
// 0 an id outside 0..total-1 gives zeros, and sets the Faults word.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(EmbeddingParams)
uint offset[4];  // table, ids, out, faults
uint rows, n;
uint vocabulary, first, total;
uint table_row, table_column;  // for a quantized table, whose rows are contiguous, table_column is the number of its
                               // blocks
uint dim[4];                   // dims of the ids, right-aligned
uint ids_stride[4];
uint out_stride[5];  // four of the rows, then that within a row
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(EmbeddingConstants)
#if defined(__cplusplus) || defined(BLOCKS)
HEED_CONSTANT(4, uint, BLOCK_TYPE, 0)  // type of a quantized table, as in blocks.h
#endif
HEED_END_CONSTANTS
