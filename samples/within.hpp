// Helpers for the samples' command lines.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

namespace samples {

// Accepts numbers from `least` to `most`. Unlike CLI::Range, it refuses "nan".
inline CLI::Validator within(double least, double most) {
  const auto check = [least, most](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && value >= least && value <= most) return std::string();
    std::ostringstream why;
    why << text << " is not a number from " << least << " to " << most;
    return why.str();
  };
  return CLI::Validator(check, "NUMBER");
}

}  // namespace samples
