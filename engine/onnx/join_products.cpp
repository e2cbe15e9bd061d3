#include "onnx/join_products.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/value.hpp"

namespace heed::onnx {
namespace {

constexpr size_t kMostProducts = 3;

// A matmul that may be joined, by the indices of its nodes.
struct Product {
  size_t matmul = 0;
  std::optional<size_t> add;  // index of the addition of its bias
  const FileTensor* weight = nullptr;
  const FileTensor* bias = nullptr;

  size_t last() const { return add.value_or(matmul); }
  int64_t depth() const { return weight->dims[0]; }
  int64_t columns() const { return weight->dims[1]; }
};

bool is(const FileNode& node, std::string_view op) { return node.op == op && node.domain.empty(); }

class Joining {
 public:
  explicit Joining(FileGraph* graph) : graph_(*graph), instead_(graph->nodes.size()), gone_(graph->nodes.size()) {
    for (const FileTensor& tensor : graph_.initializers) tensors_.emplace(tensor.name, &tensor);
    // An initializer that is the default of an input is excluded, since a tensor of an existing graph may replace it.
    for (const FileValue& input : graph_.inputs) tensors_.erase(input.name);
    count_uses(graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const std::string& input : graph_.nodes[n].inputs) readers_[input].push_back(n);
  }

  JoinedWeights run() {
    std::vector<Product> run;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const FileNode& node = graph_.nodes[n];
      if (!is(node, "MatMul") && !is(node, "Gemm")) continue;
      const std::optional<Product> product = product_of(n);
      if (!run.empty() && !(product && fits(run.front(), *product))) join(&run);
      if (product) run.push_back(*product);
      if (run.size() == kMostProducts) join(&run);
    }
    join(&run);
    if (made_.empty()) return {};
    std::vector<FileNode> nodes;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (FileNode& node : instead_[n]) nodes.push_back(std::move(node));
      if (!gone_[n]) nodes.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(nodes);
    for (FileTensor& tensor : made_) graph_.initializers.push_back(std::move(tensor));
    return std::move(joined_);
  }

 private:
  void count_uses(const FileGraph& graph) {
    for (const FileNode& node : graph.nodes) {
      for (const std::string& input : node.inputs) ++uses_[input];
      for (const FileAttribute& attribute : node.attributes)
        if (attribute.graph != nullptr) count_uses(*attribute.graph);
    }
    for (const FileValue& output : graph.outputs) ++uses_[output.name];
  }

