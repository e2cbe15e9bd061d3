#include "nn/projections.hpp"

namespace heed::nn {

namespace {

using Roles = std::array<Tensor, 3>;  // query, key, value

// One stored weight with the rows of roles first .. last - 1.
struct Stored {
  std::string_view name;
  int first, last;
};

int64_t rows(const Widths& widths, int first, int last) {
  int64_t total = 0;
  for (int i = first; i < last; ++i) total += widths.heads_of(i) * widths.head_width(i);
  return total;
}

class Projector {
 public:
  Projector(Graph& g, const Roles& inputs, std::string_view prefix, const AttentionNames& names, const Widths& widths,
            bool bias, std::optional<DType> weight_dtype)
      : graph_(g),
        inputs_(inputs),
        prefix_(prefix),
        names_(names),
        widths_(widths),
        bias_(bias && !names.in_out),
        weight_dtype_(weight_dtype) {}

  // Consecutive roles with the same input share one matmul.
  void run(const Stored& stored, Roles* heads) {
    const Label label(graph_, stored.name);
    if (!load(stored)) return;
    for (int i = stored.first, end; i < stored.last; i = end) {
      end = i + 1;
      while (end < stored.last && inputs_[size_t(end)] == inputs_[size_t(i)]) ++end;
      take_heads(product(stored, i, end), i, end, heads);
    }
  }

 private:
  bool load(const Stored& stored) {
    const std::string layer = join(prefix_, stored.name);
    const int64_t in = width_of(graph_, inputs_[size_t(stored.first)], layer);
    for (int i = stored.first; i < stored.last; ++i) {
      const int64_t other = width_of(graph_, inputs_[size_t(i)], layer);
      if (in == 0 || other == 0) return false;
      if (other != in) {
        mistake(graph_, Status::ShapeMismatch, layer, "one weight for inputs of widths %lld and %lld",
                static_cast<long long>(in), static_cast<long long>(other));
        return false;
      }
    }
    const int64_t out = rows(widths_, stored.first, stored.last);
    const DType dtype = graph_.dtype(inputs_[size_t(stored.first)]);
    weight_ = linear_weight(graph_, names_.in_out ? layer : parameter(layer, "weight"), in, out,
                            weight_dtype_.value_or(dtype), names_.in_out || names_.transposed);
    if (bias_) bias_weight_ = declared_weight(graph_, parameter(layer, "bias"), {out}, dtype);
    return weight_.valid();
  }

  Tensor product(const Stored& stored, int first, int last) {
    const Tensor x = inputs_[size_t(first)];
    const bool whole = first == stored.first && last == stored.last;
    const int64_t begin = rows(widths_, stored.first, first), count = rows(widths_, first, last);
    const Tensor weight = whole ? weight_ : graph_.slice(weight_, 0, begin, count);
    const Tensor bias = whole || !bias_ ? bias_weight_ : graph_.slice(bias_weight_, 0, begin, count);
    return graph_.linear(x, weight, bias);
  }

  // y [B, S, rows of the roles] -> [B, heads, S, d] for each role, without a copy.
  void take_heads(Tensor y, int first, int last, Roles* heads) {
    if (!y.valid()) return;
    const Shape shape = graph_.shape(y);
    for (int i = first; i < last; ++i) {
      const Tensor own = graph_.slice(y, 2, rows(widths_, first, i), rows(widths_, i, i + 1));
      const Tensor apart = graph_.reshape(own, {shape[0], shape[1], widths_.heads_of(i), widths_.head_width(i)});
      (*heads)[size_t(i)] = graph_.transpose(apart, 1, 2);
    }
  }

  Graph& graph_;
  const Roles& inputs_;
  std::string_view prefix_;
  const AttentionNames& names_;
  const Widths& widths_;
  bool bias_;
  std::optional<DType> weight_dtype_;
  Tensor weight_, bias_weight_;
};

}  // namespace

bool resolve_widths(Graph& g, Tensor query, std::string_view prefix, const MultiHeadOptions& options, Widths* widths) {
  const int64_t width = width_of(g, query, prefix);
  if (width == 0) return false;
  const auto negative = [&](const char* what, int64_t value) {
    mistake(g, Status::InvalidArgument, prefix, "%s %lld, at least 1 is needed", what, static_cast<long long>(value));
    return false;
  };
  if (options.heads < 1) return negative("heads", options.heads);
  if (options.kv_heads < 0) return negative("kv_heads", options.kv_heads);
  if (options.d_k < 0) return negative("d_k", options.d_k);
  if (options.d_v < 0) return negative("d_v", options.d_v);
  if (options.out_width < 0) return negative("out_width", options.out_width);
  if (options.d_k == 0 && width % options.heads != 0) {
    mistake(g, Status::ShapeMismatch, prefix, "width %lld is no multiple of %lld heads", static_cast<long long>(width),
            static_cast<long long>(options.heads));
    return false;
  }
  if (options.kv_heads > 0 && options.heads % options.kv_heads != 0) {
    mistake(g, Status::ShapeMismatch, prefix, "%lld heads are no multiple of %lld kv_heads",
            static_cast<long long>(options.heads), static_cast<long long>(options.kv_heads));
    return false;
  }
  constexpr int64_t kMost = INT32_MAX;
  widths->heads = options.heads;
  widths->kv_heads = options.kv_heads ? options.kv_heads : options.heads;
  widths->d_k = options.d_k ? options.d_k : width / options.heads;
  widths->d_v = options.d_v ? options.d_v : widths->d_k;
  widths->out = options.out_width ? options.out_width : width;
  if (widths->d_k > kMost / widths->heads || widths->d_v > kMost / widths->heads) {
    mistake(g, Status::InvalidArgument, prefix, "%lld heads of width %lld are too many",
            static_cast<long long>(widths->heads), static_cast<long long>(widths->d_k));
    return false;
  }
  return true;
}

std::array<Tensor, 3> project_heads(Graph& g, const std::array<Tensor, 3>& inputs, std::string_view prefix,
                                    const AttentionNames& names, const Widths& widths, bool bias,
                                    std::optional<DType> weight_dtype) {
  Roles heads{};
  Projector projector(g, inputs, prefix, names, widths, bias, weight_dtype);
  if (!names.qkv.empty()) {
    projector.run({names.qkv, 0, 3}, &heads);
    return heads;
  }
  if (names.q.empty() || (names.kv.empty() && (names.k.empty() || names.v.empty()))) {
    mistake(g, Status::InvalidArgument, prefix, "no name for the %s projection",
            names.q.empty() ? "query" : "key or value");
    return heads;
  }
  projector.run({names.q, 0, 1}, &heads);
  if (!names.kv.empty()) {
    projector.run({names.kv, 1, 3}, &heads);
  } else {
    projector.run({names.k, 1, 2}, &heads);
    projector.run({names.v, 2, 3}, &heads);
  }
  return heads;
}

}  // namespace heed::nn
