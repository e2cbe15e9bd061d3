// Helpers of Graph's calls: checking, naming, and adding tensors and nodes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/graph_data.hpp"

namespace heed::detail {

// For code outside Graph that adds nodes.
GraphData& data_of(Graph& g);

// One graph call in progress. `op` names it in messages.
class Build {
 public:
  Build(GraphData& data, const char* op) : data_(data), op_(op) {}

  GraphData& data() { return data_; }
  const GraphData& data() const { return data_; }
  bool failed() const { return data_.status != Status::Ok; }
  // Records the graph's first mistake; returns an invalid tensor.
  Tensor fail(Status status, const std::string& message);
  // The same for calls that return success. Returns false.
  bool refuse(Status status, const std::string& message) { return fail(status, message).valid(); }

  // Returns false and records a mistake if a tensor does not belong to this graph, shows a state that has since been written again, or is
  // quantized, or if an earlier call failed.
  bool needs(std::span<const Tensor> tensors);
  bool needs(std::initializer_list<Tensor> tensors) { return needs(std::span(tensors.begin(), tensors.size())); }
  // The same, but quantized tensors are allowed.
  bool needs_of_any_type(std::span<const Tensor> tensors);
  bool needs_of_any_type(std::initializer_list<Tensor> tensors) {
    return needs_of_any_type(std::span(tensors.begin(), tensors.size()));
  }
  // The same for optional tensors: an invalid id is allowed.
  bool allows(std::initializer_list<Tensor> tensors);

  const TensorInfo& info(Tensor t) const { return data_.tensors[t.id]; }
  int64_t max_of(SizeId size) const { return value_of(size, &ExtentInfo::max); }
  int64_t least_of(SizeId size) const { return value_of(size, &ExtentInfo::least); }
  int64_t max_elements(const TensorInfo& info) const;  // saturates
  SizeId elements(const TensorInfo& info) { return elements(info, 0, info.rank); }
  SizeId elements(const TensorInfo& info, int first, int end);  // number of elements in axes first .. end - 1

  bool same_shape(const TensorInfo& a, const TensorInfo& b) const;
  SizeId dim_from_end(const TensorInfo& info, int i) const { return info.dims[static_cast<size_t>(info.rank - 1 - i)]; }
  // "'fc.weight' f32 [3072, 768]"; extents print as name<=max.
  std::string text(Tensor t) const;
  std::string shape_text(const TensorInfo& info) const;
  // Records a mistake and returns false if the name is empty.
  bool is_name(std::string_view name) {
    return !failed() && (!name.empty() || refuse(Status::InvalidArgument, "the name is empty"));
  }
  // A number that each run computes.
  SizeId computed(const SizeRule& rule);
  // Adds a bound so that runs in which a computed factor of `size` is 0 are refused. Returns false if the size may be 0 nevertheless.
  bool keep_from_0(SizeId size);
  std::string size_text(SizeId size) const;

  // Records a mistake and returns false if `type` is quantized or not an enumerator.
  bool is_type(DType type, const char* what);
  // Whether `dim` is a constant >= 0 or a number of this graph.
  bool is_number(const Dim& dim) const;
  // Whether `dim` is such a number and at least 1 at every run.
  bool is_size(const Dim& dim) const;
  SizeId id_of(const Dim& dim) { return dim.is_constant() ? data_.sizes.constant(dim.value) : dim.expr; }
  Dim dim_of(SizeId size) const;
  Shape shape_of(const TensorInfo& info) const;
  // Converts a public shape to sizes. Records a mistake and returns false for bad ranks and dims.
  bool sizes_of(const Shape& shape, const char* what, TensorInfo* info);
  // Writes the broadcast of two shapes by numpy's rule to out's rank and dims. Returns false if they do not fit.
  bool broadcast(const TensorInfo& a, const TensorInfo& b, TensorInfo* out) const;
  // Whether `from` broadcasts to exactly `to`.
  bool broadcasts_to(const TensorInfo& from, const TensorInfo& to) const;

