// Draws a token for each row of logits; see shared/sample.h. A workgroup processes a row. It finds a position in the order of tokens digit
// by digit, most significant first: a loop over the row adds up, for each value of the digit, the tokens with the digits found so far. The
// sums are integers, so that neither their order nor the number of lanes matters.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/philox.glsl"
#include "shared/sample.h"
#include "shared/sample.glsl"

HEED_OPERAND(0, x)
HEED_OPERAND(1, bias)
layout(set = 0, binding = 2) readonly buffer Previous { int previous[]; };
layout(set = 0, binding = 3) readonly buffer Counts { int counts[]; };
layout(set = 0, binding = 4) readonly buffer Steps { int steps[]; };
layout(set = 0, binding = 5) readonly buffer Seeds { int seeds[]; };
layout(set = 0, binding = 6) readonly buffer Settings { uint settings[]; };
layout(set = 0, binding = 7) writeonly buffer Out { int result[]; };

const uint DIGIT = HEED_SAMPLE_DIGIT, BINS = 1u << DIGIT;
const uint GROUP = 16u, GROUPS = BINS / GROUP;
const uint SEEN_WORDS = 1024u, SEGMENT = 32u * SEEN_WORDS;  // tokens that a loop marks at once
shared uint sh_low[BINS], sh_high[BINS];
shared uvec2 sh_groups[GROUPS];
shared uint sh_seen[SEEN_WORDS];

// A token in the order of tokens. The index NONE stands for the last token of its key.
struct Place {
  uint key, index;
};
const uint NONE = 0xffffffffu;

// The row of this workgroup: its offset in each operand, and its settings.
uint x_at, bias_at, settings_at;
uint previous_at, previous_count;
uint largest;  // key
uint least;    // least weight of tokens that may be drawn
Place last;    // the last token that top-k and top-p have kept so far
float rate, reach, penalty, inverse;

// A loop over the row looks for the largest key, or sums tokens by a digit: of the complement of their key (BY_KEY), or, among tokens of
// one key, of their index (BY_INDEX).
const uint LARGEST = 0u, BY_KEY = 1u, BY_INDEX = 2u;
uint walk_kind;
bool weighted;            // sums weights, otherwise counts tokens
uint left;                // bits below the digit
uint width;               // bits of the digit
uint found, found_key;    // the digits above it; the key, when tokens of one key are distinguished
uint held_bin;            // a lane's sums that are not yet in shared memory; neighbours usually have the same digit
uvec2 held;
uint best_key, best_index;

uint setting(uint word) { return settings[settings_at + word]; }

void flush() {
  if (held == uvec2(0u)) return;
  uint before = atomicAdd(sh_low[held_bin], held.x);
  uint high = held.y + (before + held.x < before ? 1u : 0u);
  if (high != 0u) atomicAdd(sh_high[held_bin], high);
  held = uvec2(0u);
}

uint key_at(uint i, uint word) {
  uint key = key_of(one_x(x_at + i * p.x_stride[4]));
  if (PREVIOUS && (word >> (i & 31u) & 1u) != 0u) key = penalized(key, penalty, inverse);
  if (BIAS) key = biased(key, one_bias(bias_at + i));
  return key;
}

void visit(uint i, uint key) {
  if (key == 0u) return;
  if (walk_kind == LARGEST) {
    if (key > best_key) best_key = key, best_index = i;
    return;
  }
  if (key < last.key || (key == last.key && i > last.index)) return;
  if (walk_kind == BY_INDEX && key != found_key) return;
  uint word = walk_kind == BY_INDEX ? i : ~key;
  if (left + width < 32u && word >> (left + width) != found) return;
  uint amount = weighted ? weight_of(key, largest, rate, reach) : 1u;
  if (amount < least) return;
  uint bin = word >> left & ((1u << width) - 1u);
  if (bin != held_bin) {
    flush();
    held_bin = bin;
  }
  held = sum_of(held, uvec2(amount, 0u));
}

// Marks the previous tokens of begin .. begin + SEGMENT - 1.
void mark_seen(uint begin) {
  for (uint i = lane(); i < previous_count; i += lanes()) {
    uint at = uint(previous[previous_at + i]) - begin;
    if (at < SEGMENT) atomicOr(sh_seen[at / 32u], 1u << (at & 31u));
  }
}

void walk() {
  held = uvec2(0u);
  held_bin = 0u;
  uint step = PREVIOUS ? SEGMENT : p.n;
  // The first loop looks for the largest key. If a row has one segment, its marks stay valid for later loops.
  bool marks = PREVIOUS && (p.n > SEGMENT || walk_kind == LARGEST);
  for (uint begin = 0u; begin < p.n; begin += step) {
    barrier();
    for (uint i = lane(); begin == 0u && i < BINS; i += lanes()) sh_low[i] = sh_high[i] = 0u;
    for (uint i = lane(); marks && i < SEEN_WORDS; i += lanes()) sh_seen[i] = 0u;
    barrier();
    if (marks) {
      mark_seen(begin);
      barrier();
    }
    uint end = min(p.n, begin + step);
    for (uint i = begin + lane(); i < end; i += lanes()) {
      uint word = 0u;
      if (PREVIOUS) word = sh_seen[(i - begin) / 32u];
      visit(i, key_at(i, word));
    }
  }
  flush();
}

// The largest key and the first of its tokens. The bins are free to be used for them.
Place find_largest() {
  walk_kind = LARGEST;
  best_key = 0u;
  best_index = NONE;
  walk();
  atomicMax(sh_low[0], best_key);
  barrier();
  Place place;
  place.key = sh_low[0];
  if (place.key == best_key) atomicMax(sh_high[0], ~best_index);
  barrier();
  place.index = ~sh_high[0];
  return place;
}

