// The mode that trains a character-level model from random weights on a text, then writes.
#include <cstdio>

#include "checkpoint.hpp"
#include "modes.hpp"
#include "program.hpp"
#include "training.hpp"

namespace learn {
namespace {

constexpr int64_t kJudgedBatches = 8;
constexpr int64_t kSampleCharacters = 160;

int write_text(Model& model, const Options& options, int64_t count, uint32_t seed) {
  std::printf("%s", options.start.c_str());
  const heed::Status status =
      model.write(options.start, count, static_cast<float>(options.temperature), seed, [](char c) {
        std::fputc(c, stdout);
        std::fflush(stdout);
      });
  std::printf("\n");
  return status == heed::Status::Ok ? kOk : failed("writing", status);
}

heed::Status judge(Model& model, const Text& text, float* loss) {
  double sum = 0;
  for (int64_t i = 0; i < kJudgedBatches; ++i) {
    float one = 0;
    const Batch batch =
        draw_batch(text.held_out, model.config().batch, model.config().context, ~uint64_t{0}, static_cast<uint64_t>(i));
    const heed::Status status = model.judge(batch, &one);
    if (status != heed::Status::Ok) return status;
    sum += static_cast<double>(one);
  }
  *loss = static_cast<float>(sum / static_cast<double>(kJudgedBatches));
  return heed::Status::Ok;
}

bool keep(const Options& options, const Model& model, const Losses& losses, std::string* error) {
  char title[128];
  std::snprintf(title, sizeof title, "%lld weights, %lld characters at once", static_cast<long long>(model.weights()),
                static_cast<long long>(model.config().context));
  return write_checkpoint(options.out, model, losses, error) &&
         draw_losses(losses, title, "character", picture_path(options.out), error);
}

int learn_and_write(const Options& options, Model& model, Losses& losses, const Text& text, bool goes_on) {
  const heed::Status status = goes_on ? model.load(weights_path(options.out)) : model.begin();
  if (status != heed::Status::Ok) return failed(goes_on ? weights_path(options.out) : "weights", status);
  if (options.write == 0) {
    std::printf("%lld weights; %zu characters to read, %zu held out%s\n", static_cast<long long>(model.weights()),
                text.train.size(), text.held_out.size(), goes_on ? "; goes on" : "");
    const Config& config = model.config();
    Task task;
    task.steps = config.steps;
    task.every = options.every;
    task.folder = options.out;
    task.step = [&](int64_t number, float* loss, heed::train::StepReport* report) {
      const Batch batch =
          draw_batch(text.train, config.batch, config.context, config.seed, static_cast<uint64_t>(number));
      return model.step(batch, number, loss, report);
    };
    task.judge = [&](float* loss) { return judge(model, text, loss); };
    task.keep = [&](std::string* error) { return keep(options, model, losses, error); };
    task.show = [&](int64_t steps, bool last) {
      return last ? kOk : write_text(model, options, kSampleCharacters, static_cast<uint32_t>(steps));
    };
    task.each = config.batch * config.context;
    task.unit = "characters";
    if (const int code = train(task, losses); code != kOk) return code;
    std::printf("%s\n%s\n\n", weights_path(options.out).c_str(), picture_path(options.out).c_str());
  }
  return write_text(model, options, options.write > 0 ? options.write : 600, model.config().seed);
}

}  // namespace

int learn_text(Options& options) {
  const bool goes_on = !options.fresh && is_there(options.out);
  Losses losses;
  std::string error;
  if (options.write > 0 && !goes_on) return bad_input(options.out + " has no saved model; train without --write first");
  if (goes_on && !read_checkpoint(options.out, &options.config, &losses, &error)) return bad_input(error);
  Config& config = options.config;
  Text text;
  if (options.write == 0) {
    if (!read_text(options.text, static_cast<size_t>(config.context) + 1, &text, &error)) return bad_input(error);
    if (!goes_on) config.characters = text.characters;
    if (config.characters != text.characters)
      return bad_input(options.out + " was trained on another text; --fresh starts again, --out names another folder");
  }
  if (config.width % (2 * config.heads) != 0) return bad_input("--width must be a multiple of twice the --heads");
  heed::Device device;
  if (const int code = open_device(options.device, &device); code != kOk) return code;
  Model model;
  const heed::Status status = model.open(std::move(device), config, program_log());
  if (status != heed::Status::Ok) return failed("the model", status);
  return learn_and_write(options, model, losses, text, goes_on);
}

}  // namespace learn
