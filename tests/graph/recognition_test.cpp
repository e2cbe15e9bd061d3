// Operations that graphs spell out: which of them become one node, with unchanged results.
#include <cmath>
#include <limits>

#include "harness/catch.hpp"
#include "harness/devices.hpp"

#include "support.hpp"

using namespace heed;
using namespace heed::test;

namespace {

constexpr double kEps = 1e-5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- Norms

struct Row {
  Graph g;
  Tensor x = g.input("x", {2, g.extent("n", 7), 8});
  Tensor gamma = g.weight("gamma", {8}), beta = g.weight("beta", {8});

  Tensor number(double value) { return g.number(value); }
  Tensor mean(Tensor t) { return g.reduce(t, Reduction::Mean, {-1}, true); }
  Tensor centred() { return g.sub(x, mean(x)); }
  Tensor deviation(Tensor d, double eps = kEps) { return g.sqrt(g.add(mean(g.mul(d, d)), number(eps))); }
};

struct Recognized {
  std::vector<Op> ops;
  float eps = -1.0f;
  bool of_x = false, gamma = false, beta = false;
};

Recognized recognized(Tensor (*formula)(Row&), bool reproducible = false) {
  Row r;
  r.g.output("y", formula(r));
  const Scheduled s = schedule_of(r.g, {.asked = {.reproducible = reproducible}});
  REQUIRE(s.status == Status::Ok);
  Recognized made{ops_of(s.schedule)};
  const Node& node = s.schedule.passes.back();
  if (node.op == Op::LayerNorm || node.op == Op::RmsNorm) {
    made.eps = node.as<NormAttrs>().eps;
    made.gamma = node.inputs[in::kGamma].valid();
    made.beta = node.inputs[in::kBeta].valid();
    made.of_x = s.schedule.info(node.inputs[in::kX]).storage == r.x.id;
  }
  return made;
}

// --- Rotary embedding

struct Turns {
  static constexpr int64_t kWidth = 8;
  Graph g;
  Dim tokens = g.extent("tokens", 5);
  Tensor x = g.input("x", {2, 3, tokens, kWidth}), other = g.input("other", {2, 3, tokens, kWidth}),
         cos = g.input("cos", {2, 1, tokens, kWidth}), sin = g.input("sin", {2, 1, tokens, kWidth});
  Tensor own, other_own;  // rotated halves

