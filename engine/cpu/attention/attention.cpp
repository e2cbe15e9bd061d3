// softmax(scale q k^T + bias) v without storing the S_q x S_k scores (Dao et al. 2022, arXiv:2205.14135): blocks of queries, one query per
// vector lane, visit blocks of keys with a running maximum and sum.
//
// Work items are blocks of queries of one head. The order of sums depends only on the sizes, not on the threads.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "cpu/attention/attention_kernels.hpp"
#include "cpu/device/prefetch_queue.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/ops/masking.hpp"

namespace heed::cpu {
namespace {

// Keys of a block: the scores, 128 x 32 floats, stay in the first-level cache.
constexpr int64_t kBlockKeys = 128;
// Scores of blocks are logits times log2(e), since powers of 2 are cheaper than powers of e.
constexpr float kLog2E = 1.44269504f;
// Up to this many queries, keys are read as vectors, since most query lanes would be empty.
constexpr int64_t kFewQueries = 4;
// The most parts into which keys are divided for few queries.
constexpr int64_t kMostParts = 32;

// Offsets of one worker's scratch, in floats from its start.
struct AttentionScratch {
  int64_t query, scores, values, state, rows, keys, block_values, sums, size;

  AttentionScratch(const AttentionKernels& kernels, int64_t d_k, int64_t d_v) {
    const int64_t queries = kernels.queries;
    int64_t at = 0;
    const auto take = [&at](int64_t floats) { return std::exchange(at, at + row_pitch(floats)); };
    query = take(queries * d_k);
    scores = take(queries * kBlockKeys);
    values = take(std::max(queries * d_v, kernels.few * row_pitch(d_v + 2)));
    state = take(3 * queries);
    // Holds in turn rows of queries, biases, dropout factors and outputs.
    rows = take(std::max({queries * d_k, queries * d_v, (queries + 1) * kBlockKeys}));
    keys = take(kBlockKeys * d_k);
    block_values = take(kBlockKeys * d_v);
    sums = take(row_pitch(d_v + 2));
    size = at;
  }
};

struct AttentionProblem {
  Operand query, key, value, out, log_sum_exp;
  const AttentionAttrs& attrs;
  Masking masking;
  DropoutRule dropout;
  const AttentionKernels& kernels;
  const MatmulKernels& matmul;
  const RowKernels& row_kernels;
  int64_t heads, group, queries, keys, d_k, d_v;
  AttentionScratch layout;

  explicit AttentionProblem(const Pass& pass)
      : query(pass.input(in::kQuery)),
        key(pass.input(in::kKey)),
        value(pass.input(in::kValue)),
        out(pass.output()),
        log_sum_exp(pass.output(heed::out::kLogSumExp)),
        attrs(pass.node.as<AttentionAttrs>()),
        masking(scores_view(query.view, key.view), attrs.softmax, pass.input(in::kAttentionBias),
                pass.input(in::kAttentionMask), pass.input(in::kAttentionKeyPadding), pass.input(in::kLengths),
                pass.input(in::kQueryPositions)),
        dropout{dropout_words(attrs.dropout.p), pass.values.seed, attrs.dropout.stream},
        kernels(*pass.kernels.attention),
        matmul(*pass.kernels.matmul),
        row_kernels(*pass.kernels.rows),
        heads(query.view.dim[1]),
        group(heads / key.view.dim[1]),
        queries(query.view.dim[2]),
        keys(key.view.dim[2]),
        d_k(query.view.dim[3]),
        d_v(value.view.dim[3]),
        layout(kernels, d_k, d_v) {}

  // The offset of token `token` of head `head`, numbered through all batches.
  int64_t offset(const Operand& x, int64_t head, int64_t token) const {
    return head / heads * x.view.stride[0] + head % heads * x.view.stride[1] + token * x.view.stride[2];
  }
  // The same for keys and values: `group` query heads share one of their heads.
  int64_t shared_offset(const Operand& x, int64_t head, int64_t token) const {
    return head / heads * x.view.stride[0] + head % heads / group * x.view.stride[1] + token * x.view.stride[2];
  }
};

// Rows of f32, `pitch` floats apart: in the tensor, or copied to a buffer.
struct Rows {
  const float* data;
  int64_t pitch;

