// Timestamp rules and segments, written by hand.
#include "speech/times.hpp"

#include "harness/catch.hpp"

namespace heed::test {
namespace {

constexpr speech::Times kTimes = {.end = 10, .first = 20, .words = 100};
using speech::Limits;

bool same(const speech::Stretch& a, const speech::Stretch& b) {
  return a.begin == b.begin && a.end == b.end && a.from == b.from && a.to == b.to;
}

struct Cut {
  std::vector<int32_t> ids;
  std::vector<speech::Stretch> stretches;
  int32_t next;
};

}  // namespace

TEST_CASE("times: what may follow", "[speech]") {
  const auto behind = [](std::vector<int32_t> ids) { return kTimes.behind(ids); };
  CHECK(behind({}) == Limits{20, 20, 20, 71});            // a time within the first second
  CHECK(behind({23}) == Limits{0, 20, 100, 100});         // then text
  CHECK(behind({23, 5}) == Limits{0, 20, 24, 100});       // more text, the end, or a later time
  CHECK(behind({23, 5, 30}) == Limits{10, 20, 30, 100});  // the end, or where the next segment begins
  CHECK(behind({23, 5, 30, 30}) == Limits{0, 20, 100, 100});
  CHECK(behind({23, 5, 99}) == Limits{10, 20, 99, 100});
  CHECK(behind({23, 5, 99, 99, 5}) == Limits{0, 20, 100, 100});  // no time is left
  CHECK(behind({5}) == Limits{0, 20, 20, 100});                  // no time yet
  // The first second may be longer than the window.
  CHECK(speech::Times{.end = 10, .first = 20, .words = 40}.behind({}) == Limits{20, 20, 20, 40});
}

TEST_CASE("times: segments of a window", "[speech]") {
  const Cut cuts[] = {
      {{}, {}, 50},
      {{20, 1, 2}, {{0, 3, 0, 50}}, 50},                                     // its end is missing
      {{22, 1, 2, 40}, {{0, 4, 2, 20}}, 50},                                 // no speech follows it
      {{22, 1, 40, 41, 2, 3}, {{0, 3, 2, 20}}, 20},                          // the rest is decoded again
      {{22, 1, 40, 41, 2, 60}, {{0, 3, 2, 20}, {3, 6, 21, 40}}, 50},         //
      {{22, 1, 40, 40, 2, 60, 60, 3}, {{0, 3, 2, 20}, {3, 6, 20, 40}}, 40},  //
      {{22, 1, 90, 90, 2, 99}, {{0, 3, 2, 50}, {3, 6, 50, 50}}, 50},         // past the window's end
      {{20, 20, 1}, {{0, 1, 0, 0}}, 50},                                     // continues all the same
      {{1, 2}, {{0, 2, 0, 50}}, 50},                                         // no times
  };
  for (const Cut& cut : cuts) {
    int32_t next = 0;
    const std::vector<speech::Stretch> got = speech::stretches(kTimes, cut.ids, 50, &next);
    INFO("ids " << cut.ids.size() << ", next " << next);
    CHECK(next == cut.next);
    CHECK(std::equal(got.begin(), got.end(), cut.stretches.begin(), cut.stretches.end(), same));
  }
}

TEST_CASE("times: ids that repeat each other have a low entropy", "[speech]") {
  std::vector<int32_t> ids(31, 7);
  CHECK(std::isinf(speech::entropy_of_last(ids)));
  ids.push_back(7);
  CHECK(speech::entropy_of_last(ids) == 0.0f);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i % 2);
  CHECK(std::fabs(speech::entropy_of_last(ids) - std::log(2.0f)) < 1e-6f);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  CHECK(std::fabs(speech::entropy_of_last(ids) - std::log(32.0f)) < 1e-6f);
}

}  // namespace heed::test
