// The subcommands of the `heed` program, and their shared code.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace heed::program {

// Exit codes.
inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;    // a wrong result, or nothing ran
inline constexpr int kBadInput = 2;  // bad arguments, unreadable or damaged files

// One line on stderr.
void complain(const std::string& text);
// Prints what failed, with the first message that heed logged, or the status if there is none.
void complain(const std::string& what, const std::vector<std::string>& said, Status status);

// The values of DeviceOptions::select for a value of --device. "all" means every usable device.
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
  std::string tuning;  // input: a file of `heed tune`; empty: none
};
int devices(const DevicesOptions& options);

struct TuneOptions {
  std::string device;
  std::string out;  // output file; empty: none
  double seconds = 10;
  bool json = false;
};
int tune(const TuneOptions& options);

// Loads the tuning in this file into a device, unless the name is empty. NotFound: the file cannot be read. For other failures the device's
// log has the reason.
Status load_tuning(Device& device, const std::string& file);

struct VerifyOptions {
  std::vector<std::string> paths;
  std::string device;
  bool json = false;
  bool validation = false;
  bool extents = false;
  bool bits = false;  // compile reproducible plans, and compare with the CPU's
};
int verify(const VerifyOptions& options);

struct OnnxFileOptions {
  std::string path, device;
  std::string check;                                     // an .npz file of inputs and outputs; empty: none
  std::vector<std::pair<std::string, int64_t>> largest;  // sizes of dims
  bool passes = false;                                   // print each pass
  bool brief = false;                                    // print only the checks
  bool state = false;                                    // caches are states instead of inputs and outputs
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
  double seconds = 0.25;             // for the repeats of one row
  double limit = 30;                 // most seconds of one part
};
int report(const ReportOptions& options);
// The parts of a report, in the order in which they run.
const std::vector<std::string>& report_parts();

struct BenchOptions {
  std::string device;
  std::string ops;      // separated by commas; empty: all
  std::string model;    // time this model instead of the rows
  std::string weights;  // with `model`: the only type of weights; empty: all types, or that of a GGUF file
  std::string cache;    // type of a GGUF model's keys and values; empty: f32
  bool round_rows = false;
  double seconds = 0.5;  // milliseconds per row; slow rows run a few times, very slow ones once
  bool json = false;
  bool startup = false;       // time starts instead of rows
  bool passes = false;        // count the bytes of passes instead of timing rows
  bool reproducible = false;  // also time reproducible plans
  std::string trace;          // output file for the times of all passes; empty: none
  std::string tuning;         // a file of `heed tune`; empty: none
};
int bench(const BenchOptions& options);
int bench_model(const BenchOptions& options);     // folder of a sentence model
int bench_language(const BenchOptions& options);  // GGUF file of a language model
int bench_startup(const BenchOptions& options);

}  // namespace heed::program
