// Streams give the text of the file, however the sound is cut into pieces; invalid sound and options are refused.
#include <chrono>
#include <limits>
#include <thread>

#include "harness/counting.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Heard {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::string> partial;
};

void take(const SpeechPiece& piece, Heard* heard) {
  for (const SpeechSegment& segment : piece.segments) heard->ids.push_back(segment.ids);
  if (!piece.partial.empty()) heard->partial.push_back(piece.partial);
}

// Pushes sound in pieces of so many samples, and polls after each piece.
Heard hear_pieces(const SpeechRecognizer& model, const SpeechOptions& options, std::span<const float> sound,
                  size_t size, bool steps_between) {
  SpeechStream stream;
  Heard heard;
  REQUIRE(model.begin(options, &stream) == Status::Ok);
  SpeechPiece piece;
  while (!sound.empty()) {
    const std::span<const float> some = sound.first(std::min(size, sound.size()));
    sound = sound.subspan(some.size());
    REQUIRE(stream.push(some) == Status::Ok);
    if (!steps_between) continue;
    REQUIRE(stream.step(&piece) == Status::Ok);
    take(piece, &heard);
  }
  stream.finish();
  while (stream.busy()) {
    REQUIRE(stream.step(&piece) == Status::Ok);
    CHECK(piece.done);
    take(piece, &heard);
  }
  REQUIRE(stream.step(&piece) == Status::Ok);
  CHECK_FALSE(piece.done);
  return heard;
}

}  // namespace

TEST_CASE("speech: text does not depend on the pieces of the sound", "[speech]") {
  const TinyWhisper tiny("english");
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path);
  for (const bool times : {false, true}) {
    SpeechOptions options = without_doubts(times);
    const std::vector<std::vector<int32_t>> want = tiny.lists(times ? "times" : "plain");
    for (const size_t size : {size_t{1600}, size_t{997}, size_t{64}, tiny.sound.size()})
      for (const bool steps : {false, true}) CHECK(hear_pieces(model, options, tiny.sound, size, steps).ids == want);
    options.partial_seconds = 0.05f;
    const Heard live = hear_pieces(model, options, tiny.sound, 160, true);
    CHECK(live.ids == want);
    CHECK(live.partial.size() > 10);
  }
}

TEST_CASE("speech: windows end in pauses", "[speech]") {
  const TinyWhisper tiny("english");
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path);
  SpeechOptions options = without_doubts(false);
  options.pause_seconds = 0.06f;
  options.pause_level = 0.02f;
  // Half a window of silence, a third of noise, and silence.
  const auto window = static_cast<size_t>(model.window_samples());
  std::vector<float> sound(window * 3);
  std::copy_n(tiny.sound.begin() + 500, window / 3, sound.begin() + static_cast<long>(window / 2));
  std::vector<SpeechSegment> first;
  for (const size_t size : {size_t{320}, size_t{111}, sound.size()}) {
    SpeechStream stream;
    REQUIRE(model.begin(options, &stream) == Status::Ok);
    std::vector<SpeechSegment> heard;
    SpeechPiece piece;
    size_t at = 0;
    for (; heard.empty() && at < sound.size(); at += size) {
      REQUIRE(stream.push(std::span(sound).subspan(at, std::min(size, sound.size() - at))) == Status::Ok);
      while (stream.busy()) {
        REQUIRE(stream.step(&piece) == Status::Ok);
        heard.insert(heard.end(), piece.segments.begin(), piece.segments.end());
      }
    }
    REQUIRE(heard.size() == 1);
    if (size < window) CHECK(at < window + window / 3);  // before the window is full
    for (; at < sound.size(); at += size)
      REQUIRE(stream.push(std::span(sound).subspan(at, std::min(size, sound.size() - at))) == Status::Ok);
    stream.finish();
    CHECK_FALSE(stream.busy());  // the rest is silence
    const double speech = static_cast<double>(window) / 2 / kSpeechRate;
    CHECK(heard[0].begin > speech - 0.06);
    CHECK(heard[0].begin <= speech);
    CHECK(heard[0].end > speech + static_cast<double>(window / 3) / kSpeechRate);
    if (first.empty()) first = heard;
    CHECK(heard[0].ids == first[0].ids);
    CHECK(heard[0].begin == first[0].begin);
    CHECK(heard[0].end == first[0].end);
  }
}

