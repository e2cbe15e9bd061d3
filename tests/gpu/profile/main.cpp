// Counts what heed's kernels, or dispatches that another program made, do on the driver's device, and prints lines of CSV: see README.md.
//   heed_profile TARGET heed [WORK...]          WORK: the name of works.cpp, or how some of them begin; default: all
//   heed_profile TARGET LIBRARY FOLDER WORK   the dispatches that tests/gpu/peer/layer.cpp wrote into FOLDER
// Exit code 1 if one cannot be profiled.
#include <cstdio>
#include <string>

#include "gpu/profile/run.hpp"

namespace heed::gpu_tests {
namespace {

bool is_wanted(const std::string& name, int count, char** words) {
  for (int i = 0; i < count; ++i)
    if (name.starts_with(words[i])) return true;
  return count == 0;
}

int run_heed(const std::string& target, Compiler& compiler, int count, char** words) {
  bool good = true;
  for (const Work& work : works()) {
    if (!is_wanted(work.name, count, words)) continue;
    Profile result;
    result.target = target;
    if (profile(work, compiler, &result))
      print(result);
    else
      good = false, std::fprintf(stderr, "no profile of %s\n", work.name.c_str());
  }
  return good ? 0 : 1;
}

int run_trace(const std::string& target, Compiler& compiler, const std::string& engine, const std::string& folder,
              const std::string& work) {
  Profile result;
  result.target = target;
  result.engine = engine;
  result.work = work;
  if (!profile_trace(folder, compiler, &result)) return 1;
  print(result);
  return 0;
}

int run(int argc, char** argv) {
  const std::string engine = argc > 2 ? argv[2] : "";
  if (engine.empty() || (engine != "heed" && argc != 5)) return 2;
  const std::unique_ptr<Compiler> compiler = Compiler::open();
  if (compiler == nullptr) return 1;
  print_head();
  if (engine == "heed") return run_heed(argv[1], *compiler, argc - 3, argv + 3);
  return run_trace(argv[1], *compiler, engine, argv[3], argv[4]);
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) { return heed::gpu_tests::run(argc, argv); }
