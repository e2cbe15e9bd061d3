// Plan: a graph compiled for one device.
//
//   s = plan.run({{"x", host_in}, {"y", host_out}}, {{"tokens", 37}});
//
// To record into a host's command buffer instead, see <heed/vulkan.hpp>.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/state.hpp>
#include <heed/status.hpp>

namespace heed {

namespace detail {
class PlanImpl;
class RunImpl;
}  // namespace detail

// Host memory for one named input or output, made from any contiguous range. A const range can only be an input.
// Elements of 2 bytes serve F16 and BF16, elements of 1 byte U8, and std::byte serves every type.
struct HostBuffer {
  std::string_view name;
  const void* data = nullptr;
  size_t bytes = 0;
  size_t element_bytes = 0;         // size of an element; 1 for std::byte
  bool raw = false;                 // std::byte, whose element type is not checked
  bool is_float = false;            // float, which serves F32 only
  bool is_integer = false;          // an integer, which never serves F32; integers hold the bits of F16 and BF16
  bool writable = false;            // made from a range that is not const, so that it can be an output
  std::optional<DType> dtype = {};  // the element type, where it is known exactly: bindings of other languages set it

  HostBuffer() = default;
  // A view of the range, which must stay in memory until the run has ended.
  template <std::ranges::contiguous_range R>
  HostBuffer(std::string_view buffer_name, R&& range)
      : name(buffer_name),
        data(std::ranges::data(range)),
        bytes(std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>)),
        element_bytes(sizeof(std::ranges::range_value_t<R>)),
        raw(std::same_as<std::ranges::range_value_t<R>, std::byte>),
        is_float(std::same_as<std::ranges::range_value_t<R>, float>),
        is_integer(std::integral<std::ranges::range_value_t<R>>),
        writable(!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>) {}
};

// The value of an extent (1 to its maximum), which every run gives, or of a position (0 to its maximum; 0 if it is not given).
struct ExtentValue {
  std::string_view name;
  int64_t value = 0;
};

// Options of a run beside its buffers and extents.
struct RunOptions {
  uint32_t seed = 0;  // the key of sample, and of dropout in training plans
  // Vulkan: the longest time that the GPU may take after the submission; 0: ten minutes. If it takes longer, the device counts as lost,
  // with all other runs in flight on it.
  uint32_t timeout_ms = 0;
  State state = {};  // for plans whose graph has states
};

// One pass of a plan, the kernel that was chosen for it, and why. The numbers are for the extents' maxima.
struct PassInfo {
  std::string label;   // "encoder.0.attention.softmax"
  std::string op;      // "matmul", "softmax", ...
  std::string kernel;  // e.g. "matmul_f32" or "cpu"
  std::string why;     // the reason for the kernel and its precision
  DType dtype = DType::F32;
  uint32_t dispatches = 0;
  double flops = 0;  // multiplications and additions
  // Bytes read and written: every operand once, and intermediate results between the pass's dispatches.
  double bytes = 0;
  // The part of `bytes` that would remain if all passes were fused: outputs of the graph, writes to states, and the first read of each
  // input, weight and state. The sum over all passes counts everything that enters or leaves the graph once.
  double fewest_bytes = 0;
};

// One compute pipeline that a plan needs. Passes with the same kernel and constants share it, also across the plans of a device.
struct PipelineInfo {
  std::string name;    // kernel and specialization constants: "softmax_f32(8,16,1,0)"
  bool ready = false;  // it exists, perhaps because another plan needed it
};

// How long a pass took.
struct PassTime {
  double milliseconds = 0;
};

// A run that goes on while the host's thread does something else (Plan::start). Movable; one thread at a time may use it. It keeps the
// plan, its weights, the State and the device alive, whatever handles the host drops.
//
//   heed::StartedRun step;
//   s = plan.start({{"x", x}, {"y", y}}, {{"tokens", 37}}, {}, &step);
//   ... other work; in each frame: if (step.done()) ... y is there if step.wait() == Status::Ok
//
// The run is over once done() has returned true, or wait() has returned. Until then the memory of inputs and outputs must stay where it is,
// inputs must not change, and nobody may read or write outputs; other runs of the plan, runs with the State, calls of the State,
// vulkan::bind_scratch, and record and take_faults of slot 0 return InvalidArgument.
//
// Destroying a StartedRun, or moving another into it, waits as wait() does. A failure is then reported in the log only.
//
// After a fork() of the process, the run goes on in the parent. In the child, done() is true and wait() returns InvalidArgument; the
// contents of outputs and of the State are undefined there.
class HEED_API StartedRun {
 public:
  // Whether the run is over; true if this holds no run. It does not wait, with one exception: a run beyond its time limit, or on a device
  // that another run found lost, counts as done, and finding out whether the GPU stopped may take ten seconds.
  bool done();
  // Waits until the run is over and outputs are filled. Returns what Plan::run would have returned, at every call; InvalidArgument if no
  // run was started.
  Status wait();

  StartedRun();
  ~StartedRun();
  StartedRun(StartedRun&&) noexcept;
  StartedRun& operator=(StartedRun&&) noexcept;

 private:
  friend class Plan;
  std::unique_ptr<detail::RunImpl> impl_;
};

// A cheap handle: copies share the plan. A plan has one scratch, so it cannot run twice at the same time: the second run returns
// InvalidArgument.
class HEED_API Plan {
 public:
  bool valid() const { return impl_ != nullptr; }

