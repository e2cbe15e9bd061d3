// Tiny Whispers give the results of numpy in double, stage by stage, on each device.
#include "speech/sizes.hpp"
#include "speech/speech_shared.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

std::vector<int32_t> prompt_of(const TinyWhisper& tiny, int32_t language) {
  const models::WhisperTokens& tokens = tiny.model.tokens();
  if (!tokens.multilingual) return {tokens.start, tokens.no_times};
  return {tokens.start, language, tokens.transcribe, tokens.no_times};
}

int64_t copies_to_states(const Plan& plan) {
  const std::vector<PassInfo> passes = plan.passes();
  return std::count_if(passes.begin(), passes.end(),
                       [](const PassInfo& pass) { return pass.label == "append" || pass.label.ends_with(".append"); });
}

// Of a token on a GPU: queries, keys and values, an attention and its output; a query, an attention and its output; and two of the
// feed-forward block. Around the layers: the rows of the token and of its position, the logits, the rules, the draw, its loss, and the write
// of the drawn token.
constexpr size_t kPassesOfLayer = 8, kPassesAround = 7;
// A pass of its own if the vocabulary is large, or no multiple of eight.
constexpr const char* kLastNorm = "decoder.layer_norm.layernorm";

size_t passes_without_last_norm(const Plan& plan) {
  const std::vector<PassInfo> passes = plan.passes();
  return static_cast<size_t>(
      std::count_if(passes.begin(), passes.end(), [](const PassInfo& pass) { return pass.label != kLastNorm; }));
}

}  // namespace

TEST_CASE("whisper: tiny models hear what numpy hears", "[speech]") {
  for (const std::string name : {"english", "english-hf", "multilingual", "int8", "int8-ggml.bin", "polyglot",
                                 "polyglot-hf", "polyglot-ggml.bin"})
    for (const ops::TestDevice& on :
         name.starts_with("int8") ? ops::devices_for_quantized_projections() : ops::test_devices()) {
      // Polled streams use the second device; the first file is no longer needed.
      if (name != "english" && name != "int8" && on.device.info().kind != DeviceKind::Cpu) continue;
      INFO(name << " on " << on.word);
      const TinyWhisper tiny(name);
      const std::vector<int32_t> languages = tiny.integers("languages");
      const WhisperStages got = hear_stages(on.device, tiny.model, tiny.sound, prompt_of(tiny, languages[0]));
      CHECK(distance(got.mel, tiny.floats("mel")) < 1e-4);
      CHECK(distance(got.encoder, tiny.floats("encoder")) < 2e-4);
      CHECK(distance(got.logits, tiny.floats("logits")) < 2e-4);

      if (name == "int8-ggml.bin") continue;  // other rules, since the file lists no forbidden tokens
      const SpeechRecognizer recognizer = opened_recognizer(on.device, tiny.path);
      // The passes that compute keys and values write them into the cache.
      CHECK(copies_to_states(recognizer.encoder()) == 0);
      CHECK(copies_to_states(recognizer.decoder()) == 1);  // the token
      if (on.device.info().kind != DeviceKind::Cpu)
        CHECK(passes_without_last_norm(recognizer.decoder()) ==
              kPassesOfLayer * static_cast<size_t>(tiny.model.config().decoder.layers) + kPassesAround);
      SpeechText plain, timed;
      REQUIRE(recognizer.recognize(tiny.sound, without_doubts(false), &plain) == Status::Ok);
      CHECK(ids_of(plain) == tiny.lists("plain"));
      CHECK(std::fabs(plain.segments[0].no_speech - tiny.floats("no_speech")[0]) < 1e-5f);
      REQUIRE(recognizer.recognize(tiny.sound, without_doubts(true), &timed) == Status::Ok);
      CHECK(ids_of(timed) == tiny.lists("times"));
      std::vector<int32_t> spans;
      for (const SpeechSegment& segment : timed.segments)
        for (const double seconds : {segment.begin, segment.end})
          spans.push_back(static_cast<int32_t>(std::lround(seconds * kSpeechRate)));
      CHECK(spans == tiny.integers("times.spans"));
    }
}

TEST_CASE("whisper: languages are detected, given, and translated", "[speech]") {
  const TinyWhisper tiny("polyglot-ggml.bin");
  const SpeechRecognizer recognizer = opened_recognizer(open_cpu(), tiny.path);
  const std::vector<std::string> languages = {"en", "zh", "de", "es"};
  CHECK(recognizer.languages() == languages);
  SpeechText text;
  REQUIRE(recognizer.recognize(tiny.sound, without_doubts(true), &text) == Status::Ok);
  // A window may have several segments.
  std::vector<std::string> heard, want;
  for (const SpeechSegment& segment : text.segments) heard.push_back(segment.language);
  for (const int32_t id : tiny.integers("languages"))
    want.push_back(languages[static_cast<size_t>(id - tiny.model.tokens().start - 1)]);
  CHECK(std::set(heard.begin(), heard.end()) == std::set(want.begin(), want.end()));
  CHECK(heard[0] == want[0]);
  SpeechOptions options = without_doubts(false);
  options.language = "es";
  options.task = SpeechTask::Translate;
  REQUIRE(recognizer.recognize(tiny.sound, options, &text) == Status::Ok);
  CHECK(ids_of(text) == tiny.lists("translated"));
  for (const SpeechSegment& segment : text.segments) CHECK(segment.language == "es");
  options.task = SpeechTask::Transcribe;
  REQUIRE(recognizer.recognize(tiny.sound, options, &text) == Status::Ok);
  CHECK(ids_of(text) != tiny.lists("translated"));

  Messages messages;
  const SpeechRecognizer english =
      opened_recognizer(open_cpu(), source_path("tests/speech/english"), {.log = messages.log()});
  CHECK(english.languages().empty());
  SpeechStream stream;
  messages.refused(english.begin({.language = "de"}, &stream), Status::Unsupported, "'de'");
  messages.refused(english.begin({.task = SpeechTask::Translate}, &stream), Status::Unsupported, "translate");
  CHECK(english.begin({.language = "en"}, &stream) == Status::Ok);
}

