// Rows and quantized weights as bytes in shared memory: a span is 32 neighbours of a row of A, or of a column of B. Rows are rounded like
// on the CPU (cpu/gemm/rounded_row.hpp): a span has one scale, the largest magnitude / 127. The weights' integers become bytes without
// rounding. A kernel defines SPANS and INVOCATIONS before including this, and keep_span_of_b after it.
const uint SPAN = 32u;

bool has_scale_of_half() { return BLOCK_TYPE == HEED_BLOCKS_Q6_K; }
bool has_offsets() { return has_offset(BLOCK_TYPE) || has_pairs(BLOCK_TYPE); }

// A span whose largest magnitude is below 2^-100 counts as zeros, since the inverse scale could be infinite. One with an infinity or NaN
// gets the scale NaN, and so do all its results.
const uint LEAST = 0x0d800000u, STRANGE = 0x7f800000u, NOT_A_NUMBER = 0x7fc00000u;

bool has_bytes(uint largest) { return largest >= LEAST && largest < STRANGE; }
float scale_of_bytes(uint largest) {
  if (has_bytes(largest)) return uintBitsToFloat(largest) / 127.0;
  return largest >= STRANGE ? uintBitsToFloat(NOT_A_NUMBER) : 0.0;
}
// The factor that scales elements to bytes. For a largest magnitude above 2^126 the result is undefined.
float factor_of_bytes(uint largest) {
  const float SHRINK = 0.0625;
  return SHRINK * (127.0 / MULTIPLY_FIRST(uintBitsToFloat(largest), SHRINK));
}
uint bytes_of_whole(vec4 whole) {
  uvec4 bytes = uvec4(ivec4(whole)) & 255u;
  return bytes.x | bytes.y << 8u | bytes.z << 16u | bytes.w << 24u;
}

// An invocation loads whole spans of B.
struct Place {
  uint row, span;
};
Place place_of(uint load) {
  uint i = gl_LocalInvocationID.x + load * INVOCATIONS;
  return Place(spread(i / SPANS), i % SPANS);
}
// The last load exists only for some invocations.
bool has_load(uint load, uint rows) {
  return rows * SPANS % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < rows * SPANS;
}
const uint B_LOADS = (BN * SPANS + INVOCATIONS - 1u) / INVOCATIONS;

// The position of a load in the quantized weight: a block, and the index of the span in it.
uvec2 span_of_load(Tile tile, Place place, uint k0) {
  uint at = tile.b + (tile.n + place.row) * p.b_n + k0 + SPAN * place.span;
  return uvec2(at / BLOCK, at % BLOCK / SPAN);
}

// The next spans, as stored: they are loaded while the current ones are multiplied. Spans past the end of k are 0.
Words next_b[B_LOADS * 2u];  // for each span: with long blocks its first and its last four eights

void read_b(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < B_LOADS; ++load) {
    Place place = place_of(load);
    next_b[2u * load] = next_b[2u * load + 1u] = Words(uvec4(0u), uvec4(0u), uvec4(0u), 0u);
    if (!has_load(load, BN) || tile.n + place.row >= p.n || k0 + SPAN * place.span >= p.k) continue;
    uvec2 from = span_of_load(tile, place, k0);
    uint v = half_of_four(BLOCK_TYPE, SPAN * from.y).x;
    next_b[2u * load] = read_words(BLOCK_TYPE, blocks_of_b(), from.x, v, true, true);
    if (is_long(BLOCK_TYPE))
      next_b[2u * load + 1u] = read_words(BLOCK_TYPE, blocks_of_b(), from.x, v + 4u, true, true);
  }
}

// The kernel stores a span of B: its bytes, its scale, and its offset or the scale of its upper half.
void keep_span_of_b(Place to, uvec4 words[2], vec2 scales);

void store_b(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < B_LOADS; ++load) {
    if (!has_load(load, BN)) continue;
    Place to = place_of(load);
    uvec2 from = span_of_load(tile, to, k0), at = half_of_four(BLOCK_TYPE, SPAN * from.y);
    Words first = next_b[2u * load], last = next_b[2u * load + 1u];
    uvec4 words[2];
    if (is_long(BLOCK_TYPE)) {
      words[0] = bytes_of(BLOCK_TYPE, first, at.x, at.y);
      words[1] = bytes_of(BLOCK_TYPE, last, at.x + 4u, at.y);
    } else {
      words[0] = bytes_of(BLOCK_TYPE, first, 0u, 0u);
      words[1] = bytes_of(BLOCK_TYPE, first, 0u, 1u);
    }
    keep_span_of_b(to, words, scales_of_span(BLOCK_TYPE, first, from.x, from.y));
  }
}
