// Times attention without masks, one size of each class.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "vulkan/tune/contest.hpp"
#include "vulkan/tune/kinds.hpp"

namespace heed::vulkan {
namespace {

constexpr int64_t kQueries[] = {1, 8, 64, 512}, kKeys[] = {64, 384, 1536, 3072};
constexpr int64_t kMostQueries = 512;
constexpr int64_t kHeads[] = {8, 24}, kHeadSizes[] = {64, 128};
constexpr int64_t kMostElements =
    3072 * 8 * 128;  // most elements of the keys; every plan allocates buffers for all inputs

// The graph of one type and head size, with data for the most keys; smaller sizes use its first part.
struct Setting {
  DType dtype;
  int64_t heads, head_size;

  int64_t row() const { return heads * head_size; }
  bool holds(int64_t keys) const { return keys * row() <= kMostElements; }
  int64_t most_keys() const {
    return *std::find_if(std::rbegin(kKeys), std::rend(kKeys), [&](int64_t keys) { return holds(keys); });
  }
  // The memory layout of operands is that of projections: [1, tokens, heads, head size].
  Graph graph() const {
    Graph g;
    const Dim queries = g.extent("queries", kMostQueries), keys = g.extent("keys", most_keys());
    const auto input = [&](const char* name, Dim tokens) {
      return g.transpose(g.input(name, {1, tokens, heads, head_size}, dtype), 1, 2);
    };
    const Tensor q = input("q", queries), k = input("k", keys), v = input("v", keys);
    g.output("y", g.transpose(g.attention(q, k, v).output, 1, 2));
    return g;
  }
};

// Predicts the longest time of a size from smaller sizes with the same queries and with the same keys.
class Forecast {
 public:
  double of(size_t queries, size_t keys) const {
    if (queries == 0 && keys == 0) return 0;
    double least = HUGE_VAL;
    if (queries > 0)
      least =
          ms_[queries - 1][keys] * static_cast<double>(kQueries[queries]) / static_cast<double>(kQueries[queries - 1]);
    if (keys > 0)
      least = std::min(
          least, ms_[queries][keys - 1] * static_cast<double>(kKeys[keys]) / static_cast<double>(kKeys[keys - 1]));
    return least;
  }
  void set(size_t queries, size_t keys, double ms) { ms_[queries][keys] = ms; }

 private:
  double ms_[std::size(kQueries)][std::size(kKeys)] = {};
};

class AttentionTuner {
 public:
  AttentionTuner(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedAttention>* attentions)
      : device_(device), deadline_(deadline), found_(*found), attentions_(*attentions) {}

  Status tune(const Setting& setting) {
    const Graph graph = setting.graph();
    const Weights none;
    Contest contest(device_, graph, none, setting.dtype);
    Status status = contest.begin();
    values_ = tuning_values(setting.dtype, std::max(setting.most_keys(), kMostQueries) * setting.row());
    Forecast forecast;
    for (size_t q = 0; q < std::size(kQueries); ++q)
      for (size_t k = 0; k < std::size(kKeys); ++k) {
        if (status != Status::Ok || is_late()) return status;
        double ms = HUGE_VAL;  // infinite for a skipped size, so that larger ones are skipped, too
        if (setting.holds(kKeys[k]) && forecast.of(q, k) <= kLongestMs)
          status = tune(setting, kQueries[q], kKeys[k], &contest, &ms);
        forecast.set(q, k, ms);
      }
    return status;
  }

  bool is_late() const { return !attentions_.empty() && deadline_.passed(); }

 private:
  std::span<const std::byte> rows(const Setting& setting, int64_t count) const {
    return std::span(values_).first(static_cast<size_t>(count * setting.row()) * size_of(setting.dtype));
  }

  Status tune(const Setting& setting, int64_t queries, int64_t keys, Contest* contest, double* ms) {
    const HostBuffer inputs[] = {{"q", rows(setting, queries)}, {"k", rows(setting, keys)}, {"v", rows(setting, keys)}};
    const ExtentValue extents[] = {{"queries", queries}, {"keys", keys}};
    ContestResult result;
    const Status status = contest->hold({inputs, extents, queries * setting.row()}, &result);
    if (status != Status::Ok || !result.held()) return status;
    result.choose(&found_, attention_class(queries, keys, setting.heads, setting.head_size));
    attentions_.push_back({result.report(), queries, keys, setting.heads, setting.head_size});
    *ms = attentions_.back().fastest_ms;
    return status;
  }

  Device& device_;
  const Deadline& deadline_;
  Tuning& found_;
  std::vector<TunedAttention>& attentions_;
  std::vector<std::byte> values_;
};

}  // namespace

Status tune_attentions(Device& device, const Deadline& deadline, Tuning* found,
                       std::vector<TunedAttention>* attentions) {
  AttentionTuner tuner(device, deadline, found, attentions);
  for (const int64_t head_size : kHeadSizes)
    for (const DType dtype : {DType::F32, DType::F16})
      for (const int64_t heads : kHeads) {
        if (!device.impl()->supports(dtype) || tuner.is_late()) continue;
        const Status status = tuner.tune({dtype, heads, head_size});
        if (status != Status::Ok) return status;
      }
  return Status::Ok;
}

}  // namespace heed::vulkan
