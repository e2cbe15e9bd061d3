#include "train/learner.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "harness/catch.hpp"
#include "harness/functions.hpp"

namespace heed::train_tests {
namespace {

constexpr int64_t kMostTokens = 9, kMostBatch = 3;

}  // namespace

Learner::Learner(uint64_t seed) : random_(seed) {
  batch_ = graph.extent("batch", kMostBatch);
  tokens_ = graph.extent("tokens", kMostTokens);
  known_[batch_.expr] = 1 + random_.below(kMostBatch);
  known_[tokens_.expr] = 1 + random_.below(kMostTokens);
  extents = {{"batch", known_[batch_.expr]}, {"tokens", known_[tokens_.expr]}};
  dropout_seed = static_cast<uint32_t>(random_.next());
  leaf({batch_, tokens_, random_.pick({4, 6, 8})});
  using Make = void (Learner::*)();
  static constexpr Make kMakes[] = {&Learner::linear,   &Learner::linear,   &Learner::matmul,    &Learner::sum,
                                    &Learner::product,  &Learner::scaled,   &Learner::norm,      &Learner::norm,
                                    &Learner::softmax,  &Learner::turn,     &Learner::cut,       &Learner::cut,
                                    &Learner::reshape,  &Learner::join,     &Learner::mean,      &Learner::reduce,
                                    &Learner::reduce,   &Learner::order,    &Learner::embed,     &Learner::take,
                                    &Learner::rotate,   &Learner::encode,   &Learner::entropy,   &Learner::activation,
                                    &Learner::function, &Learner::dropout,  &Learner::attention, &Learner::function,
                                    &Learner::function, &Learner::function, &Learner::attention, &Learner::attention};
  for (int64_t calls = 2 + random_.below(7); calls > 0; --calls)
    (this->*kMakes[random_.below(static_cast<int64_t>(std::size(kMakes)))])();
  for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
    const Value& value = values_[static_cast<size_t>(v)];
    if (value.read || !value.compute || (!outputs.empty() && random_.one_in(6))) continue;
    const std::string name = fresh("up");
    const Array gradient =
        give(name, graph.input(name, shape(v)), ops::uniform(sizes_of(v), random_.next()), DType::F32);
    outputs.push_back({v, name, gradient});
  }
}

double Learner::loss(size_t moved, const Array& at) const {
  Values all;
  for (const Value& value : values_) {
    const bool moves = static_cast<int>(all.size()) == leaves[moved].value;
    all.push_back(moves ? at : value.compute ? value.compute(all) : value.array);
  }
  double sum = 0.0;
  for (const Output& output : outputs) {
    const Array& y = all[static_cast<size_t>(output.value)];
    for (int64_t i = 0; i < y.size(); ++i) sum += y.at(i) * output.gradient.at(i);
  }
  return sum;
}

Sizes Learner::sizes(const Shape& shape) const {
  Sizes all;
  for (int i = 0; i < shape.rank; ++i)
    all.push_back(shape[i].is_constant() ? shape[i].value : known_.at(shape[i].expr));
  return all;
}

Array Learner::give(const std::string& name, Tensor tensor, const Array& array, DType dtype) {
  static_cast<void>(tensor);
  Array rounded = array;
  if (dtype == DType::F32)
    for (double& v : rounded.value) v = ops::round_to(dtype, v);
  given.push_back({name, dtype, rounded});
  return rounded;
}

int Learner::leaf(const Shape& shape, double most) {
  bool constant = true;
  for (int i = 0; i < shape.rank; ++i) constant = constant && shape[i].is_constant();
  const bool weight = constant && random_.coin();
  const std::string name = fresh(weight ? "w" : "x");
  Array array = ops::uniform(sizes(shape), random_.next(), -most, most);
  for (double& v : array.value) v = ops::round_to(DType::F32, v);
  const Tensor tensor = weight ? graph.weight(name, shape) : graph.input(name, shape);
  values_.push_back({tensor, {}, array, false});
  const int v = static_cast<int>(values_.size()) - 1;
  leaves.push_back({name, tensor, v, array, weight});
  text += "  v" + std::to_string(v) + " = " + name + " " + ops::text_of(array.shape) + "\n";
  return v;
}

