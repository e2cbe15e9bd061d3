#include "cpu/device/scratch_pool.hpp"

#include <algorithm>

namespace heed::cpu {

bool ScratchPool::add(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool fits =
      std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.memory.bytes() >= bytes; });
  if (!fits && make(bytes) == nullptr) return false;
  needs_.insert(bytes);
  return true;
}

void ScratchPool::remove(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  needs_.erase(needs_.find(bytes));
  trim();
}

ScratchPool::Block* ScratchPool::borrow(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Block* block = find_idle(bytes);
  if (block == nullptr) block = make(bytes);
  if (block != nullptr) block->lent = true;
  return block;
}

void ScratchPool::give_back(Block* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  block->lent = false;
  trim();
}

uint64_t ScratchPool::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (const Block& block : blocks_) bytes += block.memory.bytes();
  return bytes;
}

// The smallest sufficient block, so that large blocks remain for large plans.
ScratchPool::Block* ScratchPool::find_idle(uint64_t bytes) {
  Block* found = nullptr;
  for (Block& block : blocks_)
    if (!block.lent && block.memory.bytes() >= bytes &&
        (found == nullptr || block.memory.bytes() < found->memory.bytes()))
      found = &block;
  return found;
}

// Enlarges an idle block, or makes a new one if all are in use.
ScratchPool::Block* ScratchPool::make(uint64_t bytes) {
  AlignedBuffer fresh;
  if (!fresh.allocate(bytes)) return nullptr;
  Block* block = find_idle(0);
  if (block == nullptr) block = &blocks_.emplace_back();
  block->memory = std::move(fresh);
  return block;
}

// Frees blocks that are larger than any plan needs, and those beyond the number of plans, since a plan has one run at a time.
void ScratchPool::trim() {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto here = block++;
    const bool is_large = here->memory.bytes() > most(), is_spare = blocks_.size() > needs_.size();
    if (here->lent || (!is_large && !is_spare)) continue;
    const auto suits = [&](const Block& other) { return &other != &*here && other.memory.bytes() >= most(); };
    if (most() == 0 || std::any_of(blocks_.begin(), blocks_.end(), suits))
      blocks_.erase(here);
    else if (is_large)
      (void)here->memory.allocate(most());  // on failure the larger block is kept
  }
}

}  // namespace heed::cpu
