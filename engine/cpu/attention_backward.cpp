// The gradients of attention without the S_q x S_kv weights in memory (Dao et al. 2022, arXiv:2205.14135).
//
// Weights are computed again from the log-sum-exp, a block of queries by a panel of keys at a time, as products of matmul tiles. An
// item is a head of keys with all heads of queries that share it; where there are few of these, items are panels of keys for the
// gradients of keys and values, and then blocks of queries for those of queries. The order of all sums is the same in both.
#include <algorithm>
#include <utility>

#include "cpu/masking.hpp"
#include "cpu/matmul_kernels.hpp"
#include "cpu/prefetch_queue.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kBlockQueries = 64;
constexpr int64_t kPanelsOfItem = 4;  // where items are panels of keys

// BackwardScratch of one worker, in floats from its start.
struct BackwardScratch {
  int64_t keys, rows, values;                // of all panels: [d_k][cols], [cols][d_k rounded up], [d_v][cols]
  int64_t key_sums, value_sums;              // likewise, [d_k][cols] and [d_v][cols]
  int64_t weights, slopes, row, query_sums;  // of a block
  int64_t size;

  BackwardScratch(int64_t cols, int64_t panels, int64_t d_k, int64_t d_v) {
    int64_t at = 0;
    const auto take = [&at](int64_t floats) { return std::exchange(at, at + row_pitch(floats)); };
    const int64_t wide_k = align_up(d_k, cols);
    keys = take(panels * d_k * cols);
    rows = take(panels * cols * wide_k);
    values = take(panels * d_v * cols);
    key_sums = take(panels * d_k * cols);
    value_sums = take(panels * d_v * cols);
    weights = take(kBlockQueries * cols);
    slopes = take(kBlockQueries * cols);
    row = take(3 * cols);
    query_sums = take(kBlockQueries * wide_k);
    size = at;
  }
};

// The part of the gradients that an item of parallel work makes.
struct BackwardTask {
  int64_t head;                    // of keys, counted through all batches
  int64_t first_panel, end_panel;  // of keys
  int64_t first_query, end_query;  // of each head of queries
  bool makes_queries, makes_keys;
};

struct BackwardProblem {
  Operand query, key, value, output, upstream, log_sum_exp, of_query, of_rows;
  const AttentionAttrs& attrs;
  Masking masking, hiding;  // hidden keys are -infinity; the second without the bias
  DropoutRule dropout;
  const MatmulKernels& matmul;
  const RowKernels& kernels;
  int64_t heads, key_heads, group, queries, keys, d_k, d_v, cols, panels, wide_k;
  BackwardScratch layout;

  explicit BackwardProblem(const Pass& pass)
      : query(pass.input(in::kQuery)),
        key(pass.input(in::kKey)),
        value(pass.input(in::kValue)),
        output(pass.input(in::kAttended)),
        upstream(pass.input(in::kAttendedGradient)),
        log_sum_exp(pass.input(in::kAttendedLogSumExp)),
        of_query(pass.output(0)),
        of_rows(pass.output(1)),
        attrs(pass.node.as<AttentionAttrs>()),
        masking(scores_view(query.view, key.view), attrs.softmax, pass.input(in::kAttentionBias),
                pass.input(in::kAttentionMask), pass.input(in::kAttentionKeyPadding), {}, {}),
        hiding(masking),
        dropout{dropout_words(attrs.dropout.p), pass.values.seed, attrs.dropout.stream},
        matmul(*pass.kernels.matmul),
        kernels(*pass.kernels.rows),
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
        layout(cols, panels, d_k, d_v) {
    masking.fill = hiding.fill = kHidden;
    hiding.bias = {};
  }

  static const float* rows_at(const Operand& x, int64_t batch, int64_t head, int64_t token) {
    return x.at<const float>(batch * x.view.stride[0] + head * x.view.stride[1] + token * x.view.stride[2]);
  }

  // c [m][cols] (+)= a b, where b is a panel [k][cols].
  void multiply(int64_t m, int64_t k, const float* a, int64_t a_row, int64_t a_k, const float* b, float* c,
                int64_t pitch, bool add) const {
    const int64_t height = ceil_div(m, ceil_div(m, matmul.rows));
    for (int64_t r = 0; r < m; r += height)
      matmul.f32.tile[std::min(height, m - r) - 1](k, a + r * a_row, a_row, a_k, b, c + r * pitch, pitch, add, {});
  }

