// Scratch that the plans of one device share: each run borrows a block for as long as it lasts.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <set>

#include "cpu/device/memory.hpp"

namespace heed::cpu {

// There is one block that suits the largest plan, and one more for each run that ever went on beside another, but no more
// than there are plans. Thread-safe.
class ScratchPool {
 public:
  struct Block {
    AlignedBuffer memory;
    bool lent = false;
  };

  // A plan whose runs need so many bytes. Afterwards a run that goes on alone allocates nothing. False if there is no memory.
  bool add(uint64_t bytes);
  void remove(uint64_t bytes);

  // A block of at least so many bytes, which nobody else uses until it is given back. Null if there is no memory.
  Block* borrow(uint64_t bytes);
  void give_back(Block* block);

  uint64_t bytes() const;  // of all blocks

 private:
  // These need the lock.
  uint64_t most() const { return needs_.empty() ? 0 : *needs_.rbegin(); }
  Block* find_idle(uint64_t bytes);
  Block* make(uint64_t bytes);
  void trim();

  mutable std::mutex mutex_;
  std::multiset<uint64_t> needs_;
  std::list<Block> blocks_;
};

}  // namespace heed::cpu
