// Gemma 3 270M (Gemma Team 2025, arXiv:2503.19786) gives the tokens that were computed in double.
#include "models/support.hpp"
#include "text/support.hpp"

namespace heed::test {

namespace {

// Ids alone would not detect a window of 511, whose logits are off by 0.003, or a GELU by erf, by 0.01.
constexpr double kBound = 1e-3;

// Software drivers need long for a token, and SwiftShader for compiling kernels of quantized weights.
template <class Check>
void on_devices(Check check) {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:") || on.word.find("swiftshader") != std::string::npos) continue;
    check(on, on.word == "cpu");
  }
}

}  // namespace

TEST_CASE("Gemma 3 from its GGUF file says what it says in double", "[language_model][gemma3]") {
  const std::string file = gemma3_file();
  if (file.empty()) return;
  const DecoderModel model = opened_model(file);
  const DecoderConfig& config = model.config();
  CHECK(config.family == "gemma3");
  CHECK(config.layers == 18);
  CHECK(config.vocabulary == 262144);
  CHECK(config.head_width == 256);
  CHECK(config.window == 512);
  CHECK(config.full_every == 6);
  CHECK(config.window_base == 10000.0f);
  CHECK(config.rotary.base == 1e6f);
  CHECK(config.tied);
  CHECK(model.bytes() < 247'000'000);  // the file's type
  const std::vector<Prompt> all = prompts_of("gemma3-greedy.json", 6);
  on_devices([&](const ops::TestDevice& on, bool is_cpu) {
    check_prompts(on, model, {}, std::span(all).first(is_cpu ? 5 : 1), is_cpu ? 24 : 4, kBound);
  });
}

TEST_CASE("Gemma 3 says what it says in double behind more tokens than its window", "[language_model][gemma3]") {
  const std::string file = gemma3_file();
  if (file.empty()) return;
  const DecoderModel model = opened_model(file);
  const std::vector<Prompt> all = prompts_of("gemma3-greedy.json", 6);
  const std::span<const Prompt> longest = std::span(all).last(1);
  REQUIRE(longest[0].ids.size() > 512);
  on_devices(
      [&](const ops::TestDevice& on, bool is_cpu) { check_prompts(on, model, {}, longest, is_cpu ? 24 : 1, kBound); });
}

}  // namespace heed::test
