// Finds files of this checkout, or of the folder that the variable HEED_TEST_ROOT names: tests may run where no checkout is.
#pragma once

#include <string>
#include <string_view>

namespace heed::test {

// The place of a file or folder, by its path from the root of the checkout.
std::string source_path(std::string_view path);

}  // namespace heed::test