  // panel[d][j] = rows[j][d]; zeros for the other columns.
  void pack(const float* rows, int64_t pitch, int64_t count, int64_t width, float* panel) const {
    for (int64_t d = 0; d < width; ++d) {
      for (int64_t j = 0; j < count; ++j) panel[d * cols + j] = rows[j * pitch + d];
      for (int64_t j = count; j < cols; ++j) panel[d * cols + j] = 0.0f;
    }
  }

  int64_t keys_of(int64_t panel) const { return std::min(cols, keys - panel * cols); }

  void pack_all(const BackwardTask& task, float* memory) const {
    const int64_t batch = task.head / key_heads, head = task.head % key_heads;
    for (int64_t n = task.first_panel; n < task.end_panel; ++n) {
      const int64_t count = keys_of(n);
      const float* const k = rows_at(key, batch, head, n * cols);
      const float* const v = rows_at(value, batch, head, n * cols);
      pack(k, key.view.stride[2], count, d_k, memory + layout.keys + n * d_k * cols);
      pack(v, value.view.stride[2], count, d_v, memory + layout.values + n * d_v * cols);
      if (!task.makes_queries) continue;
      // Keys as they lie, in panels of columns: what the slopes are multiplied by.
      float* const to = memory + layout.rows + n * cols * wide_k;
      std::fill_n(to, cols * wide_k, 0.0f);
      for (int64_t c = 0; c < d_k; c += cols)
        for (int64_t j = 0; j < count; ++j)
          std::copy_n(k + j * key.view.stride[2] + c, std::min(cols, d_k - c), to + c * cols + j * cols);
    }
  }

  // Makes the dropped weights of one query and its keys of a panel, and the slopes of its logits times the scale. `weights` holds
  // products of query and keys, `slopes` those of upstream and values.
  void finish_row(int64_t row, int64_t panel, float delta, float log_sum, float* weights, float* slopes,
                  float* memory) const {
    const int64_t count = keys_of(panel), first = panel * cols;
    const float scale = attrs.softmax.scale;
    float *const hidden = memory + layout.row, *const factors = hidden + cols, *const buffer = factors + cols;
    const KeyRange range{first, first + count};
    kernels.scale(weights, scale, weights, count);
    masking.apply(row, range, weights, buffer);
    const bool fills = attrs.softmax.masked_fill.has_value();
    if (fills) {
      std::fill_n(hidden, count, 0.0f);
      hiding.apply(row, range, hidden, buffer);
      for (int64_t j = 0; j < count; ++j)
        if (hidden[j] == kHidden) weights[j] = *attrs.softmax.masked_fill;
    }
    kernels.powers(weights, log_sum, weights, count);
    if (dropout.words.threshold != 0) {
      std::fill_n(factors, count, 1.0f);
      kernels.dropout(dropout, static_cast<uint64_t>(row * keys + first), factors, factors, count);
    }
    for (int64_t j = 0; j < count; ++j) {
      const float weight = weights[j], factor = dropout.words.threshold != 0 ? factors[j] : 1.0f;
      const float slope = scale * weight * (factor * slopes[j] - delta);
      slopes[j] = weight == 0.0f || (fills && hidden[j] == kHidden) ? 0.0f : slope;
      weights[j] = weight * factor;
    }
    std::fill(weights + count, weights + cols, 0.0f);
    std::fill(slopes + count, slopes + cols, 0.0f);
  }

