// Settings with which heed's own tests and measurements choose kernels and drivers. Only those programs are linked with
// tests/harness/settings.cpp, which reads environment variables of the same names. The library itself reads no environment variable, so
// that the environment of a shipped program does not change its results.
#pragma once

#include <string_view>

namespace heed {

using ReadSetting = const char* (*)(const char* name);
inline constinit ReadSetting read_setting = nullptr;

// Empty if the setting is not set.
inline std::string_view test_setting(const char* name) {
  const char* value = read_setting != nullptr ? read_setting(name) : nullptr;
  return value != nullptr ? value : std::string_view();
}

}  // namespace heed
