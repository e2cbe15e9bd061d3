// Catch2 of version 2 (older distributions) or 3, and the headers of the standard library that most tests use.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
// A matcher for CHECK_THAT, which prints the text if it does not match.
inline auto holds(std::string_view part) { return Catch::Matchers::ContainsSubstring(std::string(part)); }
#else
#include <catch2/catch.hpp>
inline auto holds(std::string_view part) { return Catch::Matchers::Contains(std::string(part)); }
#endif
