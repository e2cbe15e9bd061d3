// Helpers of the Graph's calls: checking, naming, and adding tensors and nodes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "base/logging.hpp"
#include "graph/graph_data.hpp"

namespace heed::detail {

// One graph call in progress. `op` names it in messages.
class Build {
 public:
  Build(GraphData& data, const char* op) : data_(data), op_(op) {}

  GraphData& data() { return data_; }
  bool failed() const { return data_.status != Status::Ok; }
  // Records the graph's first mistake; returns an invalid tensor.
  Tensor fail(Status status, const std::string& message);

  // False, with the mistake recorded, if one of them is no tensor of this graph or an earlier call failed.
  bool needs(std::initializer_list<Tensor> tensors);
  // The same for optional tensors: an invalid id is fine.
  bool allows(std::initializer_list<Tensor> tensors);

  const TensorInfo& info(Tensor t) const { return data_.tensors[t.id]; }
  int64_t max_of(SizeId size) const;
  int64_t max_elements(const TensorInfo& info) const;  // saturates

  bool same_shape(const TensorInfo& a, const TensorInfo& b) const;
  SizeId dim_from_end(const TensorInfo& info, int i) const { return info.dims[static_cast<size_t>(info.rank - 1 - i)]; }
  bool is_float(DType type) const { return type == DType::F32 || type == DType::F16 || type == DType::BF16; }

  // "'fc.weight' f32 [3072, 768]"; extents print as name<=max.
  std::string text(Tensor t) const;
  std::string shape_text(const TensorInfo& info) const;
  std::string size_text(SizeId size) const;

  // False, with the mistake recorded, if `type` is none of the enumerators.
  bool is_type(DType type, const char* what);
  // At least 1, or an extent of this graph, or a size made from such.
  bool is_size(const Dim& dim) const;
  // Turns a public shape into sizes; records a mistake and returns false for bad ranks and dims.
  bool sizes_of(const Shape& shape, const char* what, TensorInfo* info);
  // Broadcast of two shapes by numpy's rule into out's rank and dims; false if they do not agree.
  bool broadcast(const TensorInfo& a, const TensorInfo& b, TensorInfo* out) const;
  // Whether `from` broadcasts to exactly `to`.
  bool broadcasts_to(const TensorInfo& from, const TensorInfo& to) const;

  // Row-major strides over dims, offset 0.
  void make_contiguous(TensorInfo* info);
  bool is_contiguous(const TensorInfo& info);
  // Adds a tensor with memory of its own (strides as they are in `info`).
  Tensor add_storage(TensorInfo info);
  // A contiguous tensor of the shape in `shape_of`.
  Tensor add_like(const TensorInfo& shape_of, DType dtype);
  // *memory is for `count` values, which the caller writes before the graph is used; null if there is a mistake.
  Tensor add_constant(std::string_view name, const Shape& shape, DType dtype, size_t count, std::byte** memory);
  Tensor add_view(TensorInfo info, uint32_t storage);
  Node& add_node(Op op, std::initializer_list<Tensor> inputs, Tensor output, Attrs attrs);
  // A contiguous tensor with the values of x; x itself if it is contiguous.
  Tensor contiguous(Tensor x);

  // Axis counted from the end if negative; -1 with a mistake recorded if outside.
  int axis_of(int axis, int rank);

 private:
  GraphData& data_;
  const char* op_;
};

}  // namespace heed::detail
