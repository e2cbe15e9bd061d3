// sum = a + b and difference = a - b of two matrices, with a workgroup of 8 x 8 for each tile; see custom_test.cpp.
#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) readonly buffer A { float a[]; };
layout(set = 0, binding = 1) readonly buffer B { float b[]; };
layout(set = 0, binding = 2) writeonly buffer Sum { float sum[]; };
layout(set = 0, binding = 3) writeonly buffer Difference { float difference[]; };
layout(push_constant) uniform P { uint offset[4]; uint rows, columns; } p;

void main() {
  const uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
  if (row >= p.rows || column >= p.columns) return;
  const uint at = row * p.columns + column;
  const float x = a[p.offset[0] + at], y = b[p.offset[1] + at];
  sum[p.offset[2] + at] = x + y;
  difference[p.offset[3] + at] = x - y;
}
