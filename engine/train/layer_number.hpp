// Numbers of layers in dotted names of weights and labels.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace heed::train {

// The number at the beginning of a dotted name, such as 3 in "3.attn.q"; -1 if its first part is not a number.
inline int64_t layer_number(std::string_view name) {
  const std::string_view part = name.substr(0, name.find('.'));
  int64_t number = -1;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
  return error == std::errc() && end == part.data() + part.size() && number >= 0 ? number : -1;
}

}  // namespace heed::train