int Learner::add(const std::string& line, std::vector<int> from, Tensor tensor, Compute compute) {
  std::string all = "  v" + std::to_string(values_.size()) + " = " + line;
  for (const int v : from)
    if (v >= 0) all += " v" + std::to_string(v), values_[static_cast<size_t>(v)].read = true;
  INFO(text << all << ": " << graph.error());
  REQUIRE(graph.status() == Status::Ok);
  Values arrays;
  for (const Value& value : values_) arrays.push_back(value.array);
  Array array = compute(arrays);
  const Shape shape = graph.shape(tensor);
  REQUIRE(static_cast<int>(array.shape.size()) == shape.rank);
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t size = array.shape[static_cast<size_t>(i)];
    if (shape[i].is_constant())
      REQUIRE(size == shape[i].value);
    else
      REQUIRE(known_.try_emplace(shape[i].expr, size).first->second == size);
  }
  text += all + " -> " + ops::text_of(array.shape) + "\n";
  values_.push_back({tensor, std::move(compute), std::move(array), false});
  return static_cast<int>(values_.size()) - 1;
}

// Prefers late values. Does not read values that have grown, since differences of them are inexact.
int Learner::any(int least, int most) {
  for (int tries = 0; tries < 20; ++tries) {
    const auto count = static_cast<int64_t>(values_.size());
    const int v = static_cast<int>(std::max(random_.below(count), random_.below(count)));
    const Array& array = values_[static_cast<size_t>(v)].array;
    double largest = 0.0;
    for (const double x : array.value) largest = std::max(largest, std::abs(x));
    if (rank(v) >= least && rank(v) <= most && largest < 8.0 && array.size() < 3000) return v;
  }
  const Shape shapes[] = {{6}, {tokens_, 5}, {batch_, tokens_, 6}, {batch_, 2, tokens_, 4}};
  return leaf(shapes[std::clamp<int>(static_cast<int>(random_.below(4)) + 1, least, most) - 1]);
}

int Learner::with_tokens() {
  for (int tries = 0; tries < 20; ++tries)
    if (const int v = any();
        rank(v) == 3 && shape(v)[0] == batch_ && shape(v)[1] == tokens_ && shape(v)[2].is_constant())
      return v;
  return leaf({batch_, tokens_, random_.pick({4, 8})});
}

void Learner::linear() {
  int x = any();
  if (!shape(x)[rank(x) - 1].is_constant()) x = with_tokens();
  const int64_t out = random_.pick({1, 4, 6, 7});
  const int w = leaf({out, width(x)}), b = random_.coin() ? leaf({out}) : -1;
  const Tensor y = graph.linear(tensor_of(x), tensor_of(w), b >= 0 ? tensor_of(b) : Tensor{});
  const bool flat = rank(x) == 1;
  add("linear", {x, w, b}, y, [=](const Values& v) {
    const Array& given = v[static_cast<size_t>(x)];
    const Array rows = flat ? ops::reshape(given, {1, given.dim(0)}) : given;
    Array made = ops::matmul(rows, ops::transposed(v[static_cast<size_t>(w)]));
    if (flat) made = ops::reshape(made, {out});
    return b >= 0 ? ops::add(made, v[static_cast<size_t>(b)]) : made;
  });
}

