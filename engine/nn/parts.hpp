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

// Labels the nodes made during its lifetime. An empty name adds no label.
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

// Records a mistake and returns false if there are more than kMaxLayers.
bool may_repeat(Graph& g, std::string_view layer, int64_t count, const char* what);

// The constant width of x's last axis. Records a mistake and returns 0 if it is not constant.
int64_t width_of(Graph& g, Tensor x, std::string_view layer);

// A weight of the graph, of the type with which it is already declared, else of `dtype`.
Tensor declared_weight(Graph& g, const std::string& name, const Shape& shape, DType dtype);

// The matrix [out, in] of a linear layer. in_out: the checkpoint stores [in, out].
Tensor linear_weight(Graph& g, const std::string& name, int64_t in, int64_t out, DType dtype, bool in_out);

// Dropout. For p = 0 it adds no node and uses no stream number.
Tensor drop(Graph& g, Tensor x, float p);

// linear() without a label. transposed: the checkpoint stores [in, out].
Tensor apply_linear(Graph& g, Tensor x, std::string_view layer, int64_t out, bool bias,
                    std::optional<DType> weight_dtype, bool transposed = false);

// The norm that the options select.
Tensor apply_norm(Graph& g, Tensor x, std::string_view layer, const NormOptions& norm);

}  // namespace heed::nn
