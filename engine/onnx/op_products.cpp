// MatMul, Gemm and Einsum.
#include <algorithm>
#include <array>
#include <string>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

constexpr int kMostDims = 4;  // highest rank of Graph::matmul's operands

// Merges the leading dims of both operands, if they have too many for matmul.
Tensor flat_batches(Call& call, Tensor x, std::span<const Dim> batch, const Dim& rows, const Dim& columns) {
  std::vector<Dim> whole(batch.begin(), batch.end());
  whole.push_back(rows);
  whole.push_back(columns);
  const Tensor all = call.g.expand(x, shape_of(whole));
  return call.g.reshape(all, {-1, rows, columns});
}

void matmul(Call& call) {
  Graph& g = call.g;
  const ElementType type = call.type(0);
  std::vector<Dim> a = call.dims(0), b = call.dims(1);
  Tensor x = call.tensor(0), y = call.tensor(1);
  if (call.failed()) return;
  if (a.empty() || b.empty()) return call.fail("a scalar cannot be multiplied as a matrix");
  const bool is_row = a.size() == 1, is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), Dim(1)), x = g.reshape(x, shape_of(a));
  if (is_column) b.push_back(1), y = g.reshape(y, shape_of(b));
  if (!call.agree(a.back(), b[b.size() - 2])) return call.fail("%s and %s do not fit together", "rows", "columns");
  const std::vector<Dim> batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  const std::vector<Dim> batch = call.broadcast(batch_a, batch_b);
  if (call.failed()) return;
  std::vector<Dim> dims = batch;
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  Tensor made;
  if (dims.size() <= kMostDims) {
    made = g.matmul(x, y);
  } else if (b.size() == 2) {
    made = g.matmul(g.reshape(x, {-1, a[a.size() - 2], a.back()}), y);
  } else {
    made = g.matmul(flat_batches(call, x, batch, a[a.size() - 2], a.back()),
                    flat_batches(call, y, batch, b[b.size() - 2], b.back()));
  }
  if (is_column) dims.pop_back();
  if (is_row) dims.erase(dims.end() - (is_column ? 1 : 2));
  if (!call.failed()) call.give(reshaped(call, made, dims), type, dims.empty());
}

void gemm(Call& call) {
  Graph& g = call.g;
  const float alpha = call.number("alpha", 1.0f), beta = call.number("beta", 1.0f);
  const Tensor a = call.tensor(0), b = call.tensor(1);
  if (call.failed()) return;
  Tensor y = g.matmul(
      a, b,
      {.transpose_a = call.integer("transA", 0) != 0, .transpose_b = call.integer("transB", 0) != 0, .scale = alpha});
  if (call.has(2) && beta != 0.0f) {
    const Tensor c = call.tensor(2);
    y = g.add(y, beta == 1.0f ? c : g.scale(c, beta));
  }
  if (!call.failed()) call.give(y, call.type(0));
}

// --- Einsum of one or two operands

struct Terms {
  std::vector<std::string> operands;
  std::string result;
};

bool parse(Call& call, std::string_view equation, Terms* terms) {
  std::string text;
  for (const char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    terms->operands.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    terms->result = text.substr(arrow + 2);
  } else {  // labels that occur once, in alphabetical order
    for (char c = 'A'; c <= 'z'; ++c)
      if (std::count(left.begin(), left.end(), c) == 1) terms->result += c;
  }
  bool fits = terms->operands.size() == call.count() && call.count() <= 2 && text.find('.') == std::string::npos;
  for (size_t i = 0; fits && i < terms->operands.size(); ++i) {
    const std::string& labels = terms->operands[i];
    fits = static_cast<int>(labels.size()) == call.rank(i);
    for (const char c : labels) fits = fits && std::count(labels.begin(), labels.end(), c) == 1;
  }
  if (!fits) call.fail("the equation '%s' is of a kind that heed does not support", std::string(equation).c_str());
  return fits;
}

void einsum(Call& call) {
  Graph& g = call.g;
  Terms terms;
  if (!parse(call, call.text("equation", ""), &terms)) return;
  std::map<char, Dim> sizes;
  std::vector<Tensor> x;
  for (size_t i = 0; i < call.count(); ++i) {
    const std::vector<Dim> dims = call.dims(i);
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto known = sizes.emplace(terms.operands[i][d], dims[d]);
      if (!known.second && !call.agree(known.first->second, dims[d]))
        return call.fail("'%c' is of two sizes", terms.operands[i][d]);
    }
    x.push_back(call.tensor(i));
  }
  if (call.failed()) return;
  const auto holds = [](const std::string& labels, char c) { return labels.find(c) != std::string::npos; };
  // Axes that only one operand has and the result lacks are summed first.
  for (size_t i = 0; i < x.size(); ++i) {
    std::string& labels = terms.operands[i];
    for (size_t d = labels.size(); d-- > 0;) {
      if (holds(terms.result, labels[d]) || (x.size() == 2 && holds(terms.operands[1 - i], labels[d]))) continue;
      x[i] = g.reduce(x[i], Reduction::Sum, {static_cast<int>(d)});
      labels.erase(d, 1);
    }
  }
  std::string batch, rows, inner, columns;
  for (const char c : terms.operands[0]) {
    const bool both = x.size() == 2 && holds(terms.operands[1], c);
    (both ? holds(terms.result, c) ? batch : inner : rows) += c;
  }
  if (x.size() == 2)
    for (const char c : terms.operands[1])
      if (!holds(terms.operands[0], c)) columns += c;
  const auto product_of = [&](const std::string& labels) {
    Dim product = 1;
    for (const char c : labels) product = g.dim_product(product, sizes.at(c));
    return product;
  };
  const auto ordered = [&](size_t i, const std::string& labels) {
    std::vector<int> axes;
    for (const char c : labels) axes.push_back(static_cast<int>(terms.operands[i].find(c)));
    return axes.size() < 2 ? x[i] : g.permute(x[i], axes);
  };
  Tensor made;
  std::string labels = batch + rows;
  if (x.size() == 1) {
    made = ordered(0, labels);
  } else {
    const Tensor a =
        g.reshape(ordered(0, batch + rows + inner), {product_of(batch), product_of(rows), product_of(inner)});
    const Tensor b =
        g.reshape(ordered(1, batch + inner + columns), {product_of(batch), product_of(inner), product_of(columns)});
    made = g.matmul(a, b);
    labels += columns;
    std::vector<Dim> dims;
    for (const char c : labels) dims.push_back(sizes.at(c));
    if (call.failed()) return;
    made = reshaped(call, made, dims);
  }
  std::vector<int> order;
  for (const char c : terms.result) {
    if (!holds(labels, c)) return call.fail("'%c' is in no operand", c);
    order.push_back(static_cast<int>(labels.find(c)));
  }
  if (!call.failed()) call.give(order.size() < 2 ? made : g.permute(made, order), call.type(0), order.empty());
}

constexpr Operator kProductOperators[] = {{"Einsum", einsum}, {"Gemm", gemm}, {"MatMul", matmul}};

}  // namespace

std::span<const Operator> product_operators() { return kProductOperators; }

}  // namespace heed::onnx
