// Draws the operations. Each reads earlier values or new sources.
#include "ops/composition.hpp"

#include <cmath>
#include <utility>

#include "ops/composer.hpp"

namespace heed::ops {
namespace {

class Operations : private Composer {
 public:
  Operations(DType dtype, uint64_t seed) : Composer(dtype, seed) {}

  Composition compose() {
    source(drawn_shape(3));
    const int64_t calls = 1 + random_.below(8);
    for (int64_t i = 0; i < calls; ++i) call();
    return finish();
  }

 private:
  using Make = void (Operations::*)();

  void call() {
    static constexpr Make kCalls[] = {
        &Operations::linear,   &Operations::linear,  &Operations::attention,    &Operations::attention,
        &Operations::matmul,   &Operations::matmul,  &Operations::add,          &Operations::mul,
        &Operations::activate, &Operations::dropout, &Operations::norm,         &Operations::softmax,
        &Operations::turn,     &Operations::cut,     &Operations::reshape,      &Operations::concat,
        &Operations::concat,   &Operations::mean,    &Operations::encode,       &Operations::embed,
        &Operations::rotate,   &Operations::keep,    &Operations::keep_between, &Operations::keep_rows,
        &Operations::recall,   &Operations::renew,   &Operations::convolve,     &Operations::spell_rotary};
    (this->*kCalls[random_.below(static_cast<int64_t>(std::size(kCalls)))])();
    // Chains of elementwise operations, which heed fuses into one.
    static constexpr Make kLinks[] = {&Operations::add,      &Operations::add,     &Operations::add,
                                      &Operations::mul,      &Operations::scale,   &Operations::activate,
                                      &Operations::activate, &Operations::dropout, &Operations::norm,
                                      &Operations::cast,     &Operations::turn};
    for (int64_t i = random_.below(5); i > 0; --i) {
      link_ = last_value();
      (this->*kLinks[random_.below(static_cast<int64_t>(std::size(kLinks)))])();
      link_ = -1;
    }
  }

  void linear() {
    const auto found = pick([&](int v) { return rank(v) >= 2 && rank(v) <= 4 && last(v).is_constant(); });
    const int x = found ? *found : source(drawn_shape(3));
    const int64_t in = last(x).value, out = random_.coin() ? in : width().value;
    DType type = dtype(x);
    if (type == DType::F32 && random_.one_in(6)) type = random_.coin() ? DType::F16 : DType::BF16;
    const int w = source({out, in}, std::sqrt(3.0 / static_cast<double>(in)), type);
    const int b = random_.coin() ? source({out}, 1.0, dtype(x)) : -1;
    // Processors with dot products of bf16 round x to bf16.
    const bool rounds = type == DType::BF16 && dtype(x) == DType::F32;
    const Tensor y = g().linear(tensor(x), tensor(w), b >= 0 ? tensor(b) : Tensor{});
    operation("linear", {x, w, b}, "", y, [=](Evaluation& e) {
      const Array left = rounds ? stored(DType::BF16, of(e, x)) : of(e, x);
      const Array product = ops::matmul(left, transposed(of(e, w)));
      return b >= 0 ? ops::add(product, of(e, b)) : product;
    });
  }

