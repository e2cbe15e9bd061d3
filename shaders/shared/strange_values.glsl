// A whole workgroup finds whether values of a tile are infinite or NaN ("strange") while it reads them.

// Two words take turns: one is collected and read, the other cleared.
shared uint sh_strange[HEED_STRANGE_TURNS];
uint strange_turn = 0u;

// To be called before the first tile. Ends with a barrier.
void clear_strange() {
  if (gl_LocalInvocationID.x < HEED_STRANGE_TURNS) sh_strange[gl_LocalInvocationID.x] = 0u;
  barrier();
}

// To be called once for each tile, between the barrier that ends the tile before and the one that any_strange follows.
void put_strange(bool strange) {
  strange_turn ^= 1u;
  if (gl_LocalInvocationID.x == 0u) sh_strange[strange_turn ^ 1u] = 0u;
  if (strange) atomicOr(sh_strange[strange_turn], 1u);
}

bool any_strange() { return sh_strange[strange_turn] != 0u; }
