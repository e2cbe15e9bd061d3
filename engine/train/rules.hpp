// The gradient rules of all operations that have one in the sheet.
#pragma once

#include "train/backflow.hpp"

namespace heed::train {

#define HEED_OPERATION(enumerator, name, ...) void name##_rule(Backflow& flow, const Node& node);
#include "graph/operations.inc"
#undef HEED_OPERATION

}  // namespace heed::train
