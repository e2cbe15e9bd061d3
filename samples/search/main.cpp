// Semantic search: finds the lines of a file whose meaning is nearest to the typed text.
//   search --model all-MiniLM-L6-v2 --corpus intents.txt
// Exit codes: 0 done, 1 a device failed, 2 the input is invalid, 130 interrupted.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <heed/heed.hpp>
#include <heed/text_encoder.hpp>

#include "../complaints.hpp"
#include "../help.hpp"
#include "../progress.hpp"
#include "corpus.hpp"
#include "grid.hpp"
#include "index.hpp"

namespace {

using samples::bad_input, samples::failed, samples::kBadInput, samples::kFailed, samples::kInterrupted, samples::kOk,
    samples::program_log;

// The number of texts per call of the encoder: many, so that it can sort them by length, but not all, so that the program can stop and
// report progress between calls.
constexpr size_t kChunk = 2048;

struct Arguments {
  std::string model, corpus, index, query, device, attention;
  std::string dtype = "f32", weights;
  int top = 5, batch = 32;
  bool list = false, fresh = false;
};

volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) { interrupted = 1; }

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

heed::DType dtype_of(const std::string& word) {
  return word == "f16" ? heed::DType::F16 : word == "bf16" ? heed::DType::BF16 : heed::DType::F32;
}

heed::Status open_encoder(const Arguments& arguments, heed::Device& device, heed::TextEncoder* encoder) {
  samples::ProgressBar bar("loading the model", "MB");
  heed::TextEncoderOptions options;
  options.dtype = dtype_of(arguments.dtype);
  options.keep_weight_dtype = arguments.weights == "checkpoint";
  if (!arguments.weights.empty()) options.weight_dtype = dtype_of(arguments.weights);
  options.max_batch = arguments.batch;
  options.log = program_log();
  options.progress = {
      [](void* user, uint64_t done, uint64_t total) { static_cast<samples::ProgressBar*>(user)->show(done, total); },
      &bar};
  return heed::TextEncoder::open(device, arguments.model, options, encoder);
}

// Makes the encoder's callback, which counts the texts of one chunk, show the progress of the whole corpus.
struct Work {
  samples::ProgressBar& bar;
  size_t before = 0, total = 0;
};

// Computes index->vectors. Returns an exit code; kInterrupted after Ctrl-C.
int embed(heed::TextEncoder& encoder, const search::Corpus& corpus, search::Index* index) {
  std::optional<samples::ProgressBar> bar;
  bar.emplace("reading", "lines");
  Work work{*bar, 0, corpus.lines.size()};
  const heed::EncodeProgress progress = {[](void* user, size_t done, size_t) {
                                           auto& w = *static_cast<Work*>(user);
                                           w.bar.show(w.before + done, w.total);
                                           return interrupted == 0;
                                         },
                                         &work};
  index->vectors.resize(index->lines * index->width);
  size_t truncated = 0;
  for (; work.before < work.total; work.before += kChunk) {
    const size_t count = std::min(kChunk, work.total - work.before);
    size_t cut = 0;
    const heed::Status status =
        encoder.encode(std::span(corpus.lines).subspan(work.before, count),
                       std::span(index->vectors).subspan(work.before * index->width), &cut, progress);
    if (status != heed::Status::Ok) return failed("the lines could not be read", status);
    if (interrupted) return kInterrupted;
    truncated += cut;
  }
  const double seconds = bar->seconds();
  bar.reset();
  std::fprintf(stderr, "read %zu lines in %.1f s\n", work.total, seconds);
  if (truncated > 0)
    std::fprintf(stderr, "%zu lines are longer than %lld tokens and are cut\n", truncated,
                 static_cast<long long>(encoder.max_tokens()));
  return kOk;
}

// "f32", or "f32, weights bf16".
std::string precision(const Arguments& arguments, const heed::TextEncoder& encoder) {
  const std::string weights = heed::to_string(encoder.weight_dtype());
  return arguments.dtype + (weights == arguments.dtype ? "" : ", weights " + weights);
}

// Loads the index, or makes and saves it.
int prepare_index(const Arguments& arguments, heed::TextEncoder& encoder, const search::Corpus& corpus,
                  search::Index* index) {
  const std::string path = arguments.index.empty() ? arguments.corpus + ".heed-index" : arguments.index;
  index->model = encoder.fingerprint();
  index->corpus = corpus.hash;
  index->dtype = precision(arguments, encoder);
  index->lines = corpus.lines.size();
  index->width = static_cast<size_t>(encoder.width());
  std::string why;
  const search::Load loaded = search::load_index(path, index, &why);
  if (loaded == search::Load::NoPlace) return bad_input(path + " " + why + "; --index names another");
  if (loaded == search::Load::Foreign && !arguments.fresh)
    return bad_input(path + " " + why + "; --fresh replaces it, --index names another file");
  if (loaded == search::Load::Ok && !arguments.fresh) return kOk;
  if (loaded == search::Load::Stale)
    std::fprintf(stderr, "the index %s %s; it is replaced\n", path.c_str(), why.c_str());

  std::signal(SIGINT, on_interrupt);
  const int code = embed(encoder, corpus, index);
  std::string error;
  if (code == kInterrupted) std::fprintf(stderr, "\nsearch: interrupted; no index was written\n");
  if (code == kOk && !search::save_index(path, *index, &error))
    std::fprintf(stderr, "search: %s; the answers are complete without it\n", error.c_str());
  std::signal(SIGINT, SIG_DFL);
  return interrupted ? kInterrupted : code;
}

