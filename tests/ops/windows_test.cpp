// Windows, convolutions and pools against plain loops.
#include "harness/catch.hpp"
#include "harness/trial.hpp"
#include "train/gradient.hpp"

namespace heed::ops {
namespace {

struct ConvCase {
  const char* name;
  Sizes x, weight;  // [B, S, C] and [N, k, C / groups], or [B, H, W, C] and [N, k_h, k_w, C / groups]
  WindowOptions rows = {}, columns = {};  // the window of conv1d is `columns`
  bool with_bias = true;
};

const ConvCase kConvolutions[] = {
    {"k 3, padded", {2, 29, 5}, {7, 3, 5}, {}, {.before = 1, .behind = 1}},
    {"k 3, stride 2, padded", {1, 70, 16}, {33, 3, 16}, {}, {.stride = 2, .before = 1, .behind = 1}},
    {"k 1", {2, 13, 8}, {4, 1, 8}, {}, {}, false},
    {"k 2, stride 3", {2, 14, 3}, {5, 2, 3}, {}, {.stride = 3}},
    {"k 4, dilated, causal", {2, 19, 4}, {6, 4, 4}, {}, {.before = 6, .dilation = 2}},
    {"three groups", {2, 17, 6}, {9, 3, 2}, {}, {.before = 1, .behind = 1}},
    {"each channel", {2, 37, 12}, {12, 5, 1}, {}, {.before = 4}},
    {"each channel gives two", {2, 11, 5}, {10, 3, 1}, {}, {.stride = 2}, false},
    {"as long as x", {3, 7, 2}, {4, 7, 2}, {}, {}},
    {"3 x 3, padded", {2, 9, 11, 5}, {6, 3, 3, 5}, {.before = 1, .behind = 1}, {.before = 1, .behind = 1}},
    {"3 x 2, strides", {1, 12, 10, 8}, {17, 3, 2, 8}, {.stride = 2, .before = 1}, {.stride = 3, .behind = 2}},
    {"patches", {2, 8, 12, 3}, {20, 4, 4, 3}, {.stride = 4}, {.stride = 4}},
    {"patches, a rest", {2, 11, 7, 3}, {20, 3, 2, 3}, {.stride = 3}, {.stride = 2}},
    {"dilated image", {1, 9, 12, 3}, {4, 2, 3, 3}, {.before = 1, .dilation = 3}, {.dilation = 2}, false},
    {"two groups of an image", {2, 5, 6, 4}, {6, 2, 2, 2}, {}, {.behind = 1}},
    {"each channel of an image", {2, 7, 9, 6}, {6, 3, 3, 1}, {.before = 1, .behind = 1}, {.before = 1, .behind = 1}},
};

// Sizes and places of the windows of a case. A one-dimensional case has one row, and its kernel one line.
struct Geometry {
  explicit Geometry(const ConvCase& c) : rows(c.rows), columns(c.columns) {
    const bool image = c.x.size() == 4;
    batch = c.x[0], channels = c.x.back(), made = c.weight[0], each = c.weight.back();
    height = image ? c.x[1] : 1, width = c.x[c.x.size() - 2];
    down = image ? c.weight[1] : 1, across = c.weight[c.weight.size() - 2];
    out_height = windows(height, down, rows), out_width = windows(width, across, columns);
    shape = image ? Sizes{batch, out_height, out_width, made} : Sizes{batch, out_width, made};
  }
  static int64_t windows(int64_t length, int64_t size, const WindowOptions& w) {
    return (length + w.before + w.behind - (size - 1) * w.dilation - 1) / w.stride + 1;
  }
  // Calls meet(y, x, w): element y is a sum of x times w.
  template <class Meet>
  void for_products(const Meet& meet) const {
    const int64_t group_made = made / (channels / each);
    int64_t y = 0;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < out_height; ++i)
        for (int64_t j = 0; j < out_width; ++j)
          for (int64_t n = 0; n < made; ++n, ++y)
            for (int64_t p = 0; p < down; ++p)
              for (int64_t q = 0; q < across; ++q)
                for (int64_t c = 0; c < each; ++c) {
                  const int64_t row = i * rows.stride + p * rows.dilation - rows.before;
                  const int64_t column = j * columns.stride + q * columns.dilation - columns.before;
                  if (row < 0 || row >= height || column < 0 || column >= width) continue;
                  const int64_t channel = n / group_made * each + c;
                  meet(y, ((b * height + row) * width + column) * channels + channel,
                       ((n * down + p) * across + q) * each + c);
                }
  }

