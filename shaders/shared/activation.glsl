// Activations in f32, numbered as in heed::Activation. At an infinity each gives the limit of its function, and for NaN it gives NaN.
// Arguments are clamped to the range in which the result changes, so that infinities are never used in arithmetic.
#include "classify.glsl"
#include "arithmetic.glsl"
#include "enums.glsl"

#ifdef CANON
float activate_number(uint kind, float x) {
  switch (kind) {
    case HEED_ACTIVATION_RELU: return positive_part(x);
    case HEED_ACTIVATION_GELU_ERF: return canon_gelu_erf(x);
    case HEED_ACTIVATION_GELU_TANH: return canon_gelu_tanh(x);
    case HEED_ACTIVATION_SILU: return canon_silu(x);
    case HEED_ACTIVATION_TANH: return flushed(canon_tanh(x));
  }
  return x;
}
#else
// The exponent is never positive, so that nothing overflows, however large |x| is.
float sigmoid(float x) {
  float e = exp(-abs(x));
  return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}

// Below 0.5 an odd polynomial (Chebyshev fit of tanh(x)/x in x^2, relative error 1e-7), since 1 - e would cancel.
float tanh_f32(float x) {
  float magnitude = min(abs(x), 20.0);
  if (magnitude < 0.5) {
    float s = x * x;
    return x * (0.999999987 + s * (-0.333330719 + s * (0.13324829 + s * (-0.0529892412 + s * 0.017141319))));
  }
  float e = exp(-2.0 * magnitude);
  float y = (1.0 - e) / (1.0 + e);
  return x < 0.0 ? -y : y;
}

// exp(z^2) erfc(z) for z >= 0, relative error 3e-7: t = 1 / (1 + z/2) maps z to (0, 1]; a Chebyshev fit in 2t - 1 of the quotient by t.
float erfcx_positive(float z) {
  float t = 1.0 / (1.0 + 0.5 * z);
  float u = 2.0 * t - 1.0;
  float q = 4.21611972e-05;
  q = q * u - 3.66018769e-05;
  q = q * u - 0.000299382712;
  q = q * u + 0.000430670488;
  q = q * u + 0.00152915716;
  q = q * u - 0.00324345192;
  q = q * u - 0.0107516262;
  q = q * u + 0.0182216694;
  q = q * u + 0.139735734;
  q = q * u + 0.343580319;
  q = q * u + 0.510791357;
  return t * q;
}

// x Phi(x). The upper tail erfc(|x|/sqrt 2)/2 keeps its relative precision where 1 + erf(x) would cancel.
float gelu_erf(float x) {
  float z = min(abs(x), 17.0) * 0.70710678118654752;  // erfc(12) is below the smallest f32
  float tail = 0.5 * erfcx_positive(z) * exp(-z * z);
  return max(x, -17.0) * (x < 0.0 ? tail : 1.0 - tail);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), without the cancellation for negative u.
float gelu_tanh(float x) {
  float limited = clamp(x, -1.0e4, 1.0e4);  // the cube must not overflow
  return max(x, -1.0e4) * sigmoid(1.5957691216057308 * (limited + 0.044715 * limited * limited * limited));
}

float silu(float x) {
  return max(x, -1.0e3) * sigmoid(clamp(x, -1.0e3, 1.0e3));
}

float activate_number(uint kind, float x) {
  switch (kind) {
    case HEED_ACTIVATION_RELU: return max(x, 0.0);
    case HEED_ACTIVATION_GELU_ERF: return gelu_erf(x);
    case HEED_ACTIVATION_GELU_TANH: return gelu_tanh(x);
    case HEED_ACTIVATION_SILU: return silu(x);
    case HEED_ACTIVATION_TANH: return tanh_f32(x);
  }
  return x;
}

#endif

float activate(uint kind, float x) { return is_nan(x) ? x : activate_number(kind, x); }
