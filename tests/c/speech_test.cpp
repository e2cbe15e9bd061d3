// Speech recognition through the C interface gives the text of C++.
#include <cmath>

#include "c/kept.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

KeptRecognizer open_recognizer(heed_device* device, const std::string& path) {
  return KeptRecognizer(heed_speech_recognizer_open, device, path.c_str(), nullptr);
}

// The options of without_doubts().
heed_speech_options sure(bool timestamps) {
  auto options = sized<heed_speech_options>();
  options.timestamps = timestamps;
  options.temperature_step = 0;
  options.most_no_speech = HUGE_VALF;
  return options;
}

std::vector<int32_t> ids_of(const heed_speech_segment& segment) {
  return {segment.ids, segment.ids + segment.id_count};
}

bool same(const heed_speech_word& got, const SpeechWord& want) {
  return got.text == want.text && got.text_bytes == want.text.size() && got.begin == want.begin &&
         got.end == want.end && got.probability == want.probability &&
         std::equal(got.attention, got.attention + got.attention_count, want.attention.begin(), want.attention.end());
}

bool same(const heed_speech_segment& got, const SpeechSegment& want) {
  bool words = got.word_count == want.words.size() && got.window_begin == want.window_begin;
  for (size_t i = 0; words && i < got.word_count; ++i) words = same(got.words[i], want.words[i]);
  return words && got.begin == want.begin && got.end == want.end && got.text == want.text &&
         got.text_bytes == want.text.size() && ids_of(got) == want.ids && got.language == want.language &&
         got.log_probability == want.log_probability && got.no_speech == want.no_speech &&
         got.temperature == want.temperature;
}

bool is_busy(heed_speech_stream* stream) {
  int32_t busy = -1;
  done(heed_speech_stream_busy(stream, &busy));
  return busy != 0;
}

}  // namespace

TEST_CASE("C: sound becomes the text that it becomes in C++", "[c][speech]") {
  const TinyWhisper tiny("multilingual");
  KeptDevice device = open_c("cpu");
  KeptRecognizer recognizer = open_recognizer(device, tiny.path);
  const SpeechRecognizer plain = opened_recognizer(open_cpu(), tiny.path);
  auto info = sized<heed_speech_recognizer_info>();
  done(heed_speech_recognizer_get_info(recognizer, &info));
  CHECK(info.window_samples == plain.window_samples());
  CHECK(info.stream_bytes == plain.stream_bytes());
  CHECK(std::vector<std::string>(info.languages, info.languages + info.language_count) == plain.languages());
  CHECK(HEED_SPEECH_RATE == kSpeechRate);

  for (const bool times : {false, true}) {
    heed_speech_options options = sure(times);
    SpeechOptions plain_options = without_doubts(times);
    options.words = plain_options.words = true;
    if (!times) plain_options.language = options.language = "de";
    SpeechText want;
    REQUIRE(plain.recognize(tiny.sound, plain_options, &want) == Status::Ok);
    KeptSpeech text(heed_speech_recognizer_recognize, recognizer, tiny.sound.data(), tiny.sound.size(), &options);
    auto heard = sized<heed_speech_text_info>();
    done(heed_speech_text_get_info(text, &heard));
    CHECK(std::string(heard.text, heard.text_bytes) == want.text());
    REQUIRE(heard.segment_count == want.segments.size());
    for (size_t i = 0; i < heard.segment_count; ++i) CHECK(same(heard.segments[i], want.segments[i]));

    // The same as two streams of pieces, polled in turn.
    KeptStream stream(heed_speech_stream_begin, recognizer, &options);
    KeptStream other(heed_speech_stream_begin, recognizer, &options);
    size_t next[2] = {};
    const auto take = [&] {
      for (size_t s = 0; s < 2; ++s) {
        auto piece = sized<heed_speech_piece>();
        done(heed_speech_stream_poll(s == 0 ? stream : other, &piece));
        for (size_t i = 0; i < piece.segment_count; ++i) {
          REQUIRE(next[s] < want.segments.size());
          CHECK(same(piece.segments[i], want.segments[next[s]++]));
        }
      }
    };
    for (size_t at = 0; at < tiny.sound.size(); at += 1600) {
      for (heed_speech_stream* one :
           {static_cast<heed_speech_stream*>(stream), static_cast<heed_speech_stream*>(other)})
        done(heed_speech_stream_push(one, &tiny.sound[at], std::min<size_t>(1600, tiny.sound.size() - at)));
      take();
    }
    done(heed_speech_stream_finish(stream));
    done(heed_speech_stream_finish(other));
    while (is_busy(stream) || is_busy(other)) take();
    CHECK(next[0] == want.segments.size());
    CHECK(next[1] == want.segments.size());
    double seconds = 0;
    done(heed_speech_stream_seconds(stream, &seconds));
    CHECK(seconds == static_cast<double>(tiny.sound.size()) / kSpeechRate);
  }
}

