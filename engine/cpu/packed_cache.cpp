#include "cpu/cpu_plan.hpp"

namespace heed::cpu {
namespace {

bool same_layout(const View& a, const View& b) {
  bool same = a.rank == b.rank && a.dtype == b.dtype;
  for (int i = 0; same && i < a.rank; ++i) same = a.dim[i] == b.dim[i] && a.stride[i] == b.stride[i];
  return same;
}

}  // namespace

std::shared_ptr<const PackedB> PackedCache::get(const Operand& b, const MatmulKernels& kernels, ThreadPool& pool) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(items_, [](const Item& item) { return item.packed.expired(); });
  for (const Item& item : items_)
    if (item.data == b.data && same_layout(item.view, b.view)) return item.packed.lock();
  std::shared_ptr<const PackedB> packed = pack_constant(b, kernels, pool);
  if (packed != nullptr) items_.push_back({b.data, b.view, packed});
  return packed;
}

}  // namespace heed::cpu
