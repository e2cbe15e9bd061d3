// Worker: a thread that does jobs one after the other. Nobody waits for it before the library ends.
#pragma once

#include <functional>
#include <memory>

class Worker {
 public:
  using Job = std::function<void()>;

  Worker();
  // Returns at once, also on the worker's own thread; the jobs that were posted are done all the same.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // From any thread. The job, and what it holds, is destroyed on the worker's thread.
  void post(Job job);

  // Ends the threads of all workers, also of those that somebody still has, and waits for them: before the library's code goes
  // away. The jobs that they are at are done; others are only destroyed.
  static void end_all();

 private:
  struct Jobs;
  std::shared_ptr<Jobs> jobs_;
};
