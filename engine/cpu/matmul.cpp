// Work items are blocks of rows by groups of panels. An item runs register tiles over blocks of k, and
// finishes a tile while its sums are in the first cache. How the work is cut does not touch the order of any
// sum, so that results do not depend on the number of threads.
#include "cpu/matmul.hpp"

#include <cstring>
#include <utility>

#include "cpu/kernels.hpp"

namespace heed::cpu {
namespace {

using matmul::Axes;
using matmul::Position;
using matmul::Problem;
using enum matmul::Role;

constexpr int64_t kBlockK = 768;     // a panel of 32 columns is then 96 KiB, and 12 rows of a 36 KiB
constexpr int64_t kGroupPanels = 6;  // per item: at most 576 KiB of b, which stay in the second cache
constexpr int64_t kNarrowGroupPanels =
    12;  // where items narrow their rows of a: as many bytes, and half the work for it
constexpr int64_t kBlockTiles = 16;  // per item, high
constexpr int64_t kNear = 8192;      // bytes of b asked for ahead of their use; the hardware looks less far
constexpr int64_t kSkew = 16;        // floats between copied rows of a, so that they do not collide
constexpr int64_t kItemsPerWorker = 8;      // so that the last item to finish costs little
constexpr int64_t kPackedFloats = 2 << 20;  // of b packed at a time, unless one panel is larger

// Blocks of k of equal length, as far as possible.
int64_t block_length(int64_t k) {
  const int64_t blocks = std::max<int64_t>(1, ceil_div(k, kBlockK));
  return std::max<int64_t>(1, align_up<int64_t>(ceil_div(k, blocks), 8));
}

// How rows and panels of one batch are cut into items.
struct Cut {
  int64_t block_rows = 1, row_blocks = 1, group = 1, groups = 1;

  Cut(const Problem& problem, DType panel_type, int64_t workers) {
    const int64_t all_rows = problem.rows.size(), panels = problem.panels(), batches = problem.batches.size();
    int64_t tiles = std::min(kBlockTiles, ceil_div(all_rows, problem.kernels.rows));
    const int64_t wanted = workers > 1 ? kItemsPerWorker * workers : 1;
    // A single row works on several panels at once.
    const int64_t least = all_rows == 1 ? MatmulKernels::kThinPanels : 1;
    const bool narrows = problem.kernels.of(panel_type).narrow != nullptr;
    group = std::max(narrows ? kNarrowGroupPanels : kGroupPanels, least);
    while (true) {
      block_rows = ceil_div(all_rows, ceil_div(all_rows, tiles * problem.kernels.rows));
      block_rows = std::min(tiles, ceil_div(block_rows, problem.kernels.rows)) * problem.kernels.rows;
      row_blocks = ceil_div(all_rows, block_rows);
      groups = ceil_div(panels, group);
      if (batches * row_blocks * groups >= wanted || (group == least && tiles == 1)) return;
      if (group > least)
        --group;
      else
        tiles = ceil_div<int64_t>(tiles, 2);
    }
  }
};

// One worker's scratch, in bytes from its start.
struct Scratch {
  uint64_t sums, a, row, bias, residual, offsets, size;

  explicit Scratch(const MatmulKernels& kernels) {
    const auto rows = static_cast<uint64_t>(kBlockTiles * kernels.rows),
               cols = static_cast<uint64_t>(kernels.cols);
    uint64_t at = 0;
    const auto take = [&at](uint64_t bytes) { return std::exchange(at, at + align_up(bytes, kAlignment)); };
    sums = take(rows * kNarrowGroupPanels * cols * sizeof(float));
    a = take(rows * (kBlockK + kSkew) * sizeof(float));
    row = take(kBlockK * sizeof(float));
    bias = take(cols * sizeof(float));
    residual = take(cols * sizeof(float));
    offsets = take(4 * rows * sizeof(int64_t));
    size = at;
  }
};

// One item: rows of one batch by columns of a group of panels.
class Item {
 public:
  Item(const Problem& problem, const Position& batch, const std::byte* panels, DType panel_type,
       std::byte* scratch)
      : problem_(problem),
        kernels_(problem.kernels),
        rows_kernels_(*problem.operand[kOut].kernels),
        panels_(panels),
        panel_type_(panel_type),
        tiles_(problem.kernels.of(panel_type)),
        panel_bytes_(problem.panel_elements(panel_type) * static_cast<int64_t>(size_of(panel_type))),
        layout_(problem.kernels),
        scratch_(scratch),
        batch_(batch) {}

