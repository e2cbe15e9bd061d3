// f32 operands and quantized weights of matmul_matrix.comp: each element is stored in shared memory as two f16 summands (TERMS),
//   scale * x = high + low / 2^11,
// and a product of two elements is high high + (high low + low high) / 2^11, three multiplications on matrix units. The power of two
// between the summands, and summing outside of the units, whose rounding is not specified, follow H. Ootomo and R. Yokota, "Recovering
// single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022. Each operand of a tile has one
// scale, a power of two that scales its largest element so far below 2^15, so that elements of any magnitude can be split. A tile with an
// infinity or NaN in its operands is computed without matrix units.
//
// With TERMS 1 an element is rounded to f16, and there is one multiplication.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require

const float LOW_SCALE = 2048.0, LEAST_HALF = 6.103515625e-5;  // 2^11, 2^-14
// Exponents are biased, as in f32. The minimum keeps the scale finite.
const uint LEAST_EXPONENT = 14u, SCALED_EXPONENT = 141u, STRANGE_EXPONENT = 255u;
const uint A_HEADROOM = TERMS == 1u ? 3u : 0u, B_HEADROOM = TERMS == 1u ? 2u : 0u;

uvec2 exponents = uvec2(LEAST_EXPONENT);  // exponents of the largest elements so far, of A and of B
uvec2 next_exponents;                     // and with those of the blocks in registers
shared uint sh_largest[4];                // magnitudes, as bits, of A and B of this block and of the next

// Splits two elements into halves. The high summands are rounded here, since a driver may round in any direction. Subnormal ones are left
// to the low summand, since matrix units may flush them. A single summand is rounded as the driver's instruction does.
void split(vec2 x, out uint high, out uint low) {
  if (TERMS == 1u) {
    high = packHalf2x16(x);
    low = 0u;
    return;
  }
  vec2 near = uintBitsToFloat((floatBitsToUint(x) + 0x1000u) & ~0x1fffu);
  near = mix(near, vec2(0.0), lessThan(abs(near), vec2(LEAST_HALF)));
  high = packHalf2x16(near);
  low = packHalf2x16((x - near) * LOW_SCALE);
}

// Rows of two octets are three vectors apart, so that the four that are stored simultaneously are two rows apart.
uint row_of_terms(uint i, uint octets) {
  uint row = i / octets;
  return octets == 2u ? (row & ~7u) | (row & 3u) << 1u | (row >> 2u & 1u) : row_of(i, octets);
}

// Whether A and B can be read four elements at once. If that is known, no load depends on a branch: `read` clamps addresses, and `settle`
// sets elements outside to zero once the loads have arrived.
const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u && A_K_FAST;
const bool B_FOURS = (FLAGS & HEED_MATMUL_B_VEC4) != 0u;

#define HEED_READ(read, settle, next, one, fours, FOURS, LOADS, OCTETS, FAST)                             \
  vec4 next[2u * LOADS];                                                                                  \
  void read(Block s) {                                                                                    \
    [[unroll]] for (uint four = 0u; four < 2u * LOADS; ++four) {                                          \
      uint i = gl_LocalInvocationID.x + four / 2u * gl_WorkGroupSize.x;                                   \
      uint slow = row_of_terms(i, FAST / 8u), fast = i % (FAST / 8u) * 8u + four % 2u * 4u;               \
      if (FOURS) {                                                                                        \
        next[four] = fours[(s.at + min(slow, s.slow_end - 1u) * s.slow_stride + min(fast, s.fast_end - 4u)) / 4u]; \
        continue;                                                                                         \
      }                                                                                                   \
      uint from = s.at + slow * s.slow_stride + fast * s.fast_stride;                                     \
      bool inside = (OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS) && slow < s.slow_end;               \
      next[four] = vec4(0.0);                                                                             \
      if (s.aligned) {                                                                                    \
        if (inside && fast < s.fast_end) next[four] = fours[from / 4u];                                   \
        continue;                                                                                         \
      }                                                                                                   \
      [[unroll]] for (uint c = 0u; c < 4u; ++c)                                                           \
        if (inside && fast + c < s.fast_end) next[four][c] = one(from + c * s.fast_stride);               \
    }                                                                                                     \
  }                                                                                                       \
  void settle(Block s, bool whole) {                                                                      \
    if (!FOURS || whole) return;                                                                                   \
    [[unroll]] for (uint four = 0u; four < 2u * LOADS; ++four) {                                          \
      uint i = gl_LocalInvocationID.x + four / 2u * gl_WorkGroupSize.x;                                   \
      uint slow = row_of_terms(i, FAST / 8u), fast = i % (FAST / 8u) * 8u + four % 2u * 4u;               \
      uint inside = uint(slow < s.slow_end) & uint(fast < s.fast_end) & uint(i < OCTETS);                 \
      next[four] = uintBitsToFloat(floatBitsToUint(next[four]) & (0u - inside));                          \
    }                                                                                                     \
  }
