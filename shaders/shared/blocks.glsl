// Values of quantized weights, whose blocks are stored in planes (kernels/matmul/planes.hpp). Before including this, a kernel defines
//
//   HEED_BLOCK_WORD(at)    the word at `at` of the binding that holds the weight
//   HEED_BLOCK_WORDS(at)   four words from `at` on, a multiple of 4
//
// Arguments `type` are specialization constants, so that compilers keep one side of each branch.
//
// All types but Q8_0 store two numbers of four bits in a byte, so that a word holds eight elements: four neighbours, and four more 16, 32
// or 64 elements later. This code calls them an eight, and its halves 0 and 1 are four elements each.
#include "blocks.h"

// A weight: its first word, and the number of all its blocks.
struct Blocks {
  uint at, count;
};

// Types whose blocks have 256 elements; and those of them that have pairs of 6 bits.
bool is_long(uint type) { return type >= HEED_BLOCKS_Q4_K; }
bool has_pairs(uint type) { return type == HEED_BLOCKS_Q4_K || type == HEED_BLOCKS_Q5_K; }
bool has_fifths(uint type) { return type == HEED_BLOCKS_Q5_0 || type == HEED_BLOCKS_Q5_1; }
bool has_offset(uint type) { return type == HEED_BLOCKS_Q4_1 || type == HEED_BLOCKS_Q5_1; }
uint block_elements(uint type) { return is_long(type) ? 256u : 32u; }
uint low_words(uint type) { return is_long(type) ? 32u : type == HEED_BLOCKS_Q8_0 ? 8u : 4u; }

// The first elements of both halves of eight v of a block.
uvec2 place_of_eight(uint type, uint v) {
  if (has_pairs(type)) return v / 8u * 64u + v % 8u * 4u + uvec2(0u, 32u);
  if (type == HEED_BLOCKS_Q6_K) return v / 16u * 128u + v % 16u * 4u + uvec2(0u, 64u);
  return v * 4u + uvec2(0u, 16u);
}

// The eight and the half that contain elements i .. i + 3 of a block; i is a multiple of 4. For Q8_0, whose eights are two words, the index
// of the word: use half 0 of a single read_words then.
uvec2 half_of_four(uint type, uint i) {
  if (has_pairs(type)) return uvec2(i / 64u * 8u + i % 32u / 4u, i / 32u % 2u);
  if (type == HEED_BLOCKS_Q6_K) return uvec2(i / 128u * 16u + i % 64u / 4u, i / 64u % 2u);
  if (type == HEED_BLOCKS_Q8_0) return uvec2(i / 4u, 0u);
  return uvec2(i % 16u / 4u, i / 16u);
}

// The data of eight v of a block, or of four eights from v on (v a multiple of 4), as stored, so that reads are not waited for before the
// values are used.
struct Words {
  uvec4 low;     // the lower four bits; for Q8_0, all bits of halves 0
  uvec4 high;    // the bits above them; for Q8_0, all bits of halves 1
  uvec4 scales;  // scales of parts of a block
  uint scale;    // scale of the whole block; see scale_of
};

uvec4 read_run(uint at, bool four) {
  if (four) return HEED_BLOCK_WORDS(at);
  return uvec4(HEED_BLOCK_WORD(at), 0u, 0u, 0u);
}

// `both`: halves 1 are needed, too.
Words read_words(uint type, Blocks from, uint block, uint v, bool four, bool both) {
  Words w = Words(uvec4(0u), uvec4(0u), uvec4(0u), 0u);
  uint at = from.at + block * low_words(type) + v;
  uint plane = from.at + from.count * low_words(type);
  w.low = read_run(at, four);
  if (type == HEED_BLOCKS_Q8_0 && both) w.high = read_run(at + 4u, four);
  if (has_fifths(type)) {
    w.high.x = HEED_BLOCK_WORD(plane + block);
    plane += from.count;
  }
  if (type == HEED_BLOCKS_Q5_K) {
    w.high = read_run(plane + block * 8u + v % 8u, four);
    plane += from.count * 8u;
  }
  if (type == HEED_BLOCKS_Q6_K) {
    w.high = read_run(plane + block * 16u + v / 16u * 8u + v % 8u, four);
    plane += from.count * 16u;
  }
  if (is_long(type)) {
    w.scales = HEED_BLOCK_WORDS(plane + block * 4u);
    plane += from.count * 4u;
  }
  if (has_offset(type)) w.scale = HEED_BLOCK_WORD(plane + block);
  else if (!has_pairs(type)) w.scale = HEED_BLOCK_WORD(plane + block / 2u);
  return w;
}

// The scale of a block; two blocks share a word.
float scale_of(Words w, uint block) {
  vec2 both = HALVES(w.scale);
  return (block & 1u) == 0u ? both.x : both.y;
}

// Scale and offset i < 8 of a block of Q4_K or Q5_K, from 12 bytes: the six bits of pairs 0 to 3 are in a byte each, and the upper two bits
// of that byte belong to pairs 4 to 7, whose lower four bits share a byte.
vec2 scale_and_offset(uvec4 words, uint i) {
  uint shift = i % 4u * 8u;
  uint s = words.y >> shift, t = words.z >> shift, rest = words.w >> shift;
  uvec2 pair = uvec2(s, t) & 63u;
  if (i >= 4u) pair = uvec2(rest & 15u, rest >> 4u & 15u) | (uvec2(s, t) >> 6u & 3u) << 4u;
  return EXACT_PRODUCT(HALVES(words.x), vec2(pair));
}