  // `panels` of b, of which the first starts at `first_column`. This worker's next ones, as far as can be
  // told, are `next` bytes behind these; 0: unknown.
  void run(int64_t first_row, int64_t rows, int64_t first_column, int64_t panels, int64_t next) {
    next_ = next;
    rows_ = rows;
    first_column_ = first_column;
    count_ = panels;
    find_rows(first_row);
    const int64_t length = block_length(problem_.k);
    // With one block of k a tile is finished at once, and all tiles use the same sums.
    const bool blocked = problem_.k > length;
    pitch_ = blocked ? panels * kernels_.cols : kernels_.cols * (rows == 1 ? panels : 1);
    for (int64_t begin = 0; begin == 0 || begin < problem_.k; begin += length)
      multiply(begin, std::min(length, problem_.k - begin), blocked);
  }

 private:
  template <class T>
  T* scratch(uint64_t offset) const {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  int64_t* offsets(int role) const {
    return scratch<int64_t>(layout_.offsets) + role * kBlockTiles * kernels_.rows;
  }

  // Where each row starts in the operands. In place of b's, which has no rows, the count of out's elements.
  void find_rows(int64_t first_row) {
    Position at = batch_;
    at.advance(problem_.rows, first_row);
    const bool even = problem_.rows.count <= 1;
    for (int64_t r = 0; r < rows_; ++r) {
      if (r > 0 && even) {
        const Axes& axes = problem_.rows;
        for (int role = 0; role < matmul::kRoles; ++role) at.offset[role] += axes.stride[role][0];
        at.logical += axes.logical[0];
      } else if (r > 0) {
        at = batch_;
        at.advance(problem_.rows, first_row + r);
      }
      for (const int role : {kA, kOut, kResidual}) offsets(role)[r] = at.offset[role];
      offsets(kB)[r] = at.logical;
    }
  }

  // Rows of a block of k as the tiles read them; `row` is the distance between two, in bytes.
  struct RowsOfA {
    const std::byte* data;
    int64_t row;
  };
  RowsOfA rows_of_a(int64_t begin, int64_t length) {
    const Operand& a = problem_.operand[kA];
    if (tiles_.narrow != nullptr) return narrow_rows(begin, length);
    constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
    if (problem_.direct_a)
      return {reinterpret_cast<const std::byte*>(a.at<float>(offsets(kA)[0]) + begin),
              rows_ > 1 ? (offsets(kA)[1] - offsets(kA)[0]) * kFloat : 0};
    for (int64_t r = 0; r < rows_; ++r)
      load_copy(a, offsets(kA)[r] + begin * problem_.a_k_stride, problem_.a_k_stride, length,
                scratch<float>(layout_.a) + r * length);
    return {scratch<std::byte>(layout_.a), length * kFloat};
  }
  RowsOfA narrow_rows(int64_t begin, int64_t length) {
    const int64_t pitch = align_up(length, tiles_.step), stride = problem_.a_k_stride;
    auto* narrow = scratch<uint16_t>(layout_.a);
    for (int64_t r = 0; r < rows_; ++r) {
      const int64_t offset = offsets(kA)[r] + begin * stride;
      tiles_.narrow(load(problem_.operand[kA], offset, stride, length, scratch<float>(layout_.row)),
                    narrow + r * pitch, length);
    }
    return {scratch<std::byte>(layout_.a), pitch * static_cast<int64_t>(sizeof(uint16_t))};
  }

  void multiply(int64_t begin, int64_t length, bool blocked) {
    const bool last = begin + length >= problem_.k;
    const RowsOfA a = rows_of_a(begin, length);
    const int64_t steps = align_up(length, tiles_.step);
    const int64_t a_row =
        a.row / static_cast<int64_t>(tiles_.narrow != nullptr ? sizeof(uint16_t) : sizeof(float));
    if (rows_ == 1) return multiply_row(begin, steps, a.data, last);
    // Tiles of equal height, as far as possible.
    const int64_t count = ceil_div(rows_, kernels_.rows), height = ceil_div(rows_, count);
    const bool copies = tiles_.narrow == nullptr && problem_.direct_a && collide(a.row);
    for (int64_t r = 0; r < rows_; r += height) {
      const int64_t rows = std::min(height, rows_ - r);
      const auto tile = tiles_.tile[rows - 1];
      const float* copied =
          copies ? copy_rows(reinterpret_cast<const float*>(a.data + r * a.row), a_row, rows, length)
                 : nullptr;
      for (int64_t p = 0; p < count_; ++p) {
        float* sums = scratch<float>(layout_.sums) + (blocked ? r * pitch_ + p * kernels_.cols : 0);
        const std::byte* b = panel(p, begin);
        const Ahead next = ahead(b, r / height, count, steps);
        if (copies)
          tile(steps, copied, length + kSkew, 1, b, sums, pitch_, begin > 0, next);
        else
          tile(steps, a.data + r * a.row, a_row, 1, b, sums, pitch_, begin > 0, next);
        if (last) finish(r, rows, p, sums);
      }
    }
  }

  // Rows so far apart that they lie on the same few lines of the first cache throw each other out of it.
  static bool collide(int64_t row_bytes) { return row_bytes != 0 && row_bytes % 4096 == 0; }
  const float* copy_rows(const float* from, int64_t pitch, int64_t rows, int64_t length) {
    auto* to = scratch<float>(layout_.a);
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * (length + kSkew), from + r * pitch, static_cast<size_t>(length) * sizeof(float));
    return to;
  }

