// The device and the model that the program listens with, and what it says when something fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/speech.hpp>

#include "output.hpp"

namespace listen {

inline constexpr int kOk = 0, kFailed = 1, kBadInput = 2;

struct Options {
  std::string model, device;
  std::vector<std::string> files;
  Form form = Form::Text;
  bool list = false;
  int bench = 0;               // how many times
  uint32_t threads = 0;        // of the CPU; 0: all
  std::string weights, cache;  // "": as in the file; f32
  bool round_rows = false;
  heed::SpeechOptions speech;
};

// These print one line, and give the program's exit code.
int bad_input(const std::string& message);
int failed(const std::string& what, heed::Status status);

int list_devices();
int open_model(const Options& options, heed::Device* device, heed::SpeechRecognizer* model);

// Prints what is said in each file.
int hear_files(const Options& options, const heed::SpeechRecognizer& model);
// Times it, several times.
int bench(const Options& options, const heed::Device& device, const heed::SpeechRecognizer& model);

}  // namespace listen
