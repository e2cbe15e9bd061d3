// Choosing the instruction set of vector code at run time. Included after Highway's foreach_target.h.
#pragma once

#include "hwy/highway.h"

// The function of `target` in a table made by HWY_EXPORT. Highway's own dispatch makes one choice per process; this lets
// devices with different choices live side by side.
#define HEED_FOR_TARGET(function, target) ::heed::cpu::entry_of(HWY_DISPATCH_TABLE(function), target)

namespace heed::cpu {

template <class Function, size_t kCount>
Function entry_of(Function const (&table)[kCount], int64_t target) {
  if (kCount == 1) return table[0];  // only one instruction set was compiled
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return table[chosen.GetIndex()];
}

}  // namespace heed::cpu
