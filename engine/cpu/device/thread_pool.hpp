// Threads of one CPU device: its own, created once, or the host's through ParallelFor.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <heed/device.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread.hpp"

namespace heed::cpu {

// A plan hands out work a few hundred times within some milliseconds, so idle threads spin for a while before they sleep, and yield to
// other programs. The pool serves one call of run at a time with all its threads. A call that finds it busy runs alone on its caller's
// thread, so that a plan never waits for another one, and no more threads than requested work for one plan.
class ThreadPool {
 public:
  using Task = void (*)(void* context, uint32_t index);

  // threads: how many tasks may run at once, including the caller's; 0: one per hardware thread. If the system creates fewer threads, the
  // pool works with those.
  ThreadPool(uint32_t threads, ParallelFor parallel_for);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The largest useful `count` of run.
  uint32_t workers() const { return workers_; }

  // Calls task(context, i) once for every i < count and returns when all are done. The caller's thread works, too. May be called from
  // several threads at once; tasks must not wait for each other or call run. A thread usually gets the same index in every run, if it wakes
  // up in time. The caller does index 0, then the shares that no thread has begun.
  void run(uint32_t count, Task task, void* context);

 private:
  // One of heed's own threads. Its share of a job is the indices `index`, index + workers, ...
  struct Worker {
    ThreadPool* pool = nullptr;
    uint32_t index = 0;
    alignas(64) std::atomic<bool> asked = false;  // cleared by the thread that executes the share
    std::unique_ptr<Thread> thread;
  };

  void work(Worker& worker);
  bool do_share(Worker& worker);
  void call(uint32_t first);
  void finish_one();
  void publish(uint32_t count, Task task, void* context);
  void wait_finished();
  void sleep_until_asked(const Worker& worker);

  ParallelFor parallel_for_;
  uint32_t workers_ = 1;
  std::vector<std::unique_ptr<Worker>> threads_;

  std::mutex owner_;  // locked by the call of run for which the threads work

  // The current job. A thread that has cleared `asked` of a worker may read it; it stays valid until that share is done.
  Task task_ = nullptr;
  void* context_ = nullptr;
  uint32_t count_ = 0;
  alignas(64) std::atomic<uint32_t> unfinished_ = 0;  // number of other threads' shares that are not done
  std::atomic<bool> stop_ = false;

  // Sleeping and waking. Each side first announces itself or a change, then checks the other side, in one total order (seq_cst), so that no
  // wake-up is missed.
  struct Sleep {
    std::mutex mutex;
    std::condition_variable wake, done;
  };
  std::unique_ptr<Sleep> sleep_ = std::make_unique<Sleep>();
  const int64_t process_;  // the process that created the threads
  std::atomic<uint32_t> sleepers_ = 0;
  std::atomic<bool> owner_sleeps_ = false;
};

}  // namespace heed::cpu
