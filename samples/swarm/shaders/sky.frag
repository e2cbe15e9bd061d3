// A night sky: darker above, with a glow in the middle and dark corners.
#version 450
#include "common.glsl"
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
void main() {
  vec3 top = vec3(0.0010, 0.0014, 0.0060), bottom = vec3(0.0040, 0.0020, 0.0120), glow = vec3(0.0030, 0.0065, 0.0250);
  vec3 sky = mix(top, bottom, smoothstep(-1.0, 1.0, at.y));
  float distance = length(at * vec2(0.75, 1.0) - vec2(0.0, 0.05));
  sky += glow * exp(-2.2 * distance * distance);
  color = vec4(sky * (1.0 - 0.25 * dot(at, at)), 1.0);
}
