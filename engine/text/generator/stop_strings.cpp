#include "text/generator/stop_strings.hpp"

#include <algorithm>

namespace heed {

size_t StopStrings::hopeful() const {
  size_t most = 0;
  for (const std::string& string : strings_)
    for (size_t n = std::min(string.size() - 1, held_.size()); n > most; --n)
      if (std::string_view(held_).ends_with(std::string_view(string).substr(0, n))) {
        most = n;
        break;
      }
  return most;
}

bool StopStrings::add(std::string_view text, std::string* given) {
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& string : strings_) first = std::min(first, held_.find(string));
  const bool found = first != std::string::npos;
  const size_t count = found ? first : held_.size() - hopeful();
  given->append(held_, 0, count);
  held_.erase(0, found ? held_.size() : count);
  return found;
}

void StopStrings::finish(std::string* given) {
  given->append(held_);
  held_.clear();
}

}  // namespace heed
