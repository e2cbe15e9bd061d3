// What a graph may do with quantized weights, and the errors for everything else.
#include "harness/catch.hpp"

#include "support.hpp"

using namespace heed;
using namespace heed::test;

namespace {

struct Refusal {
  const char* name;
  std::vector<const char*> words;
  void (*make)(Graph& g);
};

Tensor table(Graph& g, DType type = DType::Q4_1) { return g.weight("w", {6, 64}, type); }
Tensor rows(Graph& g, DType type = DType::F32) { return g.input("x", {3, 64}, type); }

const Refusal kRefusals[] = {
    {"rows of no whole blocks",
     {"weight", "'w'", "q4_0", "33", "32"},
     [](Graph& g) { (void)g.weight("w", {2, 33}, DType::Q4_0); }},
    {"rows of no whole blocks of 256",
     {"'w'", "q6_k", "128", "256"},
     [](Graph& g) { (void)g.weight("w", {2, 128}, DType::Q6_K); }},
    {"an input", {"input", "x", "q8_0", "only weights"}, [](Graph& g) { (void)g.input("x", {2, 32}, DType::Q8_0); }},
    {"a state", {"state", "s", "q4_k"}, [](Graph& g) { (void)g.state("s", {2, 256}, DType::Q4_K); }},
    {"a",
     {"matmul", "'w' q4_1 [6, 64]", "quantized"},
     [](Graph& g) { (void)g.matmul(table(g), g.input("b", {64, 5})); }},
    {"b that is not transposed",
     {"matmul", "'w' q4_1 [6, 64]", "whole blocks"},
     [](Graph& g) { (void)g.matmul(g.input("a", {3, 6}), table(g)); }},
    {"b cut within its rows",
     {"matmul", "whole blocks"},
     [](Graph& g) { (void)g.matmul(g.input("a", {3, 32}), g.slice(table(g), 1, 32, 32), {.transpose_b = true}); }},
    {"b of one row cut within a block",
     {"matmul", "whole blocks"},
     [](Graph& g) {
       const Tensor row = g.weight("w", {1, 64}, DType::Q4_1);
       (void)g.matmul(g.input("a", {3, 32}), g.slice(row, 1, 16, 32), {.transpose_b = true});
     }},
    {"b whose rows a run chooses",
     {"matmul", "constant shape"},
     [](Graph& g) { (void)g.matmul(rows(g), g.slice(table(g), 0, g.position("p", 5), 1), {.transpose_b = true}); }},
    {"a of whole numbers",
     {"matmul", "'x' i32 [3, 64]"},
     [](Graph& g) { (void)g.linear(rows(g, DType::I32), table(g)); }},
    {"bias",
     {"linear", "'bias' q8_0 [32]"},
     [](Graph& g) { (void)g.linear(rows(g), g.weight("v", {32, 64}), g.weight("bias", {32}, DType::Q8_0)); }},
    {"sum", {"add", "'w' q4_1 [6, 64]"}, [](Graph& g) { (void)g.add(g.input("x", {6, 64}), table(g)); }},
    {"cast", {"cast", "'w' q4_1 [6, 64]"}, [](Graph& g) { (void)g.cast(table(g), DType::F32); }},
    {"cast to it", {"cast", "q4_1"}, [](Graph& g) { (void)g.cast(rows(g), DType::Q4_1); }},
    {"concat", {"concat", "'w' q4_1 [6, 64]"}, [](Graph& g) { (void)g.concat({table(g), table(g)}, 0); }},
    {"output", {"output", "'w' q4_1 [6, 64]"}, [](Graph& g) { g.output("y", table(g)); }},
    {"gamma",
     {"rmsnorm", "'gamma' q4_1 [64]"},
     [](Graph& g) { (void)g.rmsnorm(rows(g), g.weight("gamma", {64}, DType::Q4_1), 1e-6f); }},
    {"attention",
     {"attention", "q8_0"},
     [](Graph& g) {
       const Tensor q = g.input("q", {1, 2, 3, 32});
       (void)g.attention(q, g.weight("k", {1, 2, 3, 32}, DType::Q8_0), q);
     }},
    {"embedding of a part of each row",
     {"embedding", "whole blocks"},
     [](Graph& g) { (void)g.embedding(g.slice(table(g), 1, 0, 32), g.input("ids", {2}, DType::I32)); }},
    {"embedding as a type",
     {"embedding", "q4_1"},
     [](Graph& g) { (void)g.embedding(g.weight("t", {2, 32}), g.input("ids", {2}, DType::I32), DType::Q4_1); }},
    {"ids",
     {"embedding", "'ids' q4_1 [64]"},
     [](Graph& g) { (void)g.embedding(table(g), g.weight("ids", {64}, DType::Q4_1)); }},
    {"reshape that copies",
     {"reshape", "q4_1"},
     [](Graph& g) { (void)g.reshape(g.transpose(table(g), 0, 1), {6 * 64}); }},
};

}  // namespace

TEST_CASE("quantized: whatever a graph cannot do with such a weight is a mistake that names operation and tensor",
          "[graph][quantized]") {
  for (const Refusal& refusal : kRefusals) {
    INFO(refusal.name);
    Graph g;
    refusal.make(g);
    CHECK(to_string(g.status()) == std::string(to_string(Status::DTypeMismatch)));
    for (const char* word : refusal.words) CHECK_THAT(g.error(), holds(word));
  }
}

TEST_CASE("quantized: weights of every type multiply rows and are tables", "[graph][quantized]") {
  for (int i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (!is_quantized(type)) continue;
    INFO(to_string(type));
    for (const DType of_rows : {DType::F32, DType::F16, DType::BF16}) {
      Graph g;
      const Tensor x = g.input("x", {3, 512}, of_rows), w = g.weight("w", {6, 512}, type);
      const Tensor y = g.linear(x, w, of_rows == DType::F32 ? g.weight("bias", {6}) : Tensor{});
      CHECK(g.dtype(y) == of_rows);
      CHECK(g.shape(g.matmul(x, g.slice(w, 0, 2, 3), {.transpose_b = true}))[1] == 3);  // whole rows
      CHECK(g.shape(g.matmul(x, g.transpose(w, 0, 1)))[1] == 6);
      const Tensor heads = g.reshape(w, {2, 3, 512});
      CHECK(g.shape(g.matmul(g.input("b", {2, 4, 512}, of_rows), heads, {.transpose_b = true})).rank == 3);
      CHECK(g.dtype(g.embedding(w, g.input("ids", {2}, DType::I32))) == DType::F32);
      CHECK(std::string(g.error()) == "");
    }
  }
}
