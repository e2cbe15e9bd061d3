// SmolLM2-135M-Instruct (Allal et al. 2025, arXiv:2502.02737) gives the tokens that were computed in double.
#include "models/support.hpp"

#include "text/support.hpp"

namespace heed::test {

TEST_CASE("SmolLM2 from its GGUF file says what it says in double", "[language_model]") {
  const std::string file = smollm2_file();
  if (file.empty()) return;
  const DecoderModel model = opened_model(file);
  CHECK(model.config().family == "llama");
  CHECK(model.config().layers == 30);
  CHECK(model.config().vocabulary == 49152);
  CHECK(model.config().tied);
  CHECK(model.tensors().size() == 272);
  CHECK(model.bytes() < 97'000'000);  // the file's type
  const std::vector<Prompt> all = prompts_of("smollm2-greedy.json", 8);
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    // Software drivers need long for a token, and SwiftShader minutes to compile the kernels of quantized weights.
    const bool is_cpu = on.word == "cpu", is_swiftshader = on.word.find("swiftshader") != std::string::npos;
    const std::span<const Prompt> some = std::span(all).first(is_cpu ? 8 : 2);
    const size_t most = is_cpu ? 24 : 8;
    if (is_cpu || is_swiftshader) check_prompts(on, model, {.weight_dtype = DType::F32}, some, most, 2e-3);
    if (!is_swiftshader) check_prompts(on, model, {}, some, most, 2e-3);
  }
}

}  // namespace heed::test