  const FileTensor* constant(const std::string& name, size_t rank) const {
    const auto found = tensors_.find(name);
    return found != tensors_.end() && found->second->dims.size() == rank ? found->second : nullptr;
  }
  std::span<const size_t> readers_of(size_t n) const {
    const auto readers = readers_.find(graph_.nodes[n].outputs.at(0));
    return readers != readers_.end() ? std::span<const size_t>(readers->second) : std::span<const size_t>();
  }
  bool is_read_by(size_t n, std::string_view op) const {
    const auto readers = readers_of(n);
    return std::any_of(readers.begin(), readers.end(), [&](size_t reader) { return is(graph_.nodes[reader], op); });
  }
  // Whether the result becomes heads, possibly after scaling.
  bool becomes_heads(size_t n) const {
    if (is_read_by(n, "Reshape")) return true;
    const auto readers = readers_of(n);
    return std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
      const FileNode& node = graph_.nodes[reader];
      return (is(node, "Mul") || is(node, "Div")) && node.outputs.size() == 1 && is_read_by(reader, "Reshape");
    });
  }

  std::optional<Product> product_of(size_t n) const {
    const FileNode& node = graph_.nodes[n];
    if (!is(node, "MatMul") || node.inputs.size() != 2 || node.outputs.size() != 1) return std::nullopt;
    Product product{n, {}, constant(node.inputs[1], 2), nullptr};
    if (product.weight == nullptr || uses_.at(node.inputs[1]) != 1 || product.weight->elements() == 0 ||
        (product.weight->type != ElementType::F32 && product.weight->type != ElementType::F16 &&
         product.weight->type != ElementType::BF16))
      return std::nullopt;
    const auto used = uses_.find(node.outputs[0]);
    if (const auto readers = readers_of(n); used != uses_.end() && used->second == 1 && readers.size() == 1) {
      const FileNode& add = graph_.nodes[readers[0]];
      const FileTensor* bias = is(add, "Add") && add.inputs.size() == 2 && add.outputs.size() == 1
                                   ? constant(add.inputs[add.inputs[0] == node.outputs[0] ? 1 : 0], 1)
                                   : nullptr;
      if (bias != nullptr && bias->type == product.weight->type && bias->dims[0] == product.columns()) {
        product.add = readers[0];
        product.bias = bias;
      }
    }
    return becomes_heads(product.last()) ? std::optional(product) : std::nullopt;
  }

  bool fits(const Product& a, const Product& b) const {
    return graph_.nodes[a.matmul].inputs[0] == graph_.nodes[b.matmul].inputs[0] && a.depth() == b.depth() &&
           a.weight->type == b.weight->type;
  }

  void join(std::vector<Product>* products) {
    if (products->size() > 1) replace(*products);
    products->clear();
  }

  void replace(const std::vector<Product>& products) {
    const bool has_bias =
        std::any_of(products.begin(), products.end(), [](const Product& one) { return one.add.has_value(); });
    FileTensor weight, bias;
    std::vector<FileTensor> parts;
    std::string name;
    std::vector<std::string> results;
    FileAttribute sizes;
    sizes.name = "split";
    sizes.kind = FileAttribute::Kind::Ints;
    int64_t columns = 0;
    for (const Product& product : products) {
      const FileNode& last = graph_.nodes[product.last()];
      weight.name += (weight.name.empty() ? "" : "+") + product.weight->name;
      name += (name.empty() ? "" : "+") + graph_.nodes[product.matmul].name;
      parts.push_back(*product.weight);
      results.push_back(last.outputs[0]);
      sizes.integers.push_back(product.columns());
      columns += product.columns();
    }
    bias.name = weight.name + "/bias";
    if (tensors_.contains(weight.name) || tensors_.contains(bias.name) ||
        (has_bias && !join_biases(products, columns, &bias)))
      return;
    weight.type = products.front().weight->type;
    weight.dims = {columns, products.front().depth()};
    joined_.emplace(weight.name, std::move(parts));
    // The layout of PyTorch's Linear: [out, in].
    const std::string turned = weight.name + "/turned", product = weight.name + "/product", sum = weight.name + "/sum";
    FileAttribute axis;
    axis.name = "axis";
    axis.kind = FileAttribute::Kind::Int;
    axis.integer = -1;
    std::vector<FileNode>& nodes = instead_[products.front().matmul];
    nodes.push_back({name, "Transpose", "", {weight.name}, {turned}, {}});
    nodes.push_back({name, "MatMul", "", {graph_.nodes[products.front().matmul].inputs[0], turned}, {product}, {}});
    if (has_bias) nodes.push_back({name, "Add", "", {product, bias.name}, {sum}, {}});
    nodes.push_back({name, "Split", "", {has_bias ? sum : product}, results, {axis, sizes}});
    for (const Product& one : products) {
      gone_[one.matmul] = true;
      if (one.add) gone_[*one.add] = true;
    }
    made_.push_back(std::move(weight));
    if (has_bias) made_.push_back(std::move(bias));
  }

  // Biases are small, so they are joined at once, with zeros for a matmul without one.
  static bool join_biases(const std::vector<Product>& products, int64_t columns, FileTensor* bias) {
    bias->type = products.front().weight->type;
    bias->dims = {columns};
    const size_t each = bytes_of_element(bias->type), size = static_cast<size_t>(columns) * each;
    const auto memory = std::shared_ptr<std::byte[]>(new (std::nothrow) std::byte[size]());
    if (memory == nullptr) return false;
    size_t at = 0;
    for (const Product& product : products) {
      if (product.add) std::memcpy(memory.get() + at, product.bias->data.data(), product.bias->data.size());
      at += static_cast<size_t>(product.columns()) * each;
    }
    bias->data = {memory.get(), size};
    bias->keeps = memory;
    return true;
  }

  FileGraph& graph_;
  std::map<std::string, const FileTensor*, std::less<>> tensors_;
  std::map<std::string, int64_t, std::less<>> uses_;
  std::map<std::string, std::vector<size_t>, std::less<>> readers_;
  std::vector<std::vector<FileNode>> instead_;  // nodes to insert before a node
  std::vector<bool> gone_;
  std::vector<FileTensor> made_;
  JoinedWeights joined_;
};

template <class T>
void transpose(const FileTensor& part, std::byte* to) {
  const auto rows = static_cast<size_t>(part.dims[0]), columns = static_cast<size_t>(part.dims[1]);
  constexpr size_t kBlock = 16;  // rows and columns of a block fit into the first-level cache
  for (size_t begin = 0; begin < columns; begin += kBlock)
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = begin; column < std::min(begin + kBlock, columns); ++column)
        std::memcpy(to + (column * rows + row) * sizeof(T), part.data.data() + (row * columns + column) * sizeof(T),
                    sizeof(T));
}

}  // namespace

JoinedWeights join_products(FileGraph* graph) { return Joining(graph).run(); }

std::unique_ptr<std::byte[]> joined_values(std::span<const FileTensor> parts) {
  size_t size = 0;
  for (const FileTensor& part : parts) size += part.data.size();
  std::unique_ptr<std::byte[]> values(new (std::nothrow) std::byte[size]);
  std::byte* to = values.get();
  for (const FileTensor& part : parts) {
    if (to == nullptr) return nullptr;
    bytes_of_element(part.type) == 4 ? transpose<uint32_t>(part, to) : transpose<uint16_t>(part, to);
    to += part.data.size();
  }
  return values;
}

}  // namespace heed::onnx
