// Finds files of this checkout, or of the folder HEED_TEST_ROOT: tests may run without a checkout.
#pragma once

#include <string>
#include <string_view>

namespace heed::test {

// The path of a file or folder, from its path relative to the checkout.
std::string source_path(std::string_view path);

}  // namespace heed::test
