// SmolLM2-135M-Instruct (Allal et al. 2025, arXiv:2502.02737) says what it says in double.
#include "models/support.hpp"

#include <nlohmann/json.hpp>

#include "harness/source_path.hpp"
#include "text/support.hpp"

namespace heed::test {
namespace {

struct Prompt {
  std::string text;
  std::vector<int32_t> ids, greedy;
  std::vector<std::pair<size_t, double>> largest;  // logits after the prompt
};

std::vector<Prompt> prompts() {
  std::ifstream file(source_path("tests/models/smollm2-greedy.json"));
  const auto read = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(read.is_array());
  std::vector<Prompt> all;
  for (const auto& one : read) all.push_back({one["text"], one["ids"], one["greedy"], one["logits_last_top8"]});
  REQUIRE(all.size() == 8);
  return all;
}

void check_smollm2(const ops::TestDevice& on, const DecoderModel& model, const DecoderOptions& options, size_t count,
                   size_t most) {
  const std::vector<Prompt> all = prompts();
  double worst = 0;
  size_t tokens = 0;
  ModelSpeaker first(on.device, model, 256, 64, options);
  for (const Prompt& prompt : std::span(all).first(count)) {
    INFO(on.word << ": " << prompt.text);
    first.forget();
    int32_t next = first.read(prompt.ids);
    for (const auto& [id, logit] : prompt.largest)
      worst = std::max(worst, std::fabs(static_cast<double>(first.logits[id]) - logit));
    const size_t wanted = std::min(most, prompt.greedy.size());
    std::vector<int32_t> said;
    while (said.size() < wanted) {
      said.push_back(next);
      if (said.size() < wanted) next = first.read({&next, 1});
    }
    CHECK(std::equal(said.begin(), said.end(), prompt.greedy.begin()));
    tokens += said.size();
  }
  CHECK(worst < 2e-3);
  std::printf("SmolLM2 on %s, weights %s: %zu prompts, %zu tokens, worst error of logits %.1e\n", on.word.c_str(),
              options.weight_dtype ? to_string(*options.weight_dtype) : "as in the file", count, tokens, worst);
}

}  // namespace

TEST_CASE("SmolLM2 from its GGUF file says what it says in double", "[language_model]") {
  const std::string file = smollm2_file();
  if (file.empty()) return;
  const DecoderModel model = opened_model(file);
  CHECK(model.config().family == "llama");
  CHECK(model.config().layers == 30);
  CHECK(model.config().vocabulary == 49152);
  CHECK(model.config().tied);
  CHECK(model.tensors().size() == 272);
  CHECK(model.bytes() < 97'000'000);  // as in the file
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.interpreted || on.word.starts_with("cpu:")) continue;
    // Software drivers take long for a token, and SwiftShader minutes to compile the kernels of quantized weights.
    const bool is_cpu = on.word == "cpu", is_swiftshader = on.word.find("swiftshader") != std::string::npos;
    const size_t count = is_cpu ? 8 : 2, most = is_cpu ? 24 : 8;
    if (is_cpu || is_swiftshader) check_smollm2(on, model, {.weight_dtype = DType::F32}, count, most);
    if (!is_swiftshader) check_smollm2(on, model, {}, count, most);
  }
}

}  // namespace heed::test
