// Computes multiply-adds in registers and nothing else, to find the arithmetic limit for `heed bench`.
#version 450

layout(local_size_x = 64) in;

layout(set = 0, binding = 0) buffer Sink { float sink[]; };

layout(push_constant) uniform Push {
  uint steps;
  float factor;
  float addend;
  float never;  // a value that the sum never has; the compiler cannot know this, and must compute the sum
} p;

// Independent chains: enough to hide the latency of a multiply-add, and few enough for the registers of a software driver.
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) float x##i = float(gl_LocalInvocationID.x + i);
#define STEP(i) x##i = fma(x##i, p.factor, p.addend);
#define SUM(i) sum += x##i;

void main() {
  EACH(START)
  // Sixteen steps per iteration, so that the loop's own cost is negligible.
  for (uint step = 0; step < p.steps; ++step) {
    EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
    EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
    EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
    EACH(STEP) EACH(STEP) EACH(STEP) EACH(STEP)
  }
  float sum = 0.0;
  EACH(SUM)
  if (sum == p.never) sink[0] = sum;
}
