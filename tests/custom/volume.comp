// y = x + the index of the invocation in its workgroup, over a box of values; see custom_test.cpp.
#version 450
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint x_offset, y_offset, depth, rows, columns; } p;

void main() {
  const uvec3 at = gl_GlobalInvocationID;
  if (at.x >= p.columns || at.y >= p.rows || at.z >= p.depth) return;
  const uint i = (at.z * p.rows + at.y) * p.columns + at.x;
  y[p.y_offset + i] = x[p.x_offset + i] + float(gl_LocalInvocationIndex);
}
