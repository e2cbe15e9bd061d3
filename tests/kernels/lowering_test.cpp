// Every operation within the portability floor: workgroups, bindings, push constants, group counts, shared memory.

#include "graph/build/attention_backward.hpp"
#include "graph/build/build.hpp"
#include "graph/build/update.hpp"
#include "kernels/lowered.hpp"

namespace heed::kernel_tests::lowering_test {
namespace {

struct OpCase {
  const char* name;
  Op op;
  int64_t work_items;  // elements (or rows) of the output at the maxima, each made by some workgroup
  std::function<void(Graph&)> build;
};

// Gives the gradient of y with respect to a tensor.
void differentiate(Graph& g, Tensor y, Tensor of) {
  const train::Upstream output{y, g.input("up", g.shape(y))};
  g.output("y", train::gradients(g, std::span(&output, 1), std::span(&of, 1))[0]);
}

std::vector<OpCase> op_cases() {
  return {
      {"matmul", Op::Matmul, 0,
       [](Graph& g) { g.output("y", g.matmul(g.input("a", {3, 65, 33}), g.input("b", {3, 33, 70}))); }},
      {"matmul of one row", Op::Matmul, 0,
       [](Graph& g) { g.output("y", g.matmul(g.input("a", {1, 768}), g.input("b", {768, 3072}))); }},
      {"matmul of 100,000 batches", Op::Matmul, 0,
       [](Graph& g) { g.output("y", g.matmul(g.input("a", {100000, 2, 4}), g.input("b", {100000, 4, 2}))); }},
      {"matmul of 5,000,000 rows", Op::Matmul, 0,
       [](Graph& g) { g.output("y", g.matmul(g.input("a", {5000000, 2}), g.input("b", {2, 3}))); }},
      {"softmax", Op::Softmax, 200000,
       [](Graph& g) {
         SoftmaxOptions o;
         o.causal = Causal::BottomRight;
         o.key_padding = exclude(g.input("p", {2, 5}, DType::U8));
         o.mask = keep(g.input("m", {1, 1, 50000, 5}, DType::U8));
         o.bias = g.input("b", {2, 1, 50000});
         o.bias = g.reshape(o.bias, {2, 1, 50000, 1});
         g.output("y", g.softmax(g.input("x", {2, 2, 50000, 5}), o));
       }},
      {"softmax of long rows", Op::Softmax, 2, [](Graph& g) { g.output("y", g.softmax(g.input("x", {2, 1000000}))); }},
      {"layernorm", Op::LayerNorm, 70001,
       [](Graph& g) {
         g.output("y", g.layernorm(g.add(g.input("x", {70001, 300}), g.input("r", {70001, 300})), g.input("g", {300}),
                                   g.input("b", {300}), 1e-5f));
       }},
      {"rmsnorm", Op::RmsNorm, 1000000,
       [](Graph& g) { g.output("y", g.rmsnorm(g.input("x", {1000000, 20}), g.input("g", {20}), 1e-5f)); }},
      {"l2_normalize", Op::L2Normalize, 3, [](Graph& g) { g.output("y", g.l2_normalize(g.input("x", {3, 200}))); }},
      {"rotary", Op::Rotary, 70001 * 3,
       [](Graph& g) {
         g.output("y", g.rotary(g.input("x", {70001, 3, 66}), {.positions = g.input("p", {70001, 1}, DType::I32)}));
       }},
      {"sample", Op::Sample, 6,
       [](Graph& g) {
         g.output("y", g.sample(g.input("x", {2, 3, 50000}), {.previous = g.input("p", {2, 3, 70}, DType::I32),
                                                              .previous_counts = g.input("c", {1}, DType::I32),
                                                              .repetition_penalty = 1.1f,
                                                              .bias = g.input("b", {50000}),
                                                              .seeds = g.input("s", {2, 3}, DType::I32)}));
       }},
      {"cross_entropy", Op::CrossEntropy, 6,
       [](Graph& g) {
         g.output("y", g.cross_entropy(g.input("x", {2, 3, 50000}), g.input("labels", {2, 3}, DType::I32)));
       }},
      {"argmax", Op::Argmax, 6, [](Graph& g) { g.output("y", g.argmax(g.input("x", {2, 3, 50000}))); }},
      {"embedding", Op::Embedding, 80000,
       [](Graph& g) { g.output("y", g.embedding(g.input("t", {1000, 100}), g.input("i", {2, 40000}, DType::I32))); }},
      {"place", Op::Place, 80000,
       [](Graph& g) {
         const Tensor at = g.input("at", {2}, DType::I32);
         g.append(g.state("s", {2, 50000, 100}), g.input("x", {2, 40000, 100}), 1, at);
       }},
      {"attention_backward", Op::AttentionBackward, 0,
       [](Graph& g) {
         const Tensor x = g.input("x", {3, 5, 2000, 64}), y = g.input("y", {3, 5, 70, 64});
         const Tensor z = g.attention(x, y, y, {.causal = Causal::BottomRight}).output;
         detail::GraphData& data = detail::data_of(g);
         const auto made = detail::attention_backward(data, z, g.input("dy", {3, 5, 2000, 64}));
         g.output("dq", made.query);
         g.output("dk", made.key);
       }},
      {"gradient_norm", Op::GradientNorm, 0,
       [](Graph& g) {
         const Tensor gradients[] = {g.input("a", {5000000}), g.input("b", {3})};
         g.output("y", detail::gradient_norm(detail::data_of(g), gradients, g.input("s", {1, detail::kUpdateWords}),
                                             g.state("step", {1}))
                           .factors);
       }},
      {"update", Op::Update, 20000000,
       [](Graph& g) {
         const auto state = [&](const char* name) { return g.state(name, {20000000}); };
         detail::update(detail::data_of(g), {state("w"), state("m"), state("v"), state("g")},
                        g.input("f", {detail::kUpdateFactors}), g.input("s", {1, detail::kUpdateWords}), 0,
                        {.clears = true});
       }},
      {"elementwise", Op::Elementwise, 20000000,
       [](Graph& g) { g.output("y", g.mul(g.input("a", {2, 1000, 10000}), g.input("b", {1000, 1}))); }},
      {"mean of tokens", Op::Mean, 200,
       [](Graph& g) { g.output("y", g.mean(g.input("x", {2, 70, 100}), 1, keep(g.input("m", {2, 70}, DType::U8)))); }},
      {"mean of rows", Op::Mean, 90000, [](Graph& g) { g.output("y", g.mean(g.input("x", {90000, 3}), 1)); }},
      {"concat", Op::Concat, 0,
       [](Graph& g) {
         g.output("y", g.concat({g.input("a", {5, 3}), g.input("b", {5, 4}), g.input("c", {5, 1})}, 1));
       }},
      {"concat of bytes", Op::Concat, 0,
       [](Graph& g) {
         g.output("y", g.concat({g.input("a", {5, 3}, DType::U8), g.input("b", {5, 4}, DType::U8)}, 1));
       }},
      {"attention", Op::Attention, 0,
       [](Graph& g) {
         const Tensor x = g.input("x", {3, 5, 2000, 64}), y = g.input("y", {3, 5, 70, 64});
         g.output("z", g.attention(x, y, y, {.causal = Causal::BottomRight, .dropout = 0.1f}).output);
       }},
      {"attention with its weights", Op::Softmax, 0,
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 2, 30, 16});
         const AttentionResult attention = g.attention(x, x, x, {.return_weights = true});
         g.output("y", attention.output);
         g.output("w", attention.weights);
       }},
      {"softmax_backward", Op::SoftmaxBackward, 200000,
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 2, 50000, 5});
         differentiate(g, g.softmax(x, {.mask = keep(g.input("m", {50000, 5}, DType::U8)), .masked_fill = -1.0f}), x);
       }},
      {"norm_backward", Op::NormBackward, 70001,
       [](Graph& g) {
         const Tensor x = g.input("x", {70001, 300});
         differentiate(g, g.layernorm(x, g.input("g", {300}), {}, 1e-5f), x);
       }},
      {"norm_backward with sums", Op::NormBackward, 70001,
       [](Graph& g) {
         const std::array<Tensor, 3> of = {g.input("x", {70001, 300}), g.input("g", {300}), g.input("b", {300})};
         const train::Upstream output{g.layernorm(of[0], of[1], of[2], 1e-5f), g.input("up", {70001, 300})};
         for (const Tensor gradient : train::gradients(g, {&output, 1}, of))
           g.output("y" + std::to_string(gradient.id), gradient);
       }},
      {"cross_entropy_backward", Op::CrossEntropyBackward, 6,
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 3, 50000});
         differentiate(g, g.cross_entropy(x, g.input("labels", {2, 3}, DType::I32)), x);
       }},
      {"embedding_backward", Op::EmbeddingBackward, 50000,
       [](Graph& g) {
         const Tensor table = g.input("t", {50000, 100});
         differentiate(g, g.embedding(table, g.input("i", {2, 40}, DType::I32)), table);
       }},
      {"slice_backward", Op::SliceBackward, 20000000 / 128,  // workgroups
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 1000, 10000});
         differentiate(g, g.slice(x, 1, 3, 900), x);
       }},
      {"sum of rows", Op::Mean, 10000,
       [](Graph& g) {
         const Tensor b = g.input("b", {10000});
         differentiate(g, g.add(g.input("x", {90, 10000}), b), b);
       }},
      {"dropout", Op::Dropout, 3000001, [](Graph& g) { g.output("y", g.dropout(g.input("x", {3000001}), 0.5f)); }},
  };
}