TEST_CASE("whisper: other storage of weights and caches", "[speech]") {
  const TinyWhisper tiny("multilingual");
  Device cpu = open_cpu();
  const std::vector<int32_t> prompt = prompt_of(tiny, tiny.integers("languages")[0]);
  for (const models::WhisperOptions& options : {models::WhisperOptions{DType::F16, {}},
                                                {DType::BF16, {}},
                                                {{}, DType::F16},
                                                {DType::F16, DType::BF16},
                                                {DType::Q8_0, {}}}) {
    const WhisperStages got = hear_stages(cpu, tiny.model, tiny.sound, prompt, options);
    const double off = distance(got.logits, tiny.floats("logits"));
    CHECK(off > 1e-5);
    CHECK(off < 0.1);
  }
}

TEST_CASE("whisper: the published sizes", "[speech]") {
  struct Size {
    WhisperSize size;
    int64_t parameters;  // in Hugging Face's checkpoint, whose projections of keys have no bias
  };
  const Size sizes[] = {{{"tiny", 384, 4, 4, 80, 51865}, 37'760'640},
                        {{"base", 512, 6, 6, 80, 51865}, 72'593'920},
                        {{"small", 768, 12, 12, 80, 51865}, 241'734'912},
                        {{"medium", 1024, 24, 24, 80, 51865}, 763'857'920},
                        {{"large-v3", 1280, 32, 32, 128, 51866}, 1'543'490'560},
                        {{"large-v3-turbo", 1280, 32, 4, 128, 51866}, 808'878'080}};
  const Log log = stderr_log();
  for (const Size& one : sizes) {
    INFO(one.size.name);
    SpeechRecognizer::Shared shared;
    REQUIRE(WhisperOfSize(one.size, log, &shared.model).make() == Status::Ok);
    int64_t parameters = 0;
    for (const HostTensor& tensor : shared.model.tensors()) {
      int64_t elements = 1;
      for (const int64_t dim : tensor.shape) elements *= dim;
      parameters += elements;
    }
    CHECK(parameters == one.parameters + one.size.width * (one.size.encoder_layers + 2 * one.size.decoder_layers));
    CHECK(shared.model.tokens().multilingual);
    for (const Graph& g : {hearing_graph(shared), decoding_graph(shared, {.reads = true, .times = true, .draws = true}),
                           aligning_graph(shared)})
      CHECK(g.status() == Status::Ok);
  }
}

TEST_CASE("whisper: triangles of mel bands have an area of one", "[speech]") {
  for (const size_t bands : {size_t{80}, size_t{128}}) {
    const std::vector<double> triangles = models::mel_triangles(static_cast<int64_t>(bands));
    REQUIRE(triangles.size() == bands * 201);
    // Band 0 of openai-whisper's filter table.
    if (bands == 80) CHECK(std::fabs(triangles[1] - 0.024862593) < 1e-8);
    CHECK(triangles[0] == 0.0);
    for (size_t band = 3 * bands / 4; band < bands; ++band) {
      double area = 0;
      for (size_t bin = 0; bin < 201; ++bin) area += triangles[band * 201 + bin] * 40.0;
      CHECK(std::fabs(area - 1.0) < 0.04);
    }
  }
}

TEST_CASE("speech: languages of a model", "[speech]") {
  Device cpu = open_cpu();
  const SpeechRecognizer english = opened_recognizer(cpu, TinyWhisper("english").path);
  const TinyWhisper tiny("multilingual");
  Messages messages;
  const SpeechRecognizer several = opened_recognizer(cpu, tiny.path, {.log = messages.log()});
  CHECK(english.languages().empty());
  CHECK(several.languages() == std::vector<std::string>{"en", "de", "fr"});
  SpeechText text;
  SpeechOptions options = without_doubts(true);
  REQUIRE(several.recognize(tiny.sound, options, &text) == Status::Ok);
  const int32_t first = tiny.integers("languages")[0];
  CHECK("<|" + text.segments[0].language + "|>" == several.tokenizer().token(first));
  // A given language is used, and so is the task.
  const std::vector<std::vector<int32_t>> detected = ids_of(text);
  options.language = text.segments[0].language == "fr" ? "de" : "fr";
  REQUIRE(several.recognize(tiny.sound, options, &text) == Status::Ok);
  CHECK(text.segments[0].language == options.language);
  CHECK(ids_of(text) != detected);
  options.task = SpeechTask::Translate;
  const std::vector<std::vector<int32_t>> transcribed = ids_of(text);
  REQUIRE(several.recognize(tiny.sound, options, &text) == Status::Ok);
  CHECK(ids_of(text) != transcribed);
  SpeechStream stream;
  messages.refused(several.begin({.language = "tlh"}, &stream), Status::Unsupported, "'tlh'");
  CHECK(english.begin({.language = "de"}, &stream) == Status::Unsupported);
  CHECK(english.begin({.task = SpeechTask::Translate}, &stream) == Status::Unsupported);
  CHECK(english.begin({.language = "en"}, &stream) == Status::Ok);
}

}  // namespace heed::test
