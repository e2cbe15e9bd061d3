// A random program that uses the public API: calls with a mixture of right and wrong arguments.
#pragma once

#include "graph/graph_data.hpp"
#include "hostile/hostile.hpp"

namespace heed::test {

using ops::Random;

// One graph that grows by calls. A call that fails is undone, so that the next one can succeed.
class Program {
 public:
  explicit Program(Random& random) : r(random) {
    other_.input("other", {2, 3});
    other_dim_ = other_.extent("other", 7);
    foreign_ = other_.scale(Tensor{0}, 2);
  }

  Random& r;
  Graph graph;

  int64_t odd_number() {
    return r.pick({0, -1, -2, 1, 3, 1 << 16, int64_t{1} << 31, (int64_t{1} << 31) - 1, int64_t{1} << 32,
                   int64_t{1} << 40, int64_t{1} << 58, int64_t{1} << 62, INT64_MAX, INT64_MIN, INT32_MIN});
  }
  int64_t number(int64_t usual) { return r.one_in(12) ? odd_number() : usual; }
  int axis() { return static_cast<int>(r.one_in(12) ? static_cast<int32_t>(odd_number()) : r.below(8) - 4); }
  float factor() {
    if (!r.one_in(8)) return static_cast<float>(r.below(1000)) / 1000.0f;
    const float odd[] = {NAN, INFINITY, -INFINITY, -1, 0, 1, 1e30f, 1e-40f, std::numeric_limits<float>::max()};
    return odd[r.below(9)];
  }
  std::optional<float> maybe_factor() { return r.one_in(4) ? std::optional<float>(factor()) : std::nullopt; }
  DType dtype() {
    if (r.one_in(40)) return static_cast<DType>(r.below(256));
    return r.one_in(3) ? static_cast<DType>(r.below(5)) : DType::F32;
  }
  std::optional<DType> maybe_dtype() { return r.one_in(4) ? std::optional<DType>(dtype()) : std::nullopt; }
  template <class Enum>
  Enum one_of(int count) {
    return static_cast<Enum>(r.one_in(40) ? r.below(256) : r.below(count));
  }

  Dim dim() {
    if (r.one_in(25)) return odd_number();
    if (r.one_in(60)) return other_dim_;
    if (r.one_in(60)) {
      Dim made = r.below(9);
      made.expr = static_cast<int32_t>(r.pick({0, 1, 2, 5, 1000, INT32_MAX}));
      return made;
    }
    const Shape of = graph.shape(tensor());
    if (r.one_in(2) && of.rank > 0) return of[static_cast<int>(r.below(of.rank))];
    const char* names[] = {"m", "n", "s"};
    if (r.one_in(3)) return graph.extent(names[r.below(3)], r.one_in(30) ? odd_number() : 20);
    return r.pick({1, 2, 3, 4, 5, 8, 12, 16, 33, 64});
  }
  Shape shape(int most_rank = 5) {
    Shape shape;
    const int64_t rank = r.one_in(40) ? r.below(9) : 1 + r.below(most_rank);
    for (int64_t i = 0; i < rank; ++i) shape.push_back(dim());
    return shape;
  }
  Shape fitting(Shape like) {  // with other dims, or some of them 1
    if (r.one_in(6)) return shape();
    for (int i = 0; i < like.rank; ++i)
      if (r.one_in(4)) like[i] = 1;
    if (r.one_in(4) && like.rank > 1) {
      for (int i = 0; i + 1 < like.rank; ++i) like[i] = like[i + 1];
      --like.rank;
    }
    return like;
  }

