#include "base/sample.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// Memory for each token of a row.
struct Lists {
  uint32_t *keys, *weights, *left, *group;
};

// The tokens of a row that may be drawn, in order: larger keys first, of equal keys the lower token. A position in this order is found
// digit by digit of the keys, as in shaders/sample.comp.
class Order {
 public:
  Order(const Lists& lists, int64_t n) : lists_(lists) {
    for (int64_t i = 0; i < n; ++i) {
      if (lists.keys[i] == 0) continue;
      lists.left[count_++] = static_cast<uint32_t>(i);
      if (lists.keys[i] <= largest_) continue;
      largest_ = lists.keys[i];
      first_ = i;
    }
  }

  int64_t first() const { return first_; }  // -1: there is none
  int64_t count() const { return count_; }
  // Keeps the first `count` tokens, which must be fewer than there are.
  void keep(uint32_t count) {
    keep_to(find(count - 1, [](uint32_t) { return 1u; }));
  }
  void weigh(const SampleSettings& settings) {
    for (int64_t j = 0; j < count_; ++j) {
      const uint32_t i = lists_.left[j];
      lists_.weights[i] = sampling::weight_of(lists_.keys[i], largest_, settings);
    }
  }
  uint64_t weight() const {
    uint64_t sum = 0;
    for (int64_t j = 0; j < count_; ++j) sum += lists_.weights[lists_.left[j]];
    return sum;
  }
  // Keeps tokens up to the one at which the cumulative weight exceeds `target`, which must be less than the total.
  void keep_weight(uint64_t target) { keep_to(at_weight(target)); }
  void keep_heavy(uint32_t least) {
    keep_if([&](uint32_t i) { return lists_.weights[i] >= least; });
  }
  uint32_t at_weight(uint64_t target) const {
    return find(target, [&](uint32_t i) { return lists_.weights[i]; });
  }

 private:
  static constexpr int kDigit = 8, kBins = 1 << kDigit;

  template <class Keeps>
  void keep_if(const Keeps& keeps) {
    int64_t kept = 0;
    for (int64_t j = 0; j < count_; ++j)
      if (keeps(lists_.left[j])) lists_.left[kept++] = lists_.left[j];
    count_ = kept;
  }
  void keep_to(uint32_t last) {
    const uint32_t key = lists_.keys[last];
    keep_if([&](uint32_t i) { return lists_.keys[i] > key || (lists_.keys[i] == key && i <= last); });
  }

  // The token at which the cumulative amount, in order, exceeds `target`; the total must exceed it.
  template <class Amount>
  uint32_t find(uint64_t target, const Amount& amount) const {
    const uint32_t* from = lists_.left;  // tokens with the digits found so far
    int64_t count = count_;
    for (int shift = 32 - kDigit; shift >= 0; shift -= kDigit) {
      const auto digit = [&](uint32_t i) { return ~lists_.keys[i] >> shift & (kBins - 1); };
      std::array<uint64_t, kBins> bins{};
      for (int64_t j = 0; j < count; ++j) bins[digit(from[j])] += amount(from[j]);
      uint32_t bin = 0;
      for (; target >= bins[bin]; ++bin) target -= bins[bin];
      int64_t same = 0;
      for (int64_t j = 0; j < count; ++j)
        if (digit(from[j]) == bin) lists_.group[same++] = from[j];
      from = lists_.group;
      count = same;
    }
    int64_t j = 0;  // all have the same key, and are in ascending order
    for (; target >= amount(from[j]); ++j) target -= amount(from[j]);
    return from[j];
  }

  Lists lists_;
  int64_t count_ = 0, first_ = -1;
  uint32_t largest_ = 0;
};

// An operand with one number for each row, or one for all rows.
struct Numbers {
  Operand given;
  uint32_t otherwise;
  uint32_t of(int64_t row) const {
    return given.valid() ? *given.at<const uint32_t>(given.view.elements() > 1 ? row : 0) : otherwise;
  }
};

