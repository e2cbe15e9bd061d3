// A round light that fades to its edge.
#version 450
layout(location = 0) in vec2 at;
layout(location = 1) flat in vec4 light;
layout(location = 0) out vec4 color;
void main() {
  float d = dot(at, at);
  if (d >= 1.0) discard;
  float fade = (1.0 - d) * (1.0 - d);
  color = vec4(light.rgb * (fade * fade * 0.55 + light.w * exp(-38.0 * d) * 1.6), 1.0);
}