int draw_attention(const Arguments& arguments, heed::TextEncoder& encoder, const std::string& query) {
  heed::TextAttention attention;
  const heed::Status status = encoder.attention(query, &attention);
  if (status != heed::Status::Ok) return failed("attention", status);
  std::string error;
  if (!search::write_attention(attention, search::printable(query, 90), arguments.attention, &error))
    return bad_input(error);
  std::printf("  attention: %s\n", arguments.attention.c_str());
  return kOk;
}

int answer(const Arguments& arguments, heed::TextEncoder& encoder, const search::Corpus& corpus,
           const search::Index& index, const std::string& query) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<float> vector(index.width);
  const std::string_view text = query;
  size_t truncated = 0;
  const heed::Status status = encoder.encode(std::span(&text, 1), vector, &truncated);
  if (status != heed::Status::Ok) return failed("the query could not be read", status);
  const double embedding = milliseconds_since(start);
  const std::vector<search::Hit> hits = search::nearest(index, vector, static_cast<size_t>(arguments.top));
  const double total = milliseconds_since(start);
  const int columns = samples::terminal_columns();
  for (const search::Hit& hit : hits)
    std::printf("  %.3f  %s\n", static_cast<double>(hit.score),
                search::printable(corpus.lines[hit.line], std::max(columns - 20, 20)).c_str());
  std::printf("  %.2f ms: %.2f for the query's vector, %.2f for %zu lines%s\n", total, embedding, total - embedding,
              index.lines, truncated > 0 ? "; the query is too long and was cut" : "");
  return arguments.attention.empty() ? kOk : draw_attention(arguments, encoder, query);
}

int converse(const Arguments& arguments, heed::TextEncoder& encoder, const search::Corpus& corpus,
             const search::Index& index) {
  if (samples::input_is_terminal()) std::printf("\nWhat are you looking for? An empty line ends.\n");
  for (std::string query;;) {
    if (samples::input_is_terminal()) std::printf("> ");
    std::fflush(stdout);
    if (!search::read_line(std::cin, &query)) break;
    if (query.find_first_not_of(" \t\r") == std::string::npos) {
      if (samples::input_is_terminal()) break;
      continue;
    }
    if (const int code = answer(arguments, encoder, corpus, index, query); code != kOk) return code;
  }
  return kOk;
}

int run(const Arguments& arguments) {
  search::Corpus corpus;
  std::string error;
  if (!search::read_corpus(arguments.corpus, &corpus, &error)) return bad_input(error);
  if (corpus.broken > 0)
    std::fprintf(stderr, "%zu lines have bytes that are not UTF-8; these bytes are ignored\n", corpus.broken);

  heed::Device device;
  heed::Status status = heed::Device::open({.select = arguments.device, .log = program_log()}, &device);
  if (status != heed::Status::Ok)
    return failed(arguments.device.empty() ? "no device" : "device '" + arguments.device + "'", status);
  heed::TextEncoder encoder;
  status = open_encoder(arguments, device, &encoder);
  if (status != heed::Status::Ok) return failed("the model in " + arguments.model, status);
  std::fprintf(stderr, "%zu lines of %s, on %s (%s) in %s\n", corpus.lines.size(), corpus.path.c_str(),
               device.info().word.c_str(), device.info().name.c_str(), precision(arguments, encoder).c_str());

  search::Index index;
  const int code = prepare_index(arguments, encoder, corpus, &index);
  if (code != kOk) return code;
  return arguments.query.empty() ? converse(arguments, encoder, corpus, index)
                                 : answer(arguments, encoder, corpus, index, arguments.query);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{
      "Example: search --model all-MiniLM-L6-v2 --corpus intents.txt\nFinds the lines of a file that are nearest in "
      "meaning to a question.",
      "search"};
  app.formatter(std::make_shared<samples::Help>());
  app.add_option("--model", arguments.model, "folder with config.json, model.safetensors and tokenizer.json")
      ->type_name("FOLDER")
      ->take_last();
  app.add_option("--corpus", arguments.corpus, "text file whose lines are searched")->type_name("FILE")->take_last();
  const CLI::Option* query =
      app.add_option("--query", arguments.query, "answer this and end; else read questions from the keyboard");
  app.add_option("--attention", arguments.attention, "draw the attention of each query")->type_name("PNG");
  app.add_option("--index", arguments.index, "file for the lines' vectors; default: CORPUS.heed-index")
      ->type_name("FILE");
  app.add_flag("--fresh", arguments.fresh, "replace the index");
  app.add_option("--device", arguments.device, "cpu, an index of --list, or a part of a name; default: best")
      ->type_name("DEVICE")
      ->take_last();
  app.add_option("--dtype", arguments.dtype, "type of activations")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->capture_default_str();
  app.add_option("--weights", arguments.weights, "type of stored weights; default: --dtype")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "checkpoint"}));
  app.add_option("--batch", arguments.batch, "lines computed at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--top", arguments.top, "answers per question")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_flag("--list", arguments.list, "list the devices of this machine");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return bad_input(error.what());
  }
  if (arguments.list) return samples::list_devices();
  if (arguments.model.empty()) return bad_input("--model is missing; samples/search/fetch_model.sh downloads a model");
  if (arguments.corpus.empty()) return bad_input("--corpus is missing; samples/search/intents.txt is an example");
  if (query->count() > 0 && arguments.query.find_first_not_of(" \t\r\n") == std::string::npos)
    return bad_input("--query is empty");
  return run(arguments);
}