  Rows(const Operand& x, int64_t offset, int64_t row_stride_of_x, int64_t stride, int64_t count, int64_t width,
       float* buffer) {
    if (x.view.dtype == DType::F32 && (stride == 1 || width == 1)) {
      data = x.at<const float>(offset);
      pitch = row_stride_of_x;
      return;
    }
    for (int64_t r = 0; r < count; ++r) load_copy(x, offset + r * row_stride_of_x, stride, width, buffer + r * width);
    data = buffer;
    pitch = width;
  }
};

Rows rows_of(const Operand& x, int64_t offset, int64_t count, float* buffer) {
  return Rows(x, offset, x.view.stride[2], x.view.stride[3], count, x.view.dim[3], buffer);
}

// The same in their storage type; rows are contiguous.
StoredRows stored_rows(const Operand& x, int64_t offset, int64_t count, float* buffer) {
  if (x.view.stride[3] == 1 || x.view.dim[3] == 1)
    return {x.data + offset * static_cast<int64_t>(size_of(x.view.dtype)), x.view.dtype, x.view.stride[2]};
  const Rows rows = rows_of(x, offset, count, buffer);
  return {rows.data, DType::F32, rows.pitch};
}

// c[rows][panel columns] (+)= a b for any number of rows.
void multiply(const MatmulKernels& kernels, int64_t rows, int64_t k, const float* a, int64_t a_row, int64_t a_k,
              const float* b, float* c, bool add, PrefetchQueue& queue) {
  const int64_t height = ceil_div(rows, ceil_div(rows, kernels.rows));
  for (int64_t r = 0; r < rows; r += height) {
    const int64_t count = std::min(height, rows - r);
    kernels.f32.tile[count - 1](k, a + r * a_row, a_row, a_k, b, c + r * kernels.cols, kernels.cols, add,
                                queue.take(k, b));
  }
}

// The score for a logit; finite if the logit is.
float score_of(float logit) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return std::isfinite(logit) ? std::clamp(logit * kLog2E, -kMost, kMost) : logit;
}

bool all_finite(const float* x, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t infinite = 0;
  for (int64_t i = 0; i < n; ++i) infinite |= (std::bit_cast<uint32_t>(x[i]) & kExponent) == kExponent ? 1u : 0u;
  return infinite == 0;
}

// `sum` is the sum of exponentials relative to the largest logit. A row without a visible key has the sum 0, and gives -infinity.
float log_sum_exp(float largest, float sum) { return sum == 0.0f ? kHidden : largest + std::log(sum); }

// Partial attention of a query over some of the keys: `sum` is the sum of e^(logit - largest), and `values` the sum of these powers times
// the values. Without a visible key the sum is 0, and `values` are undefined.
struct Partial {
  float* values;
  float* largest;
  float* sum;

  static int64_t floats(int64_t d_v) { return row_pitch(d_v + 2); }
  Partial(float* at, int64_t d_v) : values(at), largest(at + d_v), sum(at + d_v + 1) {}
  void clear() const { *largest = kHidden, *sum = 0.0f; }

  // Adds the result for other keys, and rescales its values.
  void add(const RowKernels& kernels, const Partial& other, int64_t d_v) const {
    if (*other.sum == 0.0f) return;
    const bool first = *sum == 0.0f;
    const float most = first ? *other.largest : std::max(*largest, *other.largest);
    const float own = first || *largest == most ? 1.0f : std::exp(*largest - most);
    const float others = *other.largest == most ? 1.0f : std::exp(*other.largest - most);
    if (own != 1.0f) kernels.scale(values, own, values, d_v);
    if (others != 1.0f) kernels.scale(other.values, others, other.values, d_v);
    if (first)
      std::copy_n(other.values, d_v, values);
    else
      kernels.add(values, other.values, values, d_v);
    *sum = (first ? 0.0f : *sum * own) + *other.sum * others;
    *largest = most;
  }
};

// Up to AttentionKernels::few queries that share a key head. They are numbered through a group's heads: query `first` is query first %
// queries of head first / queries. `shared_head` numbers key heads through all batches.
struct Few {
  int64_t shared_head, first, count;
};

// Attention of few queries over blocks of keys; each block is read once for all of them.
class FewQueries {
 public:
  FewQueries(const AttentionProblem& problem, Few few, float* scratch) : p_(problem), few_(few), scratch_(scratch) {
    for (int64_t i = 0; i < few_.count; ++i)
      load_copy(p_.query, p_.offset(p_.query, head(i), query(i)), p_.query.view.stride[3], p_.d_k,
                queries() + i * p_.d_k);
  }