TEST_CASE("C: partial text, cancelled sound, and parts of a recognizer", "[c][speech]") {
  const TinyWhisper tiny("english");
  KeptDevice device = open_c("cpu");
  KeptRecognizer recognizer = open_recognizer(device, tiny.path);
  const SpeechRecognizer plain = opened_recognizer(open_cpu(), tiny.path);
  heed_speech_options options = sure(true);
  options.partial_seconds = 0.05f;
  KeptStream stream(heed_speech_stream_begin, recognizer, &options);
  done(heed_speech_stream_push(stream, tiny.sound.data(), tiny.sound.size() / 4));
  std::string partial;
  int tokens = 0;
  while (is_busy(stream)) {
    auto piece = sized<heed_speech_piece>();
    done(heed_speech_stream_step(stream, &piece));
    CHECK(piece.done == 1);
    CHECK(piece.segment_count == 0);
    tokens += piece.token >= 0;
    if (piece.partial_bytes > 0) partial.assign(piece.partial, piece.partial_bytes);
  }
  CHECK(tokens > 1);
  CHECK(!partial.empty());
  done(heed_speech_stream_push(stream, tiny.sound.data(), tiny.sound.size()));
  REQUIRE(is_busy(stream));
  done(heed_speech_stream_cancel(stream));
  CHECK_FALSE(is_busy(stream));

  KeptPlan encoder(heed_speech_recognizer_encoder, recognizer), decoder(heed_speech_recognizer_decoder, recognizer);
  CHECK(heed_plan_pass_count(encoder) == plain.encoder().passes().size());
  CHECK(heed_plan_pass_count(decoder) == plain.decoder().passes().size());
  KeptWeights weights(heed_speech_recognizer_weights, recognizer);
  uint64_t bytes = 0;
  done(heed_weights_bytes(weights, &bytes));
  CHECK(bytes == plain.weights().bytes());
  KeptTokenizer tokenizer(heed_speech_recognizer_tokenizer, recognizer);
  CHECK(heed_tokenizer_size(tokenizer) == plain.tokenizer().size());

  // A stream keeps its model alive, and a text is independent of both.
  KeptSpeech text(heed_speech_recognizer_recognize, recognizer, tiny.sound.data(), tiny.sound.size(), &options);
  (void)recognizer.gone();
  (void)device.gone();
  done(heed_speech_stream_push(stream, tiny.sound.data(), tiny.sound.size()));
  done(heed_speech_stream_finish(stream));
  size_t segments = 0;
  while (is_busy(stream)) {
    auto piece = sized<heed_speech_piece>();
    done(heed_speech_stream_step(stream, &piece));
    segments += piece.segment_count;
  }
  auto heard = sized<heed_speech_text_info>();
  done(heed_speech_text_get_info(text, &heard));
  CHECK(heard.segment_count == segments);
  CHECK(segments > 1);
}

TEST_CASE("C: speech functions refuse what makes no sense", "[c][speech][hostile]") {
  const TinyWhisper tiny("english");
  KeptDevice device = open_c("cpu");
  KeptRecognizer recognizer = open_recognizer(device, tiny.path);
  heed_speech_recognizer* none = recognizer;
  refused(heed_speech_recognizer_open(device, "/nonexistent", nullptr, &none), HEED_NOT_FOUND, "nonexistent");
  CHECK(none == nullptr);
  refused(heed_speech_recognizer_open(device, nullptr, nullptr, &none), HEED_INVALID_ARGUMENT, "path is NULL");
  auto opening = sized<heed_speech_recognizer_options>();
  opening.weight_dtype = HEED_Q4_0;
  refused(heed_speech_recognizer_open(device, tiny.path.c_str(), &opening, &none), HEED_INVALID_ARGUMENT, "q8_0");

  auto options = sized<heed_speech_options>();
  heed_speech_stream* no_stream = nullptr;
  refused(heed_speech_stream_begin(recognizer, nullptr, nullptr), HEED_INVALID_ARGUMENT, "stream is NULL");
  options.task = 2;
  refused(heed_speech_stream_begin(recognizer, &options, &no_stream), HEED_INVALID_ARGUMENT, "task is 2");
  options.task = HEED_SPEECH_TASK_TRANSLATE;
  refused(heed_speech_stream_begin(recognizer, &options, &no_stream), HEED_UNSUPPORTED, "translate");
  options.task = HEED_SPEECH_TASK_TRANSCRIBE;
  options.language = "xx";
  refused(heed_speech_stream_begin(recognizer, &options, &no_stream), HEED_UNSUPPORTED, "'xx'");
  options.language = nullptr;
  options.temperature_step = NAN;
  refused(heed_speech_stream_begin(recognizer, &options, &no_stream), HEED_INVALID_ARGUMENT, "temperature_step");
  CHECK(no_stream == nullptr);

  std::vector<float> sound(1000);
  sound[7] = NAN;
  heed_speech_text* text = nullptr;
  refused(heed_speech_recognizer_recognize(recognizer, sound.data(), sound.size(), nullptr, &text),
          HEED_INVALID_ARGUMENT, "sample 7");
  CHECK(text == nullptr);
  refused(heed_speech_recognizer_recognize(recognizer, nullptr, 3, nullptr, &text), HEED_INVALID_ARGUMENT,
          "samples is NULL");
  KeptStream stream(heed_speech_stream_begin, recognizer, nullptr);
  refused(heed_speech_stream_push(stream, sound.data(), sound.size()), HEED_INVALID_ARGUMENT, "sample 7");
  auto piece = sized<heed_speech_piece>();
  piece.size = 3;
  refused(heed_speech_stream_step(stream, &piece), HEED_INVALID_ARGUMENT, "piece has the size 3");
  piece.size = sizeof piece;
  done(heed_speech_stream_step(stream, &piece));
  CHECK(piece.done == 0);
  done(heed_speech_stream_finish(stream));
  refused(heed_speech_stream_push(stream, sound.data(), 1), HEED_INVALID_ARGUMENT, "finished");
}

}  // namespace heed::test