  Tensor part(Tensor t, int64_t begin, int64_t size) { return g.slice(t, 3, begin, size); }
  Tensor half(Tensor t, int64_t i) { return part(t, i * kWidth / 2, kWidth / 2); }
  Tensor second(Tensor t, int64_t i) { return g.stride(part(t, i, kWidth - i), 3, 2); }
  Tensor rotated(Tensor t) { return own = g.concat({g.neg(half(t, 1)), half(t, 0)}, 3); }
  // Pairs of neighbours.
  Tensor stacked(Tensor a, Tensor b) {
    const Shape one = {2, 3, tokens, kWidth / 2, 1};
    return g.reshape(g.concat({g.reshape(a, one), g.reshape(b, one)}, 4), {2, 3, tokens, kWidth});
  }
  Tensor sum(Tensor a, Tensor b, Tensor c, Tensor d) { return g.add(g.mul(a, b), g.mul(c, d)); }
};

struct TurnForm {
  const char* name;
  Tensor (*form)(Turns&);
  RotaryPairs pairs = RotaryPairs::Halves;
  int64_t width = Turns::kWidth, cosines = Turns::kWidth;
};

constexpr TurnForm kTurnForms[] = {
    {"halves", [](Turns& t) { return t.sum(t.x, t.cos, t.rotated(t.x), t.sin); }},
    {"halves, in another order", [](Turns& t) { return t.sum(t.sin, t.rotated(t.x), t.cos, t.x); }},
    {"halves by cosines of pairs",
     [](Turns& t) {
       const Tensor a = t.half(t.x, 0), b = t.half(t.x, 1), cos = t.half(t.cos, 1), sin = t.half(t.sin, 1);
       return t.g.concat({t.g.sub(t.g.mul(a, cos), t.g.mul(b, sin)), t.sum(b, cos, a, sin)}, 3);
     },
     RotaryPairs::Halves, 8, 4},
    {"cosines that are repeated",
     [](Turns& t) {
       const Tensor c = t.g.cos(t.half(t.cos, 0)), s = t.g.sin(t.half(t.cos, 0));
       return t.sum(t.x, t.g.concat({c, c}, 3), t.rotated(t.x), t.g.concat({s, s}, 3));
     }},
    {"scaled cosines, of all tokens alike",
     [](Turns& t) {
       const Tensor c = t.g.scale(t.g.slice(t.g.reshape(t.cos, {-1, 8}), 0, 0, 1), 0.5f),
                    s = t.g.scale(t.g.slice(t.g.reshape(t.sin, {-1, 8}), 0, 0, 1), 0.5f);
       return t.sum(t.x, c, t.rotated(t.x), s);
     }},
    {"the first part of a row",
     [](Turns& t) {
       const Tensor x = t.part(t.x, 0, 4);
       t.own = t.g.concat({t.g.neg(t.part(x, 2, 2)), t.part(x, 0, 2)}, 3);
       return t.g.concat({t.sum(x, t.part(t.cos, 0, 4), t.own, t.part(t.sin, 0, 4)), t.part(t.x, 4, 4)}, 3);
     },
     RotaryPairs::Halves, 4, 4},
    {"neighbours by cosines of pairs",
     [](Turns& t) {
       const Tensor a = t.second(t.x, 0), b = t.second(t.x, 1), cos = t.half(t.cos, 0), sin = t.half(t.sin, 0);
       return t.stacked(t.g.sub(t.g.mul(a, cos), t.g.mul(b, sin)), t.sum(b, cos, a, sin));
     },
     RotaryPairs::Adjacent, 8, 4},
    {"neighbours",
     [](Turns& t) {
       t.own = t.stacked(t.g.neg(t.second(t.x, 1)), t.second(t.x, 0));
       return t.sum(t.x, t.cos, t.own, t.sin);
     },
     RotaryPairs::Adjacent},
};

// Each of these differs from a rotary embedding in one detail.
struct OtherTurn {
  const char* name;
  Tensor (*form)(Turns&);
};
constexpr OtherTurn kOtherTurns[] = {
    {"turns back", [](Turns& t) { return t.g.sub(t.g.mul(t.x, t.cos), t.g.mul(t.rotated(t.x), t.sin)); }},
    {"no half is negative",
     [](Turns& t) { return t.sum(t.x, t.cos, t.g.concat({t.half(t.x, 1), t.half(t.x, 0)}, 3), t.sin); }},
    {"halves of another tensor", [](Turns& t) { return t.sum(t.x, t.cos, t.rotated(t.other), t.sin); }},
    {"halves of another row", [](Turns& t) { return t.sum(t.x, t.cos, t.rotated(t.g.flip(t.x, 1)), t.sin); }},
    {"cosines and sines of other shapes",
     [](Turns& t) { return t.sum(t.x, t.cos, t.rotated(t.x), t.g.slice(t.sin, 0, 0, 1)); }},
    {"cosines of the second half are shifted",
     [](Turns& t) {
       const Tensor a = t.half(t.x, 0), b = t.half(t.x, 1), sin = t.half(t.sin, 0);
       return t.g.concat(
           {t.g.sub(t.g.mul(a, t.part(t.cos, 0, 4)), t.g.mul(b, sin)), t.sum(b, t.part(t.cos, 1, 4), a, sin)}, 3);
     }},
    {"somebody else reads the rotated halves",
     [](Turns& t) {
       const Tensor y = t.sum(t.x, t.cos, t.rotated(t.x), t.sin);
       t.g.output("rotated", t.own);
       return y;
     }},
};

// --- Attention

struct Heads {
  static constexpr int64_t kHeads = 2, kWidth = 8;
  Graph g;
  Dim batch = g.extent("batch", 2), tokens = g.extent("tokens", 5), keys = g.extent("keys", 6);
  Tensor query = g.input("query", {batch, kHeads, tokens, kWidth}), key = g.input("key", {batch, kHeads, keys, kWidth}),
         value = g.input("value", {batch, kHeads, keys, kWidth}),
         kept = g.input("kept", {batch, 1, tokens, keys}, DType::U8), bias = g.input("bias", {batch, 1, tokens, keys});

