// The calls of random programs. Each draws arguments that mostly fit together.
#include "hostile/program.hpp"

#include <list>

#include "cases/op_case.hpp"

namespace heed::test {
namespace {

using Call = void (*)(Program& p);
const Call kCalls[] = {
    [](Program& p) { (void)p.source(p.shape(), p.dtype()); },
    [](Program& p) { (void)p.ids(p.shape(3)); },
    [](Program& p) { (void)p.graph.reshape(p.tensor(), p.shape()); },
    [](Program& p) {
      const Tensor x = p.tensor();
      const Shape s = p.graph.shape(x);
      Shape to;
      if (s.rank < 2) return;
      for (int i = 0; i < s.rank; ++i) to.push_back(s[(i + 1) % s.rank]);
      (void)p.graph.reshape(x, to);
    },
    [](Program& p) {
      std::vector<int> axes;
      const int rank = p.r.one_in(10) ? p.axis() & 7 : p.graph.shape({0}).rank;
      for (int i = 0; i < rank; ++i) axes.push_back(p.r.one_in(10) ? p.axis() : rank - 1 - i);
      (void)p.graph.permute(p.r.coin() ? Tensor{0} : p.tensor(), axes);
    },
    [](Program& p) { (void)p.graph.transpose(p.tensor(), p.axis(), p.axis()); },
    [](Program& p) { (void)p.graph.slice(p.tensor(), p.axis(), p.number(p.r.below(3)), p.dim()); },
    [](Program& p) { (void)p.graph.select(p.tensor(), p.axis(), p.number(p.r.below(3))); },
    [](Program& p) {
      const Tensor a = p.usual(static_cast<int>(2 + p.r.below(3)));
      const MatmulOptions o{p.r.coin(), p.r.coin(), p.factor()};
      const Shape s = p.graph.shape(a);
      if (s.rank < 2) return (void)p.graph.matmul(a, p.tensor(), o);
      const Dim k = s[s.rank - (o.transpose_a ? 2 : 1)], n = p.dim();
      Shape b = o.transpose_b ? Shape{n, k} : Shape{k, n};
      if (p.r.one_in(3) && s.rank > 2) b = o.transpose_b ? Shape{s[0], n, k} : Shape{s[0], k, n};
      (void)p.graph.matmul(a, p.r.one_in(6) ? p.tensor() : p.source(b, p.r.one_in(4) ? p.dtype() : p.graph.dtype(a)),
                           o);
    },
    [](Program& p) {
      const Tensor x = p.tensor();
      const Dim out = p.dim();
      const Tensor w = p.graph.weight(p.name(), {out, p.last_dim(x)}, p.r.one_in(4) ? p.dtype() : p.graph.dtype(x));
      (void)p.graph.linear(x, w, p.r.coin() ? p.graph.weight(p.name(), {out}, p.graph.dtype(x)) : Tensor{});
    },
    [](Program& p) {  // quantized blocks, also where they are not allowed
      const int64_t k = p.r.pick({32, 64, 256, 512, 48, 0});
      const Tensor w = p.graph.weight(p.name(), {p.dim(), k}, static_cast<DType>(p.r.below(kDTypes + 1)));
      const Tensor part = p.r.coin() ? w : p.graph.slice(w, p.axis(), p.number(p.r.below(40)), p.dim());
      if (p.r.one_in(4)) return (void)p.graph.embedding(part, p.ids({p.dim()}), p.maybe_dtype());
      if (p.r.one_in(4))
        return (void)p.graph.matmul(p.source({p.dim(), k}, p.dtype()), part, {.transpose_b = p.r.coin()});
      (void)p.graph.linear(p.source({p.dim(), k}, p.dtype()), part);
    },
    [](Program& p) {
      const Tensor x = p.usual(static_cast<int>(1 + p.r.below(4)));
      const Shape s = p.graph.shape(x);
      SoftmaxOptions o{p.factor(), p.one_of<Causal>(3), p.padding(s), p.mask(s), {}, p.maybe_factor()};
      p.remember(x);
      o.bias = p.maybe(&Program::like, p.fitting(s));
      (void)p.graph.softmax(x, o);
    },
    [](Program& p) {
      const Tensor x = p.remember(p.tensor());
      const Shape row{p.last_dim(x)};
      (void)p.graph.layernorm(x, p.maybe(&Program::like, row), p.maybe(&Program::like, row), p.factor());
    },
    [](Program& p) {
      const Tensor x = p.remember(p.tensor());
      (void)p.graph.rmsnorm(x, p.maybe(&Program::like, {p.last_dim(x)}), p.factor());
    },
    [](Program& p) { (void)p.graph.l2_normalize(p.tensor(), p.factor()); },
    [](Program& p) {
      (void)p.graph.rotary(p.tensor(), {.width = p.number(8), .base = p.factor(), .positions = p.tensor()});
    },
    [](Program& p) { (void)p.graph.argmax(p.tensor(), p.axis(), p.r.coin(), p.r.coin()); },
    [](Program& p) { (void)p.graph.top_k(p.tensor(), p.number(8), p.axis(), p.r.coin()); },
    [](Program& p) { (void)p.graph.cumsum(p.tensor(), p.axis(), p.r.coin(), p.r.coin()); },
    [](Program& p) {
      const int axes[] = {p.axis(), p.axis(), p.axis()};
      (void)p.graph.reduce(p.tensor(), p.one_of<Reduction>(8),
                           std::span<const int>(axes, static_cast<size_t>(p.r.below(4))), p.r.coin());
    },
    [](Program& p) { (void)p.graph.cross_entropy(p.tensor(), p.ids({p.dim()}), p.factor()); },
    [](Program& p) {
      const Tensor x = p.remember(p.tensor());
      (void)p.graph.sample(x, {.previous = p.maybe(&Program::ids, {p.dim()}),
                               .repetition_penalty = p.factor(),
                               .bias = p.maybe(&Program::like, {p.last_dim(x)}),
                               .temperature = p.factor(),
                               .top_k = p.number(8),
                               .top_p = p.factor(),
                               .step = p.dim(),
                               .seeds = p.maybe(&Program::ids, {p.r.one_in(3) ? p.dim() : 1})});
    },
    [](Program& p) {
      const Tensor q = p.usual(4);
      const Shape s = p.graph.shape(q);
      if (s.rank != 4) return;
      const Dim keys = p.dim(), groups = p.r.one_in(4) ? p.dim() : s[1];
      const Tensor k = p.r.one_in(4) ? q : p.like({s[0], groups, keys, s[3]});
      const Tensor v =
          p.r.one_in(4) ? k : p.like({s[0], groups, p.graph.shape(k).rank == 4 ? p.graph.shape(k)[2] : keys, p.dim()});
      const Shape scores{s[0], s[1], s[2], p.graph.shape(k).rank == 4 ? p.graph.shape(k)[2] : keys};
      AttentionOptions o{.scale = p.maybe_factor(),
                         .softcap = p.r.one_in(4) ? p.factor() : 0.0f,
                         .causal = p.one_of<Causal>(3),
                         .window = p.r.one_in(4) ? p.number(3) : 0,
                         .window_ahead = p.r.one_in(4) ? p.number(3) : 0,
                         .key_padding = p.padding(scores),
                         .mask = p.mask(scores),
                         .bias = {},
                         .masked_fill = p.maybe_factor(),
                         .dropout = p.r.one_in(3) ? p.factor() : 0.0f,
                         .return_weights = p.r.one_in(4),
                         .return_log_sum_exp = p.r.one_in(4),
                         .return_scores = p.one_of<Scores>(4)};
      p.remember(q);
      o.bias = p.maybe(&Program::like, p.fitting(scores));
      (void)p.graph.attention(q, k, v, o);
    },
    [](Program& p) {
      (void)p.graph.dropout(p.tensor(), p.factor(), p.r.coin() ? std::optional<uint32_t>(UINT32_MAX) : std::nullopt);
    },
    [](Program& p) {
      const Tensor table = p.usual(2);
      (void)p.graph.embedding(table, p.r.one_in(4) ? p.tensor() : p.ids(p.shape(3)), p.maybe_dtype());
    },
    [](Program& p) { (void)p.graph.positional_encoding(p.tensor()); },
    [](Program& p) {
      const Tensor x = p.remember(p.tensor());
      (void)p.graph.add(x, p.like(p.fitting(p.graph.shape(x))));
    },
    [](Program& p) { (void)p.graph.mul(p.tensor(), p.tensor()); },
    [](Program& p) {
      // Existing tensors, concatenated along their rows.
      const Tensor rows = p.remember(p.tensor());
      Shape whole = p.graph.shape(rows);
      if (whole.rank < 1 || whole.rank > kMaxRank) return;
      const int axis = p.r.one_in(12) ? p.axis() : static_cast<int>(p.r.below(whole.rank));
      for (int i = 0; i < whole.rank; ++i)
        if (!p.r.one_in(20)) whole[i] = whole[i].value;
      if (axis >= 0 && axis < whole.rank) whole[axis] = p.number(whole[axis].value + p.r.below(4));
      Tensor state = p.graph.state(p.name(), whole, p.r.one_in(8) ? p.dtype() : p.graph.dtype(rows));
      for (int i = 0; i < whole.rank; ++i)
        if (i != axis) state = p.graph.slice(state, i, 0, p.graph.shape(rows)[i]);
      const Tensor written = p.graph.append(p.r.one_in(20) ? p.tensor() : state, rows, axis,
                                            p.r.coin() ? p.graph.position("p", 3) : Dim(p.number(p.r.below(3))));
      if (p.r.one_in(3)) (void)p.graph.scale(p.r.one_in(10) ? state : written, 2.0f);
    },
    [](Program& p) {
      const Tensor value = p.tensor();
      Shape whole = p.graph.shape(value);
      for (int i = 0; i < std::min(whole.rank, kMaxRank); ++i) whole[i] = whole[i].value;
      const Tensor state = p.r.one_in(8) ? p.tensor() : p.graph.state(p.name(), whole, p.graph.dtype(value));
      (void)p.graph.assign(state, p.r.one_in(4) ? p.graph.scale(state, 0.5f) : value);
    },
    [](Program& p) {
      // Any operation, with sizes of this graph.
      const std::vector<const OpCase*> cases = all_cases();
      std::array<Dim, 5> sizes;
      for (Dim& size : sizes)
        if (!p.r.one_in(4)) size = p.dim();
      CaseGraph made(p.graph, p.name(), p.dtype(), sizes);
      cases[static_cast<size_t>(p.r.below(static_cast<int64_t>(cases.size())))]->build(made);
      p.graph = std::move(made.graph);
    },
    [](Program& p) { (void)p.graph.scale(p.tensor(), p.factor()); },
    [](Program& p) {
      const Tensor y = p.remember(p.tensor());
      const train::Upstream output{y, p.r.one_in(6) ? Tensor{} : p.like(p.r.one_in(10) ? p.shape() : p.graph.shape(y))};
      const Tensor of[] = {p.tensor(), p.r.one_in(4) ? y : p.tensor()};
      for (const Tensor gradient : train::gradients(p.graph, std::span(&output, 1), of))
        if (gradient.valid()) (void)p.graph.scale(gradient, 0.5f);
    },
    [](Program& p) { (void)p.graph.activation(p.tensor(), p.one_of<Activation>(6)); },
    [](Program& p) { (void)p.graph.cast(p.tensor(), p.dtype()); },
    [](Program& p) {
      const Tensor x = p.tensor();
      const Shape s = p.graph.shape(x);
      const bool masked = p.r.one_in(3) && s.rank == 3;
      (void)p.graph.mean(x, masked ? 1 : p.axis(), masked ? Mask{p.bytes({s[0], s[1]})} : Mask{});
    },
    [](Program& p) {
      std::vector<Tensor> parts(static_cast<size_t>(p.r.one_in(10) ? p.r.below(40) : 1 + p.r.below(4)), p.tensor());
      if (p.r.one_in(3) && !parts.empty()) parts.back() = p.tensor();
      (void)p.graph.concat(parts, p.axis());
    },
    [](Program& p) { (void)nn::linear(p.graph, p.tensor(), p.name(), p.number(4), p.r.coin(), p.maybe_dtype()); },
    [](Program& p) { (void)nn::layernorm(p.graph, p.tensor(), p.name(), p.factor()); },
    [](Program& p) {
      const Tensor x = p.usual(static_cast<int>(2 + p.r.below(2)));
      (void)nn::self_attention(p.graph, x, p.name(), p.heads(p.graph.shape(x)));
    },
    [](Program& p) {
      const Tensor x = p.usual(3), y = p.r.coin() ? p.usual(3) : x;
      (void)nn::cross_attention(p.graph, x, y, p.name(), p.heads(p.graph.shape(y)));
    },
    [](Program& p) {
      const Tensor x = p.usual(static_cast<int>(2 + p.r.below(2)));
      (void)nn::single_head(p.graph, x, x, x, {.causal = p.one_of<Causal>(3), .return_weights = p.r.coin()});
    },
    [](Program& p) { (void)nn::feed_forward(p.graph, p.tensor(), p.name(), p.feed_forward()); },
    [](Program& p) {
      const Tensor x = p.usual(3);
      nn::EncoderLayerOptions o;
      o.attention = p.heads(p.graph.shape(x));
      o.feed_forward = p.feed_forward();
      o.norm = {p.one_of<nn::NormPlacement>(2), p.factor()};
      (void)nn::encoder_stack(p.graph, x, p.name(), o, {static_cast<int>(p.number(1))});
    },
    [](Program& p) {
      BertConfig c{.vocabulary = p.number(9),
                   .width = p.number(8),
                   .layers = p.number(1),
                   .heads = p.number(2),
                   .hidden = p.number(4),
                   .positions = p.number(64),
                   .types = p.number(2),
                   .activation = p.one_of<Activation>(6),
                   .eps = p.factor()};
      BertOptions o;
      o.dtype = p.dtype();
      o.weight_dtype = p.maybe_dtype();
      o.pooler = p.r.coin();
      o.attention = p.r.coin();
      const Tensor ids = p.ids(p.shape(2));
      (void)nn::bert(p.graph, ids, p.mask(p.graph.shape(ids)), c, o);
    },
};

}  // namespace

void Program::call() { kCalls[r.below(static_cast<int64_t>(std::size(kCalls)))](*this); }

void fill(Random& r, DType dtype, std::vector<std::byte>* bytes) {
  const bool wild = r.one_in(8);
  if (is_quantized(dtype)) {
    for (std::byte& byte : *bytes) byte = static_cast<std::byte>(r.below(256));
    return;
  }
  for (size_t i = 0; i + size_of(dtype) <= bytes->size(); i += size_of(dtype)) {
    uint32_t word = static_cast<uint32_t>(r.next());
    if (dtype == DType::F32 && !wild) {
      const float value = static_cast<float>(word % 2001) / 1000.0f - 1.0f;
      std::memcpy(&word, &value, sizeof value);
    }
    if (dtype == DType::I32 && !wild) word %= 4;
    if (dtype == DType::U8) word &= 1;
    if (dtype == DType::F16 && !wild) word = (word & 0x83ff) | 0x3800;
    if (dtype == DType::BF16 && !wild) word = (word & 0x807f) | 0x3f00;
    std::memcpy(bytes->data() + i, &word, size_of(dtype));
  }
}

Status upload_weights(Random& r, Device& device, const Graph& graph, Weights* weights) {
  std::list<std::vector<std::byte>> data;
  std::list<std::vector<int64_t>> shapes;
  std::vector<HostTensor> tensors;
  for (const detail::NamedTensor& named : graph.data().weights) {
    const Shape shape = graph.shape({named.tensor});
    std::vector<int64_t>& sizes = shapes.emplace_back();
    uint64_t elements = 1;
    for (int i = 0; i < shape.rank; ++i)
      sizes.push_back(shape[i].value), elements *= static_cast<uint64_t>(shape[i].value);
    uint64_t bytes = bytes_of(graph.dtype({named.tensor}), elements);
    if (r.one_in(60)) bytes ^= 1;
    if (r.one_in(60)) sizes[0] = r.pick({0, -1, INT64_MAX});
    data.emplace_back(bytes > (1u << 22) ? 0 : bytes);
    fill(r, graph.dtype({named.tensor}), &data.back());
    tensors.push_back({named.name, r.one_in(80) ? static_cast<DType>(r.below(256)) : graph.dtype({named.tensor}), sizes,
                       data.back()});
    if (r.one_in(80)) tensors.push_back(tensors.back());
    if (r.one_in(80)) tensors.pop_back();
  }
  UploadOptions options;
  options.keep_dtype = !r.one_in(20);
  options.dtype = r.one_in(3) ? static_cast<DType>(r.below(256)) : DType::F32;
  (void)device.upload_bytes(tensors, options);
  return device.upload(tensors, weights, options);
}

}  // namespace heed::test
