// The device and the model that the program listens with.
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
  std::string picture;  // of attention; "": none
  Form form = Form::Text;
  bool list = false;
  int bench = 0;               // how many times
  double seconds = 0;          // of the microphone; 0: up to Ctrl-C
  uint32_t threads = 0;        // of the CPU; 0: all
  std::string weights, cache;  // "": as in the file; f32
  bool round_rows = false;
  heed::SpeechOptions speech;
};

// Prints why it failed, and gives the exit code.
int open_model(const Options& options, heed::Device* device, heed::SpeechRecognizer* model);

// Prints what is said in each file.
int hear_files(const Options& options, const heed::SpeechRecognizer& model);
// Prints what is said into the microphone.
int caption(const Options& options, const heed::SpeechRecognizer& model);
// Times it, several times.
int bench(const Options& options, const heed::Device& device, const heed::SpeechRecognizer& model);

}  // namespace listen