void Learner::matmul() {
  const int a = any(2, 4);
  MatmulOptions o;
  o.transpose_a = random_.one_in(3), o.transpose_b = random_.coin();
  o.scale = 0.5f;
  const Shape s = shape(a);
  const Dim k = s[s.rank - (o.transpose_a ? 2 : 1)], n = random_.pick({1, 3, 4});
  Shape other = s;
  other[s.rank - 1] = o.transpose_b ? k : n;
  other[s.rank - 2] = o.transpose_b ? n : k;
  if (s.rank > 2 && random_.one_in(3)) other[0] = 1;
  if (s.rank > 2 && random_.one_in(3)) other = {other[s.rank - 2], other[s.rank - 1]};
  const bool same = random_.one_in(6) && !o.transpose_a && o.transpose_b;  // x x^T: one tensor, used twice
  const int b = same ? a : leaf(other);
  add(std::string("matmul") + (o.transpose_a ? " a^T" : "") + (o.transpose_b ? " b^T" : ""), {a, b},
      graph.matmul(tensor_of(a), tensor_of(b), o), [=](const Values& v) {
        const Array &x = v[static_cast<size_t>(a)], &y = v[static_cast<size_t>(b)];
        return ops::matmul(o.transpose_a ? ops::transposed(x) : x, o.transpose_b ? ops::transposed(y) : y, 0.5);
      });
}

void Learner::sum() {
  const int x = any();
  Shape s = shape(x);
  for (int i = 0; i < s.rank; ++i)
    if (random_.one_in(3)) s[i] = 1;
  if (random_.one_in(3)) s = {shape(x)[rank(x) - 1]};
  const int y = random_.one_in(4) ? x : leaf(s);
  add("add", {x, y}, graph.add(tensor_of(x), tensor_of(y)),
      [=](const Values& v) { return ops::add(v[static_cast<size_t>(x)], v[static_cast<size_t>(y)]); });
}

void Learner::product() {
  const int x = any();
  Shape s = shape(x);
  for (int i = 0; i < s.rank; ++i)
    if (random_.one_in(3)) s[i] = 1;
  const int y = random_.one_in(4) ? x : leaf(s);
  add("mul", {x, y}, graph.mul(tensor_of(x), tensor_of(y)),
      [=](const Values& v) { return ops::mul(v[static_cast<size_t>(x)], v[static_cast<size_t>(y)]); });
}

void Learner::scaled() {
  const int x = any();
  add("scale", {x}, graph.scale(tensor_of(x), -0.75f),
      [=](const Values& v) { return ops::scale(v[static_cast<size_t>(x)], -0.75); });
}

void Learner::activation() {
  const int x = any();
  const auto kind = static_cast<Activation>(1 + random_.below(5));
  add("activation " + std::to_string(static_cast<int>(kind)), {x}, graph.activation(tensor_of(x), kind),
      [=](const Values& v) { return ops::activation(v[static_cast<size_t>(x)], kind); });
}

// A function, applied to values that a sigmoid brings into its smooth range.
void Learner::function() {
  const std::span<const ops::FunctionReference> all = ops::function_references();
  const ops::FunctionReference& f = all[static_cast<size_t>(random_.below(std::ssize(all)))];
  if (!f.smooth) return;
  const int x = any();
  Shape s = shape(x);
  for (int i = 0; i < s.rank; ++i)
    if (random_.one_in(3)) s[i] = 1;
  const int y = f.operands == 1 || random_.one_in(4) ? x : leaf(s);
  const auto within = [&](int v) {
    return graph.add(graph.mul(graph.sigmoid(tensor_of(v)), graph.number(f.high - f.low)), graph.number(f.low));
  };
  add(f.name, {x, y}, f.build(graph, within(x), within(y)), [=, &f](const Values& v) {
    const auto of = [&](int value) {
      Array within = v[static_cast<size_t>(value)];
      for (double& z : within.value) z = f.low + (f.high - f.low) / (1.0 + std::exp(-z));
      return within;
    };
    return ops::apply(f, of(x), of(y));
  });
}

void Learner::dropout() {
  const int x = any();
  const uint32_t stream = streams_++, seed = dropout_seed;
  add("dropout", {x}, graph.dropout(tensor_of(x), 0.25f),
      [=](const Values& v) { return ops::dropout(v[static_cast<size_t>(x)], 0.25, seed, stream); });
}