void check_kernel(const KernelUse& use, const Capabilities& device) {
  const KernelInfo& info = kernel_info(use.key.id);
  INFO(info.name);
  const auto& spec = use.key.spec;
  CHECK(spec[0] * spec[1] * spec[2] <= device.max_invocations);
  for (size_t i = 0; i < 3; ++i) CHECK(spec[i] <= device.max_workgroup_size[i]);
  CHECK(use.key.spec_count >= 3);
  CHECK(use.key.spec_count <= kMaxSpecConstants);
  CHECK(use.buffer_count == info.binding_count);
  CHECK(use.why[0] != '\0');
  std::set<uint32_t> written;
  for (uint32_t b = 0; b < use.buffer_count; ++b) {
    if (use.buffers[b].write && use.buffers[b].tensor.valid()) written.insert(use.buffers[b].tensor.id);
    CHECK(use.buffers[b].tensor.valid() == (use.buffers[b].kind == BufferUse::Kind::Tensor));
  }
  // One result, but for the states of an optimizer, and what gradients of norms and attention leave for later dispatches or sum up.
  if (use.key.id != KernelId::AttentionBackwardFirstF32 && use.key.id != KernelId::UpdateF32 &&
      use.key.id != KernelId::GradientNormCombine && use.key.id != KernelId::NormBackwardF32 &&
      use.key.id != KernelId::NormBackwardSumsF32)
    CHECK(written.size() == 1);
}

