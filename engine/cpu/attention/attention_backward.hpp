// The gradients of attention without storing the S_q x S_kv weights (Dao et al. 2022, arXiv:2205.14135).
//
// Weights are recomputed from the log-sum-exp with matmul tiles, for a block of queries and a group of key panels at a time. An item is a
// key head with all query heads that share it. If there are few key heads, items are groups of keys for the gradients of keys and values,
// and then blocks of queries for those of queries. The order of sums is the same in both cases.
#pragma once

#include <algorithm>
#include <utility>

#include "cpu/attention/attention_kernels.hpp"
#include "cpu/device/prefetch_queue.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/ops/masking.hpp"

namespace heed::cpu::backward {

inline constexpr int64_t kBlockQueries = 64;
inline constexpr int64_t kKeyPanels = 4;  // panels of keys that are processed together

// Offsets of one worker's scratch, in floats from its start. Widths are rounded up to whole panels.
struct BackwardScratch {
  int64_t keys, rows, values;    // of all panels: [d_k][cols], keys as stored, [d_v][cols]
  int64_t key_sums, value_sums;  // likewise, [d_k][cols] and [d_v][cols]
  int64_t queries, upstream;     // rows of a block of queries
  int64_t weights, slopes;       // of a block and a group of panels: [panel][query][cols]
  int64_t row, query_sums, bias_sums;
  int64_t pitch_k, pitch_v, size;  // distances between rows of a block; total size

  BackwardScratch(int64_t cols, int64_t panels, int64_t d_k, int64_t d_v) {
    int64_t at = 0;
    const auto take = [&at](int64_t floats) { return std::exchange(at, at + row_pitch(floats)); };
    const int64_t wide_k = align_up(d_k, cols);
    // The additional 16 floats keep rows from mapping to the same set of the first-level cache.
    pitch_k = row_pitch(d_k) + 16;
    pitch_v = row_pitch(d_v) + 16;
    keys = take(panels * d_k * cols);
    rows = take(panels * cols * wide_k);
    values = take(panels * d_v * cols);
    key_sums = take(panels * d_k * cols);
    value_sums = take(panels * d_v * cols);
    queries = take(kBlockQueries * pitch_k);
    upstream = take(kBlockQueries * pitch_v);
    weights = take(kBlockQueries * kKeyPanels * cols);
    slopes = take(kBlockQueries * kKeyPanels * cols);
    row = take(std::max({4 * kKeyPanels * cols, d_v, cols * std::max(pitch_k, pitch_v)}));
    query_sums = take(kBlockQueries * wide_k);
    bias_sums = take(kBlockQueries * kKeyPanels * cols);
    size = at;
  }
};

// The part of the gradients that one item computes.
struct BackwardTask {
  int64_t head;                    // the key head, numbered through all batches
  int64_t first_panel, end_panel;  // range of key panels; the first begins a group
  int64_t first_query, end_query;  // range of queries of each query head
  bool makes_queries, makes_keys;
};

struct BackwardProblem {
  Operand query, key, value, output, upstream, log_sum_exp, of_query, of_key, of_value, of_bias;
  const AttentionAttrs& attrs;
  Masking masking, hiding;  // masking sets hidden keys to -infinity; hiding does it without the bias
  DropoutRule dropout;
  const MatmulKernels& matmul;
  const RowKernels& kernels;
  const AttentionKernels& attention;
  int64_t heads, key_heads, group, queries, keys, d_k, d_v, cols, panels, wide_k;
  bool by_place;  // which keys a query sees depends only on its position
  BackwardScratch layout;

  explicit BackwardProblem(const Pass& pass)
      : query(pass.input(in::kQuery)),
        key(pass.input(in::kKey)),
        value(pass.input(in::kValue)),
        output(pass.input(in::kAttended)),
        upstream(pass.input(in::kAttendedGradient)),
        log_sum_exp(pass.input(in::kAttendedLogSumExp)),
        of_key(pass.output(out::kKeyGradient)),
        of_value(pass.output(out::kValueGradient)),
        of_bias(pass.output(out::kBiasGradient)),
        attrs(pass.node.as<AttentionAttrs>()),
        masking(scores_view(query.view, key.view), attrs.softmax, pass.input(in::kAttentionBias),
                pass.input(in::kAttentionMask), pass.input(in::kAttentionKeyPadding), {}, {}),
        hiding(masking),
        dropout{dropout_words(attrs.dropout.p), pass.values.seed, attrs.dropout.stream},
        matmul(*pass.kernels.matmul),
        kernels(*pass.kernels.rows),
        attention(*pass.kernels.attention),
        heads(query.view.dim[1]),
        key_heads(key.view.dim[1]),
        group(heads / key_heads),
        queries(query.view.dim[2]),
        keys(key.view.dim[2]),
        d_k(query.view.dim[3]),
        d_v(value.view.dim[3]),
        cols(matmul.cols),
        panels(ceil_div(keys, cols)),
        wide_k(align_up(d_k, cols)),
        by_place(!masking.bias.valid() && !masking.mask.valid() && !masking.key_padding.valid() && !fills()),
        layout(cols, panels, d_k, d_v) {
    if (attrs.makes_query) of_query = pass.output(out::kQueryGradient);
    masking.fill = hiding.fill = kHidden;
    hiding.bias = {};
    if (of_bias.valid()) of_bias.view = broadcast_to(of_bias.view, masking.logits);
  }

