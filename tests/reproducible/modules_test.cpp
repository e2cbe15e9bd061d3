// The SPIR-V of reproducible plans' kernels has nothing that a driver may rewrite.
#include <set>

#include "harness/catch.hpp"
#include "harness/kernel_words.hpp"

namespace heed::reproducible {
namespace {

// Numbers of the SPIR-V specification.
constexpr uint32_t kOpExtInst = 12, kOpExecutionMode = 16, kOpDecorate = 71;
constexpr uint32_t kNoContraction = 42, kKeepsInfinities = 4461, kRoundsToEven = 4462;
// FNegate is exact. Instructions on matrices and vectors leave the order of sums open, and divisions may be off by 2.5 ulp.
const std::set<uint32_t> kRounded = {129, 131, 133};  // FAdd, FSub, FMul
const std::set<uint32_t> kForbidden = {136, 140, 141, 142, 143, 144, 145, 146, 147, 148};
// Exact functions of GLSL.std.450: RoundEven, FAbs, Floor, and sign, minimum, maximum and clamp of integers.
const std::set<uint32_t> kExact = {2, 4, 7, 8, 38, 39, 41, 42, 44, 45};

struct Module {
  std::set<uint32_t> uncontracted, modes, functions;
  std::vector<std::pair<uint32_t, uint32_t>> operations;  // opcode, result id

  explicit Module(std::span<const uint32_t> whole) {
    for (size_t at = 5; at < whole.size();) {
      const uint32_t opcode = whole[at] & 0xffffu, length = whole[at] >> 16;
      REQUIRE(length > 0);
      const std::span<const uint32_t> words = whole.subspan(at);
      if (opcode == kOpDecorate && words[2] == kNoContraction) uncontracted.insert(words[1]);
      if (opcode == kOpExecutionMode && length > 3 && words[3] == 32) modes.insert(words[2]);
      if (opcode == kOpExtInst) functions.insert(words[4]);
      if (kRounded.contains(opcode) || kForbidden.contains(opcode)) operations.emplace_back(opcode, words[2]);
      at += length;
    }
  }
};

}  // namespace

TEST_CASE("reproducible: kernels have exact operations alone, and tell drivers to leave them as they are",
          "[reproducible]") {
  int kernels = 0, rounded = 0;
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    const KernelInfo& info = kernel_info(static_cast<KernelId>(i));
    if (!std::string_view(info.name).ends_with("_canon")) continue;
    INFO(info.name);
    ++kernels;
    const Module module(kernel_words(static_cast<KernelId>(i)));
    CHECK(module.modes.contains(kRoundsToEven));
    CHECK(module.modes.contains(kKeepsInfinities));
    for (const uint32_t function : module.functions) {
      INFO("GLSL.std.450 instruction " << function);
      CHECK(kExact.contains(function));
    }
    for (const auto& [opcode, result] : module.operations) {
      INFO("opcode " << opcode << " makes " << result);
      CHECK_FALSE(kForbidden.contains(opcode));
      CHECK(module.uncontracted.contains(result));
      ++rounded;
    }
  }
  CHECK(kernels >= 11);
  CHECK(rounded > 50);
}

}  // namespace heed::reproducible
