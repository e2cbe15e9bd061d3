// Finds stop strings in text that arrives piece by piece, and holds back text that may be the beginning of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

class StopStrings {
 public:
  StopStrings() = default;
  // No string may be empty.
  explicit StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {}

  // Adds text, and appends to *given all text that cannot be part of a stop string. Returns true if a stop string occurs; *given then ends
  // before it, or before the one that begins first.
  bool add(std::string_view text, std::string* given);
  // Appends the held text, if the answer ends for another reason.
  void finish(std::string* given);
  const std::string& held() const { return held_; }

 private:
  // The length of the longest suffix of held_ that is a prefix of one of the strings.
  size_t hopeful() const;

  std::vector<std::string> strings_;
  std::string held_;
};

}  // namespace heed
