// The mode that adapts a language model to a character's lines, and prints its answers before and after.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "../fingerprint.hpp"
#include "../progress.hpp"
#include "checkpoint.hpp"
#include "modes.hpp"
#include "program.hpp"
#include "training.hpp"

namespace learn {
namespace {

constexpr size_t kHeldOutEach = 8;  // every eighth line is held out
constexpr size_t kShown = 3;        // from held-out lines, and questions without a written answer
constexpr int64_t kMostAnswer = 40;
constexpr const char* kAlsoAsked[] = {"What should I do tomorrow?", "How do I cook an egg?"};

std::string fingerprint_of(const std::vector<Line>& lines) {
  std::string all;
  for (const Line& line : lines) all += line.said + "\n" + line.answer + "\n";
  const uint64_t hash = samples::fingerprint(std::as_bytes(std::span(all)));
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Lines {
  std::vector<Voice::Row> train, held_out;
  std::vector<std::string> shown;
};

int read_rows(const std::vector<Line>& lines, const Voice& voice, Lines* rows) {
  for (size_t i = 0; i < lines.size(); ++i) {
    Voice::Row row;
    const heed::Status status = voice.speech().whole(lines[i], &row.ids, &row.answer);
    if (status != heed::Status::Ok) return failed("the line \"" + lines[i].said + "\"", status);
    if (row.ids.size() > static_cast<size_t>(Voice::kMostTokens))
      return bad_input("the line \"" + lines[i].said + "\" has " + std::to_string(row.ids.size()) +
                       " tokens with its template; at most " + std::to_string(Voice::kMostTokens) + " are possible");
    const bool is_held_out = i % kHeldOutEach == kHeldOutEach - 1;
    if (is_held_out && rows->shown.size() < kShown) rows->shown.push_back(lines[i].said);
    (is_held_out ? rows->held_out : rows->train).push_back(std::move(row));
  }
  rows->shown.insert(rows->shown.end(), std::begin(kAlsoAsked), std::end(kAlsoAsked));
  return kOk;
}

// Wraps a text at so many columns.
std::vector<std::string> wrapped(const std::string& text, size_t columns) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > columns) lines.emplace_back();
    lines.back().append(lines.back().empty() ? "" : " ").append(word);
  }
  return lines;
}

// Columns are counted in UTF-8 characters.
std::string padded(std::string text, size_t columns) {
  const auto shown = static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  text.append(shown < columns ? columns - shown : 0, ' ');
  return text;
}

void print_beside(const std::string& left, const std::string& right) {
  const size_t half = static_cast<size_t>(std::clamp(samples::terminal_columns(), 40, 120)) / 2 - 4;
  const std::vector<std::string> a = wrapped(left, half), b = wrapped(right, half);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    std::printf("  %s | %s\n", padded(i < a.size() ? a[i] : "", half).c_str(), i < b.size() ? b[i].c_str() : "");
}

int show(Voice& voice, const std::vector<std::string>& asked) {
  std::printf("\nbefore and after\n");
  for (const std::string& said : asked) {
    std::string before, after;
    heed::Status status = voice.answer(said, false, kMostAnswer, &before);
    if (status == heed::Status::Ok) status = voice.answer(said, true, kMostAnswer, &after);
    if (status != heed::Status::Ok) return failed("no answer", status);
    std::printf("> %s\n", said.c_str());
    print_beside(before, after);
  }
  return kOk;
}

int learn_lines(const Options& options, Voice& voice, Losses& losses, const Lines& rows) {
  Task task;
  task.steps = voice.config().steps;
  task.every = options.every;
  task.folder = options.out;
  task.step = [&](int64_t number, float* loss, heed::train::StepReport* report) {
    return voice.step(rows.train, number, loss, report);
  };
  task.judge = [&](float* loss) { return voice.judge(rows.held_out, loss); };
  task.keep = [&](std::string* error) {
    return write_checkpoint(options.out, voice, losses, error) &&
           draw_losses(losses, std::to_string(voice.weights()) + " weights of adapters", "token",
                       picture_path(options.out), error);
  };
  task.show = [&](int64_t, bool last) {
    std::string answer;
    if (last) return kOk;
    const heed::Status status = voice.answer(rows.shown[0], true, kMostAnswer, &answer);
    if (status != heed::Status::Ok) return failed("no answer", status);
    std::printf("> %s\n%s\n", rows.shown[0].c_str(), answer.c_str());
    return kOk;
  };
  if (const int code = train(task, losses); code != kOk) return code;
  std::printf("%s\n%s\n", adapters_path(options.out).c_str(), picture_path(options.out).c_str());
  return kOk;
}

}  // namespace

int adapt(Options& options) {
  if (options.model.empty()) return bad_input("--model is missing: the GGUF file of a chat model");
  std::vector<Line> lines;
  std::string error;
  if (!read_lines(options.lines, &lines, &error)) return bad_input(error);
  if (lines.size() < kHeldOutEach)
    return bad_input(options.lines + " has " + std::to_string(lines.size()) + " lines; at least " +
                     std::to_string(kHeldOutEach) + " are needed");
  const bool goes_on = !options.fresh && is_there(options.out);
  Losses losses;
  VoiceConfig& config = options.voice;
  if (!goes_on) config.lines = fingerprint_of(lines);
  if (goes_on && !read_checkpoint(options.out, &config, &losses, &error)) return bad_input(error);
  if (config.lines != fingerprint_of(lines))
    return bad_input(options.out + " was trained on other lines; --fresh starts again, --out names another folder");
  heed::Device device;
  if (const int code = open_device(options.device, &device); code != kOk) return code;
  Voice voice;
  heed::Status status = voice.open(std::move(device), options.model, config, program_log());
  if (status != heed::Status::Ok) return failed(options.model, status);
  Lines rows;
  if (const int code = read_rows(lines, voice, &rows); code != kOk) return code;
  status = goes_on ? voice.load(weights_path(options.out)) : voice.begin();
  if (status != heed::Status::Ok) return failed(goes_on ? weights_path(options.out) : "adapters", status);
  std::printf("%s; %zu lines to learn, %zu held out%s\n", voice.about().c_str(), rows.train.size(),
              rows.held_out.size(), goes_on ? "; goes on" : "");
  const int code = learn_lines(options, voice, losses, rows);
  return code == kOk ? show(voice, rows.shown) : code;
}

}  // namespace learn
