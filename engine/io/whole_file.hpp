// Files that are there as a whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heed {

// Writes the parts one behind the other to PATH.part, which then gets the name `path`; a file of this name is replaced. False: nothing
// has changed.
bool write_whole_file(const std::string& path, std::span<const std::span<const std::byte>> parts);

}  // namespace heed