  Tensor product() { return g.matmul(query, g.transpose(key, 2, 3)); }
  Tensor scores() { return g.div(product(), g.number(std::sqrt(static_cast<double>(kWidth)))); }
  Tensor attend(Tensor logits) { return g.matmul(g.softmax(logits), value); }
};

using Form = Tensor (*)(Heads&);
struct NamedForm {
  const char* name;
  Form form;
};

// Each gives the same values whether it is recognized or not. Every query has a visible key.
constexpr NamedForm kForms[] = {
    {"plain", [](Heads& h) { return h.attend(h.scores()); }},
    {"queries are scaled",
     [](Heads& h) {
       h.query = h.g.scale(h.query, 0.5f);
       return h.attend(h.product());
     }},
    {"where it is kept", [](Heads& h) { return h.attend(h.g.where(h.kept, h.scores(), h.g.number(-kInfinity))); }},
    {"where it is not kept",
     [](Heads& h) { return h.attend(h.g.where(h.g.logical_not(h.kept), h.g.number(-1e9), h.scores())); }},
    {"masked before the scale",
     [](Heads& h) { return h.attend(h.g.scale(h.g.where(h.kept, h.product(), h.g.number(-1e9)), 0.25f)); }},
    {"a bias", [](Heads& h) { return h.attend(h.g.add(h.bias, h.scores())); }},
    {"a bias that is taken away, before the scale",
     [](Heads& h) { return h.attend(h.g.scale(h.g.sub(h.product(), h.bias), 0.25f)); }},
    {"a mask that is added",
     [](Heads& h) {
       const Tensor hidden = h.g.sub(h.g.number(1.0), h.g.cast(h.kept, DType::F32));
       const Tensor low = h.g.mul(hidden, h.g.number(-3.4e38));
       return h.attend(h.g.maximum(h.g.add(h.g.add(h.scores(), h.bias), low), h.g.number(-3.4e38)));
     }},
    {"rows and heads as one dim",
     [](Heads& h) {
       Graph& g = h.g;
       const Dim all = g.dim_product(h.batch, Heads::kHeads);
       const Tensor q = g.reshape(h.query, {all, h.tokens, Heads::kWidth}),
                    k = g.reshape(h.key, {all, h.keys, Heads::kWidth}),
                    v = g.reshape(h.value, {all, h.keys, Heads::kWidth});
       Tensor logits = g.reshape(g.matmul(q, g.transpose(k, 1, 2)), {h.batch, Heads::kHeads, h.tokens, h.keys});
       logits = g.reshape(g.add(logits, h.bias), {all, h.tokens, h.keys});
       return g.reshape(g.matmul(g.softmax(logits), v), {h.batch, Heads::kHeads, h.tokens, Heads::kWidth});
     }},
    {"NaN becomes 0",
     [](Heads& h) {
       const Tensor weights = h.g.softmax(h.g.where(h.kept, h.scores(), h.g.number(-kInfinity)));
       return h.g.matmul(h.g.where(h.g.ne(weights, weights), h.g.number(0.0), weights), h.value);
     }},
    {"softmax with a mask, and other shapes of the result",
     [](Heads& h) {
       const Tensor weights =
           h.g.softmax(h.product(), {.scale = 0.3f, .causal = Causal::TopLeft, .mask = keep(h.kept)});
       const Tensor tokens = h.g.permute(h.g.matmul(weights, h.value), {2, 0, 1, 3});
       return h.g.reshape(tokens, {h.tokens, h.batch, Heads::kHeads * Heads::kWidth});
     }},
};

// Adds another reader of the attention weights, so that the graph stays as it is.
void give_weights(Heads& h) {
  const std::vector<Node>& nodes = h.g.data().nodes;
  const auto softmax =
      std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.op == Op::Softmax; });
  REQUIRE(softmax != nodes.end());
  h.g.output("weights", softmax->outputs[0]);
}