HEED_READ(read_a, settle_a, next_a, one_a, a_fours, A_FOURS, A_LOADS, A_OCTETS, A_FAST)
#ifdef BLOCKS
// Quantized weights stay in registers as stored while the block before is multiplied; settle_b then dequantizes them to f32.
Words next_words[2u * B_LOADS];
vec4 next_b[2u * B_LOADS];
// The block of four elements, and their place in it. Both fours of an octet get the same expression for the block, so that compilers read
// its scale once.
uvec2 place_in_b(Block s, uint four, out uint inside) {
  uint i = gl_LocalInvocationID.x + four / 2u * gl_WorkGroupSize.x;
  uint column = row_of_terms(i, B_FAST / 8u), k = i % (B_FAST / 8u) * 8u;
  inside = uint(i < B_OCTETS) & uint(column < s.slow_end) & uint(k < s.fast_end);
  uint at = s.at + min(column, s.slow_end - 1u) * s.slow_stride + min(k, s.fast_end - 8u);
  return uvec2(at / BLOCK, at % BLOCK + four % 2u * 4u);
}
void read_b(Block s) {
  [[unroll]] for (uint four = 0u; four < 2u * B_LOADS; ++four) {
    uint inside;
    uvec2 place = place_in_b(s, four, inside);
    next_words[four] = read_four(BLOCK_TYPE, blocks_of_b(), place.x, place.y);
  }
}
void settle_b(Block s, bool whole) {
  [[unroll]] for (uint four = 0u; four < 2u * B_LOADS; ++four) {
    uint inside;
    uvec2 place = place_in_b(s, four, inside);
    next_b[four] = widen_read_four(BLOCK_TYPE, next_words[four], place.x, place.y);
    if (!whole) next_b[four] = uintBitsToFloat(floatBitsToUint(next_b[four]) & (0u - inside));
  }
}
float one_b(uint at) {
  uint block = at / BLOCK, first = at % BLOCK & ~3u;
  return widen_read_four(BLOCK_TYPE, read_four(BLOCK_TYPE, blocks_of_b(), block, first), block, first)[at & 3u];
}
#else
HEED_READ(read_b, settle_b, next_b, one_b, b_fours, B_FOURS, B_LOADS, B_OCTETS, B_FAST)
#endif

#define HEED_KEEP(keep, largest, next, target, LOADS, OCTETS, FAST, ROW, LOW)                             \
  uint largest() {                                                                                        \
    uint most = 0u;                                                                                       \
    [[unroll]] for (uint v = 0u; v < 2u * LOADS; ++v) most = larger_magnitude(most, next[v]);             \
    return subgroupMax(most);                                                                             \
  }                                                                                                       \
  void keep(float scale) {                                                                                \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) {                                               \
      uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;                                        \
      uint place = row_of_terms(i, FAST / 8u) * ROW + i % (FAST / 8u);                                    \
      uvec4 high, low;                                                                                    \
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {                                                         \
        vec4 four = next[2u * load + c / 2u];                                                             \
        split((c % 2u == 0u ? four.xy : four.zw) * scale, high[c], low[c]);                               \
      }                                                                                                   \
      if (OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS) {                                              \
        target[place] = high;                                                                             \
        if (TERMS == 2u) target[LOW + place] = low;                                                       \
      }                                                                                                   \
    }                                                                                                     \
  }
HEED_KEEP(keep_a, largest_a, next_a, sh_a, A_LOADS, A_OCTETS, A_FAST, A_ROW, A_VECTORS)
HEED_KEEP(keep_b, largest_b, next_b, sh_b, B_LOADS, B_OCTETS, B_FAST, B_ROW, B_VECTORS)

void forget_largest(uint slot) {
  if (gl_LocalInvocationID.x < 2u) sh_largest[2u * slot + gl_LocalInvocationID.x] = 0u;
}

// Records the largest elements of the blocks in registers, before the barrier that precedes `scale_terms`.
void note_largest(uint slot) {
  uvec2 most = uvec2(largest_a(), largest_b());
  if (!subgroupElect()) return;
  atomicMax(sh_largest[2u * slot], most.x);
  atomicMax(sh_largest[2u * slot + 1u], most.y);
}

float power_of_two(int exponent) { return exponent < -126 ? 0.0 : uintBitsToFloat(uint(127 + exponent) << 23); }

// Whether the largest elements of the blocks in registers exceed all before.
bool grows(uint slot) {
  uvec2 most = uvec2(sh_largest[2u * slot], sh_largest[2u * slot + 1u]) >> 23;
  next_exponents = subgroupBroadcast(max(most, exponents), 0u);
  forget_largest(1u - slot);
  return next_exponents != exponents;
}

// Exponents for the new largest elements. With one term, elements may grow by the headroom before the next change.
void raise_exponents() {
  uvec2 above = min(next_exponents + uvec2(A_HEADROOM, B_HEADROOM), uvec2(STRANGE_EXPONENT - 1u));
  exponents = mix(exponents, max(next_exponents, above), greaterThan(next_exponents, exponents));
}

bool is_strange() { return max(next_exponents.x, next_exponents.y) == STRANGE_EXPONENT; }

void scale_sums() {
  float shrink = power_of_two(int(exponents.x + exponents.y) - int(next_exponents.x + next_exponents.y));
  [[unroll]] for (uint i = 0u; i < FM * FN; ++i) sums[i] *= shrink;
  exponents = next_exponents;
}

