// f16 and bf16 weights and tables with f32 activations on Vulkan. tests/cpu/narrow_weights_test.cpp tests the CPU, which on some processors
// also rounds the other operand.

#include "graph/schedule/backend.hpp"
#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

std::vector<TestDevice> vulkan_devices(Subgroups subgroups = Subgroups::AsReported) {
  std::vector<TestDevice> devices = test_devices(subgroups);
  std::erase_if(devices, [](const TestDevice& on) { return on.device.info().kind == DeviceKind::Cpu; });
  return devices;
}

struct Layer {
  int64_t m, n, k;
  bool transpose;  // weight [n, k], as of a linear layer
  DType type;
};

// activation(x w + bias).
Case layer_case(const Layer& l) {
  const std::string name = text_of({l.m, l.n, l.k}) + (l.transpose ? " b^T " : " ") + to_string(l.type);
  return {name, [l](Trial& t) {
            Array w = uniform(l.transpose ? Sizes{l.n, l.k} : Sizes{l.k, l.n}, 41), b = uniform({l.n}, 42);
            const Tensor weight = t.weight("w", &w, l.type), bias = t.weight("b", &b);
            const Tensor product = t.graph.matmul(t.input("x", {l.m, l.k}), weight, {.transpose_b = l.transpose});
            t.graph.output("y", t.graph.activation(t.graph.add(product, bias), Activation::Relu));
            Run& run = t.run();
            const Array x = run.input("x", uniform({l.m, l.k}, 43));
            const Array sum = add(matmul(x, l.transpose ? transposed(w) : w), b);
            run.expect("y", activation(sum, Activation::Relu), static_cast<double>(l.k));
            t.passes = {"matmul"};
          }};
}

// Weights that start at odd elements, in the middle of a word; a batch of weights; and a weight that is an input.
Case parts_case(DType type) {
  return {std::string("parts of a weight ") + to_string(type), [type](Trial& t) {
            Array w = uniform({3, 39, 51}, 44);
            const Tensor b = t.weight("w", &w, type);
            const Tensor x = t.input("x", {5, 39}), heads = t.input("h", {3, 4, 39});
            t.graph.output("part", t.graph.matmul(x, t.graph.slice(t.graph.select(b, 0, 1), 1, 3, 44)));
            t.graph.output("batched", t.graph.matmul(heads, b));
            const Tensor given = t.graph.input("given", {7, 39}, type);
            t.graph.output("z", t.graph.matmul(x, given, {.transpose_b = true}));
            Run& run = t.run();
            const Array vx = run.input("x", uniform({5, 39}, 45)), vh = run.input("h", uniform({3, 4, 39}, 46));
            const Array vg = run.input("given", uniform({7, 39}, 47), type);
            run.expect("part", matmul(vx, slice(reshape(slice(w, 0, 1, 1), {39, 51}), 1, 3, 44)), 39.0);
            run.expect("batched", matmul(vh, w), 39.0);
            run.expect("z", matmul(vx, transposed(vg)), 39.0);
          }};
}

Case extents_case(DType type) {
  return {std::string("extents ") + to_string(type), [type](Trial& t) {
            Array w = uniform({66, 268}, 48);
            const Dim rows = t.graph.extent("rows", 70);
            const Tensor b = t.weight("w", &w, type);
            t.graph.output("y", t.graph.matmul(t.input("x", {rows, 268}), b, {.transpose_b = true}));
            for (const int64_t m : {int64_t{70}, int64_t{1}, int64_t{6}, int64_t{17}}) {
              Run& run = t.run({{"rows", m}});
              run.expect("y", matmul(run.input("x", uniform({m, 268}, 49)), transposed(w)), 268.0);
            }
          }};
}

// Each case has one type, since drivers compile each kernel slowly and only a constant distinguishes the types.
Operation product_operation() {
  Operation operation{"narrow weights", {}, {DType::F32}};
  operation.cases.push_back(parts_case(DType::BF16));
  operation.cases.push_back(extents_case(DType::F16));
  operation.cases.push_back(layer_case({40, 70, 51, false, DType::BF16}));
  operation.cases.push_back(layer_case({65, 68, 64, false, DType::F16}));
  operation.cases.push_back(layer_case({20, 36, 1100, true, DType::BF16}));  // split along k
  return operation;
}

