// Elementwise functions, and the small programs of them that elementwise nodes hold.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include <heed/graph.hpp>

namespace heed {

enum class Function : uint8_t {
#define HEED_FUNCTION(enumerator, ...) enumerator,
#include "graph/functions.inc"
#undef HEED_FUNCTION
};

// A function computes in one domain: Float for F32, F16 and BF16, Whole for I32, Byte for U8.
enum class Domain : uint8_t { Float, Whole, Byte };
constexpr Domain domain_of(DType dtype) {
  return dtype == DType::I32 ? Domain::Whole : dtype == DType::U8 ? Domain::Byte : Domain::Float;
}

struct FunctionInfo {
  enum class Result : uint8_t { Same, Float, Whole, Byte };
  const char* name;
  int operands;
  uint32_t takes;  // bit i: operands of Domain i
  Result result;
  double flops;
};
namespace functions {
using Result = FunctionInfo::Result;
inline constexpr uint32_t kFloat = 1, kWhole = 2, kByte = 4;
inline constexpr FunctionInfo kFunctions[] = {
#define HEED_FUNCTION(enumerator, name, operands, takes, result, flops, ...) {#name, operands, takes, result, flops},
#include "graph/functions.inc"
#undef HEED_FUNCTION
};
}  // namespace functions
constexpr const FunctionInfo& info_of(Function function) {
  return functions::kFunctions[static_cast<size_t>(function)];
}
constexpr Domain result_of(Function function, Domain operands) {
  switch (info_of(function).result) {
    case FunctionInfo::Result::Float: return Domain::Float;
    case FunctionInfo::Result::Whole: return Domain::Whole;
    case FunctionInfo::Result::Byte: return Domain::Byte;
    default: return operands;
  }
}

constexpr Function function_of(Activation kind) {
  return static_cast<Function>(static_cast<int>(Function::Relu) + static_cast<int>(kind) - 1);
}
constexpr Function backward_of(Activation kind) {
  return static_cast<Function>(static_cast<int>(Function::ReluBackward) + static_cast<int>(kind) - 1);
}
static_assert(function_of(Activation::Relu) == Function::Relu && function_of(Activation::Tanh) == Function::Tanh &&
              backward_of(Activation::Tanh) == Function::TanhBackward);
// None if the function is not an activation.
constexpr Activation activation_of(Function function) {
  return function >= Function::Relu && function <= Function::Tanh
             ? static_cast<Activation>(static_cast<int>(function) - static_cast<int>(Function::Relu) + 1)
             : Activation::None;
}
constexpr Activation backward_activation_of(Function function) {
  return function >= Function::ReluBackward && function <= Function::TanhBackward
             ? static_cast<Activation>(static_cast<int>(function) - static_cast<int>(Function::ReluBackward) + 1)
             : Activation::None;
}

// The program of an elementwise node: a list of steps, each a function of inputs of the node, of results of earlier steps and of numbers.
// The last step gives the node's result, and only it rounds to the result's type.
struct ElementwiseAttrs {
  static constexpr uint8_t kInputs = 6, kSteps = 16, kScalars = 16;
  // Dims except the outermost, strides and scalars of a program together; push constants have room for this many words.
  static constexpr uint8_t kWords = 24;

  // An operand of a step, encoded as a number as in shaders (shared/program.h).
  struct Operand {
    enum Kind : uint8_t { Input = 0, Step = 8, Scalar = 24 };
    uint8_t number = 0;

    constexpr bool is(Kind kind) const {
      return number >= kind && number < (kind == Input ? Step : kind == Step ? Scalar : Scalar + kScalars);
    }
    constexpr uint8_t index() const { return is(Input) ? number : is(Step) ? number - Step : number - Scalar; }
    friend constexpr bool operator==(Operand, Operand) = default;
  };
  static constexpr Operand input(int i) { return {static_cast<uint8_t>(Operand::Input + i)}; }
  static constexpr Operand step(int i) { return {static_cast<uint8_t>(Operand::Step + i)}; }

  struct Step {
    Function function = Function::Copy;
    Domain domain = Domain::Float;  // type of the operands; for Where, of the second and third
    std::array<Operand, 3> operands{};
    friend constexpr bool operator==(const Step&, const Step&) = default;
  };

  std::array<Step, kSteps> steps{};  // the default is a copy for any type
  uint8_t count = 1, scalar_count = 0;
  // The number of dims that remain if neighbouring dims with one common stride in all operands are merged, at any extents. join_elementwise
  // computes it.
  uint8_t rank = kMaxRank;
  std::array<uint32_t, kScalars> scalars{};  // bits of f32, or of integers

  // A program without steps, to be filled by add.
  static ElementwiseAttrs empty() {
    ElementwiseAttrs attrs;
    attrs.count = 0;
    return attrs;
  }
  // A program of one step whose operands are the node's inputs.
  static ElementwiseAttrs of(Function function, Domain domain = Domain::Float) {
    ElementwiseAttrs attrs = empty();
    attrs.add(function, {input(0), input(1), input(2)}, domain);
    return attrs;
  }
  // Appends a step. The caller checks that there is room.
  Operand add(Function function, std::array<Operand, 3> operands, Domain domain = Domain::Float) {
    for (int i = info_of(function).operands; i < 3; ++i) operands[static_cast<size_t>(i)] = {};
    steps[count] = {function, domain, operands};
    return step(count++);
  }
  Operand scalar_bits(uint32_t bits) {
    uint8_t i = 0;
    while (i < scalar_count && scalars[i] != bits) ++i;
    if (i == scalar_count) scalars[scalar_count++] = bits;
    return {static_cast<uint8_t>(Operand::Scalar + i)};
  }
  Operand scalar(float value) { return scalar_bits(std::bit_cast<uint32_t>(value)); }

  const Step& last() const { return steps[count - 1]; }
  bool is_copy() const { return count == 1 && steps[0].function == Function::Copy; }
  bool copies_or_casts() const {
    return count == 1 && (steps[0].function == Function::Copy || steps[0].function >= Function::ToFloat);
  }
  double flops() const {
    double sum = 0;
    for (uint8_t i = 0; i < count; ++i) sum += info_of(steps[i].function).flops;
    return sum;
  }
};

// Simple floating-point programs that other operations can include as an epilogue: out = activation(scale (a kind b)), or a times the
// derivative of the activation at b.
struct SimpleElementwise {
  enum class Kind : uint8_t { Copy, Add, Mul, ActivationBackward } kind = Kind::Copy;
  float scale = 1.0f;
  Activation activation = Activation::None;

  bool is_plain() const { return scale == 1.0f && activation == Activation::None; }
};
// None if the program is not of this form.
std::optional<SimpleElementwise> simple_of(const ElementwiseAttrs& attrs);
ElementwiseAttrs program_of(const SimpleElementwise& simple);

}  // namespace heed