  Tensor tensor() {
    if (r.one_in(60)) return {static_cast<uint32_t>(r.pick({0, 1, 7, 1000, UINT32_MAX - 1, UINT32_MAX}))};
    if (r.one_in(60)) return foreign_;
    const size_t count = graph.data().tensors.size();
    if (count == 0) return {};
    // Prefers late ones.
    const int64_t back = std::min(r.below(static_cast<int64_t>(count)), r.below(static_cast<int64_t>(count)));
    return {static_cast<uint32_t>(static_cast<int64_t>(count) - 1 - back)};
  }
  Tensor maybe(Tensor (Program::*make)(const Shape&), const Shape& like) {
    return r.one_in(3) ? (this->*make)(like) : Tensor{};
  }
  std::string name() {
    if (r.one_in(40)) return r.coin() ? "" : std::string(static_cast<size_t>(r.below(3000)), '\n');
    return std::string("t").append(std::to_string(r.one_in(10) ? r.below(4) : ++names_));
  }
  Tensor source(const Shape& shape, DType type) {
    switch (r.below(3)) {
      case 0: return graph.input(name(), shape, type);
      case 1: return graph.weight(name(), shape, type);
      default: return constant(shape);
    }
  }
  Tensor like(const Shape& shape) { return source(shape, last_type_); }
  Tensor ids(const Shape& shape) { return graph.input(name(), shape, r.one_in(20) ? dtype() : DType::I32); }
  Tensor bytes(const Shape& shape) { return graph.input(name(), shape, r.one_in(20) ? dtype() : DType::U8); }
  Mask mask(const Shape& like) { return {maybe(&Program::bytes, fitting(like)), one_of<Mask::Meaning>(2)}; }
  Mask padding(const Shape& like) {
    if (like.rank < 2) return mask(like);
    return {maybe(&Program::bytes, {like[0], like[like.rank - 1]}), one_of<Mask::Meaning>(2)};
  }
  Tensor constant(const Shape& shape) {
    int64_t count = 1;
    for (int i = 0; i < std::min(shape.rank, kMaxRank); ++i)
      if (__builtin_mul_overflow(count, shape[i].value, &count)) count = 0;
    if (r.one_in(20)) count ^= 1;
    const std::vector<float> values(static_cast<size_t>(count < 0 || count > 100000 ? 0 : count), 0.25f);
    return graph.constant(name(), shape, values);
  }
  Tensor usual(int rank) {  // a tensor of this rank, usually
    for (int i = 0; i < 6; ++i)
      if (const Tensor t = tensor(); graph.shape(t).rank == rank) return remember(t);
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(dim());
    return remember(source(shape, r.one_in(6) ? dtype() : last_type_));
  }
  Tensor remember(Tensor t) {
    last_type_ = graph.dtype(t);
    return t;
  }
  Dim last_dim(Tensor t) {
    const Shape shape = graph.shape(t);
    return shape.rank > 0 && !r.one_in(10) ? shape[shape.rank - 1] : dim();
  }

  nn::MultiHeadOptions heads(const Shape& like) {
    nn::MultiHeadOptions o;
    o.heads = number(r.pick({1, 1, 2, 4}));
    if (r.one_in(4)) o.kv_heads = number(1);
    if (r.one_in(4)) o.d_k = number(4);
    if (r.one_in(4)) o.d_v = number(3);
    if (r.one_in(4)) o.out_width = number(5);
    o.bias = r.coin();
    o.out_bias = r.coin();
    o.weight_dtype = maybe_dtype();
    o.scale = maybe_factor();
    o.causal = one_of<Causal>(3);
    if (r.one_in(3) && like.rank == 3) o.key_padding = padding({like[0], like[1]});
    o.masked_fill = maybe_factor();
    if (r.one_in(3)) o.attention_dropout = factor();
    if (r.one_in(3)) o.output_dropout = factor();
    return o;
  }
  nn::FeedForwardOptions feed_forward() {
    nn::FeedForwardOptions o;
    if (r.coin()) o.hidden = number(6);
    o.activation = one_of<Activation>(6);
    o.weight_dtype = maybe_dtype();
    if (r.one_in(3)) o.hidden_dropout = factor();
    if (r.one_in(3)) o.output_dropout = factor();
    return o;
  }

  void call();
  // Makes a call on a copy. The copy becomes the graph if the call succeeded, and sometimes if it did not.
  bool step() {
    Graph before = graph;
    call();
    if (graph.status() == Status::Ok) {
      CHECK(std::string(graph.error()).empty());
      return true;
    }
    CHECK_FALSE(std::string(graph.error()).empty());
    const std::string first = graph.error();
    call();  // after a failure nothing happens
    CHECK(graph.error() == first);
    if (r.one_in(50)) return false;
    graph = r.coin() ? std::move(before) : before;
    if (r.coin()) (void)before.scale(tensor(), 2);  // possibly moved-from
    return true;
  }

 private:
  Graph other_;
  Dim other_dim_;
  Tensor foreign_;
  int64_t names_ = 0;
  DType last_type_ = DType::F32;
};

// Draws calls, checks their results, and adds outputs.
inline Program random_program(Random& random) {
  Program program(random);
  const int64_t steps = 2 + random.below(16);
  bool whole = true;
  for (int64_t i = 0; i < steps && whole; ++i) whole = program.step();
  for (int i = 0; i < 2; ++i) program.graph.output(std::string("y").append(std::to_string(i)), program.tensor());
  return program;
}

// Random values, sometimes extreme ones.
void fill(Random& r, DType dtype, std::vector<std::byte>* bytes);
// Uploads the graph's weights, sometimes with a mistake.
Status upload_weights(Random& r, Device& device, const Graph& graph, Weights* weights);

}  // namespace heed::test