  // Row-major strides over dims, offset 0.
  void make_contiguous(TensorInfo* info);
  bool is_contiguous(const TensorInfo& info);
  // Records a mistake and returns false if `rows`, which is `t` viewed as [..., rows, row], is quantized and its rows are not consecutive
  // whole blocks.
  bool has_whole_rows(const TensorInfo& rows, Tensor t);
  // Adds a tensor with its own memory and the strides in `info`.
  Tensor add_storage(TensorInfo info);
  // A contiguous tensor with the shape of `shape_of`.
  Tensor add_like(const TensorInfo& shape_of, DType dtype);
  // Adds a constant. The caller writes `count` values to *memory before the graph is used. *memory is null after a mistake.
  Tensor add_constant(std::string_view name, const Shape& shape, DType dtype, size_t count, std::byte** memory);
  // A constant of heed's own. Graph calls that pass the same name share it, and `fill` writes it once. The name is unlikely to collide with
  // a user's.
  template <class Fill>
  Tensor shared_table(std::string_view name, const Shape& shape, DType dtype, int64_t count, const Fill& fill) {
    for (const ConstantInfo& known : data_.constants)
      if (data_.tensors[known.tensor].name == name) return {known.tensor};
    std::byte* memory = nullptr;
    const Tensor table = add_constant(name, shape, dtype, static_cast<size_t>(count), &memory);
    if (memory != nullptr) fill(memory);
    return table;
  }
  // A constant with the numbers of(0) .. of(count - 1), I32 [count]. Graph calls that pass the same name share it.
  template <class Of>
  Tensor shared_places(const std::string& name, int64_t count, const Of& of) {
    return shared_table("places/" + name, {count}, DType::I32, count, [&](std::byte* memory) {
      auto* const numbers = reinterpret_cast<int32_t*>(memory);
      for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<int32_t>(of(i));
    });
  }
  Tensor add_view(TensorInfo info, uint32_t storage);
  // Elements begin .. begin + size of an axis. Records a mistake and returns an invalid tensor if they can never lie within it.
  Tensor add_slice(Tensor x, int axis, Dim begin, Dim size);
  // The same for a range that is known to lie within the axis.
  Tensor add_range(Tensor x, int axis, SizeId begin, SizeId size);
  // A view of x with two axes swapped.
  Tensor add_transposed(Tensor x, int axis_a, int axis_b);
  Node& add_node(Op op, std::initializer_list<Tensor> inputs, Tensor output, Attrs attrs);
  Tensor copy(Tensor x);  // contiguous
  // A contiguous tensor with the values of x; x itself if it is contiguous.
  Tensor contiguous(Tensor x);

  // The axis, counted from the end if negative. Records a mistake and returns -1 if it is out of range.
  int axis_of(int axis, int rank);

  bool is_state(uint32_t storage) const;

 private:
  int64_t value_of(SizeId size, int64_t ExtentInfo::* of_extent) const;

  GraphData& data_;
  const char* op_;
};

// Tries to view `from` with the rank and dims of `to` without a copy. Equal leading and trailing dims keep their strides. The dims between
// them must be contiguous in `from`; the new dims divide them.
bool reshape_in_place(Build& build, const TensorInfo& from, TensorInfo* to);

// Two axes of a view in which elements overlap, as in overlapping windows: elements of the outer axis coincide with elements of the inner
// one. -1: no two elements of the view coincide. Determined from strides at the extents' maxima.
struct Overlap {
  int outer = -1, inner = -1;
};
Overlap overlap_of(const Build& build, const TensorInfo& view);

// Whether `heads`, [B, H, S, d], is a view of a matmul's contiguous rows `made`, [B, S, H d] or [S, H d]. H and d are constants.
bool shows_heads(Build& build, const TensorInfo& made, const TensorInfo& heads);

}  // namespace heed::detail
