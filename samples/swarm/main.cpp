// swarm: agents that steer by attention.
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>

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
    throw Failure("--size " + text + ": it must be WIDTHxHEIGHT, from 64 to 8192 each");
  return {width, height};
}

void add_options(CLI::App* app, Options* options, Words* words) {
  CLI::Option* flavour =
      app->add_option("--flavour", words->flavour, "flock (bidirectional), conga (causal) or cross; default flock")
          ->check(CLI::IsMember(keys_of(kFlavourWords)));
  app->add_option("--agents", options->agents, "how many; default 4096, 512 on a software driver")
      ->check(CLI::Range(32, static_cast<int>(swarm::kMaxAgents)));
  CLI::Option* targets = app->add_option("--targets", options->targets,
                                         "lights of the cross flavour; default 256, 48 on a software driver")
                             ->check(CLI::Range(2, static_cast<int>(swarm::kMaxTargets)));
  app->add_option("--heads", words->heads, "which of the heads 1 to 4 act, e.g. --heads 1,3; default all")
      ->delimiter(',')
      ->check(CLI::Range(1, SWARM_HEADS));
  app->add_option("--device", options->device, "part of a GPU's name, or its number");
  app->add_option("--budget", options->budget_ms, "milliseconds per frame that the overlay measures against")
      ->check(samples::within(0.1, 1000));
  CLI::Option* attention = app->add_option("--attention-budget", options->attention_ms,
                                           "milliseconds of GPU time that attention may take in a frame; it is spread "
                                           "over several frames then. Default: "
                                           "all of it in each frame")
                               ->check(samples::within(0.001, 1000));
  CLI::Option* learn =
      app->add_flag("--learn", options->learn.on,
                    "agents are hunted, and learn to flee while you watch: one step of the optimizer in each frame")
          ->excludes(flavour)
          ->excludes(targets)
          ->excludes(attention);
  app->add_option("--hunters", options->hunters, "of --learn; default 4")
      ->check(CLI::Range(1, SWARM_HUNTERS))
      ->needs(learn);
  app->add_option("--seed", options->learn.seed, "of --learn: of the first weights and of what agents try; default 1")
      ->check(CLI::Range(0, 1000000000))
      ->needs(learn);
  app->add_option("--learn-budget", options->learn.budget_ms,
                  "of --learn: milliseconds of GPU time that learning may take in a frame; a step is sliced over "
                  "several frames then. "
                  "Default: a whole step in each frame")
      ->check(samples::within(0.001, 1000))
      ->needs(learn);
  app->add_option("--learned", options->learned,
                  "of --learn: write the learned weights there at the end, as safetensors")
      ->needs(learn);
  app->add_option("--size", words->size, "of the window or picture; default 1280x720");
  app->add_flag("--headless", options->headless, "no window: draw off-screen");
  app->add_option("--frames", options->frames,
                  "the number of frames to draw; default: 240 if headless, no limit in a window")
      ->check(CLI::Range(1, 1000000));
  app->add_option("--png", options->png, "write the last frame there");
  app->add_option("--overlay", words->overlay, "full, legend (no times) or none; default full")
      ->check(CLI::IsMember(keys_of(kOverlayWords)));
  app->add_flag_callback("--no-links", [options] { options->links = false; }, "draw no lines from the picked agent");
  app->add_flag("--report", options->report,
                "print how the crowd changed and GPU times; for a window, print what it showed last");
  CLI::Option* lockstep = app->add_flag(
      "--lockstep", options->lockstep.wanted,
      "no window: two processes on two devices exchange key presses, and compare a hash of their worlds in every "
      "frame; --frames: 10,000 by default");
  app->add_option("--beside", options->lockstep.beside, "of --lockstep: the device of the other process; default cpu")
      ->needs(lockstep);
  app->add_option("--record", options->lockstep.record, "of --lockstep: write the pressed keys there")->needs(lockstep);
  app->add_option("--replay", options->lockstep.replay,
                  "of --lockstep: play this file on one device, and print its end")
      ->needs(lockstep);
  app->add_option("--join", options->lockstep.port)->group("");
  app->add_flag("--validate", options->validate, "use the Khronos validation layer; exit code 3 if it gives messages");
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
  std::fprintf(stderr, "swarm: %u messages of the validation layer\n", complaints);
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Words words;
  CLI::App app(
      "Thousands of agents steered by transformer attention, computed by heed inside the frame that draws "
      "them.",
      "swarm");
  app.footer(
      "Keys: left, right: flavour. up, down: agents. 1 to 4: heads. space: pause. R: anew. P: picture. H: "
      "panel.\n"
      "L: lines. escape: end. Mouse: left button picks an agent, right button calls them (cross), middle "
      "button\n"
      "turns, wheel: nearer.");
  add_options(&app, &options, &words);
  try {
    app.parse(argc, argv);
    apply(words, &options);
    return run(options, argv[0]);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "swarm: %s (see swarm --help)\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "swarm: %s\n", error.what());
  }
  return 2;
}
