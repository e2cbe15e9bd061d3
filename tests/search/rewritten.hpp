// Copies of the tiny model whose files are written anew.
#pragma once

#include <filesystem>

#include "search/support.hpp"

namespace heed::test {

// Makes the model's table of positions one of zeros for `positions` of them.
void lengthen(ModelCopy& model, int64_t positions);

// Every tensor of the tiny model as bf16 in one file, as many checkpoints are.
void write_as_bf16(const std::filesystem::path& file);

}  // namespace heed::test