// The result of a form. If the host also reads its rotated halves, the form stays as it is.
std::vector<float> run_turn(const Device& device, const TurnForm& form, bool reads_halves) {
  Turns t;
  const Tensor y = form.form(t);
  t.g.output("y", y);
  const bool reads = reads_halves && t.own.valid();
  if (reads) t.g.output("own", t.own);
  Plan plan = compiled(device, t.g);
  constexpr int64_t kTokens = 4, kAll = 2 * 3 * kTokens * Turns::kWidth;
  std::vector<float> x = pattern(kAll, 1), other = pattern(kAll, 2), cos = pattern(kAll / 3, 3),
                     sin = pattern(kAll / 3, 4), result(kAll),
                     own(kAll * static_cast<size_t>(form.width) / Turns::kWidth);
  std::vector<HostBuffer> buffers = {{"x", x}, {"other", other}, {"cos", cos}, {"sin", sin}, {"y", result}};
  if (reads) buffers.emplace_back("own", own);
  const ExtentValue extents[] = {{"tokens", kTokens}};
  REQUIRE(plan.run(buffers, extents) == Status::Ok);
  return result;
}

// The passes of a form on a device that fuses every attention.
std::vector<Op> ops_of_form(Form form, bool reads_weights = false) {
  Heads h;
  h.g.output("y", form(h));
  if (reads_weights) give_weights(h);
  const FusingDevice device;
  const Scheduled s = schedule_of(h.g, {.device = &device});
  REQUIRE(s.status == Status::Ok);
  return ops_of(s.schedule);
}

int count(const std::vector<Op>& ops, Op op) { return static_cast<int>(std::count(ops.begin(), ops.end(), op)); }

std::vector<float> run_form(const Device& device, Form form, bool reads_weights) {
  Heads h;
  const Tensor y = form(h);
  h.g.output("y", y);
  if (reads_weights) give_weights(h);
  Plan plan = compiled(device, h.g);
  constexpr int64_t kBatch = 2, kTokens = 4, kKeys = 6;
  std::vector<float> query = pattern(kBatch * 2 * kTokens * 8, 1), key = pattern(kBatch * 2 * kKeys * 8, 2),
                     value = pattern(kBatch * 2 * kKeys * 8, 3), bias = pattern(kBatch * kTokens * kKeys, 4),
                     result(kBatch * 2 * kTokens * 8), weights(kBatch * 2 * kTokens * kKeys);
  std::vector<uint8_t> kept(kBatch * kTokens * kKeys);
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = i % 6 == 0 || i % 3 == 1;
  std::vector<HostBuffer> buffers = {{"query", query}, {"key", key},   {"value", value},
                                     {"kept", kept},   {"bias", bias}, {"y", result}};
  if (reads_weights) buffers.emplace_back("weights", weights);
  const ExtentValue extents[] = {{"batch", kBatch}, {"tokens", kTokens}, {"keys", kKeys}};
  REQUIRE(plan.run(buffers, extents) == Status::Ok);
  return result;
}

}  // namespace