void Learner::norm() {
  const int x = any();
  constexpr float kEps = 0.05f;
  const double eps = static_cast<double>(kEps);
  const int64_t kind = random_.below(3);
  if (kind == 2) {
    const ops::RowOperation& one = ops::any_row_operation(random_);
    add(one.name, {x}, one.build(graph, tensor_of(x), kEps),
        [=](const Values& v) { return one.compute(v[static_cast<size_t>(x)], eps); });
    return;
  }
  const Dim last = shape(x)[rank(x) - 1];
  const int gamma = random_.coin() ? leaf({last}) : -1, beta = kind == 0 && random_.coin() ? leaf({last}) : -1;
  const Tensor g = gamma >= 0 ? tensor_of(gamma) : Tensor{}, b = beta >= 0 ? tensor_of(beta) : Tensor{};
  add(kind == 0 ? "layernorm" : "rmsnorm", {x, gamma, beta},
      kind == 0 ? graph.layernorm(tensor_of(x), g, b, kEps) : graph.rmsnorm(tensor_of(x), g, kEps),
      [=](const Values& v) {
        const Array* scales = gamma >= 0 ? &v[static_cast<size_t>(gamma)] : nullptr;
        const Array* shifts = beta >= 0 ? &v[static_cast<size_t>(beta)] : nullptr;
        const Array& rows = v[static_cast<size_t>(x)];
        return kind == 0 ? ops::layernorm(rows, scales, shifts, eps) : ops::rmsnorm(rows, scales, eps);
      });
}

namespace {

// The masks of a softmax, which have no gradient.
struct Masks {
  std::shared_ptr<Array> padding, mask, lengths, positions;
  Causal causal = Causal::None;
  int64_t window = 0, window_ahead = 0;
  int bias = -1;
  std::optional<float> fill;

  ops::SoftmaxReference reference(const Values& v, double scale) const {
    ops::SoftmaxReference r;
    r.scale = scale;
    r.causal = causal;
    r.window = window;
    r.window_ahead = window_ahead;
    r.key_padding = padding.get();
    r.mask = mask.get();
    r.mask_keeps = true;
    r.lengths = lengths.get();
    r.positions = positions.get();
    if (bias >= 0) r.bias = &v[static_cast<size_t>(bias)];
    if (fill) r.masked_fill = static_cast<double>(*fill);
    return r;
  }
};

std::shared_ptr<Array> shared(const Array& array) { return std::make_shared<Array>(array); }

}  // namespace

void Learner::softmax() {
  const int x = any(2, 4);
  Masks m;
  SoftmaxOptions o;
  o.scale = 0.75f;
  if (random_.one_in(3)) o.causal = m.causal = static_cast<Causal>(1 + random_.below(2));
  if (random_.one_in(3)) {
    const std::string name = fresh("m");
    const Tensor mask = graph.input(name, {shape(x)[rank(x) - 1]}, DType::U8);
    m.mask = shared(give(name, mask, ops::random_mask({width(x)}, random_), DType::U8));
    o.mask = keep(mask);
  }
  if (random_.one_in(3)) {
    m.bias = leaf({shape(x)[rank(x) - 2], random_.coin() ? Dim(1) : shape(x)[rank(x) - 1]});
    o.bias = tensor_of(m.bias);
  }
  if (random_.one_in(4)) o.masked_fill = m.fill = -1.5f;
  add(m.fill ? "softmax, filled" : "softmax", {x, m.bias}, graph.softmax(tensor_of(x), o),
      [=](const Values& v) { return ops::softmax(v[static_cast<size_t>(x)], m.reference(v, 0.75)); });
}