  // The first row of tiles asks for what it reads itself soon; the others, which find all of b in the caches,
  // for what this worker reads next, each for its part, so that memory is read evenly in time.
  Ahead ahead(const std::byte* b, int64_t tile_row, int64_t tile_rows, int64_t steps) const {
    const int64_t step_bytes = kernels_.cols * static_cast<int64_t>(size_of(panel_type_));
    if (tile_row == 0 || next_ == 0) return {b + kNear, step_bytes};
    const int64_t share = ceil_div(step_bytes, tile_rows - 1);
    return {b + next_ + (tile_row - 1) * share * steps, share};
  }

  void multiply_row(int64_t begin, int64_t length, const std::byte* a, bool last) {
    float* sums = scratch<float>(layout_.sums);
    int64_t p = 0;
    for (; p + MatmulKernels::kThinPanels <= count_; p += MatmulKernels::kThinPanels)
      tiles_.thin(length, a, 1, panel(p, begin), problem_.panel_elements(panel_type_),
                  sums + p * kernels_.cols, begin > 0);
    for (; p < count_; ++p)
      tiles_.tile[0](length, a, 0, 1, panel(p, begin), sums + p * kernels_.cols, pitch_, begin > 0,
                     {panel(p, begin) + kNear, kernels_.cols * static_cast<int64_t>(size_of(panel_type_))});
    for (p = 0; last && p < count_; ++p) finish(0, 1, p, sums + p * kernels_.cols);
  }

  const std::byte* panel(int64_t p, int64_t begin) const {
    return panels_ + p * panel_bytes_ + begin * kernels_.cols * static_cast<int64_t>(size_of(panel_type_));
  }

  void finish(int64_t r, int64_t rows, int64_t p, float* sums) const {
    const int64_t column = first_column_ + p * kernels_.cols;
    const int64_t columns = std::min(kernels_.cols, problem_.n - column);
    const MatmulAttrs& attrs = problem_.attrs;
    TileFinish finish;
    finish.scale = attrs.scale;
    finish.activation = attrs.activation;
    finish.bias = bias(column, columns);
    if (problem_.direct_finish && columns == kernels_.cols) {
      const Operand& residual = problem_.operand[kResidual];
      if (residual.valid()) finish.residual = residual.at<float>(column);
      finish.residual_rows = offsets(kResidual) + r;
      finish.out = problem_.operand[kOut].at<float>(column);
      finish.out_rows = offsets(kOut) + r;
      return kernels_.finish(finish, rows, sums, pitch_);
    }
    const int64_t start = 0;
    finish.out_rows = &start;
    for (int64_t i = 0; i < rows; ++i) {
      finish.out = sums + i * pitch_;
      kernels_.finish(finish, 1, finish.out, pitch_);
      finish_row(r + i, column, columns, finish.out);
    }
  }

  const float* bias(int64_t column, int64_t columns) const {
    const Operand& bias = problem_.bias;
    if (!bias.valid()) return nullptr;
    const int64_t stride = row_stride(bias.view);
    float* buffer = scratch<float>(layout_.bias);
    if (columns == kernels_.cols) return load(bias, column * stride, stride, columns, buffer);
    std::memset(buffer, 0, static_cast<size_t>(kernels_.cols) * sizeof(float));
    load_copy(bias, column * stride, stride, columns, buffer);
    return buffer;
  }

  // Dropout, residual and store of one row that tiles cannot finish themselves.
  void finish_row(int64_t r, int64_t column, int64_t columns, float* row) const {
    if (problem_.attrs.dropout.p > 0.0f)
      rows_kernels_.dropout(problem_.dropout, static_cast<uint64_t>(offsets(kB)[r] + column), row, row,
                            columns);
    const Operand& residual = problem_.operand[kResidual];
    if (residual.valid()) {
      const int64_t stride = row_stride(residual.view);
      const float* other = load(residual, offsets(kResidual)[r] + column * stride, stride, columns,
                                scratch<float>(layout_.residual));
      rows_kernels_.add(row, other, row, columns);
    }
    const Operand& out = problem_.operand[kOut];
    const int64_t stride = row_stride(out.view);
    store(out, offsets(kOut)[r] + column * stride, stride, columns, row);
  }

