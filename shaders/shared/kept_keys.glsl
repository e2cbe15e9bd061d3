// A workgroup finds out which keys of a tile, of at most 32, the padding keeps.

// Bit j stands for key j of the tile. Three words are used in turn: one is read, one collected, one cleared.
shared uint sh_kept[HEED_KEPT_TURNS];

// Call this before the first tile. Ends with a barrier.
void clear_kept() {
  if (gl_LocalInvocationID.x < HEED_KEPT_TURNS) sh_kept[gl_LocalInvocationID.x] = 0u;
  barrier();
}

// The bits of the `count` keys from `tile` on; `turn` is the number of earlier calls.
uint kept_by_padding(uint b, uint tile, uint count, uint turn) {
  uint tid = gl_LocalInvocationID.x;
  if (tid == 0u) sh_kept[(turn + 1u) % HEED_KEPT_TURNS] = 0u;
  for (uint j = tid; j < count; j += gl_WorkGroupSize.x)
    if (!padding_hides(b, tile + j)) atomicOr(sh_kept[turn % HEED_KEPT_TURNS], 1u << j);
  barrier();
  return sh_kept[turn % HEED_KEPT_TURNS];
}