int64_t group_count(const Dispatch& dispatch) {
  return int64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2];
}

TEST_CASE("every operation keeps within the portability floor") {
  for (const OpCase& test : op_cases()) {
    INFO(test.name);
    Graph g;
    test.build(g);
    Lowered lowered(g, true);
    lowered.device.max_storage_range = UINT64_C(1) << 30;
    const Node& node = lowered.pass(test.op);
    const auto [kernels, dispatches] = lowered.lower(node);
    REQUIRE(kernels.count >= 1);
    REQUIRE(kernels.count <= kMaxKernelsPerPass);
    REQUIRE(dispatches.count >= 1);
    REQUIRE(dispatches.count <= kMaxDispatchesPerPass);
    for (uint32_t k = 0; k < kernels.count; ++k) check_kernel(kernels.uses[k], lowered.device);
    for (uint32_t d = 0; d < dispatches.count; ++d) {
      const Dispatch& dispatch = dispatches.dispatches[d];
      REQUIRE(dispatch.kernel < kernels.count);
      CHECK(dispatch.push_bytes == kernel_info(kernels.uses[dispatch.kernel].key.id).push_bytes);
      CHECK(dispatch.work > 0);
      for (size_t i = 0; i < 3; ++i) {
        CHECK(dispatch.groups[i] >= 1);
        CHECK(dispatch.groups[i] <= lowered.device.max_groups[i]);
      }
    }
    // No output is left without a workgroup: a workgroup makes at most 512 elements, or spec[1] rows.
    const int64_t per_group = test.op == Op::Elementwise || test.op == Op::Dropout || test.op == Op::Update
                                  ? 512
                                  : kernels.uses[dispatches.dispatches[0].kernel].key.spec[test.op == Op::Mean ? 0 : 1];
    CHECK(group_count(dispatches.dispatches[0]) * per_group >= test.work_items);
  }
}

