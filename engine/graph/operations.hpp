// The facts about each operation: the contents of operations.inc as a constexpr table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "graph/attributes.hpp"

namespace heed {

struct Node;
struct RunValues;
struct Schedule;
struct View;

inline constexpr uint32_t kMaxInputs = 11, kMaxOutputs = 4;

enum class Op : uint8_t {
#define HEED_OPERATION(enumerator, name, ...) enumerator,
#include "graph/operations.inc"
#undef HEED_OPERATION
};

// An input or output of an operation; its position in Node::inputs or outputs is that in the sheet.
struct OperandInfo {
  const char* name = nullptr;  // null: a node never has this one
  bool optional = false;
  bool several = false;  // stands for this operand and all after it
  bool narrow = false;   // may have fewer bits than the result, also in reproducible plans

  constexpr OperandInfo() = default;
  constexpr OperandInfo(const char* called) : name(called) {}
};

// A fact that every row must state: a row without it does not compile.
class Answer {
 public:
  constexpr Answer(bool yes) : yes_(yes) {}
  constexpr operator bool() const { return yes_; }

 private:
  bool yes_;
};

// Whether an operation has a gradient. Rule: `train` has a rule for it. None: requesting it is an error. Nothing: its results are indices,
// through which no gradient flows.
enum class Gradient : uint8_t { Unstated, Rule, None, Nothing };

// The cost in floating-point operations: computed by a function, or a number for each element of the first output or of the first input. A
// rough figure: exp, tanh and division count as one.
struct Flops {
  double (*count)(const Schedule& schedule, const Node& node, const RunValues& values) = nullptr;
  double each = 0;
  bool of_input = false;
};

struct OperationInfo {
  const char* name = nullptr;
  OperandInfo inputs[kMaxInputs];
  OperandInfo outputs[kMaxOutputs];
  size_t attributes = std::variant_npos;  // type of Node::attrs
  Flops flops;
  // The part of an input that a pass reads. Null: the whole view.
  View (*reads)(const Schedule& schedule, const Node& node, size_t input, const RunValues& values) = nullptr;
  Gradient gradient = Gradient::Unstated;
  Answer reproducible;  // reproducible plans may contain it
  Answer repeats;       // gives the same bits again for the same inputs, so that a training plan may recompute it

  bool writes_strided_rows = false;  // writes rows at any stride; others write contiguous tensors
  bool converts_results = false;     // writes any floating-point type on a device with PlanningTraits::converts_results
  bool takes_any_pitch = false;      // accepts any distance between rows of its inputs and outputs
  uint32_t outputs_elsewhere = 1;    // number of outputs, from the first, that may become a part of a state
  bool in_place = false;             // reads an element just before it overwrites it
  bool scatters = false;             // may write anywhere along an axis
  bool moves_bits = false;           // results have the bits of inputs
  bool reads_dense = false;          // inputs must be contiguous
  bool asks_workspace = false;       // dispatches may exchange data through a workspace
  bool gpu_only = false;             // only schedules for GPUs contain it
  const char* fault = nullptr;       // message for a run with an index out of range; null: it has no indices
};

namespace sheet {

double matmul_flops(const Schedule& schedule, const Node& node, const RunValues& values);
double attention_flops(const Schedule& schedule, const Node& node, const RunValues& values);
double attention_backward_flops(const Schedule& schedule, const Node& node, const RunValues& values);
double elementwise_flops(const Schedule& schedule, const Node& node, const RunValues& values);
double projection_flops(const Schedule& schedule, const Node& node, const RunValues& values);
View named_rows(const Schedule& schedule, const Node& node, size_t input, const RunValues& values);
View gathered_rows(const Schedule& schedule, const Node& node, size_t input, const RunValues& values);
View visited_keys(const Schedule& schedule, const Node& node, size_t input, const RunValues& values);

// The vocabulary of the sheet.
inline constexpr OperandInfo nothing;
consteval OperandInfo maybe(OperandInfo operand) {
  operand.optional = true;
  return operand;
}
consteval OperandInfo several(OperandInfo operand) {
  operand.several = true;
  return operand;
}
consteval OperandInfo reads_narrow(OperandInfo operand) {
  operand.narrow = true;
  return operand;
}
consteval Flops per_output(double each) { return {nullptr, each, false}; }
consteval Flops per_input(double each) { return {nullptr, each, true}; }

inline constexpr OperationInfo kOperations[] = {
#define HEED_OPERATION(enumerator, called, ...) {.name = #called, __VA_ARGS__},
#include "graph/operations.inc"
#undef HEED_OPERATION
};

// Checks what designated initialisers cannot enforce.
consteval bool are_named(std::span<const OperandInfo> operands) {
  if (operands[0].name == nullptr) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].name == nullptr) continue;
    if (operands[i].several && i + 1 < operands.size() && operands[i + 1].name != nullptr) return false;
    for (size_t k = 0; k < i; ++k)
      if (operands[k].name != nullptr && std::string_view(operands[k].name) == operands[i].name) return false;
  }
  return true;
}
consteval bool is_complete(const OperationInfo& row) {
  return are_named(row.inputs) && are_named(row.outputs) && row.attributes < std::variant_size_v<Attrs> &&
         (row.flops.count != nullptr || row.flops.each > 0) && row.gradient != Gradient::Unstated &&
         row.outputs_elsewhere <= kMaxOutputs;
}
consteval bool are_complete() {
  for (const OperationInfo& row : kOperations)
    if (!is_complete(row)) return false;
  return true;
}
static_assert(are_complete(), "a row of operations.inc lacks the name of an operand, its attributes, cost or gradient");

consteval size_t position(std::span<const OperandInfo> operands, std::string_view name) {
  size_t i = 0;
  while (operands[i].name == nullptr || operands[i].name != name)
    ++i;  // reads beyond the end, which does not compile, if there is no such operand
  return i;
}

}  // namespace sheet

constexpr const OperationInfo& info_of(Op op) { return sheet::kOperations[static_cast<size_t>(op)]; }
constexpr const char* to_string(Op op) { return info_of(op).name; }

// Positions in Node::inputs and outputs, by the names in the sheet.
consteval size_t input_of(Op op, std::string_view name) { return sheet::position(info_of(op).inputs, name); }
consteval size_t output_of(Op op, std::string_view name) { return sheet::position(info_of(op).outputs, name); }

}  // namespace heed
