// Compiles every kernel that heed would choose on the driver's device, and prints a line of CSV for each: see figures.hpp.
//   heed_pipelines [FAMILY] [FOLDER or -] [PART [EVERY]]
// FAMILY becomes the first column; FOLDER receives all statistics of the driver's, and the assembly. EVERY: with N, each Nth
// kernel is compiled, and lines of the others end where figures begin. PART: only the P-th 256 of those that are compiled, counted
// from 0. Exit code 1 if a kernel does not compile.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "gpu/compiler.hpp"
#include "gpu/figures.hpp"
#include "gpu/kernel_keys.hpp"
#include "kernels/kernel_table.hpp"

namespace heed::gpu_tests {
namespace {

std::string constants_of(const KernelKey& key) {
  std::string text;
  for (uint32_t i = 0; i < key.spec_count; ++i) text.append(i == 0 ? "" : " ").append(std::to_string(key.spec[i]));
  return text;
}

void print_name(const char* family, const ChosenKernel& chosen) {
  std::printf("%s,%s,%s,%s", family, kernel_info(chosen.key.id).name, constants_of(chosen.key).c_str(),
              chosen.example.c_str());
}

void print(const char* family, const ChosenKernel& chosen, const Figures& of) {
  print_name(family, chosen);
  std::printf(",%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.1f,%.1f\n", of.registers, of.scalar_registers, of.spills,
              of.scratch, of.shared, of.occupancy, of.instructions, of.cycles, of.multiply_add_percent,
              of.matrix_percent);
}

// Kernels of reproducible plans round after each operation, and leave nothing to the hardware's functions.
bool keeps_canon(const char* family, const ChosenKernel& chosen, const Figures& of) {
  const char* const name = kernel_info(chosen.key.id).name;
  if (!std::string_view(name).ends_with("_canon") || (of.fused == 0 && of.approximations == 0)) return true;
  std::fprintf(stderr, "FAIL %s: %s (%s) has %.0f fused multiply-adds and %.0f approximate instructions\n", family,
               name, chosen.example.c_str(), of.fused, of.approximations);
  return false;
}

// Drivers keep what they compile, and the memory that Mesa's pretended GPUs give to a process ends at some 490 kernels.
constexpr std::ptrdiff_t kKernelsOfAPart = 256;

// `part`: -1 for all kernels.
int run(const char* family, const char* folder, std::ptrdiff_t part, std::ptrdiff_t every) {
  const std::unique_ptr<Compiler> compiler = Compiler::open();
  std::vector<ChosenKernel> chosen;
  if (compiler == nullptr || !choose_kernels(compiler->capabilities(), &chosen)) return 1;
  std::fprintf(stderr, "%s: %s, %s\n", family, compiler->physical().properties.deviceName,
               compiler->physical().driver.c_str());
  bool good = !chosen.empty();
  for (const ChosenKernel& kernel : chosen) {
    const std::ptrdiff_t number = &kernel - chosen.data();
    if (part >= 0 && number / (kKernelsOfAPart * every) != part) continue;
    if (number % every != 0) {
      print_name(family, kernel);
      std::puts("");
      continue;
    }
    Compiled compiled;
    if (!compiler->compile(kernel.key, &compiled)) {
      good = false;
      continue;
    }
    const Figures figures = figures_of(compiler->physical().driver, compiled);
    print(family, kernel, figures);
    good = keeps_canon(family, kernel, figures) && good;
    if (folder == nullptr) continue;
    std::string file = folder;
    file.append("/").append(family).append("-").append(kernel_info(kernel.key.id).name).append("-");
    file.append(std::to_string(number)).append(".s");
    std::ofstream out(file);
    out << "; " << kernel.example << ": " << constants_of(kernel.key) << "\n";
    for (const auto& [name, value] : compiled.statistics) out << "; " << name << ": " << value << "\n";
    for (const auto& [name, text] : compiled.texts)
      if (name.ends_with("ssembly")) out << text;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) {
  const char* folder = argc > 2 && std::strcmp(argv[2], "-") != 0 ? argv[2] : nullptr;
  const int part = argc > 3 ? std::atoi(argv[3]) : -1, every = argc > 4 ? std::atoi(argv[4]) : 1;
  return heed::gpu_tests::run(argc > 1 ? argv[1] : "device", folder, part, every > 0 ? every : 1);
}
