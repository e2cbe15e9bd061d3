// The subcommands of the `heed` program, and what they share.
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
// Complains about what failed, with the first of the messages that heed left, or the status if it left none.
void complain(const std::string& what, const std::vector<std::string>& said, Status status);

// The values of DeviceOptions::select that a value of --device stands for. "all" stands for every usable device.
std::vector<std::string> selections(const std::string& wanted);

// Every command opens and lists devices with these members of DeviceOptions.
struct CommonOptions {
  std::string cpu_instructions, vulkan_loader;
};
CommonOptions& common_options();
DeviceOptions device_options(const std::string& select, const Log& log);

const char* kind_name(DeviceKind kind);  // "cpu", "discrete gpu", ...

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

// Gives a device the tuning in this file, unless the name is empty. NotFound: the file cannot be read. The device's
// log has the reason of any other failure.
Status load_tuning(Device& device, const std::string& file);

struct VerifyOptions {
  std::vector<std::string> paths;
  std::string device;
  bool json = false;
  bool validation = false;
  bool extents = false;
  bool bits = false;  // reproducible plans, compared with those of the CPU
};
int verify(const VerifyOptions& options);

struct OnnxFileOptions {
  std::string path, device;
  std::string check;                                     // an .npz file of inputs and outputs; empty: none
  std::vector<std::pair<std::string, int64_t>> largest;  // of dims
  bool passes = false;                                   // print each
  bool brief = false;                                    // print the checks alone
  bool state = false;                                    // caches are states, and neither inputs nor outputs
};
int onnx(const OnnxFileOptions& options);

struct BitsOptions {
  std::string device;
  bool json = false;
};
int bits(const BitsOptions& options);

struct ReportOptions {
  std::string device;
  std::string out = "heed-report.json";
  std::vector<std::string> only;     // parts; empty: all
  std::vector<std::string> compare;  // two reports to compare instead
  std::string show;                  // a report to print instead
  double seconds = 0.25;             // for the repeats of one work
  double limit = 30;                 // seconds that one part may take
};
int report(const ReportOptions& options);
// The parts of a report, in the order in which they run.
const std::vector<std::string>& report_parts();

struct BenchOptions {
  std::string device;
  std::string ops;      // separated by commas; empty: all
  std::string model;    // time this model instead of the rows
  std::string weights;  // with `model`: only this type of weights; empty: all types, or as in a GGUF file
  std::string cache;    // of a GGUF file's keys and values; empty: f32
  bool round_rows = false;
  double seconds = 0.5;  // per row; slow rows run a few times, very slow ones once
  bool json = false;
  bool startup = false;       // time starts instead of rows
  bool passes = false;        // count the bytes of passes instead of timing rows
  bool reproducible = false;  // also time reproducible plans
  std::string trace;          // a file for the times of all passes; empty: none
  std::string tuning;         // a file of `heed tune`; empty: none
};
int bench(const BenchOptions& options);
int bench_model(const BenchOptions& options);     // of a folder
int bench_language(const BenchOptions& options);  // of a GGUF file
int bench_startup(const BenchOptions& options);

}  // namespace heed::program