TEST_CASE("recognition: norms that are spelled out", "[graph]") {
  using Formula = Tensor (*)(Row&);
  SECTION("of both kinds, in many ways") {
    struct Case {
      Formula formula;
      Op op;
      double eps;
      bool gamma, beta;
    };
    constexpr Case kCases[] = {
        {[](Row& r) {
           const Tensor d = r.centred();
           return r.g.add(r.g.mul(r.g.div(d, r.deviation(d)), r.gamma), r.beta);
         },
         Op::LayerNorm, kEps, true, true},
        {[](Row& r) {
           const Tensor d = r.centred();
           return r.g.div(r.g.mul(r.gamma, d), r.deviation(d, 1e-12));
         },
         Op::LayerNorm, 1e-12, true, false},
        {[](Row& r) {
           const Tensor d = r.centred(), square = r.g.pow(d, r.number(2.0));
           const Tensor sum = r.g.scale(r.g.reduce(square, Reduction::Sum, {-1}, true), 0.125f);
           return r.g.mul(d, r.g.rsqrt(r.g.add(sum, r.number(0.01))));
         },
         Op::LayerNorm, 0.01, false, false},
        {[](Row& r) { return r.g.mul(r.g.mul(r.x, r.g.reciprocal(r.deviation(r.x))), r.gamma); }, Op::RmsNorm, kEps,
         true, false},
        {[](Row& r) {
           const Tensor mean =
               r.g.reshape(r.g.reduce(r.g.mul(r.x, r.x), Reduction::Mean, {-1}), {2, r.g.extent("n", 7), 1});
           return r.g.mul(r.gamma, r.g.mul(r.x, r.g.pow(r.g.add(mean, r.number(kEps)), r.number(-0.5))));
         },
         Op::RmsNorm, kEps, true, false},
    };
    for (const Case& c : kCases) {
      INFO("case " << (&c - kCases));
      const Recognized made = recognized(c.formula);
      CHECK(made.ops == std::vector<Op>{c.op});
      CHECK(made.eps == static_cast<float>(c.eps));
      CHECK(made.of_x);
      CHECK(made.gamma == c.gamma);
      CHECK(made.beta == c.beta);
      CHECK(recognized(c.formula, true).ops.size() > 1);  // reproducible plans compute operations as written
    }
  }
  SECTION("but not what is nearly one") {
    constexpr Formula kOthers[] = {
        [](Row& r) {  // the deviation of a sample
          const Tensor d = r.centred();
          const Tensor sum = r.g.reduce(r.g.mul(d, d), Reduction::Sum, {-1}, true);
          return r.g.div(d, r.g.sqrt(r.g.add(r.g.scale(sum, 1.0f / 7.0f), r.number(kEps))));
        },
        [](Row& r) {  // eps outside of the root
          const Tensor d = r.centred();
          return r.g.div(d, r.g.add(r.g.sqrt(r.mean(r.g.mul(d, d))), r.number(kEps)));
        },
        [](Row& r) { return r.g.div(r.x, r.g.add(r.mean(r.g.abs(r.x)), r.number(kEps))); },
        [](Row& r) {  // the mean of another axis
          const Tensor d = r.g.sub(r.x, r.g.reduce(r.x, Reduction::Mean, {0}, true));
          return r.g.div(d, r.deviation(d));
        },
        [](Row& r) {  // two sources
          const Tensor d = r.centred();
          return r.g.div(d, r.deviation(r.g.input("other", {2, r.g.extent("n", 7), 8})));
        },
    };
    for (const Formula& formula : kOthers) {
      INFO("formula " << (&formula - kOthers));
      const std::vector<Op> ops = recognized(formula).ops;
      CHECK(count(ops, Op::LayerNorm) == 0);
      CHECK(count(ops, Op::RmsNorm) <= 1);  // d itself may be an RMSNorm
    }
  }
  SECTION("nor where somebody else reads what lies between") {
    const Recognized made = recognized([](Row& r) {
      const Tensor d = r.centred();
      r.g.output("deviation", r.deviation(d));
      return r.g.div(d, r.deviation(d));
    });
    CHECK(made.ops.size() > 1);
  }
}

TEST_CASE("recognition: attention that is spelled out", "[graph]") {
  for (const auto& [name, form] : kForms) {
    INFO(name);
    const std::vector<Op> ops = ops_of_form(form);
    CHECK(count(ops, Op::Attention) == 1);
    CHECK(count(ops, Op::Softmax) + count(ops, Op::Matmul) == 0);
    CHECK(count(ops_of_form(form, true), Op::Attention) == 0);
  }
}

