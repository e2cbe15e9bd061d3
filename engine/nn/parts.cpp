#include "nn/parts.hpp"

#include <cstdarg>
#include <cstdio>

namespace heed::nn {

std::string join(std::string_view prefix, std::string_view name) {
  std::string text(prefix);
  if (!prefix.empty() && !name.empty()) text += '.';
  return text += name;
}

std::string join(std::string_view prefix, int64_t index) { return join(prefix, std::to_string(index)); }

std::string parameter(std::string_view layer, std::string_view kind) {
  if (layer.ends_with('_')) return std::string(layer) += kind;
  return join(layer, kind);
}

Tensor mistake(Graph& g, Status status, std::string_view layer, const char* text, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(buffer, sizeof buffer, text, arguments);
  va_end(arguments);
  std::string message(layer);
  message += layer.empty() ? "" : ": ";
  return g.fail(status, message += buffer);
}

bool may_repeat(Graph& g, std::string_view layer, int64_t count, const char* what) {
  if (count >= 0 && count <= kMaxLayers) return true;
  mistake(g, Status::InvalidArgument, layer, "%lld %s, at most %d are possible", static_cast<long long>(count), what,
          kMaxLayers);
  return false;
}

int64_t width_of(Graph& g, Tensor x, std::string_view layer) {
  if (!x.valid()) {
    mistake(g, Status::InvalidGraph, layer, "its input is no tensor of the graph");
    return 0;
  }
  const Shape shape = g.shape(x);
  if (shape.rank < 1 || !shape.valid()) {
    mistake(g, Status::ShapeMismatch, layer, "input of rank %d, at least 1 is needed", shape.rank);
    return 0;
  }
  const Dim width = shape[shape.rank - 1];
  if (!width.is_constant()) {
    mistake(g, Status::ShapeMismatch, layer, "the width of its input is an extent (up to %lld), must be constant",
            static_cast<long long>(width.value));
    return 0;
  }
  return width.value;
}

Tensor declared_weight(Graph& g, const std::string& name, const Shape& shape, DType dtype) {
  const Tensor known = g.find_weight(name);
  return g.weight(name, shape, known.valid() ? g.dtype(known) : dtype);
}

Tensor linear_weight(Graph& g, const std::string& name, int64_t in, int64_t out, DType dtype, bool in_out) {
  if (!in_out) return declared_weight(g, name, {out, in}, dtype);
  return g.transpose(declared_weight(g, name, {in, out}, dtype), 0, 1);
}

Tensor drop(Graph& g, Tensor x, float p) { return p != 0.0f ? g.dropout(x, p) : x; }

Tensor apply_linear(Graph& g, Tensor x, std::string_view layer, int64_t out, bool bias,
                    std::optional<DType> weight_dtype, bool transposed) {
  const int64_t in = width_of(g, x, layer);
  if (in == 0) return {};
  if (out <= 0)
    return mistake(g, Status::InvalidArgument, layer, "output width %lld, at least 1 is needed",
                   static_cast<long long>(out));
  const DType dtype = g.dtype(x);
  const Tensor weight = linear_weight(g, parameter(layer, "weight"), in, out, weight_dtype.value_or(dtype), transposed);
  return g.linear(x, weight, bias ? declared_weight(g, parameter(layer, "bias"), {out}, dtype) : Tensor{});
}

Tensor linear(Graph& g, Tensor x, std::string_view prefix, int64_t out, bool bias, std::optional<DType> weight_dtype) {
  const Label label(g, prefix);
  return apply_linear(g, x, prefix, out, bias, weight_dtype);
}

Tensor layernorm(Graph& g, Tensor x, std::string_view prefix, float eps) {
  const Label label(g, prefix);
  const int64_t width = width_of(g, x, prefix);
  if (width == 0) return {};
  const DType dtype = g.dtype(x);
  const Tensor gamma = declared_weight(g, parameter(prefix, "weight"), {width}, dtype);
  return g.layernorm(x, gamma, declared_weight(g, parameter(prefix, "bias"), {width}, dtype), eps);
}

Tensor rmsnorm(Graph& g, Tensor x, std::string_view prefix, float eps) {
  const Label label(g, prefix);
  const int64_t width = width_of(g, x, prefix);
  if (width == 0) return {};
  return g.rmsnorm(x, declared_weight(g, parameter(prefix, "weight"), {width}, g.dtype(x)), eps);
}

Tensor apply_norm(Graph& g, Tensor x, std::string_view layer, const NormOptions& norm) {
  return norm.kind == NormKind::Rms ? rmsnorm(g, x, layer, norm.eps) : layernorm(g, x, layer, norm.eps);
}

}  // namespace heed::nn
