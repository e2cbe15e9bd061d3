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
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/status.hpp>

namespace heed {

namespace detail {
class PlanImpl;
}

// Host memory for one named input or output; made from any contiguous range. A const range can only be an
// input. 2-byte elements serve F16 and BF16, 1-byte elements U8; void-typed ranges (std::byte) serve any.
struct HostBuffer {
  std::string_view name;
  const void* data = nullptr;
  size_t bytes = 0;
  size_t element_bytes = 0;  // 1 also for std::byte
  bool raw = false;          // std::byte: no element type to check
  bool is_float = false;     // float: only F32
  bool is_integer = false;   // never F32; bits of F16 and BF16 are kept in integers
  bool writable = false;

  HostBuffer() = default;
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

struct ExtentValue {
  std::string_view name;
  int64_t value = 0;
};

struct RunOptions {
  uint32_t seed = 0;  // dropout key in training plans
  // Vulkan: how long to wait for the GPU; 0: ten minutes. A GPU that takes longer counts as lost.
  uint32_t timeout_ms = 0;
};

// One pass of a plan: what was chosen and why.
struct PassInfo {
  std::string label;   // "encoder.0.attention.softmax"
  std::string op;      // "matmul", "softmax", ...
  std::string kernel;  // e.g. "matmul_f32" or "cpu"
  std::string why;     // reason for the kernel and its precision
  DType dtype = DType::F32;
  uint32_t dispatches = 0;  // at the extents' maxima
  double flops = 0;         // at the extents' maxima
  // Read and written at the extents' maxima: every operand once, and what the pass's dispatches leave for each other.
  double bytes = 0;
  // Of these, what no other cut into passes could spare: outputs of the graph, and of its inputs and weights what no pass
  // before has read. The passes of a plan together: everything that goes in and out, once.
  double fewest_bytes = 0;
};

// One compute pipeline that a plan needs. Passes with the same kernel and constants share one, also across plans of
// one device.
struct PipelineInfo {
  std::string name;    // kernel and specialization constants: "softmax_f32(8,16,1,0)"
  bool ready = false;  // made already, perhaps for another plan
};

struct PassTime {
  double milliseconds = 0;
};

// A cheap handle; copies share. One plan does not run twice at the same time, since its scratch is one: a run beside
// another is refused with InvalidArgument.
class HEED_API Plan {
 public:
  bool valid() const { return impl_ != nullptr; }

  // Copies inputs in, runs, waits, copies outputs out; the CPU device reads and writes the buffers themselves where they are
  // aligned to their elements and no output lies in an input. Every input and output must be given once, and nothing else;
  // buffers may be larger than needed, and an output may lie in the memory of inputs, not in another output's. Extents not
  // given take their maximum. Results are bit for bit the same from run to run; on the CPU also whatever the number of threads
  // and whatever a host's threads have set of rounding, flushing to zero and traps, which its own code finds as it was. On
  // Vulkan a run writes slot 0 anew (vulkan::RecordInfo::slot), of which no recording may be in flight. IndexOutOfRange: some
  // embedding id was outside its table; outputs are written, with zero rows for it.
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents = {},
             const RunOptions& options = {});
  Status run(std::initializer_list<HostBuffer> buffers, std::initializer_list<ExtentValue> extents = {},
             const RunOptions& options = {});

  uint64_t scratch_bytes() const;  // exact, at the extents' maxima
  // Bytes of the weights this plan reads, as uploaded. The CPU also holds each matrix that is the b of a matmul in the order
  // in which its kernels read it, shared by the plans of the same weights: about its bytes again, or several times as many
  // for few columns, which are filled up to two whole vectors. These copies are in no figure.
  uint64_t weight_bytes() const;

  // The pipelines of the plan, known when compile returns, whenever they are made (CompileOptions::pipelines). None
  // on the CPU.
  uint32_t pipeline_count() const;
  std::vector<PipelineInfo> pipelines() const;
  // Makes pipeline `index`, or waits for the thread that is at it; returns at once if it is there. Any thread, several
  // at a time, also while others record other plans. InvalidArgument: no such pipeline.
  Status prepare(uint32_t index);
  bool ready() const;  // all pipelines are there: the plan can be recorded

  std::vector<PassInfo> passes() const;
  // Milliseconds per pass of the last finished run (GPU timestamps on Vulkan, a clock on the CPU), in the order of
  // passes(). Unsupported unless compiled with timestamps.
  Status timings(std::vector<PassTime>* times, uint32_t slot = 0) const;

  const std::shared_ptr<detail::PlanImpl>& impl() const { return impl_; }
  explicit Plan(std::shared_ptr<detail::PlanImpl> impl) : impl_(std::move(impl)) {}
  Plan() = default;

 private:
  std::shared_ptr<detail::PlanImpl> impl_;
};

}  // namespace heed
