// Splits text into words; merges do not cross word borders. Models state the rules as regular expressions; these scanners over code points
// implement them in time linear in the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heed {

enum class PreTokenizer : uint8_t { Gpt2, SmolLm, Llama3, Qwen2 };

// The rule by its name in GGUF's tokenizer.ggml.pre; none if the name is unknown.
std::optional<PreTokenizer> pre_tokenizer_of(std::string_view name);

// Sets *ends to the end of each word, in bytes. Words are consecutive, not empty, and cover the text, which has at most 2^30 bytes.
void split_words(PreTokenizer rule, std::string_view text, std::vector<uint32_t>* ends);

}  // namespace heed