void Learner::attention() {
  const int64_t heads = random_.pick({1, 2, 4}), groups = heads > 1 && random_.one_in(3) ? heads / 2 : heads;
  const int64_t d_k = random_.pick({2, 4}), d_v = random_.pick({2, 3});
  const Dim keys = random_.coin() ? tokens_ : Dim(random_.pick({1, 5}));
  // Heads in a projection's layout, or as separate tensors.
  const auto operand = [&](Dim length, int64_t count, int64_t size) {
    if (random_.coin()) return leaf({batch_, count, length, size}, 1.5);
    const int rows = leaf({batch_, length, count * size}, 1.5);
    const Tensor apart = graph.reshape(tensor_of(rows), {batch_, length, count, size});
    return add("heads", {rows}, graph.transpose(apart, 1, 2), [=](const Values& v) {
      const Array& x = v[static_cast<size_t>(rows)];
      return ops::permute(ops::reshape(x, {x.shape[0], x.shape[1], count, size}), {0, 2, 1, 3});
    });
  };
  const int q = operand(tokens_, heads, d_k), k = operand(keys, groups, d_k), v = operand(keys, groups, d_v);
  const int64_t batch = sizes_of(q)[0], queries = sizes_of(q)[2], count = sizes_of(k)[2];
  Masks m;
  AttentionOptions o;
  std::string more;
  if (random_.coin()) {
    o.causal = m.causal = static_cast<Causal>(1 + random_.below(2));
    more += " causal";
    if (random_.one_in(3)) o.window = m.window = 1 + random_.below(4), more += " window";
    if (random_.one_in(3)) {
      const std::string name = fresh("p");
      o.positions = graph.input(name, {batch_}, DType::I32);
      m.positions = shared(give(name, o.positions, ops::whole_numbers({batch}, random_.next(), 0, 4), DType::I32));
      more += " positions";
    }
  } else if (random_.one_in(3)) {
    o.window = m.window = random_.below(4), o.window_ahead = m.window_ahead = 1 + random_.below(3);
    more += " window ahead";
  }
  if (random_.one_in(4)) {
    const std::string name = fresh("l");
    o.lengths = graph.input(name, {batch_}, DType::I32);
    m.lengths = shared(give(name, o.lengths, ops::whole_numbers({batch}, random_.next(), 0, count + 1), DType::I32));
    more += " lengths";
  }
  if (random_.one_in(3)) {
    const std::string name = fresh("m");
    const Tensor padding = graph.input(name, {batch_, keys}, DType::U8);
    m.padding = shared(give(name, padding, ops::random_mask({batch, count}, random_), DType::U8));
    o.key_padding = exclude(padding);
    more += " padding";
  }
  if (random_.one_in(4)) {
    const std::string name = fresh("m");
    const Tensor mask = graph.input(name, {tokens_, keys}, DType::U8);
    m.mask = shared(give(name, mask, ops::random_mask({queries, count}, random_), DType::U8));
    o.mask = keep(mask);
    more += " mask";
  }
  if (random_.one_in(3)) {
    m.bias = leaf(random_.coin() ? Shape{heads, tokens_, keys} : Shape{1, keys});
    o.bias = tensor_of(m.bias);
    more += " bias";
  }
  if (random_.one_in(5)) o.masked_fill = m.fill = -1.5f, more += " filled";
  const bool drops = random_.one_in(3);
  if (drops) o.dropout = 0.25f, more += " dropout";
  const uint32_t stream = drops ? streams_++ : 0, seed = dropout_seed;
  o.return_weights = random_.one_in(4);
  if (random_.one_in(4)) o.return_scores = random_.coin() ? Scores::Scaled : Scores::Capped;
  o.return_log_sum_exp =
      random_.one_in(4) && more.find_first_of("lpmkw") == std::string::npos && m.causal != Causal::BottomRight;
  if (random_.one_in(4)) o.softcap = 0.5f, more += " softcap";
  const double scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_k))));
  const auto repeated = [=](const Array& x) {
    const int64_t s = x.shape[2], d = x.shape[3];
    return ops::reshape(
        ops::broadcast(ops::reshape(x, {x.shape[0], groups, 1, s, d}), {x.shape[0], groups, heads / groups, s, d}),
        {x.shape[0], heads, s, d});
  };
  const auto scores = [=](const Values& all) {
    return ops::matmul(all[static_cast<size_t>(q)], ops::transposed(repeated(all[static_cast<size_t>(k)])), scale);
  };
  const auto capped = [=](const Values& all) {
    return o.softcap > 0.0f ? ops::scale(ops::activation(ops::scale(scores(all), 2.0), Activation::Tanh), 0.5)
                            : scores(all);
  };
  const AttentionResult y = graph.attention(tensor_of(q), tensor_of(k), tensor_of(v), o);
  add("attention of " + std::to_string(heads) + " heads, " + std::to_string(groups) + " of keys" + more,
      {q, k, v, m.bias}, y.output, [=](const Values& all) {
        const Array weights = ops::softmax(capped(all), m.reference(all, 1.0));
        return ops::matmul(drops ? ops::dropout(weights, 0.25, seed, stream) : weights,
                           repeated(all[static_cast<size_t>(v)]));
      });
  if (o.return_weights)
    add("its weights", {}, y.weights,
        [=](const Values& all) { return ops::softmax(capped(all), m.reference(all, 1.0)); });
  if (o.return_scores != Scores::None)
    add("its scores", {}, y.scores,
        [=](const Values& all) { return o.return_scores == Scores::Scaled ? scores(all) : capped(all); });
  if (o.return_log_sum_exp)
    add("its log_sum_exp", {}, y.log_sum_exp,
        [=](const Values& all) { return ops::log_sum_exp(capped(all), m.reference(all, 1.0)); });
}

