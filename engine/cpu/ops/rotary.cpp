#include <utility>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// Cosine and sine of an angle in 2^-32 turns, by polynomials within an eighth of a turn around the nearest quarter. The error is at most
// 2^-23, as in shaders/rotary.comp.
struct Turn {
  float cos, sin;
};
Turn turn_of(uint32_t angle) {
  const uint32_t quarter = (angle + 0x20000000u) >> 30;
  const float a = static_cast<float>(static_cast<int32_t>(angle - (quarter << 30))) * (6.28318530718f / 4294967296.0f);
  const float z = a * a;
  const float s = a + a * z * (-0.166666552f + z * (0.008332178f + z * -0.000195172979f));
  const float c = 1.0f - 0.5f * z + z * z * (0.0416666456f + z * (-0.00138873677f + z * 2.44384501e-05f));
  const Turn turn = (quarter & 1) == 0 ? Turn{c, s} : Turn{-s, c};
  return (quarter & 2) == 0 ? turn : Turn{-turn.cos, -turn.sin};
}

// A tensor of cosines or sines, whose rows broadcast to those of x.
struct Table {
  Operand values;
  int64_t stride, length;

  Table(const Operand& given, const View& x)
      : values(given), stride(row_stride(given.view)), length(row_length(given.view)) {
    values.view.dim[given.view.rank - 1] = 1;
    values.view = broadcast_to(values.view, x);
  }
  int64_t offset(int64_t row) const { return row_offset(values.view, row); }
  void load(int64_t offset, float* buffer) const { load_copy(values, offset, stride, length, buffer); }
};

// Rotates rows with given cosines and sines.
void run_by_tables(const Pass& pass) {
  const auto& attrs = pass.node.as<RotaryAttrs>();
  const Operand x = pass.input(in::kX);
  const Operand out = pass.output();
  const Table cos(pass.input(in::kCos), x.view), sin(pass.input(in::kSin), x.view);
  const int64_t n = row_length(out.view), pairs = attrs.width / 2;
  const bool halves = attrs.pairs == RotaryPairs::Halves, whole = cos.length == attrs.width;
  const int64_t step = halves ? 1 : 2, other = halves ? pairs : 1;
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* const row = pass.scratch<float>(worker);
    float *const cosines = row + row_pitch(n), *const sines = cosines + row_pitch(n);
    int64_t last_cos = -1, last_sin = -1;
    for (int64_t r = begin; r < end; ++r) {
      // Consecutive heads of one token have the same angles.
      if (const int64_t at = cos.offset(r); at != last_cos) cos.load(last_cos = at, cosines);
      if (const int64_t at = sin.offset(r); at != last_sin) sin.load(last_sin = at, sines);
      load_copy(x, row_offset(x.view, r), row_stride(x.view), n, row);
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t first = i * step, second = first + other;
        const int64_t at = whole ? first : i, next = whole ? second : i;
        const float a = row[first], b = row[second];
        row[first] = a * cosines[at] - b * sines[at];
        row[second] = b * cosines[next] + a * sines[next];
      }
      store(out, row_offset(out.view, r), row_stride(out.view), n, row);
    }
  });
}

// The position of each row of x: given by a tensor, or its index along the axis before the last.
struct Positions {
  Operand given;
  int64_t length, first;

  Positions(const Pass& pass, const View& x)
      : given(pass.input(in::kPositions)),
        length(x.dim[x.rank - 2]),
        first(pass.values.sizes[static_cast<size_t>(pass.node.as<RotaryAttrs>().first)]) {
    if (given.valid()) given.view = broadcast_to(per_row(given.view), x);
  }
  int64_t of(int64_t row) const {
    return given.valid() ? *given.at<const int32_t>(row_offset(given.view, row)) : first + row % length;
  }
};

// Turns per position are fractions of 2^64, in two words each: position times them, modulo 2^64, are the angles.
void fill_turns(const uint32_t* table, int64_t position, int64_t pairs, const CanonKernels* canon, Turn* turns) {
  for (int64_t i = 0; i < pairs; ++i) {
    const uint64_t each = uint64_t{table[2 * i]} << 32 | table[2 * i + 1];
    const auto angle = static_cast<uint32_t>(static_cast<uint64_t>(position) * each >> 32);
    if (canon != nullptr)
      canon->turn(angle, &turns[i].cos, &turns[i].sin);
    else
      turns[i] = turn_of(angle);
  }
}

void rotate(const Turn* turns, int64_t pairs, bool halves, const CanonKernels* canon, float* row) {
  const int64_t step = halves ? 1 : 2, other = halves ? pairs : 1;
  for (int64_t i = 0; i < pairs; ++i) {
    float* const first = row + i * step;
    if (canon != nullptr) {
      canon->rotate(turns[i].cos, turns[i].sin, first, first + other);
      continue;
    }
    const float a = first[0], b = first[other];
    first[0] = a * turns[i].cos - b * turns[i].sin;
    first[other] = b * turns[i].cos + a * turns[i].sin;
  }
}

}  // namespace

// Memory for a row, and for the turns of its pairs or for its cosines and sines.
ScratchNeed rotary_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.outputs[0], query.node.inputs[in::kCos].valid() ? 3 : 2);
}

void run_rotary(const Pass& pass) {
  if (pass.input(in::kCos).valid()) return run_by_tables(pass);
  const auto& attrs = pass.node.as<RotaryAttrs>();
  const Operand x = pass.input(in::kX), table = pass.input(in::kRotaryTable);
  Operand out = pass.output();
  const int64_t room = attrs.placed ? pass.values.sizes[static_cast<size_t>(attrs.room)] : 0;
  const int64_t apart = attrs.placed ? std::exchange(out.view.stride[out.view.rank - 2], 0) : 0;
  const Positions positions(pass, x.view);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const bool halves = attrs.pairs == RotaryPairs::Halves;
  const int64_t n = row_length(out.view), pairs = table.view.dim[0];
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* const row = pass.scratch<float>(worker);
    Turn* const turns = reinterpret_cast<Turn*>(row + row_pitch(n));
    bool known = false;
    for (int64_t r = begin, last = 0; r < end; ++r) {
      const int64_t position = positions.of(r);
      if (attrs.placed && (position < 0 || position >= room)) {
        if (position >= room) pass.fault.report(static_cast<uint64_t>(r * n));
        continue;
      }
      // Consecutive heads of one token have the same angles.
      if (!known || position != last) fill_turns(table.at<const uint32_t>(0), position, pairs, canon, turns);
      known = true;
      last = position;
      load_copy(x, row_offset(x.view, r), row_stride(x.view), n, row);
      if (canon != nullptr) canon->flush(row, row, n);
      rotate(turns, pairs, halves, canon, row);
      store(out, row_offset(out.view, r) + position * apart, row_stride(out.view), n, row);
    }
  });
}

}  // namespace heed::cpu
