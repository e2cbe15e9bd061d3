// Whisper tiny.en gives for a recording what it gives in double.
#include <nlohmann/json.hpp>

#include "harness/files.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

// The model's folder: $HEED_WHISPER, else the folder of samples/run.sh listen. Empty, with a warning in the report, if it does not exist.
// With HEED_REQUIRE_MODEL=1 that is a failure.
std::string tiny_en_folder() {
  const char* named = std::getenv("HEED_WHISPER");
  const std::string folder = named != nullptr && *named != 0 ? named : source_path(".cache/whisper-tiny.en");
  std::error_code error;
  if (std::filesystem::exists(folder + "/model.bin", error)) return folder;
  const char* required = std::getenv("HEED_REQUIRE_MODEL");
  if (required != nullptr && *required == '1') FAIL("Whisper tiny.en is not at " << folder);
  WARN("SKIPPED: Whisper tiny.en is not at " << folder << "; HEED_WHISPER names the folder");
  return {};
}

// 16 bits, mono, 16 kHz, with a header of 44 bytes.
std::vector<float> recording(const std::string& path) {
  const std::string bytes = read_file(path);
  REQUIRE(bytes.size() > 44);
  std::vector<float> samples;
  for (size_t i = 44; i + 1 < bytes.size(); i += 2) {
    const auto value =
        static_cast<int16_t>(static_cast<unsigned char>(bytes[i]) | static_cast<unsigned char>(bytes[i + 1]) << 8);
    samples.push_back(static_cast<float>(value) / 32768.0f);
  }
  return samples;
}

}  // namespace

TEST_CASE("Whisper tiny.en hears what it hears in double", "[speech_model]") {
  const std::string folder = tiny_en_folder();
  if (folder.empty()) return;
  std::ifstream file(source_path("tests/speech/open-door.json"));
  const auto want = nlohmann::json::parse(file, nullptr, false);
  REQUIRE(want.is_object());
  const std::vector<float> samples = recording(source_path("tests/speech/open-door.wav"));
  models::WhisperModel model;
  REQUIRE(model.open(folder, stderr_log()) == Status::Ok);
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.device.info().kind == DeviceKind::Cpu && on.word != ops::test_devices().back().word) continue;
    INFO(on.word);
    const models::WhisperTokens& tokens = model.tokens();
    CHECK(tokens.no_times == 50362);
    const WhisperStages got = hear_stages(on.device, model, samples, {tokens.start, tokens.no_times});
    double mel = 0, encoder = 0, logits = 0;
    for (size_t i = 0; i < want["mel"].size(); ++i) {
      const size_t band = want["mel_positions"][i][0], frame = want["mel_positions"][i][1];
      mel = std::max(mel, std::fabs(static_cast<double>(got.mel[frame * 80 + band]) - want["mel"][i].get<double>()));
      const size_t row = want["encoder_positions"][i][0], column = want["encoder_positions"][i][1];
      encoder = std::max(
          encoder, std::fabs(static_cast<double>(got.encoder[row * 384 + column]) - want["encoder"][i].get<double>()));
    }
    const auto& first = want["first_logits"][0];
    for (size_t i = 0; i < first["ids"].size(); ++i)
      logits = std::max(logits, std::fabs(static_cast<double>(got.logits[first["ids"][i].get<size_t>()]) -
                                          first["logits"][i].get<double>()));
    CHECK(mel < 1e-4);
    CHECK(encoder < 2e-3);
    CHECK(logits < 2e-3);
    std::printf("Whisper tiny.en on %s: errors of mel %.1e, encoder %.1e, logits %.1e\n", on.word.c_str(), mel, encoder,
                logits);

    const SpeechRecognizer recognizer = opened_recognizer(on.device, folder);
    SpeechText text;
    REQUIRE(recognizer.recognize(samples, without_doubts(false), &text) == Status::Ok);
    REQUIRE(text.segments.size() == 1);
    CHECK(text.segments[0].ids == want["tokens"].get<std::vector<int32_t>>());
    CHECK(text.text() == want["text"].get<std::string>());
    CHECK(std::fabs(static_cast<double>(text.segments[0].no_speech) - want["no_speech_prob"].get<double>()) < 1e-4);
    CHECK(std::fabs(static_cast<double>(text.segments[0].log_probability) - want["avg_logprob"].get<double>()) < 1e-3);

    // Word times equal those of words.py, with and without timestamp tokens.
    std::ifstream words_file(source_path("tests/speech/open-door.words.json"));
    const auto words = nlohmann::json::parse(words_file, nullptr, false);
    for (const bool times : {false, true}) {
      SpeechOptions options = without_doubts(times);
      options.words = true;
      REQUIRE(recognizer.recognize(samples, options, &text) == Status::Ok);
      REQUIRE(text.segments.size() == 1);
      REQUIRE(text.segments[0].words.size() == words.size());
      double off = 0;
      for (size_t i = 0; i < words.size(); ++i) {
        const SpeechWord& word = text.segments[0].words[i];
        CHECK(word.text == words[i]["text"].get<std::string>());
        CHECK((word.probability > 0.5f && word.probability <= 1.0f));
        off = std::max({off, std::fabs(word.begin - words[i]["begin"].get<double>()),
                        std::fabs(word.end - words[i]["end"].get<double>())});
      }
      CHECK(off < 0.04);
      std::printf("Whisper tiny.en on %s: words %s times are off by at most %.3f s\n", on.word.c_str(),
                  times ? "with" : "without", off);
    }
  }
}

}  // namespace heed::test
