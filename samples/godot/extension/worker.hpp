// Worker: a thread that runs jobs one after the other. Nobody waits for it before the library ends.
#pragma once

#include <functional>
#include <memory>

class Worker {
 public:
  using Job = std::function<void()>;

  Worker();
  // Returns at once, also on the worker's own thread. Posted jobs run all the same.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // May be called from any thread. The job, and what it captures, is destroyed on the worker's thread.
  void post(Job job);

  // Ends the threads of all workers, also of those in use, and waits for them. Call it before the library is unloaded. Running jobs finish;
  // others are only destroyed.
  static void end_all();

 private:
  struct Jobs;
  std::shared_ptr<Jobs> jobs_;
};
