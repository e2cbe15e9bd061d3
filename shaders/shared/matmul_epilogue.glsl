// What becomes of a sum: the same for every way to make it.

// element: row-major index over the logical output, which dropout counts by.
float epilogue(float sum, uint n, uint element, uint residual_at) {
  float value = sum * p.scale;
  if ((FLAGS & HEED_MATMUL_BIAS) != 0u) value += float(bias[p.offset[2] + n * p.bias_n]);
  value = activate(ACTIVATION, value);
  if ((FLAGS & HEED_MATMUL_DROPOUT) != 0u) {
    uint word = dropout_block(p.seed, p.stream, element / 4u)[element % 4u];
    value = word < p.dropout_threshold ? 0.0 : value * p.dropout_scale;
  }
  if ((FLAGS & HEED_MATMUL_RESIDUAL) != 0u) value += float(residual[residual_at + n]);
  return value;
}
