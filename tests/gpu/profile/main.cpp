// Counts what heed's kernels, or the dispatches of another program, do on the driver's device, and prints lines of CSV: see README.md.
//   heed_profile [OPTION...] TARGET heed [WORK...]         WORK: a name in works.cpp, or the beginning of some; default: all
//   heed_profile [OPTION...] TARGET LIBRARY FOLDER WORK    the dispatches that tests/gpu/peer/layer.cpp wrote into FOLDER
//   --nvidia CORES       chooses kernels as on NVIDIA's own driver for a GPU with so many cores
//   --listings FOLDER    writes the assembly of the kernel of the N-th line, from 1 on, to FOLDER/N.s
// Exit code 1 if a work cannot be profiled.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "gpu/profile/run.hpp"

namespace heed::gpu_tests {
namespace {

struct Options {
  uint32_t cores = 0;
  std::string listings;
};

class Program {
 public:
  Program(const Options& options, const std::string& target) : options_(options), target_(target) {}

  bool open() {
    compiler_ = Compiler::open();
    if (compiler_ != nullptr && options_.cores != 0) compiler_->pretend_nvidia(options_.cores);
    return compiler_ != nullptr;
  }

  int run_heed(int count, char** words) {
    bool good = true;
    for (const Work& work : works()) {
      if (!is_wanted(work.name, count, words)) continue;
      Profile result;
      result.target = target_;
      if (profile(work, *compiler_, &result))
        good = show(result) && good;
      else
        good = false, std::fprintf(stderr, "no profile of %s\n", work.name.c_str());
    }
    return good ? 0 : 1;
  }

  int run_trace(const std::string& engine, const std::string& folder, const std::string& work) {
    Profile result;
    result.target = target_;
    result.engine = engine;
    result.work = work;
    return profile_trace(folder, *compiler_, &result) && show(result) ? 0 : 1;
  }

 private:
  static bool is_wanted(const std::string& name, int count, char** words) {
    for (int i = 0; i < count; ++i)
      if (name.starts_with(words[i])) return true;
    return count == 0;
  }

  bool show(const Profile& result) {
    print(result);
    bool written = true;
    for (const Measured& kernel : result.kernels) {
      ++lines_;
      if (options_.listings.empty()) continue;
      const std::string name = options_.listings + "/" + std::to_string(lines_) + ".s";
      std::ofstream file(name);
      file << kernel.listing;
      file.close();
      if (file.good()) continue;
      std::fprintf(stderr, "cannot write %s\n", name.c_str());
      written = false;
    }
    return written;
  }

  const Options& options_;
  const std::string target_;
  std::unique_ptr<Compiler> compiler_;
  size_t lines_ = 0;
};

int usage() {
  std::fprintf(
      stderr,
      "usage: heed_profile [--nvidia CORES] [--listings FOLDER] TARGET heed [WORK...] or TARGET LIBRARY FOLDER WORK\n");
  return 2;
}

int run(int argc, char** argv) {
  Options options;
  for (; argc > 2 && std::strncmp(argv[1], "--", 2) == 0; argc -= 2, argv += 2) {
    if (std::strcmp(argv[1], "--nvidia") == 0)
      options.cores = static_cast<uint32_t>(std::atoi(argv[2]));
    else if (std::strcmp(argv[1], "--listings") == 0)
      options.listings = argv[2];
    else
      return usage();
  }
  const std::string engine = argc > 2 ? argv[2] : "";
  if (engine.empty() || (engine != "heed" && argc != 5)) return usage();
  Program program(options, argv[1]);
  if (!program.open()) return 1;
  print_head();
  return engine == "heed" ? program.run_heed(argc - 3, argv + 3) : program.run_trace(engine, argv[3], argv[4]);
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) { return heed::gpu_tests::run(argc, argv); }
