// The host's own passes in a Graph: compute shaders that heed schedules, synchronizes and labels like its own passes. The CPU device calls
// a function of the host instead.
//
//   // fade.comp: y = x * factor, for `count` elements
//   //   layout(local_size_x_id = 0) in;
//   //   layout(set = 0, binding = 0) readonly buffer X { float x[]; };
//   //   layout(set = 0, binding = 1) writeonly buffer Y { float y[]; };
//   //   layout(push_constant) uniform P { uint x_offset, y_offset, count; float factor; } p;
//   //   void main() {
//   //     uint i = gl_GlobalInvocationID.x;
//   //     if (i < p.count) y[p.y_offset + i] = x[p.x_offset + i] * p.factor;
//   //   }
//   const heed::Dim n = g.extent("n", 4096);
//   const heed::Tensor x = g.input("x", {n});
//   const uint32_t workgroup[] = {64};
//   const heed::CustomWord push[] = {n, 0.5f};
//   const heed::CustomOutput out[] = {{{n}, heed::DType::F32}};
//   const heed::Tensor y = g.custom({.name = "fade", .spirv = words, .constants = workgroup, .push = push,
//                                    .groups = {{{n}, 64}}, .outputs = out}, {x}).outputs[0];
//
// The shader sees storage buffers at set 0 and nothing else: bindings 0, 1, ... are the inputs in their order, then the outputs. All are
// contiguous and row-major. Each begins at an offset within its binding: the push-constant block holds one uint per binding, the offset in
// elements of that binding's type, and then the words of `push`. In memory F32 and I32 take 4 bytes, F16 and BF16 2, U8 1; a shader without
// 8-bit or 16-bit storage reads the small types as parts of uints. The shader must write every element of its outputs, whose earlier
// contents mean nothing. `constants` are the specialization constants 0, 1, ... Workgroups may have three dimensions, within the device's
// limits.
//
// A pass with group_work may be recorded in pieces (vkCmdDispatchBase): use gl_WorkGroupID and gl_GlobalInvocationID, not gl_NumWorkGroups.
// SPIR-V may be up to 1.3, as for Vulkan 1.1. It may use the capability Shader and those that are enabled on the host's device; heed cannot
// check the latter.
//
// The following are errors of the graph (Graph::status): no name, SPIR-V that is damaged, too new or without the entry point, bindings that
// are missing or are no storage buffers, an output that the shader calls readonly, too many operands or words.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <heed/graph.hpp>
#include <heed/types.hpp>

namespace heed {

inline constexpr uint32_t kMaxCustomBindings = 7;  // inputs and outputs together
inline constexpr uint32_t kMaxCustomOutputs = 2;
inline constexpr uint32_t kMaxCustomConstants = 16;
inline constexpr uint32_t kMaxCustomPushWords = 32;  // the offset of each binding, and the words of `push`

// One word of the push constants: a number, or a size or position of the graph, which each run fills in.
struct CustomWord {
  Dim size = 0;          // the size, if is_size
  uint32_t bits = 0;     // the word, if not is_size
  bool is_size = false;  // whether `size` counts, else `bits`

  constexpr CustomWord() = default;
  // A number as the shader reads it, or a size that each run fills in.
  template <std::integral T>
  constexpr CustomWord(T value) : bits(static_cast<uint32_t>(value)) {}
  constexpr CustomWord(float value) : bits(std::bit_cast<uint32_t>(value)) {}
  constexpr CustomWord(const Dim& value) : size(value), is_size(true) {}
};

// The number of workgroups along one axis: the product of `sizes`, divided by `each` and rounded up. Without sizes: 1.
struct CustomGroups {
  Shape sizes = {};
  uint32_t each = 1;
};

// The shape and type of an output of a pass.
struct CustomOutput {
  Shape shape;
  DType dtype = DType::F32;
};

// One operand in host memory, contiguous and row-major; only outputs may be written.
struct CustomBuffer {
  void* data = nullptr;
  size_t bytes = 0;
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
};

// The arguments of the host's function on the CPU device. They are valid during the call.
struct CustomCall {
  std::span<const CustomBuffer> inputs, outputs;  // in the order of the pass
  std::span<const uint32_t> push;                 // the words of `push` at this run's sizes
};

// A function of the host. It is called on the thread that runs the plan, and must neither throw nor call the plan.
struct CustomFunction {
  void (*run)(void* user, const CustomCall& call) = nullptr;
  void* user = nullptr;
};

// The operands of a pass, as its gradient sees them; see CustomGradient.
struct CustomGradientCall {
  std::span<const Tensor> inputs, outputs;  // inputs and outputs of the pass, in their order
  std::span<const Tensor> upstream;         // for each output its gradient, of its shape and type; invalid: zeros
  // Whether the gradient of each input is needed.
  std::span<const bool> wanted;
  std::span<Tensor> gradients;  // for the function to set: for each input its gradient, of its shape; an invalid one
                                // means zeros
};

// The function adds operations to `g` that compute the gradients of the inputs: further passes of the host's, or any others. It is called
// by train::gradients, on its thread, and must not throw. Mistakes are the graph's (Graph::fail).
struct CustomGradient {
  void (*build)(void* user, Graph& g, const CustomGradientCall& call) = nullptr;
  void* user = nullptr;
};

// A pass of the host's. Graph::custom copies all of this, except what `cpu.user` and `gradient.user` point to.
struct CustomPass {
  std::string_view name;  // label of the pass, below the graph's labels
  // SPIR-V 1.0 to 1.3. compile returns Unsupported on Vulkan if it is empty, or if it states its workgroup size by LocalSizeId and the
  // device lacks maintenance4 (on a host's device: the host did not enable it).
  std::span<const uint32_t> spirv = {};
  std::string_view entry_point = "main";       // entry point of the SPIR-V
  std::span<const uint32_t> constants = {};    // specialization constants 0, 1, ...
  std::span<const CustomWord> push = {};       // at most kMaxCustomPushWords minus one offset per operand
  std::array<CustomGroups, 3> groups = {};     // x, y, z
  std::span<const CustomOutput> outputs = {};  // at least one
  CustomFunction cpu = {};                     // if null, compile returns Unsupported on the CPU
  double group_work = 0;         // rough number of operations of one workgroup; 0: the pass is never split into pieces
  CustomGradient gradient = {};  // if null, train::gradients through this pass are a mistake
};

}  // namespace heed
