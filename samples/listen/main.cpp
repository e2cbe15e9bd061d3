// Writes down speech from sound files or the microphone, by Whisper.
//   listen --model FOLDER recording.wav
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid.
#include <limits>

#include <CLI/CLI.hpp>

#include "../help.hpp"
#include "../within.hpp"
#include "session.hpp"

namespace {

void add_options(CLI::App& app, listen::Options* options) {
  app.add_option("files", options->files, "sound files: WAV, FLAC, Ogg and others; default: the microphone");
  app.add_option("--model", options->model, "Whisper: a folder of CTranslate2 or Hugging Face, or whisper.cpp's file")
      ->type_name("PATH")
      ->take_last();
  app.add_option("--device", options->device, "cpu, an index of --list, or a part of a name; default: best")
      ->type_name("DEVICE")
      ->take_last();
  app.add_flag("--list", options->list, "list the devices of this machine");
  app.add_flag("--words", options->speech.words, "print the times of each word");
#ifdef LISTEN_DRAWS
  app.add_option("--attention", options->picture, "draw where in the sound the model attends for each word")
      ->type_name("PNG");
#endif
  app.add_option("--bench", options->bench, "time the files, so many times")->check(CLI::Range(1, 1000));
  app.add_option("--for", options->seconds, "seconds of the microphone; 0: until Ctrl-C")
      ->check(samples::within(0, 1e6));
  app.add_option("--threads", options->threads, "threads of the CPU; default: all")->check(CLI::Range(0, 1024));
  app.add_option("--weights", options->weights, "type of stored weights; default: the file's")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "q8_0"}));
  app.add_option("--cache", options->cache, "type of keys and values; default: f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_flag("--round-rows", options->round_rows, "round activations for quantized weights: faster, less exact");
}

void add_speech(CLI::App& app, heed::SpeechOptions* speech, bool* translate) {
  app.add_option("--language", speech->language, "spoken language, such as en; default: detected");
  app.add_flag("--translate", *translate, "translate to English, with a multilingual model");
  app.add_option("--pause", speech->pause_seconds,
                 "text is final after such a pause in seconds; 0: every 30 s, microphone 0.6")
      ->check(samples::within(0, 15))
      ->capture_default_str();
  app.add_option("--seed", speech->seed, "random seed for text that the likeliest tokens do not give");
}

// Windows cut one after the other, and the likeliest tokens without checks of the text.
void take_windows_as_they_are(heed::SpeechOptions* speech) {
  speech->timestamps = false;
  speech->temperature_step = 0;
  speech->most_no_speech = std::numeric_limits<float>::infinity();
}

int run(listen::Options& options) {
  if (options.list) return samples::list_devices();
  if (options.model.empty())
    return listen::bad_input("--model is missing; samples/listen/fetch_model.sh downloads a model");
  const bool is_live = options.files.empty();
  if (is_live && options.bench > 0) return listen::bad_input("--bench needs a sound file");
  if (is_live && options.form == listen::Form::Ids) return listen::bad_input("--ids needs a sound file");
  if (!options.picture.empty() && (options.files.size() != 1 || options.bench > 0))
    return listen::bad_input("--attention needs one sound file");
  if (options.form == listen::Form::Ids && (options.speech.words || !options.picture.empty()))
    return listen::bad_input("--ids excludes --words and --attention");
  if (options.form == listen::Form::Ids) take_windows_as_they_are(&options.speech);
  heed::Device device;
  heed::SpeechRecognizer model;
  const int code = listen::open_model(options, &device, &model);
  if (code != listen::kOk) return code;
  if (is_live) return listen::caption(options, model);
  return options.bench > 0 ? listen::bench(options, device, model) : listen::hear_files(options, model);
}

}  // namespace

int main(int argc, char** argv) {
  listen::Options options;
  bool ids = false, json = false, subtitles = false, translate = false;
  CLI::App app{
      "Example: listen --model whisper-tiny.en recording.wav\nWrites down speech from sound files or the microphone, "
      "by Whisper.",
      "listen"};
  app.formatter(std::make_shared<samples::Help>());
  add_options(app, &options);
  add_speech(app, &options.speech, &translate);
  CLI::Option* as_ids = app.add_flag("--ids", ids, "print the likeliest token ids of each 30 seconds as a JSON list");
  CLI::Option* as_json = app.add_flag("--json", json, "print JSON")->excludes(as_ids);
  app.add_flag("--srt", subtitles, "print subtitles")->excludes(as_ids)->excludes(as_json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return listen::bad_input(error.what());
  }
  using listen::Form;
  options.form = ids ? Form::Ids : json ? Form::Json : subtitles ? Form::Subtitles : Form::Text;
  if (translate) options.speech.task = heed::SpeechTask::Translate;
  return run(options);
}
