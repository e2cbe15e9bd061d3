// Rotary embedding: the first 2 * pairs elements of each row turn, the others are copied. A row turns by its position, or by cosines and
// sines that are given.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(RotaryParams)
uint offset[5];  // x, positions or cosines, table or sines, out, faults
uint rows, n;
uint pairs;
uint first;               // position of the first row, where none are given
uint dim[4];              // of the rows, right-aligned
uint x_stride[5];         // four of the rows, then the row's own
uint position_stride[4];  // or of cosines, and of sines
uint out_stride[5];       // if rows are placed, 0 along the axis before the last
uint room, apart;         // places for rows, and elements from one to the next
uint each;                // from the cosine of a pair to that of the next
uint other;               // from that of a pair's first element to that of its second
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(RotaryConstants)
HEED_CONSTANT(4, bool, HALVES, false)     // element i turns with i + pairs; otherwise 2i with 2i + 1
HEED_CONSTANT(5, bool, POSITIONS, false)  // Positions gives positions; otherwise rows count from p.first
HEED_CONSTANT(6, bool, PLACED, false)     // rows go to their positions; see place.h
HEED_CONSTANT(7, bool, TABLES, false)     // cosines and sines are given
HEED_END_CONSTANTS
