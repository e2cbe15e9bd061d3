// The picture of a text's attention: a row of matrices for each layer, a column for each head.
#pragma once

#include <string>

#include <heed/text_encoder.hpp>

namespace search {

// Longer texts are drawn up to this token; more cells than that are too small to tell apart.
inline constexpr size_t kMaxPictureTokens = 48;

// False: *error is one sentence.
bool write_attention(const heed::TextAttention& attention, const std::string& title, const std::string& path,
                     std::string* error);

}  // namespace search
