// Only this file is compiled with the path of the checkout, so that ccache can reuse the others for another checkout.
#include "harness/source_path.hpp"

#include <cstdlib>

namespace heed::test {

std::string source_path(std::string_view path) {
  const char* root = std::getenv("HEED_TEST_ROOT");
  return std::string(root != nullptr ? root : HEED_SOURCE_DIR).append("/").append(path);
}

}  // namespace heed::test