// Computes prefix sums of the bins; returns the total.
uvec2 sum_bins() {
  barrier();
  for (uint group = lane(); group < GROUPS; group += lanes()) {
    uvec2 sum = uvec2(0u);
    for (uint i = group * GROUP; i < (group + 1u) * GROUP; ++i) sum = sum_of(sum, uvec2(sh_low[i], sh_high[i]));
    sh_groups[group] = sum;
  }
  barrier();
  uvec2 all = uvec2(0u);
  for (uint group = 0u; group < GROUPS; ++group) all = sum_of(all, sh_groups[group]);
  return all;
}

// The first bin at which the cumulative sum exceeds `target`; `target` becomes the remainder within it, `amount` the bin's value.
uint pick_bin(inout uvec2 target, out uvec2 amount) {
  uint group = 0u;
  for (; group + 1u < GROUPS && !is_less(target, sh_groups[group]); ++group)
    target = difference_of(target, sh_groups[group]);
  uint bin = group * GROUP;
  amount = uvec2(sh_low[bin], sh_high[bin]);
  for (uint i = 1u; i < GROUP && !is_less(target, amount); ++i) {
    target = difference_of(target, amount);
    ++bin;
    amount = uvec2(sh_low[bin], sh_high[bin]);
  }
  return bin;
}

const uint TOP_K = 0u, TOP_P = 1u, DRAW = 2u;
const uvec2 SKIPPED = uvec2(0xffffffffu);

// Finds the first token, in order, at which the cumulative sum of the remaining tokens exceeds a target: a number of tokens (TOP_K) or a
// share of all weight (TOP_P, DRAW). Returns `last` if it never does. If only the key matters, the index is NONE, or that of `last` if they
// have the same key.
Place find(uint what, uvec2 share) {
  weighted = what != TOP_K;
  uvec2 target = share;
  Place place = last;
  for (walk_kind = BY_KEY; walk_kind <= BY_INDEX; ++walk_kind) {
    found = 0u;
    left = walk_kind == BY_KEY ? 32u : p.index_bits;
    while (left > 0u) {
      width = min(left, DIGIT);
      left -= width;
      walk();
      uvec2 all = sum_bins(), amount;
      if (left + width == 32u) {  // the total over all tokens, since no digit was found yet
        if (what == TOP_P) target = less_than_share(all, share.x);
        if (what == DRAW) target = share_of(all, share);
        if (!is_less(target, all)) return last;
      }
      found = found << width | pick_bin(target, amount);
      if (walk_kind == BY_KEY && left == 0u) {
        place.key = found_key = ~found;
        place.index = found_key == last.key ? last.index : NONE;
        uint one = weighted ? weight_of(found_key, largest, rate, reach) : 1u;
        if (what != DRAW && amount == uvec2(one, 0u)) return place;
      }
    }
  }
  place.index = found;
  return place;
}

void start(uint row) {
  uvec4 at = UNRAVEL(row, p.dim);
  x_at = p.offset[0] + DOT4(at, p.x_stride);
  bias_at = p.offset[1] + row * p.bias_row;
  settings_at = p.offset[6] + row * p.settings_row;
  rate = uintBitsToFloat(setting(HEED_SAMPLE_RATE));
  reach = uintBitsToFloat(setting(HEED_SAMPLE_REACH));
  penalty = uintBitsToFloat(setting(HEED_SAMPLE_PENALTY));
  inverse = uintBitsToFloat(setting(HEED_SAMPLE_INVERSE));
  if (PREVIOUS) {
    int count = int(p.count);
    if (COUNTS) count = counts[p.offset[3] + row * p.count_row];
    previous_at = p.offset[2] + row * p.previous_row;
    previous_count = uint(clamp(count, 0, int(p.previous)));
  }
  least = 0u;
  last.key = 0u;
  last.index = NONE;
}

uvec2 random_share(uint row) {
  uint seed = p.seed, step = p.step;
  if (SEEDS) seed = uint(seeds[p.offset[5] + row * p.seed_row]);
  if (STEPS) step = uint(steps[p.offset[4] + row * p.step_row]);
  return philox4x32_10(uvec4(step, SEEDS ? 0u : row, 0u, 1u), uvec2(seed, p.stream)).yx;
}

// The share for a step: a number of tokens (TOP_K) or a part of the weights. SKIPPED if the options do not need the step; the draw is never
// skipped.
uvec2 share_for(uint what, uint row) {
  uint top_k = setting(HEED_SAMPLE_TOP_K), top_p = setting(HEED_SAMPLE_TOP_P);
  if (what == TOP_K) return top_k > 0u && top_k < p.n ? uvec2(top_k - 1u, 0u) : SKIPPED;
  if (what == TOP_P) return top_p != NONE ? uvec2(top_p, 0u) : SKIPPED;
  least = min(setting(HEED_SAMPLE_MIN_P), LARGEST_WEIGHT);
  return random_share(row);
}

void main() {
  uint row = row_index();
  if (row >= p.rows) return;
  start(row);
  Place place = find_largest();
  largest = place.key;
  bool draws = floatBitsToUint(rate) != 0u && largest != 0u;
  for (uint what = TOP_K; what <= DRAW && draws; ++what) {
    uvec2 share = share_for(what, row);
    if (what != DRAW && share == SKIPPED) continue;
    place = find(what, share);
    last = place;
  }
  if (lane() == 0u) result[p.offset[7] + row] = int(place.index);
}
