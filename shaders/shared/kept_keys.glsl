// Which keys of a tile of at most 32 the padding keeps, found by a whole workgroup.

// Bit j: key j of the tile. Three in turn: one is read, one collected, one cleared.
shared uint sh_kept[3];

// Before the first tile. Ends with a barrier.
void clear_kept() {
  if (gl_LocalInvocationID.x < 3u) sh_kept[gl_LocalInvocationID.x] = 0u;
  barrier();
}

// Of the `count` keys from `tile` on.
uint kept_by_padding(uint b, uint tile, uint count, uint turn) {
  uint tid = gl_LocalInvocationID.x;
  if (tid == 0u) sh_kept[(turn + 1u) % 3u] = 0u;
  for (uint j = tid; j < count; j += gl_WorkGroupSize.x)
    if (!padding_hides(b, tile + j)) atomicOr(sh_kept[turn % 3u], 1u << j);
  barrier();
  return sh_kept[turn % 3u];
}
