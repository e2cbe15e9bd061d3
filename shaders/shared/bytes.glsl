// Bytes of words, for devices without 8-bit storage. A byte is written by clearing and then setting its bits in a word. Each
// step leaves the word's other bytes alone, so invocations that share a word do not disturb each other, in any order.
uint byte_in(uint word, uint at) { return (word >> (8u * (at % 4u))) & 0xffu; }
#define HEED_STORE_BYTE(words, at, value)                              \
  {                                                                    \
    atomicAnd(words[(at) / 4u], ~(0xffu << (8u * ((at) % 4u))));       \
    atomicOr(words[(at) / 4u], (value) << (8u * ((at) % 4u)));         \
  }