TEST_CASE("speech: several streams at once, polled", "[speech]") {
  for (const ops::TestDevice& on : ops::test_devices()) {
    if (on.word != ops::test_devices().back().word && on.device.info().kind == DeviceKind::Cpu) continue;
    INFO(on.word);
    const TinyWhisper tiny("multilingual");
    const SpeechRecognizer model = opened_recognizer(on.device, tiny.path);
    SpeechStream streams[3];
    Heard heard[3];
    for (SpeechStream& stream : streams) {
      REQUIRE(model.begin(without_doubts(&stream != &streams[1]), &stream) == Status::Ok);
      REQUIRE(stream.push(tiny.sound) == Status::Ok);
      stream.finish();
    }
    streams[2].cancel();
    CHECK_FALSE(streams[2].busy());
    CHECK(std::fabs(streams[2].seconds() - static_cast<double>(tiny.sound.size()) / kSpeechRate) < 1e-6);
    const auto start = std::chrono::steady_clock::now();
    size_t turns[3] = {};
    while (streams[0].busy() || streams[1].busy()) {
      for (size_t i = 0; i < 3; ++i) {
        SpeechPiece piece;
        REQUIRE(streams[i].poll(&piece) == Status::Ok);
        turns[i] += piece.done ? 1 : 0;
        take(piece, &heard[i]);
        // Both streams progress.
        if (streams[0].busy() && streams[1].busy()) CHECK(turns[0] + 3 > turns[1]);
        if (streams[0].busy() && streams[1].busy()) CHECK(turns[1] + 3 > turns[0]);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      REQUIRE(std::chrono::steady_clock::now() - start < std::chrono::minutes(2));
    }
    CHECK(heard[0].ids == tiny.lists("times"));
    CHECK(heard[1].ids == tiny.lists("plain"));
    CHECK(heard[2].ids.empty());
  }
}

TEST_CASE("speech: a stream is cancelled, moved or dropped in the middle of a step", "[speech]") {
  const TinyWhisper tiny("english");
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path);
  SpeechPiece piece;
  SpeechStream stream, other;
  REQUIRE(model.begin(without_doubts(true), &stream) == Status::Ok);
  REQUIRE(model.begin(without_doubts(true), &other) == Status::Ok);
  REQUIRE(stream.push(tiny.sound) == Status::Ok);
  REQUIRE(stream.poll(&piece) == Status::Ok);
  stream.cancel();
  CHECK_FALSE(stream.busy());
  REQUIRE(stream.push(tiny.sound) == Status::Ok);
  REQUIRE(stream.poll(&piece) == Status::Ok);
  SpeechStream moved = std::move(stream);
  CHECK_FALSE(stream.valid());
  CHECK(stream.push(tiny.sound) == Status::InvalidArgument);
  REQUIRE(moved.step(&piece) == Status::Ok);
  CHECK(piece.done);
  REQUIRE(moved.poll(&piece) == Status::Ok);
  REQUIRE(other.push(tiny.sound) == Status::Ok);
  REQUIRE(other.poll(&piece) == Status::Ok);
  moved = {};
  // The other stream continues, with the text that it would have alone.
  other.finish();
  Heard heard;
  while (other.busy()) {
    REQUIRE(other.step(&piece) == Status::Ok);
    take(piece, &heard);
  }
  CHECK(heard.ids == tiny.lists("times"));
}

TEST_CASE("speech: doubtful windows are read again with draws", "[speech]") {
  const TinyWhisper tiny("english");
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path);
  SpeechOptions options;
  options.least_log_probability = 1.0f;  // rejects every text
  options.most_no_speech = kInfinity;
  options.temperature_step = 0.4f;
  SpeechText text, again, other;
  REQUIRE(model.recognize(tiny.sound, options, &text) == Status::Ok);
  REQUIRE(!text.segments.empty());
  for (const SpeechSegment& segment : text.segments) CHECK(segment.temperature == 1.0f);
  REQUIRE(model.recognize(tiny.sound, options, &again) == Status::Ok);
  CHECK(ids_of(again) == ids_of(text));
  options.seed = 5;
  REQUIRE(model.recognize(tiny.sound, options, &other) == Status::Ok);
  CHECK(ids_of(other) != ids_of(text));
  // Windows without speech give no text.
  options.most_no_speech = -1.0f;
  REQUIRE(model.recognize(tiny.sound, options, &other) == Status::Ok);
  CHECK(other.segments.empty());
}