  int64_t head(int64_t i) const { return few_.shared_head * p_.group + (few_.first + i) / p_.queries; }
  int64_t query(int64_t i) const { return (few_.first + i) % p_.queries; }
  int64_t row(int64_t i) const { return head(i) * p_.queries + query(i); }

  // The range of keys that at least one of the queries visits.
  KeyRange visited() const {
    KeyRange all = p_.masking.visited_keys(row(0), row(0));
    for (int64_t i = 1; i < few_.count; ++i) {
      const KeyRange own = p_.masking.visited_keys(row(i), row(i));
      all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
    }
    return all;
  }

  // Adds keys of the range block by block; sums(i) is the partial result of query i.
  template <class Sums>
  void run(KeyRange range, const Sums& sums) const {
    for (int64_t key = range.begin; key < range.end; key += kBlockKeys)
      add({key, std::min(key + kBlockKeys, range.end)}, sums);
  }

  // Writes the result of query i.
  void store(int64_t i, const Partial& sum) const {
    if (*sum.sum == 0.0f)
      std::fill_n(sum.values, p_.d_v, 0.0f);
    else
      p_.row_kernels.scale(sum.values, 1.0f / *sum.sum, sum.values, p_.d_v);
    if (p_.log_sum_exp.valid()) *p_.log_sum_exp.at<float>(row(i)) = log_sum_exp(*sum.largest, *sum.sum);
    cpu::store(p_.out, p_.offset(p_.out, head(i), query(i)), p_.out.view.stride[3], p_.d_v, sum.values);
  }

 private:
  float* queries() const { return scratch_ + p_.layout.query; }

  template <class Sums>
  void add(KeyRange range, const Sums& sums) const {
    const int64_t keys = range.size(), pitch = Partial::floats(p_.d_v);
    float *scores = scratch_ + p_.layout.scores, *buffer = scratch_ + p_.layout.rows;
    float* const mixed = scratch_ + p_.layout.values;
    const StoredRows k =
        stored_rows(p_.key, p_.shared_offset(p_.key, head(0), range.begin), keys, scratch_ + p_.layout.keys);
    p_.kernels.dot({queries(), p_.d_k, few_.count}, k, keys, p_.d_k, p_.attrs.softmax.scale, scores, kBlockKeys);
    for (int64_t i = 0; i < few_.count; ++i) {
      float* const own = scores + i * kBlockKeys;
      const Partial partial(mixed + i * pitch, p_.d_v);
      p_.masking.apply(row(i), range, own, buffer);
      *partial.sum = p_.kernels.weigh(own, keys, partial.largest);
      if (p_.attrs.dropout.p > 0.0f)
        p_.row_kernels.dropout(p_.dropout, static_cast<uint64_t>(row(i) * p_.keys + range.begin), own, own, keys);
    }
    const StoredRows v = stored_rows(p_.value, p_.shared_offset(p_.value, head(0), range.begin), keys,
                                     scratch_ + p_.layout.block_values);
    p_.kernels.mix({scores, kBlockKeys, few_.count}, v, keys, p_.d_v, mixed, pitch);
    for (int64_t i = 0; i < few_.count; ++i) {
      // A value that one of several queries does not see may be infinite, and 0 times infinity is NaN.
      if (few_.count > 1 && !all_finite(mixed + i * pitch, p_.d_v))
        p_.kernels.mix({scores + i * kBlockKeys, kBlockKeys, 1}, v, keys, p_.d_v, mixed + i * pitch, pitch);
      sums(i).add(p_.row_kernels, Partial(mixed + i * pitch, p_.d_v), p_.d_v);
    }
  }

  const AttentionProblem& p_;
  Few few_;
  float* scratch_;
};

// Computes one query of one head.
void run_query(const AttentionProblem& p, int64_t head, int64_t query, float* scratch) {
  const FewQueries one(p, {head / p.group, head % p.group * p.queries + query, 1}, scratch);
  const Partial sum(scratch + p.layout.sums, p.d_v);
  sum.clear();
  one.run(one.visited(), [&](int64_t) { return sum; });
  one.store(0, sum);
}

// The first query of a block. Heads are numbered through all batches.
struct Place {
  int64_t head, first;
};

// A block of queries of one head.
class Block {
 public:
  // `next` is the block that the worker will probably process next.
  Block(const AttentionProblem& problem, Place place, Place next, float* scratch)
      : p_(problem),
        lanes_(problem.kernels.queries),
        head_(place.head),
        first_(place.first),
        next_(next),
        count_(std::min(lanes_, problem.queries - place.first)),
        padding_(problem.masking.key_padding.valid() ? problem.masking.padding_offset(row(0)) : 0),
        fill_(score_of(problem.masking.fill)),
        scratch_(scratch),
        scores_(scratch + problem.layout.scores),
        values_(scratch + problem.layout.values),
        largest_(scratch + problem.layout.state),
        sums_(largest_ + lanes_) {}

