// Night: darker above, a glow where the eye looks, dark corners.
#version 450
#include "common.glsl"
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 color;
void main() {
  vec3 top = vec3(0.0018, 0.0022, 0.0075), bottom = vec3(0.0070, 0.0060, 0.0200), glow = vec3(0.0090, 0.0130, 0.0350);
  vec3 sky = mix(top, bottom, smoothstep(-1.0, 1.0, at.y));
  float distance = length(at * vec2(0.75, 1.0) - vec2(0.0, 0.05));
  sky += glow * exp(-2.2 * distance * distance);
  color = vec4(sky * (1.0 - 0.25 * dot(at, at)), 1.0);
}
