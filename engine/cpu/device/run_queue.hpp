// Started runs of one CPU device, which run one after the other while the host's thread does something else.
#pragma once

#include <atomic>
#include <heed/device.hpp>
#include <memory>

#include "base/thread.hpp"

namespace heed::cpu {

class RunQueue {
 public:
  // Owned by the caller of add; must stay at its address until finish has returned.
  struct Job {
    void (*work)(void* argument) = nullptr;
    void* argument = nullptr;

    enum class State : uint8_t { Idle, Queued, Running, Done };
    std::atomic<State> state = State::Idle;
    Job* next = nullptr;  // in the queue
  };

  explicit RunQueue(const ParallelFor& host);
  ~RunQueue();  // there must be no job left
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // Has the job executed by heed's own thread, which the first call creates, or by a thread of the host's. Unsupported: the host gave
  // threads but no ParallelFor::start, or the process was forked, which does not copy threads. OutOfMemory: the system cannot create a
  // thread.
  Status add(Job* job);
  // Waits until the job is done. If it has not begun, it is executed here, so that a host with a single thread also makes progress.
  void finish(Job* job);

 private:
  struct Jobs;
  Status start_thread();

  ParallelFor host_;
  std::shared_ptr<Jobs> jobs_;  // also kept alive by tasks that the host was given
  const int64_t process_;
  std::unique_ptr<Thread> thread_;  // null before the first job
};

}  // namespace heed::cpu
