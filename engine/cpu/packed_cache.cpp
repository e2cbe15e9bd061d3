#include "cpu/cpu_plan.hpp"

namespace heed::cpu {
namespace {

bool same_layout(const View& a, const View& b) {
  bool same = a.rank == b.rank && a.dtype == b.dtype;
  for (int i = 0; same && i < a.rank; ++i) same = a.dim[i] == b.dim[i] && a.stride[i] == b.stride[i];
  return same;
}

}  // namespace

std::shared_ptr<const PackedB> PackedCache::held(const Operand& b) {
  items_.remove_if([](const Item& item) { return item.packed.expired(); });
  for (const Item& item : items_)
    if (item.data == b.data && same_layout(item.view, b.view))
      if (std::shared_ptr<const PackedB> packed = item.packed.lock(); packed != nullptr) return packed;
  return nullptr;
}

std::shared_ptr<const PackedB> PackedCache::get(const Operand& b, const MatmulKernels& kernels, ThreadPool& pool) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::shared_ptr<const PackedB> packed = held(b); packed != nullptr) return packed;
  }
  // Not under the lock: a host's threads that wait for the packing may meanwhile compile another plan of these weights,
  // and an exception of its allocator would leave it locked.
  std::list<Item> fresh;
  std::shared_ptr<const PackedB> packed = pack_constant(b, kernels, pool);
  if (packed == nullptr) return nullptr;
  fresh.push_back({b.data, b.view, packed});
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::shared_ptr<const PackedB> first = held(b); first != nullptr) return first;
  items_.splice(items_.end(), fresh);
  return packed;
}

}  // namespace heed::cpu
