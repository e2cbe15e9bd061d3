// Times matmuls by weights, one size of each class.
#include <algorithm>

#include "vulkan/tune/contest.hpp"
#include "vulkan/tune/kinds.hpp"

namespace heed::vulkan {
namespace {

// Numbers of rows: one, and numbers around the edges of tiles.
constexpr int64_t kRows[] = {1, 4, 8, 16, 32, 64, 256, 1024};
constexpr int64_t kMostRows = 1024;
constexpr int64_t kSides[] = {512, 2048};  // numbers of columns and depths

// Types of a and b, and the option that allows more kernels.
struct Kind {
  DType a, b;
  std::string_view among = Tuning::kUsual;

  bool rounds() const { return among == Tuning::kRounded; }
  bool emulates() const { return among == Tuning::kEmulated; }
  bool is_of(const TunedProduct& product) const {
    return product.dtype == a && product.round_rows == rounds() && product.emulate_f32 == emulates();
  }
  bool is_for(VulkanDevice& device) const {
    const Capabilities& can = device.context().capabilities;
    if (rounds()) return can.matrix.m != 0 || can.integer_dots;
    return emulates() ? can.matrix.m != 0 : device.supports(a);
  }
};
constexpr Kind kKinds[] = {{DType::F32, DType::F32},
                           {DType::F16, DType::F16},
                           {DType::BF16, DType::BF16},
                           {DType::F32, DType::Q8_0, Tuning::kRounded},
                           {DType::F32, DType::F32, Tuning::kEmulated}};

// b [k, n], or [n, k] if transposed; a has up to kMostRows rows.
struct Matrix {
  const Kind& kind;
  int64_t n, k;
  bool transpose_b;

  Shape b_shape() const { return transpose_b ? Shape{n, k} : Shape{k, n}; }
  Graph graph() const {
    Graph g;
    const Tensor a = g.input("a", {g.extent("m", kMostRows), k}, kind.a);
    g.output("y", g.matmul(a, g.weight("b", b_shape(), kind.b), {.transpose_b = transpose_b}));
    return g;
  }
  // A block of Q8_0 is a scale of f16, here 2^-7, and signed bytes, which may be any.
  std::vector<std::byte> values_of_b() const {
    if (!is_quantized(kind.b)) return tuning_values(kind.b, n * k);
    const TypeBlock block = block_of(kind.b);
    std::vector<std::byte> bytes = tuning_values(DType::F16, n * k / block.elements * (block.bytes / 2));
    for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(block.bytes)) {
      bytes[at] = std::byte{0x00};
      bytes[at + 1] = std::byte{0x20};
    }
    return bytes;
  }
};

Status upload(Device& device, const Matrix& matrix, Weights* weights) {
  const std::vector<std::byte> b = matrix.values_of_b();
  const int64_t shape[] = {matrix.transpose_b ? matrix.n : matrix.k, matrix.transpose_b ? matrix.k : matrix.n};
  const HostTensor tensor = {"b", matrix.kind.b, shape, b};
  return device.upload(std::span(&tensor, 1), weights);
}

class ProductTuner {
 public:
  ProductTuner(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedProduct>* products)
      : device_(device), deadline_(deadline), found_(*found), products_(*products) {}

  // Times all numbers of rows until they take too long.
  Status tune(const Matrix& matrix) {
    Weights weights;
    Status status = upload(device_, matrix, &weights);
    if (status != Status::Ok) return status;
    const Graph graph = matrix.graph();
    const Kind& kind = matrix.kind;
    Contest contest(device_, graph, weights, kind.a, {.round_rows = kind.rounds(), .emulate_f32 = kind.emulates()});
    status = contest.begin();
    const std::vector<std::byte> a = tuning_values(kind.a, kMostRows * matrix.k);
    ContestResult result;
    for (const int64_t m : kRows) {
      // The next size has up to four times as many rows.
      const bool too_long = result.held() && 4 * result.measured[result.fastest].ms > kLongestMs;
      if (status != Status::Ok || too_long || is_late(kind)) return status;
      const HostBuffer inputs[] = {{"a", std::span(a).first(static_cast<size_t>(m * matrix.k) * size_of(kind.a))}};
      const ExtentValue extents[] = {{"m", m}};
      status = contest.hold({inputs, extents, m * matrix.n}, &result);
      if (status != Status::Ok || !result.held()) return status;
      result.choose(&found_, product_class(m, matrix.n, matrix.k, matrix.transpose_b), kind.among);
      products_.push_back(
          {result.report(), kind.b, kind.rounds(), kind.emulates(), m, matrix.n, matrix.k, matrix.transpose_b});
    }
    return status;
  }

  bool is_late(const Kind& kind) const {
    const auto same = [&](const TunedProduct& product) { return kind.is_of(product); };
    return deadline_.passed() && std::any_of(products_.begin(), products_.end(), same);
  }

 private:
  Device& device_;
  const Deadline& deadline_;
  Tuning& found_;
  std::vector<TunedProduct>& products_;
};

}  // namespace

// Kinds alternate, so that each gets its share if there is not enough time for all. Quantized weights are contiguous along k.
Status tune_products(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedProduct>* products) {
  ProductTuner tuner(device, deadline, found, products);
  for (const bool transpose_b : {true, false})
    for (const int64_t n : kSides)
      for (const int64_t k : kSides)
        for (const Kind& kind : kKinds) {
          if (is_quantized(kind.b) && !transpose_b) continue;
          if (!kind.is_for(static_cast<VulkanDevice&>(*device.impl())) || tuner.is_late(kind)) continue;
          const Status status = tuner.tune({kind, n, k, transpose_b});
          if (status != Status::Ok) return status;
        }
  return Status::Ok;
}

}  // namespace heed::vulkan