TEST_CASE("speech: sound that is none, or silent, or too loud", "[speech]") {
  const TinyWhisper tiny("english");
  Messages messages;
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path, {.log = messages.log()});
  const SpeechOptions options = without_doubts(false);
  SpeechText text;
  REQUIRE(model.recognize({}, options, &text) == Status::Ok);
  CHECK(text.segments.empty());
  const auto window = static_cast<size_t>(model.window_samples());
  for (const float level : {0.0f, 1.0f, -1.0f, 1e-30f, 65536.0f})
    for (const size_t size : {size_t{1}, size_t{399}, window, window + 1}) {
      std::vector<float> sound(size, level);
      for (size_t i = 1; i < size; i += 2) sound[i] = -level;  // clipped noise
      REQUIRE(model.recognize(sound, options, &text) == Status::Ok);
      CHECK(text.segments.size() == (size + window - 1) / window);
      for (const SpeechSegment& segment : text.segments) CHECK(std::isfinite(segment.log_probability));
    }
  CHECK(text.segments[0].begin == 0.0);
  const SpeechText before = text;
  for (const float wrong : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e5f}) {
    std::vector<float> sound(1000);
    sound[777] = wrong;
    messages.refused(model.recognize(sound, options, &text), Status::InvalidArgument, "sample 777");
    CHECK(ids_of(text) == ids_of(before));
  }
  SpeechStream stream;
  REQUIRE(model.begin(options, &stream) == Status::Ok);
  stream.finish();
  messages.refused(stream.push(tiny.sound), Status::InvalidArgument, "finished");
}

TEST_CASE("speech: an hour of sound takes the memory of a few windows", "[speech]") {
  const TinyWhisper tiny("english");
  const SpeechRecognizer model = opened_recognizer(open_cpu(), tiny.path);
  SpeechOptions options = without_doubts(false);
  options.pause_seconds = 0.06f;
  options.pause_level = 0.02f;
  options.most_tokens = 2;
  SpeechStream stream;
  REQUIRE(model.begin(options, &stream) == Status::Ok);
  // Each minute has a third of a window of noise, in its 31st second.
  const std::vector<float> silence(kSpeechRate);
  std::vector<float> noise = silence;
  std::copy_n(tiny.sound.begin() + 500, model.window_samples() / 3, noise.begin());
  std::vector<double> begins;
  {
    const LimitNews limit(1 << 20);  // the hour has 230 MB
    for (int second = 0; second < 3600; ++second) {
      REQUIRE(stream.push(second % 60 == 30 ? noise : silence) == Status::Ok);
      while (stream.busy()) {
        SpeechPiece piece;
        REQUIRE(stream.step(&piece) == Status::Ok);
        for (const SpeechSegment& segment : piece.segments) begins.push_back(segment.begin);
      }
    }
  }
  REQUIRE(begins.size() == 60);
  for (size_t minute = 0; minute < 60; ++minute)
    CHECK(std::fabs(begins[minute] - (static_cast<double>(minute) * 60 + 30)) < 0.1);
  CHECK(stream.seconds() == 3600.0);
}

TEST_CASE("speech: options outside of their ranges are refused", "[speech]") {
  const TinyWhisper tiny("english");
  Messages messages;
  Device cpu = open_cpu();
  const SpeechRecognizer model = opened_recognizer(cpu, tiny.path, {.log = messages.log()});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Wrong {
    SpeechOptions options;
    const char* said;
  };
  const Wrong all[] = {{{.most_tokens = -1}, "most_tokens is -1"},
                       {{.least_log_probability = nan}, "least_log_probability"},
                       {{.least_entropy = nan}, "least_entropy"},
                       {{.temperature_step = -0.1f}, "temperature_step"},
                       {{.temperature_step = 1e-6f}, "temperature_step"},
                       {{.most_no_speech = nan}, "most_no_speech"},
                       {{.pause_seconds = 20}, "pause_seconds"},
                       {{.pause_seconds = -1}, "pause_seconds"},
                       {{.pause_level = -1}, "pause_level"},
                       {{.partial_seconds = kInfinity}, "partial_seconds"}};
  for (const Wrong& wrong : all) {
    SpeechStream stream;
    messages.refused(model.begin(wrong.options, &stream), Status::InvalidArgument, wrong.said);
    CHECK_FALSE(stream.valid());
  }
  SpeechRecognizer other;
  messages.refused(SpeechRecognizer::open(cpu, tiny.path, {.weight_dtype = DType::Q4_0, .log = messages.log()}, &other),
                   Status::InvalidArgument, "f32, f16 or bf16");
  messages.refused(SpeechRecognizer::open(cpu, "no-such-folder", {.log = messages.log()}, &other), Status::NotFound,
                   "no-such-folder");
  CHECK(SpeechRecognizer::open(cpu, tiny.path, {}, nullptr) == Status::InvalidArgument);
  CHECK(other.begin({}, nullptr) == Status::InvalidArgument);
  CHECK_FALSE(other.valid());
  SpeechText text;
  SpeechOptions few = without_doubts(false);
  few.most_tokens = 2;
  REQUIRE(model.recognize(tiny.sound, few, &text) == Status::Ok);
  for (const SpeechSegment& segment : text.segments) CHECK(segment.ids.size() <= 2);
}

}  // namespace heed::test
