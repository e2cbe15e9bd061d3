// Compiles every kernel that heed would choose on the driver's device, and prints a line of CSV for each: see figures.hpp.
//   heed_pipelines CHIP [FOLDER or -] [PART [sample]]
// CHIP becomes the first column. FOLDER receives the driver's statistics and the assembly. PART: only the P-th 256 of the
// compiled kernels, counted from 0; part 0 begins with the names of the columns. sample: compiles a third of each family (an
// eighteenth on Intel), see kernel_keys.hpp, and lines of other kernels have no figures. Exit code 1 if a kernel does not compile.
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
#include "kernels/matmul/matmul.hpp"
#include "shared/limits.h"

namespace heed::gpu_tests {
namespace {

std::string constants_of(const KernelKey& key) {
  std::string text;
  for (uint32_t i = 0; i < key.spec_count; ++i) text.append(i == 0 ? "" : " ").append(std::to_string(key.spec[i]));
  return text;
}

constexpr const char* kColumns =
    "chip,family,kernel,constants,example,sampled,tile,flags,cost,registers,scalar_registers,spills,scratch,shared,"
    "occupancy,instructions,hot_loop,cycles,multiply_add_percent,matrix_percent,fills,messages";

// The tile of a matmul, its flags, and the cost of an element by the kernel's traits. Empty for other kernels.
std::string tile_of(const ChosenKernel& chosen) {
  using Spec = kernels::matmul::Spec;
  const Traits& traits = chosen.traits;
  const std::string_view name = kernel_info(chosen.key.id).name;
  if (!name.starts_with("matmul_") || traits.group <= 0) return ",,";
  // Compilers count loops over blocks and summands of emulated f32 once, so that their cycles do not follow the work of a tile.
  if (name.find("quantized") != name.npos || name == "matmul_f32_matrix") return ",,";
  const uint32_t flags = chosen.key.spec[Spec::FLAGS];
  // In kernels for aligned 16-bit operands on matrix units, most cycles are of the loop over fragments, which compilers unroll for small
  // tiles. The kernels for unaligned operands have the same tiles and costs, and are compared instead.
  if (name.ends_with("16_matrix") && (flags & HEED_MATMUL_A_VEC4) != 0) return ",,";
  const double cost = traits.group / (double{1} * traits.rows * traits.columns);
  char text[64];
  std::snprintf(text, sizeof text, "%ux%u,%u,%g", traits.rows, traits.columns, flags, cost);
  return text;
}

void print_name(const char* chip, const ChosenKernel& chosen) {
  std::printf("%s,%s,%s,%s,%s,%d", chip, chosen.family.c_str(), kernel_info(chosen.key.id).name,
              constants_of(chosen.key).c_str(), chosen.example.c_str(), chosen.sampled);
}

void print(const char* chip, const ChosenKernel& chosen, const Figures& of) {
  print_name(chip, chosen);
  std::printf(",%s,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%.0f,%d,%.0f,%.1f,%.1f,%.0f,%.0f\n", tile_of(chosen).c_str(),
              of.registers, of.scalar_registers, of.spills, of.scratch, of.shared, of.occupancy, of.instructions,
              of.hottest.all, of.cycles, of.multiply_add_percent, of.matrix_percent, of.fills, of.messages);
}

// Checks that kernels of reproducible plans round after each operation, and use no approximate functions of the hardware.
bool keeps_canon(const char* chip, const ChosenKernel& chosen, const Figures& of) {
  const char* const name = kernel_info(chosen.key.id).name;
  if (!std::string_view(name).ends_with("_canon") || (of.fused == 0 && of.approximations == 0)) return true;
  std::fprintf(stderr, "FAIL %s: %s (%s) has %.0f fused multiply-adds and %.0f approximate instructions\n", chip, name,
               chosen.example.c_str(), of.fused, of.approximations);
  return false;
}

// Checks that a kernel on matrix units gets the subgroup size that it asks for, and uses the units.
bool keeps_units(const char* chip, const ChosenKernel& chosen, const Compiled& compiled, const Figures& of) {
  const double size = compiled.statistic("Subgroup size");
  if (chosen.key.subgroup == 0 || (size == chosen.key.subgroup && of.matrix_percent > 0)) return true;
  std::fprintf(stderr,
               "FAIL %s: %s (%s) has subgroups of %.0f where %u are asked for, and %.1f %% of its instructions "
               "multiply on matrix units\n",
               chip, kernel_info(chosen.key.id).name, chosen.example.c_str(), size, chosen.key.subgroup,
               of.matrix_percent);
  return false;
}

// ANV needs a third of a second for a kernel, ten times as long as others.
size_t groups_of_a_sample(std::string_view driver) { return driver.starts_with("Intel") ? 18 : 3; }

// Drivers keep compiled code, and the memory that Mesa's shims give to a process is used up after some 490 kernels.
constexpr std::ptrdiff_t kKernelsOfAPart = 256;

// `part` -1 means all kernels.
int run(const char* chip, const char* folder, std::ptrdiff_t part, bool sample) {
  const std::unique_ptr<Compiler> compiler = Compiler::open();
  std::vector<ChosenKernel> chosen;
  if (compiler == nullptr) return 1;
  const size_t each = groups_of_a_sample(compiler->physical().driver);
  if (!choose_kernels(compiler->capabilities(), each, &chosen)) return 1;
  std::fprintf(stderr, "%s: %s, %s\n", chip, compiler->physical().properties.deviceName,
               compiler->physical().driver.c_str());
  bool good = !chosen.empty();
  if (part <= 0) std::puts(kColumns);
  std::ptrdiff_t number = 0;  // compiled kernels before this one
  for (const ChosenKernel& kernel : chosen) {
    const bool compiles = kernel.sampled || !sample, in_part = part < 0 || number / kKernelsOfAPart == part;
    number += compiles;
    if (!in_part) continue;
    if (!compiles) {
      print_name(chip, kernel);
      std::puts("");
      continue;
    }
    Compiled compiled;
    if (!compiler->compile(kernel.key, &compiled)) {
      good = false;
      continue;
    }
    const Figures figures = figures_of(compiler->physical().driver, compiled);
    print(chip, kernel, figures);
    good = keeps_canon(chip, kernel, figures) && keeps_units(chip, kernel, compiled, figures) && good;
    if (folder == nullptr) continue;
    std::string file = folder;
    file.append("/").append(chip).append("-").append(kernel_info(kernel.key.id).name).append("-");
    file.append(std::to_string(number)).append(".s");
    std::ofstream out(file);
    out << "; " << kernel.example << ": " << constants_of(kernel.key) << "\n";
    for (const auto& [name, value] : compiled.statistics) out << "; " << name << ": " << value << "\n";
    out << compiled.listing();
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) {
  const char* folder = argc > 2 && std::strcmp(argv[2], "-") != 0 ? argv[2] : nullptr;
  const int part = argc > 3 ? std::atoi(argv[3]) : -1;
  return heed::gpu_tests::run(argc > 1 ? argv[1] : "device", folder, part, argc > 4);
}