const uvec4 BYTES = uvec4(0u, 8u, 16u, 24u);

// The integers of half `part` of eight v + q, where `w` was read from v on.
ivec4 whole_numbers_of(uint type, Words w, uint v, uint q, uint part) {
  if (type == HEED_BLOCKS_Q8_0) return ivec4(uvec4(part == 0u ? w.low[q] : w.high[q]) << (24u - BYTES)) >> 24;
  uvec4 numbers = uvec4(w.low[q]) >> (BYTES + part * 4u) & 15u;
  if (has_fifths(type))
    numbers |= (uvec4(w.high.x) >> ((v + q) * 4u + part * 16u + uvec4(0u, 1u, 2u, 3u)) & 1u) << 4u;
  if (type == HEED_BLOCKS_Q5_K) numbers |= (uvec4(w.high[q]) >> (BYTES + v / 8u * 2u + part) & 1u) << 4u;
  if (type == HEED_BLOCKS_Q6_K)
    numbers |= (uvec4(w.high[q]) >> (BYTES + v / 8u % 2u * 2u + part * 4u) & 3u) << 4u;
  return ivec4(numbers);
}

// The integers of half `part` of four eights, where `w` was read from v on, as signed bytes. The zero point of signed types is subtracted
// here, unlike in whole_numbers_of.
uvec4 bytes_of(uint type, Words w, uint v, uint part) {
  if (type == HEED_BLOCKS_Q8_0) return part == 0u ? w.low : w.high;
  uvec4 bytes = w.low >> (part * 4u) & 0x0f0f0f0fu;
  // The multiplication makes shifted copies of four bits, so that each bit is at its byte in one of them.
  if (has_fifths(type))
    bytes |= ((uvec4(w.high.x) >> (part * 16u + uvec4(0u, 4u, 8u, 12u)) & 15u) * 0x204081u & 0x01010101u) << 4u;
  if (type == HEED_BLOCKS_Q5_K) bytes |= (w.high >> (v / 8u * 2u + part) & 0x01010101u) << 4u;
  if (type == HEED_BLOCKS_Q6_K) bytes |= (w.high >> (v / 8u % 2u * 2u + part * 4u) & 0x03030303u) << 4u;
  const uint SIGNS = 0x80808080u;  // set before the subtraction so that it does not borrow across bytes
  if (type == HEED_BLOCKS_Q4_0) bytes = (bytes | SIGNS) - 0x08080808u ^ SIGNS;
  if (type == HEED_BLOCKS_Q5_0) bytes = (bytes | SIGNS) - 0x10101010u ^ SIGNS;
  if (type == HEED_BLOCKS_Q6_K) bytes = (bytes | SIGNS) - 0x20202020u ^ SIGNS;
  return bytes;
}

// The scale of elements 32 * span to 32 * span + 31 of a block, and their offset, if the type has one; for Q6_K the scales of the two
// halves.
vec2 scales_of_span(uint type, Words w, uint block, uint span) {
  if (has_pairs(type)) return scale_and_offset(w.scales, span) * vec2(1.0, -1.0);
  if (has_offset(type)) return HALVES(w.scale);
  vec2 scales = vec2(scale_of(w, block), 0.0);
  if (type != HEED_BLOCKS_Q6_K) return scales;
  uint word = span < 4u ? (span < 2u ? w.scales.x : w.scales.y) : (span < 6u ? w.scales.z : w.scales.w);
  return scales.x * vec2(ivec2(uvec2(word) << (uvec2(24u, 16u) - span % 2u * 16u)) >> 24);
}

// The values of that half. Every product is exact in f32, so a value is rounded once, with or without fused multiply-adds.
vec4 widen_four(uint type, Words w, uint block, uint v, uint q, uint part) {
  ivec4 numbers = whole_numbers_of(type, w, v, q, part);
  if (has_pairs(type)) {
    vec2 pair = scale_and_offset(w.scales, v / 8u * 2u + part);
    return SUBTRACT_ONCE(EXACT_PRODUCT(pair.x, vec4(numbers)), pair.y);
  }
  if (has_offset(type)) {
    vec2 pair = HALVES(w.scale);
    return ADD_ONCE(EXACT_PRODUCT(pair.x, vec4(numbers)), pair.y);
  }
  float scale = scale_of(w, block);
  if (type == HEED_BLOCKS_Q4_0) numbers -= 8;
  if (type == HEED_BLOCKS_Q5_0) numbers -= 16;
  if (type == HEED_BLOCKS_Q6_K) {
    numbers -= 32;
    uint word = v < 16u ? (part == 0u ? w.scales.x : w.scales.y) : (part == 0u ? w.scales.z : w.scales.w);
    SCALE_EXACTLY(scale, float(int(word << (24u - v % 16u / 4u * 8u)) >> 24));
  }
  return EXACT_PRODUCT(scale, vec4(numbers));
}

// Elements i .. i + 3 of a block.
Words read_four(uint type, Blocks from, uint block, uint i) {
  return read_words(type, from, block, half_of_four(type, i).x, false, false);
}
vec4 widen_read_four(uint type, Words w, uint block, uint i) {
  uvec2 at = half_of_four(type, i);
  return widen_four(type, w, block, at.x, 0u, at.y);
}
