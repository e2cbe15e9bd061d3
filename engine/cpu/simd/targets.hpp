// The instruction sets for which the vector code is compiled. Must be included before Highway's own headers.
//
// Sets whose f32 arithmetic is not faster than another one's are omitted, since each costs compile time and size. Bits 4 and 6 are the
// AVX-512 variants of Sapphire Rapids and Zen 4, for which older Highway has no names. A file with byte arithmetic defines
// HEED_WITH_BYTE_DOT_PRODUCTS to include that of Ice Lake, too. Builds with sanitizers have only the set of the build machine's processor
// (HWY_COMPILE_ONLY_STATIC).
#pragma once

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#if defined(HEED_WITH_BYTE_DOT_PRODUCTS)
#define HWY_WANT_AVX3_DL  // older Highway omits it otherwise
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | HWY_SSSE3)
#else
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | HWY_AVX3_DL | HWY_SSSE3)
#endif
#endif
