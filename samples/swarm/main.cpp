// swarm: agents that steer by attention.
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>

#include "../help.hpp"
#include "../within.hpp"
#include "options.hpp"

namespace {

using swarm::Failure, swarm::Flavour, swarm::Options, swarm::OverlayKind;

const std::map<std::string, Flavour> kFlavourWords = {
    {"flock", Flavour::Flock}, {"conga", Flavour::Conga}, {"cross", Flavour::Cross}};
const std::map<std::string, OverlayKind> kOverlayWords = {
    {"full", OverlayKind::Full}, {"legend", OverlayKind::Legend}, {"none", OverlayKind::None}};

// Options that arrive as text and are looked up after parsing.
struct Words {
  std::string flavour = "flock", overlay = "full", size = "1280x720";
  std::vector<int> heads;
};

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

VkExtent2D parse_size(const std::string& text) {
  unsigned width = 0, height = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%ux%u%c", &width, &height, &rest) != 2 || width < 64 || height < 64 || width > 8192 ||
      height > 8192)
    throw Failure("--size must be WIDTHxHEIGHT, each from 64 to 8192, not " + text);
  return {width, height};
}

void add_options(CLI::App* app, Options* options, Words* words) {
  CLI::Option* flavour =
      app->add_option("--flavour", words->flavour, "bidirectional flock, causal conga or cross; default: flock")
          ->check(CLI::IsMember(keys_of(kFlavourWords)));
  app->add_option("--agents", options->agents, "number of agents; default: 4096, or 512 on a software driver")
      ->check(CLI::Range(32, static_cast<int>(swarm::kMaxAgents)));
  CLI::Option* targets = app->add_option("--targets", options->targets,
                                         "lights of the cross flavour; default: 256, or 48 on a software driver")
                             ->check(CLI::Range(2, static_cast<int>(swarm::kMaxTargets)));
  app->add_option("--heads", words->heads, "active heads, such as 1,3; default: all four")
      ->delimiter(',')
      ->check(CLI::Range(1, SWARM_HEADS));
  app->add_option("--device", options->device, "part of a GPU's name, or its index")->type_name("DEVICE");
  app->add_option("--budget", options->budget_ms, "milliseconds per frame that the panel compares with")
      ->check(samples::within(0.1, 1000));
  CLI::Option* attention =
      app->add_option("--attention-budget", options->attention_ms,
                      "GPU milliseconds for attention in a frame; default: all of it in each frame")
          ->check(samples::within(0.001, 1000));
  CLI::Option* learn =
      app->add_flag("--learn", options->learn.on, "hunted agents learn to flee, by a training step in each frame")
          ->excludes(flavour)
          ->excludes(targets)
          ->excludes(attention);
  app->add_option("--hunters", options->hunters, "with --learn: number of hunters; default: 4")
      ->check(CLI::Range(1, SWARM_HUNTERS))
      ->needs(learn);
  app->add_option("--seed", options->learn.seed, "with --learn: random seed; default: 1")
      ->check(CLI::Range(0, 1000000000))
      ->needs(learn);
  app->add_option("--learn-budget", options->learn.budget_ms,
                  "with --learn: GPU milliseconds for a step in a frame; default: a whole step")
      ->check(samples::within(0.001, 1000))
      ->needs(learn);
  app->add_option("--learned", options->learned, "with --learn: write the weights there at the end (safetensors)")
      ->type_name("FILE")
      ->needs(learn);
  app->add_option("--size", words->size, "size of the window or picture; default: 1280x720")->type_name("WxH");
  app->add_flag("--headless", options->headless, "draw without a window");
  app->add_option("--frames", options->frames, "number of frames; default: no limit in a window, else 240")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--png", options->png, "write the last frame there")->type_name("FILE");
  app->add_option("--overlay", words->overlay, "the panel; legend: without times; default: full")
      ->check(CLI::IsMember(keys_of(kOverlayWords)));
  app->add_flag_callback("--no-links", [options] { options->links = false; }, "draw no lines from the picked agent");
  app->add_flag("--report", options->report, "print statistics of the crowd and GPU times");
  CLI::Option* lockstep = app->add_flag("--lockstep", options->lockstep.wanted,
                                        "two processes on two devices exchange keys and compare their worlds, 10,000 "
                                        "frames");
  app->add_option("--beside", options->lockstep.beside, "with --lockstep: the second device; default: cpu")
      ->type_name("DEVICE")
      ->needs(lockstep);
  app->add_option("--record", options->lockstep.record, "with --lockstep: write the keys there")
      ->type_name("FILE")
      ->needs(lockstep);
  app->add_option("--replay", options->lockstep.replay, "with --lockstep: play this file on one device")
      ->type_name("FILE")
      ->needs(lockstep);
  app->add_option("--join", options->lockstep.port)->group("");
  app->add_flag("--validate", options->validate,
                "use the Khronos validation layer; exit code 3 if it reports anything");
}

void apply(const Words& words, Options* options) {
  options->flavour = kFlavourWords.at(words.flavour);
  options->overlay = kOverlayWords.at(words.overlay);
  options->size = parse_size(words.size);
  if (words.heads.empty()) return;
  options->heads = {};
  for (const int head : words.heads) options->heads[static_cast<size_t>(head - 1)] = true;
}

int run(const Options& options, const char* program) {
  if (options.lockstep.wanted) {
    run_lockstep(options.lockstep, options.device, options.frames, program);
    return 0;
  }
  const uint32_t complaints = options.headless ? run_headless(options) : run_window(options);
  if (complaints == 0) return 0;
  std::fprintf(stderr, "swarm: the validation layer gave %u messages\n", complaints);
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Words words;
  CLI::App app(
      "Example: swarm --flavour conga --agents 2000\nThousands of agents steered by attention, which heed computes in "
      "the frame that draws them.",
      "swarm");
  app.formatter(std::make_shared<samples::Help>());
  app.footer(
      "Keys: left, right: flavour. up, down: agents. 1 to 4: heads. space: pause. R: restart. P: picture.\n"
      "H: panel. L: lines. escape: end. Mouse: left picks, right attracts, middle turns, wheel zooms.");
  add_options(&app, &options, &words);
  try {
    app.parse(argc, argv);
    apply(words, &options);
    return run(options, argv[0]);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "swarm: %s; see swarm --help\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swarm: %s\n", error.what());
  }
  return 2;
}