  void run() {
    for (int64_t i = 0; i < lanes_; ++i) {
      largest_[i] = kHidden;
      sums_[i] = 0.0f;
    }
    const Rows query = rows_of(p_.query, p_.offset(p_.query, head_, first_), count_, scratch_ + p_.layout.rows);
    p_.kernels.pack(query.data, query.pitch, count_, p_.d_k, p_.attrs.softmax.scale * kLog2E,
                    scratch_ + p_.layout.query);
    prefetch_rows();
    bool empty = true;
    const auto [begin, end] = p_.masking.visited_keys(row(0), row(count_ - 1));
    for (int64_t key = begin; key < end; key += kBlockKeys) {
      int64_t first = key, keys = std::min(kBlockKeys, end - key);
      if (p_.masking.leaves_out() && (all_hidden(key, keys) || !trim(&first, &keys))) continue;
      add_keys(first, keys, end, empty);
      empty = false;
    }
    if (!empty && !is_exact()) {
      for (int64_t i = 0; i < count_; ++i) run_query(p_, head_, first_ + i, scratch_);
      return;
    }
    store(empty);
  }

 private:
  int64_t row(int64_t lane) const { return head_ * p_.queries + first_ + lane; }

  // Prefetches the output rows of this block, and the queries of the next one.
  void prefetch_rows() {
    queue_.add(p_.query, p_.offset(p_.query, next_.head, next_.first), std::min(lanes_, p_.queries - next_.first));
    queue_.add(p_.out, p_.offset(p_.out, head_, first_), count_);
  }
  // Prefetches the keys from `key` on. Past the last key that this block sees, these are the first keys of the next block, if it uses
  // another key head.
  void prefetch_keys(int64_t key, int64_t end) {
    const int64_t head = key < end ? head_ : next_.head, next_row = next_.head * p_.queries + next_.first;
    const int64_t first = key < end ? key : p_.masking.visited_keys(next_row, next_row).begin;
    if (first < p_.keys && (key < end || next_.head / p_.group != head_ / p_.group))
      queue_.add(p_.key, p_.shared_offset(p_.key, head, first), std::min(kBlockKeys, p_.keys - first));
  }

  // Adds `keys` keys from `key` on to the sums. The block sees keys below `end`.
  void add_keys(int64_t key, int64_t keys, int64_t end, bool empty) {
    queue_.add(p_.value, p_.shared_offset(p_.value, head_, key), keys);
    const Rows k = rows_of(p_.key, p_.shared_offset(p_.key, head_, key), keys, scratch_ + p_.layout.keys);
    multiply(p_.matmul, keys, p_.d_k, k.data, k.pitch, 1, scratch_ + p_.layout.query, scores_, false, queue_);
    add_bias(key, keys);
    hide(key, keys);
    p_.kernels.advance(scores_, keys, largest_, sums_, values_, empty ? 0 : p_.d_v);
    if (p_.attrs.dropout.p > 0.0f) drop(key, keys);
    const Rows v = values_of(key, keys);
    prefetch_keys(key + keys, end);
    multiply(p_.matmul, p_.d_v, keys, v.data, 1, v.pitch, scores_, values_, !empty, queue_);
  }

  void add_bias(int64_t key, int64_t keys) {
    const Operand& bias = p_.masking.bias;
    if (!bias.valid()) return;
    const View& v = bias.view;
    const int64_t offset = p_.offset(bias, head_, first_) + key * v.stride[3];
    const Rows rows(bias, offset, v.stride[2], v.stride[3], count_, keys, scratch_ + p_.layout.rows);
    p_.kernels.add(rows.data, rows.pitch, count_, keys, kLog2E, scores_);
  }

