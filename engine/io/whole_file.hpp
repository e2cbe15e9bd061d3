// Files that are written as a whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heed {

// Writes the concatenated parts to PATH.part, which is then renamed to `path`; an existing file is replaced. False: nothing has changed.
bool write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts);

}  // namespace heed
