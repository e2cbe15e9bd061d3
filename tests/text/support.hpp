// Shared by the tests of language models' tokenizers: their vocabularies and what the reference says.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "search/support.hpp"

namespace heed::test {

inline std::filesystem::path text_data() { return source_path("tests/text/data"); }

// SmolLM2-135M-Instruct's GGUF file: $HEED_SMOLLM2, else where samples/run.sh talk puts it. Empty, after a warning in the report,
// if it is not there. With HEED_REQUIRE_MODEL=1 that is a failure.
inline std::string smollm2_file() {
  const char* named = std::getenv("HEED_SMOLLM2");
  const std::string file = named != nullptr && *named != 0
                               ? named
                               : source_path(".cache/SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf");
  std::error_code error;
  if (std::filesystem::exists(file, error)) return file;
  const char* required = std::getenv("HEED_REQUIRE_MODEL");
  if (required != nullptr && *required == '1') FAIL("SmolLM2 is not at " << file);
  WARN("SKIPPED: SmolLM2 is not at " << file << "; HEED_SMOLLM2 names the file");
  return {};
}

inline Bpe bpe_of(const std::string& file) {
  Gguf gguf;
  Bpe bpe;
  INFO(file);
  REQUIRE(Gguf::open(file, stderr_log(), &gguf) == Status::Ok);
  REQUIRE(Bpe::from_gguf(gguf, stderr_log(), &bpe) == Status::Ok);
  return bpe;
}

// One of the small vocabularies: "gpt-2", "llama-bpe", "qwen2" or "llama".
inline Bpe small_bpe(const std::string& name) {
  return bpe_of((text_data() / "vocabularies" / (name + ".gguf")).string());
}

inline std::vector<int32_t> ids_of(const Bpe& bpe, std::string_view text, const BpeOptions& options = {}) {
  std::vector<int32_t> ids;
  REQUIRE(bpe.encode(text, options, &ids) == Status::Ok);
  return ids;
}

inline std::string text_of(const Bpe& bpe, std::span<const int32_t> ids, const DecodeOptions& options = {}) {
  std::string text;
  REQUIRE(bpe.decode(ids, options, &text) == Status::Ok);
  return text;
}

}  // namespace heed::test
