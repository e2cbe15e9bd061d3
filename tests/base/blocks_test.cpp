#include "base/blocks.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "harness/catch.hpp"
#include "harness/source_path.hpp"

namespace heed {
namespace {

// The numbers of types in GGUF files.
DType type_of(uint32_t number) {
  switch (number) {
    case 2: return DType::Q4_0;
    case 3: return DType::Q4_1;
    case 6: return DType::Q5_0;
    case 7: return DType::Q5_1;
    case 8: return DType::Q8_0;
    case 12: return DType::Q4_K;
    case 13: return DType::Q5_K;
    case 14: return DType::Q6_K;
    default: return DType::F32;
  }
}

}  // namespace

TEST_CASE("blocks have the values of gguf.quants.dequantize, bit for bit", "[base][quantized]") {
  std::ifstream file(test::source_path("tests/base/blocks.bin"), std::ios::binary);
  REQUIRE(file.good());
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::set<DType> seen;
  size_t at = 0;
  while (at < bytes.size()) {
    uint32_t head[4];  // type, elements and bytes of a block, number of blocks
    REQUIRE(at + sizeof head <= bytes.size());
    std::memcpy(head, bytes.data() + at, sizeof head);
    at += sizeof head;
    const DType type = type_of(head[0]);
    INFO(to_string(type));
    CHECK(is_quantized(type));
    CHECK(block_of(type).elements == head[1]);
    CHECK(block_of(type).bytes == head[2]);
    const size_t blocks = size_t{head[2]} * head[3], values = size_t{head[1]} * head[3] * sizeof(float);
    REQUIRE(at + blocks + values <= bytes.size());
    std::vector<float> widened(head[1] * head[3]), expected(widened.size());
    widen_blocks(type, reinterpret_cast<const std::byte*>(bytes.data() + at), head[3], widened.data());
    std::memcpy(expected.data(), bytes.data() + at + blocks, values);
    at += blocks + values;
    for (size_t i = 0; i < widened.size(); ++i)
      if (std::bit_cast<uint32_t>(widened[i]) != std::bit_cast<uint32_t>(expected[i]))
        FAIL("value " << i << " is " << widened[i] << ", not " << expected[i]);
    seen.insert(type);
  }
  CHECK(seen.size() == 8);
}

TEST_CASE("every type has a block, a name of its own, and bytes", "[base][quantized]") {
  std::set<std::string> names;
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    INFO(to_string(type));
    const TypeBlock block = block_of(type);
    CHECK(block.elements > 0);
    CHECK(is_quantized(type) == (size_of(type) == 0));
    CHECK(bytes_of(type, static_cast<uint64_t>(block.elements) * 3) == static_cast<uint64_t>(block.bytes) * 3);
    names.insert(to_string(type));
  }
  CHECK(names.size() == kDTypes);
  CHECK(names.count("unknown") == 0);
  const auto none = static_cast<DType>(kDTypes);
  CHECK(block_of(none).elements == 0);
  CHECK(size_of(none) == 0);
  CHECK(bytes_of(none, 64) == 0);
}

}  // namespace heed
