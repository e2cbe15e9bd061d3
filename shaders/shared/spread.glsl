// Rows in the order in which they are accessed: neighbours are four apart in shared memory, since two rows that follow
// each other would lie in the same banks.
uint spread(uint row) { return (row & ~7u) | (row & 1u) << 2u | (row >> 1u & 3u); }
