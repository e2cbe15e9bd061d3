// The command-line program `heed`: what devices there are, whether they compute right, and how fast.
#include <algorithm>
#include <exception>
#include <filesystem>

#include <CLI/CLI.hpp>

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

constexpr const char* kDeviceHelp = "cpu, an index of `heed devices`, or any part of a device's name; default: best";
constexpr const char* kDevicesHelp =
    "cpu, an index of `heed devices`, any part of a device's name, or all; default: best";

CLI::Option* add_tuning(CLI::App* command, std::string* file, const char* help) {
  return command->add_option("--tuning", *file, help)->type_name("FILE")->check(CLI::ExistingFile);
}

void add_devices(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* command = app.add_subcommand("devices", "List devices and what heed will use on them");
  command->add_flag("-v,--verbose", options->verbose,
                    "Also print heed's messages, and which kernel runs each pass, and why");
  command->add_flag("--json", options->json, "Print JSON");
  add_tuning(command, &options->tuning, "With -v: choose kernels by this file of `heed tune`");
  command->callback([=] { *exit_code = devices(*options); });
}

void add_tune(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command =
      app.add_subcommand("tune", "Time the kernels of products and attention, and keep which are fastest");
  command->footer(
      "Without a tuning, heed chooses by estimates. A file is valid for one device, its driver and this version of "
      "heed.\n"
      "heed devices -v and heed bench read it with --tuning, programs with heed::use_tuning.");
  command->add_option("--device", options->device, kDeviceHelp)->type_name("DEVICE");
  command->add_option("--out", options->out, "Write the tuning to this file")->type_name("FILE");
  command->add_option("--seconds", options->seconds, "The time after which no further sizes are timed")
      ->check(samples::within(0.001, 600))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([=] { *exit_code = tune(*options); });
}

void add_verify(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand("verify", "Run golden files and compare with what they expect");
  command->footer(
      "Prints `ok|FAIL case system device max_abs max_rel` for each. A case passes if\n"
      "|a - b| <= 2e-5 + 1e-4 |b| everywhere; max_rel divides by max(|b|, 1e-3).\n"
      "Exit code: 0 all passed, 1 a failure or nothing ran, 2 bad arguments or damaged files.");
  command->add_option("PATH", options->paths, "Files, or folders with *.safetensors")->required();
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--validation", options->validation, "Switch on the Khronos validation layer; a message fails");
  command->add_flag("--bits", options->bits,
                    "Also compile reproducible plans, and compare their results with the CPU's bit for bit");
  command->add_flag("--extents", options->extents, "Make batch and lengths extents with larger maxima");
  command->callback([=] { *exit_code = verify(*options); });
}

void add_bits(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<BitsOptions>();
  CLI::App* command =
      app.add_subcommand("bits", "Print a fingerprint of what each operation gives in reproducible plans");
  command->footer(
      "Two machines that print the same lines compute the same bits (CompileOptions::reproducible).\n"
      "Exit code: 0 all are what this version of heed must give, 1 one is not, or no device can promise it.");
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([=] { *exit_code = bits(*options); });
}

void add_onnx(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<OnnxFileOptions>();
  CLI::App* command = app.add_subcommand("onnx", "Show what an ONNX file holds, and check what heed makes of it");
  command->footer(
      "--check compares with the arrays of a file that numpy.savez wrote, in.CASE.INPUT and out.CASE.OUTPUT:\n"
      "`ok|FAIL case output device max_abs time`. An output passes if |a - b| <= 1e-4 + 1e-4 |b| everywhere.\n"
      "Exit code: 0 all passed, 1 a failure, 2 bad arguments, or a file that heed cannot import.");
  command->add_option("FILE", options->path, "The model")->required()->check(CLI::ExistingFile);
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
#if HEED_HAS_NPZ
  command->add_option("--check", options->check, "Inputs and expected outputs")
      ->type_name("NPZ")
      ->check(CLI::ExistingFile);
#endif
  command
      ->add_option("--largest", options->largest,
                   "The largest size of a dim: a name of the file, and a number; default: 128")
      ->type_name("DIM SIZE");
  command->add_flag("--passes", options->passes, "Print every pass");
  command->add_flag("--brief", options->brief, "Print the checks alone");
  command->add_flag("--state", options->state, "Keep caches (past and present, by their usual names) in a State");
  command->callback([=] { *exit_code = onnx(*options); });
}

