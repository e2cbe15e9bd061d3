// Reads from the embedded SPIR-V what each kernel requires of a device.

#include "harness/catch.hpp"
#include "harness/kernel_words.hpp"
#include "kernels/dispatch.hpp"

namespace heed {
namespace {

// Numbers of the SPIR-V specification.
constexpr uint32_t kMagic = 0x07230203, kVersion13 = 0x00010300;
constexpr uint32_t kOpSource = 3, kOpCapability = 17, kOpTypePointer = 32, kOpVariable = 59;
constexpr uint32_t kCapabilityShader = 1, kCapabilityStorageBuffer16 = 4433;
// GroupNonUniform, VulkanMemoryModel, CooperativeMatrixKHR and Float16, which engine/vulkan/matrix_units requires. For bf16 the last is
// replaced by BFloat16TypeKHR and BFloat16CooperativeMatrixKHR.
constexpr std::array<uint32_t, 3> kMatrixCapabilities = {61, 5345, 6022};
constexpr uint32_t kCapabilityFloat16 = 9;
// DotProductInput4x8BitPacked and DotProduct, which need shaderIntegerDotProduct.
constexpr std::array<uint32_t, 2> kDotCapabilities = {6018, 6019};
constexpr std::array<uint32_t, 2> kBfloatCapabilities = {5116, 5118};
constexpr uint32_t kCapabilityInt8 = 39;
constexpr uint32_t kCapabilitySubgroup = 61, kCapabilityArithmetic = 63, kCapabilityBallot = 64,
                   kCapabilityShuffle = 65;
// RoundingModeRTE and SignedZeroInfNanPreserve, which devices of reproducible plans must support.
constexpr std::array<uint32_t, 2> kFloatControls = {4466, 4467};
constexpr uint32_t kStorageClassWorkgroup = 4;

struct Module {
  uint32_t version = 0;
  std::set<uint32_t> capabilities;
  bool has_source = false;
  uint32_t workgroup_variables = 0;

