// `heed bench --passes`: what each pass of a plan moves through memory, beside the fewest bytes possible.
#pragma once

#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::program {

// Of one pass, or of several together.
struct PassBytes {
  std::string label, op, kernel;
  uint32_t dispatches = 0;
  double bytes = 0, fewest = 0;  // as PassInfo says

  double times() const { return fewest > 0 ? bytes / fewest : 0; }  // 0: could move nothing
};

// One of each pass.
std::vector<PassBytes> bytes_of(const std::vector<PassInfo>& passes);
// All of them; `label` says how many passes these are.
PassBytes total_of(const std::vector<PassBytes>& passes);

// The table, with a line for each and the total.
std::string table_of(const std::vector<PassBytes>& passes);

}  // namespace heed::program
