// Dispatch: one compute dispatch as plain data. Lowering is two pure functions per operation:
//
//   select: which kernels the pass may use on a device with these capabilities -> pipelines built by compile
//   emit:   the dispatches of one run at concrete sizes, each naming one of those kernels -> group counts and
//           push constants, worked out at record; allocates nothing
//
// Nothing here calls Vulkan.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "graph/schedule/schedule.hpp"
#include "kernels/choose/tuning.hpp"
#include "kernels/kernel_table.hpp"

namespace heed {

// The size of one instruction of matrix units: m x k times k x n.
struct MatrixSize {
  uint32_t m = 0, n = 0, k = 0;
};

// The minimum that Vulkan guarantees: invocations of a workgroup, and bytes of shared memory.
inline constexpr uint32_t kFloorInvocations = 128, kFloorSharedBytes = 16384;

// 32-bit registers per invocation with which compilers keep the values of all kernels in registers.
inline constexpr uint32_t kManyRegisters = 256;
// For drivers that run shaders on the CPU and keep registers in memory: as many as a kernel needs.
inline constexpr uint32_t kRegistersInMemory = 1024;

// The properties of a device that lowering uses. Defaults are the guaranteed minimum.
struct Capabilities {
  uint32_t max_invocations = kFloorInvocations;        // per workgroup of heed's kernels, along one axis
  uint32_t max_group_invocations = kFloorInvocations;  // per workgroup of a host's kernels, over all axes
  std::array<uint32_t, 3> max_workgroup_size = {128, 128, 64};
  std::array<uint32_t, 3> max_groups = {65535, 65535, 65535};
  uint32_t shared_bytes = kFloorSharedBytes;
  uint64_t max_storage_range = 128u << 20;
  uint32_t storage_alignment = 256;  // required alignment of descriptor offsets, in bytes
  // Compute units or streaming multiprocessors, which run workgroups in parallel. An estimate if the driver does not report it.
  uint32_t cores = 32;
  uint32_t subgroup_size = 4;  // as reported; only a hint for tile sizes
  // Subgroup operations in compute shaders: sums and maxima over a subgroup; one lane's value for all; any lane's
  // value.
  bool subgroup_arithmetic = false;
  bool subgroup_ballot = false;
  bool subgroup_shuffle = false;
  // Reading another lane's value costs as much as many multiply-adds, as on SwiftShader.
  bool slow_shuffle = false;
  uint32_t registers = kManyRegisters;   // per invocation; kernels use smaller tiles if there are fewer
  uint32_t core_registers = UINT32_MAX;  // shared by the workgroups of a core; a single workgroup idles at its barriers
  bool storage_16bit = false;            // 16-bit storage buffers are enabled: activations may be f16 and bf16
  bool local_size_id = false;  // maintenance4 is enabled: a host's SPIR-V may state its workgroup size by LocalSizeId
  // Matrix units for f16 with sums in f32; m == 0: none, or none that are faster. If there are, the same for bf16, and for signed bytes
  // with sums of 32 bits.
  MatrixSize matrix, bfloat_matrix, byte_matrix;
  uint32_t matrix_subgroup = 0;  // the subgroup size that kernels for matrix units request
  bool integer_dots = false;     // fast dot products of four bytes (OpSDot) in shaders
  // Floating-point operations of one invocation in about 10 ms on a slow GPU, at 10 GFLOP/s for each workgroup of 128; ten times as many on
  // discrete GPUs, as for dispatches (recording/split.hpp). Longer sums are split if possible. Tests lower it.
  int64_t invocation_work = 1 << 20;
  bool matrix_always = false;  // use matrix units even if plain arithmetic is expected to be faster
  // The total number of loop iterations of an invocation after which the driver silently ends the loops.
  int64_t most_rounds = INT64_MAX;
  // Kernels that failed the self-test on this device, by KernelId. select functions with alternatives check allows(); select_kernels
  // refuses a pass that still lists a disabled kernel.
  std::array<bool, kKernelCount> disabled{};
  std::shared_ptr<const Tuning> tuning;  // null: estimates choose
  // The requirement of reproducible plans that the device does not meet; null: it meets all.
  const char* irreproducible = "the device was not asked how it rounds";

  bool allows(KernelId id) const { return !disabled[static_cast<size_t>(id)]; }
};

inline constexpr uint32_t kMaxBindings = 8;
inline constexpr uint32_t kMaxSpecConstants = 25;
inline constexpr uint32_t kMaxPushBytes = 128;
inline constexpr uint32_t kMaxKernelsPerPass = 40;
inline constexpr uint32_t kMaxDispatchesPerPass = 256;

// Specialization constants 0, 1, 2 are the workgroup size and 3 the element types (select_kernels sets it), except in a host's shader.
struct KernelKey {
  KernelId id{};
  uint32_t subgroup = 0;  // the required subgroup size, with full subgroups; 0: any
  uint32_t spec_count = 4;
  std::array<uint32_t, kMaxSpecConstants> spec = {1, 1, 1};
  std::shared_ptr<const CustomKernel> custom;  // a host's shader; `id` is then unused

