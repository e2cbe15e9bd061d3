// Draws the attention of a text: a row of matrices for each layer, with a column for each head.
#pragma once

#include <string>

#include <heed/text_encoder.hpp>

namespace search {

// Only the first tokens of a longer text are drawn, since more cells would be too small.
inline constexpr size_t kMaxPictureTokens = 48;

// Returns false with a sentence in *error if it fails.
bool write_attention(const heed::TextAttention& attention, const std::string& title, const std::string& path,
                     std::string* error);

}  // namespace search
