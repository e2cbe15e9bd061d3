// The matrix product, cut into blocks of rows by groups of panels. No cut changes the order of a sum, so that results do
// not depend on the number of threads.
#include "cpu/blocks.hpp"
#include "cpu/matmul_chunk.hpp"

namespace heed::cpu {
namespace {

using namespace matmul;

// Chunks per worker, at least, so that waiting for the last one costs little.
constexpr int64_t kChunksPerWorker = 8;
// Height of a worker's share of the rows, in tiles, at least: rows of one share divide the cost of reading b among them.
constexpr int64_t kLeastTiles = 4;
// Floats of b that are packed at a time, unless one panel is larger.
constexpr int64_t kPackedFloats = 2 << 20;
// Bytes of a that are packed at a time, unless one block of rows is larger.
constexpr int64_t kPackedBytes = 8 << 20;
// Elements between packed rows of a, so that they do not collide in the first cache.
constexpr int64_t kSkew = 32;

// How the rows and panels of one batch are cut. An item is `unit` panels by a block of rows; a chunk has at most `most` items.
struct Cut {
  int64_t block_rows = 1, row_blocks = 1, unit = 1, units = 1, most = 1;

  // Each worker gets rows of its own where there are enough of them, else columns.
  Cut(const Problem& problem, DType panel_type, int64_t all_rows, int64_t workers) {
    const int64_t panels = problem.panels(), batches = problem.batches.size(), tile = problem.kernels.rows;
    const int64_t shares = std::clamp<int64_t>(all_rows / (kLeastTiles * tile), 1, workers);
    int64_t tiles = std::min(kBlockTiles, ceil_div(ceil_div(all_rows, shares), tile));
    const int64_t least = workers > 1 ? kChunksPerWorker * workers : 1;
    if (all_rows == 1) unit = problem.kernels.of(panel_type).thin_panels;  // a single row works on several at once
    units = ceil_div(panels, unit);
    // The first row of tiles reads the panels from memory. With two rows that is half of the time, so a chunk keeps one item.
    most = tiles <= 2 ? 1 : std::max<int64_t>(1, kGroupPanels / unit);
    while (true) {
      row_blocks = align_up(ceil_div(all_rows, tiles * tile), shares);
      block_rows = ceil_div(all_rows, row_blocks);
      row_blocks = ceil_div(all_rows, block_rows);
      if (batches * row_blocks * ceil_div(units, most) >= least || (most == 1 && tiles == 1)) return;
      if (most > 1)
        --most;
      else
        tiles = ceil_div<int64_t>(tiles, 2);
    }
  }
};

// The panels that are packed at the moment, counted through all batches.
struct Panels {
  const std::byte* data;
  DType type;
  int64_t first, count;
};

// Multiplies the rows of `band` by all of these panels, panel after panel for each block of rows.
void multiply(const Pass& pass, const Problem& problem, const Panels& packed, const Band& band) {
  const Cut cut(problem, packed.type, band.count, pass.pool.workers());
  const int64_t panels = problem.panels();
  const int64_t first_batch = packed.first / panels, last_batch = (packed.first + packed.count - 1) / panels;
  const int64_t panel_size = panel_bytes(problem.panel_elements(packed.type), packed.type);
  const int64_t items = (last_batch - first_batch + 1) * cut.row_blocks * cut.units;
  // The first panel of an item, counted through all batches. The first and the last batch may have panels that are not
  // packed now.
  const auto panel_of = [&](int64_t item) {
    const int64_t batch = first_batch + item / (cut.row_blocks * cut.units);
    return std::clamp(batch * panels + item % cut.units * cut.unit, packed.first, packed.first + packed.count);
  };
  pass.parallel(items, cut.most, [&](uint32_t worker, int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t block = begin / cut.units, batch = first_batch + block / cut.row_blocks;
      const int64_t stop = std::min(end, (block + 1) * cut.units);  // of this block of rows
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

// Packs panels first .. first + count of a b that changes from run to run, as f32.
void pack(const Pass& pass, const Problem& problem, int64_t first, int64_t count, float* packed) {
  const int64_t grain = std::max<int64_t>(1, 32768 / problem.panel_elements(DType::F32));
  pass.parallel(count, grain, [&](uint32_t, int64_t begin, int64_t end) {
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

// Whether rows of a may collide in the first cache, so that they are packed before a constant b multiplies them. The
// strides that decide this are the same at every run; only a run of few rows does without. Rows of the plan's own tensors
// do not collide, as spread_rows has moved them apart; rows of the host's buffers may.
bool may_collide(const Schedule& schedule, Tensor a, int64_t k, int64_t rows) {
  constexpr int64_t kWays = 8, kWay = kWayBytes / static_cast<int64_t>(sizeof(float));
  const TensorInfo& info = schedule.info(a);
  if (info.dtype != DType::F32 || info.rank < 2 || k % kWay != 0 || rows <= kWays) return false;
  const SizeId stride = info.strides[static_cast<size_t>(info.rank - 2)];
  return !schedule.sizes.is_constant(stride) || schedule.sizes.is_multiple(stride, kWay);
}
bool packs_a(const Pass& pass, const Problem& problem, const MatmulKernels::Storage& tiles) {
  if (tiles.narrow != nullptr) return true;
  return problem.direct_a && problem.batches.size() == 1 && problem.rows.count == 1 &&
         problem.rows.stride[kA][0] * static_cast<int64_t>(sizeof(float)) % kWayBytes == 0 &&
         may_collide(pass.schedule, pass.node.inputs[in::kA], problem.k, problem.rows.size());
}

struct PackedRows {
  int64_t pitch, bytes, at_once;  // elements, bytes per row, rows

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
      // Blocks of k fit the buffer, and their length is a multiple of every step.
      for (int64_t k = 0; k < problem.k; k += kBlockK) {
        const int64_t length = std::min(kBlockK, problem.k - k), offset = at.offset[kA] + k * stride;
        if (tiles.narrow != nullptr)
          tiles.narrow(load(a, offset, stride, length, buffer), packed + tiles.bytes_of_a(r * band.pitch + k), length);
        else
          load_copy(a, offset, stride, length, reinterpret_cast<float*>(packed) + r * band.pitch + k);
      }
    }
  });
}

// Multiplies by a b that is the same at every run and lies packed.
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
  if (tiles.narrow == nullptr && !may_collide(query.schedule, query.node.inputs[in::kA], k, rows))
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
  // A run with a smaller k packs more panels at once, which may take more than this together, but at most kPackedFloats.
  need.shared =
      std::max(need.shared, static_cast<uint64_t>(std::min(panels * elements, kPackedFloats)) * sizeof(float));
  return need;
}

void run_matmul(const Pass& pass) {
  const Problem problem(pass);
  const int64_t panels = problem.panels() * problem.batches.size();
  if (panels == 0 || problem.rows.size() == 0) return;
  if (pass.packed_b != nullptr) return multiply_packed(pass, problem);
  auto* packed = reinterpret_cast<float*>(pass.shared_scratch);
  const int64_t at_once = panels_at_once(panels, problem.panel_elements(DType::F32));
  for (int64_t first = 0; first < panels; first += at_once) {
    const int64_t count = std::min(at_once, panels - first);
    pack(pass, problem, first, count, packed);
    multiply(pass, problem, {pass.shared_scratch, DType::F32, first, count}, {0, problem.rows.size()});
  }
}

}  // namespace heed::cpu
