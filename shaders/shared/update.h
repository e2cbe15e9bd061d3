// One step of an optimizer, which updates weights and moments in place; see engine/base/update.hpp.
#include "constants.h"
#include "params.h"
#include "update_words.h"

HEED_BEGIN_PARAMS(UpdateParams)
uint offset[6];  // gradient, factors, settings, weights, first and second moment
uint n;
HEED_END_PARAMS

HEED_BEGIN_CONSTANTS(UpdateConstants)
HEED_CONSTANT(4, uint, FLAGS, 0)
HEED_END_CONSTANTS
