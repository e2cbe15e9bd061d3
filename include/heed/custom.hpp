// Passes of the host's own in a Graph: a compute shader that heed schedules, orders by barriers and labels
// like its own passes. The CPU device calls a function of the host's instead.
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
// The shader. Storage buffers at set 0: binding 0, 1, ... are the inputs in their order, then the outputs;
// nothing else is bound. All are contiguous and row-major, and begin at an offset: the push-constant block
// starts with one uint for each binding, in elements of that binding's type, and goes on with the words of
// `push`. Element types in memory: F32 and I32 4 bytes, F16 and BF16 2, U8 1; a shader without 8-bit or
// 16-bit storage reads the latter as parts of uints. Outputs are read by nobody before; every element must be
// written. Specialization constants 0, 1,
// ... are `constants`. A pass with group_work may be recorded in pieces (vkCmdDispatchBase): use
// gl_WorkGroupID and gl_GlobalInvocationID, not gl_NumWorkGroups. SPIR-V 1.3 at most, as for Vulkan 1.1, and
// no capability beyond Shader that the host's device was not made with; heed cannot check that.
//
// Mistakes are the graph's (Graph::status): no name, SPIR-V that is damaged, too new or without the entry
// point, bindings that are not there or no storage buffers, an output the shader calls readonly, too many
// operands or words.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <heed/graph.hpp>
#include <heed/types.hpp>
#include <span>
#include <string_view>

namespace heed {

inline constexpr uint32_t kMaxCustomBindings = 7;  // inputs and outputs
inline constexpr uint32_t kMaxCustomOutputs = 2;
inline constexpr uint32_t kMaxCustomConstants = 16;
inline constexpr uint32_t kMaxCustomPushWords = 32;  // one for each binding, and those of `push`

// One word of the push constants: a number, or a size of the graph, which is worked out at each run.
struct CustomWord {
  Dim size = 0;
  uint32_t bits = 0;
  bool is_size = false;

  constexpr CustomWord() = default;
  template <std::integral T>
  constexpr CustomWord(T value) : bits(static_cast<uint32_t>(value)) {}
  constexpr CustomWord(float value) : bits(std::bit_cast<uint32_t>(value)) {}
  constexpr CustomWord(const Dim& value) : size(value), is_size(true) {}
};

// Workgroups along one axis: the product of `sizes` divided by `each`, rounded up. No sizes: 1.
struct CustomGroups {
  Shape sizes = {};
  uint32_t each = 1;
};

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

// What the host's function gets on the CPU device. Valid during the call.
struct CustomCall {
  std::span<const CustomBuffer> inputs, outputs;
  std::span<const uint32_t> push;  // the words of `push` at this run's sizes
};

// Called on the thread that runs the plan. Must not throw, nor call the plan.
struct CustomFunction {
  void (*run)(void* user, const CustomCall& call) = nullptr;
  void* user = nullptr;
};

// Everything is copied by Graph::custom, but not what `cpu.user` points to.
struct CustomPass {
  std::string_view name;                 // label of the pass, below the graph's labels
  std::span<const uint32_t> spirv = {};  // none: compiling for Vulkan gives Unsupported
  std::string_view entry_point = "main";
  std::span<const uint32_t> constants = {};  // specialization constants 0, 1, ...
  std::span<const CustomWord> push = {};
  std::array<CustomGroups, 3> groups = {};     // x, y, z
  std::span<const CustomOutput> outputs = {};  // at least one
  CustomFunction cpu = {};                     // none: compiling for the CPU gives Unsupported
  double group_work = 0;                       // operations of one workgroup, roughly; 0: never cut into pieces
};

}  // namespace heed
