// Derivatives of the activations in activation.glsl, with its limits at infinities and NaN.
#include "activation.glsl"

#ifdef CANON
float activation_derivative_number(uint kind, float x) {
  switch (kind) {
    case HEED_ACTIVATION_RELU: return x > 0.0 ? 1.0 : 0.0;
    case HEED_ACTIVATION_GELU_ERF: {
      float t = abs(x) > 6.0 ? 6.0 : abs(x), tail = canon_normal_tail(t);
      float slope = times(t, product_of(canon_exp(product_of(product_of(t, t), -0.5)), 0.398942280));
      if (abs(x) > 6.0) return x < 0.0 ? 0.0 : 1.0;
      return x < 0.0 ? minus(tail, slope) : plus(sum_of(1.0, -tail), slope);
    }
    case HEED_ACTIVATION_GELU_TANH: {
      float limited = x > 9.0 ? 9.0 : x < -9.0 ? -9.0 : x, square = product_of(limited, limited);
      float twice = product_of(product_of(limited, multiply_add(square, 0.044715, 1.0)), 1.59576912);
      float slope = product_of(multiply_add(square, 0.134145, 1.0), 1.59576912);
      return times(canon_sigmoid(twice), plus(1.0, times(times(limited, slope), canon_sigmoid(-twice))));
    }
    case HEED_ACTIVATION_SILU: {
      float limited = x > 87.0 ? 87.0 : x < -87.0 ? -87.0 : x;
      return times(canon_sigmoid(limited), plus(1.0, times(limited, canon_sigmoid(-limited))));
    }
    case HEED_ACTIVATION_TANH: {
      float e = canon_exp(product_of(abs(x) > 40.0 ? 40.0 : abs(x), -2.0)), inverse = reciprocal(sum_of(1.0, e));
      return product_of(product_of(product_of(4.0, e), inverse), inverse);
    }
  }
  return 1.0;
}
#else
float activation_derivative_number(uint kind, float x) {
  switch (kind) {
    case HEED_ACTIVATION_RELU: return x > 0.0 ? 1.0 : 0.0;
    case HEED_ACTIVATION_GELU_ERF: {
      float limited = clamp(x, -17.0, 17.0), z = abs(limited) * 0.70710678118654752, e = exp(-z * z);
      float tail = 0.5 * erfcx_positive(z) * e;
      return (x < 0.0 ? tail : 1.0 - tail) + limited * (0.39894228040143268 * e);
    }
    case HEED_ACTIVATION_GELU_TANH: {
      float limited = clamp(x, -9.0, 9.0), square = limited * limited;
      float twice = 1.5957691216057308 * (limited + 0.044715 * limited * square);
      float slope = 1.5957691216057308 * (1.0 + 0.134145 * square);
      return sigmoid(twice) * (1.0 + limited * slope * sigmoid(-twice));
    }
    case HEED_ACTIVATION_SILU: {
      float limited = clamp(x, -87.0, 87.0);
      return sigmoid(limited) * (1.0 + limited * sigmoid(-limited));
    }
    case HEED_ACTIVATION_TANH: {
      float e = exp(-2.0 * min(abs(x), 40.0));
      return 4.0 * e / ((1.0 + e) * (1.0 + e));
    }
  }
  return 1.0;
}
#endif

float activation_derivative(uint kind, float x) { return is_nan(x) ? x : activation_derivative_number(kind, x); }
