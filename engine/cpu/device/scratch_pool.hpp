// Scratch shared by the plans of one device: each run borrows a block for its duration.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <set>

#include "cpu/device/memory.hpp"

namespace heed::cpu {

// There is one block for the largest plan, and one more for each run that ever took place at the same time as others, but no more than
// there are plans. Thread-safe.
class ScratchPool {
 public:
  struct Block {
    AlignedBuffer memory;
    bool lent = false;
  };

  // Adds a plan whose runs need this many bytes. Afterwards a run without others at the same time allocates nothing. Returns false if there
  // is not enough memory.
  bool add(uint64_t bytes);
  void remove(uint64_t bytes);

  // A block of at least this many bytes for exclusive use until it is returned. Null if there is not enough memory.
  Block* borrow(uint64_t bytes);
  void give_back(Block* block);

  uint64_t bytes() const;  // total size of all blocks

 private:
  // The calls below need the lock.
  uint64_t most() const { return needs_.empty() ? 0 : *needs_.rbegin(); }
  Block* find_idle(uint64_t bytes);
  Block* make(uint64_t bytes);
  void trim();

  mutable std::mutex mutex_;
  std::multiset<uint64_t> needs_;
  std::list<Block> blocks_;
};

}  // namespace heed::cpu
