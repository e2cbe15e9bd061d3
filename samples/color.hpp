// Colours of heat maps.
#pragma once

#include <cstdint>

namespace samples {

struct Color {
  uint8_t r = 0, g = 0, b = 0;
};

// viridis (Smith and van der Walt 2015): even steps of lightness, readable with colour blindness. t goes from 0 to 1.
Color viridis(double t);
// Black or white, whichever reads better on `background`.
Color ink_on(Color background);

}  // namespace samples
