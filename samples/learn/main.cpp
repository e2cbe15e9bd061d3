// Trains a character-level model from random weights on a text, then writes; or adapts a language model to a character's lines.
//   learn                             the book of Genesis, into build/learn
//   learn --text FILE --out FOLDER    another text
//   learn --write 500 --start "And"   writes with the saved model
//   learn --lora FILE --model GGUF    a character's voice, beside the weights of a language model
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid, 130 interrupted, with a checkpoint saved.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "../help.hpp"
#include "../within.hpp"
#include "modes.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  learn::Options arguments;
  learn::Config& config = arguments.config;
  learn::VoiceConfig& voice = arguments.voice;
  CLI::App app{
      "Example: learn --text book.txt --out build/book\nTrains a character-level model on a text, then writes; or "
      "adapts a language model (--lora).",
      "learn"};
  app.formatter(std::make_shared<samples::Help>());
  app.add_option("--text", arguments.text, "the text to learn; its last tenth is held out")->type_name("FILE");
  app.add_option("--out", arguments.out, "where the training is saved, and continued if it is there")
      ->type_name("FOLDER");
  app.add_flag("--fresh", arguments.fresh, "start again, even if a training is there");
  app.add_option("--device", arguments.device, "cpu, an index of `heed devices`, or a part of a name; default: best")
      ->type_name("DEVICE");
  app.add_option("--lora", arguments.lines,
                 "learn the answers in this file: lines \"> question\", each with its answer below")
      ->type_name("FILE");
  app.add_option("--model", arguments.model, "with --lora: the GGUF file of a chat model")->type_name("FILE");
  app.add_option("--rank", voice.rank, "with --lora: rank of an adapter")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--adapted", voice.layers, "with --lora: number of adapted layers, from the last; 0: half of all")
      ->check(CLI::Range(0, 512));
  const auto* steps = app.add_option("--steps", config.steps,
                                     "steps of the whole training (with --lora " + std::to_string(voice.steps) + ")")
                          ->check(CLI::Range(1, 10000000))
                          ->capture_default_str();
  app.add_option("--layers", config.layers, "layers of the model")->check(CLI::Range(1, 48))->capture_default_str();
  app.add_option("--width", config.width, "width of the model")->check(CLI::Range(8, 2048))->capture_default_str();
  app.add_option("--heads", config.heads, "attention heads")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--context", config.context, "characters that the model sees")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  const auto* batch =
      app.add_option("--batch", config.batch, "rows of a step (with --lora " + std::to_string(voice.batch) + ")")
          ->check(CLI::Range(1, 1024))
          ->capture_default_str();
  const auto* rate = app.add_option("--rate", config.rate, "largest learning rate")
                         ->check(samples::within(1e-6, 1.0))
                         ->capture_default_str();
  app.add_option("--dropout", config.dropout, "dropout probability")
      ->check(samples::within(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--seed", config.seed, "random seed")->capture_default_str();
  app.add_option("--write", arguments.write, "write so many characters with the saved model and end")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--start", arguments.start, "beginning of the written text")->capture_default_str();
  app.add_option("--temperature", arguments.temperature, "randomness of the writing; 0: the likeliest characters")
      ->check(samples::within(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--every", arguments.every, "seconds between samples of its writing")
      ->check(samples::within(0.0, 1e6))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return learn::bad_input(error.what());
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that files and pipes receive lines at once, too
  learn::catch_interrupts();
  if (arguments.lines.empty()) return learn::learn_text(arguments);
  voice.seed = config.seed;
  if (steps->count() > 0) voice.steps = config.steps;
  if (batch->count() > 0) voice.batch = config.batch;
  if (rate->count() > 0) voice.rate = config.rate;
  return learn::adapt(arguments);
}
