// A list of names for one message.
#pragma once

#include <cstddef>
#include <string>

#include "base/logging.hpp"

namespace heed {

// Formats at most kMostNamed names as "a, b, c", then "and N more".
class NameList {
 public:
  static constexpr size_t kMostNamed = 20;

  void add(const std::string& text) {
    if (++count_ <= kMostNamed) text_ += (text_.empty() ? "" : ", ") + text;
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ <= kMostNamed ? text_ : format("%s and %zu more", text_.c_str(), count_ - kMostNamed);
  }

 private:
  std::string text_;
  size_t count_ = 0;
};

}  // namespace heed
