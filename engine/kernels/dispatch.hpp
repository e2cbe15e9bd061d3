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

// The size of one product of matrix units: m x k times k x n.
struct MatrixSize {
  uint32_t m = 0, n = 0, k = 0;
};

// The portability floor: invocations of a workgroup, and its bytes of shared memory.
inline constexpr uint32_t kFloorInvocations = 128, kFloorSharedBytes = 16384;

// Registers of an invocation, of 32 bits each, in which compilers keep all values of every kernel.
inline constexpr uint32_t kManyRegisters = 256;
// A driver that runs shaders on the CPU keeps them in memory, and has as many as a kernel wants.
inline constexpr uint32_t kRegistersInMemory = 1024;

// All that lowering may know of a device. Defaults are the portability floor.
struct Capabilities {
  uint32_t max_invocations = kFloorInvocations;        // per workgroup of heed's, which is a row
  uint32_t max_group_invocations = kFloorInvocations;  // per workgroup of a host's, which may be a box
  std::array<uint32_t, 3> max_workgroup_size = {128, 128, 64};
  std::array<uint32_t, 3> max_groups = {65535, 65535, 65535};
  uint32_t shared_bytes = kFloorSharedBytes;
  uint64_t max_storage_range = 128u << 20;
  uint32_t storage_alignment = 256;  // of descriptor offsets
  // Compute units or streaming multiprocessors, which run workgroups side by side. A guess where the driver does not
  // tell.
  uint32_t cores = 32;
  uint32_t subgroup_size = 4;  // as reported; a hint for tile sizes, never relied on
  // Subgroup operations in compute shaders: sums and maxima over a subgroup; one lane's value for all; any lane's
  // value.
  bool subgroup_arithmetic = false;
  bool subgroup_ballot = false;
  bool subgroup_shuffle = false;
  // Taking another lane's value costs as much as many multiply-adds, as on SwiftShader.
  bool slow_shuffle = false;
  uint32_t registers = kManyRegisters;   // of an invocation; with fewer, kernels get smaller tiles
  uint32_t core_registers = UINT32_MAX;  // which the workgroups of a core share; a lone workgroup waits at its barriers
  bool storage_16bit = false;            // 16-bit storage buffers are enabled: activations may be f16 and bf16
  bool local_size_id = false;  // maintenance4 is enabled: a host's SPIR-V may tell its workgroup size by LocalSizeId
  // Matrix units for f16 with sums in f32; m == 0: none, or none that pays. Where there are, the same for bf16, and those for
  // signed bytes with sums of 32 bits.
  MatrixSize matrix, bfloat_matrix, byte_matrix;
  uint32_t matrix_subgroup = 0;  // the subgroup size that their kernels ask for
  bool integer_dots = false;     // fast dot products of four bytes (OpSDot) in shaders
  // Floating-point operations that one invocation of a slow GPU does in about 10 ms, if workgroups of 128 have 10 GFLOP/s
  // each; ten times that on discrete GPUs, as for dispatches (recording/split.hpp). Sums of more are split where they can
  // be. Tests lower it.
  int64_t invocation_work = 1 << 20;
  bool matrix_always = false;  // also where plain arithmetic is expected to be faster
  // Rounds of all loops of an invocation, after which the driver ends them without a word.
  int64_t most_rounds = INT64_MAX;
  // Kernels that failed the self-test on this device, by KernelId. A select function that has a choice asks allows();
  // select_kernels refuses a pass that still lists one.
  std::array<bool, kKernelCount> disabled{};
  std::shared_ptr<const Tuning> tuning;  // null: estimates choose
  // Reproducible plans need this, and the device does not promise it; null: it promises everything.
  const char* irreproducible = "the device was not asked how it rounds";

  bool allows(KernelId id) const { return !disabled[static_cast<size_t>(id)]; }
};

inline constexpr uint32_t kMaxBindings = 8;
inline constexpr uint32_t kMaxSpecConstants = 25;
inline constexpr uint32_t kMaxPushBytes = 128;
inline constexpr uint32_t kMaxKernelsPerPass = 40;
inline constexpr uint32_t kMaxDispatchesPerPass = 256;

// Specialization constants 0, 1, 2 are the workgroup size and 3 the element types (select_kernels sets it), but for a host's
// shader.
struct KernelKey {
  KernelId id{};
  uint32_t subgroup = 0;  // the subgroup size it needs, every subgroup full; 0: any
  uint32_t spec_count = 4;
  std::array<uint32_t, kMaxSpecConstants> spec = {1, 1, 1};
  std::shared_ptr<const CustomKernel> custom;  // a host's shader; `id` then means nothing

