// Adds sums[0 .. COUNT - 1] of all INVOCATIONS of a workgroup (128 without SUBGROUPS) in a fixed order. Every invocation can then read each
// total(v).
#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

#ifdef SUBGROUPS
// Memory for the sums of 32 subgroups, or for the kernel's own use. A total overwrites its first partial sum.
const uint SUMS = COUNT > 32u ? 32u * COUNT : 1024u;
const uint TOTALS = 0u;
#else
// Memory for eight sums of each invocation, then for the totals.
const uint SUMS = 1024u + COUNT;
const uint TOTALS = 1024u;
#endif
shared float sh_sums[SUMS];

float total(uint v) { return sh_sums[TOTALS + v]; }

#ifdef SUBGROUPS
// Adds the subgroups' partial sums of sum v.
void add_parts(uint v) {
  float sum = sh_sums[v];
  for (uint i = 1u; i < gl_NumSubgroups; ++i) sum += sh_sums[i * COUNT + v];
  sh_sums[TOTALS + v] = sum;
}

void add_sums() {
  [[unroll]] for (uint v = 0u; v < COUNT; ++v) {
    float sum = subgroupAdd(sums[v]);
    if (subgroupElect()) sh_sums[gl_SubgroupID * COUNT + v] = sum;
  }
  barrier();
  uint v = gl_LocalInvocationID.x;
  if (COUNT > INVOCATIONS) {
    for (; v < COUNT; v += INVOCATIONS) add_parts(v);
  } else if (v < COUNT) {
    add_parts(v);
  }
  barrier();
}
#else
// Adds eight sums at a time: 16 invocations add 8 values each, then one adds their results.
void add_sums() {
  const uint WIDE = 128u;
  uint tid = gl_LocalInvocationID.x;
  [[unroll]] for (uint first = 0u; first < COUNT; first += 8u) {
    [[unroll]] for (uint v = 0u; v < 8u; ++v)
      if (first + v < COUNT) sh_sums[v * WIDE + tid] = sums[first + v];
    barrier();
    float sum = 0.0;
    if (first + tid / 16u < COUNT)
      for (uint i = 0u; i < 8u; ++i) sum += sh_sums[tid / 16u * WIDE + i * 16u + tid % 16u];
    barrier();
    sh_sums[tid] = sum;
    barrier();
    uint v = first + tid;
    if (tid < 8u && v < COUNT) {
      sum = sh_sums[tid * 16u];
      for (uint i = 1u; i < 16u; ++i) sum += sh_sums[tid * 16u + i];
      sh_sums[TOTALS + v] = sum;
    }
    barrier();
  }
}
#endif
