// A triangle over the whole screen.
#version 450
layout(location = 0) out vec2 at;
void main() {
  at = vec2(gl_VertexIndex == 1 ? 3.0 : -1.0, gl_VertexIndex == 2 ? 3.0 : -1.0);
  gl_Position = vec4(at, 1.0, 1.0);
}