  bool fills() const { return attrs.softmax.masked_fill.has_value(); }
  bool drops() const { return dropout.words.threshold != 0; }

  static int64_t place_of(const Operand& x, int64_t batch, int64_t head, int64_t token) {
    return batch * x.view.stride[0] + head * x.view.stride[1] + token * x.view.stride[2];
  }
  // Rows of a head from `token` on as f32: in the tensor, or copied to a buffer.
  struct Rows {
    const float* data;
    int64_t pitch;
  };
  static Rows rows_of(const Operand& x, int64_t batch, int64_t head, int64_t token, int64_t count, float* buffer,
                      int64_t pitch) {
    if (x.view.dtype == DType::F32) return {x.at<const float>(place_of(x, batch, head, token)), x.view.stride[2]};
    read(x, batch, head, token, count, buffer, pitch);
    return {buffer, pitch};
  }
  // Copies rows of a head from `token` on.
  static void read(const Operand& x, int64_t batch, int64_t head, int64_t token, int64_t count, float* to,
                   int64_t pitch) {
    for (int64_t i = 0; i < count; ++i)
      load_copy(x, place_of(x, batch, head, token + i), 1, x.view.dim[3], to + i * pitch);
  }

  // c [m][..] (+)= a b, where b is a panel [k][cols].
  void multiply(int64_t m, int64_t k, const float* a, int64_t a_row, int64_t a_k, const float* b, float* c,
                int64_t c_pitch, bool add) const {
    const int64_t height = ceil_div(m, ceil_div(m, matmul.rows));
    for (int64_t r = 0; r < m; r += height)
      matmul.f32.tile[std::min(height, m - r) - 1](k, a + r * a_row, a_row, a_k, b, c + r * c_pitch, c_pitch, add, {});
  }

  // The number of panels that the queries before `end`, of any head, see.
  int64_t panels_before(int64_t end) const {
    return fills() ? panels : ceil_div(masking.visited_keys(0, end - 1).end, cols);
  }

  int64_t keys_of(int64_t panel) const { return std::min(cols, keys - panel * cols); }

  void pack_all(const BackwardTask& task, float* memory) const {
    const int64_t batch = task.head / key_heads, head = task.head % key_heads;
    float* const buffer = memory + layout.row;
    for (int64_t n = task.first_panel; n < task.end_panel; ++n) {
      const int64_t count = keys_of(n);
      Rows rows = rows_of(value, batch, head, n * cols, count, buffer, layout.pitch_v);
      attention.pack(rows.data, rows.pitch, count, d_v, 1.0f, memory + layout.values + n * d_v * cols);
      rows = rows_of(key, batch, head, n * cols, count, buffer, layout.pitch_k);
      attention.pack(rows.data, rows.pitch, count, d_k, 1.0f, memory + layout.keys + n * d_k * cols);
      if (!task.makes_queries) continue;
      // The slopes are multiplied by keys as stored, in panels of columns.
      for (int64_t c = 0; c < d_k; c += cols) {
        float* const to = memory + layout.rows + n * cols * wide_k + c * cols;
        const int64_t width = std::min(cols, d_k - c);
        if (width < cols || count < cols) std::fill_n(to, cols * cols, 0.0f);
        for (int64_t j = 0; j < count; ++j) std::copy_n(rows.data + j * rows.pitch + c, width, to + j * cols);
      }
    }
  }

  // The part of the keys `some` that a query sees; all of them if its position alone does not determine it.
  KeyRange seen_of(int64_t row, KeyRange some, float log_sum) const {
    if (log_sum == kHidden) return {0, 0};
    if (!by_place) return {0, some.size()};
    return {std::clamp<int64_t>(masking.passed_keys(row) - some.begin, 0, some.size()),
            std::clamp<int64_t>(masking.causal_keys(row) - some.begin, 0, some.size())};
  }

