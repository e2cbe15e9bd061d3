// The matmul, divided into blocks of rows and groups of panels. The division does not change the order of sums, so results do not depend on
// the number of threads.
#include <cstring>

#include "cpu/attention/attention_kernels.hpp"
#include "cpu/gemm/blocks.hpp"
#include "cpu/gemm/matmul_chunk.hpp"

namespace heed::cpu {
namespace {

using namespace matmul;

// Minimum chunks per worker, so that waiting for the last one costs little.
constexpr int64_t kChunksPerWorker = 8;
// Minimum height of a worker's share of the rows, in tiles: the rows of a share amortize reading b.
constexpr int64_t kLeastTiles = 4;
// Floats of b that are packed at a time, or one panel if that is larger.
constexpr int64_t kPackedFloats = 2 << 20;
// Bytes of a that are packed at a time, or one block of rows if that is larger.
constexpr int64_t kPackedBytes = 8 << 20;
// Bytes of a transposed a that are packed at a time, or one block of rows if that is larger.
constexpr int64_t kTurnedBytes = 16 << 20;
// Additional elements between packed rows of a, so that they do not map to the same cache sets.
constexpr int64_t kSkew = 32;

// The division of the rows and panels of one batch. An item is `unit` panels by a block of rows; a chunk has at most `most` items.
struct Cut {
  int64_t block_rows = 1, row_blocks = 1, unit = 1, units = 1, most = 1;

  // Workers divide the rows if there are enough, else the columns. Blocks of rows that are packed by tiles consist of whole tiles.
  Cut(const Problem& problem, DType panel_type, int64_t all_rows, bool by_tiles, int64_t workers) {
    const int64_t panels = problem.panels(), batches = problem.batches.size(), tile = problem.kernels.rows;
    const int64_t shares = std::clamp<int64_t>(all_rows / (kLeastTiles * tile), 1, workers);
    int64_t tiles = std::min(kBlockTiles, ceil_div(ceil_div(all_rows, shares), tile));
    const int64_t least = workers > 1 ? kChunksPerWorker * workers : 1;
    if (all_rows == 1) unit = problem.kernels.of(panel_type).thin_panels;  // which a single row multiplies at once
    units = ceil_div(panels, unit);
    // The first row of tiles reads the panels from memory. With two rows of tiles that is half of the time, so a chunk has one item.
    most = tiles <= 2 ? 1 : std::max<int64_t>(1, kGroupPanels / unit);
    while (true) {
      row_blocks = align_up(ceil_div(all_rows, tiles * tile), shares);
      block_rows = ceil_div(all_rows, row_blocks);
      if (by_tiles) block_rows = align_up(block_rows, tile);
      row_blocks = ceil_div(all_rows, block_rows);
      if (batches * row_blocks * ceil_div(units, most) >= least || (most == 1 && tiles == 1)) return;
      if (most > 1)
        --most;
      else
        tiles = ceil_div<int64_t>(tiles, 2);
    }
  }
};

// The currently packed panels, numbered through all batches.
struct Panels {
  const std::byte* data;
  DType type;
  int64_t first, count;
};

// Multiplies the rows of `band` by all of these panels, panel by panel for each block of rows.
void multiply(const Pass& pass, const Problem& problem, const Panels& packed, const Band& band) {
  const Cut cut(problem, packed.type, band.count, band.by_tiles, pass.pool.workers());
  const int64_t panels = problem.panels();
  const int64_t first_batch = packed.first / panels, last_batch = (packed.first + packed.count - 1) / panels;
  const int64_t panel_size = panel_bytes(problem.panel_elements(packed.type), packed.type);
  const int64_t items = (last_batch - first_batch + 1) * cut.row_blocks * cut.units;
  // The first panel of an item, numbered through all batches. Some panels of the first and last batch may not be packed now.
  const auto panel_of = [&](int64_t item) {
    const int64_t batch = first_batch + item / (cut.row_blocks * cut.units);
    return std::clamp(batch * panels + item % cut.units * cut.unit, packed.first, packed.first + packed.count);
  };
  pass.parallel(items, cut.most, [&](uint32_t worker, int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / cut.units, batch = first_batch + block / cut.row_blocks;
      const int64_t stop = std::min(end, (block + 1) * cut.units);  // end of this block of rows
      const int64_t from = panel_of(begin), to = stop % cut.units != 0
                                                     ? panel_of(stop)
                                                     : std::min((batch + 1) * panels, packed.first + packed.count);
      const int64_t next = panel_of(std::min(stop, items - 1));
      begin = stop;
      if (from >= to) continue;
      Position position;
      position.advance(problem.batches, batch);
      const int64_t row = block % cut.row_blocks * cut.block_rows;
      Chunk(problem, position, band, packed.data + (from - packed.first) * panel_size, packed.type,
            pass.scratch<std::byte>(worker))
          .run(band.first + row, std::min(cut.block_rows, band.count - row),
               (from - batch * panels) * problem.kernels.cols, to - from, (next - from) * panel_size);
    }
  });
}

// Packs panels first .. first + count of a b that is not constant, as f32.
void pack(const Pass& pass, const Problem& problem, int64_t first, int64_t count, float* packed) {
  const int64_t grain = std::max<int64_t>(1, 32768 / problem.panel_elements(DType::F32));
  pass.parallel(count, grain, [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Position batch;
      batch.advance(problem.batches, (first + i) / problem.panels());
      const Operand& b = problem.operand[kB];
      const int64_t column = (first + i) % problem.panels() * problem.kernels.cols, cols = problem.kernels.cols;
      float* const panel = packed + i * problem.panel_elements(DType::F32);
      const int64_t step = b.view.stride[b.view.rank - 1];
      // Columns with contiguous elements are transposed with the kernel of attention.
      if (b.view.dtype == DType::F32 && b.view.stride[b.view.rank - 2] == 1 && step != 1)
        pass.kernels.attention->pack(b.at<const float>(batch.offset[kB] + column * step), step,
                                     std::min(cols, problem.n - column), problem.k, 1.0f, panel);
      else
        pack_panel(b, batch.offset[kB], column, cols, DType::F32, panel);
    }
  });
}

