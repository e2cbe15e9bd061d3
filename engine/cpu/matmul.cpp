// out = residual + dropout(act(scale * (a x b) + bias)).
//
// b is packed into panels as wide as the register tile, a few MiB of them at a time; then tasks of kBlockRows
// rows by kGroupPanels panels pack their part of a, run the tile over blocks of k and write finished rows.
// The sums of an element run over k in one order whatever the number of threads.
#include <cstring>

#include "cpu/dropout.hpp"
#include "cpu/math.hpp"
#include "cpu/matmul_tile.hpp"
#include "cpu/rows.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kBlockRows = 96;         // of out per task; a multiple of every tile's rows
constexpr int64_t kBlockK = 256;           // a's packed block, 96 x 256 floats, stays in L2
constexpr int64_t kGroupColumns = 256;     // of out per task; a multiple of every tile's columns
constexpr int64_t kPanelFloats = 2 << 20;  // of b packed at a time, unless one panel is larger

constexpr int kRoles = 4;  // a, b, out, residual
enum Role { kA, kB, kOut, kResidual };

// Axes of out before the columns, with the offset that one step along them makes in every operand and in the
// row-major count of out's elements (which dropout uses).
struct Axes {
  int count = 0;
  int64_t dim[kMaxRank] = {};
  int64_t stride[kRoles][kMaxRank] = {};
  int64_t logical[kMaxRank] = {};

  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < count; ++i) n *= dim[i];
    return n;
  }
};

struct Position {
  int64_t offset[kRoles] = {};
  int64_t logical = 0;

  void advance(const Axes& axes, int64_t index) {
    for (int i = axes.count - 1; i >= 0; --i) {
      const int64_t at = index % axes.dim[i];
      index /= axes.dim[i];
      for (int role = 0; role < kRoles; ++role) offset[role] += at * axes.stride[role][i];
      logical += at * axes.logical[i];
    }
  }
};

// The product at one run. Batch axes along which b does not move count as further rows: one b serves them
// all.
struct Problem {
  Operand operand[kRoles];
  Operand bias;
  const MatmulAttrs& attrs;
  DropoutRule dropout;
  const MatmulTile& tile = best_matmul_tile();
  Axes rows, batches;
  int64_t n = 1, k = 1, a_k_stride = 0, b_k_stride = 0, b_n_stride = 0;

  explicit Problem(const Step& step) : attrs(step.node.as<MatmulAttrs>()) {
    operand[kA] = step.input(in::kA);
    operand[kB] = step.input(in::kB);
    operand[kOut] = step.output();
    operand[kResidual] = step.input_like(in::kResidual, operand[kOut].view);
    bias = step.input(in::kBias);
    dropout = {dropout_words(attrs.dropout.p), step.values.seed, attrs.dropout.stream};
    set_sizes();
    set_axes();
  }

  int64_t panels() const { return ceil_div(n, tile.cols); }
  int64_t panel_floats() const { return k * tile.cols; }

 private:
  void set_sizes() {
    const View& a = operand[kA].view;
    const View& b = operand[kB].view;
    n = row_length(operand[kOut].view);
    k = row_length(a);
    a_k_stride = row_stride(a);
    b_n_stride = row_stride(b);
    b_k_stride = b.stride[b.rank - 2];
  }

  // Stride of `role` along out's axis `axis`, by numpy's broadcast rule on the axes before the matrix.
  int64_t stride_along(Role role, int axis) const {
    const View& out = operand[kOut].view;
    const View& v = operand[role].view;
    const bool row_axis = axis == out.rank - 2;
    if (!operand[role].valid() || (role == kB && row_axis)) return 0;
    const int own = axis - (out.rank - v.rank);
    return own < 0 || (v.dim[own] == 1 && out.dim[axis] != 1) ? 0 : v.stride[own];
  }

  void set_axes() {
    const View& out = operand[kOut].view;
    int64_t logical = n;
    int64_t logicals[kMaxRank] = {};
    for (int axis = out.rank - 2; axis >= 0; --axis) {
      logicals[axis] = logical;
      logical *= out.dim[axis];
    }
    for (int axis = 0; axis + 1 < out.rank; ++axis) {
      Axes& axes = stride_along(kB, axis) == 0 ? rows : batches;
      axes.dim[axes.count] = out.dim[axis];
      axes.logical[axes.count] = logicals[axis];
      for (const Role role : {kA, kB, kOut, kResidual})
        axes.stride[role][axes.count] = stride_along(role, axis);
      ++axes.count;
    }
  }
};

int64_t chunk_panels(int64_t panels, int64_t panel_floats) {
  return std::min(panels, std::max<int64_t>(1, kPanelFloats / panel_floats));
}