  // Sets a constant by its number in the headers of shaders/shared.
  KernelKey& set(size_t constant, uint32_t value) {
    spec[constant] = value;
    spec_count = std::max(spec_count, static_cast<uint32_t>(constant) + 1);
    return *this;
  }
  friend bool operator==(const KernelKey& a, const KernelKey& b) {
    if (a.custom != b.custom && (a.custom == nullptr || b.custom == nullptr || !(*a.custom == *b.custom))) return false;
    return a.id == b.id && a.subgroup == b.subgroup && a.spec_count == b.spec_count && a.spec == b.spec;
  }
};
inline const char* kernel_name(const KernelKey& key) {
  return key.custom != nullptr ? key.custom->name.c_str() : kernel_info(key.id).name;
}

// One storage buffer binding. It binds the whole storage of `tensor`; push constants have the offset of the view.
struct BufferUse {
  // Weights: the range from the first to the last weight of the pass. Faults: one u32 that the kernel may set.
  enum class Kind : uint8_t { Tensor, Weights, Faults } kind = Kind::Tensor;
  bool write = false;
  Tensor tensor;
};

inline constexpr uint32_t kNoKernel = UINT32_MAX;

// Limits and costs by which the chooser compares kernels (kernels/choose/chooser.hpp). Each operation has its own unit of time.
struct Traits {
  uint32_t rows = 1, columns = 1;  // size of a workgroup's tile of results
  int64_t most = INT64_MAX;        // maximum rows or keys of a run, or elements of a row
  double start = 0, group = 0;     // fixed time of a run, and time of each workgroup
  uint32_t least_depth = 0;        // with shorter sums most invocations have no work
  uint32_t least_groups = 0;       // with fewer workgroups in a run each takes longer
  uint32_t least_split = 0;        // minimum elements of a sum in each split, where splits are used to fill a device
  // The operands that the kernel reads: any, only those that can be read four elements at once, or only the others.
  enum class Reads : uint8_t { Any, Vec4, Others } reads = Reads::Any;
  bool octets = false;  // eight elements at once instead of four
  uint64_t tuned = 0;   // bit i: measured as the pass's fastest kernel for sizes of class i
};

// One kernel that a pass may use, with its bindings 0..buffer_count-1 in order.
struct KernelUse {
  // The chooser picks among whole kernels, which compute the result. A partial kernel stores partial sums in the workspace, from which a
  // second dispatch computes the result.
  enum class Role : uint8_t { Whole, Partial, Second } role = Role::Whole;
  uint8_t input = 0;             // for concat: the input that this kernel copies
  uint32_t partner = kNoKernel;  // for a whole kernel, its partial twin; for a partial kernel, its second dispatch
  Traits traits;                 // recording reads the members up to here
  KernelKey key;
  uint32_t buffer_count = 0;
  std::array<BufferUse, kMaxBindings> buffers{};
  const char* why = "";  // reason for the choice; static text
};

// One launch of a kernel. The recorder may split it into pieces along z, then y (vkCmdDispatchBase), so that none takes too long: kernels
// use gl_WorkGroupID only, never gl_NumWorkGroups.
struct Dispatch {
  uint32_t kernel = 0;  // index into the pass's KernelUses
  std::array<uint32_t, 3> groups = {1, 1, 1};
  double work = 0;             // floating-point operations, or bytes moved if more
  double workspace_bytes = 0;  // read from the workspace, written by an earlier dispatch of the pass
  uint32_t push_bytes = 0;
  alignas(8) std::array<std::byte, kMaxPushBytes> push{};

  template <class T>
  void set_push(const T& params) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxPushBytes && sizeof(T) % 4 == 0);
    push_bytes = sizeof(T);
    std::memcpy(push.data(), &params, sizeof(T));
  }
};

// If the list is full, further kernels set `overflowed`, with which select_kernels fails.
struct KernelList {
  uint32_t count = 0;
  bool overflowed = false;
  std::array<KernelUse, kMaxKernelsPerPass> uses{};

  void clear() { count = 0, overflowed = false; }
  // Adds an entry, and resets old contents.
  KernelUse& add() {
    overflowed |= count == uses.size();
    return uses[overflowed ? count - 1 : count++] = {};
  }
};

struct DispatchList {
  uint32_t count = 0;
  bool overflowed = false;
  std::array<Dispatch, kMaxDispatchesPerPass> dispatches{};

  void clear() { count = 0, overflowed = false; }
  // Adds an entry, and resets old contents; while push_bytes is 0, `push` is unused.
  Dispatch& add() {
    overflowed |= count == dispatches.size();
    Dispatch& fresh = dispatches[overflowed ? count - 1 : count++];
    fresh.kernel = 0;
    fresh.groups = {1, 1, 1};
    fresh.work = 0;
    fresh.workspace_bytes = 0;
    fresh.push_bytes = 0;
    return fresh;
  }
};

// The planning properties of a device with these kernels. Its capabilities must outlive this.
class KernelPlanning final : public detail::PlanningDevice {
 public:
  explicit KernelPlanning(const Capabilities& device, const detail::PlanningTraits& traits = {})
      : PlanningDevice(traits), device_(device) {}
  bool fuses_attention(const detail::GraphData& graph, const Node& node) const override;
  bool projects(DType rows, DType weights, DType results) const override;
  bool binds_together(std::span<const detail::WeightEntry* const> weights) const override;
  int64_t workspace(const detail::GraphData& graph, std::span<const int64_t> max_values, const Node& node,
                    bool reproducible) const override;

 private:
  const Capabilities& device_;
};

// Unsupported, with a message in the log, if the device cannot run the pass.
Status select_kernels(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                      KernelList* kernels);
// `kernels` must come from select_kernels for the same pass and device.
void emit_dispatches(const Schedule& schedule, const Node& node, const Capabilities& device, const KernelList& kernels,
                     const RunValues& values, DispatchList* dispatches);

}  // namespace heed
