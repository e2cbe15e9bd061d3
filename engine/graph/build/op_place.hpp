// Places that tensors tell, for graph calls that write or read rows at them.
#pragma once

#include "graph/build/build.hpp"

namespace heed::detail {

inline constexpr const char* kPlacesLabel = ".places";

// The places of rows along an axis, I32 that broadcasts to the first axis + 1 dims of `rows`: `given`, or, if it is [B] and
// the axis is another than the first, given[b] and those that follow. Invalid, with the mistake recorded, if neither fits.
Tensor places_of(Build& build, Tensor given, const TensorInfo& rows, int axis);

}  // namespace heed::detail