// Columns first .. first + tile.cols of the b at `offset`, as [k][tile.cols] with zeros past the last column.
void pack_b(const Problem& problem, int64_t offset, int64_t first, float* panel, float* buffer) {
  const Operand& b = problem.operand[kB];
  const int64_t cols = problem.tile.cols, count = std::min(cols, problem.n - first);
  offset += first * problem.b_n_stride;
  if (problem.b_n_stride == 1 || problem.b_k_stride != 1) {
    for (int64_t p = 0; p < problem.k; ++p) {
      float* to = panel + p * cols;
      load_copy(b, offset + p * problem.b_k_stride, problem.b_n_stride, count, to);
      for (int64_t j = count; j < cols; ++j) to[j] = 0.0f;
    }
    return;
  }
  // Each column is contiguous along k: read those runs and turn them into columns of the panel.
  for (int64_t begin = 0; begin < problem.k; begin += kBlockK) {
    const int64_t length = std::min(kBlockK, problem.k - begin);
    for (int64_t j = 0; j < cols; ++j) {
      float* to = panel + begin * cols + j;
      if (j >= count) {
        for (int64_t p = 0; p < length; ++p) to[p * cols] = 0.0f;
        continue;
      }
      const float* from = load(b, offset + j * problem.b_n_stride + begin, 1, length, buffer);
      for (int64_t p = 0; p < length; ++p) to[p * cols] = from[p];
    }
  }
}

// Floats of one worker's scratch.
struct WorkerLayout {
  static constexpr int64_t kPackedA = 0;
  static constexpr int64_t kSums = kPackedA + kBlockRows * kBlockK;
  static constexpr int64_t kRow =
      kSums + kBlockRows * kGroupColumns;  // one run along k, or one row of a group
  static constexpr int64_t kBias = kRow + kGroupColumns;
  static constexpr int64_t kSize = kBias + kGroupColumns;
  static_assert(kBlockK <= kGroupColumns);
};

// One task: rows of one batch by columns of one group of panels.
struct Block {
  const Problem& problem;
  const Position& batch;
  const float* panels;  // of the group, panel_floats() apart
  int64_t first_row, rows, first_column, columns;
  float* scratch;

  void run() const {
    float* sums = scratch + WorkerLayout::kSums;
    const int64_t padded_rows = align_up(rows, problem.tile.rows);
    std::memset(sums, 0, static_cast<size_t>(padded_rows * kGroupColumns) * sizeof(float));
    for (int64_t begin = 0; begin < problem.k; begin += kBlockK) {
      const int64_t length = std::min(kBlockK, problem.k - begin);
      pack_a(begin, length);
      multiply(begin, length, sums);
    }
    for (int64_t r = 0; r < rows; ++r) finish_row(r, sums + r * kGroupColumns);
  }

 private:
  Position position(int64_t row) const {
    Position at = batch;
    at.advance(problem.rows, first_row + row);
    return at;
  }

  // k `begin` .. `begin` + length of the block's rows as strips [length][tile.rows], zeros past the last row.
  void pack_a(int64_t begin, int64_t length) const {
    const int64_t strip_rows = problem.tile.rows, padded_rows = align_up(rows, strip_rows);
    for (int64_t r = 0; r < padded_rows; ++r) {
      float* to = scratch + WorkerLayout::kPackedA + (r / strip_rows) * strip_rows * length + r % strip_rows;
      if (r >= rows) {
        for (int64_t p = 0; p < length; ++p) to[p * strip_rows] = 0.0f;
        continue;
      }
      const float* from = load(problem.operand[kA], position(r).offset[kA] + begin * problem.a_k_stride,
                               problem.a_k_stride, length, scratch + WorkerLayout::kRow);
      for (int64_t p = 0; p < length; ++p) to[p * strip_rows] = from[p];
    }
  }

  void multiply(int64_t begin, int64_t length, float* sums) const {
    const MatmulTile& tile = problem.tile;
    for (int64_t column = 0; column < columns; column += tile.cols) {
      const float* panel = panels + column / tile.cols * problem.panel_floats() + begin * tile.cols;
      for (int64_t r = 0; r < rows; r += tile.rows)
        tile.run(length, scratch + WorkerLayout::kPackedA + r * length, panel,
                 sums + r * kGroupColumns + column, kGroupColumns);
    }
  }

