// The angles of rotary embedding.

// The high word of position * turns modulo 2^64: the angle as a fraction of 2^32 turns. `turns` has the high word first.
uint angle_of(int position, uvec2 turns) {
  uint carry, unused;
  umulExtended(uint(position), turns.y, carry, unused);
  return uint(position) * turns.x + carry - (position < 0 ? turns.y : 0u);
}

// Cosine and sine. Drivers' functions may have an error of 2^-11; these polynomials, within an eighth of a turn around the nearest quarter,
// have at most 2^-23.
vec2 turn(uint angle) {
  uint quarter = (angle + 0x20000000u) >> 30;
#ifdef CANON
  float a = product_of(float(int(angle - (quarter << 30))), 6.28318530718 / 4294967296.0);
  float z = product_of(a, a);
  float s = multiply_add(z, -0.000195172979, 0.008332178);
  s = multiply_add(z, s, -0.166666552);
  s = multiply_add(product_of(a, z), s, a);
  float c = multiply_add(z, 2.44384501e-05, -0.00138873677);
  c = multiply_add(z, c, 0.0416666456);
  c = multiply_add(product_of(z, z), c, sum_of(1.0, -product_of(0.5, z)));
#else
  float a = float(int(angle - (quarter << 30))) * (6.28318530718 / 4294967296.0), z = a * a;
  float s = a + a * z * (-0.166666552 + z * (0.008332178 + z * -0.000195172979));
  float c = 1.0 - 0.5 * z + z * z * (0.0416666456 + z * (-0.00138873677 + z * 2.44384501e-05));
#endif
  vec2 result = (quarter & 1u) == 0u ? vec2(c, s) : vec2(-s, c);
  return (quarter & 2u) == 0u ? result : -result;
}