void Learner::turn() {
  const int x = any(2, 4);
  std::vector<int> axes;
  for (int i = 0; i < rank(x); ++i) axes.push_back(i);
  std::swap(axes[static_cast<size_t>(random_.below(rank(x)))], axes[static_cast<size_t>(random_.below(rank(x)))]);
  add("permute", {x}, graph.permute(tensor_of(x), axes),
      [=](const Values& v) { return ops::permute(v[static_cast<size_t>(x)], axes); });
}

void Learner::cut() {
  const int x = any(1, 4);
  std::vector<int> constant;
  for (int i = 0; i < rank(x); ++i)
    if (shape(x)[i].is_constant() && shape(x)[i].value > 1) constant.push_back(i);
  if (constant.empty()) return;
  const int axis = constant[static_cast<size_t>(random_.below(static_cast<int64_t>(constant.size())))];
  const int64_t whole = shape(x)[axis].value, size = 1 + random_.below(whole - 1),
                begin = random_.below(whole - size + 1);
  add("slice of axis " + std::to_string(axis), {x}, graph.slice(tensor_of(x), axis, begin, size),
      [=](const Values& v) { return ops::slice(v[static_cast<size_t>(x)], axis, begin, size); });
  if (!random_.one_in(3)) return;
  // A second, overlapping slice, so that gradients add up in the middle.
  add("slice of axis " + std::to_string(axis), {x}, graph.slice(tensor_of(x), axis, 0, size),
      [=](const Values& v) { return ops::slice(v[static_cast<size_t>(x)], axis, 0, size); });
}

void Learner::reshape() {
  const int x = any(2, 4);
  Shape to;
  for (int i = 0; i + 1 < rank(x); ++i) to.push_back(shape(x)[i]);
  const int64_t columns = width(x);
  if (!shape(x)[rank(x) - 1].is_constant()) return;
  int64_t part = columns < 2 ? 1 : 2;
  while (columns % part != 0) ++part;
  to.push_back(part);
  to.push_back(columns / part);
  const int x_rank = rank(x);
  const Compute compute = [=](const Values& v) {
    Sizes now = v[static_cast<size_t>(x)].shape;
    now.back() = part;
    now.push_back(columns / part);
    return ops::reshape(v[static_cast<size_t>(x)], now);
  };
  if (x_rank < 4) {
    add("reshape", {x}, graph.reshape(tensor_of(x), to), compute);
    return;
  }
  add("last of axis 2", {x}, graph.last(tensor_of(x), 2), [=](const Values& v) {
    const Array& all = v[static_cast<size_t>(x)];
    return ops::slice(all, 2, all.shape[2] - 1, 1);
  });
}