TEST_CASE("matmul tiles fit the device's shared memory and fill the workgroup") {
  Graph g;
  g.output("y", g.matmul(g.input("a", {500, 300}), g.input("b", {300, 400})));
  const bool large = GENERATE(false, true);
  INFO((large ? "a device with room for 128x128 tiles" : "the least device"));
  Lowered lowered(g);
  if (large) lowered.device.max_invocations = 256, lowered.device.shared_bytes = 20480;
  lowered.device.tuning = std::make_shared<Tuning>(Tuning{{}, true});  // lists all, not only what is chosen
  const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
  // Each kernel comes with and without reads of four elements: a host's buffer may start anywhere.
  CHECK(kernels.count == (large ? 8 : 6));
  for (uint32_t k = 0; k < kernels.count; ++k) {
    const auto& spec = kernels.uses[k].key.spec;
    const uint32_t bm = spec[MatmulConstants::BM], bn = spec[MatmulConstants::BN], bk = spec[MatmulTileConstants::BK],
                   tm = spec[MatmulTileConstants::TM], tn = spec[MatmulTileConstants::TN];
    CHECK(bk % 4 == 0);
    CHECK(shared_bytes(kernels.uses[k].key) <= lowered.device.shared_bytes);
    CHECK(bm % tm == 0);
    CHECK(bn % tn == 0);
    CHECK(bm / tm * (bn / tn) == spec[0]);
    CHECK(spec[0] <= lowered.device.max_invocations);
  }
}

TEST_CASE("a product's tiles are as large as still occupy every core") {
  struct Row {
    int64_t rows, columns;
    uint32_t cores, tile;
  };
  // 2,048 x 2,048 are 256 tiles of 128x128 or 1,024 of 64x64.
  for (const Row& row :
       {Row{2048, 2048, 32, 128}, Row{2048, 2048, 132, 128}, Row{1024, 1024, 132, 64}, Row{1024, 1024, 8, 128}}) {
    INFO(row.rows << " x " << row.columns << " on " << row.cores << " cores");
    Graph g;
    g.output("y", g.matmul(g.input("a", {row.rows, 256}), g.input("b", {256, row.columns})));
    Lowered lowered(g);
    lowered.device.max_invocations = 256;
    lowered.device.shared_bytes = 49152;
    lowered.device.cores = row.cores;
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    CHECK(kernels.uses[dispatches.dispatches[0].kernel].key.spec[MatmulConstants::BM] == row.tile);
  }
}

TEST_CASE("a plan keeps the kernels that some run takes, and no others") {
  struct Row {
    int64_t rows;
    bool vary;
    uint32_t kernels;
  };
  // Each tile comes with and without reads of four elements: a host's buffer may start anywhere.
  for (const Row& row : {Row{500, false, 2}, Row{1, false, 1}, Row{3, false, 1}, Row{500, true, 6}}) {
    INFO(row.rows << (row.vary ? " at most" : ""));
    Graph g;
    const Dim rows = row.vary ? g.extent("rows", row.rows) : Dim(row.rows);
    g.output("y", g.linear(g.input("a", {rows, 2048}), g.input("b", {768, 2048})));
    Lowered lowered(g);
    const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
    uint32_t whole = 0;
    for (uint32_t i = 0; i < kernels.count; ++i) {
      const KernelUse& use = kernels.uses[i];
      whole += use.role == KernelUse::Role::Whole;
      if (use.role == KernelUse::Role::Second) continue;
      REQUIRE(use.partner < kernels.count);
      const auto role = kernels.uses[use.partner].role;
      CHECK(role == (use.role == KernelUse::Role::Whole ? KernelUse::Role::Partial : KernelUse::Role::Second));
    }
    CHECK(whole == row.kernels);
  }
}

TEST_CASE("lists that are full take no more, and a pass that would need more kernels is refused") {
  KernelList kernels;
  for (uint32_t i = 0; i < kMaxKernelsPerPass; ++i) kernels.add();
  CHECK_FALSE(kernels.overflowed);
  kernels.add();
  CHECK(kernels.overflowed);
  CHECK(kernels.count == kMaxKernelsPerPass);
  DispatchList dispatches;
  for (uint32_t i = 0; i <= kMaxDispatchesPerPass; ++i) dispatches.add();
  CHECK(dispatches.overflowed);
  CHECK(dispatches.count == kMaxDispatchesPerPass);
}

