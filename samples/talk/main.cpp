// A conversation with a character, by a language model.
//   talk --model model.gguf --persona blacksmith
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid, 130 interrupted.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "../help.hpp"
#include "../within.hpp"
#include "modes.hpp"

namespace {

constexpr float kPenalty = 1.15f;  // small models repeat themselves

void add_options(CLI::App& app, talk::Options* options) {
  app.add_option("--model", options->model, "GGUF file, or folder with config.json, safetensors and tokenizer.json")
      ->type_name("PATH")
      ->take_last();
  app.add_option("--device", options->device, "cpu, an index of --list, or a part of a name; default: best")
      ->type_name("DEVICE")
      ->take_last();
  app.add_flag("--list", options->list, "list the devices of this machine");
  app.add_option("--persona", options->persona, "blacksmith, innkeeper, dragon, or a persona file")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--prompt", options->prompt, "answer this text and end; else read lines from the keyboard");
  app.add_flag("--raw", options->raw, "continue --prompt as plain text, without character and chat template");
  app.add_flag("--ids", options->ids, "print an answer's token ids as a JSON list");
  app.add_option("--tokenize", options->tokenize, "print the token ids of this file as a JSON list and end")
      ->type_name("FILE");
  app.add_option("--perplexity", options->perplexity, "print the perplexity of this text file and end")
      ->type_name("FILE");
#ifdef TALK_DRAWS
  app.add_option("--attention", options->attention, "draw the attention of the last word of --prompt and end")
      ->type_name("PNG");
#endif
#ifdef TALK_HEARS
  app.add_option("--listen", options->recording, "read the microphone, or this sound file, in place of the keyboard")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app.add_option("--ears", options->ears, "folder with the speech model Whisper, for --listen")
      ->type_name("FOLDER")
      ->take_last();
#endif
  app.add_option("--npcs", options->npcs, "let so many characters answer --prompt at once")->check(CLI::Range(1, 64));
  app.add_option("--tokens", options->tokens, "most tokens of an answer; 0: no limit")
      ->check(CLI::Range(0, 1 << 20))
      ->take_last()
      ->capture_default_str();
  app.add_option("--context", options->context, "most tokens of a conversation")
      ->check(CLI::Range(0, 1 << 20))
      ->take_last()
      ->capture_default_str();
  app.add_option("--weights", options->weights, "type of stored weights; default: the file's")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--cache", options->cache, "type of keys and values; default: f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_flag("--round-rows", options->round_rows, "round activations for quantized weights: faster, less exact");
  app.add_option("--stop", options->stop, "text that ends an answer; may be repeated");
  CLI::Option* grammar =
      app.add_option("--grammar", options->grammar, "answers follow this grammar (GBNF)")->type_name("FILE");
  app.add_option("--schema", options->schema, "answers are JSON of this JSON schema")
      ->type_name("FILE")
      ->excludes(grammar);
}

CLI::Option* add_sampling(CLI::App& app, heed::TextSampling* sampling) {
  app.add_option("--temperature", sampling->temperature, "randomness; 0: always the likeliest token")
      ->check(samples::within(0, 100))
      ->capture_default_str();
  app.add_option("--top-k", sampling->top_k, "sample from the k likeliest tokens; 0: all")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--top-p", sampling->top_p, "sample from the fewest tokens with this total probability")
      ->check(samples::within(0, 1))
      ->capture_default_str();
  app.add_option("--min-p", sampling->min_p, "sample from tokens above this share of the largest probability")
      ->check(samples::within(0, 1))
      ->capture_default_str();
  app.add_option("--repetition-penalty", sampling->repetition_penalty,
                 "above 1: earlier tokens are less likely; default: 1.15, with --raw 1")
      ->check(samples::within(0.01, 100));
  return app.add_option("--seed", sampling->seed, "random seed; default: 0 with --prompt, else random");
}

// The grammar of answers, if a file gives one.
int read_rules(talk::Options* options) {
  const std::string& path = options->schema.empty() ? options->grammar : options->schema;
  std::string error;
  if (path.empty()) return talk::kOk;
  if (!talk::read_file(path, &options->rules, &error)) return talk::bad_input(error);
  if (options->rules.empty()) return talk::bad_input(path + " is empty");
  if (options->schema.empty()) return talk::kOk;
  const std::string schema = std::move(options->rules);
  const heed::Status status = heed::grammar_of_json_schema(schema, talk::program_log(), &options->rules);
  return status == heed::Status::Ok ? talk::kOk : talk::failed(path, status);
}

int run(talk::Options& options) {
  if (options.list) return samples::list_devices();
  if (options.model.empty())
    return talk::bad_input("--model is missing; samples/talk/fetch_model.sh downloads a model");
  if (options.raw && !options.has_prompt) return talk::bad_input("--raw needs --prompt");
  if (!options.attention.empty() && !options.has_prompt) return talk::bad_input("--attention needs --prompt");
  if (options.has_prompt && options.prompt.empty()) return talk::bad_input("--prompt is empty");
  if (options.listens && (options.has_prompt || options.npcs > 0))
    return talk::bad_input("--listen excludes --prompt and --npcs");
  if (options.listens && options.ears.empty())
    return talk::bad_input("--listen needs --ears; samples/listen/fetch_model.sh downloads a speech model");
  if (!options.tokenize.empty()) return talk::tokenize(options);
  talk::Session session;
  int code = read_rules(&options);
  if (code == talk::kOk) code = talk::open_session(options, &session);
  if (code != talk::kOk) return code;
  // A base model holds no conversations, but continues texts.
  if (options.has_prompt && options.npcs == 0 && !options.raw && session.model.chat() == nullptr) {
    std::fprintf(stderr, "talk: the model has no known chat template, so that it continues --prompt as plain text\n");
    options.raw = true;
  }
  if (!options.raw && !options.has_penalty) options.sampling.repetition_penalty = kPenalty;
  if (!options.perplexity.empty()) return talk::perplexity(options, session);
#ifdef TALK_DRAWS
  if (!options.attention.empty()) return talk::look(options, session);
#endif
  if (options.npcs > 0) return talk::crowd(options, session);
  if (options.has_prompt) return talk::complete(options, session);
  return talk::converse(options, session);
}

}  // namespace

int main(int argc, char** argv) {
  talk::Options options;
  options.sampling.temperature = 0.6f;
  CLI::App app{
      "Example: talk --model model.gguf --persona blacksmith\nHolds a conversation with a character, by a language "
      "model.",
      "talk"};
  app.formatter(std::make_shared<samples::Help>());
  add_options(app, &options);
  const CLI::Option* seed = add_sampling(app, &options.sampling);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return talk::bad_input(error.what());
  }
  options.has_penalty = app.get_option("--repetition-penalty")->count() > 0;
  options.has_seed = seed->count() > 0;
  options.has_prompt = app.get_option("--prompt")->count() > 0;
#ifdef TALK_HEARS
  options.listens = app.get_option("--listen")->count() > 0;
#endif
  return run(options);
}
