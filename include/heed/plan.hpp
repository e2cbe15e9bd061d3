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
  size_t element_bytes = 0;         // std::byte has 1
  bool raw = false;                 // std::byte, whose element type is not checked
  bool is_float = false;            // float, which serves F32 only
  bool is_integer = false;          // an integer, which never serves F32; integers hold the bits of F16 and BF16
  bool writable = false;            // made from a range that is not const, so that it can be an output
  std::optional<DType> dtype = {};  // the element type, where it is known exactly: bindings of other languages set it

  HostBuffer() = default;
  // A view of the range, which must stay until the run has ended.
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

// What a run is given beside its buffers and extents.
struct RunOptions {
  uint32_t seed = 0;  // the key of sample, and of dropout in training plans
  // Vulkan: how long the GPU may take from the submission on; 0: ten minutes. If it takes longer, the device counts as
  // lost, with all that other runs have under way on it.
  uint32_t timeout_ms = 0;
  State state = {};  // for plans whose graph has states
};

// One pass of a plan, with the kernel that was chosen for it, and why. The numbers are for the extents' maxima.
struct PassInfo {
  std::string label;   // "encoder.0.attention.softmax"
  std::string op;      // "matmul", "softmax", ...
  std::string kernel;  // e.g. "matmul_f32" or "cpu"
  std::string why;     // the reason for the kernel and its precision
  DType dtype = DType::F32;
  uint32_t dispatches = 0;
  double flops = 0;  // multiplications and additions
  // Bytes read and written: every operand once, and what the pass's dispatches leave for each other.
  double bytes = 0;
  // The part of `bytes` that would remain if all passes were fused: outputs of the graph, writes to states, and
  // inputs, weights and states that no earlier pass has read. Over all passes, everything that goes in or out is counted
  // once.
  double fewest_bytes = 0;
};

// One compute pipeline that a plan needs. Passes with the same kernel and constants share one, also across the plans of
// a device.
struct PipelineInfo {
  std::string name;    // kernel and specialization constants: "softmax_f32(8,16,1,0)"
  bool ready = false;  // it exists, perhaps because another plan needed it
};

// How long a pass took.
struct PassTime {
  double milliseconds = 0;
};

// A run that goes on while the host's thread does something else (Plan::start). It can be moved, and one thread at a time
// may use it. It keeps the plan, its weights, the State and the device alive, whatever handles the host drops.
//
//   heed::StartedRun step;
//   s = plan.start({{"x", x}, {"y", y}}, {{"tokens", 37}}, {}, &step);
//   ... other work; in each frame: if (step.done()) ... y is there if step.wait() == Status::Ok
//
// The run is over once done() has returned true, or wait() has returned. Until then the memory of inputs and outputs must
// stay where it is, inputs must not change, and nobody may read or write outputs; other runs of the plan, runs with
// the State, calls of the State, vulkan::bind_scratch, and record and take_faults of slot 0 return InvalidArgument.
//
// Destroying a StartedRun, or moving another into it, waits as wait() does. What failed then is in the log alone.
//
// After a fork, the run goes on in the process that started it. In the other, done() is true and wait() returns
// InvalidArgument; the contents of outputs and of the State are then undefined there.
class HEED_API StartedRun {
 public:
  // Whether the run is over; a StartedRun that holds none counts as done. It does not wait, with one exception: a run
  // beyond its time limit, or on a device that another run found lost, counts as done, and to find out whether the GPU
  // stopped may then take ten seconds.
  bool done();
  // Waits until the run is over and outputs are filled. Returns what Plan::run would have returned, as often as it is
  // called; InvalidArgument if no run was started.
  Status wait();

  StartedRun();
  ~StartedRun();
  StartedRun(StartedRun&&) noexcept;
  StartedRun& operator=(StartedRun&&) noexcept;

 private:
  friend class Plan;
  std::unique_ptr<detail::RunImpl> impl_;
};

// A cheap handle: copies share the plan. A plan has one scratch, so it cannot run twice at the same time: a second run
// beside the first returns InvalidArgument.
class HEED_API Plan {
 public:
  bool valid() const { return impl_ != nullptr; }