  // Turns the matmul of queries and some keys into weights after dropout, and that of upstream and values into the slopes of the logits
  // times `scale`.
  void weigh(int64_t first_row, int64_t count, KeyRange some, const float* log_sums, const float* deltas, float scale,
             float* memory) const {
    SlopeRow of_row;
    of_row.panel_pitch = kBlockQueries * cols;
    of_row.panels = ceil_div(some.size(), cols);
    of_row.logit_scale = by_place ? attrs.softmax.scale : 1.0f;
    of_row.scale = scale;
    float* const buffers = memory + layout.row;
    const int64_t length = kKeyPanels * cols;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = first_row + i;
      const KeyRange seen = seen_of(row, some, log_sums[i]);
      of_row.log_sum = log_sums[i], of_row.delta = deltas[i];
      of_row.begin = seen.begin, of_row.end = seen.end;
      of_row.weights = memory + layout.weights + i * cols;
      of_row.slopes = memory + layout.slopes + i * cols;
      of_row.factors = of_row.passes = nullptr;
      if (!by_place && seen.size() > 0) mask_row(row, some, buffers, &of_row);
      if (drops() && seen.size() > 0) {
        float* const factors = buffers + 3 * length;
        std::fill_n(factors, length, 1.0f);
        kernels.dropout(dropout, static_cast<uint64_t>(row * keys + some.begin), factors, factors, some.size());
        of_row.factors = factors;
      }
      attention.slopes(of_row);
    }
  }

  // Computes logits from the scores of a query and some keys, and which of them pass gradients on if hidden keys have weights.
  void mask_row(int64_t row, KeyRange some, float* buffers, SlopeRow* of_row) const {
    const int64_t n = some.size(), length = kKeyPanels * cols;
    float *const logits = buffers, *const buffer = buffers + length, *const passes = buffer + length;
    for (int64_t p = 0; p < of_row->panels; ++p)
      std::copy_n(of_row->weights + p * of_row->panel_pitch, cols, logits + p * cols);
    kernels.scale(logits, attrs.softmax.scale, logits, n);
    masking.apply(row, some, logits, buffer);
    if (fills()) {
      std::fill_n(passes, length, 0.0f);
      hiding.apply(row, some, passes, buffer);
      for (int64_t j = 0; j < n; ++j) {
        if (passes[j] == kHidden) logits[j] = *attrs.softmax.masked_fill;
        passes[j] = passes[j] == kHidden ? 0.0f : 1.0f;
      }
      of_row->passes = passes;
    }
    for (int64_t p = 0; p < of_row->panels; ++p)
      std::copy_n(logits + p * cols, cols, of_row->weights + p * of_row->panel_pitch);
  }

  // The first query of a block that may see a key of the panel, by causality; at most the last query.
  int64_t first_to_see(int64_t first_row, int64_t count, int64_t panel) const {
    if (fills() || masking.causal == Causal::None) return 0;
    return std::clamp<int64_t>(panel * cols - masking.place_of(first_row), 0, count - 1);
  }

  // A block of queries of one head, whose rows and those of upstream are in scratch.
  struct Block {
    int64_t batch, head, first, count, row;
    const float* log_sums;
    KeyRange seen;
    float deltas[kBlockQueries];
  };
  Block load_block(int64_t batch, int64_t head, int64_t first, int64_t count, float* memory) const {
    Block block{batch, head, first, count, (batch * heads + head) * queries + first, nullptr, {}, {}};
    const float* const g = memory + layout.upstream;
    read(query, batch, head, first, count, memory + layout.queries, layout.pitch_k);
    read(upstream, batch, head, first, count, memory + layout.upstream, layout.pitch_v);
    for (int64_t i = 0; i < count; ++i) {
      const float* o = load(output, place_of(output, batch, head, first + i), 1, d_v, memory + layout.row);
      block.deltas[i] = static_cast<float>(attention.product(o, g + i * layout.pitch_v, d_v));
    }
    block.log_sums = log_sum_exp.at<const float>(block.row);
    // With masked_fill hidden keys have weights, too.
    block.seen = fills() ? KeyRange{0, keys} : masking.visited_keys(block.row, block.row + count - 1);
    return block;
  }

  // Range of panels within a group.
  struct Panels {
    int64_t begin, end;
  };
  // The weights or slopes (selected by `what`) of one panel in a block's memory.
  float* of_panel(float* memory, int64_t what, const Panels& some, int64_t panel) const {
    return memory + what + (panel - some.begin) * kBlockQueries * cols;
  }
  // Computes the weights, and the slopes times `scale`, for those of panels from .. stop - 1 that the block sees, and returns their range.
  Panels weigh_group(const Block& block, int64_t from, int64_t stop, float scale, float* memory) const {
    const Panels some{std::max(from, block.seen.begin / cols), std::min(stop, ceil_div(block.seen.end, cols))};
    const float *const q = memory + layout.queries, *const g = memory + layout.upstream;
    for (int64_t n = some.begin; n < some.end; ++n) {
      const int64_t r = first_to_see(block.row, block.count, n);
      multiply(block.count - r, d_k, q + r * layout.pitch_k, layout.pitch_k, 1, memory + layout.keys + n * d_k * cols,
               of_panel(memory, layout.weights, some, n) + r * cols, cols, false);
      multiply(block.count - r, d_v, g + r * layout.pitch_v, layout.pitch_v, 1, memory + layout.values + n * d_v * cols,
               of_panel(memory, layout.slopes, some, n) + r * cols, cols, false);
    }
    if (some.begin < some.end)
      weigh(block.row, block.count, {some.begin * cols, std::min(keys, some.end * cols)}, block.log_sums, block.deltas,
            scale, memory);
    return some;
  }

