// Trains a causal model of characters from nothing on a text, then writes.
//   learn                             the book of Genesis, into build/learn
//   learn --text FILE --out FOLDER    a text of one's own
//   learn --write 500 --start "And"   writes with what was learned before
// Exit codes: 0 done, 1 a device failed, 2 the input is no good, 130 interrupted, with all that was learned kept.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "../progress.hpp"
#include "../within.hpp"
#include "checkpoint.hpp"
#include "model.hpp"

namespace {

constexpr int kOk = 0, kFailed = 1, kBadInput = 2, kInterrupted = 130;
constexpr int64_t kJudgedBatches = 8;
constexpr int64_t kSampleCharacters = 160;

struct Arguments {
  std::string text = LEARN_TEXT, out = "learned", device, start = "And ";
  learn::Config config;
  int64_t write = 0;
  double temperature = 0.7, sample_seconds = 60;
  bool fresh = false;
};

volatile std::sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) { interrupted = 1; }

std::string reasons;
heed::Log program_log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            if (level < heed::LogLevel::Error)
              std::fprintf(stderr, "learn: %s\n", message);
            else
              reasons.append(reasons.empty() ? "" : "; ").append(message);
          },
          nullptr, heed::LogLevel::Warning};
}

int bad_input(const std::string& message) {
  std::fprintf(stderr, "learn: %s\n", message.c_str());
  return kBadInput;
}