  void finish_row(int64_t r, float* row) const {
    const Position at = position(r);
    const MatmulAttrs& attrs = problem.attrs;
    if (attrs.scale != 1.0f)
      for (int64_t i = 0; i < columns; ++i) row[i] *= attrs.scale;
    if (problem.bias.valid()) {
      const int64_t stride = row_stride(problem.bias.view);
      const float* bias =
          load(problem.bias, first_column * stride, stride, columns, scratch + WorkerLayout::kBias);
      for (int64_t i = 0; i < columns; ++i) row[i] += bias[i];
    }
    activate(attrs.activation, row, columns);
    if (attrs.dropout.p > 0.0f)
      apply_dropout(problem.dropout, static_cast<uint64_t>(at.logical + first_column), row, columns);
    const Operand& residual = problem.operand[kResidual];
    if (residual.valid()) {
      const int64_t stride = row_stride(residual.view);
      const float* add = load(residual, at.offset[kResidual] + first_column * stride, stride, columns,
                              scratch + WorkerLayout::kRow);
      for (int64_t i = 0; i < columns; ++i) row[i] += add[i];
    }
    const Operand& out = problem.operand[kOut];
    const int64_t stride = row_stride(out.view);
    store(out, at.offset[kOut] + first_column * stride, stride, columns, row);
  }
};

// Panels first .. first + count, counted through all batches.
void pack_chunk(const Step& step, const Problem& problem, int64_t first, int64_t count, float* packed) {
  const int64_t grain = std::max<int64_t>(1, 32768 / problem.panel_floats());
  step.parallel(count, grain, [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = step.scratch<float>(worker) + WorkerLayout::kRow;
    for (int64_t i = begin; i < end; ++i) {
      Position batch;
      batch.advance(problem.batches, (first + i) / problem.panels());
      const int64_t column = (first + i) % problem.panels() * problem.tile.cols;
      pack_b(problem, batch.offset[kB], column, packed + i * problem.panel_floats(), buffer);
    }
  });
}

// The groups of panels first .. first + count: a group lies in one batch and is at most kGroupColumns wide.
void multiply_chunk(const Step& step, const Problem& problem, int64_t first, int64_t count,
                    const float* packed) {
  const int64_t panels = problem.panels(), per_group = kGroupColumns / problem.tile.cols;
  const int64_t first_batch = first / panels, last_batch = (first + count - 1) / panels;
  const int64_t groups = ceil_div(panels, per_group), all_rows = problem.rows.size();
  const int64_t row_blocks = ceil_div(all_rows, kBlockRows);
  // A chunk may begin and end inside a batch; blocks outside of it are empty.
  const int64_t items = (last_batch - first_batch + 1) * groups * row_blocks;
  step.parallel(items, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = first_batch + i / (groups * row_blocks), group = i / row_blocks % groups;
      const int64_t from = std::max(batch * panels + group * per_group, first);
      const int64_t to =
          std::min({batch * panels + (group + 1) * per_group, (batch + 1) * panels, first + count});
      if (from >= to) continue;
      Position position;
      position.advance(problem.batches, batch);
      const int64_t row = i % row_blocks * kBlockRows, column = (from - batch * panels) * problem.tile.cols;
      const int64_t columns = std::min((to - from) * problem.tile.cols, problem.n - column);
      Block{problem,
            position,
            packed + (from - first) * problem.panel_floats(),
            row,
            std::min(kBlockRows, all_rows - row),
            column,
            columns,
            step.scratch<float>(worker)}
          .run();
    }
  });
}

}  // namespace

ScratchNeed matmul_scratch(const Schedule& schedule, const Node& node, const RunValues& maxima) {
  const View out = resolve(schedule, node.outputs[0], maxima);
  const View a = resolve(schedule, node.inputs[in::kA], maxima),
             b = resolve(schedule, node.inputs[in::kB], maxima);
  const int64_t cols = best_matmul_tile().cols;
  int64_t panels = ceil_div(row_length(out), cols);
  for (int i = 0; i + 2 < b.rank; ++i) panels *= b.dim[i];
  const int64_t panel_floats = row_length(a) * cols;
  const int64_t most = std::min(panels * panel_floats, std::max(kPanelFloats, panel_floats));
  return {.shared = static_cast<uint64_t>(most) * sizeof(float),
          .per_worker = static_cast<uint64_t>(WorkerLayout::kSize) * sizeof(float)};
}

void run_matmul(const Step& step) {
  const Problem problem(step);
  auto* packed = reinterpret_cast<float*>(step.shared_scratch);
  const int64_t panels = problem.panels() * problem.batches.size();
  const int64_t chunk = chunk_panels(panels, problem.panel_floats());
  for (int64_t first = 0; first < panels; first += chunk) {
    const int64_t count = std::min(chunk, panels - first);
    pack_chunk(step, problem, first, count, packed);
    multiply_chunk(step, problem, first, count, packed);
  }
}

}  // namespace heed::cpu
