// Says which passes and types a plan may have whose bits are the same on every device (CompileOptions::reproducible).
#include "base/logging.hpp"
#include "graph/schedule.hpp"

namespace heed {
namespace {

bool is_covered(const Node& node) {
  switch (node.op) {
    case Op::Matmul:
    case Op::Elementwise:
    case Op::Softmax:
    case Op::Dropout:
    case Op::LayerNorm:
    case Op::RmsNorm:
    case Op::Embedding:
    case Op::Mean:
    case Op::L2Normalize:
    case Op::Rotary:
    case Op::Concat:
    case Op::Place:
    case Op::Argmax:
    case Op::Sample:
    case Op::CrossEntropy:
    case Op::CrossEntropyBackward:
    case Op::SoftmaxBackward:
    case Op::NormBackward:
    case Op::EmbeddingBackward:
    case Op::SliceBackward:
    case Op::GradientNorm:
    case Op::Update: return true;
    default: return false;
  }
}

bool is_covered(DType dtype) { return dtype == DType::F32 || dtype == DType::I32 || dtype == DType::U8; }

// Whether the node reads this input in a type of fewer bits, and computes in f32: weights of products, tables, and casts.
bool widens(const Schedule& schedule, const Node& node, size_t input) {
  if (!is_covered(schedule.info(node.outputs[0]).dtype)) return false;
  if (node.op == Op::Matmul) return input == in::kB;
  if (node.op == Op::Embedding) return input == in::kTable;
  return node.op == Op::Elementwise && node.as<ElementwiseAttrs>().kind == ElementwiseAttrs::Kind::Copy;
}

}  // namespace

void plan_reproducibly(ScheduleOptions* options) {
  options->reproducible = true;
  // An attention is a product, a softmax and a product, its gradient likewise, and no product is split or takes a norm along.
  options->keeps_attention = nullptr;
  options->projects = nullptr;
  options->converts_results = options->strided_attention = false;
}

Status check_reproducible(const Schedule& schedule, const Log& log) {
  for (const Node& node : schedule.passes) {
    if (!is_covered(node))
      return fail(log, Status::Unsupported,
                  format("compile: %s %s: reproducible plans cannot have this operation", to_string(node.op),
                         node.label.c_str()));
    const auto check = [&](Tensor tensor, bool may_be_narrow) {
      if (!tensor.valid() || may_be_narrow || is_covered(schedule.info(tensor).dtype)) return Status::Ok;
      return fail(log, Status::Unsupported,
                  format("compile: %s %s: reproducible plans cannot have %s here", to_string(node.op),
                         node.label.c_str(), to_string(schedule.info(tensor).dtype)));
    };
    Status status = Status::Ok;
    for (size_t i = 0; i < node.inputs.size() && status == Status::Ok; ++i)
      status = check(node.inputs[i], widens(schedule, node, i));
    for (size_t i = 0; i < node.outputs.size() && status == Status::Ok; ++i) status = check(node.outputs[i], false);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

}  // namespace heed