int failed(const char* what, heed::Status status) {
  std::fprintf(stderr, "learn: %s: %s\n", what, reasons.empty() ? heed::to_string(status) : reasons.c_str());
  const bool input = status == heed::Status::InvalidFile || status == heed::Status::NotFound ||
                     status == heed::Status::MissingWeight || status == heed::Status::ShapeMismatch;
  return input ? kBadInput : kFailed;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int write_text(learn::Model& model, const Arguments& arguments, int64_t count, uint32_t seed) {
  std::printf("%s", arguments.start.c_str());
  const heed::Status status =
      model.write(arguments.start, count, static_cast<float>(arguments.temperature), seed, [](char c) {
        std::fputc(c, stdout);
        std::fflush(stdout);
      });
  std::printf("\n");
  return status == heed::Status::Ok ? kOk : failed("writing", status);
}

// The training from the step that the losses have come to.
class Training {
 public:
  Training(const Arguments& arguments, learn::Model& model, const learn::Text& text, learn::Losses& losses)
      : arguments_(arguments), model_(model), config_(model.config()), text_(text), losses_(losses) {}

  int run() {
    const auto first = static_cast<int64_t>(losses_.of_steps.size());
    const Clock::time_point start = Clock::now();
    Clock::time_point told = start;
    bar_.emplace("learning", "steps");
    int code = kOk;
    for (int64_t step = first; step < config_.steps && code == kOk && interrupted == 0; ++step) {
      code = take_step(step);
      if (code != kOk) break;
      bar_->show(static_cast<uint64_t>(step + 1), static_cast<uint64_t>(config_.steps));
      const bool last = step + 1 == config_.steps;
      if (!last && seconds_since(told) < arguments_.sample_seconds) continue;
      told = Clock::now();
      code = tell(step + 1, seconds_since(start) / static_cast<double>(step + 1 - first), last);
    }
    bar_.reset();
    std::string error;
    if (code == kOk && interrupted != 0) {
      if (!keep(&error)) return bad_input(error);
      std::fprintf(stderr, "\nlearn: interrupted after %zu steps, which are kept in %s; the same command goes on\n",
                   losses_.of_steps.size(), arguments_.out.c_str());
      return kInterrupted;
    }
    return code;
  }

 private:
  int take_step(int64_t step) {
    const learn::Batch batch =
        learn::draw_batch(text_.train, config_.batch, config_.context, config_.seed, static_cast<uint64_t>(step));
    float loss = 0;
    heed::train::StepReport report;
    const heed::Status status = model_.step(batch, step, &loss, &report);
    if (status != heed::Status::Ok) return failed("learning", status);
    losses_.of_steps.push_back(loss);
    if (report.taken < 0)
      std::fprintf(stderr, "\nlearn: step %lld was left out, since its gradient is not finite\n",
                   static_cast<long long>(step));
    return kOk;
  }

  // Judges, keeps and shows what was learned so far.
  int tell(int64_t steps, double seconds, bool last) {
    double sum = 0;
    for (int64_t i = 0; i < kJudgedBatches; ++i) {
      float loss = 0;
      const learn::Batch batch =
          learn::draw_batch(text_.held_out, config_.batch, config_.context, ~uint64_t{0}, static_cast<uint64_t>(i));
      const heed::Status status = model_.judge(batch, &loss);
      if (status != heed::Status::Ok) return failed("judging", status);
      sum += static_cast<double>(loss);
    }
    losses_.held_out.push_back({steps - 1, static_cast<float>(sum / static_cast<double>(kJudgedBatches))});
    bar_.reset();
    std::printf("step %lld of %lld: loss %.3f, held out %.3f; %.0f ms a step, %.0f characters/s\n",
                static_cast<long long>(steps), static_cast<long long>(config_.steps),
                static_cast<double>(losses_.of_steps.back()), sum / static_cast<double>(kJudgedBatches), seconds * 1e3,
                static_cast<double>(config_.batch * config_.context) / seconds);
    std::string error;
    if (!keep(&error)) return bad_input(error);
    const int code = last ? kOk : write_text(model_, arguments_, kSampleCharacters, static_cast<uint32_t>(steps));
    if (!last) bar_.emplace("learning", "steps");
    return code;
  }

  bool keep(std::string* error) {
    char title[128];
    std::snprintf(title, sizeof title, "%lld weights, %lld characters at once",
                  static_cast<long long>(model_.weights()), static_cast<long long>(config_.context));
    return learn::write_checkpoint(arguments_.out, model_, losses_, error) &&
           learn::draw_losses(losses_, title, learn::picture_path(arguments_.out), error);
  }

  const Arguments& arguments_;
  learn::Model& model_;
  const learn::Config& config_;
  const learn::Text& text_;
  learn::Losses& losses_;
  std::optional<samples::ProgressBar> bar_;
};

int learn_and_write(Arguments& arguments, learn::Model& model, learn::Losses& losses, const learn::Text& text,
                    bool goes_on) {
  const heed::Status status = goes_on ? model.load(learn::weights_path(arguments.out)) : model.begin();
  if (status != heed::Status::Ok)
    return failed(goes_on ? learn::weights_path(arguments.out).c_str() : "weights", status);
  if (arguments.write == 0) {
    std::printf("%lld weights; %zu characters to read, %zu held out%s\n", static_cast<long long>(model.weights()),
                text.train.size(), text.held_out.size(), goes_on ? "; goes on" : "");
    Training training(arguments, model, text, losses);
    const int code = training.run();
    if (code != kOk) return code;
    std::printf("%s\n%s\n\n", learn::weights_path(arguments.out).c_str(), learn::picture_path(arguments.out).c_str());
  }
  return write_text(model, arguments, arguments.write > 0 ? arguments.write : 600, model.config().seed);
}

int run(Arguments& arguments) {
  const bool goes_on = !arguments.fresh && learn::is_there(arguments.out);
  learn::Losses losses;
  std::string error;
  if (arguments.write > 0 && !goes_on)
    return bad_input("nothing was learned yet in " + arguments.out + "; run it without --write first");
  if (goes_on && !learn::read_checkpoint(arguments.out, &arguments.config, &losses, &error)) return bad_input(error);
  learn::Config& config = arguments.config;
  learn::Text text;
  if (arguments.write == 0) {
    if (!learn::read_text(arguments.text, static_cast<size_t>(config.context) + 1, &text, &error))
      return bad_input(error);
    if (!goes_on) config.characters = text.characters;
    if (config.characters != text.characters)
      return bad_input(arguments.out + " learned another text; --fresh begins anew, --out takes another folder");
  }
  if (config.width % (2 * config.heads) != 0) return bad_input("--width must be a multiple of twice the --heads");
  heed::Device device;
  heed::Status status = heed::Device::open({.select = arguments.device, .log = program_log()}, &device);
  if (status != heed::Status::Ok) return failed("no device", status);
  std::printf("%s\n", device.info().word.c_str());
  learn::Model model;
  status = model.open(std::move(device), config, program_log());
  if (status != heed::Status::Ok) return failed("the model", status);
  return learn_and_write(arguments, model, losses, text, goes_on);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  learn::Config& config = arguments.config;
  CLI::App app{
      "Trains a causal model of characters from nothing on a text, shows its writing every minute, then writes"};
  app.add_option("--text", arguments.text, "Learn this file; a tenth at its end is held out")->option_text("FILE");
  app.add_option("--out", arguments.out, "Keep weights, losses and the curve here, and go on from what is there")
      ->option_text("FOLDER");
  app.add_flag("--fresh", arguments.fresh, "Begin anew, whatever is there");
  app.add_option("--device", arguments.device,
                 "cpu, an index of `heed devices` or any part of a device's name; default: best");
  app.add_option("--steps", config.steps, "Steps of the whole training")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--layers", config.layers)->check(CLI::Range(1, 48))->capture_default_str();
  app.add_option("--width", config.width, "Of a character's row")->check(CLI::Range(8, 2048))->capture_default_str();
  app.add_option("--heads", config.heads)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--context", config.context, "Characters that are read at once")
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  app.add_option("--batch", config.batch, "Rows of a step")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--rate", config.rate, "The largest rate")->check(samples::within(1e-6, 1.0))->capture_default_str();
  app.add_option("--dropout", config.dropout)->check(samples::within(0.0, 0.9))->capture_default_str();
  app.add_option("--seed", config.seed)->capture_default_str();
  app.add_option("--write", arguments.write, "Only write so many characters")->check(CLI::Range(1, 1000000));
  app.add_option("--start", arguments.start, "What the writing begins with")->capture_default_str();
  app.add_option("--temperature", arguments.temperature, "0: the likeliest characters")
      ->check(samples::within(0.0, 10.0))
      ->capture_default_str();
  app.add_option("--every", arguments.sample_seconds, "Seconds between samples of its writing")
      ->check(samples::within(0.0, 1e6))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that a file or a pipe shows lines at once, too
  std::signal(SIGINT, on_interrupt);
  return run(arguments);
}
