// The modules of a sentence-transformers model, which its folder lists in modules.json.
#pragma once

#include <filesystem>

#include <heed/status.hpp>

namespace heed {

// Ok if TextEncoder computes what the modules compute: a Transformer whose files lie in `directory`, then Pooling by the mean of the
// tokens, then Normalize or nothing. Without modules.json, 1_Pooling/config.json is checked if it is there. If not, the message names the
// file and the module's type.
Status check_sentence_modules(const std::filesystem::path& directory, const Log& log);

}  // namespace heed
