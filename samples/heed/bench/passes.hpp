// `heed bench --passes`: the bytes that each pass of a plan moves, beside the fewest possible.
#pragma once

#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::program {

// The sums of dispatches, bytes and operations. The `label` has the number of passes.
PassInfo total_of(const std::vector<PassInfo>& passes);
// The bytes that a pass moves, divided by the fewest; 0 if the fewest are 0.
double times_fewest(const PassInfo& pass);

// A table with a line for each pass, and one for the total.
std::string table_of(const std::vector<PassInfo>& passes);

}  // namespace heed::program
