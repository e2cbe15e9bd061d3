// The size of a shader's push constants, computed from the types and the layout of their members.
#include "base/spirv.hpp"

#include "harness/catch.hpp"

using namespace heed;

namespace {

// Ids of the types in all modules below.
enum : uint32_t {
  kMain = 1,
  kHalf,
  kWord,
  kLong,
  kVec3,
  kMat3x2,
  kFive,
  kArray,
  kRows,
  kInner,
  kBlock,
  kPointer,
  kVariable,
  kBound
};
constexpr uint32_t kMemberDecorate = 72, kDecorate = 71, kStruct = 30, kOffset = 35, kArrayStride = 6;
constexpr uint32_t kRowMajor = 4, kMatrixStride = 7, kSpecId = 1;

struct Module {
  std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, kBound, 0};
  void op(uint32_t code, std::initializer_list<uint32_t> operands) {
    words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | code);
    words.insert(words.end(), operands);
  }
  // Adds a block whose second member has the type `member`, at byte 8.
  void block(uint32_t member) {
    op(kStruct, {kBlock, kWord, member});
    op(32, {kPointer, 9, kBlock});
    op(59, {kPointer, kVariable, 9});
  }
};

Module module_with(uint32_t member, const std::function<void(Module&)>& decorations) {
  Module m;
  m.op(15, {5, kMain, 0x6e69616d, 0});  // "main"
  m.op(kMemberDecorate, {kBlock, 0, kOffset, 0});
  m.op(kMemberDecorate, {kBlock, 1, kOffset, 8});
  m.op(kMemberDecorate, {kInner, 1, kOffset, 16});
  m.op(kDecorate, {kFive, kSpecId, 0});
  m.op(kDecorate, {kRows, kArrayStride, 64});
  decorations(m);
  m.op(22, {kHalf, 16});
  m.op(21, {kWord, 32, 0});
  m.op(21, {kLong, 64, 0});
  m.op(23, {kVec3, kWord, 3});
  m.op(24, {kMat3x2, kVec3, 2});
  m.op(50, {kWord, kFive, 5});
  m.op(28, {kArray, kWord, kFive});
  m.op(28, {kRows, kArray, kFive});
  m.op(kStruct, {kInner, kWord, kVec3});
  m.block(member);
  return m;
}

}  // namespace

TEST_CASE("spirv: push constants end where their last member does", "[custom]") {
  struct Row {
    const char* what;
    uint32_t member;
    std::function<void(Module&)> decorations;
    std::vector<uint32_t> constants;
    uint32_t bytes;
  };
  const auto none = [](Module&) {};
  const auto stride = [](Module& m) { m.op(kDecorate, {kArray, kArrayStride, 8}); };
  const Row rows[] = {{"a half", kHalf, none, {}, 8 + 2},
                      {"a word", kWord, none, {}, 8 + 4},
                      {"a number of 64 bits", kLong, none, {}, 8 + 8},
                      {"a vector", kVec3, none, {}, 8 + 12},
                      {"an array", kArray, stride, {}, 8 + 4 * 8 + 4},
                      {"an array whose length is specialized", kArray, stride, {9}, 8 + 8 * 8 + 4},
                      {"an array of arrays", kRows, stride, {}, 8 + 4 * 64 + 4 * 8 + 4},
                      {"columns of a matrix",
                       kMat3x2,
                       [](Module& m) { m.op(kMemberDecorate, {kBlock, 1, kMatrixStride, 16}); },
                       {},
                       8 + 16 + 12},
                      {"rows of a matrix",
                       kMat3x2,
                       [](Module& m) {
                         m.op(kMemberDecorate, {kBlock, 1, kMatrixStride, 16});
                         m.op(kMemberDecorate, {kBlock, 1, kRowMajor});
                       },
                       {},
                       8 + 2 * 16 + 8},
                      {"a struct", kInner, none, {}, 8 + 16 + 12},
                      {"members that are not in their order",
                       kWord,
                       [](Module& m) { m.op(kMemberDecorate, {kBlock, 0, kOffset, 96}); },
                       {},
                       96 + 4},
                      {"an offset that wraps",
                       kVec3,
                       [](Module& m) { m.op(kMemberDecorate, {kBlock, 1, kOffset, UINT32_MAX - 3}); },
                       {},
                       UINT32_MAX}};
  for (const Row& row : rows) {
    INFO(row.what);
    const Module m = module_with(row.member, row.decorations);
    SpirvInfo info;
    REQUIRE(read_spirv(m.words, "main", row.constants, &info) == "");
    CHECK(info.push_bytes == row.bytes);
  }
}

TEST_CASE("spirv: arrays of themselves have an end", "[custom]") {
  Module m = module_with(kRows, [](Module& d) { d.op(kDecorate, {kArray, kArrayStride, 8}); });
  m.op(28, {kArray, kRows, kFive});
  m.block(kArray);
  SpirvInfo info;
  REQUIRE(read_spirv(m.words, "main", {}, &info) == "");
  CHECK(info.push_bytes == UINT32_MAX);
}
