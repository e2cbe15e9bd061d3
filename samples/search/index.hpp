// The vectors of a corpus, kept in a file so that they are computed once.
//
// It is a safetensors file with one tensor, "vectors" F32 [lines, width]. Its metadata say how it was made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

namespace search {

struct Index {
  uint64_t model = 0;   // TextEncoder::fingerprint
  uint64_t corpus = 0;  // Corpus::hash
  std::string dtype;    // the types of the computation: "f32", "f16", "f32, weights bf16"
  size_t lines = 0, width = 0;
  std::vector<float> vectors;  // [lines, width], of length 1
};

enum class Load {
  Ok,
  Absent,
  Stale,    // an index of another model, corpus or precision; *why says which
  Foreign,  // another file, or a damaged index; *why says what is wrong; ask before overwriting it
  NoPlace,  // a folder, pipe or device, which no index may replace; *why says so
};
// The caller fills in all fields of `wanted` except the vectors. They are read if the file agrees with the others.
Load load_index(const std::string& path, Index* wanted, std::string* why);

// Writes a temporary file beside `path` and renames it at the end, so that an interruption leaves either the old file or the new one.
// Returns false with a sentence in *error if it fails.
bool save_index(const std::string& path, const Index& index, std::string* error);

struct Hit {
  size_t line = 0;
  float score = 0;  // cosine similarity
};
// The `count` lines nearest to `query` (of length 1), best first.
std::vector<Hit> nearest(const Index& index, const std::vector<float>& query, size_t count);

}  // namespace search
