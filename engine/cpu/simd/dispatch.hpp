// Selects the instruction set of vector code at run time. Included after Highway's foreach_target.h.
#pragma once

#include <initializer_list>

#include "hwy/highway.h"

// Selects the function of `target` from one for each instruction set. Highway's own dispatch makes one choice per process in its library;
// this needs no library, and devices may differ in their choice.
#if HWY_IDE || (HWY_TARGETS & (HWY_TARGETS - 1)) == 0  // only one instruction set was compiled
#define HEED_FOR_TARGET(function, target) ((void)(target), &HWY_STATIC_DISPATCH(function))
#else
#define HEED_FOR_TARGET(function, target)                          \
  ::heed::cpu::entry_of<decltype(&HWY_STATIC_DISPATCH(function))>( \
      {nullptr, HWY_CHOOSE_TARGET_LIST(function), HWY_CHOOSE_FALLBACK(function)}, target)
#endif

namespace heed::cpu {

// `entries` are in Highway's order.
template <class Function>
Function entry_of(std::initializer_list<Function> entries, int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return entries.begin()[chosen.GetIndex()];
}

}  // namespace heed::cpu
