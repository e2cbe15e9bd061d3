// Started runs of one CPU device, which are done one after the other while the host's thread does something else.
#pragma once

#include <atomic>
#include <heed/device.hpp>
#include <memory>

#include "base/thread.hpp"

namespace heed::cpu {

class RunQueue {
 public:
  // Belongs to who adds it, and stays where it is until finish has returned.
  struct Job {
    void (*work)(void* argument) = nullptr;
    void* argument = nullptr;

    enum class State : uint8_t { Idle, Queued, Running, Done };
    std::atomic<State> state = State::Idle;
    Job* next = nullptr;  // in the queue
  };

  explicit RunQueue(const ParallelFor& host);
  ~RunQueue();  // no job may be left
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Has the job done by heed's own thread, which the first call makes, or by a thread of the host's. Unsupported: the host
  // gave threads but no ParallelFor::start, or the process was forked, which copies no thread. OutOfMemory: the system
  // gives no thread.
  Status add(Job* job);
  // Waits until the job is done. If nobody has begun it, it is done here, so that even a host with a single thread, on
  // which this call runs, gets on.
  void finish(Job* job);

 private:
  struct Jobs;
  Status start_thread();

  ParallelFor host_;
  std::shared_ptr<Jobs> jobs_;  // tasks that the host was given keep it alive
  const int64_t process_;
  std::unique_ptr<Thread> thread_;  // null before the first job
};

}  // namespace heed::cpu