void Learner::join() {
  const int x = any(1, 4);
  const int axis = static_cast<int>(random_.below(rank(x)));
  Shape s = shape(x);
  if (!s[axis].is_constant()) return;
  s[axis] = random_.pick({1, 3});
  const int y = leaf(s), z = random_.coin() ? x : leaf(s);
  add("concat along " + std::to_string(axis), {x, y, z}, graph.concat({tensor_of(x), tensor_of(y), tensor_of(z)}, axis),
      [=](const Values& v) {
        return ops::concat({v[static_cast<size_t>(x)], v[static_cast<size_t>(y)], v[static_cast<size_t>(z)]}, axis);
      });
}

void Learner::mean() {
  const int x = any(2, 4);
  const bool masked = random_.coin();
  const int axis = masked ? 1 : static_cast<int>(random_.below(rank(x)));
  Mask mask;
  std::shared_ptr<Array> kept;
  if (masked) {
    const std::string name = fresh("m");
    const Tensor tensor = graph.input(name, {shape(x)[0], shape(x)[1]}, DType::U8);
    kept = shared(give(name, tensor, ops::random_mask({sizes_of(x)[0], sizes_of(x)[1]}, random_), DType::U8));
    mask = keep(tensor);
  }
  add(masked ? "mean, masked" : "mean of axis " + std::to_string(axis), {x}, graph.mean(tensor_of(x), axis, mask),
      [=](const Values& v) { return ops::mean(v[static_cast<size_t>(x)], axis, kept.get(), true); });
}

void Learner::reduce() {
  const int x = any(1, 4);
  std::vector<int> axes;
  int64_t n = 1;
  for (int axis = 0; axis < rank(x); ++axis) {
    if (random_.coin()) continue;
    axes.push_back(axis);
    n *= sizes_of(x)[static_cast<size_t>(axis)];
  }
  if (axes.empty()) n = ops::count(sizes_of(x));
  auto kind = static_cast<Reduction>(random_.below(7));
  if (kind == Reduction::Product && n > 6) kind = Reduction::L2;  // others leave the range of exact differences
  const bool keep = random_.coin();
  add("reduction " + std::to_string(static_cast<int>(kind)), {x}, graph.reduce(tensor_of(x), kind, axes, keep),
      [=](const Values& v) { return ops::reduce(v[static_cast<size_t>(x)], kind, axes, keep); });
}

// Running sums, and the largest elements.
void Learner::order() {
  const int x = any(1, 4);
  const int axis = static_cast<int>(random_.below(rank(x)));
  const bool first = random_.coin(), second = random_.coin();
  if (random_.coin() || !shape(x)[axis].is_constant()) {
    add("cumsum along " + std::to_string(axis), {x}, graph.cumsum(tensor_of(x), axis, first, second),
        [=](const Values& v) { return ops::cumsum(v[static_cast<size_t>(x)], axis, first, second); });
    return;
  }
  const int64_t k = 1 + random_.below(sizes_of(x)[static_cast<size_t>(axis)]);
  add("top " + std::to_string(k), {x}, graph.top_k(tensor_of(x), k, axis, first).values, [=](const Values& v) {
    const Array& all = v[static_cast<size_t>(x)];
    return ops::take_along(all, axis, ops::first_indices(all, axis, k, first, false));
  });
}

void Learner::embed() {
  const int table = leaf({7, 5});
  const std::string name = fresh("ids");
  const Tensor ids = graph.input(name, {batch_, tokens_}, DType::I32);
  const auto numbers =
      shared(give(name, ids, ops::whole_numbers(sizes({batch_, tokens_}), random_.next(), 0, 7), DType::I32));
  add("embedding", {table}, graph.embedding(tensor_of(table), ids),
      [=](const Values& v) { return ops::embedding(v[static_cast<size_t>(table)], *numbers); });
}