  // Whether the mask is the same for all queries.
  bool mask_is_even() const { return p_.masking.mask.operand.view.stride[2] == 0; }
  int64_t mask_offset(int64_t lane, int64_t key) const {
    const Operand& mask = p_.masking.mask.operand;
    return p_.offset(mask, head_, first_ + lane) + key * mask.view.stride[3];
  }
  int64_t padding_offset(int64_t key) const { return padding_ + key * row_stride(p_.masking.key_padding.operand.view); }

  bool all_hidden(int64_t key, int64_t keys) const {
    const BoolMask &padding = p_.masking.key_padding, &mask = p_.masking.mask;
    if (padding.valid() && padding.hides_all(padding_offset(key), keys)) return true;
    if (!mask.valid()) return false;
    for (int64_t lane = 0; lane < (mask_is_even() ? 1 : count_); ++lane)
      if (!mask.hides_all(mask_offset(lane, key), keys)) return false;
    return true;
  }

  bool hidden_from_all(int64_t key) const {
    const BoolMask &padding = p_.masking.key_padding, &mask = p_.masking.mask;
    return (padding.valid() && padding.hides(padding_offset(key))) ||
           (mask.valid() && mask_is_even() && mask.hides(mask_offset(0, key)));
  }
  bool none_hidden_from_all(int64_t key, int64_t keys) const {
    const BoolMask &padding = p_.masking.key_padding, &mask = p_.masking.mask;
    return (!padding.valid() || padding.hides_none(padding_offset(key), keys)) &&
           (!mask.valid() || !mask_is_even() || mask.hides_none(mask_offset(0, key), keys));
  }
  // Removes keys at both ends that are hidden from all queries. Returns false if no key is left.
  bool trim(int64_t* key, int64_t* keys) const {
    while (*keys > 0 && hidden_from_all(*key + *keys - 1)) --*keys;
    for (; *keys > 0 && hidden_from_all(*key); ++*key) --*keys;
    return *keys > 0;
  }

  // Keys that are hidden from all queries have weight 0, but their values may be infinite or NaN, and 0 times infinity is NaN. If such a
  // value is not finite, the rows are copied with zeros instead.
  Rows values_of(int64_t key, int64_t keys) const {
    float* copy = scratch_ + p_.layout.block_values;
    Rows v = rows_of(p_.value, p_.shared_offset(p_.value, head_, key), keys, copy);
    if (!p_.masking.leaves_out() || !any_infinite(v, key, keys)) return v;
    for (int64_t j = 0; j < keys; ++j) {
      if (hidden_from_all(key + j))
        std::fill_n(copy + j * p_.d_v, p_.d_v, 0.0f);
      else if (v.data != copy)
        std::copy_n(v.data + j * v.pitch, p_.d_v, copy + j * p_.d_v);
    }
    v.data = copy;
    v.pitch = p_.d_v;
    return v;
  }
  // Whether a key that is hidden from all queries has a value that is not finite.
  bool any_infinite(const Rows& v, int64_t key, int64_t keys) const {
    if (none_hidden_from_all(key, keys)) return false;
    for (int64_t j = 0; j < keys; ++j)
      if (hidden_from_all(key + j) && !all_finite(v.data + j * v.pitch, p_.d_v)) return true;
    return false;
  }

  // Sets the scores of hidden keys, in the order of Masking::apply.
  void hide(int64_t key, int64_t keys) {
    const Masking& masking = p_.masking;
    if (masking.mask.valid()) {
      if (mask_is_even())
        hide_keys(masking.mask, mask_offset(0, key), keys);
      else
        for (int64_t lane = 0; lane < count_; ++lane) hide_in_lane(masking.mask, mask_offset(lane, key), lane, keys);
    }
    if (masking.key_padding.valid()) hide_keys(masking.key_padding, padding_offset(key), keys);
    if (masking.causal == Causal::None) return;
    // Lane i sees the keys below visible + i.
    const int64_t visible = masking.place_of(row(0)) + 1, begin = std::clamp<int64_t>(visible - key, 0, keys);
    p_.kernels.fill_triangle(scores_ + begin * lanes_, keys - begin, key + begin - visible + 1, fill_);
    if (masking.window > 0) hide_passed(key, keys, visible - masking.window);
  }

  // Hides keys below passed + i from lane i.
  void hide_passed(int64_t key, int64_t keys, int64_t passed) {
    const int64_t end = std::min(keys, passed + lanes_ - 1 - key);
    for (int64_t j = 0; j < end; ++j) {
      const int64_t seeing = std::max<int64_t>(key + j - passed + 1, 0);  // number of leading lanes that see the key
      std::fill_n(scores_ + j * lanes_ + seeing, lanes_ - seeing, fill_);
    }
  }

