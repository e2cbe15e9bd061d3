// Random differentiable graphs: values in double beside the tensors, computed by the references from leaves that a test may shift a little.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/random.hpp"

namespace heed::train_tests {

using ops::Array;
using ops::Sizes;
using Values = std::vector<Array>;

// A tensor that the graph is differentiated by.
struct Leaf {
  std::string name;
  Tensor tensor;
  int value;  // its index among all values
  Array array;
  bool is_weight;
};

// Other inputs of a run.
struct Given {
  std::string name;
  DType dtype;
  Array array;
};

class Learner {
 public:
  // Draws a graph of a few operations, and the outputs to differentiate.
  explicit Learner(uint64_t seed);

  Graph graph;
  std::vector<Leaf> leaves;
  std::vector<Given> given;
  std::vector<ExtentValue> extents;
  uint32_t dropout_seed = 0;
  std::string text;  // one line for each value, for messages
  struct Output {
    int value;
    std::string upstream;  // an input with the gradient
    Array gradient;
  };
  std::vector<Output> outputs;

  // sum over the outputs of sum(gradient * output) if leaf `moved` has these values instead of its own.
  double loss(size_t moved, const Array& values) const;
  Tensor tensor_of(int value) const { return values_[static_cast<size_t>(value)].tensor; }
  const Sizes& sizes_of(int value) const { return values_[static_cast<size_t>(value)].array.shape; }

 private:
  using Compute = std::function<Array(const Values&)>;
  struct Value {
    Tensor tensor;
    Compute compute;  // empty for a leaf
    Array array;
    bool read = false;
  };

  int add(const std::string& line, std::vector<int> from, Tensor tensor, Compute compute);
  int leaf(const Shape& shape, double most = 1.0);
  Array give(const std::string& name, Tensor tensor, const Array& array, DType dtype);
  Sizes sizes(const Shape& shape) const;
  const Shape shape(int v) const { return graph.shape(tensor_of(v)); }
  int rank(int v) const { return shape(v).rank; }
  int64_t width(int v) const { return sizes_of(v).back(); }
  int any(int least = 1, int most = 4);
  int with_tokens();  // a value [batch, tokens, width]
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }

  void linear(), matmul(), sum(), product(), scaled(), function(), activation(), dropout(), norm(), softmax(),
      attention(), turn(), cut(), reshape(), join(), mean(), reduce(), order(), embed(), take(), rotate(), encode(),
      entropy();

  mutable ops::Random random_;
  Dim batch_, tokens_;
  std::map<int32_t, int64_t> known_;  // sizes of extents
  std::vector<Value> values_;
  uint32_t streams_ = 0;
  int names_ = 0;
};

}  // namespace heed::train_tests