int64_t panels_at_once(int64_t panels, int64_t panel_elements) {
  return std::min(panels, std::max<int64_t>(1, kPackedFloats / panel_elements));
}

// Whether rows of a may map to the same cache sets, so that they are packed before a constant b multiplies them. The strides are the same
// at every run; only runs with few rows skip the packing. Rows of the plan's own tensors were moved apart by spread_rows; rows of the
// host's buffers may collide.
bool may_collide(const Schedule& schedule, Tensor a, int64_t k, int64_t rows) {
  constexpr int64_t kWays = 8, kWay = kWayBytes / static_cast<int64_t>(sizeof(float));
  const TensorInfo& info = schedule.info(a);
  if (info.dtype != DType::F32 || info.rank < 2 || k % kWay != 0 || rows <= kWays) return false;
  const SizeId stride = info.strides[static_cast<size_t>(info.rank - 2)];
  return !schedule.sizes.is_constant(stride) || schedule.sizes.is_multiple(stride, kWay);
}
// Whether tiles need rows of a in another form; they are then packed once for all panels.
bool changes_a(const MatmulKernels& kernels, const MatmulKernels::Storage& tiles) {
  return tiles.narrow != nullptr || kernels.prepare_a != nullptr;
}
bool packs_a(const Pass& pass, const Problem& problem, const MatmulKernels::Storage& tiles) {
  if (changes_a(problem.kernels, tiles)) return true;
  return problem.direct_a && problem.batches.size() == 1 && problem.rows.count == 1 &&
         problem.rows.stride[kA][0] * static_cast<int64_t>(sizeof(float)) % kWayBytes == 0 &&
         may_collide(pass.schedule, pass.node.inputs[in::kA], problem.k, problem.rows.size());
}

struct PackedRows {
  int64_t pitch, bytes, at_once;  // elements, bytes per row, rows at once

  PackedRows(const MatmulKernels& kernels, const MatmulKernels::Storage& tiles, int64_t k)
      : pitch(align_up(k, kSkew) + kSkew),
        bytes(tiles.bytes_of_a(pitch)),
        at_once(std::max(kBlockTiles * kernels.rows, kPackedBytes / bytes)) {}
};

