// Every operation within the portability floor: workgroups, bindings, push constants, group counts, shared memory.

#include "cases/op_case.hpp"
#include "kernels/lowered.hpp"
#include "shared/matmul_tiles.h"

namespace heed::kernel_tests {
namespace {

const Node& pass_of(const Lowered& lowered, std::string_view op) {
  for (const Node& node : lowered.schedule.passes)
    if (op == to_string(node.op)) return node;
  FAIL("no pass " << op);
  return lowered.schedule.passes[0];
}

// The number of elements or rows that workgroups must cover; 0 if a workgroup computes neither.
int64_t work_items(const Node& node, const Schedule& schedule) {
  const std::vector<int64_t> shape = schedule.max_shape(schedule.info(node.outputs[0]));
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  switch (node.op) {
    case Op::Elementwise:
    case Op::Dropout:
    case Op::Update:
    case Op::Reduce:
    case Op::Argmax:
    case Op::Sample:
    case Op::CrossEntropy: return elements;
    case Op::Softmax:
    case Op::LayerNorm:
    case Op::RmsNorm:
    case Op::L2Normalize:
    case Op::Rotary:
    case Op::Embedding:
    case Op::Place:
    case Op::SoftmaxBackward:
    case Op::NormBackward:
    case Op::CrossEntropyBackward:
    case Op::EmbeddingBackward: return elements / shape.back();
    case Op::SliceBackward: return elements / 128;  // workgroups
    default: return 0;
  }
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
  // One result each, except for states of an optimizer, and partial results of gradients of norms and attention.
  if (use.key.id != KernelId::AttentionBackwardFirstF32 && use.key.id != KernelId::UpdateF32 &&
      use.key.id != KernelId::GradientNormCombine && use.key.id != KernelId::NormBackwardF32 &&
      use.key.id != KernelId::NormBackwardSumsF32)
    CHECK(written.size() == 1);
}

int64_t group_count(const Dispatch& dispatch) {
  return int64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2];
}

void check_floor(const Graph& graph, std::string_view op) {
  Lowered lowered(graph, true);
  lowered.device.max_storage_range = UINT64_C(1) << 30;
  const Node& node = pass_of(lowered, op);
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
  // Every output has a workgroup: a workgroup computes at most 512 elements, or spec[1] rows.
  const int64_t per_group = node.op == Op::Elementwise || node.op == Op::Dropout || node.op == Op::Update
                                ? 512
                                : kernels.uses[dispatches.dispatches[0].kernel].key.spec[node.op == Op::Reduce ? 0 : 1];
  CHECK(group_count(dispatches.dispatches[0]) * per_group >= work_items(node, lowered.schedule));
}

TEST_CASE("every operation keeps within the portability floor") {
  int lowered_cases = 0;
  for (const OpCase* test : all_cases())
    for (const CaseSizes& sizes : test->floor) {
      INFO(test->name(sizes));
      CaseGraph made(DType::F32, sizes);
      test->build(made);
      check_floor(made.graph, test->op);
      ++lowered_cases;
    }
  CHECK(lowered_cases >= 33);
}

TEST_CASE("matmul tiles fit the device's shared memory and fill the workgroup") {
  Graph g;
  g.output("y", g.matmul(g.input("a", {500, 300}), g.input("b", {300, 400})));
  const bool large = GENERATE(false, true);
  INFO((large ? "a device with room for 128x128 tiles" : "the least device"));
  Lowered lowered(g);
  if (large) lowered.device.max_invocations = 256, lowered.device.shared_bytes = 20480;
  lowered.device.tuning = std::make_shared<Tuning>(Tuning{{}, true});  // lists all kernels, not only the chosen ones
  const auto [kernels, dispatches] = lowered.lower(Op::Matmul);
  // Each kernel exists with and without vector loads of four elements: a host's buffer may start anywhere.
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
  // Each tile exists with and without vector loads of four elements: a host's buffer may start anywhere.
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
}  // namespace heed::kernel_tests
