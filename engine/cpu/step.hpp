// What the function of one operation sees while a plan runs: its operands in host memory, threads and
// scratch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arith.hpp"
#include "base/float_environment.hpp"
#include "cpu/kernels.hpp"
#include "cpu/row_kernels.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu/work_list.hpp"
#include "graph/schedule.hpp"
#include "hwy/cache_control.h"

namespace heed::cpu {

// A tensor of this run. `data` is its first element; null if the node has no such operand.
struct Operand {
  std::byte* data = nullptr;
  View view;                            // offset is already in `data`
  const RowKernels* kernels = nullptr;  // for conversions
  bool past_caches = false;             // rows are written past the caches

  bool valid() const { return data != nullptr; }
  template <class T>
  T* at(int64_t offset) const {
    return reinterpret_cast<T*>(data) + offset;
  }
};

// Scratch that an operation needs beside the plan's tensors, in bytes.
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

// Calls body(worker, begin, end) for pieces of at most `grain` items that cover 0..items-1, on as many workers as there
// are pieces. Pieces and who gets them vary from run to run; an item's result must not depend on either.
template <class Body>
void parallel(ThreadPool& pool, int64_t items, int64_t grain, const Body& body) {
  if (items <= 0) return;
  const int64_t pieces = ceil_div(items, std::max<int64_t>(grain, 1));
  const auto workers = static_cast<uint32_t>(std::min<int64_t>(pieces, pool.workers()));
  struct Shared {
    const Body& body;
    WorkList list;
  } shared{body, WorkList(items, grain, workers)};
  const auto task = [](void* context, uint32_t worker) {
    const UsualFloats floats;  // results must not depend on whose thread this is, either
    auto* s = static_cast<Shared*>(context);
    for (int64_t begin = 0, end = 0; s->list.take(worker, &begin, &end);) s->body(worker, begin, end);
    hwy::FlushStream();  // of rows that went past the caches
  };
  pool.run(workers, task, &shared);
}

struct PackedB;

struct Step {
  const Schedule& schedule;
  const Node& node;
  const RunValues& values;
  std::span<std::byte* const> storages;  // by tensor id, of storage tensors
  ThreadPool& pool;
  const Kernels& kernels;
  const PackedB* packed_b;  // of a matmul whose b never changes; otherwise null
  std::byte* shared_scratch;
  std::byte* worker_scratch;
  uint64_t worker_stride;  // bytes from one worker's scratch to the next one's
  Fault& fault;

  Operand operand(Tensor tensor) const {
    if (!tensor.valid()) return {};
    const View view = resolve(schedule, tensor, values);
    std::byte* base = storages[schedule.info(tensor).storage];
    return {base + view.offset * static_cast<int64_t>(size_of(view.dtype)), view, kernels.rows};
  }
  Operand input(size_t i) const { return operand(node.inputs[i]); }
  Operand output(size_t i = 0) const { return operand(node.outputs[i]); }
  // An output that is written row by row. Where it is larger than caches, lines that are about to be written whole need
  // not be read into them first, a third of what is moved.
  Operand output_rows() const {
    constexpr int64_t kCaches = 64 << 20;
    Operand x = output();
    x.past_caches = x.view.elements() * static_cast<int64_t>(size_of(x.view.dtype)) > kCaches;
    return x;
  }
  // An optional input seen with the shape of `target`.
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

// What the need for scratch may depend on.
struct ScratchQuery {
  const Schedule& schedule;
  const Node& node;
  const RunValues& maxima;  // sizes at the extents' maxima
  const Kernels& kernels;

  View view(Tensor tensor) const { return resolve(schedule, tensor, maxima); }
};

// One row per operation; indexed by Op.
struct Operation {
  void (*run)(const Step& step) = nullptr;
  // Largest need at any extents; null: none.
  ScratchNeed (*scratch)(const ScratchQuery& query) = nullptr;
};
const Operation& operation(Op op);

void run_matmul(const Step& step);
ScratchNeed matmul_scratch(const ScratchQuery& query);
void run_softmax(const Step& step);
ScratchNeed softmax_scratch(const ScratchQuery& query);
void run_dropout(const Step& step);
ScratchNeed dropout_scratch(const ScratchQuery& query);
void run_layernorm(const Step& step);
ScratchNeed layernorm_scratch(const ScratchQuery& query);
void run_rmsnorm(const Step& step);
ScratchNeed rmsnorm_scratch(const ScratchQuery& query);
void run_attention(const Step& step);
ScratchNeed attention_scratch(const ScratchQuery& query);
// Whether run_attention serves: not where the weights are wanted as well. The schedule lowers the others.
bool fuses_attention(const Node& node);
void run_embedding(const Step& step);
ScratchNeed embedding_scratch(const ScratchQuery& query);
void run_elementwise(const Step& step);
ScratchNeed elementwise_scratch(const ScratchQuery& query);
void run_mean(const Step& step);
ScratchNeed mean_scratch(const ScratchQuery& query);
void run_l2_normalize(const Step& step);
ScratchNeed l2_normalize_scratch(const ScratchQuery& query);
void run_concat(const Step& step);
void run_argmax(const Step& step);
ScratchNeed argmax_scratch(const ScratchQuery& query);
void run_custom(const Step& step);

}  // namespace heed::cpu
