// Weights in host memory. Each is stored only in the forms that plans read.
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

// One tensor: plain (contiguous and row-major), packed as b of matmuls, or both. Thread-safe. Quantized tensors are packed from the start;
// embeddings also read the packed form.
//
// Once the whole tensor is packed, its plain form lives only as long as a plan holds it; a later request unpacks it again. Packed forms
// beyond the first live as long as a plan holds them.
class TensorForms {
 public:
  TensorForms() = default;
  // Uses `data` as the plain form, without a copy.
  explicit TensorForms(const std::byte* data) : data_(data) {}
  // Packed forms are allocated in this pool, which must outlive the calls that make them.
  void pack_on(PagePool* pages) { pages_ = pages; }

  // Allocates the plain form, which the caller fills: the tensor's bytes, and padding up to the alignment. Null if there is not enough
  // memory.
  std::byte* allocate(uint64_t tensor_bytes, uint64_t bytes);
  // Allocates the packed form of a quantized tensor [..., k] with this many rows, which the caller fills. Null if there is not enough
  // memory.
  PackedB* allocate_quantized(DType type, int64_t rows, int64_t k, const Kernels& kernels);

  using Plain = std::shared_ptr<const AlignedBuffer>;
  using Packed = std::shared_ptr<const PackedB>;
  // The forms of the tensor. A call takes longer if it has to make the form, and returns null if there is not enough memory.
  Plain plain(const Kernels& kernels, ThreadPool& pool);
  Packed packed(const View& view, const Kernels& kernels, ThreadPool& pool);
  // The whole quantized tensor.
  Packed quantized() const { return own_packed_; }

  uint64_t bytes() const;  // total size of all forms that exist

 private:
  struct Form {
    View view;
    std::weak_ptr<const PackedB> packed;
  };
  // The packed form for the view if some plan holds it, else null. The mutex must be locked.
  Packed held(const View& view);
  Packed packed_quantized(const View& view, const Kernels& kernels);
  bool is_whole(const View& view) const;

  const std::byte* const data_ = nullptr;
  PagePool* pages_ = nullptr;
  uint64_t tensor_bytes_ = 0, plain_bytes_ = 0;

  mutable std::mutex mutex_;
  Plain own_plain_;  // null once own_packed_ exists
  std::weak_ptr<const AlignedBuffer> plain_;
  Packed own_packed_;
  View own_view_;  // the view that own_packed_ packs
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
