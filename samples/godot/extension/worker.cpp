#include "worker.hpp"

#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

namespace {

// A thread that is often woken preempts the thread that wakes it, here the frames' thread. Linux's batch threads do not preempt on waking.
// If the system refuses this, frames are only less smooth.
void yield_to_frames() {
#ifdef __linux__
  const sched_param none{};
  (void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
#endif
}

}  // namespace

struct Worker::Jobs {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  bool last_is_posted = false, is_cut_short = false, is_over = false;
  std::thread thread;

  void post(Job job) {
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_one();
  }

  void end(bool cuts_short) {
    const std::lock_guard lock(mutex);
    last_is_posted = true;
    is_cut_short = is_cut_short || cuts_short;
    changed.notify_one();
  }

  void work() {
    while (true) {
      Job job;
      bool is_dropped = false;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return last_is_posted || !jobs.empty(); });
        if (jobs.empty()) {
          is_over = true;
          return;
        }
        job = std::move(jobs.front());
        jobs.pop_front();
        is_dropped = is_cut_short;
      }
      if (!is_dropped) job();  // destroyed without the lock, since its destructor may post jobs
    }
  }
};

namespace {

// Every worker whose thread has not been joined, also those that nobody uses any more.
struct Threads {
  std::mutex mutex;
  std::list<std::shared_ptr<void>> jobs;
};
Threads& threads() {
  static Threads all;
  return all;
}

}  // namespace

Worker::Worker() : jobs_(std::make_shared<Jobs>()) {
  const std::lock_guard all(threads().mutex);
  // Joins threads that have ended meanwhile, which takes no time, so that they do not accumulate.
  threads().jobs.remove_if([](const std::shared_ptr<void>& known) {
    Jobs& jobs = *static_cast<Jobs*>(known.get());
    {
      const std::lock_guard lock(jobs.mutex);
      if (!jobs.is_over) return false;
    }
    jobs.thread.join();
    return true;
  });
  jobs_->thread = std::thread([jobs = jobs_.get()] {
    yield_to_frames();
    jobs->work();
  });
  threads().jobs.push_back(jobs_);
}

Worker::~Worker() { jobs_->end(false); }

void Worker::post(Job job) {
  const std::shared_ptr<Jobs> jobs = jobs_;  // the job may destroy this worker
  jobs->post(std::move(job));
}

void Worker::end_all() {
  while (true) {
    std::shared_ptr<void> next;
    {
      const std::lock_guard all(threads().mutex);
      if (threads().jobs.empty()) return;
      next = std::move(threads().jobs.front());
      threads().jobs.pop_front();
    }
    Jobs& jobs = *static_cast<Jobs*>(next.get());
    jobs.end(true);
    jobs.thread.join();
  }
}
