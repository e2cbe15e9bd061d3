// heed detects by itself which instruction sets the processor has. Highway's library must agree.
#define HEED_WITH_BYTE_DOT_PRODUCTS  // one set more
#include "cpu/simd/targets.hpp"
//
#include "cpu/device/supported.hpp"
#include "harness/catch.hpp"
#include "hwy/targets.h"

using heed::cpu::supported_targets;

TEST_CASE("Highway's library finds the same instruction sets", "[cpu]") {
  CHECK((supported_targets() & HWY_STATIC_TARGET) != 0);
#ifdef HEED_TEST_HIGHWAY
  CAPTURE(HWY_TARGETS, supported_targets(), hwy::SupportedTargets());
  CHECK((supported_targets() & HWY_TARGETS) == (hwy::SupportedTargets() & HWY_TARGETS));
#endif
}
