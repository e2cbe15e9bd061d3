// The program's two modes, and their options.
#pragma once

#include <string>

#include "model.hpp"
#include "voice.hpp"

namespace learn {

struct Options {
  std::string text = LEARN_TEXT, out = "learned", device, start = "And ";
  std::string lines, model;  // of adapt
  Config config;
  VoiceConfig voice;
  int64_t write = 0;
  double temperature = 0.7, every = 60;
  bool fresh = false;
};

// Trains a character-level model from random weights, then writes. Returns an exit code.
int learn_text(Options& options);
// Adapts a language model to a character's lines, and prints its answers before and after.
int adapt(Options& options);

}  // namespace learn
