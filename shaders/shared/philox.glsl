// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the same function
// as engine/base/philox.hpp, bit for bit.
uvec4 philox4x32_10(uvec4 counter, uvec2 key) {
  for (int i = 0; i < 10; ++i) {
    uint a_high, a_low, b_high, b_low;
    umulExtended(0xD2511F53u, counter.x, a_high, a_low);
    umulExtended(0xCD9E8D57u, counter.z, b_high, b_low);
    counter = uvec4(b_high ^ counter.y ^ key.x, b_low, a_high ^ counter.w ^ key.y, a_low);
    key += uvec2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

// The four random words of elements 4 * block .. 4 * block + 3. Bindings have less than 2^32 elements, so the counter's upper words are 0.
uvec4 dropout_block(uint seed, uint stream, uint block) {
  return philox4x32_10(uvec4(block, 0u, 0u, 0u), uvec2(seed, stream));
}
