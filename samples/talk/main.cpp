// A conversation with a character, by a language model.
//   talk --model model.gguf --persona blacksmith
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid, 130 interrupted.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "../within.hpp"
#include "modes.hpp"

namespace {

constexpr float kPenalty = 1.15f;  // small models repeat themselves

void add_options(CLI::App& app, talk::Options* options) {
  app.add_option("--model", options->model, "GGUF file, or folder with config.json, safetensors and tokenizer.json")
      ->take_last();
  app.add_option("--device", options->device, "cpu, an index of --list, or part of a device's name; default: best")
      ->take_last();
  app.add_flag("--list", options->list, "list the devices of this machine");
  app.add_option("--persona", options->persona, "blacksmith, innkeeper, dragon, or a persona file")
      ->capture_default_str();
  app.add_option("--prompt", options->prompt, "answer this and end; without it, lines are read from the keyboard");
  app.add_flag("--raw", options->raw,
               "go on with --prompt as it is: no character, no chat template; so do models that have none");
  app.add_flag("--ids", options->ids, "print an answer's token ids as a JSON list instead of its text");
  app.add_option("--tokenize", options->tokenize, "print the token ids of this file as a JSON list and end");
  app.add_option("--perplexity", options->perplexity, "print the model's perplexity on this text file and end");
#ifdef TALK_DRAWS
  app.add_option("--attention", options->attention,
                 "draw what the last word of --prompt looks at, to this PNG file, and end");
#endif
#ifdef TALK_HEARS
  app.add_option("--listen", options->recording,
                 "hear what is said instead of reading lines: by the microphone, or in this sound file")
      ->expected(0, 1)
      ->type_name("[FILE]");
  app.add_option("--ears", options->ears, "folder with the model of speech, Whisper, for --listen")->take_last();
#endif
  app.add_option("--npcs", options->npcs, "let so many characters answer --prompt at once")->check(CLI::Range(1, 64));
  app.add_option("--tokens", options->tokens, "the most tokens of an answer; 0: no limit")
      ->check(CLI::Range(0, 1 << 20))
      ->take_last()
      ->capture_default_str();
  app.add_option("--context", options->context, "tokens of a conversation that count")
      ->check(CLI::Range(0, 1 << 20))
      ->take_last()
      ->capture_default_str();
  app.add_option("--weights", options->weights, "storage of matrices and tables; default: as in the file")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--cache", options->cache, "storage of keys and values; f16 and bf16 take half of f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_flag("--round-rows", options->round_rows,
               "round values, to 8 bits or f16, where quantized weights multiply them: faster, less exact");
  app.add_option("--stop", options->stop, "a text that ends an answer; may be given several times");
  CLI::Option* grammar =
      app.add_option("--grammar", options->grammar, "answers keep to the grammar in this file (GBNF)");
  app.add_option("--schema", options->schema, "answers are JSON for the JSON schema in this file")->excludes(grammar);
}

CLI::Option* add_sampling(CLI::App& app, heed::TextSampling* sampling) {
  app.add_option("--temperature", sampling->temperature, "0: always the most likely token")
      ->check(samples::within(0, 100))
      ->capture_default_str();
  app.add_option("--top-k", sampling->top_k, "draw among the k most likely tokens; 0: all")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--top-p", sampling->top_p, "draw among the fewest that have this share of the probability")
      ->check(samples::within(0, 1))
      ->capture_default_str();
  app.add_option("--min-p", sampling->min_p, "draw among those with this share of the likeliest one's probability")
      ->check(samples::within(0, 1))
      ->capture_default_str();
  app.add_option("--repetition-penalty", sampling->repetition_penalty,
                 "above 1: tokens that were there are less likely; default: 1.15, with --raw 1")
      ->check(samples::within(0.01, 100));
  return app.add_option("--seed", sampling->seed, "of the draws; default: 0 with --prompt, else another each time");
}

// The grammar of answers, if a file gives one.
int read_rules(talk::Options* options) {
  const std::string& path = options->schema.empty() ? options->grammar : options->schema;
  std::string error;
  if (path.empty()) return talk::kOk;
  if (!talk::read_file(path, &options->rules, &error)) return talk::bad_input(error);
  if (options->rules.empty()) return talk::bad_input(path + ": is empty");
  if (options->schema.empty()) return talk::kOk;
  const std::string schema = std::move(options->rules);
  const heed::Status status = heed::grammar_of_json_schema(schema, talk::program_log(), &options->rules);
  return status == heed::Status::Ok ? talk::kOk : talk::failed(path, status);
}

int run(talk::Options& options) {
  if (options.list) return samples::list_devices();
  if (options.model.empty()) return talk::bad_input("--model is needed; samples/talk/fetch_model.sh gets one");
  if (options.raw && !options.has_prompt) return talk::bad_input("--raw needs a --prompt");
  if (!options.attention.empty() && !options.has_prompt) return talk::bad_input("--attention needs a --prompt");
  if (options.has_prompt && options.prompt.empty()) return talk::bad_input("--prompt holds no text");
  if (options.listens && (options.has_prompt || options.npcs > 0))
    return talk::bad_input("--listen takes the place of --prompt, and one character answers");
  if (options.listens && options.ears.empty())
    return talk::bad_input("--listen needs --ears; samples/listen/fetch_model.sh gets a model of speech");
  if (!options.tokenize.empty()) return talk::tokenize(options);
  talk::Session session;
  int code = read_rules(&options);
  if (code == talk::kOk) code = talk::open_session(options, &session);
  if (code != talk::kOk) return code;
  // A base model holds no conversations, but continues texts.
  if (options.has_prompt && options.npcs == 0 && !options.raw && session.model.chat() == nullptr) {
    std::fprintf(stderr, "talk: there is no chat template that is known; --prompt is gone on with as it is\n");
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
  CLI::App app{"A conversation with a character, whom a language model speaks for", "talk"};
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
