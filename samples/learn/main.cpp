// Trains a character-level model from random weights on a text, then writes; or adapts a language model to a character's lines.
//   learn                             the book of Genesis, into build/learn
//   learn --text FILE --out FOLDER    another text
//   learn --write 500 --start "And"   writes with the saved model
//   learn --lora FILE --model GGUF    a character's voice, beside the weights of a language model
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid, 130 interrupted, with a checkpoint saved.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "../within.hpp"
#include "modes.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  learn::Options arguments;
  learn::Config& config = arguments.config;
  learn::VoiceConfig& voice = arguments.voice;
  CLI::App app{
      "Trains a causal model of characters from nothing on a text, shows its writing every minute, then writes; or "
      "adapts a "
      "language model to a character's lines"};
  app.add_option("--text", arguments.text, "Learn this file; a tenth at its end is held out")->option_text("FILE");
  app.add_option("--out", arguments.out, "Keep weights, losses and the curve here, and go on from what is there")
      ->option_text("FOLDER");
  app.add_flag("--fresh", arguments.fresh, "Begin anew, whatever is there");
  app.add_option("--device", arguments.device,
                 "cpu, an index of `heed devices` or any part of a device's name; default: best");
  app.add_option("--lora", arguments.lines,
                 "Learn the voice of this file: lines \"> what is said\", each with its answer below")
      ->option_text("FILE");
  app.add_option("--model", arguments.model, "Of --lora: the GGUF file of a language model that holds conversations")
      ->option_text("FILE");
  app.add_option("--rank", voice.rank, "Of --lora: columns of an adapter")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--adapted", voice.layers, "Of --lora: so many of the last layers; 0: half of them")
      ->check(CLI::Range(0, 512));
  const auto* steps =
      app.add_option("--steps", config.steps, "Steps of the whole training; of --lora " + std::to_string(voice.steps))
          ->check(CLI::Range(1, 10000000))
          ->capture_default_str();
  app.add_option("--layers", config.layers)->check(CLI::Range(1, 48))->capture_default_str();
  app.add_option("--width", config.width, "Of a character's row")->check(CLI::Range(8, 2048))->capture_default_str();
  app.add_option("--heads", config.heads)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--context", config.context, "Characters that are read at once")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  const auto* batch =
      app.add_option("--batch", config.batch, "Rows of a step; of --lora " + std::to_string(voice.batch))
          ->check(CLI::Range(1, 1024))
          ->capture_default_str();
  const auto* rate = app.add_option("--rate", config.rate, "The largest rate")
                         ->check(samples::within(1e-6, 1.0))
                         ->capture_default_str();
  app.add_option("--dropout", config.dropout)->check(samples::within(0.0, 0.9))->capture_default_str();
  app.add_option("--seed", config.seed)->capture_default_str();
  app.add_option("--write", arguments.write, "Only write so many characters")->check(CLI::Range(1, 1000000));
  app.add_option("--start", arguments.start, "What the writing begins with")->capture_default_str();
  app.add_option("--temperature", arguments.temperature, "0: the likeliest characters")
      ->check(samples::within(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--every", arguments.every, "Seconds between samples of its writing")
      ->check(samples::within(0.0, 1e6))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that files and pipes receive lines at once, too
  learn::catch_interrupts();
  if (arguments.lines.empty()) return learn::learn_text(arguments);
  voice.seed = config.seed;
  if (steps->count() > 0) voice.steps = config.steps;
  if (batch->count() > 0) voice.batch = config.batch;
  if (rate->count() > 0) voice.rate = config.rate;
  return learn::adapt(arguments);
}