  // Copies inputs in, runs, waits, and copies outputs out. The CPU device uses the buffers in place if they are aligned to their elements
  // and no output lies in an input.
  //
  // Every input, output and extent must be given once, and nothing else (MissingBuffer, ExtentOutOfRange). Buffers may be larger than
  // needed.
  //
  // An output may lie in the memory of inputs, but not in that of another output (InvalidArgument). The run then makes a copy, since passes
  // may read inputs after others have written outputs. vulkan::record, which copies nothing, refuses an output that overlaps an input.
  //
  // Results have the same bits at every run. On the CPU they do not depend on the number of threads either, nor on the host's
  // floating-point environment (rounding, flush to zero, traps), which is restored after the call. On Vulkan a run records slot 0 again
  // (vulkan::RecordInfo::slot), so no recording with this slot may be in flight. IndexOutOfRange: some embedding id was outside its table,
  // or an index of append or take was beyond the end. Outputs and states are written: embedding and take give zeros for that index, append
  // skips it.
  //
  // A plan whose graph has states needs RunOptions::state. MissingBuffer: it is not given; InvalidArgument: it belongs to another device,
  // or another run uses it; NotFound, ShapeMismatch or DTypeMismatch: it lacks a state of the graph. After these errors, and after
  // ExtentOutOfRange, the State is unchanged. The CPU copies buffers that lie in the State's memory.
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents = {},
             const RunOptions& options = {});
  Status run(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents = {},
             const RunOptions& options = {});

  // Begins a run and does not wait for it: *started tells when it is done. Returns those errors of run that are known before the first
  // pass; *started is then unchanged. InvalidArgument, too, if *started holds a run that is not over.
  //
  // Vulkan: submits to the device's queue, by the calling thread and within the call, and takes as long as making missing pipelines,
  // copying inputs and recording do. Unsupported if the host adopted the device without a queue.
  //
  // CPU: the device's first call of start creates a thread, which executes started runs one after the other on all threads of the device;
  // OutOfMemory if the system cannot create it. If the host gave threads, ParallelFor::start replaces that thread (Unsupported without it).
  // wait executes a run that has not begun on the calling thread.
  Status start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options,
               StartedRun* started);
  Status start(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents,
               const RunOptions& options, StartedRun* started);

  // Makes a State for the graph's states, in heed's memory. It is zero, except on a device that the host adopted without a queue: there it
  // is undefined until vulkan::record_reset. On Vulkan this submits to the device's queue and waits. OutOfMemory, OutOfDeviceMemory,
  // DeviceLost: *state is unchanged.
  Status make_state(State* state);
  // The same in the host's memory, whose contents become the State's: at least state_bytes(), aligned to 64 bytes. The memory must outlive
  // the State. CPU device only; vulkan::make_state takes a range of a buffer.
  Status make_state(std::span<std::byte> memory, State* state);
  uint64_t state_bytes() const;  // exact

  // Bytes that one run needs at the extents' maxima, exact. On the CPU a run uses scratch that the plans of the device share
  // (Device::scratch_bytes): a plan that runs alone allocates nothing; beside other runs it may have to (OutOfMemory).
  uint64_t scratch_bytes() const;
  // Bytes of the weights that this plan reads, in the forms in which it reads them; plans of the same Weights share them. On Vulkan the
  // form is as uploaded. On the CPU, b of a matmul is packed in the order in which kernels read it. A packed matrix is about as large as
  // the original; with few columns it is several times as large, since these are padded to two vectors. A matrix that is packed as a whole
  // is not kept in its original form, unless a plan also reads it in another way, such as by embedding.
  uint64_t weight_bytes() const;

  // The number of the plan's pipelines. It is known when compile returns, even if they are made later (CompileOptions::pipelines). 0 on the
  // CPU.
  uint32_t pipeline_count() const;
  std::vector<PipelineInfo> pipelines() const;
  // Makes pipeline `index`, waits for the thread that is making it, or returns at once if it exists. Any number of threads may call this at
  // the same time, also while others record other plans. InvalidArgument: there is no such pipeline.
  Status prepare(uint32_t index);
  bool ready() const;  // all pipelines exist: the plan can be recorded

  // Every extent of the plan with its maximum, to run it at its largest: plan.run(buffers, plan.largest_extents()). Names
  // are valid as long as the plan.
  std::vector<ExtentValue> largest_extents() const;

  // The dims of an input or output at these extents, which are given as to run. NotFound: the plan has no input or output of that name.
  // Other errors: ExtentOutOfRange, NotFound, InvalidArgument as of run. On failure *dims is unchanged.
  Status find_dims(std::string_view name, std::span<const ExtentValue> extents, std::vector<int64_t>* dims) const;

  // The passes in order, each with its kernel and the reason for it.
  std::vector<PassInfo> passes() const;
  // The times of the passes in the last finished run, in the order of passes(), from GPU timestamps on Vulkan and from a clock on the CPU.
  // Unsupported unless the plan was compiled with timestamps. InvalidArgument until the first run, or the first recording of the slot, has
  // finished, and on the CPU while a run goes on; *times is then unchanged. The CPU ignores `slot`.
  Status timings(std::vector<PassTime>* times, uint32_t slot = 0) const;

  const std::shared_ptr<detail::PlanImpl>& impl() const { return impl_; }
  explicit Plan(std::shared_ptr<detail::PlanImpl> impl) : impl_(std::move(impl)) {}
  Plan() = default;

 private:
  std::shared_ptr<detail::PlanImpl> impl_;
};

}  // namespace heed
