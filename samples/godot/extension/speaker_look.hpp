// What a character looked at when it said a word.
#pragma once

#include <heed/text_generator.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// `drawn` are the tokens of the last answer, which `ids`, the whole conversation, has near its end. Gives the words that were there
// when word number `word` of the answer began, and for each the mean of the attention that all heads of all layers gave it; the
// largest is 1. Tokens that only part messages are left out. InvalidArgument: the answer has no such word.
heed::Status look_at(heed::TextGenerator& model, std::span<const int32_t> ids, std::span<const int32_t> drawn,
                     int64_t word, std::vector<std::string>* words, std::vector<float>* weights);