  // A block of queries of one head of them.
  void run_block(const BackwardTask& task, int64_t head, int64_t first, int64_t count, float* memory) const {
    const int64_t batch = task.head / key_heads, row = (batch * heads + head) * queries + first;
    const float* const q = rows_at(query, batch, head, first);
    const float* const g = rows_at(upstream, batch, head, first);
    float delta[kBlockQueries];
    for (int64_t i = 0; i < count; ++i) {
      const float* const o = rows_at(output, batch, head, first + i);
      const float* const of_o = g + i * upstream.view.stride[2];
      double sum = 0.0;
      for (int64_t d = 0; d < d_v; ++d) sum += static_cast<double>(o[d]) * static_cast<double>(of_o[d]);
      delta[i] = static_cast<float>(sum);
    }
    const float* const log_sums = log_sum_exp.at<const float>(row);
    float *const weights = memory + layout.weights, *const slopes = memory + layout.slopes,
                 *const sums = memory + layout.query_sums;
    std::fill_n(sums, kBlockQueries * wide_k, 0.0f);
    // With a fill hidden keys have weights, too.
    KeyRange seen = masking.visited_keys(row, row + count - 1);
    if (attrs.softmax.masked_fill) seen = {0, keys};
    for (int64_t n = task.first_panel; n < task.end_panel; ++n) {
      if (n * cols >= seen.end || (n + 1) * cols <= seen.begin) continue;
      multiply(count, d_k, q, query.view.stride[2], 1, memory + layout.keys + n * d_k * cols, weights, cols, false);
      multiply(count, d_v, g, upstream.view.stride[2], 1, memory + layout.values + n * d_v * cols, slopes, cols, false);
      for (int64_t i = 0; i < count; ++i) {
        if (log_sums[i] == kHidden) {  // no key is visible
          std::fill_n(weights + i * cols, cols, 0.0f);
          std::fill_n(slopes + i * cols, cols, 0.0f);
        } else {
          finish_row(row + i, n, delta[i], log_sums[i], weights + i * cols, slopes + i * cols, memory);
        }
      }
      if (task.makes_keys) {
        multiply(d_v, count, g, 1, upstream.view.stride[2], weights, memory + layout.value_sums + n * d_v * cols, cols,
                 true);
        multiply(d_k, count, q, 1, query.view.stride[2], slopes, memory + layout.key_sums + n * d_k * cols, cols, true);
      }
      if (task.makes_queries)
        for (int64_t c = 0; c < d_k; c += cols)
          multiply(count, cols, slopes, cols, 1, memory + layout.rows + n * cols * wide_k + c * cols, sums + c, wide_k,
                   true);
    }
    if (!task.makes_queries) return;
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(sums + i * wide_k, d_k, const_cast<float*>(rows_at(of_query, batch, head, first + i)));
  }

  void run(const BackwardTask& task, float* memory) const {
    pack_all(task, memory);
    if (task.makes_keys) {
      std::fill_n(memory + layout.key_sums, panels * d_k * cols, 0.0f);
      std::fill_n(memory + layout.value_sums, panels * d_v * cols, 0.0f);
    }
    const int64_t batch = task.head / key_heads, head = task.head % key_heads;
    for (int64_t h = head * group; h < (head + 1) * group; ++h)
      for (int64_t i = task.first_query; i < task.end_query; i += kBlockQueries)
        run_block(task, h, i, std::min(kBlockQueries, task.end_query - i), memory);
    if (!task.makes_keys) return;
    for (int64_t n = task.first_panel; n < task.end_panel; ++n)
      for (int64_t j = 0; j < keys_of(n); ++j) {
        float* const to = const_cast<float*>(rows_at(of_rows, batch, head, n * cols + j));
        for (int64_t d = 0; d < d_k; ++d) to[d] = memory[layout.key_sums + (n * d_k + d) * cols + j];
        for (int64_t d = 0; d < d_v; ++d) to[d_k + d] = memory[layout.value_sums + (n * d_v + d) * cols + j];
      }
  }
};

}  // namespace

ScratchNeed attention_backward_scratch(const ScratchQuery& query) {
  const View key = query.view(query.node.inputs[in::kKey]), value = query.view(query.node.inputs[in::kValue]);
  const int64_t cols = query.kernels.matmul->cols;
  const BackwardScratch layout(cols, ceil_div(key.dim[2], cols), key.dim[3], value.dim[3]);
  return {.shared = 0, .per_worker = static_cast<uint64_t>(layout.size) * sizeof(float)};
}

void run_attention_backward(const Pass& pass) {
  const BackwardProblem problem(pass);
  const int64_t heads = problem.key.view.dim[0] * problem.key_heads;
  const auto run = [&](int64_t items, const auto& task_of) {
    pass.parallel(items, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) problem.run(task_of(i), pass.scratch<float>(worker));
    });
  };
  if (heads >= 2 * static_cast<int64_t>(pass.pool.workers()))
    return run(heads, [&](int64_t i) { return BackwardTask{i, 0, problem.panels, 0, problem.queries, true, true}; });
  const int64_t ranges = ceil_div(problem.panels, kPanelsOfItem), blocks = ceil_div(problem.queries, kBlockQueries);
  run(heads * ranges, [&](int64_t i) {
    const int64_t first = i % ranges * kPanelsOfItem;
    return BackwardTask{i / ranges, first, std::min(first + kPanelsOfItem, problem.panels), 0, problem.queries,
                        false,      true};
  });
  run(heads * blocks, [&](int64_t i) {
    const int64_t first = i % blocks * kBlockQueries;
    return BackwardTask{i / blocks, 0,    problem.panels, first, std::min(first + kBlockQueries, problem.queries),
                        true,       false};
  });
}

}  // namespace heed::cpu
