// The command line's options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <heed/text_generator.hpp>

#include "../complaints.hpp"
#include "../terminal.hpp"

namespace talk {

using samples::bad_input, samples::failed, samples::kBadInput, samples::kFailed, samples::kInterrupted, samples::kOk,
    samples::program_log;
using samples::catch_interrupts, samples::in_color, samples::input_is_terminal, samples::interrupted, samples::kGrey,
    samples::Line, samples::output_is_terminal, samples::read_line, samples::terminal_columns, samples::write_colored,
    samples::write_text;

struct Options {
  std::string model, device, persona = "blacksmith";
  std::string prompt;  // one question, or a text to continue
  bool has_prompt = false, raw = false, ids = false, has_penalty = false;
  std::string tokenize, perplexity;  // files
  std::string attention;             // the picture's file
  int64_t tokens = 128, context = 2048;
  std::string weights, cache;  // "": the file's; f32
  bool round_rows = false;
  std::vector<std::string> stop;
  std::string grammar, schema;  // files
  std::string rules;            // the grammar from one of them; "": answers are unconstrained
  heed::TextSampling sampling;
  bool has_seed = false, list = false;
  int npcs = 0;
  bool listens = false;
  std::string ears, recording;  // a folder with Whisper; a sound file in place of the microphone, or ""
};

}  // namespace talk
