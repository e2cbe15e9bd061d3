// Compares errors of f32 matmul and attention with those of plain loops that sum in f32 and in double, on every instruction set.

#include "cpu/support.hpp"

namespace heed::cpu_test {
namespace {

// Errors may be this many times those of the plain loop in f32. (Measured: 0.2 to 1.01 times.) A loop in double that rounds once is no
// useful bound, since each of k roundings in f32 adds an error. (Measured: 2 to 112 times.)
constexpr double kMost = 2.0;

// Roundings of f32 behave like random ones: k of them add up to about sqrt(k) (Higham & Mary 2019, SIAM J. Sci. Comput. 41). (Measured: up
// to 1.1 sqrt(k).)
double spread(int64_t k) { return 2.0 * std::sqrt(static_cast<double>(k)) * 0x1p-24; }

// The results of the plain loops for one set of inputs.
struct Reference {
  std::vector<double> exact, size;  // size: sum of the summands' absolute values
  double plain = 0, once = 0;       // largest error of the loop in f32, and of the exact value rounded to f32

  void add(double value, double absolute, float loop) {
    exact.push_back(value);
    size.push_back(absolute);
    plain = std::max(plain, std::abs(static_cast<double>(loop) - value));
    once = std::max(once, std::abs(static_cast<double>(static_cast<float>(value)) - value));
  }
  // Largest error of y; infinite for NaN.
  double error(const std::vector<float>& y) const {
    double worst = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const double e = std::abs(static_cast<double>(y[i]) - exact[i]);
      worst = e <= 1e30 ? std::max(worst, e) : HUGE_VAL;
    }
    return worst;
  }
  // The same relative to the sum of absolute values.
  double relative(const std::vector<float>& y) const {
    double worst = 0;
    for (size_t i = 0; i < exact.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - exact[i]) / size[i]);
    return worst;
  }
};

struct Product {
  int64_t m, n, k;
  double low;  // inputs are in [low, 1): nothing cancels from 0 on
};

// Rows around register tiles, columns around panels, one block of k and several.
const Product kProducts[] = {{1, 300, 769, -1}, {5, 31, 61, -1},   {13, 161, 1537, 0}, {26, 40, 1024, -1},
                             {29, 97, 3072, 0}, {3, 5, 20011, -1}, {64, 64, 128, 0},   {37, 130, 768, -1},
                             {37, 130, 768, 0}, {17, 33, 9, -1}};

std::vector<float> drawn(const ops::Sizes& shape, uint64_t seed, double low) {
  const ops::Array x = ops::uniform(shape, seed, low, 1);
  return {x.value.begin(), x.value.end()};
}

Reference multiply(const Product& p, const std::vector<float>& a, const std::vector<float>& b) {
  Reference reference;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0, absolute = 0;
      float plain = 0;
      for (int64_t q = 0; q < p.k; ++q) {
        const float x = a[static_cast<size_t>(i * p.k + q)], w = b[static_cast<size_t>(q * p.n + j)];
        const double product = static_cast<double>(x) * static_cast<double>(w);
        sum += product;
        absolute += std::abs(product);
        plain += x * w;
      }
      reference.add(sum, absolute, plain);
    }
  return reference;
}

struct Heads {
  int64_t heads, queries, keys, width, values;
  bool causal;
  double size;  // magnitude of queries and keys: the larger, the more one key dominates
};

const Heads kHeads[] = {{2, 37, 37, 64, 64, false, 1},   {2, 129, 257, 64, 64, false, 4},
                        {1, 200, 200, 40, 24, true, 1},  {1, 200, 200, 40, 24, true, 4},
                        {1, 31, 1031, 64, 64, false, 1}, {1, 16, 2048, 64, 64, false, 4},
                        {3, 65, 63, 7, 5, false, 4}};