void Learner::take() {
  const int x = with_tokens();
  const bool broadcast = random_.one_in(3);
  const int from = broadcast ? leaf({1, 6, 4}) : x;
  const int64_t most = broadcast ? 6 : sizes_of(x)[1];
  const std::string name = fresh("at");
  const Tensor at = graph.input(name, {batch_, 3}, DType::I32);
  const auto places =
      shared(give(name, at, ops::whole_numbers(sizes({batch_, 3}), random_.next(), -1, most), DType::I32));
  add("take", {from}, graph.take(tensor_of(from), 1, at), [=](const Values& v) {
    const Array& rows = v[static_cast<size_t>(from)];
    const int64_t batch = places->shape[0], n = rows.shape[2];
    Array y({batch, 3, n});
    for (int64_t i = 0; i < batch * 3; ++i)
      for (int64_t c = 0; c < n; ++c) {
        const auto place = static_cast<int64_t>(places->at(i));
        const int64_t outer = rows.shape[0] == 1 ? 0 : i / 3;
        if (place >= 0) y.at(i * n + c) = rows.at((outer * rows.shape[1] + place) * n + c);
      }
    return y;
  });
}

void Learner::rotate() {
  const int x = any(2, 4);
  if (!shape(x)[rank(x) - 1].is_constant() || width(x) < 2) return;
  RotaryOptions o;
  o.pairs = random_.coin() ? RotaryPairs::Halves : RotaryPairs::Adjacent;
  o.width = width(x) / 2 * 2;
  add("rotary", {x}, graph.rotary(tensor_of(x), o),
      [=](const Values& v) { return ops::rotary(v[static_cast<size_t>(x)], o, nullptr); });
}

void Learner::encode() {
  const int x = any(2, 4);
  if (!shape(x)[rank(x) - 1].is_constant() || width(x) % 2 != 0) return;
  add("positional_encoding", {x}, graph.positional_encoding(tensor_of(x)), [=](const Values& v) {
    const Array& rows = v[static_cast<size_t>(x)];
    return ops::add(rows, ops::sinusoids(rows.dim(1), rows.dim(0)));
  });
}

void Learner::entropy() {
  const int x = any(2, 3);
  Shape rows = shape(x);
  --rows.rank;
  const std::string name = fresh("labels");
  const Tensor labels = graph.input(name, rows, DType::I32);
  const auto numbers =
      shared(give(name, labels, ops::whole_numbers(sizes(rows), random_.next(), -1, width(x)), DType::I32));
  const float smoothing = random_.coin() ? 0.25f : 0.0f;
  if (random_.coin() && shape(x)[rank(x) - 1].is_constant()) {
    nn::CrossEntropyOptions o;
    const int weights = random_.coin() ? leaf({width(x)}) : -1;
    if (weights >= 0) o.class_weights = tensor_of(weights);
    o.ignored = 1;
    o.label_smoothing = smoothing;
    o.reduction = static_cast<nn::LossReduction>(random_.below(2));
    o.of_log_probabilities = random_.coin();
    add("nn::cross_entropy", {x, weights}, nn::cross_entropy(graph, tensor_of(x), labels, o).loss,
        [=](const Values& v) {
          return ops::weighted_cross_entropy(v[static_cast<size_t>(x)], *numbers,
                                             weights >= 0 ? &v[static_cast<size_t>(weights)] : nullptr, o);
        });
    return;
  }
  add("cross_entropy", {x}, graph.cross_entropy(tensor_of(x), labels, smoothing), [=](const Values& v) {
    return ops::cross_entropy(v[static_cast<size_t>(x)], *numbers, static_cast<double>(smoothing));
  });
}

}  // namespace heed::train_tests
