// Dispatch: one compute dispatch as plain data. Lowering is two pure functions per operation:
//
//   select: which kernels the step may use on a device with these capabilities -> pipelines built by compile
//   emit:   the dispatches of one run at concrete sizes, each naming one of those kernels -> group counts and
//           push constants, worked out at record; allocates nothing
//
// Nothing here calls Vulkan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "graph/schedule.hpp"
#include "kernels/kernel_table.hpp"
#include "kernels/tuning.hpp"

namespace heed {

// The size of one product of matrix units: m x k times k x n.
struct MatrixSize {
  uint32_t m = 0, n = 0, k = 0;
};

// Of the portability floor: invocations of a workgroup, and its bytes of shared memory.
inline constexpr uint32_t kFloorInvocations = 128, kFloorSharedBytes = 16384;

// What lowering may know of a device. Defaults are the portability floor.
struct Capabilities {
  uint32_t max_invocations = kFloorInvocations;  // per workgroup
  std::array<uint32_t, 3> max_workgroup_size = {128, 128, 64};
  std::array<uint32_t, 3> max_groups = {65535, 65535, 65535};
  uint32_t shared_bytes = kFloorSharedBytes;
  uint64_t max_storage_range = 128u << 20;
  uint32_t storage_alignment = 256;  // of descriptor offsets
  // Compute units, streaming multiprocessors: what runs workgroups side by side. A guess where the driver does not tell.
  uint32_t cores = 32;
  uint32_t subgroup_size = 4;  // as reported; a hint for tile sizes, never relied on
  // Subgroup operations in compute shaders: sums and maxima over a subgroup; one lane's value for all; any
  // lane's value.
  bool subgroup_arithmetic = false;
  bool subgroup_ballot = false;
  bool subgroup_shuffle = false;
  // Taking another lane's value costs as much as many multiply-adds, as on SwiftShader.
  bool slow_shuffle = false;
  // A driver that runs shaders on the CPU. Its subgroups have exactly subgroup_size invocations, workgroups
  // run one after the other on each core, and a barrier costs more than much arithmetic.
  bool software = false;
  bool storage_16bit = false;  // 16-bit storage buffers are enabled: activations may be f16 and bf16
  // Matrix units for f16 with sums in f32; m == 0: none, or none that pays.
  MatrixSize matrix;
  // Of what the sizes of a whole workgroup's matrices are multiples (VK_NV_cooperative_matrix2), for workgroups of 128
  // and of 256 invocations; m == 0: none. `largest`: rows or columns of one; 0: none at all.
  MatrixSize workgroup_matrix_128, workgroup_matrix_256;
  uint32_t workgroup_matrix_largest = 0;
  uint32_t matrix_subgroup = 0;  // the subgroup size that their kernels ask for
  bool matrix_always = false;    // also where plain arithmetic is expected to be faster
  // Kernels that failed the self-test on this device, by KernelId. Whoever has a choice asks allows(); select_kernels
  // refuses what is left.
  std::array<bool, kKernelCount> disabled{};
  std::shared_ptr<const Tuning> tuning;  // null: estimates choose

  bool allows(KernelId id) const { return !disabled[static_cast<size_t>(id)]; }
};

inline constexpr uint32_t kMaxBindings = 8;
inline constexpr uint32_t kMaxSpecConstants = 24;
inline constexpr uint32_t kMaxPushBytes = 128;
inline constexpr uint32_t kMaxKernelsPerStep = 32;
inline constexpr uint32_t kMaxDispatchesPerStep = 16;

// Specialization constants 0, 1, 2 are always the workgroup size, but for a host's shader.
struct KernelKey {
  KernelId id{};
  uint32_t subgroup = 0;  // the subgroup size it needs, every subgroup full; 0: any
  uint32_t spec_count = 3;
  std::array<uint32_t, kMaxSpecConstants> spec = {1, 1, 1};
  std::shared_ptr<const CustomKernel> custom;  // a host's shader; `id` then means nothing
  friend bool operator==(const KernelKey& a, const KernelKey& b) {
    if (a.custom != b.custom && (a.custom == nullptr || b.custom == nullptr || !(*a.custom == *b.custom))) return false;
    return a.id == b.id && a.subgroup == b.subgroup && a.spec_count == b.spec_count && a.spec == b.spec;
  }
};
inline const char* kernel_name(const KernelKey& key) {
  return key.custom != nullptr ? key.custom->name.c_str() : kernel_info(key.id).name;
}

// One storage buffer binding. The whole storage of `tensor` is bound; where a view starts is in the push constants.
struct BufferUse {
  enum class Kind : uint8_t { Tensor, Faults } kind = Kind::Tensor;  // Faults: one u32 the kernel may set
  bool write = false;
  Tensor tensor;
};

// One kernel a step may use, with its bindings 0..buffer_count-1 in order.
struct KernelUse {
  KernelKey key;
  uint32_t buffer_count = 0;
  std::array<BufferUse, kMaxBindings> buffers{};
  const char* why = "";  // static text: reason for the choice
  // Does the same work as the kernel before it, which has demands on the operands that are known at a run
  // only.
  bool alternative = false;
  uint64_t tuned = 0;       // bit i: by measurement the best of the step's kernels for sizes of class i
  bool only_tuned = false;  // estimates never choose it
};

//
// The recorder may cut a dispatch into several along z, then y (vkCmdDispatchBase), so that none runs too long:
// kernels use gl_WorkGroupID only, never gl_NumWorkGroups.
struct Dispatch {
  uint32_t kernel = 0;  // index into the step's KernelUses
  std::array<uint32_t, 3> groups = {1, 1, 1};
  double work = 0;             // floating-point operations, or bytes moved if more
  double workspace_bytes = 0;  // which the step wrote to its workspace before, and this reads
  uint32_t push_bytes = 0;
  alignas(8) std::array<std::byte, kMaxPushBytes> push{};

  template <class T>
  void set_push(const T& params) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxPushBytes && sizeof(T) % 4 == 0);
    push_bytes = sizeof(T);
    std::memcpy(push.data(), &params, sizeof(T));
  }
};

struct KernelList {
  uint32_t count = 0;
  std::array<KernelUse, kMaxKernelsPerStep> uses{};
  KernelUse& add() { return uses[count++] = {}; }  // the list may hold another step's
};

struct DispatchList {
  uint32_t count = 0;
  std::array<Dispatch, kMaxDispatchesPerStep> dispatches{};
  Dispatch& add() {
    Dispatch& fresh = dispatches[count++];  // may hold an earlier step's
    fresh.kernel = 0;
    fresh.groups = {1, 1, 1};
    fresh.work = 0;
    fresh.workspace_bytes = 0;
    fresh.push_bytes = 0;
    return fresh;
  }
};

// Has a schedule planned for a device with these capabilities, which must live as long as the options.
void plan_for(const Capabilities& device, ScheduleOptions* options);

// Whether a fused kernel runs this attention on the device; otherwise it is planned as matmul, softmax and matmul.
// `tensors` and `sizes` are those of the node's graph.
bool fuses_attention(const SizeTable& sizes, std::span<const TensorInfo> tensors, const Node& node,
                     const Capabilities& device);

// Unsupported, with a message in the log, if the device cannot run the step as asked.
Status select_kernels(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                      KernelList* kernels);
// `kernels` is what select_kernels gave for the same step and device.
void emit_dispatches(const Schedule& schedule, const Node& node, const Capabilities& device, const KernelList& kernels,
                     const RunValues& values, DispatchList* dispatches);

}  // namespace heed
