// Settings by which heed's own tests and measurements choose kernels and drivers. Only their programs are linked with
// tests/harness/settings.cpp, which takes settings from environment variables of the same names. The library itself
// reads no environment variable, so that nothing around a shipped program changes what it computes.
#pragma once

#include <string_view>

namespace heed {

using ReadSetting = const char* (*)(const char* name);
inline constinit ReadSetting read_setting = nullptr;

// Empty where nothing is set.
inline std::string_view test_setting(const char* name) {
  const char* value = read_setting != nullptr ? read_setting(name) : nullptr;
  return value != nullptr ? value : std::string_view();
}

}  // namespace heed