  // Element `at` of each window along axis 1 of x [B, S, C], after padding: [B, windows, C].
  static Array tap(const Array& x, int64_t at, int64_t windows, int64_t stride) {
    Array y({x.shape[0], windows, x.shape[2]});
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t row = i / y.shape[2] % windows, batch = i / y.shape[2] / windows;
      const int64_t from = (batch * x.shape[1] + row * stride + at) * x.shape[2] + i % x.shape[2];
      y.at(i) = x.at(from);
      y.err(i) = x.err(from);
    }
    return y;
  }
  // Mixes all channels by a matmul, or convolves each channel alone. The padding is a window's length less one, so that even the shortest
  // line has a window.
  void convolve() {
    const auto found = pick([&](int v) { return rank(v) == 3 && last(v).is_constant(); });
    const int x = found ? *found : source(drawn_shape(3));
    const bool apart = random_.one_in(4);
    const int64_t channels = last(x).value, out = apart ? channels : width().value, size = random_.pick({1, 2, 3, 5});
    const int64_t stride = random_.pick({1, 1, 2, 3}), before = random_.below(size), behind = size - 1 - before;
    const int64_t each = apart ? 1 : channels;
    const int w = source({out, size, each}, std::sqrt(3.0 / static_cast<double>(size * each)), dtype(x));
    const int b = random_.coin() ? source({out}, 1.0, dtype(x)) : -1;
    const std::string text =
        std::to_string(size) + " of stride " + std::to_string(stride) + (apart ? ", each channel" : "");
    const Tensor y = g().conv1d(tensor(x), tensor(w), b >= 0 ? tensor(b) : Tensor{},
                                {.stride = stride, .before = before, .behind = behind});
    operation("conv1d", {x, w, b}, text, y, [=](Evaluation& e) {
      const Array& rows = of(e, x);
      const int64_t batch = rows.shape[0], windows = (rows.shape[1] - 1) / stride + 1;
      const Array padded =
          ops::concat({filled({batch, before, channels}, 0.0), rows, filled({batch, behind, channels}, 0.0)}, 1);
      std::vector<Array> taps;
      for (int64_t i = 0; i < size; ++i) taps.push_back(tap(padded, i, windows, stride));
      Array sum;
      if (!apart) {
        sum = ops::matmul(ops::concat(taps, 2), transposed(ops::reshape(of(e, w), {out, size * each})));
        return b >= 0 ? ops::add(sum, of(e, b)) : sum;
      }
      if (b >= 0) sum = of(e, b);
      for (int64_t i = 0; i < size; ++i) {
        const Array factor = ops::reshape(slice(of(e, w), 1, i, 1), {channels});
        const Array term = ops::mul(taps[static_cast<size_t>(i)], factor);
        sum = sum.shape.empty() ? term : ops::add(sum, term);
      }
      return sum;
    });
  }