  // Adds the contribution of a block of queries to the gradients of keys and values, and computes the gradients of its queries.
  void run_block(const BackwardTask& task, int64_t head, int64_t first, int64_t count, float* memory) const {
    const Block block = load_block(task.head / key_heads, head, first, count, memory);
    const float *const q = memory + layout.queries, *const g = memory + layout.upstream;
    float* const sums = memory + layout.query_sums;
    if (task.makes_queries) std::fill_n(sums, kBlockQueries * wide_k, 0.0f);
    for (int64_t from = task.first_panel; from < task.end_panel; from += kKeyPanels) {
      const Panels some =
          weigh_group(block, from, std::min(from + kKeyPanels, task.end_panel), attrs.softmax.scale, memory);
      for (int64_t n = some.begin; n < some.end; ++n) {
        const int64_t r = first_to_see(block.row, count, n);
        const float* const weights = of_panel(memory, layout.weights, some, n) + r * cols;
        const float* const slopes = of_panel(memory, layout.slopes, some, n) + r * cols;
        if (task.makes_keys) {
          multiply(d_v, count - r, g + r * layout.pitch_v, 1, layout.pitch_v, weights,
                   memory + layout.value_sums + n * d_v * cols, cols, true);
          multiply(d_k, count - r, q + r * layout.pitch_k, 1, layout.pitch_k, slopes,
                   memory + layout.key_sums + n * d_k * cols, cols, true);
        }
        for (int64_t c = 0; task.makes_queries && c < d_k; c += cols)
          multiply(count - r, cols, slopes, cols, 1, memory + layout.rows + n * cols * wide_k + c * cols,
                   sums + r * wide_k + c, wide_k, true);
      }
    }
    if (!task.makes_queries) return;
    for (int64_t i = 0; i < count; ++i)
      store(of_query, place_of(of_query, block.batch, head, first + i), 1, d_k, sums + i * wide_k);
  }

  // Writes the sums in panels to the rows of keys.
  void write_keys(const Operand& out, const BackwardTask& task, int64_t sums, int64_t width, float* memory) const {
    if (!out.valid()) return;
    const bool direct = out.view.dtype == DType::F32;
    float *const ones = memory + layout.slopes, *const rows = memory + layout.weights;
    std::fill_n(ones, cols, 1.0f);
    const int64_t batch = task.head / key_heads, head = task.head % key_heads;
    for (int64_t n = task.first_panel; n < task.end_panel; ++n) {
      if (direct) {
        attention.unpack(memory + sums + n * width * cols, ones, keys_of(n), width,
                         out.at<float>(place_of(out, batch, head, n * cols)), out.view.stride[2]);
        continue;
      }
      // 16 columns at a time fit into the memory of a block.
      constexpr int64_t kWidth = 16;
      for (int64_t d = 0; d < width; d += kWidth) {
        const int64_t some = std::min(kWidth, width - d);
        attention.unpack(memory + sums + (n * width + d) * cols, ones, keys_of(n), some, rows, kWidth);
        for (int64_t j = 0; j < keys_of(n); ++j)
          store(out, place_of(out, batch, head, n * cols + j) + d, 1, some, rows + j * kWidth);
      }
    }
  }

  void run(const BackwardTask& task, float* memory) const {
    pack_all(task, memory);
    if (task.makes_keys) {
      const int64_t own = (task.end_panel - task.first_panel) * cols, before = task.first_panel * cols;
      std::fill_n(memory + layout.key_sums + before * d_k, own * d_k, 0.0f);
      std::fill_n(memory + layout.value_sums + before * d_v, own * d_v, 0.0f);
    }
    const int64_t head = task.head % key_heads;
    for (int64_t h = head * group; h < (head + 1) * group; ++h)
      for (int64_t i = task.first_query; i < task.end_query; i += kBlockQueries)
        run_block(task, h, i, std::min(kBlockQueries, task.end_query - i), memory);
    if (!task.makes_keys) return;
    write_keys(of_key, task, layout.key_sums, d_k, memory);
    write_keys(of_value, task, layout.value_sums, d_v, memory);
  }
};

// Computes the gradient of the bias, if it is an output.
void run_bias(const Pass& pass, const BackwardProblem& problem);

}  // namespace heed::cpu::backward
