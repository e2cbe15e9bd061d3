#include "gpu/cases.hpp"

#include "graph/build/attention_backward.hpp"
#include "graph/build/build.hpp"
#include "graph/build/update.hpp"

namespace heed::gpu_tests {
namespace {

std::string name_of(const char* op, std::initializer_list<int64_t> sizes, const char* suffix = "") {
  std::string name = op;
  for (const int64_t& size : sizes) name.append(&size == sizes.begin() ? " " : "x").append(std::to_string(size));
  return name + suffix;
}

struct Epilogue {
  bool bias = false;
  Activation activation = Activation::None;
  bool residual = false;
  float dropout = 0.0f;
};

// x [m, k] times a weight [n, k], with what is fused into the store.
GraphCase linear(int64_t m, int64_t n, int64_t k, const Epilogue& e = {}, const char* suffix = "") {
  const auto build = [=](Graph& g, DType type) {
    const Tensor bias = e.bias ? g.weight("b", {n}, type) : Tensor{};
    Tensor y = g.linear(g.input("x", {m, k}, type), g.weight("w", {n, k}, type), bias);
    if (e.activation != Activation::None) y = g.activation(y, e.activation);
    if (e.dropout > 0.0f) y = g.dropout(y, e.dropout);
    if (e.residual) y = g.add(y, g.input("residual", {m, n}, type));
    g.output("y", y);
  };
  return {name_of("matmul", {m, n, k}, suffix), build, e.dropout > 0.0f};
}

// x of f32 times a weight of bf16.
GraphCase narrow_linear(int64_t m, int64_t n, int64_t k) {
  const auto build = [=](Graph& g, DType) {
    g.output("y", g.linear(g.input("x", {m, k}), g.weight("w", {n, k}, DType::BF16), {}));
  };
  return {name_of("matmul", {m, n, k}, " weights of bf16"), build, false, false};
}

// x of f32 times a quantized weight.
GraphCase quantized_linear(int64_t m, DType quantized) {
  constexpr int64_t kSize = 4096;
  const auto build = [=](Graph& g, DType) {
    g.output("y", g.linear(g.input("x", {m, kSize}), g.weight("w", {kSize, kSize}, quantized), {}));
  };
  const std::string suffix = std::string(" weights of ") + to_string(quantized);
  return {name_of("matmul", {m, kSize, kSize}, suffix.c_str()), build, false, false};
}

// Any layout of a and b.
GraphCase product(int64_t m, int64_t n, int64_t k, const MatmulOptions& options, const char* suffix) {
  const auto build = [=](Graph& g, DType type) {
    const Tensor a = options.transpose_a ? g.input("a", {4, k, m}, type) : g.input("a", {4, m, k}, type);
    const Tensor b = options.transpose_b ? g.input("b", {4, n, k}, type) : g.input("b", {4, k, n}, type);
    g.output("y", g.matmul(a, b, options));
  };
  return {name_of("matmul 4", {m, n, k}, suffix), build};
}

struct Attends {
  int64_t queries = 512, keys = 512, d_k = 64, d_v = 64;
  Causal causal = Causal::None;
  bool padding = false, mask = false, bias = false, fill = false;
  float dropout = 0.0f;
  int64_t window = 0;
  bool lengths = false;
  bool narrow = false;  // keys and values of bf16 beside queries of f32
};

GraphCase attention(const Attends& a, const char* suffix = "") {
  const auto build = [=](Graph& g, DType type) {
    constexpr int64_t kHeads = 12;
    AttentionOptions options = {.causal = a.causal, .window = a.window, .dropout = a.dropout};
    if (a.lengths) options.lengths = g.input("lengths", {1}, DType::I32);
    if (a.padding) options.key_padding = exclude(g.input("padding", {1, a.keys}, DType::U8));
    if (a.mask) options.mask = keep(g.input("mask", {1, 1, a.queries, a.keys}, DType::U8));
    if (a.bias) options.bias = g.input("bias", {1, kHeads, a.queries, a.keys}, type);
    if (a.fill) options.masked_fill = -1e9f;
    const Tensor q = g.input("q", {1, kHeads, a.queries, a.d_k}, type);
    const DType narrow = a.narrow ? DType::BF16 : type;
    const Tensor k = g.input("k", {1, kHeads, a.keys, a.d_k}, narrow);
    const Tensor v = g.input("v", {1, kHeads, a.keys, a.d_v}, narrow);
    g.output("y", g.attention(q, k, v, options).output);
  };
  return {name_of("attention", {a.queries, a.keys, a.d_k}, suffix), build, a.dropout > 0.0f, !a.narrow};
}

// An operation on x [rows, columns].
GraphCase row_wise(const char* op, int64_t count, int64_t columns, const std::function<Tensor(Graph&, Tensor)>& apply,
                   const char* suffix = "", bool training = false) {
  const auto build = [=](Graph& g, DType type) { g.output("y", apply(g, g.input("x", {count, columns}, type))); };
  return {name_of(op, {count, columns}, suffix), build, training};
}

Tensor norm_weight(Graph& g, Tensor x, const char* name) {
  return g.weight(name, {g.shape(x)[g.shape(x).rank - 1]}, g.dtype(x));
}
Tensor layernorm(Graph& g, Tensor x) {
  return g.layernorm(x, norm_weight(g, x, "gamma"), norm_weight(g, x, "beta"), 1e-5f);
}
Tensor residual_layernorm(Graph& g, Tensor x) {
  const Tensor residual = g.input("residual", g.shape(x), g.dtype(x));
  return layernorm(g, g.add(x, residual));
}
Tensor rmsnorm(Graph& g, Tensor x) { return g.rmsnorm(x, norm_weight(g, x, "gamma"), 1e-5f); }
Tensor softmax(Graph& g, Tensor x) { return g.softmax(x, {.scale = 0.125f}); }

void add_matmuls(std::vector<GraphCase>* cases) {
  cases->push_back(linear(1, 4096, 4096));
  cases->push_back(linear(8, 4096, 4096));
  cases->push_back(linear(64, 768, 768));
  cases->push_back(linear(512, 768, 3072, {.bias = true, .residual = true}, " bias residual"));
  cases->push_back(linear(512, 768, 3072, {.bias = true, .residual = true, .dropout = 0.1f}, " dropout"));
  cases->push_back(linear(512, 3072, 768, {.bias = true, .activation = Activation::GeluErf}, " gelu"));
  cases->push_back(linear(4096, 4096, 4096));
  for (const int64_t m : {1, 8, 512}) cases->push_back(narrow_linear(m, 4096, 4096));
  for (const DType type : {DType::Q8_0, DType::Q4_1, DType::Q5_1, DType::Q4_K, DType::Q6_K})
    for (const int64_t m : {1, 8, 512}) cases->push_back(quantized_linear(m, type));
  cases->push_back(product(1, 512, 4096, {}, ""));
  cases->push_back(product(512, 512, 64, {}, ""));
  cases->push_back(product(512, 512, 64, {.transpose_a = true}, " a^T"));
}

void add_attention(std::vector<GraphCase>* cases) {
  for (const int64_t d : {16, 40, 64, 80, 128, 256}) cases->push_back(attention({.d_k = d, .d_v = d}));
  cases->push_back(attention({.causal = Causal::TopLeft}, " causal"));
  cases->push_back(attention({.padding = true}, " padding"));
  cases->push_back(attention({.queries = 1, .keys = 4096}, " one query"));
  cases->push_back(attention({.queries = 1, .keys = 4096, .d_k = 128, .d_v = 128}, " one query"));
  cases->push_back(attention({.causal = Causal::BottomRight, .window = 128, .lengths = true}, " window lengths"));
  cases->push_back(
      attention({.queries = 1, .keys = 4096, .causal = Causal::BottomRight, .lengths = true}, " one query lengths"));
  for (const int64_t queries : {1, 512})
    cases->push_back(attention({.queries = queries, .keys = 4096, .narrow = true}, " keys of bf16"));
  cases->push_back(attention(
      {.causal = Causal::BottomRight, .padding = true, .mask = true, .bias = true, .fill = true, .dropout = 0.1f},
      " everything"));
}

void add_gradients_of_attention(std::vector<GraphCase>* cases) {
  for (const int64_t width : {64, 128, 256})
    cases->push_back({name_of("attention_backward", {512, 512, width}),
                      [=](Graph& g, DType type) {
                        const auto heads = [&](const char* name) { return g.input(name, {1, 8, 512, width}, type); };
                        const Tensor y =
                            g.attention(heads("q"), heads("k"), heads("v"), {.causal = Causal::TopLeft}).output;
                        detail::GraphData& data = detail::data_of(g);
                        const auto made = detail::attention_backward(data, y, heads("dy"));
                        g.output("dq", made.query);
                        g.output("dk", made.key);
                        g.output("dv", made.value);
                      },
                      false, width == 64});
}

void add_rows(std::vector<GraphCase>* cases) {
  for (const int64_t columns : {24, 200, 768, 4096}) {
    cases->push_back(row_wise("layernorm", 512, columns, layernorm));
    cases->push_back(row_wise("rmsnorm", 512, columns, rmsnorm));
    cases->push_back(row_wise("softmax", 512, columns, softmax));
    cases->push_back(row_wise("l2_normalize", 512, columns, [](Graph& g, Tensor x) { return g.l2_normalize(x); }));
    cases->push_back(row_wise("argmax", 512, columns, [](Graph& g, Tensor x) { return g.argmax(x); }));
    cases->push_back(row_wise("mean", 512, columns, [](Graph& g, Tensor x) { return g.mean(x, 0); }, " over rows"));
    cases->push_back(row_wise("mean", 512, columns, [](Graph& g, Tensor x) { return g.mean(x, 1); }));
  }
  cases->push_back(row_wise("cross_entropy", 512, 4096, [](Graph& g, Tensor x) {
    return g.cross_entropy(x, g.input("labels", {512}, DType::I32));
  }));
  cases->push_back({"update 4194304",
                    [](Graph& g, DType) {
                      const auto state = [&](const char* name) { return g.state(name, {4194304}); };
                      const Tensor settings = g.input("settings", {1, detail::kUpdateWords}),
                                   x = g.input("x", {4194304});
                      detail::GraphData& data = detail::data_of(g);
                      const Tensor factors =
                          detail::gradient_norm(data, std::span(&x, 1), settings, g.state("step", {1})).factors;
                      detail::update(data, {state("w"), state("m"), state("v"), x}, factors, settings, 0, {});
                    },
                    false, false});
  cases->push_back(row_wise("sample", 512, 4096, [](Graph& g, Tensor x) { return g.sample(x, {.top_p = 0.9f}); }));
  cases->push_back(row_wise(
      "sample", 1, 151936,
      [](Graph& g, Tensor x) {
        return g.sample(x, {.previous = g.input("previous", {4096}, DType::I32),
                            .repetition_penalty = 1.1f,
                            .bias = g.input("bias", {151936}, g.dtype(x)),
                            .top_k = 50});
      },
      " everything"));
  cases->push_back(row_wise("layernorm", 512, 768, residual_layernorm, " residual"));
  cases->push_back(row_wise(
      "softmax", 512, 512,
      [](Graph& g, Tensor x) {
        return g.softmax(x, {.causal = Causal::TopLeft,
                             .key_padding = exclude(g.input("padding", {512, 512}, DType::U8)),
                             .mask = keep(g.input("mask", {1, 512}, DType::U8)),
                             .bias = g.input("bias", {512, 512}, g.dtype(x))});
      },
      " masked"));
  cases->push_back(row_wise("dropout", 512, 768, [](Graph& g, Tensor x) { return g.dropout(x, 0.1f); }, "", true));
}

// The gradient of what `apply` makes of x, or of a tensor of its own.
Tensor gradient(Graph& g, Tensor y, Tensor of) {
  const train::Upstream output{y, g.input("up", g.shape(y), g.dtype(y))};
  return train::gradients(g, std::span(&output, 1), std::span(&of, 1))[0];
}

void add_gradients(std::vector<GraphCase>* cases) {
  for (const int64_t columns : {24, 200, 768, 4096}) {
    cases->push_back(
        row_wise("softmax_backward", 512, columns, [](Graph& g, Tensor x) { return gradient(g, softmax(g, x), x); }));
    cases->push_back(
        row_wise("norm_backward", 512, columns, [](Graph& g, Tensor x) { return gradient(g, layernorm(g, x), x); }));
  }
  cases->push_back(row_wise("norm_backward_sums", 512, 768, [](Graph& g, Tensor x) {
    const Tensor gamma = norm_weight(g, x, "gamma"), beta = norm_weight(g, x, "beta");
    const train::Upstream output{g.layernorm(x, gamma, beta, 1e-5f), g.input("up", g.shape(x), g.dtype(x))};
    const std::array<Tensor, 3> of = {x, gamma, beta};
    const std::vector<Tensor> made = train::gradients(g, std::span(&output, 1), of);
    g.output("dgamma", made[1]);
    g.output("dbeta", made[2]);
    return made[0];
  }));
  // Activations that are differentiated bring these to the products before and behind them.
  cases->push_back(row_wise("matmul_slopes", 512, 768, [](Graph& g, Tensor x) {
    const Tensor w = g.weight("w", {768, 768}, g.dtype(x));
    return gradient(g, g.linear(g.activation(x, Activation::GeluErf), w), x);
  }));
  cases->push_back(row_wise("matmul_kept", 512, 768, [](Graph& g, Tensor x) {
    const Tensor y = g.linear(x, g.weight("w", {768, 768}, g.dtype(x)), norm_weight(g, x, "b"));
    g.output("before", y);
    return g.activation(y, Activation::GeluErf);
  }));
  cases->push_back(row_wise("cross_entropy_backward", 512, 4096, [](Graph& g, Tensor x) {
    return gradient(g, g.cross_entropy(x, g.input("labels", {512}, DType::I32)), x);
  }));
  cases->push_back(row_wise("embedding_backward", 30522, 768, [](Graph& g, Tensor x) {
    return gradient(g, g.embedding(x, g.input("ids", {512}, DType::I32), g.dtype(x)), x);
  }));
  cases->push_back(
      row_wise("slice_backward", 512, 768, [](Graph& g, Tensor x) { return gradient(g, g.slice(x, 1, 256, 256), x); }));
  cases->push_back(row_wise("sum", 512, 768, [](Graph& g, Tensor x) {
    const Tensor row = norm_weight(g, x, "row");
    return gradient(g, g.add(x, row), row);
  }));
  cases->push_back(row_wise("gelu_backward", 512, 768,
                            [](Graph& g, Tensor x) { return gradient(g, g.activation(x, Activation::GeluErf), x); }));
}

void add_elementwise(std::vector<GraphCase>* cases) {
  const auto other = [](Graph& g, Tensor x) { return g.input("y2", g.shape(x), g.dtype(x)); };
  const auto row = [](Graph& g, Tensor x) { return norm_weight(g, x, "row"); };
  cases->push_back(row_wise("add", 512, 768, [=](Graph& g, Tensor x) { return g.add(x, other(g, x)); }));
  cases->push_back(row_wise("mul", 512, 768, [=](Graph& g, Tensor x) { return g.mul(x, row(g, x)); }, " row"));
  cases->push_back(row_wise("gelu", 512, 768, [](Graph& g, Tensor x) { return g.activation(x, Activation::GeluErf); }));
  cases->push_back(row_wise("transpose", 512, 768, [](Graph& g, Tensor x) { return g.transpose(x, 0, 1); }));
  cases->push_back(row_wise("concat", 512, 768, [=](Graph& g, Tensor x) { return g.concat({x, other(g, x)}, 1); }));
  const auto cast = [&](DType to, const char* suffix) {
    cases->push_back(row_wise("cast", 512, 768, [to](Graph& g, Tensor x) { return g.cast(x, to); }, suffix));
  };
  cast(DType::F32, " to f32");
  cast(DType::F16, " to f16");
  cast(DType::BF16, " to bf16");
  cases->push_back(
      {"embedding 512x768", [](Graph& g, DType type) {
         g.output("y", g.embedding(g.weight("table", {30522, 768}, type), g.input("ids", {512}, DType::I32), type));
       }});
  cases->push_back({"embedding 512x768 of bf16",
                    [](Graph& g, DType) {
                      const Tensor table = g.weight("table", {30522, 768}, DType::BF16);
                      g.output("y", g.embedding(table, g.input("ids", {512}, DType::I32), DType::F32));
                    },
                    false, false});
  cases->push_back({"embedding 512x768 of q8_0",
                    [](Graph& g, DType) {
                      const Tensor table = g.weight("table", {30522, 768}, DType::Q8_0);
                      g.output("y", g.embedding(table, g.input("ids", {512}, DType::I32), DType::F32));
                    },
                    false, false});
  cases->push_back({"cast 512x768 of bf16",
                    [](Graph& g, DType) { g.output("y", g.cast(g.input("x", {512, 768}, DType::BF16), DType::F32)); },
                    false, false});
  for (const DType type : {DType::I32, DType::U8})
    cases->push_back({std::string("transpose ") + to_string(type),
                      [type](Graph& g, DType) { g.output("y", g.transpose(g.input("x", {512, 768}, type), 0, 1)); },
                      false, false});
}

Tensor rotary(Graph& g, Tensor x) {
  const Tensor heads = g.reshape(x, {g.shape(x)[0], g.shape(x)[1].value / 64, 64});
  return g.rotary(g.transpose(heads, 0, 1), {.first = g.position("first", 1023)});
}

// The norm of a layer's few rows and the products with them: queries and keys that turn, and values; or a gated pair.
GraphCase projections(int64_t rows, bool gated, DType weights = DType::F32, const char* suffix = "") {
  constexpr int64_t kDepth = 576, kKeys = 192, kHidden = 1536;
  const auto build = [=](Graph& g, DType given) {
    const DType type = weights == DType::F32 ? given : weights;
    const Tensor x = g.scale(g.input("x", {rows, kDepth}, given), 0.5f);
    const Tensor normed = rmsnorm(g, x);
    const auto product = [&](const char* name, int64_t columns) {
      return g.linear(normed, g.weight(name, {columns, kDepth}, type));
    };
    if (gated) {
      g.output("y", g.mul(g.activation(product("gate", kHidden), Activation::Silu), product("up", kHidden)));
      return;
    }
    g.output("q", rotary(g, product("q", kDepth)));
    g.output("k", rotary(g, product("k", kKeys)));
    g.output("v", product("v", kKeys));
  };
  const std::string name = gated ? "gated pair" : "queries keys values";
  return {name_of(name.c_str(), {rows, kDepth}, suffix), build, false, weights == DType::F32};
}

// The same of one token of each of some texts, whose keys and values of f16 stay at places of their own.
GraphCase cached_projections(int64_t rows, DType weights) {
  constexpr int64_t kDepth = 576, kHead = 64;
  const auto build = [=](Graph& g, DType given) {
    const Tensor normed = rmsnorm(g, g.scale(g.input("x", {rows, 1, kDepth}, given), 0.5f));
    const Tensor at = g.input("at", {rows, 1, 1}, DType::I32);
    const auto heads = [&](const char* name, int64_t count) {
      const Tensor y = g.linear(normed, g.weight(name, {count * kHead, kDepth}, weights));
      return g.transpose(g.reshape(y, {rows, 1, count, kHead}), 1, 2);
    };
    const auto keep = [&](const char* name, Tensor x) {
      static_cast<void>(g.append(g.state(name, {rows, 3, 1024, kHead}, DType::F16), x, 2, at));
    };
    g.output("q", g.rotary(heads("q", 9), {.positions = at}));
    keep("keys", g.rotary(heads("k", 3), {.positions = at}));
    keep("values", heads("v", 3));
  };
  return {name_of("queries keys values into f16 caches", {rows, kDepth},
                  std::string(" weights of ").append(to_string(weights)).c_str()),
          build, false, false};
}

void add_decoding(std::vector<GraphCase>* cases) {
  cases->push_back(row_wise("rotary", 512, 768, rotary));
  for (const bool gated : {false, true}) {
    for (const int64_t rows : {1, 8}) cases->push_back(projections(rows, gated));
    cases->push_back(projections(1, gated, DType::BF16, " weights of bf16"));
    for (const int64_t rows : {1, 8}) cases->push_back(projections(rows, gated, DType::Q4_1, " weights of q4_1"));
  }
  for (const DType weights : {DType::F16, DType::Q4_1})
    for (const int64_t rows : {1, 8}) cases->push_back(cached_projections(rows, weights));
}

std::vector<GraphCase> make_cases() {
  std::vector<GraphCase> cases;
  add_matmuls(&cases);
  add_attention(&cases);
  add_rows(&cases);
  add_gradients_of_attention(&cases);
  add_gradients(&cases);
  add_elementwise(&cases);
  add_decoding(&cases);
  return cases;
}

}  // namespace

const std::vector<GraphCase>& graph_cases() {
  static const std::vector<GraphCase> cases = make_cases();
  return cases;
}

}  // namespace heed::gpu_tests
