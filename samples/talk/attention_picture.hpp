// Draws a word's attention, in each layer and head.
#pragma once

#include <string>
#include <vector>

namespace talk {

struct AttentionPicture {
  std::string title, subtitle;
  std::vector<std::string> words;
  size_t layers = 0, heads = 0;
  std::vector<float> weights;  // [layers, heads, words]; the weights of a head sum to 1
  float weight(size_t layer, size_t head, size_t word) const {
    return weights[(layer * heads + head) * words.size() + word];
  }
};

// More words would be unreadably small cells.
inline constexpr size_t kMostPictureWords = 64;

// A PNG file. Returns false with a sentence in *error if it fails.
bool draw_attention(const AttentionPicture& picture, const std::string& path, std::string* error);

}  // namespace talk