  // Numbers as in the headers of shaders/shared.
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

// One storage buffer binding. The whole storage of `tensor` is bound; where a view starts is in the push constants.
struct BufferUse {
  // Weights: the range from the first to the last of the pass's weights. Faults: one u32 the kernel may set.
  enum class Kind : uint8_t { Tensor, Weights, Faults } kind = Kind::Tensor;
  bool write = false;
  Tensor tensor;
};

inline constexpr uint32_t kNoKernel = UINT32_MAX;

// Limits and costs by which the chooser compares kernels (kernels/choose/chooser.hpp). Each operation has a unit of time of
// its own.
struct Traits {
  uint32_t rows = 1, columns = 1;  // of the result that a workgroup makes
  int64_t most = INT64_MAX;        // rows or keys of a run, or elements of a row, that it is for at most
  double start = 0, group = 0;     // time that every run takes, and time of each workgroup
  uint32_t least_depth = 0;        // sums over fewer elements leave most invocations without work
  uint32_t least_groups = 0;       // with fewer workgroups in a run each takes longer
  uint32_t least_split = 0;        // elements of a sum that each split of it has at least, where splits fill a device
  // Two kernels may do the same: one for operands that can be read four elements at a time, one for all others.
  enum class Reads : uint8_t { Any, Vec4, Others } reads = Reads::Any;
  bool octets = false;  // it is eight elements at a time instead
  uint64_t tuned = 0;   // bit i: it was measured to be the fastest of the pass's kernels for sizes of class i
};

// One kernel a pass may use, with its bindings 0..buffer_count-1 in order.
struct KernelUse {
  // The chooser picks among whole kernels, which make the result. A partial kernel leaves sums in the workspace, and a
  // second dispatch makes the result from these.
  enum class Role : uint8_t { Whole, Partial, Second } role = Role::Whole;
  uint8_t input = 0;             // the number of concat's input that this kernel copies
  uint32_t partner = kNoKernel;  // a whole kernel's partial twin; a partial kernel's second dispatch
  Traits traits;                 // record reads the members up to here
  KernelKey key;
  uint32_t buffer_count = 0;
  std::array<BufferUse, kMaxBindings> buffers{};
  const char* why = "";  // static text: reason for the choice
};

// One launch of a kernel. The recorder may cut it into pieces along z, then y (vkCmdDispatchBase), so that none runs
// too long: kernels use gl_WorkGroupID only, never gl_NumWorkGroups.
struct Dispatch {
  uint32_t kernel = 0;  // index into the pass's KernelUses
  std::array<uint32_t, 3> groups = {1, 1, 1};
  double work = 0;             // floating-point operations, or bytes moved if more
  double workspace_bytes = 0;  // read from the workspace, where an earlier dispatch of the pass wrote them
  uint32_t push_bytes = 0;
  alignas(8) std::array<std::byte, kMaxPushBytes> push{};

  template <class T>
  void set_push(const T& params) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxPushBytes && sizeof(T) % 4 == 0);
    push_bytes = sizeof(T);
    std::memcpy(push.data(), &params, sizeof(T));
  }
};

// A full list takes no more kernels and sets `overflowed`, with which select_kernels fails.
struct KernelList {
  uint32_t count = 0;
  bool overflowed = false;
  std::array<KernelUse, kMaxKernelsPerPass> uses{};

  void clear() { count = 0, overflowed = false; }
  // Resets what an earlier pass left in its place.
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
  // Resets what an earlier pass left in its place; without push_bytes, `push` does not count.
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

// What these kernels can do on a device, whose capabilities must live as long as this.
class KernelPlanning final : public detail::PlanningDevice {
 public:
  explicit KernelPlanning(const Capabilities& device, const detail::PlanningTraits& traits = {})
      : PlanningDevice(traits), device_(device) {}
  bool fuses_attention(const detail::GraphData& graph, const Node& node) const override;
  bool projects(DType rows, DType weights, DType results) const override;
  bool binds_together(std::span<const detail::WeightEntry* const> weights) const override;
  int64_t workspace(const detail::GraphData& graph, std::span<const int64_t> max_values,
                    const Node& node) const override;

 private:
  const Capabilities& device_;
};

// Unsupported, with a message in the log, if the device cannot run the pass as asked.
Status select_kernels(const Schedule& schedule, const Node& node, const Capabilities& device, const Log& log,
                      KernelList* kernels);
// `kernels` must come from select_kernels for the same pass and device.
void emit_dispatches(const Schedule& schedule, const Node& node, const Capabilities& device, const KernelList& kernels,
                     const RunValues& values, DispatchList* dispatches);

}  // namespace heed