  WindowOptions rows, columns;
  int64_t batch, channels, made, each, height, width, down, across, out_height, out_width;
  Sizes shape;
};

// Adds products a b into `to`, with the bound of sums of up to `terms` summands in F32 and `stores` partial sums in the trial's type.
struct Sums {
  explicit Sums(const Sizes& shape) : sum(shape), size(shape) {}
  void add(int64_t to, double product) {
    sum.at(to) += product;
    size.at(to) += std::abs(product);
  }
  Array with_bounds(const Trial& t, double terms, double stores) {
    const double unit = t.dtype == DType::F32 ? 0.0 : t.dtype == DType::F16 ? kHalfUnit : kBfloatUnit;
    for (int64_t i = 0; i < sum.size(); ++i) sum.err(i) = (terms * kUnit + stores * unit) * size.at(i) + 1e-30;
    return t.stored(sum);
  }
  Array sum, size;
};

Tensor convolve(Trial& t, const ConvCase& c, Tensor x, Tensor weight, Tensor bias) {
  return c.x.size() == 3 ? t.graph.conv1d(x, weight, bias, c.columns)
                         : t.graph.conv2d(x, weight, bias, {.rows = c.rows, .columns = c.columns});
}

Case conv_case(const ConvCase& c) {
  return {std::string("convolution ") + c.name, [&c](Trial& t) {
            const Tensor x = t.input("x", shape_of(c.x)), weight = t.input("w", shape_of(c.weight));
            const Tensor bias = c.with_bias ? t.input("b", {c.weight[0]}) : Tensor{};
            const Tensor y = convolve(t, c, x, weight, bias);
            t.graph.output("y", t.graph.scale(y, 1.0f));
            const train::Upstream output{t.graph.scale(y, 1.0f), t.input("up", t.graph.shape(y))};
            const Tensor of[] = {x, weight};
            const std::vector<Tensor> gradients = train::gradients(t.graph, std::span(&output, 1), of);
            t.graph.output("dx", gradients[0]);
            t.graph.output("dw", gradients[1]);
            const Geometry sizes(c);
            Run& run = t.run();
            const Array v = run.input("x", uniform(c.x, 61)), w = run.input("w", uniform(c.weight, 62));
            const Array up = run.input("up", uniform(sizes.shape, 64));
            Sums made(sizes.shape), dx(c.x), dw(c.weight);
            if (c.with_bias) {
              const Array b = run.input("b", uniform({c.weight[0]}, 63));
              for (int64_t i = 0; i < made.sum.size(); ++i) made.add(i, b.at(i % b.size()));
            }
            sizes.for_products([&](int64_t to, int64_t from, int64_t by) {
              made.add(to, v.at(from) * w.at(by));
              dx.add(from, up.at(to) * w.at(by));
              dw.add(by, up.at(to) * v.at(from));
            });
            const double taps = static_cast<double>(sizes.down * sizes.across);
            const double terms = taps * static_cast<double>(sizes.each) + 8.0;
            run.expect_within("y", made.with_bounds(t, terms, taps), t.dtype);
            run.expect_within("dx", dx.with_bounds(t, terms * static_cast<double>(sizes.made), taps + 2.0), t.dtype);
            const double rows = static_cast<double>(made.sum.size() / sizes.made);
            run.expect_within("dw", dw.with_bounds(t, rows + 8.0, rows), t.dtype);
          }};
}

// One plan for sentences of any length: every convolution computes its number of windows in each run.
Case extents_case() {
  return {
      "convolutions over extents", [](Trial& t) {
        Graph& g = t.graph;
        const Tensor x = t.input("x", {g.extent("batch", 3), g.extent("length", 90), 4});
        const Tensor w = t.input("w", {8, 3, 4});
        g.output("y", g.conv1d(x, w, {}, {.stride = 2, .before = 1, .behind = 1}));
        g.output("mean", g.pool(x, 1, 3, Reduction::Mean, {.stride = 2, .before = 1, .behind = 1}));
        for (const int64_t length : {90, 1, 7, 2}) {
          const ConvCase c = {"", {2, length, 4}, {8, 3, 4}, {}, {.stride = 2, .before = 1, .behind = 1}};
          const Geometry sizes(c);
          Run& run = t.run({{"batch", 2}, {"length", length}});
          const Array v = run.input("x", uniform(c.x, 71)), weight = run.input("w", uniform(c.weight, 72));
          Sums made(sizes.shape), mean({2, sizes.out_width, 4});
          sizes.for_products([&](int64_t to, int64_t from, int64_t by) { made.add(to, v.at(from) * weight.at(by)); });
          for (int64_t i = 0; i < mean.sum.size(); ++i) {
            const int64_t window = i / 4 % sizes.out_width, batch = i / 4 / sizes.out_width;
            const int64_t begin = std::max<int64_t>(2 * window - 1, 0), end = std::min(2 * window + 2, length);
            for (int64_t s = begin; s < end; ++s)
              mean.add(i, v.at((batch * length + s) * 4 + i % 4) / static_cast<double>(end - begin));
          }
          run.expect_within("y", made.with_bounds(t, 24.0, 2.0), t.dtype);
          run.expect_within("mean", mean.with_bounds(t, 8.0, 3.0), t.dtype);
        }
        Run& none = t.run({{"batch", 1}, {"length", 91}});
        none.status = Status::ExtentOutOfRange;
      }};
}

struct PoolCase {
  const char* name;
  Sizes shape;
  int axis;
  int64_t size;
  Reduction kind;
  WindowOptions window = {};
};

const PoolCase kPools[] = {
    {"max of 2, stride 2", {2, 9, 5}, 1, 2, Reduction::Max, {.stride = 2}},
    {"max of 3, padded", {2, 9, 5}, 1, 3, Reduction::Max, {.before = 1, .behind = 1}},
    {"min of 7, dilated", {2, 31, 3}, 1, 7, Reduction::Min, {.stride = 2, .before = 2, .dilation = 3}},
    {"mean of 3", {2, 5, 7, 3}, 2, 3, Reduction::Mean, {.stride = 2}},
    {"mean of 3, padded", {2, 5, 7, 3}, 1, 3, Reduction::Mean, {.before = 1, .behind = 1}},
    {"sum of 12, last axis", {3, 40}, 1, 12, Reduction::Sum, {.stride = 5, .behind = 3}},
    {"mean of 50", {2, 70, 3}, 1, 50, Reduction::Mean, {.stride = 10, .before = 9}},
    {"L2 of 4, padded", {2, 11, 3}, 1, 4, Reduction::L2, {.stride = 3, .before = 1, .behind = 2}},
    {"log-sum-exp of 4, padded", {2, 11, 3}, 1, 4, Reduction::LogSumExp, {.stride = 3, .before = 1, .behind = 2}},
    {"product of 3, padded", {7, 4}, 0, 3, Reduction::Product, {.before = 2}},
    {"max of all", {3, 33, 2}, 1, 33, Reduction::Max},
};

Case pool_case(const PoolCase& p) {
  return {std::string("pool: ") + p.name, [&p](Trial& t) {
            const Tensor x = t.input("x", shape_of(p.shape));
            const Tensor y = t.graph.pool(x, p.axis, p.size, p.kind, p.window);
            t.graph.output("y", y);
            Run& run = t.run();
            const Array v = run.input("x", uniform(p.shape, 81, -2.0, 2.0));
            const auto at = static_cast<size_t>(p.axis);
            const int64_t length = p.shape[at], count = Geometry::windows(length, p.size, p.window);
            std::vector<Array> parts;
            for (int64_t i = 0; i < count; ++i) {
              std::vector<Array> taps;
              for (int64_t k = 0; k < p.size; ++k) {
                const int64_t from = i * p.window.stride + k * p.window.dilation - p.window.before;
                if (from >= 0 && from < length) taps.push_back(slice(v, p.axis, from, 1));
              }
              parts.push_back(reduce(concat(taps, p.axis), p.kind, {p.axis}, true));
            }
            const Array all = concat(parts, p.axis);
            if (p.kind == Reduction::Max || p.kind == Reduction::Min) return run.expect_exact("y", all, t.dtype);
            run.expect("y", all, static_cast<double>(p.size) + 64.0, p.kind == Reduction::Mean ? 3 : 1);
          }};
}

// Overlapping windows and their gradient: each element sums the gradients of all windows that contain it.
Case windows_case(int64_t size, const WindowOptions& window) {
  return {"windows of " + std::to_string(size) + ", stride " + std::to_string(window.stride) + ", dilation " +
              std::to_string(window.dilation),
          [=](Trial& t) {
            const Sizes shape = {2, 23, 3};
            const Tensor x = t.input("x", shape_of(shape));
            const Tensor y = t.graph.windows(x, 1, size, window);
            t.graph.output("y", y);
            t.graph.output("dx", train_tests::gradient(t, t.graph.scale(y, 1.0f), x));
            Run& run = t.run();
            const int64_t count = Geometry::windows(23, size, window);
            const Sizes shown = {2, count, size, 3};
            const Array v = run.input("x", uniform(shape, 91)), up = run.input("up", uniform(shown, 92));
            Array all(shown);
            Sums dx(shape);
            for (int64_t i = 0; i < all.size(); ++i) {
              const int64_t c = i % 3, k = i / 3 % size, w = i / 3 / size % count, b = i / 3 / size / count;
              const int64_t from = w * window.stride + k * window.dilation - window.before;
              if (from < 0 || from >= 23) continue;
              all.at(i) = v.at((b * 23 + from) * 3 + c);
              dx.add((b * 23 + from) * 3 + c, up.at(i));
            }
            run.expect_exact("y", all, t.dtype);
            run.expect_within("dx", dx.with_bounds(t, 16.0, static_cast<double>(size)), t.dtype);
          }};
}

}  // namespace

TEST_CASE("windows, convolutions and pools on every device", "[ops][train]") {
  Operation operation{"windows", {}};
  for (const ConvCase& c : kConvolutions) operation.cases.push_back(conv_case(c));
  operation.cases.push_back(extents_case());
  for (const PoolCase& p : kPools) operation.cases.push_back(pool_case(p));
  operation.cases.push_back(windows_case(3, {}));
  operation.cases.push_back(windows_case(5, {.stride = 2, .before = 3, .behind = 1}));
  operation.cases.push_back(windows_case(3, {.stride = 1, .dilation = 2}));
  operation.cases.push_back(windows_case(2, {.stride = 3, .dilation = 4}));
  check(operation);
}

}  // namespace heed::ops
