// Helpers of the Graph's calls: checking, naming, and adding tensors and nodes.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/graph_data.hpp"

namespace heed::detail {

// For code beside Graph that adds nodes.
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
  // The same for calls that return whether all is well.
  bool refuse(Status status, const std::string& message) { return fail(status, message).valid(); }

  // False, with the mistake recorded, if one of them is no tensor of this graph, or shows what a state was before it
  // was written again, or is quantized, or if an earlier call failed.
  bool needs(std::span<const Tensor> tensors);
  bool needs(std::initializer_list<Tensor> tensors) { return needs(std::span(tensors.begin(), tensors.size())); }
  // The same where tensors may be quantized.
  bool needs_of_any_type(std::span<const Tensor> tensors);
  bool needs_of_any_type(std::initializer_list<Tensor> tensors) {
    return needs_of_any_type(std::span(tensors.begin(), tensors.size()));
  }
  // The same for optional tensors: an invalid id is fine.
  bool allows(std::initializer_list<Tensor> tensors);

  const TensorInfo& info(Tensor t) const { return data_.tensors[t.id]; }
  int64_t max_of(SizeId size) const { return value_of(size, &ExtentInfo::max); }
  int64_t least_of(SizeId size) const { return value_of(size, &ExtentInfo::least); }
  int64_t max_elements(const TensorInfo& info) const;  // saturates
  SizeId elements(const TensorInfo& info) { return elements(info, 0, info.rank); }
  SizeId elements(const TensorInfo& info, int first, int end);  // of axes first .. end - 1

  bool same_shape(const TensorInfo& a, const TensorInfo& b) const;
  SizeId dim_from_end(const TensorInfo& info, int i) const { return info.dims[static_cast<size_t>(info.rank - 1 - i)]; }
  // "'fc.weight' f32 [3072, 768]"; extents print as name<=max.
  std::string text(Tensor t) const;
  std::string shape_text(const TensorInfo& info) const;
  // False, with the mistake recorded, for an empty name.
  bool is_name(std::string_view name) {
    return !failed() && (!name.empty() || refuse(Status::InvalidArgument, "the name is empty"));
  }
  // A number that each run computes.
  SizeId computed(const SizeRule& rule);
  // From now on runs for which a computed factor of `size` is 0 are refused. False if the size may be 0 nevertheless.
  bool keep_from_0(SizeId size);
  std::string size_text(SizeId size) const;

  // False, with the mistake recorded, if `type` is quantized or none of the enumerators.
  bool is_type(DType type, const char* what);
  // Whether `dim` is a constant of 0 or more, or a number of this graph.
  bool is_number(const Dim& dim) const;
  // Whether it is also at least 1 at every run.
  bool is_size(const Dim& dim) const;
  SizeId id_of(const Dim& dim) { return dim.is_constant() ? data_.sizes.constant(dim.value) : dim.expr; }
  Dim dim_of(SizeId size) const;
  Shape shape_of(const TensorInfo& info) const;
  // Turns a public shape into sizes; records a mistake and returns false for bad ranks and dims.
  bool sizes_of(const Shape& shape, const char* what, TensorInfo* info);
  // Broadcast of two shapes by numpy's rule into out's rank and dims; false if they do not agree.
  bool broadcast(const TensorInfo& a, const TensorInfo& b, TensorInfo* out) const;
  // Whether `from` broadcasts to exactly `to`.
  bool broadcasts_to(const TensorInfo& from, const TensorInfo& to) const;

  // Row-major strides over dims, offset 0.
  void make_contiguous(TensorInfo* info);
  bool is_contiguous(const TensorInfo& info);
  // False, with the mistake recorded, if `rows`, which is `t` seen as [..., rows, row], is quantized but its rows do not lie in
  // memory as whole blocks, one behind the other.
  bool has_whole_rows(const TensorInfo& rows, Tensor t);
  // Adds a tensor with memory of its own (strides as they are in `info`).
  Tensor add_storage(TensorInfo info);
  // A contiguous tensor of the shape in `shape_of`.
  Tensor add_like(const TensorInfo& shape_of, DType dtype);
  // The caller writes `count` values to *memory before the graph is used. Null if there is a mistake.
  Tensor add_constant(std::string_view name, const Shape& shape, DType dtype, size_t count, std::byte** memory);
  // A constant that heed makes. Graph calls that give the same name share it; `fill` writes it once. A user's constant
  // hardly has this name by accident.
  template <class Fill>
  Tensor shared_table(std::string_view name, const Shape& shape, DType dtype, int64_t count, const Fill& fill) {
    for (const ConstantInfo& known : data_.constants)
      if (data_.tensors[known.tensor].name == name) return {known.tensor};
    std::byte* memory = nullptr;
    const Tensor table = add_constant(name, shape, dtype, static_cast<size_t>(count), &memory);
    if (memory != nullptr) fill(memory);
    return table;
  }
  // A constant of the numbers of(0) .. of(count - 1), I32 [count], which graph calls with the same name share.
  template <class Of>
  Tensor shared_places(const std::string& name, int64_t count, const Of& of) {
    return shared_table("places/" + name, {count}, DType::I32, count, [&](std::byte* memory) {
      auto* const numbers = reinterpret_cast<int32_t*>(memory);
      for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<int32_t>(of(i));
    });
  }
  Tensor add_view(TensorInfo info, uint32_t storage);
  // Elements begin .. begin + size of an axis. Invalid, with the mistake recorded, if they can never be within it.
  Tensor add_slice(Tensor x, int axis, Dim begin, Dim size);
  // The same where they are known to be within it.
  Tensor add_range(Tensor x, int axis, SizeId begin, SizeId size);
  // A view of x with two axes swapped.
  Tensor add_transposed(Tensor x, int axis_a, int axis_b);
  Node& add_node(Op op, std::initializer_list<Tensor> inputs, Tensor output, Attrs attrs);
  Tensor copy(Tensor x);  // contiguous
  // A contiguous tensor with the values of x; x itself if it is contiguous.
  Tensor contiguous(Tensor x);

  // Axis counted from the end if negative; -1 with a mistake recorded if outside.
  int axis_of(int axis, int rank);

  bool is_state(uint32_t storage) const;

 private:
  int64_t value_of(SizeId size, int64_t ExtentInfo::* of_extent) const;

  GraphData& data_;
  const char* op_;
};

// Tries to see `from` as `to` (whose rank and dims are set) without a copy. Equal leading and trailing dims keep their
// strides. The dims between them must be one run of memory in `from`, which the new dims then divide.
bool reshape_in_place(Build& build, const TensorInfo& from, TensorInfo* to);

// Axes of a view that show the same memory, as windows that overlap do: elements of the outer one meet those of the inner one. -1: no two
// elements of the view are the same. Told by strides at the extents' maxima.
struct Overlap {
  int outer = -1, inner = -1;
};
Overlap overlap_of(const Build& build, const TensorInfo& view);

// Whether `heads` shows a product's rows `made`, [B, S, H d] or [S, H d] without gaps, as [B, H, S, d]. H and d are constants.
bool shows_heads(Build& build, const TensorInfo& made, const TensorInfo& heads);

}  // namespace heed::detail
