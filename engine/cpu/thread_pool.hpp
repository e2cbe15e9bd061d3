// Threads of one CPU device: its own, made once, or the host's through ParallelFor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <heed/device.hpp>
#include <memory>
#include <mutex>
#include <vector>

namespace heed::cpu {

class ThreadPool {
 public:
  using Task = void (*)(void* context, uint32_t index);

  // threads: how many tasks may run at once, the caller's thread included; 0: one per hardware thread. When
  // the system gives fewer threads than asked, the pool works with those.
  ThreadPool(uint32_t threads, ParallelFor parallel_for);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The largest useful `count` of run.
  uint32_t workers() const { return workers_; }

  // Calls task(context, i) once for every i < count and returns when all are done. The caller's thread works
  // too. May be called from several threads at once; tasks must not wait for each other.
  void run(uint32_t count, Task task, void* context);

 private:
  struct Job;
  class Thread;

  void work();
  bool run_one(std::unique_lock<std::mutex>& lock, Job* job);

  ParallelFor parallel_for_;
  uint32_t workers_ = 1;
  std::mutex mutex_;
  std::condition_variable wake_;  // a job came, or stop
  std::condition_variable done_;  // some job finished
  Job* jobs_ = nullptr;           // jobs with indices nobody took yet, newest first
  bool stop_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace heed::cpu
