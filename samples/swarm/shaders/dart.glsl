// A paper dart, nose forward.

// Nose, left wing, right wing, keel above, keel below.
const vec3 CORNERS[5] = vec3[5](vec3(0.0, 0.0, 1.25), vec3(-0.62, 0.0, -0.7), vec3(0.62, 0.0, -0.7),
                                vec3(0.0, 0.22, -0.55), vec3(0.0, -0.16, -0.5));
const int FACES[18] = int[18](0, 1, 3, 0, 3, 2, 0, 4, 1, 0, 2, 4, 1, 4, 3, 3, 4, 2);

// The position of this vertex of a dart that flies along `velocity` and leans towards `urges`; sets `shade` to its brightness.
vec3 dart_vertex(vec3 position, vec3 velocity, vec3 urges, float size, vec3 base, out vec3 shade) {
  vec3 forward = normalize(velocity + vec3(0.0, 0.0, 1e-5));
  vec3 side = normalize(cross(vec3(0.0, 1.0, 0.0) + 0.15 * urges, forward) + vec3(1e-5, 0.0, 0.0));
  vec3 up = cross(forward, side);
  mat3 turn = mat3(side, up, forward);

  int face = gl_VertexIndex / 3 * 3;
  vec3 a = CORNERS[FACES[face]], b = CORNERS[FACES[face + 1]], c = CORNERS[FACES[face + 2]];
  vec3 normal = turn * normalize(cross(b - a, c - a));
  vec3 world = position + size * (turn * CORNERS[FACES[gl_VertexIndex]]);

  vec3 eye = normalize(frame.eye.xyz - world);
  float key = max(dot(normal, normalize(vec3(0.4, 0.9, 0.35))), 0.0);
  float rim = pow(1.0 - abs(dot(normal, eye)), 3.0);
  shade = (base * (0.42 + 0.75 * key + 0.35 * rim) + vec3(0.10) * pow(key, 8.0)) * haze(world);
  return world;
}