void pack_rows(const Pass& pass, const Problem& problem, const MatmulKernels::Storage& tiles, const Position& batch,
               const Band& band, std::byte* packed) {
  const Operand& a = problem.operand[kA];
  const Scratch layout(problem.kernels);
  const int64_t stride = problem.a_k_stride;
  pass.parallel(band.count, std::max<int64_t>(1, 16384 / problem.k), [&](uint32_t worker, int64_t from, int64_t to) {
    auto* buffer = reinterpret_cast<float*>(pass.scratch<std::byte>(worker) + layout.a);
    for (int64_t r = from; r < to; ++r) {
      Position at = batch;
      at.advance(problem.rows, band.first + r);
      float* const row = reinterpret_cast<float*>(packed) + r * band.pitch;
      // Blocks of k fit into the buffer, and their length is a multiple of every step.
      for (int64_t k = 0; k < problem.k; k += kBlockK) {
        const int64_t length = std::min(kBlockK, problem.k - k), offset = at.offset[kA] + k * stride;
        if (tiles.narrow != nullptr)
          tiles.narrow(load(a, offset, stride, length, buffer), packed + tiles.bytes_of_a(r * band.pitch + k), length);
        else
          load_copy(a, offset, stride, length, row + k);
        if (problem.kernels.prepare_a != nullptr) problem.kernels.prepare_a(row + k, length);
      }
    }
  });
}

// Whether the columns of a are contiguous, as in the matmul for the gradient of weights. Its rows are then packed by tiles.
bool is_turned(const View& a) {
  return a.dtype == DType::F32 && a.rank >= 2 && row_stride(a) != 1 && a.stride[a.rank - 2] == 1;
}
bool packs_tiles(const Problem& problem) {
  const View& a = problem.operand[kA].view;
  return problem.kernels.prepare_a == nullptr && is_turned(a) && problem.rows.count == 1 &&
         problem.rows.stride[kA][0] == 1 && problem.batches.size() == 1 && problem.rows.size() > 1 &&
         problem.rows.size() == a.dim[a.rank - 2];
}
int64_t turned_rows(const MatmulKernels& kernels, int64_t k) {
  const int64_t fit = kTurnedBytes / (k * static_cast<int64_t>(sizeof(float)));
  return std::max(kBlockTiles, fit / kernels.rows) * kernels.rows;
}

// Copies kRows contiguous elements of each k.
template <int64_t kRows>
void pack_tile(const float* from, int64_t k_stride, int64_t length, float* to) {
  for (int64_t k = 0; k < length; ++k) std::memcpy(to + k * kRows, from + k * k_stride, kRows * sizeof(float));
}

void pack_tiles(const Pass& pass, const Problem& problem, const Band& band, float* packed) {
  constexpr int64_t kLength = 64;  // number of k that are read together
  const int64_t height = problem.kernels.rows;
  Position at;
  at.advance(problem.batches, 0);
  at.advance(problem.rows, band.first);
  const float* const a = problem.operand[kA].at<const float>(at.offset[kA]);
  pass.parallel(ceil_div(problem.k, kLength), 1, [&](uint32_t, int64_t from, int64_t to) {
    for (int64_t k = from * kLength; k < std::min(problem.k, to * kLength); k += kLength) {
      const int64_t length = std::min(kLength, problem.k - k);
      for (int64_t r = 0; r < band.count; r += height) {
        const float* source = a + k * problem.a_k_stride + r;
        float* target = packed + r / height * band.pitch + k * height;
        const int64_t rows = std::min(height, band.count - r);
        if (rows == 12 && height == 12) {
          pack_tile<12>(source, problem.a_k_stride, length, target);
        } else if (rows == 6 && height == 6) {
          pack_tile<6>(source, problem.a_k_stride, length, target);
        } else {
          for (int64_t i = 0; i < length; ++i) std::copy_n(source + i * problem.a_k_stride, rows, target + i * height);
        }
      }
    }
  });
}

// Multiplies by a constant, packed b.
void multiply_packed(const Pass& pass, const Problem& problem) {
  const PackedB& b = *pass.packed_b;
  const MatmulKernels::Storage& tiles = problem.kernels.of(b.dtype);
  const int64_t panels = problem.panels(), batches = problem.batches.size(), rows = problem.rows.size();
  const std::byte* data =
      is_quantized(b.dtype) ? first_panel(b, problem.operand[kB].view, problem.kernels) : b.memory.data();
  if (!packs_a(pass, problem, tiles)) return multiply(pass, problem, {data, b.dtype, 0, panels * batches}, {0, rows});
  const PackedRows packed(problem.kernels, tiles, problem.k);
  const int64_t batch_bytes = panels * panel_bytes(problem.panel_elements(b.dtype), b.dtype);
  for (int64_t i = 0; i < batches; ++i) {
    Position batch;
    batch.advance(problem.batches, i);
    for (int64_t first = 0; first < rows; first += packed.at_once) {
      const Band band = {first, std::min(packed.at_once, rows - first), pass.shared_scratch, packed.pitch};
      pack_rows(pass, problem, tiles, batch, band, pass.shared_scratch);
      multiply(pass, problem, {data + i * batch_bytes, b.dtype, i * panels, panels}, band);
    }
  }
}

