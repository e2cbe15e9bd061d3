// Folding of workgroup counts into three axes, and merging of dims.
#include <random>

#include "harness/catch.hpp"
#include "kernels/lowering.hpp"

namespace heed::kernels {
namespace {

TEST_CASE("folded group counts cover every total within the limit of an axis") {
  for (const int64_t total : {int64_t{1}, int64_t{15}, int64_t{16}, int64_t{17}, int64_t{65535}, int64_t{65536},
                              int64_t{16} * 32768, int64_t{16} * 32768 + 1, int64_t{1} << 31}) {
    const auto groups = fold_groups(total);
    INFO(total << ": " << groups[0] << " " << groups[1] << " " << groups[2]);
    for (const uint32_t count : groups) {
      CHECK(count >= 1);
      CHECK(count <= 65535);
    }
    // The last workgroup's index, as shared/groups.glsl computes it, is at least that of the last of `total` workgroups.
    const int64_t last =
        int64_t{groups[0]} - 1 + HEED_FOLD_X * (int64_t{groups[1]} - 1 + int64_t{HEED_FOLD_Y} * (groups[2] - 1));
    CHECK(last >= total - 1);
    // All linear indices exist only if an axis is full wherever the next axis is used.
    CHECK((groups[1] == 1 || groups[0] == HEED_FOLD_X));
    CHECK((groups[2] == 1 || groups[1] == HEED_FOLD_Y));
  }
}

int64_t offset_of(const Walk& walk, size_t view, int64_t index) {
  int64_t offset = 0;
  for (size_t i = kMaxRank; i-- > 0;) {
    offset += index % walk.dim[i] * walk.stride[view][i];
    index /= walk.dim[i];
  }
  return offset;
}

// A tensor of these dims with its axes in random order in memory, some of them broadcast.
View random_view(std::mt19937& random, const View& shape) {
  View view = shape;
  std::vector<int> order(static_cast<size_t>(shape.rank));
  for (int i = 0; i < shape.rank; ++i) order[static_cast<size_t>(i)] = i;
  if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
  int64_t stride = random() % 4 == 0 ? 3 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    view.stride[axis] = stride;
    stride *= shape.dim[axis];
    if (random() % 6 == 0) view.dim[axis] = 1;
  }
  return view;
}

TEST_CASE("merging dimensions changes no address and keeps the innermost ones") {
  std::mt19937 random(3);
  int merged = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    View shape;
    shape.rank = 1 + static_cast<int>(random() % 5);
    for (int i = 0; i < shape.rank; ++i) shape.dim[i] = 1 + static_cast<int64_t>(random() % 4);
    const View a = random_view(random, shape), b = random_view(random, shape);
    const View* const views[] = {&a, &b};
    const Walk before = make_walk(shape, views);
    for (const int keep : {0, 1}) {
      Walk after = before;
      merge_dims(&after, keep);
      REQUIRE(after.elements() == before.elements());
      REQUIRE(after.rank >= 1);
      REQUIRE(after.rank <= before.rank);
      merged += after.rank < before.rank;
      if (keep == 1) REQUIRE(after.dim[kMaxRank - 1] == before.dim[kMaxRank - 1]);
      for (size_t i = 0; i < static_cast<size_t>(kMaxRank - after.rank); ++i) REQUIRE(after.dim[i] == 1);
      for (int64_t e = 0; e < before.elements(); ++e)
        for (const size_t view : {size_t{0}, size_t{1}})
          REQUIRE(offset_of(after, view, e) == offset_of(before, view, e));
    }
  }
  CHECK(merged > 1000);
}

TEST_CASE("a contiguous tensor of any rank is one dimension") {
  View view;
  view.rank = 5;
  int64_t stride = 1;
  for (int i = 5; i-- > 0;) {
    view.dim[i] = i + 2;
    view.stride[i] = stride;
    stride *= i + 2;
  }
  const View* const views[] = {&view, &view};
  Walk walk = make_walk(view, views);
  merge_dims(&walk, 0);
  CHECK(walk.rank == 1);
  CHECK(walk.dim[kMaxRank - 1] == 720);
  walk = make_walk(view, views);
  merge_dims(&walk, 1);
  CHECK(walk.rank == 2);
  CHECK(walk.dim[kMaxRank - 2] == 120);
}

}  // namespace
}  // namespace heed::kernels
