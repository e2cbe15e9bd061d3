// A total sums exponentials relative to the largest logit, which itself adds 1: only a row without a visible key has a total of 0.
const float LOWEST = -3.402823466e38;  // the initial value of the largest logit

float log_sum_exp_of(float largest, float total) {
  return total == 0.0 ? uintBitsToFloat(0xff800000u) : largest + log(total);
}
