// This file alone is compiled with the path of the checkout, so that ccache takes the others from another checkout.
#include "harness/source_path.hpp"

namespace heed::test {

std::string source_path(std::string_view path) { return std::string(HEED_SOURCE_DIR "/").append(path); }

}  // namespace heed::test
