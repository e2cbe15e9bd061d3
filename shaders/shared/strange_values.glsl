// A workgroup finds out whether values of a tile are infinite or NaN ("strange") while it reads them.

// Two words are used in turn: one is collected and read, the other cleared.
shared uint sh_strange[HEED_STRANGE_TURNS];
uint strange_turn = 0u;

// Call this before the first tile. Ends with a barrier.
void clear_strange() {
  if (gl_LocalInvocationID.x < HEED_STRANGE_TURNS) sh_strange[gl_LocalInvocationID.x] = 0u;
  barrier();
}

// Call this once for each tile, between the barrier that ends the tile before and the one before any_strange.
void put_strange(bool strange) {
  strange_turn ^= 1u;
  if (gl_LocalInvocationID.x == 0u) sh_strange[strange_turn ^ 1u] = 0u;
  if (strange) atomicOr(sh_strange[strange_turn], 1u);
}

bool any_strange() { return sh_strange[strange_turn] != 0u; }
