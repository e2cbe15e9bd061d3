// Golden files inside the program (goldens.cmake).
#pragma once

#include <cstddef>
#include <span>

namespace heed::program {

struct HeldGolden {
  const char* name;
  std::span<const std::byte> bytes;
};
std::span<const HeldGolden> held_goldens();

}  // namespace heed::program