float scale_of(uint exponent) { return power_of_two(int(SCALED_EXPONENT) - int(exponent)); }

// Undoes the scale by adding to the exponent: a multiplication would need two factors, whose product a driver might compute first, and
// overflow f32. Subnormal results become 0.
float unscaled(float sum) {
  uint bits = floatBitsToUint(sum), sign = bits & 0x80000000u;
  int exponent = int(bits >> 23 & 0xffu) + int(exponents.x + exponents.y) - int(2u * SCALED_EXPONENT);
  if (exponent <= 0 || (bits & 0x7f800000u) == 0u) return 0.0;
  return uintBitsToFloat(exponent >= 255 ? sign | 0x7f800000u : (bits & 0x807fffffu) | uint(exponent) << 23);
}

// Fragments of B stay in registers, since they are fewer than those of A.
void multiply_blocks(uint wave_m, uint wave_n) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[TERMS];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right[TERMS * FN];
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> part;
  for (uint k = 0u; k < BK; k += KS) {
    [[unroll]] for (uint j = 0u; j < TERMS * FN; ++j) {
      uint n = wave_n + j / TERMS * NS, term = j % TERMS * B_VECTORS;
      if (B_K_FAST) coopMatLoad(right[j], sh_b, term + n * B_ROW + k / 8u, B_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      else coopMatLoad(right[j], sh_b, term + k * B_ROW + n / 8u, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint m = wave_m + i * MS;
      [[unroll]] for (uint t = 0u; t < TERMS; ++t) {
        uint term = t * A_VECTORS;
        if (A_K_FAST) coopMatLoad(left[t], sh_a, term + m * A_ROW + k / 8u, A_ROW, gl_CooperativeMatrixLayoutRowMajor);
        else coopMatLoad(left[t], sh_a, term + k * A_ROW + m / 8u, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      }
      [[unroll]] for (uint j = 0u; j < FN; ++j) {
        if (TERMS == 1u) {
          sums[i * FN + j] = coopMatMulAdd(left[0], right[j], sums[i * FN + j]);
          continue;
        }
        part = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
        part = coopMatMulAdd(left[0], right[TERMS * j + TERMS - 1u], part);
        part = coopMatMulAdd(left[TERMS - 1u], right[TERMS * j], part) * (1.0 / LOW_SCALE);
        sums[i * FN + j] += coopMatMulAdd(left[0], right[TERMS * j], part);
      }
    }
  }
}

// Multiplies the blocks in registers, and loads the next ones meanwhile: those at k0.
void multiply_kept(Tile tile, uint wave_m, uint wave_n, uint k0) {
  keep_a(scale_of(exponents.x));
  keep_b(scale_of(exponents.y));
  barrier();
  read_a(block_of_a(tile, k0));
  read_b(block_of_b(tile, k0));
  multiply_blocks(wave_m, wave_n);
}

// Returns false if there is an infinity or NaN. The last blocks, which may be partial, come first, so that the others are whole. The last
// iteration reads blocks again, so that no branch separates loads from multiplications. With one term, sums begin anew if an element exceeds
// the range for which the scales were chosen: if the loop scaled them, NVK would not keep them in registers of matrix units.
bool multiply_terms(Tile tile, uint wave_m, uint wave_n) {
  if (p.k == 0u) return true;
  uint last = (p.k - 1u) / BK * BK, slot = 0u;
  forget_largest(0u);
  for (bool again = true; again;) {
    coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> no_left = coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA>(0.0);
    coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> no_right = coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB>(0.0);
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
      sums[i] = coopMatMulAdd(no_left, no_right, coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0));
    read_a(block_of_a(tile, last));
    read_b(block_of_b(tile, last));
    settle_a(block_of_a(tile, last), false);
    settle_b(block_of_b(tile, last), false);
    again = false;
    barrier();
    for (uint next = 0u; next <= last; next += BK) {
      note_largest(slot);
      barrier();
      bool grown = grows(slot);
      slot = 1u - slot;
      if (grown) {
        if (is_strange()) return false;
        if (TERMS == 2u) scale_sums();
        raise_exponents();
        again = TERMS == 1u && next > 0u;
        if (again) break;
      }
      uint k0 = min(next, max(last, BK) - BK);
      multiply_kept(tile, wave_m, wave_n, k0);
      settle_a(block_of_a(tile, k0), true);
      settle_b(block_of_b(tile, k0), true);
    }
  }
  return true;
}

void multiply_plainly(Tile tile) {
  for (uint e = gl_LocalInvocationID.x; e < BM * BN; e += gl_WorkGroupSize.x) {
    uint m = tile.m + e / BN, n = tile.n + e % BN;
    if (m >= p.m || n >= p.n) continue;
    float sum = 0.0;
    for (uint k = 0u; k < p.k; ++k)
      sum = fma(one_a(tile.a + m * p.a_m + k * p.a_k), one_b(tile.b + k * B_K + n * p.b_n), sum);
    store_sum(tile, m, n, sum);
  }
}
