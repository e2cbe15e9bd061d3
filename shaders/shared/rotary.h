// Rotary embedding: rotates the first 2 * pairs elements of each row, and copies the others. Angles follow from the row's position, or are
// given as cosines and sines.
#include "constants.h"
#include "params.h"

HEED_BEGIN_PARAMS(RotaryParams)
uint offset[5];  // x, positions or cosines, table or sines, out, faults
uint rows, n;
uint pairs;
uint first;               // position of the first row, if there is no positions input
uint dim[4];              // dims of the rows, right-aligned
uint x_stride[5];         // four of the rows, then that within a row
uint position_stride[4];  // or of cosines, and of sines
uint out_stride[5];       // 0 along the axis before the last if rows are placed
uint room, apart;         // number of positions, and elements between them
uint each;                // distance between the cosines of consecutive pairs
uint other;               // distance between the cosines of a pair's two elements
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(RotaryConstants)
HEED_CONSTANT(4, bool, HALVES, false)     // element i forms a pair with i + pairs; otherwise 2i with 2i + 1
HEED_CONSTANT(5, bool, POSITIONS, false)  // the binding Positions is used; otherwise rows are numbered from p.first
HEED_CONSTANT(6, bool, PLACED, false)     // rows are scattered to their positions; see place.h
HEED_CONSTANT(7, bool, TABLES, false)     // cosines and sines are given
HEED_END_CONSTANTS
