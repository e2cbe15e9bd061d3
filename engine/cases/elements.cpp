// Elementwise operations, moves and lookups. Sizes: rows, columns.
#include "cases/op_case.hpp"

namespace heed {
namespace {

void add(CaseGraph& c) {
  const Tensor x = c.x();
  c.output(c.graph.add(x, c.row("b", x)));
}

void add_whole(CaseGraph& c) { c.output(c.graph.add(c.x(), c.input("y2", c.shape()))); }

void mul(CaseGraph& c) {
  const Tensor x = c.graph.transpose(c.input("x", {c.size(1), c.size(0)}), 0, 1);
  c.output(c.graph.activation(c.graph.mul(x, c.input("b", {c.size(0), 1})), Activation::GeluErf));
}

void mul_row(CaseGraph& c) {
  const Tensor x = c.x();
  c.output(c.graph.mul(x, c.row("row", x)));
}

void gelu(CaseGraph& c) { c.output(c.graph.activation(c.x(), Activation::GeluErf)); }

void activations(CaseGraph& c) {
  const Tensor x = c.graph.scale(c.x(), 7.0f);
  for (const auto& [kind, name] : {std::pair{Activation::Relu, "relu"},
                                   {Activation::GeluErf, "gelu_erf"},
                                   {Activation::GeluTanh, "gelu_tanh"},
                                   {Activation::Silu, "silu"},
                                   {Activation::Tanh, "tanh"}})
    c.output(name, c.graph.activation(x, kind));
}

void copy(CaseGraph& c) { c.output(c.graph.transpose(c.x(), 0, 1)); }

template <DType kType>
void copy_of(CaseGraph& c) {
  c.output(c.graph.transpose(c.input("x", c.shape(), kType), 0, 1));
}

void cast(CaseGraph& c) {
  const Tensor x = c.x();
  for (const DType to : {DType::F32, DType::F16, DType::BF16})
    if (to != c.type) c.output(to_string(to), c.graph.cast(x, to));
}

void cast_narrow(CaseGraph& c) { c.output(c.graph.cast(c.input("x", c.shape(), DType::BF16), DType::F32)); }

// Rounds to each type, and reads, moves and writes tensors of it.
void casts(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim m = c.size(0), n = c.size(1);
  for (const DType to : {DType::F16, DType::BF16}) {
    const std::string name = to_string(to);
    const auto named = [&](const char* what) { return what + name; };
    const Tensor x = g.cast(c.input(named("x of ").c_str(), {m, n}), to);
    c.output(named("y of ").c_str(), x);
    c.output(named("norm of ").c_str(), g.rmsnorm(x, c.input(named("gamma of ").c_str(), {n}, to), 1e-5f));
    c.output(named("turned ").c_str(), g.transpose(x, 0, 1));
    c.output(named("taken ").c_str(),
             g.take(c.input(named("rows of ").c_str(), {7, n}, to), 0, c.ids(named("at of ").c_str(), {m}, 7)));
  }
}

// Sizes: rows, columns of each.
void concat(CaseGraph& c) {
  c.output(c.graph.concat({c.input("x", {c.size(0), c.size(1)}), c.input("z", {c.size(0), c.size(2)})}, 1));
}
void concat_bytes(CaseGraph& c) {
  c.output(c.graph.concat({c.bytes("x", {c.size(0), c.size(1)}), c.bytes("z", {c.size(0), c.size(2)})}, 1));
}

void dropout(CaseGraph& c) { c.output(c.graph.dropout(c.x(), 0.3f)); }

// Sizes: ids, columns, rows of the table.
template <DType kTable>  // F32: as the case
void embedding(CaseGraph& c) {
  const DType type = kTable == DType::F32 ? c.type : kTable;
  const Tensor table = c.parameter("table", {c.size(2), c.size(1)}, type);
  c.output(c.graph.embedding(table, c.ids("ids", {c.size(0)}, c.size(2)), is_quantized(type) ? DType::F32 : c.type));
}

void embedding_quantized(CaseGraph& c) {
  const Tensor ids = c.ids("ids", {c.size(0)}, 7);
  for (const DType type : {DType::Q8_0, DType::Q5_1, DType::Q4_K, DType::Q6_K})
    c.output(to_string(type), c.graph.embedding(c.weight(to_string(type), {7, 256}, type), ids, c.type));
}

// Sizes: rows, channels.
void rotary(CaseGraph& c) {
  const Tensor x = c.input("x", {2, c.size(0), c.size(1)}), positions = c.ids("positions", {2, 1}, 7);
  c.output("y", c.graph.rotary(x));
  c.output("z", c.graph.rotary(x, {.pairs = RotaryPairs::Adjacent, .width = 40, .positions = positions}));
}

// Heads of width 64 within rows of all heads' channels.
void rotary_heads(CaseGraph& c) {
  const Tensor heads = c.graph.reshape(c.x(), {c.size(0), c.size(1).value / 64, 64});
  c.output(c.graph.rotary(c.graph.transpose(heads, 0, 1), {.first = c.graph.position("first", 1023)}));
}

// Each batch begins at its own position. Sizes: batches, rows, channels.
void rotary_batches(CaseGraph& c) { c.output(c.graph.rotary(c.x(), {.positions = c.ids("p", {c.size(0), 1}, 100)})); }

// With given cosines and sines, of halves and of neighbours. Sizes: rows, channels.
void rotary_by_tables(CaseGraph& c) {
  Graph& g = c.graph;
  const int64_t n = c.size(1).value, half = n / 2;
  const Tensor x = c.input("x", {2, c.size(0), n}), cos = c.input("cos", {c.size(0), n}),
               sin = c.input("sin", {c.size(0), n}), a = g.slice(x, 2, 0, half), b = g.slice(x, 2, half, half);
  c.output("y", g.add(g.mul(x, cos), g.mul(g.concat({g.neg(b), a}, 2), sin)));
  const Tensor p = g.stride(x, 2, 2), q = g.stride(g.slice(x, 2, 1, n - 1), 2, 2), pairs_cos = g.slice(cos, 1, 0, half),
               pairs_sin = g.slice(sin, 1, 0, half);
  const auto column = [&](Tensor t) { return g.reshape(t, {2, c.size(0), half, 1}); };
  c.output("z", g.reshape(g.concat({column(g.sub(g.mul(p, pairs_cos), g.mul(q, pairs_sin))),
                                    column(g.add(g.mul(p, pairs_sin), g.mul(q, pairs_cos)))},
                                   3),
                          {2, c.size(0), n}));
}

void positional_encoding(CaseGraph& c) { c.output(c.graph.positional_encoding(c.x())); }

// Rows gathered by indices from a tensor.
template <DType kType>  // type of x; F32 stands for the type of the case
void take(CaseGraph& c) {
  const Tensor x = c.input("x", {2, 7, c.size(1)}, kType == DType::F32 ? c.type : kType);
  c.output(c.graph.take(x, 1, c.ids("at", {c.size(0)}, 7)));
}

// Sizes: texts, tokens kept, new tokens, channels.
void append(CaseGraph& c) {
  const Tensor state = c.state("s", {c.size(0), c.size(1), c.size(3)}, c.type);
  const Tensor x = c.input("x", {c.size(0), c.size(2), c.size(3)});
  static_cast<void>(c.graph.append(state, x, 1, c.ids("at", {c.size(0)}, 9)));
}

// Functions of one number, and of two positive numbers.
void functions(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = c.x(), positive = g.add(g.abs(x), g.number(0.5));
  Tensor sum = g.sub(g.exp(x), g.log(positive));
  for (const Tensor one : {g.sin(x), g.cos(x), g.erf(x), g.sigmoid(x), g.softplus(x), g.elu(x), g.floor(x), g.round(x),
                           g.neg(x), g.sign(x), g.reciprocal(positive), g.sqrt(positive), g.rsqrt(positive)})
    sum = g.add(sum, one);
  const Tensor row = c.row("b", x), pairs = g.add(g.pow(positive, row), g.mod(x, positive));
  c.output("y", g.add(g.maximum(sum, row), g.div(g.minimum(pairs, row), positive)));
}

void choices(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = c.x(), row = c.row("b", x), ids = c.ids("i", c.shape(), 7), bytes = c.bytes("u", c.shape());
  const Tensor above = g.logical_and(g.ge(x, row), g.logical_not(bytes));
  c.output("y", g.where(g.logical_or(above, g.eq(x, row)), x, g.cast(g.mod(ids, g.number(3, DType::I32)), c.type)));
  c.output("z", g.cast(g.div(g.sub(ids, g.number(3, DType::I32)), g.number(2, DType::I32)), DType::I32));
  c.output("v", g.cast(g.scale(x, 100.0f), DType::U8));
}

// The gate of a recurrent cell or of WaveNet, on halves of rows.
void gates(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), c.size(1)});
  const Dim n = c.size(2);
  c.output("y", c.graph.mul(c.graph.sigmoid(c.graph.slice(x, 1, 0, n)),
                            c.graph.activation(c.graph.slice(x, 1, n, n), Activation::Tanh)));
}

