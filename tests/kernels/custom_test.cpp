// A device accepts workgroups of a host's shader up to its limits. Needs no device.
#include <fstream>

#include "harness/source_path.hpp"
#include "kernels/lowered.hpp"

using namespace heed;

namespace {

// volume.comp. Its size is in specialization constants 0, 1 and 2 through WorkgroupSize, or with `by_mode` in an OpExecutionModeId with
// LocalSizeId, as newer compilers write it.
std::vector<uint32_t> volume(bool by_mode) {
  std::ifstream file(test::source_path("tests/custom/volume.spv"), std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  std::array<uint32_t, 3> ids{};
  size_t mode = 0;
  for (size_t at = 5; by_mode && at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffffu;
    if (op == 16) mode = at;                                                           // OpExecutionMode
    if (op == 71 && words[at + 2] == 11 && words[at + 3] == 25) words[at + 3] = 5000;  // no longer WorkgroupSize
    if (op == 71 && words[at + 2] == 1) ids[words[at + 3]] = words[at + 1];            // SpecId
  }
  if (by_mode) {
    words[mode] = 6u << 16 | 331u;
    words[mode + 2] = 38;
    std::copy(ids.begin(), ids.end(), words.begin() + static_cast<ptrdiff_t>(mode) + 3);
  }
  return words;
}

Graph graph_of_volume(bool by_mode, const std::array<uint32_t, 3>& size) {
  const std::vector<uint32_t> words = volume(by_mode);
  const CustomWord push[] = {16u, 16u, 16u};
  const CustomOutput outputs[] = {{{16, 16, 16}}};
  Graph g;
  g.output("y", g.custom({.name = "volume", .spirv = words, .constants = size, .push = push, .outputs = outputs},
                         {g.input("x", {16, 16, 16})})
                    .outputs[0]);
  return g;
}

}  // namespace

TEST_CASE("custom: a box may hold more invocations than a row", "[kernels][custom]") {
  struct Row {
    std::array<uint32_t, 3> size;
    const char* says;  // null: the device accepts it
  };
  const Row rows[] = {{{8, 8, 8}, nullptr},
                      {{128, 4, 1}, nullptr},
                      {{4, 4, 64}, "workgroups of 1024 invocations; this device has at most 512"},
                      {{129, 1, 1}, "workgroups of 129 along axis 0; this device has at most 128"},
                      {{1, 1, 65}, "workgroups of 65 along axis 2; this device has at most 64"},
                      {{4, 0, 4}, "workgroups of 0 along axis 1"}};
  Capabilities device;
  device.max_group_invocations = 512;
  device.local_size_id = true;
  for (const bool by_mode : {false, true})
    for (const Row& row : rows) {
      INFO(row.size[0] << " x " << row.size[1] << " x " << row.size[2] << ", by mode: " << by_mode);
      const Graph g = graph_of_volume(by_mode, row.size);
      kernel_tests::Lowered lowered(g, false, device);
      KernelList kernels;
      CHECK(lowered.select(lowered.pass(Op::Custom), &kernels) ==
            (row.says == nullptr ? Status::Ok : Status::Unsupported));
      CHECK_THAT(lowered.messages.text, holds(row.says == nullptr ? "" : row.says));
    }
}

TEST_CASE("custom: a size by LocalSizeId needs a device that may take it", "[kernels][custom]") {
  for (const bool by_mode : {false, true})
    for (const bool may : {false, true}) {
      Capabilities device;
      device.local_size_id = may;
      const Graph g = graph_of_volume(by_mode, {4, 4, 4});
      kernel_tests::Lowered lowered(g, false, device);
      KernelList kernels;
      CHECK(lowered.select(lowered.pass(Op::Custom), &kernels) == (by_mode && !may ? Status::Unsupported : Status::Ok));
      CHECK_THAT(lowered.messages.text, holds(by_mode && !may ? "needs maintenance4" : ""));
    }
}
