// Draws where in the sound the model attends for each word.
#pragma once

#include <string>
#include <vector>

#include <heed/speech.hpp>

namespace listen {

// More words would be unreadable rows; the rest is left out.
inline constexpr size_t kMostPictureWords = 64;

// A PNG file: words downwards, time to the right, and a frame around the time of each. Segments must have words. Returns false with a
// sentence in *error if it fails.
bool draw_words(const std::vector<heed::SpeechSegment>& segments, const std::string& path, std::string* error);

}  // namespace listen