// Softmax of one query's scores, in T.
template <class T>
std::vector<T> weights_of(const float* query, const float* keys, int64_t count, int64_t width) {
  std::vector<T> w(static_cast<size_t>(count));
  const T scale = 1 / std::sqrt(static_cast<T>(width));
  for (int64_t j = 0; j < count; ++j) {
    T sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += static_cast<T>(query[c]) * static_cast<T>(keys[j * width + c]);
    w[static_cast<size_t>(j)] = sum * scale;
  }
  const T largest = *std::max_element(w.begin(), w.end());
  T total = 0;
  for (T& x : w) total += x = std::exp(x - largest);
  for (T& x : w) x /= total;
  return w;
}

Reference attend(const Heads& p, const std::vector<float>& q, const std::vector<float>& k,
                 const std::vector<float>& v) {
  Reference reference;
  for (int64_t h = 0; h < p.heads; ++h)
    for (int64_t i = 0; i < p.queries; ++i) {
      const int64_t count = p.causal ? std::min(p.keys, i + 1) : p.keys;
      const float *query = &q[static_cast<size_t>((h * p.queries + i) * p.width)],
                  *keys = &k[static_cast<size_t>(h * p.keys * p.width)];
      const std::vector<double> exact = weights_of<double>(query, keys, count, p.width);
      const std::vector<float> plain = weights_of<float>(query, keys, count, p.width);
      for (int64_t c = 0; c < p.values; ++c) {
        double sum = 0, absolute = 0;
        float loop = 0;
        for (size_t j = 0; j < exact.size(); ++j) {
          const float value = v[static_cast<size_t>((h * p.keys + static_cast<int64_t>(j)) * p.values + c)];
          sum += exact[j] * static_cast<double>(value);
          absolute += exact[j] * std::abs(static_cast<double>(value));
          loop += plain[j] * value;
        }
        reference.add(sum, absolute, loop);
      }
    }
  return reference;
}

}  // namespace

TEST_CASE("a product errs no more than a plain loop in f32, on every instruction set", "[cpu]") {
  for (const Product& p : kProducts) {
    const std::vector<float> a = drawn({p.m, p.k}, 1, p.low), b = drawn({p.k, p.n}, 2, p.low);
    const Reference reference = multiply(p, a, b);
    Graph g;
    g.output("y", g.matmul(g.input("a", {p.m, p.k}), g.input("b", {p.k, p.n})));
    on_every_set([&](Device& device, const char* set) {
      Plan plan = test::compiled(device, g);
      std::vector<float> y(reference.exact.size());
      REQUIRE(plan.run({{"a", a}, {"b", b}, {"y", y}}) == Status::Ok);
      const double error = reference.error(y);
      INFO(set << ", " << p.m << " x " << p.n << " x " << p.k << " from " << p.low << ": " << error / reference.plain
               << " of a loop in f32, " << error / reference.once << " of one in double");
      CHECK(error <= kMost * reference.plain);
      CHECK(reference.relative(y) <= spread(p.k));
    });
  }
}

TEST_CASE("attention errs no more than plain loops in f32, on every instruction set", "[cpu]") {
  for (const Heads& p : kHeads) {
    const std::vector<float> q = floats({p.heads, p.queries, p.width}, 1, p.size),
                             k = floats({p.heads, p.keys, p.width}, 2, p.size),
                             v = floats({p.heads, p.keys, p.values}, 3);
    const Reference reference = attend(p, q, k, v);
    Graph g;
    g.output("y", g.attention(g.input("q", {1, p.heads, p.queries, p.width}),
                              g.input("k", {1, p.heads, p.keys, p.width}), g.input("v", {1, p.heads, p.keys, p.values}),
                              {.causal = p.causal ? Causal::TopLeft : Causal::None})
                      .output);
    on_every_set([&](Device& device, const char* set) {
      Plan plan = test::compiled(device, g);
      std::vector<float> y(reference.exact.size());
      REQUIRE(plan.run({{"q", q}, {"k", k}, {"v", v}, {"y", y}}) == Status::Ok);
      const double error = reference.error(y);
      INFO(set << ", " << p.heads << " x " << p.queries << " x " << p.keys << ", size " << p.size << ": "
               << error / reference.plain << " of loops in f32, " << error / reference.once << " of loops in double");
      CHECK(error <= kMost * reference.plain);
    });
  }
}

}  // namespace heed::cpu_test