  // Hides keys with a mask that is the same for all lanes.
  void hide_keys(const BoolMask& mask, int64_t offset, int64_t keys) {
    if (mask.hides_none(offset, keys)) return;
    for (int64_t j = 0; j < keys; ++j)
      if (mask.hides(offset + j * row_stride(mask.operand.view))) std::fill_n(scores_ + j * lanes_, lanes_, fill_);
  }
  void hide_in_lane(const BoolMask& mask, int64_t offset, int64_t lane, int64_t keys) {
    if (mask.hides_none(offset, keys)) return;
    for (int64_t j = 0; j < keys; ++j)
      if (mask.hides(offset + j * row_stride(mask.operand.view))) scores_[j * lanes_ + lane] = fill_;
  }

  // Applies dropout to weights, which are numbered row-major over [B, H, S_q, S_k].
  void drop(int64_t key, int64_t keys) {
    float* factors = scratch_ + p_.layout.rows;
    float* ones = factors + lanes_ * kBlockKeys;
    std::fill_n(ones, keys, 1.0f);
    for (int64_t lane = 0; lane < count_; ++lane)
      p_.row_kernels.dropout(p_.dropout, static_cast<uint64_t>(row(lane) * p_.keys + key), ones,
                             factors + lane * kBlockKeys, keys);
    p_.kernels.multiply(factors, kBlockKeys, count_, keys, scores_);
  }

  // Whether processing in blocks is exact. A block multiplies the same values with all its queries, also with weights of 0, which gives NaN
  // for infinite values; and scores near the limits of f32 lose precision. The path for single queries has neither problem.
  bool is_exact() const {
    constexpr float kFar = std::numeric_limits<float>::max() / 4.0f;
    for (int64_t i = 0; i < count_; ++i)
      if (std::isfinite(largest_[i]) && std::abs(largest_[i]) > kFar) return false;
    return all_finite(values_, p_.d_v * lanes_);
  }

  void store_log_sum_exp() const {
    if (!p_.log_sum_exp.valid()) return;
    for (int64_t i = 0; i < count_; ++i)
      *p_.log_sum_exp.at<float>(row(i)) = log_sum_exp(largest_[i] / kLog2E, sums_[i]);
  }

  void store(bool empty) {
    store_log_sum_exp();
    float* factors = sums_ + lanes_;
    for (int64_t i = 0; i < count_; ++i) factors[i] = sums_[i] == 0.0f ? 0.0f : 1.0f / sums_[i];
    if (empty) std::memset(values_, 0, static_cast<size_t>(p_.d_v * lanes_) * sizeof(float));
    const int64_t offset = p_.offset(p_.out, head_, first_), stride = p_.out.view.stride[3];
    if (p_.out.view.dtype == DType::F32 && stride == 1)
      return p_.kernels.unpack(values_, factors, count_, p_.d_v, p_.out.at<float>(offset), p_.out.view.stride[2]);
    float* rows = scratch_ + p_.layout.rows;
    p_.kernels.unpack(values_, factors, count_, p_.d_v, rows, p_.d_v);
    for (int64_t i = 0; i < count_; ++i)
      cpu::store(p_.out, offset + i * p_.out.view.stride[2], stride, p_.d_v, rows + i * p_.d_v);
  }

  const AttentionProblem& p_;
  int64_t lanes_, head_, first_;
  Place next_;
  int64_t count_, padding_;  // number of queries; offset of the first key in the key padding
  float fill_;
  float* scratch_;
  float *scores_, *values_, *largest_, *sums_;
  PrefetchQueue queue_;
};

// The order of items. The workers of a batch divide its queries in the same way as the rows of its matmuls. Each share processes one head
// after the other, so that the keys and values of a head stay in that worker's cache.
class Shares {
 public:
  Shares(const AttentionProblem& problem, int64_t workers)
      : problem_(problem),
        heads_(problem.heads),
        blocks_(ceil_div(problem.queries, problem.kernels.queries)),
        items_(problem.query.view.dim[0] * heads_ * blocks_),
        count_(std::clamp<int64_t>(workers / problem.query.view.dim[0], 1, blocks_)) {}

