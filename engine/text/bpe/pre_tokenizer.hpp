// Splits text into words, none of which a merge crosses. The rules are those that models state as regular expressions,
// written as scanners over code points, which take time linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heed {

enum class PreTokenizer : uint8_t { Gpt2, SmolLm, Llama3, Qwen2 };

// By the names of GGUF's tokenizer.ggml.pre. None: the name is not known.
std::optional<PreTokenizer> pre_tokenizer_of(std::string_view name);

// Sets *ends to where each word ends, in bytes. Words are not empty and lie one behind the other; the last ends the text,
// which has at most 2^30 bytes.
void split_words(PreTokenizer rule, std::string_view text, std::vector<uint32_t>* ends);

}  // namespace heed