struct Sampler {
  explicit Sampler(const Pass& pass)
      : attrs(pass.node.as<SampleAttrs>()),
        x(pass.input(in::kX)),
        bias(pass.input(in::kSampleBias)),
        previous(pass.input(in::kPrevious)),
        settings(pass.input(in::kSettings)),
        out(pass.output()),
        counts{pass.input(in::kCounts), number(pass, attrs.count)},
        steps{pass.input(in::kSteps), number(pass, attrs.step)},
        seeds{pass.input(in::kSeeds), pass.values.seed} {}

  static uint32_t number(const Pass& pass, SizeId size) {
    return static_cast<uint32_t>(pass.values.sizes[static_cast<size_t>(size)]);
  }
  // The offset of row `row` of an operand, which may have one row for all.
  static int64_t row_of(const Operand& operand, int64_t row) {
    const int64_t n = row_length(operand.view);
    return operand.view.elements() > n ? row * n : 0;
  }

  // Computes the keys of a row. `marks` is memory for as many words.
  void fill_keys(int64_t row, const SampleSettings& s, float* buffer, uint32_t* keys, uint32_t* marks) const {
    const int64_t n = row_length(x.view);
    const float* const logits = load_row(x, row, buffer);
    for (int64_t i = 0; i < n; ++i) keys[i] = sampling::key_of(logits[i]);
    if (previous.valid()) penalize(row, s, keys, marks);
    if (!bias.valid()) return;
    const float* const added = load(bias, row_of(bias, row), 1, n, buffer);
    for (int64_t i = 0; i < n; ++i) keys[i] = sampling::biased(keys[i], added[i]);
  }

  void penalize(int64_t row, const SampleSettings& s, uint32_t* keys, uint32_t* marks) const {
    const int64_t n = row_length(x.view), length = row_length(previous.view);
    const auto count = std::clamp<int64_t>(static_cast<int32_t>(counts.of(row)), 0, length);
    const int32_t* const tokens = previous.at<const int32_t>(row_of(previous, row));
    std::memset(marks, 0, static_cast<size_t>(n) * sizeof *marks);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t token = tokens[i];
      if (token < 0 || token >= n || marks[token]++ != 0) continue;
      keys[token] = sampling::penalized(keys[token], s);
    }
  }

  int32_t draw(int64_t row, float* buffer, const Lists& lists) const {
    std::array<uint32_t, sizeof(SampleSettings) / 4> words;
    std::memcpy(words.data(), settings.at<const uint32_t>(row_of(settings, row)), sizeof words);
    const auto s = std::bit_cast<SampleSettings>(words);
    fill_keys(row, s, buffer, lists.keys, lists.weights);
    Order order(lists, row_length(x.view));
    if (order.first() < 0 || s.is_greedy()) return static_cast<int32_t>(order.first());
    if (s.top_k > 0 && s.top_k < order.count()) order.keep(s.top_k);
    order.weigh(s);
    if (s.top_p != UINT32_MAX) order.keep_weight(sampling::less_than_share(order.weight(), s.top_p));
    order.keep_heavy(std::min(s.min_p, sampling::kLargestWeight));
    const uint64_t share = sampling::random_share(seeds.of(row), attrs.stream, steps.of(row),
                                                  seeds.given.valid() ? 0 : static_cast<uint32_t>(row));
    return static_cast<int32_t>(order.at_weight(sampling::share_of(order.weight(), share)));
  }

  const SampleAttrs& attrs;
  Operand x, bias, previous, settings, out;
  Numbers counts, steps, seeds;
};

}  // namespace

// Memory for a row as floats or for its remaining tokens, and for keys, weights and tokens of a group.
ScratchNeed sample_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.inputs[in::kX], 4); }

void run_sample(const Pass& pass) {
  const Sampler sampler(pass);
  const int64_t pitch = row_pitch(row_length(sampler.x.view));
  pass.parallel(row_count(sampler.x.view), row_grain(pitch), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* const buffer = pass.scratch<float>(worker);
    auto* const words = reinterpret_cast<uint32_t*>(buffer);
    const Lists lists = {words + pitch, words + 2 * pitch, words, words + 3 * pitch};
    for (int64_t r = begin; r < end; ++r) *sampler.out.at<int32_t>(r) = sampler.draw(r, buffer, lists);
  });
}

}  // namespace heed::cpu
