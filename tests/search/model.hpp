// The folder of all-MiniLM-L6-v2: $HEED_MODEL_DIR, else where samples/search/fetch_model.sh puts it.
#pragma once

#include "harness/source_path.hpp"
#include "search/support.hpp"

namespace heed::test {

// Empty, with a warning in the report, if the model is missing. With HEED_REQUIRE_MODEL=1 that is a failure.
inline std::string minilm_folder() {
  const char* named = std::getenv("HEED_MODEL_DIR");
  const auto folder = named != nullptr && *named != 0 ? std::filesystem::path(named)
                                                      : std::filesystem::path(source_path(".cache/all-MiniLM-L6-v2"));
  std::error_code error;
  if (std::filesystem::exists(folder / "model.safetensors", error)) return folder.string();
  const char* required = std::getenv("HEED_REQUIRE_MODEL");
  if (required != nullptr && *required == '1') FAIL("all-MiniLM-L6-v2 is not in " << folder.string());
  WARN("SKIPPED: all-MiniLM-L6-v2 is not in " << folder.string() << "; samples/search/fetch_model.sh gets it");
  return {};
}

}  // namespace heed::test
