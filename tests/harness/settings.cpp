// Programs that are linked with this file read heed's test settings from the environment; see base/test_setting.hpp.
#include <cstdlib>

#include "base/test_setting.hpp"

namespace {

[[maybe_unused]] const bool reads_environment = [] {
  heed::read_setting = [](const char* name) -> const char* { return std::getenv(name); };
  return true;
}();

}  // namespace