TEST_CASE("rows get lanes by their length at each run") {
  Graph g;
  const Dim n = g.extent("n", 3000);
  g.output("y", g.softmax(g.input("x", {40, n})));
  Lowered lowered(g);
  const Node& node = lowered.pass(Op::Softmax);
  struct Row {
    int64_t n;
    uint32_t lanes;
  };
  for (const Row& row : {Row{1, 8}, Row{32, 8}, Row{33, 32}, Row{256, 32}, Row{257, 128}, Row{3000, 128}}) {
    INFO(row.n);
    lowered.set_extent("n", row.n);
    const auto [kernels, dispatches] = lowered.lower(node);
    CHECK(kernels.count == 6);
    const Dispatch& dispatch = dispatches.dispatches[0];
    CHECK(kernels.uses[dispatch.kernel].key.spec[0] == row.lanes);
    CHECK(group_count(dispatch) * (128 / row.lanes) >= 40);
    CHECK(push_of<SoftmaxParams>(dispatch).dim[3] == row.n);
  }
}

// Specialization constants of the row kernels.
constexpr size_t kHeld = RowGroupConstants::HELD;

TEST_CASE("rows are read four elements at a time where they lie so at this run") {
  Graph g;
  const Dim n = g.extent("n", 3000);
  g.output("y", g.softmax(g.input("x", {40, n})));
  Lowered lowered(g);
  DispatchList dispatches;
  const Node& node = lowered.pass(Op::Softmax);
  struct Row {
    int64_t n, offset;
    bool vec4;
  };
  for (const Row& row :
       {Row{32, 0, true}, Row{30, 0, false}, Row{32, 1, false}, Row{2048, 4, true}, Row{2047, 0, false}}) {
    INFO(row.n << " from " << row.offset);
    lowered.set_extent("n", row.n);
    const KernelList kernels = lowered.selected(node);
    const std::vector<int64_t> offsets(lowered.schedule.tensors.size(), row.offset);
    RunValues values = lowered.values();
    values.storage_offsets = offsets;
    emit_dispatches(lowered.schedule, node, lowered.device, kernels, values, &dispatches);
    const auto& spec = kernels.uses[dispatches.dispatches[0].kernel].key.spec;
    CHECK((spec[RowGroupConstants::VEC4] != 0) == row.vec4);
    CHECK((spec[kHeld] == 0 || row.n <= int64_t{4} * spec[0] * spec[kHeld]));
  }
}

TEST_CASE("what a device or the kernels cannot do is refused by name") {
  Graph g;
  g.output("y", g.layernorm(g.input("x", {4, 8}, DType::F16), {}, {}, 1e-5f));
  Lowered lowered(g);
  KernelList kernels;
  const Node& node = lowered.pass(Op::LayerNorm);
  CHECK(lowered.select(node, &kernels) == Status::Unsupported);
  CHECK_THAT(lowered.messages.text, holds("layernorm"));
  CHECK_THAT(lowered.messages.text, holds("f16"));

  lowered.device.storage_16bit = true;
  CHECK(lowered.select(node, &kernels) == Status::Ok);
  CHECK(kernels.uses[0].key.id == KernelId::LayernormF16);

  for (TensorInfo& tensor : lowered.schedule.tensors) tensor.dtype = DType::BF16;
  CHECK(lowered.select(node, &kernels) == Status::Ok);
  CHECK(kernels.uses[0].key.id == KernelId::LayernormBf16);
  lowered.device.storage_16bit = false;
  lowered.messages.take();
  CHECK(lowered.select(node, &kernels) == Status::Unsupported);
  CHECK_THAT(lowered.messages.text, holds("bf16 was asked for"));
}

TEST_CASE("a tensor above the device's binding range is refused with both numbers") {
  Graph g;
  g.output("y", g.scale(g.input("x", {1000, 1000}), 2.0f));
  Lowered lowered(g);
  lowered.device.max_storage_range = 3999999;
  KernelList kernels;
  CHECK(lowered.select(lowered.pass(Op::Elementwise), &kernels) == Status::Unsupported);
  CHECK_THAT(lowered.messages.text, holds("4000000"));
  CHECK_THAT(lowered.messages.text, holds("3999999"));
}

}  // namespace
}  // namespace heed::kernel_tests::lowering_test