  const Problem& problem_;
  const MatmulKernels& kernels_;
  const RowKernels& rows_kernels_;
  const std::byte* panels_;  // of the group
  DType panel_type_;
  const MatmulKernels::Storage& tiles_;
  int64_t panel_bytes_;
  Scratch layout_;
  std::byte* scratch_;
  Position batch_;
  int64_t rows_ = 0, first_column_ = 0, count_ = 0, pitch_ = 0, next_ = 0;
};

// Panels counted through all batches: those that are packed at the moment.
struct Panels {
  const std::byte* data;
  DType type;
  int64_t first, count;
};

// All items of these panels; a group lies in one batch.
void multiply(const Step& step, const Problem& problem, const Panels& packed) {
  const Cut cut(problem, packed.type, step.pool.workers());
  const int64_t panels = problem.panels(), all_rows = problem.rows.size();
  const int64_t first_batch = packed.first / panels, last_batch = (packed.first + packed.count - 1) / panels;
  const int64_t per_batch = cut.groups * cut.row_blocks;
  const int64_t panel_bytes =
      problem.panel_elements(packed.type) * static_cast<int64_t>(size_of(packed.type));
  step.parallel(
      (last_batch - first_batch + 1) * per_batch, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t batch = first_batch + i / per_batch, group = i / cut.row_blocks % cut.groups;
          // The first and last batch may have panels that are not packed now.
          const int64_t from = std::max(batch * panels + group * cut.group, packed.first);
          const int64_t to = std::min(
              {batch * panels + (group + 1) * cut.group, (batch + 1) * panels, packed.first + packed.count});
          if (from >= to) continue;
          Position position;
          position.advance(problem.batches, batch);
          const int64_t row = i % cut.row_blocks * cut.block_rows;
          // Row blocks of one group follow each other; after the last one, other workers take the groups in
          // between.
          const bool last_block = i % cut.row_blocks + 1 == cut.row_blocks;
          const int64_t next = (cut.row_blocks > 1 ? 1 : step.pool.workers()) * cut.group;
          const bool known = last_block && from + next + (to - from) <= packed.first + packed.count;
          Item(problem, position, packed.data + (from - packed.first) * panel_bytes, packed.type,
               step.scratch<std::byte>(worker))
              .run(row, std::min(cut.block_rows, all_rows - row),
                   (from - batch * panels) * problem.kernels.cols, to - from, known ? next * panel_bytes : 0);
        }
      });
}

// Panels first .. first + count of a b that changes from run to run, as f32.
void pack(const Step& step, const Problem& problem, int64_t first, int64_t count, float* packed) {
  const int64_t grain = std::max<int64_t>(1, 32768 / problem.panel_elements(DType::F32));
  step.parallel(count, grain, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Position batch;
      batch.advance(problem.batches, (first + i) / problem.panels());
      pack_panel(problem.operand[kB], batch.offset[kB], (first + i) % problem.panels() * problem.kernels.cols,
                 problem.kernels.cols, DType::F32, packed + i * problem.panel_elements(DType::F32));
    }
  });
}

int64_t panels_at_once(int64_t panels, int64_t panel_elements) {
  return std::min(panels, std::max<int64_t>(1, kPackedFloats / panel_elements));
}

}  // namespace

ScratchNeed matmul_scratch(const ScratchQuery& query) {
  const MatmulKernels& kernels = *query.kernels.matmul;
  ScratchNeed need;
  need.per_worker = Scratch(kernels).size;
  if (has_constant_b(query.schedule, query.node)) return need;
  const LayoutB b{query.view(query.node.inputs[in::kB])};
  const int64_t panels = ceil_div(b.n(), kernels.cols) * b.batches(), elements = b.k() * kernels.cols;
  need.shared = static_cast<uint64_t>(panels_at_once(panels, elements) * elements) * sizeof(float);
  // With fewer panels than the most, each may be longer than now; but no more than fit, or one.
  need.shared = std::max(need.shared,
                         static_cast<uint64_t>(std::min(panels * elements, kPackedFloats)) * sizeof(float));
  return need;
}

void run_matmul(const Step& step) {
  const Problem problem(step);
  const int64_t panels = problem.panels() * problem.batches.size();
  if (panels == 0 || problem.rows.size() == 0) return;
  if (step.packed_b != nullptr)
    return multiply(step, problem, {step.packed_b->memory.data(), step.packed_b->dtype, 0, panels});
  auto* packed = reinterpret_cast<float*>(step.shared_scratch);
  const int64_t at_once = panels_at_once(panels, problem.panel_elements(DType::F32));
  for (int64_t first = 0; first < panels; first += at_once) {
    const int64_t count = std::min(at_once, panels - first);
    pack(step, problem, first, count, packed);
    multiply(step, problem, {step.shared_scratch, DType::F32, first, count});
  }
}

}  // namespace heed::cpu
