// Shared by all kernels of matmul: operands, the position of a tile, and the epilogue.
#include "elements.glsl"
#include "groups.glsl"
#include "activation_backward.glsl"
#include "philox.glsl"
#include "matmul.h"

bool has(uint flag) { return (FLAGS & flag) != 0u; }

HEED_OPERAND4(0, a)
layout(set = 0, binding = 0) readonly buffer A16 { uvec4 a16[]; };  // 16 bytes, if aligned
#ifdef BLOCKS
layout(set = 0, binding = 1) readonly buffer B { uint b_words[]; };
#else
const bool B_IS_BFLOAT = (FLAGS & HEED_MATMUL_B_BFLOAT) != 0u;
HEED_OPERAND4_OF(1, b, B_WIDE, B_SHIFT, B_IS_BFLOAT)
#endif
layout(set = 0, binding = 1) readonly buffer B16 { uvec4 b16[]; };
HEED_OPERAND(2, bias)
HEED_OPERAND(3, residual)
layout(set = 0, binding = 4) writeonly buffer Partial { float partial_sums[]; };
// Neighbouring invocations compute neighbouring elements, so results of two bytes need 16-bit storage and separate modules.
#ifdef TWO_BYTES
#extension GL_EXT_shader_16bit_storage : require
layout(set = 0, binding = 4) writeonly buffer Out { uint16_t result[]; };
layout(set = 0, binding = 5) writeonly buffer Kept { uint16_t kept[]; };
#define TO_RESULT(value) uint16_t(narrowed(value, OUT_IS_BFLOAT))
#else
layout(set = 0, binding = 4) writeonly buffer Out { float result[]; };
layout(set = 0, binding = 5) writeonly buffer Kept { float kept[]; };
#define TO_RESULT(value) STORED(value)
#endif

#ifdef BLOCKS
#include "matmul_blocks.h"
#define HEED_BLOCK_WORD(at) b_words[at]
#define HEED_BLOCK_WORDS(at) b16[(at) / 4u]
#include "blocks.glsl"
const uint BLOCK = BLOCK_TYPE >= HEED_BLOCKS_Q4_K ? 256u : 32u;  // elements
Blocks blocks_of_b() { return Blocks(0u, p.b_k); }
#endif

#ifdef BLOCKS
#define B_K 1u
#else
#define B_K p.b_k
#endif

// The maximum of a magnitude and those of four elements, as bits, which compare like magnitudes; NaN is the largest.
uint larger_magnitude(uint largest, vec4 four) {
  uvec4 bits = floatBitsToUint(four) & 0x7fffffffu;
  return max(max(largest, max(bits.x, bits.y)), max(bits.z, bits.w));
}

// The corner of a tile, and the offsets of its batch, or its split of k, in the operands.
struct Tile {
  uint m, n, batch;
  uint a, b, residual, out_at;
};

Tile tile_at(uint index) {
  Tile t;
  t.n = index % p.tiles_n * BN;
  t.m = index / p.tiles_n % p.tiles_m * BM;
  t.batch = index / (p.tiles_n * p.tiles_m);
  uint split = 0u;
  if (p.partial != 0u) {
    split = t.batch / p.partial;
    t.batch %= p.partial;
  }
  uint b0 = t.batch / p.batch_1, b1 = t.batch % p.batch_1;
  t.a = p.offset[0] + b0 * p.a_b0 + b1 * p.a_b1 + split * p.k * p.a_k;
  t.b = p.offset[1] + b0 * p.b_b0 + b1 * p.b_b1 + split * p.k * B_K;
  t.residual = p.offset[3] + b0 * p.residual_b0 + b1 * p.residual_b1;
  t.out_at = p.offset[4] + b0 * p.out_b0 + b1 * p.out_b1 + split * p.partial * p.m * p.n;
  return t;
}

// The epilogue's operands: column n of the bias, and an element of the residual. 0 if there is none.
float bias_at(uint n) { return has(HEED_MATMUL_BIAS) ? one_bias(p.offset[2] + n * p.bias_n) : 0.0; }
float residual_at(uint at) { return has(HEED_MATMUL_RESIDUAL) ? one_residual(at) : 0.0; }

// Dropout counts by `element`, the row-major index in the output. `column_bias` and `other` are results of bias_at and residual_at.
float epilogue(float sum, uint element, float column_bias, float other) {
  float value = MULTIPLY(sum, p.scale);
  if (has(HEED_MATMUL_SLOPES)) return MULTIPLY(value, activation_derivative(ACTIVATION, other));
  if (has(HEED_MATMUL_BIAS)) ADD_TO(value, column_bias);
  value = activate(ACTIVATION, value);
  if (has(HEED_MATMUL_DROPOUT)) {
    uint word = dropout_block(p.seed, p.stream, element / 4u)[element % 4u];
    value = word < DROPOUT_THRESHOLD ? 0.0 : MULTIPLY(value, DROPOUT_SCALE);
  }
  if (has(HEED_MATMUL_RESIDUAL)) value = has(HEED_MATMUL_GATED) ? MULTIPLY(value, other) : ADD(value, other);
  return value;
}

// Stores the element in row m and column n of the tile's batch, whose sum is `sum`. With HEED_MATMUL_KEEPS, the activation's input is
// stored with the strides of a residual.
void store_finished(Tile t, uint m, uint n, float sum, float column_bias, float other) {
  uint at = t.out_at + m * p.out_m + n;
  if (has(HEED_MATMUL_KEEPS) && p.partial == 0u)
    kept[t.residual - p.offset[3] + p.offset[5] + m * p.residual_m + n] =
        TO_RESULT(has(HEED_MATMUL_BIAS) ? ADD(MULTIPLY(sum, p.scale), column_bias) : MULTIPLY(sum, p.scale));
  if (p.partial != 0u) partial_sums[at] = sum;
  else result[at] = TO_RESULT(epilogue(sum, (t.batch * p.m + m) * p.n + n, column_bias, other));
}
void store_sum(Tile t, uint m, uint n, float sum) {
  bool read = p.partial == 0u;
  store_finished(t, m, n, sum, read ? bias_at(n) : 0.0, read ? residual_at(t.residual + m * p.residual_m + n) : 0.0);
}