// A residual, a scale and a clamp; a chain of four steps.
void bounded_sum(CaseGraph& c) {
  const Tensor x = c.x(), y = c.input("r", c.shape());
  c.output("y", c.graph.clamp(c.graph.add(c.graph.scale(x, 0.5f), y), -1.0f, 1.0f));
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kElementCases[] = {
    {.op = "elementwise", .build = add, .label = "add", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}},
    {.op = "elementwise", .build = add_whole, .label = "add", .compilers = {{512, 768}}, .bench = {{512, 3072}}},
    {.op = "elementwise", .build = mul, .label = "mul", .plans = kBoth, .self_test = {{kM, kN}},
     .floor = {{20000000, 1}}},
    {.op = "elementwise", .build = mul_row, .label = "mul row", .compilers = {{512, 768}}, .floor = {{2000, 10000}}},
    {.op = "elementwise", .build = copy, .label = "transpose", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}},
    {.op = "elementwise", .build = cast, .label = "cast", .self_test = {{kM, kN}}, .compilers = {{512, 768}}},
    {.op = "elementwise", .build = copy_of<DType::I32>, .label = "i32", .one_type = true, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}},
    {.op = "elementwise", .build = copy_of<DType::U8>, .label = "u8", .one_type = true, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}},
    {.op = "elementwise", .build = gelu, .label = "gelu", .compilers = {{512, 768}}, .bench = {{512, 3072}}},
    {.op = "elementwise", .build = activations, .plans = CasePlans::Reproducible, .self_test = {{kM, kN}}},
    {.op = "elementwise", .build = cast_narrow, .label = "cast of bf16", .one_type = true, .plans = kBoth,
     .self_test = {{kM, kN}}, .compilers = {{512, 768}}},
    {.op = "elementwise", .build = functions, .label = "functions", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "elementwise", .build = choices, .label = "choices", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "elementwise", .build = gates, .label = "gates", .compilers = {{512, 1536, 768}}, .bench = {{512, 6144, 3072}},
     .floor = {{5, 6, 3}}},
    {.op = "elementwise", .build = bounded_sum, .label = "bounded sum", .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}, .bench = {{512, 3072}}},
    {.op = "cast", .build = casts, .plans = CasePlans::Reproducible, .self_test = {{kM, kN}}},
    {.op = "concat", .build = concat, .plans = kBoth, .self_test = {{kM, kN, 5}}, .compilers = {{512, 768, 768}},
     .bench = {{512, 768, 768}}, .floor = {{5, 3, 4}}},
    {.op = "concat", .build = concat_bytes, .label = "bytes", .floor = {{5, 3, 4}}},
    {.op = "dropout", .build = dropout, .training = true, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 768}}, .bench = {{512, 3072}}, .floor = {{3000001}}},
    {.op = "embedding", .build = embedding<DType::F32>, .plans = kBoth, .self_test = {{kM, kN, 7}},
     .compilers = {{512, 768, kVocabulary}}, .bench = {{512, 768, kVocabulary}}, .floor = {{80000, 100, 1000}}},
    {.op = "embedding", .build = embedding<DType::BF16>, .label = "bf16", .one_type = true, .plans = kBoth,
     .self_test = {{kM, kN, 7}}, .compilers = {{512, 768, kVocabulary}}},
    {.op = "embedding", .build = embedding_quantized, .plans = kBoth, .self_test = {{kM}}},
    {.op = "embedding", .build = embedding<DType::Q8_0>, .label = "q8_0", .one_type = true,
     .compilers = {{512, 768, kVocabulary}}},
    {.op = "rotary", .build = rotary, .plans = kBoth, .self_test = {{kM, 66}}},
    {.op = "rotary", .build = rotary_heads, .label = "heads", .compilers = {{512, 768}}},
    {.op = "rotary", .build = rotary_batches, .label = "batches", .floor = {{70001, 3, 66}}},
    {.op = "rotary", .build = rotary_by_tables, .label = "tables", .self_test = {{kM, 66}}},
    {.op = "positional_encoding", .build = positional_encoding, .bench = {{512, 768}}},
    {.op = "place", .build = take<DType::F32>, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "place", .build = take<DType::I32>, .one_type = true, .self_test = {{kM, kN}}},
    {.op = "place", .build = take<DType::U8>, .one_type = true, .self_test = {{kM, kN}}},
    {.op = "place", .build = append, .floor = {{2, 50000, 40000, 100}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> element_cases() { return kElementCases; }

}  // namespace heed
