// Transcribes files from front to back, and the microphone.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "../ear.hpp"
#include "../terminal.hpp"
#include "session.hpp"
#ifdef LISTEN_DRAWS
#include "attention_picture.hpp"
#endif

namespace listen {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Passes each piece of a file's text to `take`, with the seconds of its step.
template <class Take>
int hear(const std::string& path, const heed::SpeechOptions& options, const heed::SpeechRecognizer& model, Take take) {
  samples::Sound sound;
  if (!sound.open(path)) return bad_input(sound.error());
  heed::SpeechStream ear;
  heed::Status status = model.begin(options, &ear);
  std::vector<float> samples;
  while (status == heed::Status::Ok && !(samples.empty() && ear.seconds() > 0)) {
    if (!sound.read(&samples)) return bad_input(sound.error());
    if (samples.empty() && ear.seconds() == 0) return bad_input(path + " holds no sound");
    status = ear.push(samples);
    if (samples.empty()) ear.finish();
    while (status == heed::Status::Ok && ear.busy()) {
      heed::SpeechPiece piece;
      const Clock::time_point start = Clock::now();
      status = ear.step(&piece);
      take(piece, seconds_since(start));
    }
  }
  return status == heed::Status::Ok ? kOk : failed(path, status);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

int hear_files(const Options& options, const heed::SpeechRecognizer& model) {
  Printer printer(options.form, options.speech.words);
  heed::SpeechOptions speech = options.speech;
  speech.words = speech.words || !options.picture.empty();
  std::vector<heed::SpeechSegment> seen;  // for the picture
  for (const std::string& path : options.files) {
    const int code = hear(path, speech, model, [&](const heed::SpeechPiece& piece, double) {
      for (const heed::SpeechSegment& segment : piece.segments) printer.print(segment);
      if (!options.picture.empty()) seen.insert(seen.end(), piece.segments.begin(), piece.segments.end());
    });
    if (code != kOk) return code;
    printer.finish();
  }
#ifdef LISTEN_DRAWS
  std::string error;
  if (!options.picture.empty() && !draw_words(seen, options.picture, &error)) return bad_input(error);
#endif
  return kOk;
}

int caption(const Options& options, const heed::SpeechRecognizer& model) {
  using Next = samples::Ear::Next;
  const bool is_live = samples::output_is_terminal() && options.form == Form::Text;
  heed::SpeechOptions speech = options.speech;
  if (speech.pause_seconds == 0) speech.pause_seconds = 0.6f;
  if (is_live) speech.partial_seconds = 1.0f;
  samples::Ear ear;
  if (const int code = ear.open(model, speech, ""); code != kOk) return code;
  samples::catch_interrupts();
  if (is_live) samples::write_over("listening; Ctrl-C ends");
  Printer printer(options.form, options.speech.words);
  bool is_finished = false;
  for (heed::SpeechPiece piece;;) {
    const Next next = ear.next(&piece);
    if (next == Next::Failed) return ear.code();
    if (next == Next::End) break;
    if (!is_finished && (next == Next::Interrupted || (options.seconds > 0 && ear.seconds() >= options.seconds))) {
      ear.finish();
      is_finished = true;
    }
    if (next == Next::Interrupted) continue;
    if (is_live && (!piece.segments.empty() || !piece.partial.empty())) samples::write_over(piece.partial);
    for (const heed::SpeechSegment& segment : piece.segments) printer.print(segment);
  }
  if (is_live) samples::write_over("");
  printer.finish();
  return kOk;
}

int bench(const Options& options, const heed::Device& device, const heed::SpeechRecognizer& model) {
  std::printf("on %s (%s)\n", device.info().word.c_str(), device.info().name.c_str());
  for (const std::string& path : options.files) {
    std::vector<double> all, windows, tokens;
    for (int run = 0; run < options.bench; ++run) {
      const Clock::time_point start = Clock::now();
      const int code = hear(path, options.speech, model, [&](const heed::SpeechPiece& piece, double seconds) {
        (piece.token < 0 ? windows : tokens).push_back(seconds);
      });
      if (code != kOk) return code;
      all.push_back(seconds_since(start));
    }
    if (tokens.empty()) {
      std::printf("%s: nothing is heard\n", path.c_str());
      continue;
    }
    std::printf("%s: %.0f ms (at best %.0f); a window %.0f ms (at best %.0f), then %.1f tokens/s (at best %.1f)\n",
                path.c_str(), median(all) * 1e3, *std::min_element(all.begin(), all.end()) * 1e3, median(windows) * 1e3,
                *std::min_element(windows.begin(), windows.end()) * 1e3, 1 / median(tokens),
                1 / *std::min_element(tokens.begin(), tokens.end()));
  }
  return kOk;
}

}  // namespace listen