ScratchNeed packed_scratch(const ScratchQuery& query, uint64_t per_worker) {
  const View a = query.view(query.node.inputs[in::kA]), out = query.view(query.node.outputs[0]);
  const MatmulKernels& kernels = *query.kernels.matmul;
  const MatmulKernels::Storage& tiles = kernels.of(query.view(query.node.inputs[in::kB]).dtype);
  const int64_t rows = row_count(out), k = row_length(a);
  if (!changes_a(kernels, tiles) && !may_collide(query.schedule, query.node.inputs[in::kA], k, rows))
    return {.shared = 0, .per_worker = per_worker};
  const PackedRows packed(kernels, tiles, k);
  return {.shared = static_cast<uint64_t>(std::min(rows, packed.at_once) * packed.bytes), .per_worker = per_worker};
}

}  // namespace

ScratchNeed matmul_scratch(const ScratchQuery& query) {
  const MatmulKernels& kernels = *query.kernels.matmul;
  ScratchNeed need;
  need.per_worker = Scratch(kernels).size;
  if (has_constant_b(query.schedule, query.node)) return packed_scratch(query, need.per_worker);
  const LayoutB b(query.view(query.node.inputs[in::kB]));
  const int64_t panels = ceil_div(b.n(), kernels.cols) * row_count(b.batches), elements = b.k() * kernels.cols;
  need.shared = static_cast<uint64_t>(panels_at_once(panels, elements) * elements) * sizeof(float);
  // A run with a smaller k packs more panels at once, which may need more than this in total, but at most kPackedFloats.
  need.shared =
      std::max(need.shared, static_cast<uint64_t>(std::min(panels * elements, kPackedFloats)) * sizeof(float));
  if (const View a = query.view(query.node.inputs[in::kA]); is_turned(a)) {
    const int64_t k = row_length(a), rows = align_up(a.dim[a.rank - 2], kernels.rows);
    const auto bytes_of = [&](int64_t count) { return static_cast<uint64_t>(count * k) * sizeof(float); };
    const uint64_t least = bytes_of(std::min(rows, kBlockTiles * kernels.rows));
    need.shared += kAlignment + std::max(least, std::min<uint64_t>(bytes_of(rows), kTurnedBytes));
  }
  return need;
}

void run_matmul(const Pass& pass) {
  const Problem problem(pass);
  const int64_t panels = problem.panels() * problem.batches.size();
  if (panels == 0 || problem.rows.size() == 0) return;
  if (pass.packed_b != nullptr) return multiply_packed(pass, problem);
  const int64_t at_once = panels_at_once(panels, problem.panel_elements(DType::F32)), rows = problem.rows.size();
  const bool by_tiles = packs_tiles(problem);
  const int64_t rows_at_once = by_tiles ? std::min(turned_rows(problem.kernels, problem.k), rows) : rows;
  auto* const of_a = reinterpret_cast<float*>(pass.shared_scratch);
  auto* const of_b = of_a + (by_tiles ? row_pitch(align_up(rows_at_once, problem.kernels.rows) * problem.k) : 0);
  for (int64_t row = 0; row < rows; row += rows_at_once) {
    Band band{row, std::min(rows_at_once, rows - row)};
    if (by_tiles) {
      band = {row, band.count, pass.shared_scratch, problem.k * problem.kernels.rows, true};
      pack_tiles(pass, problem, band, of_a);
    }
    for (int64_t first = 0; first < panels; first += at_once) {
      const int64_t count = std::min(at_once, panels - first);
      // If all panels fit, they are still packed from the earlier rows.
      if (row == 0 || count < panels) pack(pass, problem, first, count, of_b);
      multiply(pass, problem, {reinterpret_cast<const std::byte*>(of_b), DType::F32, first, count}, band);
    }
  }
}

}  // namespace heed::cpu
