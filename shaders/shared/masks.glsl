// Which keys a query sees: softmax.comp and the kernels of attention have the constants FLAGS and WINDOW.

// Masks are bytes: `word` is the word of a mask that holds byte `at`.
bool byte_hides(uint word, uint at, bool keep) {
  bool nonzero = ((word >> (8u * (at % 4u))) & 0xffu) != 0u;
  return nonzero != keep;
}

// `count`, as far as there are so many keys.
uint as_many_keys(int count, uint keys) { return uint(clamp(count, 0, int(keys))); }
// Positions are kept so small that no sum overflows. No number of keys is as large.
int bounded_position(int given) { return clamp(given, -0x3fffffff, 0x3fffffff); }
// The place of the first query among the keys, where no position is given.
int aligned_place(uint keys, uint queries) {
  return (FLAGS & HEED_SOFTMAX_BOTTOM_RIGHT) != 0u ? int(keys) - int(queries) : 0;
}
// How many keys causality leaves to a query at this place: the first 0..keys.
uint visible_to(int place, uint keys) {
  return (FLAGS & HEED_SOFTMAX_CAUSAL) != 0u ? as_many_keys(place + 1, keys) : keys;
}
// How many of these are before its window.
uint passed_by(int place, uint keys) { return WINDOW == 0u ? 0u : as_many_keys(place + 1 - int(WINDOW), keys); }
