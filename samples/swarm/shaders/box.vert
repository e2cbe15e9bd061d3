// Draws the panels, bars and letters of the overlay. Positions are in pixels from the top left.
#version 450
#include "common.glsl"
struct Box {
  vec4 area, texture, color, shape;
};
layout(set = 0, binding = SWARM_BIND_BOXES) readonly buffer Boxes { Box boxes[]; };
layout(location = 0) out vec2 texel;
layout(location = 1) out vec2 from_center;
layout(location = 2) flat out vec4 color;
layout(location = 3) flat out vec4 shape;  // half width and height, corner radius, border; half width 0: a letter

void main() {
  Box box = boxes[gl_InstanceIndex];
  vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  texel = box.texture.xy + corner * box.texture.zw;
  from_center = (corner - 0.5) * box.area.zw;
  color = box.color;
  shape = box.texture.z > 0.0 ? vec4(0.0) : vec4(0.5 * box.area.zw, box.shape.xy);
  vec2 pixel = box.area.xy + corner * box.area.zw;
  gl_Position = vec4(pixel / frame.screen.xy * 2.0 - 1.0, 0.0, 1.0);
}
