// Products by weights: one of each class of sizes.
#include <algorithm>

#include "vulkan/tune/contest.hpp"
#include "vulkan/tune/kinds.hpp"

namespace heed::vulkan {
namespace {

// One row, and rows around the edges of tiles.
constexpr int64_t kRows[] = {1, 4, 8, 16, 32, 64, 256, 1024};
constexpr int64_t kMostRows = 1024;
constexpr int64_t kSides[] = {512, 2048};  // columns and depth

// b [k, n], or [n, k] if transposed; a has up to kMostRows.
struct Matrix {
  DType dtype;
  int64_t n, k;
  bool transpose_b;

  Shape b_shape() const { return transpose_b ? Shape{n, k} : Shape{k, n}; }
  Graph graph() const {
    Graph g;
    const Tensor a = g.input("a", {g.extent("m", kMostRows), k}, dtype);
    g.output("y", g.matmul(a, g.weight("b", b_shape(), dtype), {.transpose_b = transpose_b}));
    return g;
  }
};

Status upload(Device& device, const Matrix& matrix, Weights* weights) {
  const std::vector<std::byte> b = tuning_values(matrix.dtype, matrix.n * matrix.k);
  const int64_t shape[] = {matrix.transpose_b ? matrix.n : matrix.k, matrix.transpose_b ? matrix.k : matrix.n};
  const HostTensor tensor = {"b", matrix.dtype, shape, b};
  return device.upload(std::span(&tensor, 1), weights);
}

class ProductTuner {
 public:
  ProductTuner(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedProduct>* products)
      : device_(device), deadline_(deadline), found_(*found), products_(*products) {}

  // All numbers of rows, until they take too long.
  Status tune(const Matrix& matrix) {
    Weights weights;
    Status status = upload(device_, matrix, &weights);
    if (status != Status::Ok) return status;
    const Graph graph = matrix.graph();
    Contest contest(device_, graph, weights, matrix.dtype);
    status = contest.begin();
    const std::vector<std::byte> a = tuning_values(matrix.dtype, kMostRows * matrix.k);
    ContestResult result;
    for (const int64_t m : kRows) {
      // The next has up to four times the rows.
      const bool too_long = result.held() && 4 * result.measured[result.fastest].ms > kLongestMs;
      if (status != Status::Ok || too_long || is_late(matrix.dtype)) return status;
      const HostBuffer inputs[] = {
          {"a", std::span(a).first(static_cast<size_t>(m * matrix.k) * size_of(matrix.dtype))}};
      const ExtentValue extents[] = {{"m", m}};
      status = contest.hold({inputs, extents, m * matrix.n}, &result);
      if (status != Status::Ok || !result.held()) return status;
      result.choose(&found_, product_class(m, matrix.n, matrix.k, matrix.transpose_b));
      products_.push_back({result.report(), m, matrix.n, matrix.k, matrix.transpose_b});
    }
    return status;
  }

  bool is_late(DType dtype) const {
    const auto same = [&](const TunedProduct& product) { return product.dtype == dtype; };
    return deadline_.passed() && std::any_of(products_.begin(), products_.end(), same);
  }

 private:
  Device& device_;
  const Deadline& deadline_;
  Tuning& found_;
  std::vector<TunedProduct>& products_;
};

}  // namespace

// Storage types take turns, so that each has its share of a time that is not enough for all.
Status tune_products(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedProduct>* products) {
  ProductTuner tuner(device, deadline, found, products);
  for (const bool transpose_b : {true, false})
    for (const int64_t n : kSides)
      for (const int64_t k : kSides)
        for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
          if (!device.impl()->supports(dtype) || tuner.is_late(dtype)) continue;
          const Status status = tuner.tune({dtype, n, k, transpose_b});
          if (status != Status::Ok) return status;
        }
  return Status::Ok;
}

}  // namespace heed::vulkan
