// The arithmetic of a draw: the same functions as in engine/base/sample.hpp, bit for bit. 64-bit numbers are two words, the
// low one first.
const uint LARGEST_WEIGHT = 0x80000000u, INFINITE_KEY = 0xff800000u;
const uint THIRTY_TWO = 0x42000000u;  // as bits of a float

uint key_of(float value) {
  uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u || bits == 0xff800000u) return 0u;
  if (magnitude <= 0x00800000u) return 0x80000000u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
float value_of(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

uint penalized(uint key, float penalty, float inverse) {
  if (key == 0u || key == INFINITE_KEY) return key;
  float value = value_of(key);
  precise float product = value * (value > 0.0 ? inverse : penalty);
  return key_of(product);
}

uint biased(uint key, float bias) {
  uint added = key_of(bias);
  if (key == 0u || added == 0u) return 0u;
  if (key == INFINITE_KEY || added == INFINITE_KEY) return INFINITE_KEY;
  precise float sum = value_of(key) + value_of(added);
  return key_of(sum);
}

uint high_word(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}

uint power_of(uint halvings) {
  uint whole = halvings >> 24, x = halvings << 8;
  uint power = 0x0029da51u - high_word(0x0003961au, x);
  power = 0x013a0970u - high_word(power, x);
  power = 0x071a6df4u - high_word(power, x);
  power = 0x1ebfb487u - high_word(power, x);
  power = 0x58b90bccu - high_word(power, x);
  power = LARGEST_WEIGHT - high_word(power, x);
  return whole == 0u ? power : (power + (1u << (whole - 1u))) >> whole;
}

uint weight_of(uint key, uint largest, float rate, float reach) {
  if (key == largest) return LARGEST_WEIGHT;
  if (largest == INFINITE_KEY) return 0u;
  precise float distance = 0.5 * value_of(largest) - 0.5 * value_of(key);
  if (floatBitsToUint(distance) >= floatBitsToUint(reach)) return 0u;
  precise float halvings = distance * rate;
  if (floatBitsToUint(halvings) >= THIRTY_TWO) return 0u;
  precise float steps = halvings * 16777216.0;
  return power_of(uint(steps));
}

uvec2 sum_of(uvec2 a, uvec2 b) {
  uint carry, low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 difference_of(uvec2 a, uvec2 b) { return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u)); }
bool is_less(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }
uvec2 product_of(uint a, uint b) {
  uvec2 product;
  umulExtended(a, b, product.y, product.x);
  return product;
}

// floor(a * b / 2^32), minus one if the quotient is exact: an integer sum greater than this is at least a * b / 2^32.
uvec2 less_than_share(uvec2 a, uint b) {
  uvec2 low = product_of(a.x, b), high = sum_of(product_of(a.y, b), uvec2(low.y, 0u));
  return low.x == 0u && high != uvec2(0u) ? difference_of(high, uvec2(1u, 0u)) : high;
}
// floor(a * b / 2^64).
uvec2 share_of(uvec2 a, uvec2 b) {
  uvec2 first = product_of(a.x, b.y), second = product_of(a.y, b.x);
  uvec2 middle = sum_of(uvec2(product_of(a.x, b.x).y, 0u), sum_of(uvec2(first.x, 0u), uvec2(second.x, 0u)));
  uvec2 high = sum_of(product_of(a.y, b.y), uvec2(middle.y, 0u));
  return sum_of(high, sum_of(uvec2(first.y, 0u), uvec2(second.y, 0u)));
}
