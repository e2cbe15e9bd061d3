// Finds strings that end an answer in text that comes piece by piece, and holds back what may become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

class StopStrings {
 public:
  StopStrings() = default;
  // None of them is empty.
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  // Takes more text, and appends to *given what cannot be part of a string that ends the answer. True: one of them is there,
  // and *given ends in front of it; of several, in front of the one that begins first.
  bool add(std::string_view text, std::string* given);
  // Appends what was held back; the answer ended in another way.
  void finish(std::string* given);
  const std::string& held() const { return held_; }

 private:
  // The length of the longest end of held_ with which one of the strings begins.
  size_t hopeful() const;

  std::vector<std::string> strings_;
  std::string held_;
};

}  // namespace heed
