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

// A thread that is woken often gets the processor of the one that woke it, which here is the thread of frames. Linux's
// batch threads take no processor by waking. Where that is refused, nothing is lost but this.
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
  bool last_is_posted = false, is_over = false;
  std::thread thread;

  void post(Job job) {
    const std::lock_guard lock(mutex);
    jobs.push_back(std::move(job));
    changed.notify_one();
  }

  void work() {
    while (true) {
      Job job;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return last_is_posted || !jobs.empty(); });
        if (jobs.empty()) {
          is_over = true;
          return;
        }
        job = std::move(jobs.front());
        jobs.pop_front();
      }
      job();  // and is destroyed without the lock, since what it holds may post
    }
  }
};

namespace {

// Those whose workers are gone, with threads that may still be at work.
struct Leavers {
  std::mutex mutex;
  std::list<std::shared_ptr<void>> jobs;
};
Leavers& leavers() {
  static Leavers all;
  return all;
}

}  // namespace

Worker::Worker() : jobs_(std::make_shared<Jobs>()) {
  jobs_->thread = std::thread([jobs = jobs_.get()] {
    yield_to_frames();
    jobs->work();
  });
}

Worker::~Worker() {
  const std::lock_guard all(leavers().mutex);
  // Threads that have ended meanwhile are joined here, which takes no time, so that they do not pile up.
  leavers().jobs.remove_if([](const std::shared_ptr<void>& leaver) {
    Jobs& jobs = *static_cast<Jobs*>(leaver.get());
    {
      const std::lock_guard lock(jobs.mutex);
      if (!jobs.is_over) return false;
    }
    jobs.thread.join();
    return true;
  });
  leavers().jobs.push_back(jobs_);
  const std::lock_guard lock(jobs_->mutex);
  jobs_->last_is_posted = true;
  jobs_->changed.notify_one();
}

void Worker::post(Job job) {
  const std::shared_ptr<Jobs> jobs = jobs_;  // the job may end the life of this worker
  jobs->post(std::move(job));
}

void Worker::wait_for_all() {
  while (true) {
    std::shared_ptr<void> leaver;
    {
      const std::lock_guard all(leavers().mutex);
      if (leavers().jobs.empty()) return;
      leaver = std::move(leavers().jobs.front());
      leavers().jobs.pop_front();
    }
    static_cast<Jobs*>(leaver.get())->thread.join();
  }
}