  int64_t items() const { return items_; }
  Place place(int64_t item) const {
    const int64_t batch = item / (heads_ * blocks_), within = item % (heads_ * blocks_);
    int64_t share = within * count_ / (heads_ * blocks_);
    while (within >= heads_ * begin(share + 1)) ++share;
    while (within < heads_ * begin(share)) --share;
    const int64_t length = begin(share + 1) - begin(share), at = within - heads_ * begin(share);
    const int64_t block = begin(share) + at % length;
    // With causality late queries have the most keys. They come first, since short items at the end balance the load.
    const bool late = problem_.masking.causal != Causal::None;
    return {batch * heads_ + at / length, (late ? blocks_ - 1 - block : block) * problem_.kernels.queries};
  }

 private:
  int64_t begin(int64_t share) const { return blocks_ * share / count_; }  // the first block of a share

  const AttentionProblem& problem_;
  int64_t heads_, blocks_, items_, count_;
};

// Attention for few queries. An item is a part of the keys of one head, for all queries that share it, so that keys and values are read
// once, in long streams. The partial sums are then added in order.
void run_few(const Pass& pass, const AttentionProblem& p) {
  const int64_t shared_heads = p.query.view.dim[0] * p.heads / p.group, sharing = p.group * p.queries;
  const int64_t blocks = ceil_div(p.keys, kBlockKeys), part = ceil_div(blocks, kMostParts) * kBlockKeys;
  const int64_t parts = std::max<int64_t>(1, ceil_div(p.keys, part)), floats = Partial::floats(p.d_v);
  auto* const sums = reinterpret_cast<float*>(pass.shared_scratch);
  const auto partial = [&](int64_t head, int64_t i, int64_t of_keys) {
    return Partial(sums + ((head * sharing + i) * parts + of_keys) * floats, p.d_v);
  };
  const auto for_few = [&](const auto& f) {
    const int64_t count = ceil_div(sharing, ceil_div(sharing, p.kernels.few));
    for (int64_t i = 0; i < sharing; i += count) f(i, std::min(count, sharing - i));
  };
  pass.parallel(shared_heads * parts, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t head = item / parts, of_keys = item % parts;
      for_few([&](int64_t first, int64_t count) {
        const FewQueries few(p, {head, first, count}, pass.scratch<float>(worker));
        const KeyRange all = few.visited();
        for (int64_t i = 0; i < count; ++i) partial(head, first + i, of_keys).clear();
        few.run({std::min(all.begin + of_keys * part, all.end), std::min(all.begin + (of_keys + 1) * part, all.end)},
                [&](int64_t i) { return partial(head, first + i, of_keys); });
        if (parts > 1) return;
        for (int64_t i = 0; i < count; ++i) few.store(i, partial(head, first + i, 0));
      });
    }
  });
  if (parts == 1) return;
  const int64_t grain = std::max<int64_t>(1, 32768 / (parts * floats));
  pass.parallel(shared_heads * sharing, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t head = r / sharing, i = r % sharing;
      const Partial sum = partial(head, i, 0);
      for (int64_t k = 1; k < parts; ++k) sum.add(p.row_kernels, partial(head, i, k), p.d_v);
      FewQueries(p, {head, i, 1}, pass.scratch<float>(worker)).store(0, sum);
    }
  });
}

}  // namespace

ScratchNeed attention_scratch(const ScratchQuery& query) {
  const View q = query.view(query.node.inputs[in::kQuery]), key = query.view(query.node.inputs[in::kKey]);
  const View value = query.view(query.node.inputs[in::kValue]);
  const AttentionScratch layout(*query.kernels.attention, key.dim[3], value.dim[3]);
  // The need of a run with few queries. A run with fewer keys does not have more parts.
  const int64_t rows = q.dim[0] * q.dim[1] * std::min(q.dim[2], kFewQueries);
  const int64_t parts = std::min(ceil_div(key.dim[2], kBlockKeys), kMostParts);
  return {.shared = static_cast<uint64_t>(rows * parts * Partial::floats(value.dim[3])) * sizeof(float),
          .per_worker = static_cast<uint64_t>(layout.size) * sizeof(float)};
}

void run_attention(const Pass& pass) {
  const AttentionProblem problem(pass);
  if (problem.queries <= kFewQueries) return run_few(pass, problem);
  const Shares shares(problem, pass.pool.workers());
  pass.parallel(shares.items(), 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      Block(problem, shares.place(i), shares.place(std::min(i + 1, shares.items() - 1)), pass.scratch<float>(worker))
          .run();
  });
}

}  // namespace heed::cpu