TEST_CASE("recognition: rotary embedding that is spelled out", "[graph]") {
  const auto planned = [](Turns& t, Tensor y, bool reproducible = false) {
    t.g.output("y", y);
    Scheduled s = schedule_of(t.g, {.asked = {.reproducible = reproducible}});
    REQUIRE(s.status == Status::Ok);
    return s;
  };
  for (const TurnForm& form : kTurnForms) {
    INFO(form.name);
    Turns t, same;
    const Scheduled s = planned(t, form.form(t));
    const std::vector<Node>& passes = s.schedule.passes;
    REQUIRE(passes.back().op == Op::Rotary);
    CHECK(count(ops_of(s.schedule), Op::Rotary) == 1);
    const Node& node = passes.back();
    CHECK(node.as<RotaryAttrs>().pairs == form.pairs);
    CHECK(node.as<RotaryAttrs>().width == form.width);
    const TensorInfo &x = s.schedule.info(node.inputs[in::kX]), &cos = s.schedule.info(node.inputs[in::kCos]);
    CHECK(x.storage == t.x.id);
    CHECK(t.g.data().sizes.is_constant(x.dims[3], Turns::kWidth));
    CHECK(t.g.data().sizes.is_constant(cos.dims[static_cast<size_t>(cos.rank - 1)], form.cosines));
    // Reproducible plans compute operations as written.
    CHECK(count(ops_of(planned(same, form.form(same), true).schedule), Op::Rotary) == 0);
  }
  for (const auto& [name, form] : kOtherTurns) {
    INFO(name);
    Turns t;
    CHECK(count(ops_of(planned(t, form(t)).schedule), Op::Rotary) == 0);
  }
}

TEST_CASE("recognition: rotary embedding of rows that follow a product", "[graph]") {
  Graph g;
  const Dim tokens = g.extent("tokens", 5);
  const Tensor rows = g.matmul(g.input("x", {tokens, 16}), g.weight("w", {16, 24}));
  const Tensor heads = g.transpose(g.reshape(rows, {tokens, 3, 8}), 0, 1), cos = g.input("cos", {tokens, 8}),
               sin = g.input("sin", {tokens, 8});
  const Tensor rotated = g.concat({g.neg(g.slice(heads, 2, 4, 4)), g.slice(heads, 2, 0, 4)}, 2);
  g.output("y", g.add(g.mul(heads, cos), g.mul(rotated, sin)));
  CHECK(ops_of(schedule_of(g).schedule) == std::vector<Op>{Op::Matmul, Op::Rotary});
}

TEST_CASE("recognition: copies in front of an attention are left out", "[graph]") {
  Graph g;
  const Dim batch = g.extent("batch", 3), tokens = g.extent("tokens", 5);
  // As PyTorch exports nn.MultiheadAttention: tokens are the first axis, and one matmul computes queries, keys and values.
  const Tensor x = g.input("x", {tokens, batch, 48});
  const auto heads = [&](int part) {
    return g.transpose(g.reshape(g.slice(x, 2, part * 16, 16), {tokens, g.dim_product(batch, 4), 4}), 0, 1);
  };
  const Tensor weights = g.softmax(g.matmul(g.scale(heads(0), 0.5f), g.transpose(heads(1), 1, 2)));
  const Tensor attended = g.matmul(weights, heads(2));
  g.output("y", g.reshape(g.transpose(attended, 0, 1), {tokens, batch, 16}));
  FusingDevice device;
  const Scheduled s = schedule_of(g, {.device = &device});
  REQUIRE(s.status == Status::Ok);
  CHECK(ops_of(s.schedule) == std::vector<Op>{Op::Attention, Op::Elementwise});
  CHECK(s.schedule.passes[0].as<AttentionAttrs>().softmax.scale == 0.5f);
  device.traits.strided_attention = true;
  CHECK(ops_of(schedule_of(g, {.device = &device}).schedule) == std::vector<Op>{Op::Attention});
}

TEST_CASE("recognition: heads that are repeated are read once", "[graph]") {
  Graph g;
  const Dim tokens = g.extent("tokens", 5);
  const Tensor q = g.input("q", {2, 6, tokens, 4});
  const auto repeated = [&](const char* name) {
    const Tensor x = g.input(name, {2, 2, tokens, 4});
    return g.reshape(g.expand(g.reshape(x, {2, 2, 1, tokens, 4}), {2, 2, 3, tokens, 4}), {2, 6, tokens, 4});
  };
  const Tensor weights = g.softmax(g.matmul(q, g.transpose(repeated("k"), 2, 3)));
  g.output("y", g.transpose(g.matmul(weights, repeated("v")), 1, 2));
  const FusingDevice device;
  const Scheduled s = schedule_of(g, {.device = &device});
  REQUIRE(s.status == Status::Ok);
  REQUIRE(ops_of(s.schedule) == std::vector<Op>{Op::Attention});
  CHECK(g.data().sizes.evaluate(s.schedule.info(s.schedule.passes[0].inputs[in::kKey]).dims[1], {}) == 2);
}