  void matmul() {
    const int a = of_rank(2, 4);
    const Shape s = shape(a);
    const auto outer_fits = [&](int v) {
      bool fits = rank(v) == s.rank && dtype(v) == dtype(a);
      for (int i = 0; fits && i + 2 < s.rank; ++i) fits = shape(v)[i] == s[i];
      return fits;
    };
    MatmulOptions o;
    o.transpose_a = random_.one_in(3), o.transpose_b = random_.coin();
    const Dim k = s[s.rank - (o.transpose_a ? 2 : 1)];
    const auto found = pick([&](int v) { return outer_fits(v) && last(v, o.transpose_b ? 0 : 1) == k; });
    Shape fresh = s;
    fresh[s.rank - 1] = o.transpose_b ? k : width();
    fresh[s.rank - 2] = o.transpose_b ? width() : k;
    const int b = found && !random_.one_in(4) ? *found : source(fresh);
    o.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(k.value)));
    operation("matmul", {a, b}, std::string(o.transpose_a ? "a^T " : "") + (o.transpose_b ? "b^T" : ""),
              g().matmul(tensor(a), tensor(b), o), [=](Evaluation& e) {
                return ops::matmul(o.transpose_a ? transposed(of(e, a)) : of(e, a),
                                   o.transpose_b ? transposed(of(e, b)) : of(e, b), static_cast<double>(o.scale));
              });
  }

  void add() {
    const int x = of_rank(1, 4), y = beside(x);
    operation("add", {x, y}, "", g().add(tensor(x), tensor(y)),
              [=](Evaluation& e) { return ops::add(of(e, x), of(e, y)); });
  }
  void mul() {
    const int x = of_rank(1, 4), y = beside(x);
    operation("mul", {x, y}, "", g().mul(tensor(x), tensor(y)),
              [=](Evaluation& e) { return ops::mul(of(e, x), of(e, y)); });
  }
  void scale() {
    const int x = of_rank(1, 4);
    const float factor = static_cast<float>(random_.pick({-3, 1, 2, 6})) / 4.0f;
    operation("scale", {x}, "", g().scale(tensor(x), factor),
              [=](Evaluation& e) { return ops::scale(of(e, x), static_cast<double>(factor)); });
  }
  void activate() {
    const int x = of_rank(1, 4);
    const auto kind = static_cast<Activation>(1 + random_.below(5));
    operation("activation", {x}, std::to_string(static_cast<int>(kind)), g().activation(tensor(x), kind),
              [=](Evaluation& e) { return activation(of(e, x), kind); });
  }
  void dropout() {
    const int x = of_rank(1, 4);
    const bool own = random_.one_in(3), on = t().options.training;
    const uint32_t stream = own ? static_cast<uint32_t>(random_.next()) : streams_;
    ++streams_;
    operation("dropout", {x}, "", g().dropout(tensor(x), 0.25f, own ? std::optional(stream) : std::nullopt),
              [=](Evaluation& e) { return on ? ops::dropout(of(e, x), 0.25, e.run.options.seed, stream) : of(e, x); });
  }
  void cast() {  // devices without 16-bit storage run trials in F32
    if (t().dtype == DType::F32) return;
    if (const auto x = pick([&](int) { return true; })) {
      const DType to = dtype(*x) == t().dtype ? DType::F32 : t().dtype;
      operation("cast", {*x}, "", g().cast(tensor(*x), to), [=, v = *x](Evaluation& e) { return of(e, v); });
    }
  }

  void norm() {
    const int x = of_rank(1, 4);
    const int64_t kind = random_.below(5);
    constexpr float kEps = 1e-3f;
    const auto eps = static_cast<double>(kEps);
    if (kind == 4) {
      const RowOperation& one = any_row_operation(random_);
      operation(one.name, {x}, "", one.build(g(), tensor(x), kEps),
                [=](Evaluation& e) { return one.compute(of(e, x), eps); });
      return;
    }
    const int gamma = random_.coin() ? source({last(x)}, 1.5, dtype(x)) : -1,
              beta = kind < 3 && random_.coin() ? source({last(x)}, 1.0, dtype(x)) : -1;
    const Tensor gt = gamma >= 0 ? tensor(gamma) : Tensor{}, bt = beta >= 0 ? tensor(beta) : Tensor{};
    operation(kind < 3 ? "layernorm" : "rmsnorm", {x, gamma, beta},
              std::string(gamma >= 0 ? "gamma" : "") + (beta >= 0 ? " beta" : ""),
              kind < 3 ? g().layernorm(tensor(x), gt, bt, kEps) : g().rmsnorm(tensor(x), gt, kEps), [=](Evaluation& e) {
                const Array *scales = gamma >= 0 ? &of(e, gamma) : nullptr,
                            *shifts = beta >= 0 ? &of(e, beta) : nullptr;
                return kind < 3 ? layernorm(of(e, x), scales, shifts, eps) : rmsnorm(of(e, x), scales, eps);
              });
  }

  // The masks and the bias of softmax or attention, for scores of this shape.
  struct Masking {
    Causal causal = Causal::None;
    std::optional<DrawnMask> padding, mask;
    int bias = -1;
    std::optional<float> fill;
    double scale = 1.0;
    std::string text;

    bool leaves_a_key() const { return causal != Causal::BottomRight && !padding && !mask; }
  };
  Masking drawn_masking(const Shape& scores, DType type) {
    Masking m;
    if (random_.coin()) m.causal = static_cast<Causal>(1 + random_.below(2));
    if (random_.one_in(3)) {
      m.padding = drawn_mask({scores[0], scores[scores.rank - 1]});
      m.text += " padding";
    }
    if (random_.one_in(3)) {
      m.mask = drawn_mask(broadcast_to(scores));
      m.text += " mask";
    }
    if (random_.one_in(3)) {
      m.bias = source(broadcast_to(scores), 2.0, type);
      m.text += " bias";
    }
    if (random_.one_in(5)) m.fill = -30.0f;
    if (m.causal != Causal::None) m.text += m.causal == Causal::TopLeft ? " top-left" : " bottom-right";
    return m;
  }
  template <class Options>
  void set(const Masking& m, Options* o) {
    o->causal = m.causal;
    if (m.padding) o->key_padding = m.padding->mask;
    if (m.mask) o->mask = m.mask->mask;
    if (m.bias >= 0) o->bias = tensor(m.bias);
    o->masked_fill = m.fill;
  }
  SoftmaxReference reference(Evaluation& e, const Masking& m) {
    SoftmaxReference r;
    r.scale = m.scale;
    r.causal = m.causal;
    if (m.padding) {
      r.key_padding = &values_of(e, *m.padding);
      r.key_padding_keeps = m.padding->keeps;
    }
    if (m.mask) {
      r.mask = &values_of(e, *m.mask);
      r.mask_keeps = m.mask->keeps;
    }
    if (m.bias >= 0) r.bias = &of(e, m.bias);
    if (m.fill) r.masked_fill = static_cast<double>(*m.fill);
    return r;
  }

  void softmax() {
    const int x = of_rank(2, 4);
    Masking m = drawn_masking(shape(x), dtype(x));
    SoftmaxOptions o;
    set(m, &o);
    m.scale = 0.5;
    o.scale = 0.5f;
    operation("softmax", {x, m.bias}, m.text, g().softmax(tensor(x), o),
              [=, this](Evaluation& e) { return ops::softmax(of(e, x), reference(e, m)); });
  }

  // Heads of a projection [B, S, C]: a view [B, H, S, C / H].
  Tensor heads_of(int x, int64_t heads) {
    const Shape s = shape(x);
    return g().transpose(g().reshape(tensor(x), {s[0], s[1], heads, s[2].value / heads}), 1, 2);
  }
  // The values of these heads, each `repeat` times, as the queries of its group read them.
  static Array heads_of(const Array& x, int64_t heads, int64_t repeat) {
    const Array apart = permute(ops::reshape(x, {x.shape[0], x.shape[1], heads, x.shape[2] / heads}), {0, 2, 1, 3});
    const int64_t b = apart.shape[0], s = apart.shape[2], d = apart.shape[3];
    return ops::reshape(ops::broadcast(ops::reshape(apart, {b, heads, 1, s, d}), {b, heads, repeat, s, d}),
                        {b, heads * repeat, s, d});
  }

  // Heads [B, G, S, d], each `repeat` times.
  Tensor repeated(Tensor heads, int64_t repeat) {
    const Shape s = g().shape(heads);
    if (repeat == 1) return heads;
    const Tensor apart = g().expand(g().reshape(heads, {s[0], s[1], 1, s[2], s[3]}), {s[0], s[1], repeat, s[2], s[3]});
    return g().reshape(apart, {s[0], s[1].value * repeat, s[2], s[3]});
  }
  // Attention as in models of other tools: two matmuls and a softmax, with rows and heads as one dim in some of the matmuls.
  AttentionResult spelled_attention(Tensor query, Tensor key, Tensor value, float factor, const Masking& m) {
    const Shape q = g().shape(query), k = g().shape(key), v = g().shape(value);
    const bool joins = random_.coin();
    const Dim rows = g().dim_product(q[0], q[1]);
    if (joins) {
      query = g().reshape(query, {rows, q[2], q[3]});
      key = g().reshape(key, {rows, k[2], k[3]});
      value = g().reshape(value, {rows, v[2], v[3]});
    }
    const bool scales_first = random_.coin();
    if (scales_first) query = g().scale(query, factor);
    Tensor scores = g().matmul(query, g().transpose(key, -1, -2));
    if (!scales_first) scores = g().scale(scores, factor);
    if (joins) scores = g().reshape(scores, {q[0], q[1], q[2], k[2]});
    SoftmaxOptions o;
    set(m, &o);
    AttentionResult y;
    y.weights = g().softmax(scores, o);
    y.output = g().matmul(joins ? g().reshape(y.weights, {rows, q[2], k[2]}) : y.weights, value);
    if (joins) y.output = g().reshape(y.output, {q[0], q[1], q[2], v[3]});
    return y;
  }

  void attention() {
    const auto found = pick([&](int v) { return rank(v) == 3 && last(v).is_constant() && dtype(v) == t().dtype; });
    const int x = found ? *found : source({batch_, tokens_, random_.pick({8, 16, 48, 64})});
    const Dim batch = shape(x)[0];
    const int64_t width = last(x).value;
    int64_t heads = random_.pick({1, 2, 3, 4});
    while (width % heads != 0) --heads;
    const int64_t groups = heads % 2 == 0 && random_.one_in(3) ? 2 : random_.coin() ? heads : 1;
    const int64_t d_k = width / heads;
    const auto some_keys = pick([&](int v) {
      return rank(v) == 3 && dtype(v) == dtype(x) && shape(v)[0] == batch && last(v) == Dim(groups * d_k);
    });
    const int k = some_keys && !random_.one_in(4)
                      ? *some_keys
                      : source({batch, random_.coin() ? keys_ : tokens_, groups * d_k}, 1.5, dtype(x));
    const auto some_values = pick([&](int v) {
      return rank(v) == 3 && dtype(v) == dtype(x) && shape(v)[0] == batch && shape(v)[1] == shape(k)[1] &&
             last(v).is_constant() && last(v).value % groups == 0 && last(v).value <= 256 * groups;
    });
    const int v = some_values && !random_.one_in(4)
                      ? *some_values
                      : source({batch, shape(k)[1], groups * random_.pick({4, 8, 20})}, 1.0, dtype(x));
    const int64_t d_v = last(v).value / groups;

    Masking m = drawn_masking({batch, heads, shape(x)[1], shape(k)[1]}, dtype(x));
    AttentionOptions o;
    set(m, &o);
    const bool drops = random_.one_in(4), on = drops && t().options.training;
    if (drops) o.dropout = 0.25f;
    const uint32_t stream = drops ? streams_++ : 0;
    o.return_weights = random_.one_in(5), o.return_log_sum_exp = random_.one_in(3);
    const DType type = dtype(x);
    const auto factor = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(d_k))));
    const bool is_spelled = !drops && !o.return_log_sum_exp && random_.coin();
    const AttentionResult y =
        is_spelled ? spelled_attention(heads_of(x, heads), repeated(heads_of(k, groups), heads / groups),
                                       repeated(heads_of(v, groups), heads / groups), static_cast<float>(factor), m)
                   : g().attention(heads_of(x, heads), heads_of(k, groups), heads_of(v, groups), o);
    const auto scores = [=](Evaluation& e) {
      return stored(type, ops::matmul(heads_of(of(e, x), heads, 1),
                                      transposed(heads_of(of(e, k), groups, heads / groups)), factor));
    };
    const auto weights = [=, this](Evaluation& e) { return stored(type, ops::softmax(scores(e), reference(e, m))); };
    const auto output = [=](Evaluation& e) {
      const Array p = weights(e);
      const Array kept = on ? stored(type, ops::dropout(p, 0.25, e.run.options.seed, stream)) : p;
      return ops::matmul(kept, heads_of(of(e, v), groups, heads / groups));
    };
    const std::string text = std::to_string(heads) + " heads, " + std::to_string(groups) + " of keys" +
                             (drops ? " dropout" : "") + (is_spelled ? " spelled out" : "") + m.text;
    if (random_.one_in(4)) {
      operation("attention", {x, k, v, m.bias}, text, y.output, output);
    } else {
      const Shape s = shape(x);
      const Tensor joined = g().reshape(g().transpose(y.output, 1, 2), {s[0], s[1], heads * d_v});
      operation("attention", {x, k, v, m.bias}, text, joined, [=](Evaluation& e) {
        const Array apart = permute(output(e), {0, 2, 1, 3});
        return ops::reshape(apart, {apart.shape[0], apart.shape[1], heads * d_v});
      });
    }
    if (o.return_weights) operation("its weights", {}, "", y.weights, weights);
    if (o.return_log_sum_exp) {
      const int l = operation("its log_sum_exp", {}, "", y.log_sum_exp,
                              [=, this](Evaluation& e) { return log_sum_exp(scores(e), reference(e, m)); });
      if (!m.leaves_a_key()) read_no_more(l);  // -inf
    }
  }

  void turn() {
    const int x = of_rank(2, 4);
    std::vector<int> axes;
    for (int i = 0; i < rank(x); ++i) axes.push_back(i);
    for (size_t i = axes.size(); i-- > 1;)
      std::swap(axes[i], axes[static_cast<size_t>(random_.below(static_cast<int64_t>(i) + 1))]);
    std::string text;
    for (const int axis : axes) text += std::to_string(axis);
    view("permute", {x}, text, g().permute(tensor(x), axes), [=](Evaluation& e) { return permute(of(e, x), axes); });
  }
  void cut() {
    const int x = of_rank(2, 4), axis = static_cast<int>(random_.below(rank(x)));
    const Dim whole = shape(x)[axis];
    const int64_t begin = whole.is_constant() ? random_.below(whole.value) : 0,
                  size = whole.is_constant() ? 1 + random_.below(whole.value - begin) : 1;
    const bool select = size == 1 && random_.coin();
    const Tensor y = select ? g().select(tensor(x), axis, begin) : g().slice(tensor(x), axis, begin, size);
    view(select ? "select" : "slice", {x}, std::to_string(axis) + " from " + std::to_string(begin), y,
         [=](Evaluation& e) {
           Array part = slice(of(e, x), axis, begin, size);
           if (select) part.shape.erase(part.shape.begin() + axis);
           return part;
         });
  }
  // Splits the last axis, or joins the last two.
  void reshape() {
    const int x = of_rank(2, 4);
    const Dim inner = last(x), outer = last(x, 1);
    Shape to = shape(x);
    if (inner.is_constant() && outer.is_constant() && random_.coin()) {
      to.rank -= 2;
      to.push_back(outer.value * inner.value);
    } else if (inner.is_constant() && inner.value % 2 == 0 && to.rank < 4) {
      to[to.rank - 1] = inner.value / 2;
      to.push_back(2);
    } else {
      return;
    }
    // A copy, if the view's elements are not contiguous.
    view("reshape", {x}, "", g().reshape(tensor(x), to), [=](Evaluation& e) { return ops::reshape(of(e, x), e(to)); });
  }

  void concat() {
    const int x = of_rank(1, 4), axis = static_cast<int>(random_.below(rank(x)));
    Shape other = shape(x);
    if (random_.coin()) other[axis] = random_.pick({1, 3, 4});
    const int y = random_.one_in(3) ? x : source(other, 1.0, dtype(x));
    const bool thrice = random_.one_in(4);
    const Tensor a = tensor(x), b = tensor(y);
    operation("concat", {x, y}, "axis " + std::to_string(axis) + (thrice ? " and the first again" : ""),
              thrice ? g().concat({a, b, a}, axis) : g().concat({a, b}, axis), [=](Evaluation& e) {
                std::vector<Array> parts = {of(e, x), of(e, y)};
                if (thrice) parts.push_back(of(e, x));
                return ops::concat(parts, axis);
              });
  }
  void mean() {
    const int x = of_rank(2, 4), axis = static_cast<int>(random_.below(rank(x)));
    std::optional<DrawnMask> mask;
    if (rank(x) == 3 && axis == 1 && random_.coin()) mask = drawn_mask({shape(x)[0], shape(x)[1]});
    operation("mean", {x}, "axis " + std::to_string(axis) + (mask ? " masked" : ""),
              g().mean(tensor(x), axis, mask ? mask->mask : Mask{}), [=, this](Evaluation& e) {
                return ops::mean(of(e, x), axis, mask ? &values_of(e, *mask) : nullptr, mask && mask->keeps);
              });
  }
  void encode() {
    const auto found = pick([&](int v) { return rank(v) >= 2 && last(v).is_constant() && last(v).value % 2 == 0; });
    if (!found) return;
    const int x = *found;
    const DType type = dtype(x);
    operation("positional_encoding", {x}, "", g().positional_encoding(tensor(x)), [=](Evaluation& e) {
      const Array& v = of(e, x);
      return ops::add(v, stored(type, sinusoids(v.dim(1), v.dim(0))));
    });
  }
  void rotate() {
    const auto found = pick([&](int v) { return rank(v) >= 2 && last(v).is_constant() && last(v).value >= 2; });
    if (!found) return;
    const int x = *found;
    RotaryOptions options;
    options.pairs = random_.coin() ? RotaryPairs::Halves : RotaryPairs::Adjacent;
    options.width = last(x).value / 2 * 2;
    operation("rotary", {x}, "", g().rotary(tensor(x), options),
              [=](Evaluation& e) { return ops::rotary(of(e, x), options, nullptr); });
  }
  // The same spelled out, with cosines and sines for all rows, of pairs or of elements.
  void spell_rotary() {
    const auto found = pick([&](int v) {
      return rank(v) >= 2 && rank(v) <= 4 && dtype(v) == DType::F32 && last(v).is_constant() && last(v).value >= 2;
    });
    if (!found) return;
    const int x = *found, axis = rank(x) - 1;
    const int64_t n = last(x).value, width = n / 2 * 2, half = width / 2;
    const bool whole = random_.coin();
    const Shape table = {last(x, 1), whole ? width : half};
    const int c = source(table, 1.0, DType::F32), s = source(table, 1.0, DType::F32);
    const Tensor a = g().slice(tensor(x), axis, 0, half), b = g().slice(tensor(x), axis, half, half), cos = tensor(c),
                 sin = tensor(s);
    Tensor y =
        whole
            ? g().add(g().mul(sin, g().concat({g().neg(b), a}, axis)),
                      g().mul(g().slice(tensor(x), axis, 0, width), cos))
            : g().concat({g().sub(g().mul(a, cos), g().mul(b, sin)), g().add(g().mul(a, sin), g().mul(b, cos))}, axis);
    if (width < n) y = g().concat({y, g().slice(tensor(x), axis, width, n - width)}, axis);
    operation("spelled rotary", {x, c, s}, "", y,
              [=](Evaluation& e) { return ops::rotary(of(e, x), RotaryPairs::Halves, width, of(e, c), of(e, s)); });
  }
  void embed() {
    const auto found = pick([&](int v) { return rank(v) == 2 && dtype(v) == t().dtype; });
    const int table = found && random_.coin() ? *found : source({random_.pick({2, 9, 40}), width()});
    const std::string name = fresh_name("i");
    const Tensor ids = g().input(name, {batch_, tokens_}, DType::I32);
    const uint64_t seed = random_.next();
    // Without a stated type, BF16 tables would give F32.
    operation("embedding", {table}, "", g().embedding(tensor(table), ids, dtype(table)), [=, this](Evaluation& e) {
      const Array& rows = of(e, table);
      const Array which = e.run.input(
          name, whole_numbers({e(batch_), e(tokens_)}, seed + static_cast<uint64_t>(e.number), 0, rows.shape[0]),
          DType::I32);
      return embedding(rows, which);
    });
  }

  // A state of the graph, which is zero before each run. Values that read it must not be read any more once it is written.
  struct Kept {
    std::string name;
    Shape shape;
    DType dtype;
    std::vector<int> reads = {};
  };
  Kept& state_for(int x) {
    for (Kept& kept : states_) {
      bool fits = kept.shape.rank == rank(x) && random_.coin();
      for (int i = 0; fits && i < rank(x); ++i) fits = shape(x)[i].value <= kept.shape[i].value;
      if (fits) return kept;
    }
    Shape more;
    for (int i = 0; i < rank(x); ++i) more.push_back(shape(x)[i].value + random_.pick({0, 0, 1, 4}));
    return states_.emplace_back(Kept{fresh_name("s"), more, random_.coin() ? dtype(x) : DType::F32});
  }
  Tensor whole(const Kept& kept) { return g().state(kept.name, kept.shape, kept.dtype); }
  static Array& contents(Evaluation& e, const std::string& name, const Shape& shape) {
    return e.states.try_emplace(name, filled(e(shape), 0.0)).first->second;
  }

  // Writes a value somewhere into a state, and reads rows from that place or from the beginning.
  void keep() {
    const int x = of_rank(2, 4), axis = static_cast<int>(random_.below(rank(x)));
    Kept& kept = state_for(x);
    const Dim rows = shape(x)[axis];
    const DrawnPosition at = drawn_position(kept.shape[axis].value - rows.value);
    Tensor place = whole(kept);
    for (int i = 0; i < rank(x); ++i)
      if (i != axis && shape(x)[i] != kept.shape[i]) place = g().slice(place, i, 0, shape(x)[i]);
    const bool assigns = random_.one_in(3), from_there = assigns || random_.coin();
    Tensor y;
    if (assigns) {
      y = g().assign(g().slice(place, axis, at.dim, rows), tensor(x));
    } else {
      y = g().append(place, tensor(x), axis, at.dim);
      y = g().slice(y, axis, from_there ? at.dim : Dim(0), rows);
    }
    for (const int read : std::exchange(kept.reads, {})) read_views_no_more(read);
    const auto compute = [=, name = kept.name, all = kept.shape, type = kept.dtype](Evaluation& e) {
      const Array& value = of(e, x);
      Array& state = contents(e, name, all);
      const int64_t begin = at.value(e);
      write_into(&state, stored(type, value), axis, begin);
      Array seen = slice(state, axis, from_there ? begin : 0, value.dim(rank_of(value) - 1 - axis));
      for (int i = 0; i < rank_of(value); ++i)
        if (i != axis) seen = slice(seen, i, 0, value.shape[static_cast<size_t>(i)]);
      return seen;
    };
    kept.reads.push_back(
        operation(assigns ? "assign" : "append", {x}, kept.name + " axis " + std::to_string(axis), y, compute));
  }
  // Writes each row of a batch at a position from a tensor, and reads the state from the beginning.
  void keep_rows() {
    const int x = of_rank(2, 4), axis = 1 + static_cast<int>(random_.below(rank(x) - 1));
    Kept& kept = state_for(x);
    const Dim rows = shape(x)[axis], batch = shape(x)[0];
    const int64_t places = kept.shape[axis].value - rows.value + 1;
    const std::string from = fresh_name("w");
    const Tensor begins = g().input(from, {batch}, DType::I32);
    Tensor place = whole(kept);
    for (int i = 0; i < rank(x); ++i)
      if (i != axis && shape(x)[i] != kept.shape[i]) place = g().slice(place, i, 0, shape(x)[i]);
    const Tensor y = g().slice(g().append(place, tensor(x), axis, begins), axis, 0, rows);
    for (const int read : std::exchange(kept.reads, {})) read_views_no_more(read);
    const uint64_t seed = random_.next();
    const auto compute = [=, name = kept.name, all = kept.shape, type = kept.dtype](Evaluation& e) {
      const Array& value = of(e, x);
      Array& state = contents(e, name, all);
      const Array at = e.run.input(
          from, whole_numbers({value.shape[0]}, seed + static_cast<uint64_t>(e.number), 0, places), DType::I32);
      for (int64_t b = 0; b < value.shape[0]; ++b) {
        Array row = slice(state, 0, b, 1);
        write_into(&row, stored(type, slice(value, 0, b, 1)), axis, static_cast<int64_t>(at.at(b)));
        write_into(&state, row, 0, b);
      }
      Array seen = state;
      for (int i = 0; i < rank_of(value); ++i) seen = slice(seen, i, 0, value.shape[static_cast<size_t>(i)]);
      return seen;
    };
    kept.reads.push_back(operation("append", {x}, kept.name + " rows, axis " + std::to_string(axis), y, compute));
  }
  // Writes a state between an operation that reads it and one that reads that operation's result: heed must not fuse the two.
  void keep_between() {
    keep();
    link_ = last_value();
    if (!usable(link_) || dtype(link_) != t().dtype) return;
    random_.coin() ? activate() : add();
    const int before = last_value();
    keep();
    if (!usable(before)) return;
    link_ = before;
    random_.coin() ? activate() : add();
    link_ = -1;
  }
  // Computes a new value of a state, or of a part of it, from the old value or from earlier rows.
  void renew() {
    if (states_.empty()) return;
    Kept& kept = states_[static_cast<size_t>(random_.below(static_cast<int64_t>(states_.size())))];
    const int axis = static_cast<int>(random_.below(kept.shape.rank));
    const int64_t room = kept.shape[axis].value, begin = random_.coin() ? 0 : random_.below(room), size = room - begin,
                  from = begin > 0 && random_.one_in(3) ? begin - 1 : begin;
    Shape shape = kept.shape;
    shape[axis] = size;
    const int x = source(broadcast_to(shape), 1.0, kept.dtype);
    const bool multiplies = random_.coin();
    const Tensor part = g().slice(whole(kept), axis, begin, size), old = g().slice(whole(kept), axis, from, size);
    const Tensor y = g().assign(part, multiplies ? g().mul(tensor(x), old) : g().add(old, tensor(x)));
    for (const int read : std::exchange(kept.reads, {})) read_views_no_more(read);
    kept.reads.push_back(operation("renewed", {x}, kept.name + " axis " + std::to_string(axis), y,
                                   [=, name = kept.name, all = kept.shape, type = kept.dtype](Evaluation& e) {
                                     Array& state = contents(e, name, all);
                                     const Array before = slice(state, axis, from, size),
                                                 beside = ops::broadcast(of(e, x), before.shape);
                                     Array after =
                                         stored(type, multiplies ? ops::mul(before, beside) : ops::add(before, beside));
                                     for (double& bound : after.bound)
                                       bound += 0x1p-118;  // subnormal numbers may be flushed
                                     write_into(&state, after, axis, begin);
                                     return slice(state, axis, begin, size);
                                   }));
  }
  void recall() {
    if (states_.empty()) return;
    Kept& kept = states_[static_cast<size_t>(random_.below(static_cast<int64_t>(states_.size())))];
    kept.reads.push_back(
        operation("state", {}, kept.name, whole(kept),
                  [name = kept.name, all = kept.shape](Evaluation& e) { return contents(e, name, all); }));
  }
  static int rank_of(const Array& x) { return static_cast<int>(x.shape.size()); }
  // Places `part` at `begin` along an axis, and at 0 along the others.
  static void write_into(Array* state, const Array& part, int axis, int64_t begin) {
    for (int64_t i = 0; i < part.size(); ++i) {
      int64_t left = i, stride = 1, to = 0;
      for (int d = rank_of(part); d-- > 0;) {
        const auto at = static_cast<size_t>(d);
        to += (left % part.shape[at] + (d == axis ? begin : 0)) * stride;
        left /= part.shape[at], stride *= state->shape[at];
      }
      state->value[static_cast<size_t>(to)] = part.value[static_cast<size_t>(i)];
      state->bound[static_cast<size_t>(to)] = part.bound[static_cast<size_t>(i)];
    }
  }

  std::vector<Kept> states_;
  uint32_t streams_ = 0;  // counter of dropout operations, as in the graph
};

}  // namespace

Composition compose(uint64_t seed, int64_t number) {
  constexpr DType kTypes[kCompositionTypes] = {DType::F32, DType::F32, DType::F16, DType::F32, DType::BF16};
  return Operations(kTypes[static_cast<size_t>(number % kCompositionTypes)],
                    seed + static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15u)
      .compose();
}

}  // namespace heed::ops
