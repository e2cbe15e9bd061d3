// Names of weights, labels, messages and simple layers, for the files of heed::nn.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <heed/nn.hpp>

namespace heed::nn {

// "a.b"; without the dot if either is empty.
std::string join(std::string_view prefix, std::string_view name);
// "a.3"
std::string join(std::string_view prefix, int64_t index);
// The name of a layer's tensor `kind` ("weight", "bias"): "a.weight", and "in_proj_weight" for the layer "in_proj_".
std::string parameter(std::string_view layer, std::string_view kind);

// Labels the nodes made in a scope. An empty name labels nothing.
class Label {
 public:
  Label(Graph& g, std::string_view name) : graph_(g), pushed_(!name.empty()) {
    if (pushed_) graph_.push_label(name);
  }
  ~Label() {
    if (pushed_) graph_.pop_label();
  }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

 private:
  Graph& graph_;
  bool pushed_;
};

// Records "<layer>: <text>" as the graph's mistake.
[[gnu::format(printf, 4, 5)]] Tensor mistake(Graph& g, Status status, std::string_view layer, const char* text, ...);

// False, with the mistake recorded, if there are more than kMaxLayers.
bool may_repeat(Graph& g, std::string_view layer, int64_t count, const char* what);

// The constant width of x's last axis; 0 after recording a mistake.
int64_t width_of(Graph& g, Tensor x, std::string_view layer);

// A weight of the graph: of the type that it was declared with before, else of `dtype`.
Tensor declared_weight(Graph& g, const std::string& name, const Shape& shape, DType dtype);

// The matrix [out, in] of a linear layer; in_out: the checkpoint holds it as [in, out].
Tensor linear_weight(Graph& g, const std::string& name, int64_t in, int64_t out, DType dtype, bool in_out);

// Dropout that takes no stream number, and adds no node, where p is 0.
Tensor drop(Graph& g, Tensor x, float p);

// linear() without a label. Transposed: the matrix is [in, out] in the checkpoint.
Tensor apply_linear(Graph& g, Tensor x, std::string_view layer, int64_t out, bool bias,
                    std::optional<DType> weight_dtype, bool transposed = false);

// The norm that the options say.
Tensor apply_norm(Graph& g, Tensor x, std::string_view layer, const NormOptions& norm);

}  // namespace heed::nn
