#include "onnx/extents.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "graph/graph_data.hpp"

namespace heed::onnx {
namespace {

struct GivenDim {
  const std::string* input;
  size_t axis;
  SizeId size;
  int64_t value;
};

const OnnxShape* find_shape(std::span<const OnnxShape> shapes, std::string_view name) {
  const auto found = std::find_if(shapes.begin(), shapes.end(), [&](const OnnxShape& s) { return s.name == name; });
  return found != shapes.end() ? &*found : nullptr;
}

// Finds the graph's extents from dims of its inputs.
class Finder {
 public:
  explicit Finder(const detail::GraphData& data)
      : data_(data), values_(data.extents.size(), 0), known_(data.extents.size(), false) {}

  bool take(std::span<const OnnxShape> shapes) {
    for (const detail::NamedTensor& input : data_.inputs) {
      const TensorInfo& info = data_.tensors[input.tensor];
      const auto rank = static_cast<size_t>(info.rank);
      const OnnxShape* shape = find_shape(shapes, input.name);
      if (shape == nullptr) return refuse(format("input '%s' is missing", input.name.c_str()));
      if (shape->dims.empty() && rank == 1) continue;  // a scalar of the file is [1] in the graph
      if (shape->dims.size() != rank)
        return refuse(
            format("input '%s' has %zu dims; it must have %zu", input.name.c_str(), shape->dims.size(), rank));
      for (size_t i = 0; i < rank; ++i) dims_.push_back({&input.name, i, info.dims[i], shape->dims[i]});
    }
    return true;
  }

  void take_symbols(const OnnxTensor& input, const OnnxShape& shape) {
    for (size_t axis = 0; axis < std::min(input.dims.size(), shape.dims.size()); ++axis)
      for (size_t i = 0; i < values_.size(); ++i)
        if (!data_.extents[i].is_computed && data_.extents[i].name == input.dims[axis].symbol)
          know(i, shape.dims[axis]);
  }

  bool find() {
    for (const GivenDim& dim : dims_)
      for (size_t i = 0; i < values_.size(); ++i)
        if (data_.extents[i].size == dim.size) know(i, dim.value);
    for (const GivenDim& dim : dims_) solve(dim);
    for (const GivenDim& dim : dims_)
      if (const int64_t wanted = data_.sizes.evaluate(dim.size, values_); wanted != dim.value)
        return refuse(format("dim %zu of input '%s' is %lld; it must be %lld", dim.axis, dim.input->c_str(),
                             static_cast<long long>(dim.value), static_cast<long long>(wanted)));
    return true;
  }

  std::vector<ExtentValue> extents() const {
    std::vector<ExtentValue> found;
    for (size_t i = 0; i < values_.size(); ++i)
      if (known_[i]) found.push_back({data_.extents[i].name, values_[i]});
    return found;
  }
  const std::string& message() const { return message_; }

 private:
  bool refuse(std::string message) {
    message_ = std::move(message);
    return false;
  }
  void know(size_t extent, int64_t value) {
    if (known_[extent] || data_.extents[extent].is_computed) return;
    known_[extent] = true;
    values_[extent] = value;
  }

  // Solves a dim for its only unknown extent: the width of a mask is past + new; if new is known, past is the difference.
  void solve(const GivenDim& dim) {
    std::vector<size_t> unknown;
    for (size_t i = 0; i < values_.size(); ++i)
      if (!known_[i] && data_.sizes.depends_on(dim.size, static_cast<uint32_t>(i))) unknown.push_back(i);
    if (unknown.size() != 1 || data_.extents[unknown[0]].is_computed) return;
    const int64_t rest = data_.sizes.evaluate(dim.size, values_);
    std::vector<int64_t> with_one = values_;
    with_one[unknown[0]] = 1;
    const int64_t times = data_.sizes.evaluate(dim.size, with_one) - rest;
    if (times > 0 && dim.value >= rest) know(unknown[0], (dim.value - rest) / times);  // find() checks the result
  }

  const detail::GraphData& data_;
  std::vector<GivenDim> dims_;
  std::vector<int64_t> values_;
  std::vector<bool> known_;
  std::string message_;
};

}  // namespace

std::string find_extents(const Graph& g, std::span<const OnnxTensor> inputs, std::span<const OnnxShape> shapes,
                         std::vector<ExtentValue>* extents) {
  Finder finder(g.data());
  if (!finder.take(shapes)) return finder.message();
  for (const OnnxTensor& input : inputs)
    if (const OnnxShape* shape = find_shape(shapes, input.name)) finder.take_symbols(input, *shape);
  if (!finder.find()) return finder.message();
  *extents = finder.extents();
  return {};
}

}  // namespace heed::onnx
