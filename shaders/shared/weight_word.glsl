// The random word of key j in row `row` of the [B, H, S_q] rows of the weights, which may have more than 2^32 elements.
uint dropout_word(uint row, uint j) {
  uint high, low;
  umulExtended(row, p.s_kv, high, low);
  uint carry;
  low = uaddCarry(low, j, carry);
  high += carry;
  uvec4 counter = uvec4((high << 30) | (low >> 2), high >> 2, 0u, 0u);
  return philox4x32_10(counter, uvec2(p.seed, p.stream))[low & 3u];
}
