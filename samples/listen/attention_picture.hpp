// A picture of what the model looked at in the sound while it told each word.
#pragma once

#include <string>
#include <vector>

#include <heed/speech.hpp>

namespace listen {

// More words are rows too many to be read; those beyond are left out.
inline constexpr size_t kMostPictureWords = 64;

// A PNG file: words downwards, time to the right, and a frame around when each was said. Segments have words. False: *error is one sentence.
bool draw_words(const std::vector<heed::SpeechSegment>& segments, const std::string& path, std::string* error);

}  // namespace listen
