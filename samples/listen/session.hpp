// The program's device and model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/speech.hpp>

#include "../complaints.hpp"
#include "output.hpp"

namespace listen {

using samples::bad_input, samples::failed, samples::kBadInput, samples::kFailed, samples::kOk, samples::program_log;

struct Options {
  std::string model, device;
  std::vector<std::string> files;
  std::string picture;  // file for the picture; "": none
  Form form = Form::Text;
  bool list = false;
  int bench = 0;               // number of runs
  double seconds = 0;          // for the microphone; 0: until Ctrl-C
  uint32_t threads = 0;        // of the CPU; 0: all
  std::string weights, cache;  // "": the file's; f32
  bool round_rows = false;
  heed::SpeechOptions speech;
};

// Prints why it failed, and returns the exit code.
int open_model(const Options& options, heed::Device* device, heed::SpeechRecognizer* model);

// Prints the text of each file.
int hear_files(const Options& options, const heed::SpeechRecognizer& model);
// Prints the text of the microphone.
int caption(const Options& options, const heed::SpeechRecognizer& model);
// Times transcription, several times.
int bench(const Options& options, const heed::Device& device, const heed::SpeechRecognizer& model);

}  // namespace listen
