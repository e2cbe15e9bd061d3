// The subcommands of the `heed` program and what they share.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace heed::program {

// Exit codes.
inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;    // something ran and was wrong, or nothing ran
inline constexpr int kBadInput = 2;  // bad arguments, unreadable or damaged files

// One line on stderr.
void complain(const std::string& text);

// DeviceOptions::select for each device that a --device value means: "all" is every usable one, by index.
std::vector<std::string> selections(const std::string& wanted);

struct DevicesOptions {
  bool verbose = false;
  bool json = false;
  std::string tuning;  // a file of `heed tune`; empty: none
};
int devices(const DevicesOptions& options);

struct TuneOptions {
  std::string device;
  std::string out;  // the file for what was found; empty: none
  double seconds = 10;
  bool json = false;
};
int tune(const TuneOptions& options);

// Gives a device the tuning in this file, unless the name is empty. NotFound: it cannot be read. Else the reason is in the
// device's log.
Status load_tuning(Device& device, const std::string& file);

struct VerifyOptions {
  std::vector<std::string> paths;
  std::string device;
  bool json = false;
  bool validation = false;
  bool extents = false;
};
int verify(const VerifyOptions& options);

struct BenchOptions {
  std::string device;
  std::string ops;       // separated by commas; empty: all
  std::string model;     // a folder: time this model instead
  std::string weights;   // of the model: only with weights of this type; empty: all
  double seconds = 0.5;  // per row; slow rows run a few times, very slow ones once
  bool json = false;
  bool startup = false;  // time starts instead
  bool passes = false;   // tell what passes move instead
  std::string trace;     // a file for the times of all passes; empty: none
  std::string tuning;    // a file of `heed tune`; empty: none
};
int bench(const BenchOptions& options);
int bench_model(const BenchOptions& options);
int bench_startup(const BenchOptions& options);

}  // namespace heed::program