TEST_CASE("recognition: a softmax that stays tells why", "[graph]") {
  const auto note_of = [](const Graph& g) {
    const Scheduled s = schedule_of(g);
    REQUIRE(s.status == Status::Ok);
    for (const Node& node : s.schedule.passes)
      if (node.op == Op::Softmax) return node.note;
    return std::string("none");
  };
  SECTION("somebody else reads the weights") {
    Heads h;
    const Tensor weights = h.g.softmax(h.scores());
    h.g.output("y", h.g.matmul(weights, h.value));
    h.g.output("weights", weights);
    CHECK_THAT(note_of(h.g), holds("its weights are not read by a matmul alone"));
  }
  SECTION("what makes the scores is no part of an attention") {
    Heads h;
    h.g.output("y", h.attend(h.g.abs(h.scores())));
    CHECK_THAT(note_of(h.g), holds("abs makes its scores"));
  }
  SECTION("a classifier is none") {
    Heads h;
    h.g.output("y", h.g.softmax(h.product()));
    CHECK(note_of(h.g).empty());
  }
}

TEST_CASE("recognition: what is spelled out gives the same on every device", "[ops]") {
  for (const ops::TestDevice& device : ops::test_devices())
    for (const auto& [name, form] : kForms) {
      INFO(device.word << ": " << name);
      const std::vector<float> want = run_form(device.device, form, true), got = run_form(device.device, form, false);
      CHECK(difference(got.data(), want).empty());
    }
  for (const ops::TestDevice& device : ops::test_devices())
    for (const TurnForm& form : kTurnForms) {
      INFO(device.word << ": " << form.name);
      const std::vector<float> want = run_turn(device.device, form, true), got = run_turn(device.device, form, false);
      CHECK(difference(got.data(), want).empty());
    }
}

TEST_CASE("recognition: what is computed twice is computed once", "[graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6}), y = g.input("y", {4, 6});
  const auto ops_with = [&](Tensor a, Tensor b) {
    g.output("z", g.matmul(a, g.transpose(b, 0, 1)));
    const Scheduled s = schedule_of(g);
    REQUIRE(s.status == Status::Ok);
    return s.schedule.passes.size();
  };
  SECTION("through other views of the same, and steps before it") {
    const auto made = [&] { return g.exp(g.mul(g.reshape(g.abs(x), {24}), g.reshape(y, {24}))); };
    CHECK(ops_with(g.reshape(made(), {4, 6}), g.reshape(made(), {4, 6})) == 3);  // abs, mul with exp, the matmul
  }
  SECTION("by equal constants") {
    const auto row = [&](const char* name) { return g.constant(name, {6}, std::vector<float>{1, 2, 3, 4, 5, 6}); };
    CHECK(ops_with(g.mul(x, row("a")), g.mul(x, row("b"))) == 2);
  }
  SECTION("not by constants that differ") {
    CHECK(ops_with(g.mul(x, g.constant("a", {6}, std::vector<float>{1, 2, 3, 4, 5, 6})),
                   g.mul(x, g.constant("b", {6}, std::vector<float>{1, 2, 3, 4, 5, 7}))) == 3);
  }
  SECTION("not with other numbers") { CHECK(ops_with(g.scale(x, 2.0f), g.scale(x, 3.0f)) == 3); }
  SECTION("not with other operands") { CHECK(ops_with(g.exp(g.sub(x, y)), g.exp(g.sub(y, x))) == 3); }
  SECTION("not where a state is written between") {
    const Tensor state = g.state("state", {4, 6});
    const Tensor before = g.abs(state);
    g.assign(state, y);
    CHECK(ops_with(before, g.abs(g.state("state", {4, 6}))) >= 3);
  }
  SECTION("outputs are apart") {
    g.output("u", g.exp(x));
    g.output("v", g.exp(x));
    CHECK(schedule_of(g).schedule.passes.size() == 2);
  }
}
