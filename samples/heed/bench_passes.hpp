// `heed bench --passes`: what each pass of a plan moves through memory, beside the fewest bytes possible.
#pragma once

#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::program {

// Dispatches, bytes and operations of all of them; `label` says how many passes these are.
PassInfo total_of(const std::vector<PassInfo>& passes);
// How many times the fewest bytes a pass moves; 0: it could move none.
double times_fewest(const PassInfo& pass);

// The table, with a line for each and the total.
std::string table_of(const std::vector<PassInfo>& passes);

}  // namespace heed::program
