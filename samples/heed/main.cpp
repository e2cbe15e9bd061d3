// The command-line program `heed`: lists devices, checks their results, and times them.
#include <algorithm>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "../help.hpp"
#include "../within.hpp"
#include "commands.hpp"

namespace heed::program {

void complain(const std::string& text) {
  std::string line = text;
  for (char& c : line)
    if (c == '\n') c = ' ';
  std::fprintf(stderr, "heed: %s\n", line.c_str());
}

void complain(const std::string& what, const std::vector<std::string>& said, Status status) {
  complain(what + ": " + (said.empty() ? to_string(status) : said.front()));
}

namespace {

constexpr const char* kDeviceHelp = "cpu, an index of `heed devices`, or a part of a name; default: best";
constexpr const char* kDevicesHelp = "cpu, an index of `heed devices`, a part of a name, or all; default: best";

CLI::Option* add_tuning(CLI::App* command, std::string* file, const char* help) {
  return command->add_option("--tuning", *file, help)->type_name("FILE")->check(CLI::ExistingFile);
}

void add_devices(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand(
      "devices", "Example: heed devices -v\nLists devices, and the features that heed uses on each.");
  command->add_flag("-v,--verbose", options->verbose, "also print messages, the kernel of each operation, and why");
  command->add_flag("--json", options->json, "print JSON");
  add_tuning(command, &options->tuning, "with -v: choose kernels by this file of `heed tune`");
  command->callback([=] { *exit_code = devices(*options); });
}

void add_tune(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand(
      "tune", "Example: heed tune --out gpu.tuning\nTimes the kernels of matmul and attention, and saves the fastest.");
  command->footer(
      "A file is valid for one device, its driver and this version of heed. heed devices -v and heed bench\n"
      "read it with --tuning, programs with heed::use_tuning. Without it heed chooses by estimates.");
  command->add_option("--device", options->device, kDeviceHelp)->type_name("DEVICE");
  command->add_option("--out", options->out, "write the tuning there")->type_name("FILE");
  command->add_option("--seconds", options->seconds, "time no further sizes after so many seconds")
      ->check(samples::within(0.001, 600))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->callback([=] { *exit_code = tune(*options); });
}

void add_verify(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Example: heed verify --device all tests/goldens\nCompares results with those stored in golden files.");
  command->footer(
      "Prints `ok|FAIL case system device max_abs max_rel` for each. A case passes if\n"
      "|a - b| <= 2e-5 + 1e-4 |b| everywhere; max_rel divides by max(|b|, 1e-3).\n"
      "Exit code: 0 all passed, 1 a failure or nothing ran, 2 bad arguments or damaged files.");
  command->add_option("PATH", options->paths, "files, or folders with *.safetensors")->required();
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--validation", options->validation, "enable the Khronos validation layer; its messages fail");
  command->add_flag("--bits", options->bits, "also compare reproducible plans with the CPU's, bit for bit");
  command->add_flag("--extents", options->extents, "make batch and lengths extents with larger maxima");
  command->callback([=] { *exit_code = verify(*options); });
}

void add_bits(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<BitsOptions>();
  CLI::App* command = app.add_subcommand(
      "bits", "Example: heed bits --device all\nPrints a fingerprint of each operation in reproducible plans.");
  command->footer(
      "Two machines that print the same lines compute the same bits (CompileOptions::reproducible).\n"
      "Exit code: 0 all are right for this version of heed, 1 one is wrong, or no device supports it.");
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_flag("--json", options->json, "print JSON");
  command->callback([=] { *exit_code = bits(*options); });
}

void add_onnx(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<OnnxFileOptions>();
  CLI::App* command = app.add_subcommand(
      "onnx", "Example: heed onnx policy.onnx\nShows the contents of an ONNX file, and checks its results.");
  command->footer(
      "--check reads arrays that numpy.savez wrote, in.CASE.INPUT and out.CASE.OUTPUT, and prints\n"
      "`ok|FAIL case output device max_abs time`. An output passes if |a - b| <= 1e-4 + 1e-4 |b|.\n"
      "Exit code: 0 all passed, 1 a failure, 2 bad arguments, or a file that heed cannot import.");
  command->add_option("FILE", options->path, "the model")->required()->check(CLI::ExistingFile);
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
#if HEED_HAS_NPZ
  command->add_option("--check", options->check, "inputs and expected outputs")
      ->type_name("NPZ")
      ->check(CLI::ExistingFile);
#endif
  command->add_option("--largest", options->largest, "largest size of a dim of this name; default: 128")
      ->type_name("DIM SIZE");
  command->add_flag("--passes", options->passes, "print every pass");
  command->add_flag("--brief", options->brief, "print only the checks");
  command->add_flag("--state", options->state, "keep caches (past and present, by their usual names) in a State");
  command->callback([=] { *exit_code = onnx(*options); });
}

void add_report(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report", "Example: heed report --device nvidia\nTests and times this machine for a report to be shared.");
  command->footer(
      "The file names the device, its driver, the processor and the system, and no user, host or path. To\n"
      "send it, add it to tests/gpu/reports in a pull request.\n"
      "Exit code: 0 nothing failed, 1 a test failed, 2 bad arguments or files.");
  command->add_option("--device", options->device, kDeviceHelp)->type_name("DEVICE");
  command->add_option("--out", options->out, "the report")->type_name("FILE")->capture_default_str();
  command->add_option("--only", options->only, "only these parts, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(report_parts()));
  command->add_option("--seconds", options->seconds, "time for the repeats of one row")
      ->check(samples::within(0, 10))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "most seconds of one part, and half of the self-test's limit")
      ->check(samples::within(1, 3600))
      ->capture_default_str();
  command->add_option("--show", options->show, "print the page of this report")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command->add_option("--compare", options->compare, "print the differences of two reports")
      ->type_name("FILE FILE")
      ->expected(2)
      ->check(CLI::ExistingFile);
  command->callback([=] { *exit_code = report(*options); });
}

// What to time in place of the operations.
void add_bench_modes(CLI::App* command, BenchOptions* options) {
  CLI::Option* model =
      command
          ->add_option("--model", options->model, "instead: a sentence model's folder, or a language model's GGUF file")
          ->type_name("PATH");
  command->add_option("--weights", options->weights, "with --model: only weights of this type")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->needs(model);
  command->add_option("--cache", options->cache, "with a language model: type of keys and values; default: f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->needs(model);
  command
      ->add_flag("--round-rows", options->round_rows,
                 "with a language model: round activations (CompileOptions::round_rows)")
      ->needs(model);
  CLI::Option* passes =
      command->add_flag("--passes", options->passes, "instead: the bytes of every pass")->excludes(model);
  CLI::Option* reproducible =
      command->add_flag("--reproducible", options->reproducible, "also print the relative time of reproducible plans")
          ->excludes(model)
          ->excludes(passes);
  command->add_flag("--startup", options->startup, "instead: the time of starts, with and without a pipeline cache")
      ->excludes(model)
      ->excludes(passes)
      ->excludes(reproducible);
}

void add_bench(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Example: heed bench --ops matmul,attention\nTimes every operation, an encoder and a decoder's step.");
  command->footer(
      "Times are medians, by the GPU's timestamps or the CPU's clock. The share compares them with a\n"
      "multiply-add loop (GFLOP/s) or a copy (GB/s) on the same device; data in caches can be faster.\n"
      "moved: the bytes that passes read and write, divided by those of inputs, weights and outputs.");
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_option("--ops", options->ops, "only these: matmul,attention,... or read-128,... of a language model");
  command->add_option("--seconds", options->seconds, "time for the repeats of one row")
      ->check(samples::within(0, 60))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  add_tuning(command, &options->tuning, "choose kernels by this file of `heed tune`");
  command->add_option("--trace", options->trace, "also write pass times there, for ui.perfetto.dev")->type_name("FILE");
  add_bench_modes(command, options.get());
  command->callback([=] {
    std::error_code error;
    if (options->startup)
      *exit_code = bench_startup(*options);
    else if (std::filesystem::is_regular_file(options->model, error))
      *exit_code = bench_language(*options);
    else
      *exit_code = options->model.empty() ? bench(*options) : bench_model(*options);
  });
}

bool has_command(const CLI::App& app, const std::string& name) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* c) { return c->get_name() == name; });
}

