#include "cpu/device/weights.hpp"

#include "cpu/gemm/blocks.hpp"

namespace heed::cpu {
namespace {

bool same_view(const View& a, const View& b) {
  bool same = a.rank == b.rank && a.dtype == b.dtype && a.offset == b.offset;
  for (int i = 0; same && i < a.rank; ++i) same = a.dim[i] == b.dim[i] && a.stride[i] == b.stride[i];
  return same;
}

}  // namespace

std::byte* TensorForms::allocate(uint64_t tensor_bytes, uint64_t bytes) {
  auto fresh = std::make_shared<AlignedBuffer>();
  if (!fresh->allocate(bytes)) return nullptr;
  std::byte* const data = fresh->data();
  tensor_bytes_ = tensor_bytes;
  plain_bytes_ = bytes;
  plain_ = own_plain_ = std::move(fresh);
  return data;
}

PackedB* TensorForms::allocate_quantized(DType type, int64_t rows, int64_t k, const Kernels& kernels) {
  std::shared_ptr<PackedB> fresh = allocate_blocks(type, rows, k, *kernels.matmul, pages_);
  own_packed_ = fresh;
  return fresh.get();
}

// Views come from slices, permutations and broadcasts, so a view without repeated elements that has as many elements as the tensor shows
// the whole tensor.
bool TensorForms::is_whole(const View& view) const {
  bool repeats = false;
  for (int i = 0; i < view.rank; ++i) repeats |= view.stride[i] == 0 && view.dim[i] > 1;
  return !repeats && static_cast<uint64_t>(view.elements()) * size_of(view.dtype) == tensor_bytes_;
}

TensorForms::Packed TensorForms::held(const View& view) {
  forms_.remove_if([](const Form& form) { return form.packed.expired(); });
  for (const Form& form : forms_)
    if (same_view(form.view, view))
      if (Packed packed = form.packed.lock(); packed != nullptr) return packed;
  return nullptr;
}

TensorForms::Plain TensorForms::plain(const Kernels& kernels, ThreadPool& pool) {
  Packed packed;
  View view;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Plain plain = plain_.lock(); plain != nullptr) return plain;
    packed = own_packed_;
    view = own_view_;
  }
  // Unpacking runs without the lock, for the same reasons as in packed().
  auto fresh = std::make_shared<AlignedBuffer>();
  if (packed == nullptr || !fresh->allocate(plain_bytes_)) return nullptr;
  unpack(*packed, view, *kernels.matmul, pool, fresh->data());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Plain first = plain_.lock(); first != nullptr) return first;
  plain_ = fresh;
  return fresh;
}

TensorForms::Packed TensorForms::packed(const View& view, const Kernels& kernels, ThreadPool& pool) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Packed packed = held(view); packed != nullptr) return packed;
  }
  if (is_quantized(view.dtype)) return packed_quantized(view, kernels);
  // Packing runs without the lock: a host's thread that waits for it may compile another plan of these weights meanwhile, and an exception
  // of the host's allocator would leave the mutex locked.
  Plain source;
  if (data_ == nullptr) source = plain(kernels, pool);
  if (data_ == nullptr && source == nullptr) return nullptr;
  Operand b;
  b.view = view;
  // Packing does not write to b.
  b.data = const_cast<std::byte*>(data_ == nullptr ? source->data() : data_) +
           view.offset * static_cast<int64_t>(size_of(view.dtype));
  b.kernels = kernels.rows;
  Packed packed = pack_constant(b, *kernels.matmul, pool, pages_);
  if (packed == nullptr) return nullptr;
  std::list<Form> fresh;
  fresh.push_back({view, packed});
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Packed first = held(view); first != nullptr) return first;
  forms_.splice(forms_.end(), fresh);
  if (own_plain_ != nullptr && is_whole(view)) {
    own_packed_ = packed;
    own_view_ = view;
    own_plain_.reset();
  }
  return packed;
}

TensorForms::Packed TensorForms::packed_quantized(const View& view, const Kernels& kernels) {
  Packed packed = blocks_of(own_packed_, view, *kernels.matmul, pages_);
  if (packed == nullptr || packed == own_packed_) return packed;
  std::list<Form> fresh;
  fresh.push_back({view, packed});
  const std::lock_guard<std::mutex> lock(mutex_);
  if (Packed first = held(view); first != nullptr) return first;
  forms_.splice(forms_.end(), fresh);
  return packed;
}

uint64_t TensorForms::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t bytes = plain_.expired() ? 0 : plain_bytes_;
  if (own_packed_ != nullptr && is_quantized(own_packed_->dtype)) bytes += own_packed_->memory.bytes();
  for (const Form& form : forms_)
    if (const Packed packed = form.packed.lock(); packed != nullptr) bytes += packed->memory.bytes();
  return bytes;
}

}  // namespace heed::cpu
