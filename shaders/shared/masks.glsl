// Which keys a query sees, for softmax.comp and the kernels of attention, which define the constants FLAGS and WINDOW.

// Masks are bytes: `word` is the word of a mask that contains byte `at`.
bool byte_hides(uint word, uint at, bool keep) {
  bool nonzero = ((word >> (8u * (at % 4u))) & 0xffu) != 0u;
  return nonzero != keep;
}

// clamp(count, 0, keys)
uint as_many_keys(int count, uint keys) { return uint(clamp(count, 0, int(keys))); }
// Positions are clamped so that sums do not overflow. No number of keys is as large.
int bounded_position(int given) { return clamp(given, -0x3fffffff, 0x3fffffff); }
// The position of the first query among the keys if none is given.
int aligned_place(uint keys, uint queries) {
  return (FLAGS & HEED_SOFTMAX_BOTTOM_RIGHT) != 0u ? int(keys) - int(queries) : 0;
}
// The number of leading keys that causality allows for a query at this position: 0..keys.
uint visible_to(int place, uint keys) {
  return (FLAGS & HEED_SOFTMAX_CAUSAL) != 0u ? as_many_keys(place + 1, keys) : keys;
}
// The number of these keys that are before its window.
uint passed_by(int place, uint keys) { return WINDOW == 0u ? 0u : as_many_keys(place + 1 - int(WINDOW), keys); }
