#version 450
#include "common.glsl"
layout(set = 0, binding = SWARM_BIND_FONT) uniform sampler2D font;
layout(location = 0) in vec2 texel;
layout(location = 1) in vec2 from_center;
layout(location = 2) flat in vec4 paint;
layout(location = 3) flat in vec4 shape;
layout(location = 0) out vec4 color;

// Signed distance in pixels to a rectangle with round corners.
float distance_to_edge(vec2 at, vec2 half_size, float radius) {
  vec2 q = abs(at) - half_size + radius;
  return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - radius;
}

void main() {
  float cover;
  if (shape.x == 0.0) {
    cover = texelFetch(font, ivec2(texel), 0).r;
  } else {
    float d = distance_to_edge(from_center, shape.xy, shape.z);
    cover = clamp(0.5 - d, 0.0, 1.0);
    if (shape.w > 0.0) cover *= clamp(d + shape.w + 0.5, 0.0, 1.0);
  }
  color = vec4(paint.rgb * paint.a, paint.a) * cover;
}
