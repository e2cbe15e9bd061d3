#include "gpu/figures.hpp"

#include <algorithm>

namespace heed::gpu_tests {
namespace {

// A driver's names for the figures; null if it does not report one.
struct Names {
  std::string_view driver;  // the beginning of its name
  const char *registers, *scalar_registers, *spills, *more_spills, *scratch, *shared, *occupancy, *instructions,
      *cycles, *listing, *fills = nullptr, *messages = nullptr;
};

constexpr Names kDrivers[] = {
    {"radv", "VGPRs", "SGPRs", "Spilled VGPRs", "Spilled SGPRs", "Scratch size", "LDS size", "Subgroups per SIMD",
     "Instructions", "Latency", "ACO IR"},
    {"NVK", "Number of GPRs", nullptr, "Spills to memory", nullptr, "SLM size", nullptr, "Max warps/SM",
     "Instruction count", "Static cycle count", "NAK assembly"},
    {"Honeykrisp", "GPRs", "Uniforms", "Spills", nullptr, "Scratch", nullptr, "Threads", "Instructions", "ALU",
     nullptr},
    {"turnip", "Registers used", nullptr, "STP Count", nullptr, nullptr, nullptr, "Max Waves Per Core",
     "Instruction Count", nullptr, "IR3 Assembly"},
    {"Intel open-source Mesa", "Max live registers", nullptr, "Spills", nullptr, "Scratch Memory Size",
     "Workgroup Memory Size", "Subgroup size", "Instructions", "Cycles", "GEN Assembly", "Fills", "SENDs"},
    // "Local Memory Size" of NVIDIA's own driver is the same for all kernels, so it is not read.
    {"NVIDIA", "Register Count", nullptr, nullptr, nullptr, "Stack Size", "Shared Memory Size", nullptr, nullptr,
     nullptr, nullptr}};

}  // namespace

Figures figures_of(std::string_view driver, const Compiled& compiled) {
  const auto* names = std::find_if(std::begin(kDrivers), std::end(kDrivers),
                                   [&](const Names& one) { return driver.starts_with(one.driver); });
  Figures figures;
  if (names == std::end(kDrivers)) return figures;
  const auto of = [&](const char* name) { return name == nullptr ? 0.0 : compiled.statistic(name); };
  figures.registers = of(names->registers);
  figures.scalar_registers = of(names->scalar_registers);
  figures.spills = of(names->spills) + of(names->more_spills);
  figures.fills = of(names->fills);
  figures.messages = of(names->messages);
  figures.scratch = of(names->scratch);
  figures.shared = of(names->shared);
  figures.occupancy = of(names->occupancy);
  figures.instructions = of(names->instructions);
  figures.cycles = of(names->cycles);
  if (names->listing == nullptr) return figures;
  const Listing listing = read_listing(compiled.text(names->listing));
  figures.multiply_add_percent = listing.whole.percent(listing.whole.multiply_adds);
  figures.fused = listing.whole.fused;
  figures.approximations = listing.whole.approximations;
  figures.matrix_percent = listing.whole.percent(listing.whole.matrix);
  figures.hottest = listing.hottest;
  return figures;
}

}  // namespace heed::gpu_tests
