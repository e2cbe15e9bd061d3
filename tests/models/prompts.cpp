// Compares texts of real models with stored ones.
#include <nlohmann/json.hpp>

#include "models/support.hpp"
#include "text/support.hpp"

namespace heed::test {

std::vector<Prompt> prompts_of(const char* file, size_t count) {
  std::ifstream stream(source_path("tests/models/") + file);
  const auto read = nlohmann::json::parse(stream, nullptr, false);
  REQUIRE(read.is_array());
  std::vector<Prompt> all;
  for (const auto& one : read) all.push_back({one["text"], one["ids"], one["greedy"], one["logits_last_top8"]});
  REQUIRE(all.size() == count);
  return all;
}

void check_prompts(const ops::TestDevice& on, const DecoderModel& model, const DecoderOptions& options,
                   std::span<const Prompt> prompts, size_t most, double bound) {
  size_t longest = 0, tokens = 0;
  for (const Prompt& prompt : prompts) longest = std::max(longest, prompt.ids.size() + most);
  const auto capacity = static_cast<int64_t>(longest);
  ModelSpeaker speaker(on.device, model, capacity, std::min<int64_t>(capacity, 256), options);
  double worst = 0;
  for (const Prompt& prompt : prompts) {
    INFO(on.word << ": " << prompt.text);
    speaker.forget();
    int32_t next = speaker.read(prompt.ids);
    REQUIRE(prompt.largest.size() == 8);
    for (const auto& [id, logit] : prompt.largest)
      worst = std::max(worst, std::fabs(static_cast<double>(speaker.logits[id]) - logit));
    const size_t wanted = std::min(most, prompt.greedy.size());
    std::vector<int32_t> said;
    while (said.size() < wanted) {
      said.push_back(next);
      if (said.size() < wanted) next = speaker.read({&next, 1});
    }
    CHECK(std::equal(said.begin(), said.end(), prompt.greedy.begin()));
    tokens += said.size();
  }
  CHECK(worst < bound);
  std::printf("%s on %s, weights %s: %zu prompts, %zu tokens, worst error of logits %.1e\n",
              std::string(model.config().family).c_str(), on.word.c_str(),
              options.weight_dtype ? to_string(*options.weight_dtype) : "as in the file", prompts.size(), tokens,
              worst);
}

}  // namespace heed::test
