// A golden file while its graph is built: hyper-parameters, inputs with their data, and expected results.
//
// Axes of inputs are letters: 'b' batch, 'q' queries or target tokens, 'k' keys or source tokens. These three must have the same size in
// all inputs of a file, or 1, which broadcasts. Any other letter is a width of that tensor alone.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <heed/heed.hpp>

namespace heed::goldens {

struct CaseOptions {
  // b, q and k become extents with maxima above the file's sizes, so that one plan runs below its maxima.
  bool extents = false;
  // Also returns attention weights, which may need other kernels than the output alone.
  bool weights = false;
  // Also computes the gradients in the file.
  bool gradients = false;
};

class Case {
 public:
  Case(const SafeTensors& file, const CaseOptions& options);

  Graph graph;

  // --- For builders ---
  bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
  int rank(std::string_view tensor) const;
  int64_t number(std::string_view hyper_parameter, int64_t most = 1 << 24);  // 0 .. most
  // The number of layers or of other parts that each add operations to the graph.
  int64_t count(std::string_view hyper_parameter) { return number(hyper_parameter, 1024); }
  float real(std::string_view hyper_parameter);

  Tensor floats(std::string_view tensor, std::string_view axes);
  Tensor tokens(std::string_view tensor, char letter);  // [b, letter, c] or [letter, c]
  Tensor integers(std::string_view tensor, std::string_view axes);
  // Returns an invalid Tensor if the file has none of this name. Axes are aligned to the right: files may omit outer ones.
  Tensor optional_mask(std::string_view tensor, std::string_view axes);
  std::vector<int32_t> integer_values(std::string_view tensor);
  // An input with values that the builder computed and the file does not have.
  Tensor computed(std::string_view name, std::string_view axes, std::vector<float> values);
  Tensor computed(std::string_view name, std::string_view axes, std::vector<uint8_t> values);
  int64_t size(char letter) const;

  // For the `weights` field of nn options: null unless weights are requested.
  Tensor* weights(Tensor* into) {
    weights_used_ = true;
    return options_.weights ? into : nullptr;
  }
  bool with_weights() const { return options_.weights; }
  // Does nothing if `tensor` is invalid, as attention weights are unless they are requested.
  void expect(std::string_view name, Tensor tensor);
  // Adds outputs for every tensor grad.NAME of the file, from the upstream gradients grad_out or grad_out.NAME.
  void differentiate();
  // The file's nan_rows must list exactly the rows of these weights [B, H, S_q, S_kv] without visible key.
  void dead_rows(Tensor weights);

  Tensor problem(const std::string& text);  // why the file does not fit its system

  // --- For the runner ---
  struct Input {
    std::string name;
    std::vector<std::byte> data;
    Tensor tensor;
  };
  const std::deque<Input>& inputs() const { return inputs_; }
  std::vector<ExtentValue> extent_values() const;
  const std::vector<std::string>& expected() const { return expected_; }
  const std::vector<std::string>& dead() const { return dead_; }
  const std::vector<Shape>& dead_shapes() const { return dead_shapes_; }
  bool weights_used() const { return weights_used_; }
  const std::string& problem() const { return problem_; }
  const SafeTensors& file() const { return file_; }

 private:
  Dim dim(std::string_view tensor, char letter, int64_t value);
  Tensor add_input(std::string_view name, std::string_view axes, const std::vector<int64_t>& sizes, DType dtype,
                   const void* data, size_t bytes);
  Tensor add_input(std::string_view name, const Shape& shape, DType dtype, const void* data, size_t bytes);
  Tensor differentiated(std::string_view name);
  Tensor upstream_of(std::string_view expected, Tensor output);
  const SafeTensors::Entry* entry(std::string_view tensor, std::string_view axes);

  const SafeTensors& file_;
  CaseOptions options_;
  int64_t sizes_[3] = {0, 0, 0};  // b, q, k; 0 while unknown
  std::deque<Input> inputs_;
  std::vector<std::string> expected_, dead_;
  std::vector<Tensor> outputs_;  // expected tensors
  std::vector<Shape> dead_shapes_;
  std::string problem_;
  bool weights_used_ = false;
};

// Builds the graph of the file's system. If that is impossible, case.problem() says why.
void build(Case& c);
bool known_system(std::string_view system);

}  // namespace heed::goldens
