// Rows to or from places that differ from row to row; see shared/place.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#ifdef COPY  // types without arithmetic: I32 as words, U8 as bytes of words; and bits of f16 and bf16
#if A_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#define A_T uint16_t
#else
#define A_T uint
#endif
#include "shared/rows.glsl"
#include "shared/place.h"
#define VALUE_T uint
layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 2) buffer Out { A_T result[]; };
#if A_BITS == 8
#include "shared/bytes.glsl"
uint load(uint at) { return byte_in(x[at / 4u], at); }
void store(uint at, uint value) { HEED_STORE_BYTE(result, at, value); }
#else
uint load(uint at) { return uint(x[at]); }
void store(uint at, uint value) { result[at] = A_T(value); }
#endif
#else
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/place.h"
#define VALUE_T float
layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 2) writeonly buffer Out { OUT_T result[]; };
float load(uint at) { return FROM_A(x[at]); }
void store(uint at, float value) { result[at] = TO_OUT(value); }
#endif
layout(set = 0, binding = 1) readonly buffer Places { int places[]; };
layout(set = 0, binding = 3) buffer Faults { uint faults; };

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  uvec4 at = UNRAVEL(row, p.dim);
  uint from = p.offset[0] + DOT4(at, p.x_stride), to = p.offset[2] + DOT4(at, p.out_stride);
  uint place_of = p.offset[1] + DOT4(at, p.place_stride);
  for (uint i = lane(); i < p.n; i += lanes()) {
    int place = places[place_of + i * p.place_stride[4]];
    bool inside = place >= 0 && uint(place) < p.room;
    if (!inside && place >= 0) atomicOr(faults, 1u);
    uint apart = inside ? uint(place) * p.axis_stride : 0u;
    uint read = from + i * p.x_stride[4], write = to + i * p.out_stride[4];
    if (GATHERS) {
      VALUE_T value = VALUE_T(0);
      if (inside) value = load(read + apart);
      store(write, value);
    } else if (inside) {
      store(write + apart, load(read));
    }
  }
}
