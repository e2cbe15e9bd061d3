// One pass during a run, as an operation's function sees it: operands in host memory, threads and scratch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arith.hpp"
#include "base/float_environment.hpp"
#include "cpu/device/thread_pool.hpp"
#include "cpu/device/work_list.hpp"
#include "cpu/simd/kernels.hpp"
#include "cpu/simd/row_kernels.hpp"
#include "graph/schedule/schedule.hpp"
#include "hwy/cache_control.h"

namespace heed::cpu {

// A tensor of this run. `data` is its first element; null if the node has no such operand.
struct Operand {
  std::byte* data = nullptr;
  View view;                            // offset is already in `data`
  const RowKernels* kernels = nullptr;  // for conversions
  bool past_caches = false;             // rows are written with stores that bypass the caches

  bool valid() const { return data != nullptr; }
  template <class T>
  T* at(int64_t offset) const {
    return reinterpret_cast<T*>(data) + offset;
  }
};

// Scratch that an operation needs in addition to the plan's tensors, in bytes.
struct ScratchNeed {
  uint64_t shared = 0;
  uint64_t per_worker = 0;
};

// The first id (in row-major order of the ids) outside an embedding's table.
struct Fault {
  static constexpr uint64_t kNone = UINT64_MAX;
  std::atomic<uint64_t> position = kNone;

  void report(uint64_t at) {
    uint64_t seen = position.load(std::memory_order_relaxed);
    while (at < seen && !position.compare_exchange_weak(seen, at, std::memory_order_relaxed)) {
    }
  }
};

// Calls body(worker, begin, end) for chunks of at most `grain` items that cover 0..items-1, on at most as many workers as there are chunks.
// The division into chunks and their assignment vary from run to run; results must not depend on it.
template <class Body>
void parallel(ThreadPool& pool, int64_t items, int64_t grain, const Body& body) {
  if (items <= 0) return;
  const int64_t chunks = ceil_div(items, std::max<int64_t>(grain, 1));
  const auto workers = static_cast<uint32_t>(std::min<int64_t>(chunks, pool.workers()));
  struct Shared {
    const Body& body;
    WorkList list;
  } shared{body, WorkList(items, grain, workers)};
  const auto task = [](void* context, uint32_t worker) {
    const UsualFloats floats;  // results must not depend on the thread's floating-point settings either
    auto* s = static_cast<Shared*>(context);
    for (int64_t begin = 0, end = 0; s->list.take(worker, &begin, &end);) s->body(worker, begin, end);
    hwy::FlushStream();  // makes rows visible that bypassed the caches
  };
  pool.run(workers, task, &shared);
}

struct PackedB;

struct Pass {
  const Schedule& schedule;
  const Node& node;
  const RunValues& values;
  std::span<std::byte* const> storages;  // by id of the storage tensor
  ThreadPool& pool;
  const Kernels& kernels;
  const PackedB* packed_b;  // for a matmul with constant b, and for an embedding with a quantized table; else null
  std::byte* shared_scratch;
  std::byte* worker_scratch;
  uint64_t worker_stride;  // bytes between the scratch of consecutive workers
  Fault& fault;

  Operand operand(Tensor tensor) const {
    if (!tensor.valid()) return {};
    const View view = resolve(schedule, tensor, values);
    std::byte* base = storages[schedule.info(tensor).storage];
    return {base + view.offset * static_cast<int64_t>(size_of(view.dtype)), view, kernels.rows};
  }
  Operand input(size_t i) const { return operand(node.inputs[i]); }
  Operand output(size_t i = 0) const { return operand(node.outputs[i]); }
  // An output that is written row by row. If it exceeds the caches, its rows bypass them: otherwise the processor would read every line
  // into a cache before writing it, which is a third of the traffic.
  Operand output_rows() const {
    constexpr int64_t kCaches = 64 << 20;
    Operand x = output();
    x.past_caches = x.view.elements() * static_cast<int64_t>(size_of(x.view.dtype)) > kCaches;
    return x;
  }
  // An optional input viewed with the shape of `target`.
  Operand input_like(size_t i, const View& target) const {
    Operand x = input(i);
    if (!x.valid()) return x;
    x.view = broadcast_to(x.view, target);
    return x;
  }

  template <class T>
  T* scratch(uint32_t worker) const {
    return reinterpret_cast<T*>(worker_scratch + worker * worker_stride);
  }

  template <class Body>
  void parallel(int64_t items, int64_t grain, const Body& body) const {
    cpu::parallel(pool, items, grain, body);
  }
};

// The arguments of an operation's scratch function.
struct ScratchQuery {
  const Schedule& schedule;
  const Node& node;
  const RunValues& maxima;  // sizes at the extents' maxima
  const Kernels& kernels;

  View view(Tensor tensor) const { return resolve(schedule, tensor, maxima); }
};

struct Operation {
  void (*run)(const Pass& pass);
  ScratchNeed (*scratch)(const ScratchQuery& query);  // the largest need at any extents
};
const Operation& operation(Op op);

#define HEED_OPERATION(enumerator, name, ...) \
  void run_##name(const Pass& pass);          \
  ScratchNeed name##_scratch(const ScratchQuery& query);
#include "graph/operations.inc"
#undef HEED_OPERATION

}  // namespace heed::cpu
