// What runs and recordings are given alike.
#pragma once

#include <vector>

#include <heed/plan.hpp>

#include "c/call.hpp"

namespace heed::c {

std::vector<ExtentValue> extents_of(Call& call, const heed_extent_value* extents, size_t count);

}  // namespace heed::c
