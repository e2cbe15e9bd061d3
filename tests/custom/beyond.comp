// Like fade.comp, but reads past the end of x; see custom_test.cpp.
#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint x_offset, y_offset, count; float factor; } p;

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < p.count) y[p.y_offset + i] = x[p.x_offset + p.count + i] * p.factor;
}
