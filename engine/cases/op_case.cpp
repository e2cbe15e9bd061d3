#include "cases/op_case.hpp"

#include <heed/train.hpp>
#include <utility>

namespace heed {

CaseGraph::CaseGraph(DType storage, const CaseSizes& sizes, bool varies) : type(storage), varies_(varies) {
  const Dim m = varies ? graph.extent("m", kMostM) : kMostM, n = varies ? graph.extent("n", kMostN) : kMostN;
  for (size_t i = 0; i < sizes.size(); ++i) sizes_[i] = sizes[i] == kM ? m : sizes[i] == kN ? n : Dim(sizes[i]);
}

CaseGraph::CaseGraph(Graph begun, std::string prefix, DType storage, const std::array<Dim, 5>& sizes)
    : graph(std::move(begun)), type(storage), prefix_(std::move(prefix)), sizes_(sizes) {}

Shape CaseGraph::shape() const { return shape({size(0), size(1), size(2), size(3), size(4)}); }

Shape CaseGraph::shape(std::initializer_list<Dim> dims) const {
  Shape shape;
  for (const Dim& dim : dims)
    if (dim != Dim()) shape.push_back(dim);
  return shape;
}

Tensor CaseGraph::input(const char* name, const Shape& shape, DType of) {
  return graph.input(inputs.emplace_back(Operand{prefix_ + name, shape, of}).name, shape, of);
}

Tensor CaseGraph::ids(const char* name, const Shape& shape, Dim below) {
  const Tensor ids = input(name, shape, DType::I32);
  inputs.back().below = below.value;
  return ids;
}

Tensor CaseGraph::weight(const char* name, const Shape& shape, DType of) {
  return graph.weight(weights.emplace_back(Operand{prefix_ + name, shape, of}).name, shape, of);
}

Tensor CaseGraph::parameter(const char* name, const Shape& shape, DType of) {
  return varies_ && !is_quantized(of) ? input(name, shape, of) : weight(name, shape, of);
}

Tensor CaseGraph::row(const char* name, Tensor x) {
  const Shape whole = graph.shape(x);
  return parameter(name, whole.rank > 0 && whole.valid() ? Shape{whole[whole.rank - 1]} : Shape{}, graph.dtype(x));
}

void CaseGraph::output(const char* name, Tensor tensor) {
  outputs.push_back({prefix_ + name, graph.shape(tensor), graph.dtype(tensor)});
  graph.output(outputs.back().name, tensor);
}

void CaseGraph::differentiate(Tensor y, Tensor upstream, std::initializer_list<std::pair<const char*, Tensor>> of) {
  const train::Upstream output{y, upstream};
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : of) tensors.push_back(tensor);
  const std::vector<Tensor> gradients = train::gradients(graph, std::span(&output, 1), tensors);
  for (size_t i = 0; i < tensors.size(); ++i) this->output(of.begin()[i].first, gradients[i]);
}

std::string OpCase::name(const CaseSizes& sizes) const {
  std::string text = op;
  if (*label != 0) text.append(" ").append(label);
  char before = ' ';
  for (const int64_t size : sizes)
    if (size != 0)
      text.append(1, std::exchange(before, 'x')).append(size == kM ? "m" : size == kN ? "n" : std::to_string(size));
  return text;
}

}  // namespace heed
