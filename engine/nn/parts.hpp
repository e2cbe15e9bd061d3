// What the files of heed::nn share: names of weights, labels, messages.
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
// The tensor `part` ("weight", "bias") of a layer: "a.weight", and "in_proj_weight" for the layer "in_proj_".
std::string parameter(std::string_view layer, std::string_view part);

// Labels the passes made in a scope; nothing for an empty name.
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

// linear() without a label.
Tensor apply_linear(Graph& g, Tensor x, std::string_view layer, int64_t out, bool bias,
                    std::optional<DType> weight_dtype);

}  // namespace heed::nn