void add_report(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Test and time this machine for a report that others can read");
  command->footer(
      "heed report                       writes heed-report.json, and prints a page\n"
      "heed report --compare A B         prints where two reports differ\n"
      "The file names the device, its driver, the processor and the system, and no user, host or path. To send one, "
      "add it to\n"
      "tests/gpu/reports in a pull request. Exit code: 0 nothing failed, 1 something did, 2 bad arguments or files.");
  command->add_option("--device", options->device, kDeviceHelp)->type_name("DEVICE");
  command->add_option("--out", options->out, "The file")->type_name("FILE")->capture_default_str();
  command->add_option("--only", options->only, "Only these parts, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(report_parts()));
  command->add_option("--seconds", options->seconds, "Time for the repeats of one work")
      ->check(samples::within(0, 10))
      ->capture_default_str();
  command->add_option("--limit", options->limit, "Seconds that one part may take; the self-test may take twice as many")
      ->check(samples::within(1, 3600))
      ->capture_default_str();
  command->add_option("--show", options->show, "Print the page of this report")
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  command->add_option("--compare", options->compare, "Print where two reports differ")
      ->type_name("FILE")
      ->expected(2)
      ->check(CLI::ExistingFile);
  command->callback([=] { *exit_code = report(*options); });
}

void add_bench(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench", "Time every operation, a 12-layer encoder and a decoder's step");
  command->footer(
      "Times are medians, by the GPU's timestamps on Vulkan and by a clock on the CPU. The share compares them with a\n"
      "multiply-add loop (GFLOP/s) or a copy (GB/s) that runs on the same device in the same run; data that fits the\n"
      "caches can be faster than the copy.\n"
      "moved: the bytes that all passes read and write, divided by the fewest, which are those of inputs, weights and\n"
      "outputs. With --passes, the fewest bytes of a pass are its outputs of the whole graph, and the inputs and "
      "weights\n"
      "that no earlier pass has read: if one pass did everything, it would move no others.");
  command->add_option("--device", options->device, kDevicesHelp)->type_name("DEVICE");
  command->add_option(
      "--ops", options->ops,
      "Only these, separated by commas: matmul,attention,decode,..., or of a language model read-128,...");
  command->add_option("--seconds", options->seconds, "Time for the repeats of one row")
      ->check(samples::within(0, 60))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  CLI::Option* model =
      command
          ->add_option("--model", options->model,
                       "Instead: sentences per second of the sentence-transformers model in this folder, or tokens per "
                       "second of the language model in this GGUF file")
          ->type_name("PATH");
  command
      ->add_option("--weights", options->weights,
                   "With --model: use only weights of this type; bf16 weights also with arithmetic in f32")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->needs(model);
  command->add_option("--cache", options->cache, "With a language model: the type of keys and values, f32 by default")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->needs(model);
  command
      ->add_flag("--round-rows", options->round_rows,
                 "With a language model: round values, to 8 bits or f16, where quantized weights multiply them "
                 "(CompileOptions)")
      ->needs(model);
  add_tuning(command, &options->tuning, "Choose kernels by this file of `heed tune`");
  command
      ->add_option("--trace", options->trace,
                   "Also write the time of every pass to this file, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  CLI::Option* passes =
      command
          ->add_flag("--passes", options->passes,
                     "Print every pass with its dispatches, its bytes and the fewest possible bytes instead")
          ->excludes(model);
  CLI::Option* reproducible =
      command
          ->add_flag("--reproducible", options->reproducible,
                     "Also print how many times as long a reproducible plan of the row takes, both run in turn")
          ->excludes(model)
          ->excludes(passes);
  command
      ->add_flag("--startup", options->startup,
                 "Time starts instead: without and with a pipeline cache, and with several threads that make pipelines")
      ->excludes(model)
      ->excludes(passes)
      ->excludes(reproducible);
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
  CLI::App app("heed runs transformer attention on any GPU through Vulkan, and on the CPU", "heed");
  app.set_version_flag("--version", "heed " HEED_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // the two options may also follow a command
  app.add_option("--cpu-instructions", common_options().cpu_instructions,
                 "CPU: use these instructions, one of those that `heed devices` lists; default: the best")
      ->type_name("SET");
  app.add_option("--vulkan-loader", common_options().vulkan_loader,
                 "Take this library file instead of the system's Vulkan loader")
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
