// out = a program of elementwise functions over up to six operands, which broadcast by strides.
//
// A step is encoded in a word: the function (shared/enums.glsl), three operands of six bits each from bit 8 on, and the domain of its
// operands from bit 26 on. An operand is an input (from 0), an earlier step (from 8) or a number (from 24).
#include "constants.h"
#include "params.h"

#define HEED_PROGRAM_INPUTS 6u
#define HEED_PROGRAM_FIRST_STEP 8u
#define HEED_PROGRAM_FIRST_NUMBER 24u
#define HEED_PROGRAM_WORDS 24u

// Types in OPERAND_TYPES, four bits each, in addition to those of types.h.
#define HEED_PROGRAM_I32 4u

HEED_BEGIN_PARAMS(ProgramParams)
uint offset[7];  // inputs, result
uint elements;
// The RANK - 1 inner dims, outermost first; RANK strides of each input and of the result; then the numbers.
uint words[24];
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(ProgramConstants)
HEED_CONSTANT(4, uint, STEPS, 1)
HEED_CONSTANT(5, bool, VEC4, false)  // rows are contiguous; starts and lengths are multiples of four
HEED_CONSTANT(6, uint, INPUTS, 1)
HEED_CONSTANT(7, uint, OPERAND_TYPES, 0)  // the result's type is at bit 24
HEED_CONSTANT(8, uint, RANK, 1)
HEED_CONSTANT(9, uint, STEP_0, 0)
HEED_CONSTANT(10, uint, STEP_1, 0)
HEED_CONSTANT(11, uint, STEP_2, 0)
HEED_CONSTANT(12, uint, STEP_3, 0)
HEED_CONSTANT(13, uint, STEP_4, 0)
HEED_CONSTANT(14, uint, STEP_5, 0)
HEED_CONSTANT(15, uint, STEP_6, 0)
HEED_CONSTANT(16, uint, STEP_7, 0)
HEED_CONSTANT(17, uint, STEP_8, 0)
HEED_CONSTANT(18, uint, STEP_9, 0)
HEED_CONSTANT(19, uint, STEP_10, 0)
HEED_CONSTANT(20, uint, STEP_11, 0)
HEED_CONSTANT(21, uint, STEP_12, 0)
HEED_CONSTANT(22, uint, STEP_13, 0)
HEED_CONSTANT(23, uint, STEP_14, 0)
HEED_CONSTANT(24, uint, STEP_15, 0)
HEED_END_CONSTANTS