int run(int argc, char** argv) {
  int exit_code = kSuccess;
  CLI::App app("Example: heed devices -v\nRuns, checks and times heed on the devices of this machine.", "heed");
  app.formatter(std::make_shared<samples::Help>());  // which the commands inherit
  app.set_version_flag("--version", "heed " HEED_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // the two options may also follow a command
  app.add_option("--cpu-instructions", common_options().cpu_instructions,
                 "on the CPU: an instruction set of `heed devices`; default: best")
      ->type_name("SET");
  app.add_option("--vulkan-loader", common_options().vulkan_loader, "use this library as the Vulkan loader")
      ->type_name("FILE");
  add_devices(app, &exit_code);
  add_tune(app, &exit_code);
  add_verify(app, &exit_code);
  add_bits(app, &exit_code);
  add_onnx(app, &exit_code);
  add_bench(app, &exit_code);
  add_report(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1])) {
      complain(std::string("unknown command '") + argv[1] + "'; see heed --help");
      return kBadInput;
    }
    const std::string command = argc > 1 && has_command(app, argv[1]) ? argv[1] + std::string(" ") : "";
    complain(error.what() + ("; see heed " + command + "--help"));
    return kBadInput;
  }
  return exit_code;
}

}  // namespace
}  // namespace heed::program

int main(int argc, char** argv) {
  try {
    return heed::program::run(argc, argv);
  } catch (const std::exception& error) {
    heed::program::complain(error.what());
    return heed::program::kBadInput;
  }
}
