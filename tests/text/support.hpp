// Helpers for tests of language models' tokenizers: their vocabularies and the reference's ids.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "search/support.hpp"

namespace heed::test {

inline std::filesystem::path text_data() { return source_path("tests/text/data"); }

// The GGUF file of a real model: the environment variable `variable`, else where samples/talk/fetch_model.sh puts it. Empty, with a warning
// in the report, if it is missing. With HEED_REQUIRE_MODEL=1 that is a failure.
inline std::string model_file(const char* model, const char* variable, const char* usual) {
  const char* named = std::getenv(variable);
  const std::string file = named != nullptr && *named != 0 ? named : source_path(std::string(".cache/") + usual);
  std::error_code error;
  if (std::filesystem::exists(file, error)) return file;
  const char* required = std::getenv("HEED_REQUIRE_MODEL");
  if (required != nullptr && *required == '1') FAIL(model << " is not at " << file);
  WARN("SKIPPED: " << model << " is not at " << file << "; " << variable << " names the file");
  return {};
}

inline std::string smollm2_file() {
  return model_file("SmolLM2", "HEED_SMOLLM2", "SmolLM2-135M-Instruct/SmolLM2-135M-Instruct.Q4_1.gguf");
}
inline std::string gemma3_file() {
  return model_file("Gemma 3 270M", "HEED_GEMMA3", "gemma-3-270m/gemma-3-270m-q4_k_m.gguf");
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
