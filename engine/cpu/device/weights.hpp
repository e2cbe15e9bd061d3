// Weights in host memory. Each is held in the forms that plans read, and in no other.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/device/memory.hpp"
#include "cpu/gemm/matmul.hpp"
#include "cpu/simd/kernels.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::cpu {

// One tensor: plain, which is contiguous and row-major, or packed as the b of products, or both. Thread-safe. Quantized tensors
// are packed from the start, and embeddings read them so, too.
//
// Once all of the tensor is packed, its plain form lives only as long as some plan holds it; who asks for it later gets it
// unpacked. Packed forms beyond the first live as long as some plan holds them.
class TensorForms {
 public:
  TensorForms() = default;
  // The plain form is `data`, which stays where it is.
  explicit TensorForms(const std::byte* data) : data_(data) {}
  // Packed forms are made on these pages, which must live as long as calls make some.
  void pack_on(PagePool* pages) { pages_ = pages; }

  // Makes the plain form, which is then filled in: the tensor's bytes, and some behind them up to the alignment. Null if
  // there is no memory.
  std::byte* allocate(uint64_t tensor_bytes, uint64_t bytes);
  // Makes the packed form of a quantized tensor [..., k] of so many rows, which is then filled in. Null if there is no memory.
  PackedB* allocate_quantized(DType type, int64_t rows, int64_t k, const Kernels& kernels);

  using Plain = std::shared_ptr<const AlignedBuffer>;
  using Packed = std::shared_ptr<const PackedB>;
  // These may take a while when they make a form, and are null if there is no memory for it.
  Plain plain(const Kernels& kernels, ThreadPool& pool);
  Packed packed(const View& view, const Kernels& kernels, ThreadPool& pool);
  // All of a quantized tensor.
  Packed quantized() const { return own_packed_; }

  uint64_t bytes() const;  // of all forms that somebody holds

 private:
  struct Form {
    View view;
    std::weak_ptr<const PackedB> packed;
  };
  // The packed form that somebody holds, or null. The mutex must be locked.
  Packed held(const View& view);
  Packed packed_quantized(const View& view, const Kernels& kernels);
  bool is_whole(const View& view) const;

  const std::byte* const data_ = nullptr;
  PagePool* pages_ = nullptr;
  uint64_t tensor_bytes_ = 0, plain_bytes_ = 0;

  mutable std::mutex mutex_;
  Plain own_plain_;  // null once own_packed_ is there
  std::weak_ptr<const AlignedBuffer> plain_;
  Packed own_packed_;
  View own_view_;  // of own_packed_
  std::list<Form> forms_;
};

struct CpuWeights final : detail::WeightsImpl {
  PagePool pages;
  std::vector<TensorForms> forms;  // by entry; never resized
  std::shared_ptr<const detail::DeviceImpl> owner;

  explicit CpuWeights(size_t count) : forms(count) {
    for (TensorForms& form : forms) form.pack_on(&pages);
  }
  uint64_t bytes() const override {
    uint64_t bytes = 0;
    for (const TensorForms& form : forms) bytes += form.bytes();
    return bytes;
  }
  const detail::DeviceImpl* device() const override { return owner.get(); }
};

}  // namespace heed::cpu
