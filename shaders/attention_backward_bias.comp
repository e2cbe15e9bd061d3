// The gradient of a bias; see shared/attention_backward.h. A workgroup owns OWN keys by VISIT queries of the bias, and loops over all
// batches, heads, queries or keys along which it is broadcast; an invocation keeps the sums of its pairs.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/attention_backward.glsl"

const bool SUMS_B = (SUMS & 1u) != 0u, SUMS_H = (SUMS & 2u) != 0u, SUMS_Q = (SUMS & 4u) != 0u, SUMS_K = (SUMS & 8u) != 0u;

// The range that a workgroup loops over: everything, or its own block.
uvec2 range_of(bool all, uint own, uint size, uint block) {
  return all ? uvec2(0u, size) : uvec2(own * block, min(size, own * block + block));
}

void main() {
  uint index = workgroup_index();
  uint tid = gl_LocalInvocationID.x;
  uint key_blocks = SUMS_K ? 1u : (p.s_kv + OWN - 1u) / OWN, query_blocks = SUMS_Q ? 1u : (p.s_q + VISIT - 1u) / VISIT;
  uint own_heads = SUMS_H ? 1u : p.heads;
  uvec2 keys = range_of(SUMS_K, index % key_blocks, p.s_kv, OWN);
  index /= key_blocks;
  uvec2 queries = range_of(SUMS_Q, index % query_blocks, p.s_q, VISIT);
  index /= query_blocks;
  uvec2 heads = range_of(SUMS_H, index % own_heads, p.heads, 1u);
  uvec2 batches = range_of(SUMS_B, index / own_heads, p.batches, 1u);
  if (index / own_heads >= (SUMS_B ? 1u : p.batches)) return;

  float sums[PAIR_SUMS];
  [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n) sums[n] = 0.0;
  int aligned = aligned_place(p.s_kv, p.s_q);
  for (uint b = batches.x; b < batches.y; ++b)
    for (uint h = heads.x; h < heads.y; ++h)
      for (uint i = queries.x; i < queries.y; i += VISIT)
        for (uint j = keys.x; j < keys.y; j += OWN) {
          uint count = min(OWN, keys.y - j), there = min(VISIT, queries.y - i);
          bool apart = j >= visible_to(int(i + there - 1u) + aligned, p.s_kv) ||
                       j + count - 1u < passed_by(int(i) + aligned, p.s_kv);
          if (apart && !has(HEED_SOFTMAX_FILL)) continue;
          barrier();
          HEED_LOAD_KEYS(sh_own_k, sh_own_v, b, h / GROUP, j, count, OWN)
          HEED_LOAD_QUERIES(sh_visit_k, sh_visit_v, b, h, i, there, VISIT)
          HEED_LOAD_ROWS(b, h, i, there, OWN)
          barrier();
          float scores[PAIR_SUMS], steeps[PAIR_SUMS];
          multiply_pairs(tid, scores, steeps);
          [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n) {
            uint pair = n * 128u + tid, own = pair % OWN, visit = pair / OWN;
            if (own >= count || visit >= there) continue;
            float weight, slope;
            weigh(b, h, i + visit, j + own, sh_rows[OWN + visit], scores[n], steeps[n], weight, slope);
            sums[n] += slope;
          }
        }

  barrier();
  [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n)
    if (n * 128u + tid < PAIRS) sh_slope[n * 128u + tid] = sums[n];
  barrier();
  // Positions of the block's elements in the bias, which has one row or column if it is broadcast.
  uint height = SUMS_Q ? 1u : queries.y - queries.x, width = SUMS_K ? 1u : keys.y - keys.x;
  uint all_rows = SUMS_Q ? 1u : p.s_q, all_columns = SUMS_K ? 1u : p.s_kv;
  uint first = ((SUMS_B ? 0u : batches.x) * own_heads + (SUMS_H ? 0u : heads.x)) * all_rows;
  for (uint n = tid; n < height * width; n += gl_WorkGroupSize.x) {
    uint row = n / width, column = n % width;
    float sum = 0.0;
    for (uint visit = SUMS_Q ? 0u : row; visit <= (SUMS_Q ? VISIT - 1u : row); ++visit)
      for (uint own = SUMS_K ? 0u : column; own <= (SUMS_K ? OWN - 1u : column); ++own)
        sum += sh_slope[visit * OWN + own];
    uint at_row = SUMS_Q ? 0u : queries.x + row, at_column = SUMS_K ? 0u : keys.x + column;
    put_result(p.offset[7] + (first + at_row) * all_columns + at_column, sum);
  }
}
