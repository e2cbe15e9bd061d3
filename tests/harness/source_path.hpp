// Finds files of this checkout.
#pragma once

#include <string>
#include <string_view>

namespace heed::test {

// The place of a file or folder, by its path from the root of the checkout.
std::string source_path(std::string_view path);

}  // namespace heed::test
