// The instruction sets that the vector code is compiled for. To be included before Highway's own headers.
//
// Sets that do f32 arithmetic no faster than another one are left out, as each costs compile time and size. Bits 4 and 6
// are the AVX-512 variants of Sapphire Rapids and Zen 4, which older Highway cannot name. A file whose arithmetic is in bytes
// defines HEED_WITH_BYTE_DOT_PRODUCTS to have that of Ice Lake, too. Builds with sanitizers have the one set of the processor
// that they are built on (HWY_COMPILE_ONLY_STATIC).
#pragma once

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#if defined(HEED_WITH_BYTE_DOT_PRODUCTS)
#define HWY_WANT_AVX3_DL  // older Highway leaves it out otherwise
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | HWY_SSSE3)
#else
#define HWY_DISABLED_TARGETS ((1LL << 4) | (1LL << 6) | HWY_AVX3_DL | HWY_SSSE3)
#endif
#endif
