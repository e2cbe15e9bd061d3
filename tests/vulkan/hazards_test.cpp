// The barrier policy, without a device.
#include "vulkan/recording/hazards.hpp"

#include "harness/catch.hpp"

using heed::vulkan::Access;
using heed::vulkan::HazardTracker;

namespace {

Access reads(uint64_t buffer, uint64_t begin, uint64_t end) { return {buffer, begin, end, false}; }
Access writes(uint64_t buffer, uint64_t begin, uint64_t end) { return {buffer, begin, end, true}; }

bool enter(HazardTracker& tracker, std::vector<Access> accesses) { return tracker.enter(accesses); }

}  // namespace

TEST_CASE("hazards: the first dispatch needs no barrier", "[vulkan][hazards]") {
  HazardTracker tracker;
  CHECK_FALSE(enter(tracker, {reads(1, 0, 64), writes(1, 64, 128)}));
}

TEST_CASE("hazards: every pair of accesses to the same bytes", "[vulkan][hazards]") {
  struct Row {
    const char* name;
    Access first, second;
    bool barrier;
  };
  const Row rows[] = {
      {"read after read", reads(1, 0, 64), reads(1, 0, 64), false},
      {"read after write", writes(1, 0, 64), reads(1, 0, 64), true},
      {"write after read", reads(1, 0, 64), writes(1, 0, 64), true},
      {"write after write", writes(1, 0, 64), writes(1, 0, 64), true},
      {"another buffer", writes(1, 0, 64), reads(2, 0, 64), false},
      {"the bytes right behind", writes(1, 0, 64), reads(1, 64, 128), false},
      {"the bytes right before", writes(1, 64, 128), reads(1, 0, 64), false},
      {"one byte in common at the end", writes(1, 0, 64), reads(1, 63, 128), true},
      {"one byte in common at the start", writes(1, 64, 128), reads(1, 0, 65), true},
      {"a part within", writes(1, 0, 1024), reads(1, 256, 260), true},
      {"the whole around", writes(1, 256, 260), reads(1, 0, 1024), true},
      {"an empty range", writes(1, 0, 64), reads(1, 32, 32), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    HazardTracker tracker;
    CHECK_FALSE(enter(tracker, {row.first}));
    CHECK(enter(tracker, {row.second}) == row.barrier);
  }
}

TEST_CASE("hazards: a barrier settles everything before it", "[vulkan][hazards]") {
  HazardTracker tracker;
  CHECK_FALSE(enter(tracker, {writes(1, 0, 64)}));
  CHECK_FALSE(enter(tracker, {writes(2, 0, 64)}));
  CHECK(enter(tracker, {reads(1, 0, 64), writes(3, 0, 64)}));
  CHECK_FALSE(enter(tracker, {reads(2, 0, 64)}));  // the barrier for buffer 1 covered it
  CHECK(enter(tracker, {reads(3, 0, 64)}));        // written after that barrier
}

TEST_CASE("hazards: projections that share their input run side by side", "[vulkan][hazards]") {
  HazardTracker tracker;
  for (uint64_t i = 0; i < 3; ++i) CHECK_FALSE(enter(tracker, {reads(1, 0, 4096), writes(2, 512 * i, 512 * (i + 1))}));
  CHECK(enter(tracker, {reads(2, 0, 512), writes(2, 2048, 4096)}));
}

TEST_CASE("hazards: a dispatch that works in place does not conflict with itself", "[vulkan][hazards]") {
  HazardTracker tracker;
  CHECK_FALSE(enter(tracker, {reads(1, 0, 64), writes(1, 0, 64)}));
  CHECK(enter(tracker, {reads(1, 0, 64), writes(1, 0, 64)}));
}

TEST_CASE("hazards: reset forgets what came before", "[vulkan][hazards]") {
  HazardTracker tracker;
  CHECK_FALSE(enter(tracker, {writes(1, 0, 64)}));
  tracker.reset();
  CHECK_FALSE(enter(tracker, {reads(1, 0, 64)}));
}

TEST_CASE("hazards: a full tracker asks for a barrier and misses nothing", "[vulkan][hazards]") {
  HazardTracker tracker;
  uint32_t barriers = 0;
  // The tracker cannot merge ranges with gaps between them.
  for (uint64_t i = 0; i < 2 * HazardTracker::kCapacity; ++i)
    barriers += enter(tracker, {writes(1, 16 * i, 16 * i + 4)});
  CHECK(barriers == 1);
  const uint64_t last = 2 * HazardTracker::kCapacity - 1;
  CHECK(enter(tracker, {reads(1, 16 * last, 16 * last + 4)}));
}

TEST_CASE("hazards: against a list of all accesses since the last barrier", "[vulkan][hazards]") {
  // A tracker without merging and without a capacity, by the definition of hazards.
  std::vector<Access> since;
  HazardTracker tracker;
  uint32_t state = 7, extra = 0;
  const auto random = [&](uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  for (int i = 0; i < 5000; ++i) {
    std::vector<Access> accesses;
    for (uint32_t n = random(4) + 1; n > 0; --n) {
      const uint64_t begin = random(200);
      accesses.push_back({random(3) + 1, begin, begin + 1 + random(12), random(3) == 0});
    }
    bool needed = false;
    for (const Access& a : accesses)
      for (const Access& b : since)
        needed |= (a.write || b.write) && a.buffer == b.buffer && a.begin < b.end && b.begin < a.end;
    const bool barrier = tracker.enter(accesses);
    if (needed) CHECK(barrier);
    extra += barrier && !needed;
    if (barrier) since.clear();
    since.insert(since.end(), accesses.begin(), accesses.end());
  }
  CHECK(extra == 0);  // the tracker has room for all of these ranges
}
