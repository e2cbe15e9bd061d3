// HEED_API marks what a shared library of heed exports; everything else stays hidden in it.
#pragma once

#if defined(_WIN32)
#if defined(HEED_BUILDING_SHARED)
#define HEED_API __declspec(dllexport)
#elif defined(HEED_SHARED)  // set for users that link heed::heed as a shared library
#define HEED_API __declspec(dllimport)
#else
#define HEED_API
#endif
#else
#define HEED_API __attribute__((visibility("default")))
#endif
