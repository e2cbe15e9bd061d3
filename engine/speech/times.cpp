#include "speech/times.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::speech {

Limits Times::behind(std::span<const int32_t> ids) const {
  constexpr int32_t kLatestBegin = 50;  // steps of 0.02 s, one second
  if (ids.empty()) return {first, first, first, std::min(words, first + kLatestBegin + 1)};
  const bool was_time = is_time(ids.back());
  const bool is_pair = was_time && (ids.size() < 2 || is_time(ids[ids.size() - 2]));
  // A segment may end at the time where the next one begins, but no segment is empty.
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return is_time(id); });
  const int32_t earliest = last == ids.rend() ? first : was_time && !is_pair ? *last : std::min(words, *last + 1);
  if (is_pair) return {0, first, words, words};
  if (was_time) return {end, first, earliest, words};
  return {0, first, earliest, words};
}

std::vector<Stretch> stretches(const Times& times, std::span<const int32_t> ids, int32_t length, int32_t* next) {
  std::vector<Stretch> all;
  *next = length;
  const size_t count = ids.size();
  const auto step = [&](size_t i) { return std::min(length, ids[i] - times.first); };
  size_t begin = 0;
  const auto add = [&](size_t end) {
    const int32_t from = times.is_time(ids[begin]) ? step(begin) : 0;
    all.push_back({begin, end, from, std::max(from, step(end - 1))});
    begin = end;
  };
  for (size_t i = 1; i < count; ++i)
    if (times.is_time(ids[i - 1]) && times.is_time(ids[i])) add(i);
  const bool ends_in_time = count > 0 && times.is_time(ids[count - 1]) && (count < 2 || !times.is_time(ids[count - 2]));
  if (all.empty()) {
    // A single segment, which ends at its last time, or with the window.
    int32_t from = 0, to = length;
    if (count > 0 && times.is_time(ids[0])) from = step(0);
    for (size_t i = 1; i < count; ++i)
      if (times.is_time(ids[i]) && step(i) > from) to = step(i);
    if (count > 0) all.push_back({0, count, from, std::max(from, to)});
  } else if (ends_in_time) {
    add(count);  // there is no speech after it
  } else if (all.back().to > 0) {
    *next = all.back().to;
  }
  return all;
}

float entropy_of_last(std::span<const int32_t> ids) {
  constexpr size_t kLast = 32;
  if (ids.size() < kLast) return std::numeric_limits<float>::infinity();
  std::vector<int32_t> last(ids.end() - kLast, ids.end());
  std::sort(last.begin(), last.end());
  float entropy = 0;
  for (auto from = last.begin(); from != last.end();) {
    const auto to = std::upper_bound(from, last.end(), *from);
    const float share = static_cast<float>(to - from) / static_cast<float>(kLast);
    entropy -= share * std::log(share);
    from = to;
  }
  return entropy;
}

}  // namespace heed::speech
