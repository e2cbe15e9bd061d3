// The words that a character attended to when it said a word.
#pragma once

#include <heed/text_generator.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// `drawn` are the tokens of the last answer, which is near the end of `ids`, the whole conversation. Returns the words that existed when
// word number `word` of the answer began, each with the mean of its attention weights over all heads of all layers; the largest is scaled
// to 1. Leaves out tokens that only separate messages. InvalidArgument: the answer has no such word.
heed::Status look_at(heed::TextGenerator& model, std::span<const int32_t> ids, std::span<const int32_t> drawn,
                     int64_t word, std::vector<std::string>* words, std::vector<float>* weights);
