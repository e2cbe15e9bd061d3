// The layout of quantized weights on GPUs: it has every byte of the file once, and every field where kernels may read it.
#include "kernels/matmul/planes.hpp"
#include "harness/catch.hpp"

namespace heed::kernel_tests {
namespace {

// The alignment that shaders/shared/blocks.glsl needs: 16 bytes for planes whose fields have as many, else a word of 4, or two of 2.
uint64_t alignment_of(const kernels::Plane& plane) { return plane.bytes % 16 == 0 ? 16 : 4; }

}  // namespace

TEST_CASE("planes: blocks of every quantized type are whole, and parts begin where kernels read them",
          "[kernels][quantized]") {
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    const std::span<const kernels::Plane> planes = kernels::planes_of(type);
    INFO(to_string(type));
    CHECK(planes.empty() == !is_quantized(type));
    std::vector<int> covered(is_quantized(type) ? static_cast<size_t>(block_of(type).bytes) : 0);
    for (size_t p = 0; p < planes.size(); ++p) {
      for (int64_t at = 0; at < planes[p].bytes; ++at) ++covered[static_cast<size_t>(planes[p].at + at)];
      // Also for an odd number of blocks.
      for (const int64_t all : {1, 2, 7})
        CHECK(static_cast<uint64_t>(kernels::offset_in_planes(type, p, 0, all)) % alignment_of(planes[p]) == 0);
    }
    CHECK(std::all_of(covered.begin(), covered.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("planes: a weight has as many bytes as its file, in pieces or at once", "[kernels][quantized]") {
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (!is_quantized(type)) continue;
    INFO(to_string(type));
    constexpr int64_t kCount = 7, kPiece = 2;
    const TypeBlock block = block_of(type);
    const std::array<int64_t, 1> shape = {kCount * block.elements};
    std::vector<std::byte> file(static_cast<size_t>(kCount * block.bytes));
    for (size_t at = 0; at < file.size(); ++at) file[at] = static_cast<std::byte>(at * 7 + at / 256);
    std::vector<std::byte> whole(file.size() + 1, std::byte{0x5a}), pieces(file.size());
    kernels::write_weight({"w", type, shape, file}, {"w", type, {shape[0]}, 0, file.size()}, whole.data());
    for (int64_t first = 0; first < kCount; first += kPiece)
      for (size_t p = 0; p < kernels::planes_of(type).size(); ++p)
        kernels::gather_plane(type, p, file.data() + first * block.bytes, std::min(kPiece, kCount - first),
                              pieces.data() + kernels::offset_in_planes(type, p, first, kCount));
    CHECK(whole.back() == std::byte{0x5a});
    whole.pop_back();
    CHECK(whole == pieces);
    std::sort(whole.begin(), whole.end());
    std::sort(file.begin(), file.end());
    CHECK(whole == file);
  }
}

}  // namespace heed::kernel_tests