  // Copies inputs in, runs, waits, and copies outputs out. The CPU device uses the buffers in place if they are aligned
  // to their elements and no output lies in an input.
  //
  // Every input, output and extent must be given once, and nothing else (MissingBuffer, ExtentOutOfRange). Buffers may be
  // larger than needed.
  //
  // An output may lie in the memory of inputs, but not in that of another output (InvalidArgument). It then goes through
  // a copy, since passes still read inputs after the first of an output was written. vulkan::record, which copies
  // nothing, refuses an output that overlaps an input.
  //
  // Results are bit for bit the same from run to run. On the CPU they do not depend on the number of threads either,
  // nor on how the host's threads round, flush to zero and trap; these settings are unchanged after the call. On Vulkan
  // a run records slot 0 again (vulkan::RecordInfo::slot), so that no recording with this slot may be in flight.
  // IndexOutOfRange: some embedding id was outside its table, or a place given to append or take was behind the end; outputs
  // and states are written, with zero rows for that id or for what was taken, and nothing for what was appended.
  //
  // A plan whose graph has states needs RunOptions::state: MissingBuffer without; InvalidArgument if it is another
  // device's, or another run uses it; NotFound, ShapeMismatch or DTypeMismatch if it has not what the graph names.
  // After these, and after ExtentOutOfRange, the State is as it was. The CPU copies buffers that lie in the State's
  // memory.
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents = {},
             const RunOptions& options = {});
  Status run(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents = {},
             const RunOptions& options = {});

  // Begins a run and does not wait for it: *started tells when it is done. Returns the same errors as run, as far as they
  // are known before the first pass; *started is then unchanged. InvalidArgument, too, if *started holds a run that is not
  // over.
  //
  // Vulkan: submits to the device's queue, by the calling thread and within the call, and takes as long as making missing
  // pipelines, copying inputs and recording do. Unsupported if the host adopted the device without a queue.
  //
  // CPU: a thread of heed's own, which the device's first call of start makes, does started runs one after the other with
  // all threads of the device; OutOfMemory if the system gives no thread. If the host gave threads, ParallelFor::start
  // takes its place (Unsupported without it). A run that nobody has begun is done within wait, by the calling thread.
  Status start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents, const RunOptions& options,
               StartedRun* started);
  Status start(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents,
               const RunOptions& options, StartedRun* started);

  // Makes a State for the graph's states. In memory of heed's own it is zero, except where a device that the host
  // adopted has no queue: there it is undefined until vulkan::record_reset. On Vulkan this
  // submits to the device's queue and waits. OutOfMemory, OutOfDeviceMemory, DeviceLost: *state is unchanged.
  Status make_state(State* state);
  // The same in the host's memory, whose contents it takes over: at least state_bytes(), aligned to 64. The memory must
  // outlive the State. For the CPU device; vulkan::make_state takes a range of a buffer.
  Status make_state(std::span<std::byte> memory, State* state);
  uint64_t state_bytes() const;  // exact

  // Bytes that one run needs at the extents' maxima, exact. On the CPU a run borrows them from what the plans of the device share
  // (Device::scratch_bytes): a plan that runs while no other does allocates nothing, and beside others it may have to
  // (OutOfMemory).
  uint64_t scratch_bytes() const;
  // Bytes of the weights that this plan reads, in the forms in which it reads them, which are shared with other plans of
  // the same Weights. On Vulkan that is as they were uploaded. The CPU reads a matrix that is the b of a matmul in the
  // order in which its kernels need it: packed it is about as large, or several times as large if it has few columns, as
  // these are filled up to two whole vectors. Of a matrix that is packed as a whole nothing else is kept, unless a plan
  // also reads it in another way, such as by embedding.
  uint64_t weight_bytes() const;

  // The pipelines of the plan, which are known when compile returns even if they are made later
  // (CompileOptions::pipelines). On the CPU there are none.
  uint32_t pipeline_count() const;
  std::vector<PipelineInfo> pipelines() const;
  // Makes pipeline `index`, or waits for the thread that is making it, or returns at once if it is there. Any number of
  // threads may call this at a time, also while others record other plans. InvalidArgument: there is no such pipeline.
  Status prepare(uint32_t index);
  bool ready() const;  // all pipelines are there: the plan can be recorded

  // Every extent of the plan with its maximum, to run it at its largest: plan.run(buffers, plan.largest_extents()). Names
  // are valid as long as the plan.
  std::vector<ExtentValue> largest_extents() const;

  // The dims of an input or output at these extents, which are given as to run. NotFound: the plan has no such name. ExtentOutOfRange,
  // NotFound, InvalidArgument: as run has them. On failure *dims is unchanged.
  Status find_dims(std::string_view name, std::span<const ExtentValue> extents, std::vector<int64_t>* dims) const;

  // The passes in their order, each with its kernel and the reason for it.
  std::vector<PassInfo> passes() const;
  // The times of the passes in the last finished run, in the order of passes(), by the GPU's timestamps on Vulkan and
  // by a clock on the CPU. Unsupported unless the plan was compiled with timestamps. InvalidArgument until the first run,
  // or the first recording of the slot, has finished, and on the CPU while a run goes on; *times is then unchanged. The
  // CPU has no slots.
  Status timings(std::vector<PassTime>* times, uint32_t slot = 0) const;

  const std::shared_ptr<detail::PlanImpl>& impl() const { return impl_; }
  explicit Plan(std::shared_ptr<detail::PlanImpl> impl) : impl_(std::move(impl)) {}
  Plan() = default;

 private:
  std::shared_ptr<detail::PlanImpl> impl_;
};

}  // namespace heed
