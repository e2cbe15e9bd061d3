// Series shared by plain and reproducible kernels, composed of the includer's product_of, sum_of, multiply_add and times.
#ifndef HEED_SERIES_GLSL
#define HEED_SERIES_GLSL
#ifdef __cplusplus  // a test compiles this file, too
#define HEED_OUT(type) type&
#else
#define HEED_OUT(type) out type
#endif

// x = 2^n (1 + f), with 1 + f between sqrt(1/2) and sqrt(2).
void split_for_log(float x, HEED_OUT(float) n, HEED_OUT(float) f) {
  uint bits = floatBitsToUint(x) - 0x3f3504f3u;
  n = float(int(bits) >> 23);
  f = sum_of(uintBitsToFloat((bits & 0x007fffffu) + 0x3f3504f3u), -1.0);
}
// log(1 + f) - f + f^2 / 2 for such an f.
float log_series(float f) {
  float square = product_of(f, f), y = 7.03768363e-2;
  y = multiply_add(y, f, -1.15146103e-1);
  y = multiply_add(y, f, 1.16769987e-1);
  y = multiply_add(y, f, -1.24201408e-1);
  y = multiply_add(y, f, 1.42493229e-1);
  y = multiply_add(y, f, -1.66680578e-1);
  y = multiply_add(y, f, 2.00007148e-1);
  y = multiply_add(y, f, -2.49999940e-1);
  y = multiply_add(y, f, 3.33333312e-1);
  return product_of(product_of(y, f), square);
}
// log(x), with an error below 2 ulp from 1 on.
float log_by_series(float x) {
  float n, f;
  split_for_log(x, n, f);
  float y = sum_of(log_series(f), product_of(n, -2.12194440e-4));
  y = sum_of(f, sum_of(y, product_of(product_of(f, f), -0.5)));
  return sum_of(y, product_of(n, 0.693359375));
}

// 1 - e^x for -0.5 <= x <= 0.
float one_less_power_near_0(float x) {
  float y = 2.75573192e-6;  // 1 / 9!
  y = multiply_add(y, x, 2.48015873e-5);
  y = multiply_add(y, x, 1.98412698e-4);
  y = multiply_add(y, x, 1.38888889e-3);
  y = multiply_add(y, x, 8.33333333e-3);
  y = multiply_add(y, x, 4.16666667e-2);
  y = multiply_add(y, x, 1.66666667e-1);
  y = multiply_add(y, x, 0.5);
  y = multiply_add(y, x, 1.0);
  return times(-x, y);
}

#endif