// Reads b 16 bytes at a time or element by element, along k and along n.
Operation few_rows_operation() {
  Operation operation{"narrow weights, few rows", {}, {DType::F32}};
  operation.cases.push_back(layer_case({1, 30, 776, true, DType::BF16}));
  operation.cases.push_back(layer_case({8, 72, 264, false, DType::F16}));
  operation.cases.push_back(layer_case({3, 66, 301, false, DType::BF16}));
  return operation;
}

// Weights of f16 with an x of bf16, with tiles and with few rows.
Operation mixed_operation() {
  Operation operation{"bf16 by weights of f16", {}, {DType::BF16}};
  operation.cases.push_back(layer_case({20, 36, 68, true, DType::F16}));
  operation.cases.push_back(layer_case({5, 30, 51, false, DType::F16}));
  operation.cases.push_back(layer_case({1, 30, 776, true, DType::F16}));
  return operation;
}

Case table_case(DType type, int64_t rows, int64_t width) {
  return {std::string("table ") + text_of({rows, width}) + " " + to_string(type), [=](Trial& t) {
            Array table = uniform({rows, width}, 50);
            const Tensor weight = t.weight("table", &table, type);
            const Tensor ids = t.graph.input("ids", {9}, DType::I32);
            t.graph.output("y", t.graph.embedding(weight, ids, DType::F32));
            Run& run = t.run();
            const Array v = run.input("ids", whole_numbers({9}, 51, 0, rows), DType::I32);
            run.expect_exact("y", embedding(table, v), DType::F32);
            t.passes = {"embedding"};
          }};
}

Case cast_case(int64_t rows, int64_t width, int64_t begin) {
  return {"cast " + text_of({rows, width, begin}), [=](Trial& t) {
            Array x = uniform({rows, width + begin}, 52, -1e30, 1e30);
            const Tensor part = t.graph.slice(t.weight("x", &x, DType::BF16), 1, begin, width);
            t.graph.output("y", t.graph.cast(part, DType::F32));
            t.run().expect_exact("y", slice(x, 1, begin, width), DType::F32);
          }};
}

Operation table_operation() {
  Operation operation{"narrow tables", {}, {DType::F32}};
  for (const DType type : {DType::F16, DType::BF16})
    for (const int64_t width : {1, 33, 129}) operation.cases.push_back(table_case(type, 11, width));
  operation.cases.push_back(cast_case(3, 8, 0));
  operation.cases.push_back(cast_case(5, 37, 3));
  return operation;
}

}  // namespace

TEST_CASE("weights and tables of two bytes beside f32, on every device", "[ops][narrow]") {
  check(product_operation(), vulkan_devices());
  check(few_rows_operation(), vulkan_devices(Subgroups::Both));
  check(mixed_operation(), vulkan_devices(Subgroups::Both));
  check(table_operation(), vulkan_devices());
}

TEST_CASE("what Vulkan devices do not do with bf16 is refused by name", "[narrow]") {
  struct Refused {
    DType first, second;
    bool product;  // else an embedding table, with rows of another type
    const char* why;
  };
  const Refused list[] = {{DType::F16, DType::BF16, true, "f16 by bf16"},
                          {DType::F32, DType::BF16, false, "a table of f32 and a result of bf16"},
                          {DType::F16, DType::BF16, false, "a table of f16 and a result of bf16"},
                          {DType::BF16, DType::F16, false, "a table of bf16 and a result of f16"}};
  for (const TestDevice& on : vulkan_devices())
    for (const Refused& refused : list) {
      Graph g;
      const Tensor first = g.input("first", {3, 4}, refused.first);
      g.output("y", refused.product ? g.matmul(first, g.input("second", {4, 2}, refused.second))
                                    : g.embedding(first, g.input("ids", {2}, DType::I32), refused.second));
      Device device = on.device;
      Plan plan;
      INFO(on.word << ": " << refused.why);
      CHECK(device.compile(g, {}, &plan) == Status::Unsupported);
      const std::vector<std::string> said = take_messages();
      REQUIRE(said.size() == 1);
      const bool stored = device.impl()->supports(refused.first);
      CHECK_THAT(said[0], holds(stored ? refused.why : "this device has no 16-bit storage"));
    }
}

}  // namespace heed::ops
