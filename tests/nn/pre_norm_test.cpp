// Pre-norm encoder and decoder stacks, compared with formulas in double.
#include "harness/setup.hpp"

namespace heed::nn_test {
namespace {

constexpr int64_t kWidth = 8, kHeads = 2, kHidden = 12, kLayers = 2, kQueries = 5, kKeys = 7;
constexpr float kEps = 1e-5f;

using Matrix = std::vector<std::vector<double>>;

// Named random weights, created at first use.
struct Model : test::Tensors {
  uint32_t state = 12345;

  float random() {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  const std::vector<float>& get(const std::string& name, std::vector<int64_t> shape) {
    std::vector<float>& v = values[name];
    if (v.empty()) {
      int64_t n = 1;
      for (int64_t s : shape) n *= s;
      for (int64_t i = 0; i < n; ++i) v.push_back(random());
      shapes[name] = std::move(shape);
    }
    return v;
  }
};

Matrix linear(Model& m, const std::string& weight, const std::string& bias, const Matrix& x, int64_t row, int64_t out,
              int64_t rows) {
  const int64_t in = static_cast<int64_t>(x[0].size());
  const std::vector<float>& w = m.get(weight, {rows, in});
  const std::vector<float>& b = m.get(bias, {rows});
  Matrix y(x.size(), std::vector<double>(static_cast<size_t>(out)));
  for (size_t t = 0; t < x.size(); ++t)
    for (int64_t o = 0; o < out; ++o) {
      double sum = b[static_cast<size_t>(row + o)];
      for (int64_t i = 0; i < in; ++i) sum += x[t][static_cast<size_t>(i)] * w[static_cast<size_t>((row + o) * in + i)];
      y[t][static_cast<size_t>(o)] = sum;
    }
  return y;
}

Matrix linear(Model& m, const std::string& name, const Matrix& x, int64_t out) {
  return linear(m, name + ".weight", name + ".bias", x, 0, out, out);
}

Matrix norm(Model& m, const std::string& name, Matrix x) {
  const std::vector<float>&gamma = m.get(name + ".weight", {kWidth}), &beta = m.get(name + ".bias", {kWidth});
  for (std::vector<double>& row : x) {
    double mean = 0, variance = 0;
    for (double v : row) mean += v / kWidth;
    for (double v : row) variance += (v - mean) * (v - mean) / kWidth;
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = (row[i] - mean) / std::sqrt(variance + double{kEps}) * gamma[i] + beta[i];
  }
  return x;
}

Matrix attention(Model& m, const std::string& name, const Matrix& x, const Matrix& context, bool causal) {
  const std::string w = name + ".in_proj_weight", b = name + ".in_proj_bias";
  const Matrix q = linear(m, w, b, x, 0, kWidth, 3 * kWidth), k = linear(m, w, b, context, kWidth, kWidth, 3 * kWidth),
               v = linear(m, w, b, context, 2 * kWidth, kWidth, 3 * kWidth);
  constexpr size_t kD = kWidth / kHeads;
  Matrix y(x.size(), std::vector<double>(kWidth, 0.0));
  for (size_t h = 0; h < kHeads; ++h)
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t visible = causal ? i + 1 : context.size();
      std::vector<double> weights(visible);
      double total = 0;
      for (size_t j = 0; j < visible; ++j) {
        double score = 0;
        for (size_t d = 0; d < kD; ++d) score += q[i][h * kD + d] * k[j][h * kD + d];
        total += weights[j] = std::exp(score / std::sqrt(double{kD}));
      }
      for (size_t j = 0; j < visible; ++j)
        for (size_t d = 0; d < kD; ++d) y[i][h * kD + d] += weights[j] / total * v[j][h * kD + d];
    }
  return linear(m, name + ".out_proj", y, kWidth);
}

void add(Matrix& x, const Matrix& y) {
  for (size_t t = 0; t < x.size(); ++t)
    for (size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
}

void feed_forward(Model& m, const std::string& layer, const std::string& norm_name, Matrix& x) {
  Matrix h = linear(m, layer + ".linear1", norm(m, layer + norm_name, x), kHidden);
  for (std::vector<double>& row : h)
    for (double& v : row) v = 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)));
  add(x, linear(m, layer + ".linear2", h, kWidth));
}

Matrix encode(Model& m, Matrix x) {
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = "enc." + std::to_string(i);
    const Matrix n = norm(m, layer + ".norm1", x);
    add(x, attention(m, layer + ".self_attn", n, n, false));
    feed_forward(m, layer, ".norm2", x);
  }
  return norm(m, "enc_norm", x);
}

Matrix decode(Model& m, Matrix x, const Matrix& memory) {
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = "dec." + std::to_string(i);
    const Matrix n = norm(m, layer + ".norm1", x);
    add(x, attention(m, layer + ".self_attn", n, n, true));
    add(x, attention(m, layer + ".multihead_attn", norm(m, layer + ".norm2", x), memory, false));
    feed_forward(m, layer, ".norm3", x);
  }
  return norm(m, "dec_norm", x);
}

Matrix random_tokens(Model& m, int64_t tokens, std::vector<float>* flat) {
  Matrix x(static_cast<size_t>(tokens), std::vector<double>(kWidth));
  for (std::vector<double>& row : x)
    for (double& v : row) {
      flat->push_back(m.random());
      v = flat->back();
    }
  return x;
}

}  // namespace

TEST_CASE("nn: pre-norm encoder and decoder stacks follow the formula", "[nn]") {
  Model m;
  std::vector<float> source, target;
  const Matrix source_rows = random_tokens(m, kKeys, &source), target_rows = random_tokens(m, kQueries, &target);
  const Matrix memory = encode(m, source_rows);
  const Matrix expected = decode(m, target_rows, memory);

  Graph g;
  const nn::NormOptions pre = {.placement = nn::NormPlacement::Pre, .eps = kEps};
  const nn::FeedForwardOptions hidden = {.hidden = kHidden, .activation = Activation::GeluErf};
  const nn::EncoderLayerOptions encoder = {.attention = {.heads = kHeads}, .feed_forward = hidden, .norm = pre};
  const nn::DecoderLayerOptions decoder = {.self_attention = {.heads = kHeads, .causal = Causal::TopLeft},
                                           .cross_attention = {.heads = kHeads},
                                           .feed_forward = hidden,
                                           .norm = pre};
  const Tensor encoded = nn::encoder_stack(g, g.input("source", {1, kKeys, kWidth}), "enc", encoder,
                                           {.layers = kLayers, .final_norm = "enc_norm"});
  g.output("y", nn::decoder_stack(g, g.input("target", {1, kQueries, kWidth}), encoded, "dec", decoder,
                                  {.layers = kLayers, .final_norm = "dec_norm"}));

  Device cpu = test::open_cpu({.log = stderr_log()});
  Weights weights = test::uploaded(cpu, m.list());
  Plan plan = test::compiled(cpu, g, weights);
  std::vector<float> y(static_cast<size_t>(kQueries * kWidth));
  REQUIRE(plan.run({{"source", source}, {"target", target}, {"y", y}}) == Status::Ok);
  for (size_t t = 0; t < expected.size(); ++t)
    for (size_t i = 0; i < expected[t].size(); ++i)
      CHECK(std::abs(y[t * kWidth + i] - expected[t][i]) <= 2e-5 + 1e-4 * std::abs(expected[t][i]));
}

}  // namespace heed::nn_test