  explicit Module(std::span<const uint32_t> words) {
    version = words[1];
    for (size_t at = 5; at < words.size();) {
      const uint32_t opcode = words[at] & 0xffffu, length = words[at] >> 16;
      REQUIRE(length > 0);
      if (opcode == kOpCapability) capabilities.insert(words[at + 1]);
      if (opcode == kOpSource) has_source = true;
      if (opcode == kOpVariable && words[at + 3] == kStorageClassWorkgroup) ++workgroup_variables;
      at += length;
    }
  }
};

// Subgroup operations of the variants that select_kernels chooses only on devices that support them.
std::set<uint32_t> subgroup_capabilities(const std::string& name) {
  if (name.starts_with("attention") && (name.ends_with("_matrix") || name.ends_with("_vector")))
    return {kCapabilitySubgroup, kCapabilityShuffle};
  if (name == "matmul_f32_matrix" || name == "matmul_f32_quantized_matrix")
    return {kCapabilitySubgroup, kCapabilityArithmetic, kCapabilityBallot};
  if (name.ends_with("_bytes")) return {kCapabilitySubgroup, kCapabilityShuffle};
  if (name.ends_with("_subgroup")) return {kCapabilitySubgroup, kCapabilityArithmetic};
  return {};
}

// All others read and write words, so that they run without 16-bit storage, including casts from 16-bit types.
bool stores_16_bits(std::string_view name) {
  if (name.starts_with("attention")) return name.ends_with("_matrix");
  if (name.ends_with("_canon")) return false;
  constexpr std::string_view kSplit[] = {"matmul_",
                                         "elementwise_",
                                         "embedding_f16",
                                         "embedding_bf16",
                                         "embedding_backward_",
                                         "rotary_",
                                         "cross_entropy_backward_",
                                         "softmax_backward_",
                                         "norm_backward_f16",
                                         "norm_backward_bf16"};
  const auto begins = [&](std::string_view split) { return name.starts_with(split); };
  if (std::none_of(std::begin(kSplit), std::end(kSplit), begins) ||
      (name.starts_with("embedding") && name.ends_with("_quantized")))
    return false;
  return name.find("f16") != name.npos && !(name.ends_with("_f32") && !name.starts_with("matmul"));
}

TEST_CASE("every kernel is SPIR-V that asks only for what its storage and operations need") {
  std::set<std::string> names;
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    const KernelInfo& info = kernel_info(static_cast<KernelId>(i));
    const std::string name = info.name;
    INFO(name);
    CHECK(names.insert(name).second);
    const std::span<const uint32_t> words = kernel_words(static_cast<KernelId>(i));
    REQUIRE(words.size() > 5);
    REQUIRE(words[0] == kMagic);
    CHECK(info.binding_count >= 2);
    CHECK(info.binding_count <= kMaxBindings);
    CHECK(info.push_bytes <= kMaxPushBytes);
    CHECK(info.push_bytes % 4 == 0);
    const Module module(words);
    CHECK(module.version == kVersion13);
    std::set<uint32_t> expected = {kCapabilityShader};
    expected.merge(subgroup_capabilities(name));
    if (stores_16_bits(name)) expected.insert(kCapabilityStorageBuffer16);
    if (name.ends_with("_matrix")) {
      expected.insert(kMatrixCapabilities.begin(), kMatrixCapabilities.end());
      if (name.find("_bf16_") == std::string::npos)
        expected.insert(kCapabilityFloat16);
      else
        expected.insert(kBfloatCapabilities.begin(), kBfloatCapabilities.end());
    }
    if (name.ends_with("_bytes")) {
      expected.insert(kMatrixCapabilities.begin(), kMatrixCapabilities.end());
      expected.insert(kCapabilityInt8);
    }
    if (name.ends_with("_dot")) expected.insert(kDotCapabilities.begin(), kDotCapabilities.end());
    if (name.ends_with("_canon")) expected.insert(kFloatControls.begin(), kFloatControls.end());
    CHECK(module.capabilities == expected);
  }
  CHECK(names.size() == kKernelCount);
}

TEST_CASE("kernels share modules, and know their twins") {
  std::set<const PackedSpirv*> modules;
  std::set<uint64_t> digests;
  size_t bytes = 0;
  for (uint32_t i = 0; i < kKernelCount; ++i) {
    const KernelInfo& info = kernel_info(static_cast<KernelId>(i));
    digests.insert(info.module->digest);
    if (modules.insert(info.module).second) bytes += info.module->word_count * sizeof(uint32_t);
    INFO(info.name);
    for (const auto& [twin, ending] : {std::pair{info.subgroup, "_subgroup"}, std::pair{info.canon, "_canon"}}) {
      if (twin == kNoTwin || twin == static_cast<KernelId>(i)) continue;
      CHECK(kernel_info(twin).name == info.name + std::string(ending));
      CHECK(kernel_info(twin).types == info.types);
      CHECK(kernel_info(twin).push_bytes == info.push_bytes);
      CHECK(kernel_info(twin).module != info.module);
    }
  }
  // Storage types and functions are constants: a new operation adds modules, a new type or function adds none.
  CHECK(modules.size() <= 90);
  CHECK(digests.size() == modules.size());
  CHECK(bytes <= 3 << 20);
  // The type of inputs, of results, and of weights.
  CHECK(kernel_info(KernelId::LayernormBf16).module == kernel_info(KernelId::LayernormF32).module);
  CHECK(kernel_info(KernelId::LayernormBf16).types == 0x020202);
  CHECK(kernel_info(KernelId::RmsnormF16).module == kernel_info(KernelId::LayernormF16).module);
  CHECK(kernel_info(KernelId::ElementwiseBf16).module == kernel_info(KernelId::ElementwiseF32F16).module);
  CHECK(kernel_info(KernelId::ElementwiseBf16).module != kernel_info(KernelId::ElementwiseBf16F32).module);
  CHECK(kernel_info(KernelId::ElementwiseF16Bf16).types == 0x010201);
  CHECK(kernel_info(KernelId::ProjectionF32Narrow).types == 0x010000);
  CHECK(kernel_info(KernelId::PlaceU8).canon == KernelId::PlaceU8);
}

TEST_CASE("a damaged module is a Status, and leaves no words") {
  const PackedSpirv& whole = *kernel_info(KernelId::MatmulF32).module;
  std::vector<uint32_t> words;
  REQUIRE(unpack(whole, &words) == Status::Ok);
  REQUIRE(words.size() == whole.word_count);
  const auto refused = [&](const PackedSpirv& damaged) {
    CHECK(unpack(damaged, &words) == Status::InvalidFile);
    CHECK(words.empty());
  };
  std::vector<unsigned char> bytes(whole.bytes, whole.bytes + whole.byte_count);
  PackedSpirv copy = whole;
  copy.bytes = bytes.data();
  for (size_t at = 0; at < bytes.size(); at += bytes.size() / 64) {
    INFO("byte " << at);
    bytes[at] ^= 0x10;
    refused(copy);
    bytes[at] ^= 0x10;
  }
  for (const uint32_t fewer : {0u, 1u, whole.byte_count / 2, whole.byte_count - 1}) {
    copy.byte_count = fewer;
    refused(copy);
  }
  copy = whole;
  for (const uint32_t other : {1u, whole.word_count - 1, whole.word_count + 1}) {
    copy.word_count = other;
    refused(copy);
  }
  CHECK(unpack(whole, &words) == Status::Ok);
}

TEST_CASE("the enumerators of KernelId name the kernels of the table") {
  CHECK(std::string(kernel_info(KernelId::MatmulF32).name) == "matmul_f32");
  CHECK(std::string(kernel_info(KernelId::L2NormalizeF16).name) == "l2_normalize_f16");
  CHECK(std::string(kernel_info(KernelId::ElementwiseF32F16).name) == "elementwise_f32_f16");
  CHECK(std::string(kernel_info(KernelId::ElementwiseBf16F16).name) == "elementwise_bf16_f16");
  CHECK(std::string(kernel_info(static_cast<KernelId>(kKernelCount - 1)).name) == "update_f32_canon");
}

}  // namespace
}  // namespace heed
