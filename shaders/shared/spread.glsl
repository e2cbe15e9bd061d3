// Permutes rows so that invocations that access shared memory simultaneously have rows four apart, since two consecutive rows would be in
// the same banks.
uint spread(uint row) { return (row & ~7u) | (row & 1u) << 2u | (row >> 1u & 3u); }
