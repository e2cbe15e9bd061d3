// Copies of the tiny model with rewritten files.
#pragma once

#include <filesystem>

#include "search/support.hpp"

namespace heed::test {

// Replaces the model's position table by one of zeros for `positions` positions.
void lengthen(ModelCopy& model, int64_t positions);

// Writes every tensor of the tiny model as bf16 into one file, like many checkpoints.
void write_as_bf16(const std::filesystem::path& file);

}  // namespace heed::test
