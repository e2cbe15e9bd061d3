#include "cpu/thread_pool.hpp"

#include <algorithm>
#include <new>
#include <thread>

#if defined(_WIN32)
#define HEED_POSIX_THREADS 0
#else
#define HEED_POSIX_THREADS 1
#include <pthread.h>
#endif

namespace heed::cpu {

// A thread whose creation may fail. std::thread reports that with an exception, which this library cannot
// catch.
class ThreadPool::Thread {
 public:
  bool start(ThreadPool* pool) {
#if HEED_POSIX_THREADS
    const auto entry = [](void* argument) -> void* {
      static_cast<ThreadPool*>(argument)->work();
      return nullptr;
    };
    started_ = pthread_create(&handle_, nullptr, entry, pool) == 0;
#else
    handle_ = std::thread([pool] { pool->work(); });
    started_ = true;
#endif
    return started_;
  }
  ~Thread() {
    if (!started_) return;
#if HEED_POSIX_THREADS
    pthread_join(handle_, nullptr);
#else
    handle_.join();
#endif
  }

 private:
#if HEED_POSIX_THREADS
  pthread_t handle_{};
#else
  std::thread handle_;
#endif
  bool started_ = false;
};

// Lives on the stack of the thread that called run; guarded by the pool's mutex.
struct ThreadPool::Job {
  Task task = nullptr;
  void* context = nullptr;
  uint32_t count = 0;
  uint32_t next = 0;      // first index that nobody took
  uint32_t finished = 0;  // the owner leaves when this reaches count
  Job* older = nullptr;
};

namespace {

uint32_t thread_count(uint32_t asked) {
  constexpr uint32_t kMost = 1024;  // far above any use; keeps a mistaken value from exhausting the system
  const uint32_t count = asked != 0 ? asked : std::thread::hardware_concurrency();
  return std::clamp(count, 1u, kMost);
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads, ParallelFor parallel_for)
    : parallel_for_(parallel_for), workers_(thread_count(threads)) {
  if (parallel_for_.run != nullptr) return;
  for (uint32_t i = 1; i < workers_; ++i) {
    std::unique_ptr<Thread> thread(new (std::nothrow) Thread);
    if (thread == nullptr || !thread->start(this)) break;
    threads_.push_back(std::move(thread));
  }
  workers_ = static_cast<uint32_t>(threads_.size()) + 1;
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  threads_.clear();  // joins
}

// Takes one index of `job` and runs it with the lock released. False if none is left.
bool ThreadPool::run_one(std::unique_lock<std::mutex>& lock, Job* job) {
  if (job->next == job->count) return false;
  const uint32_t index = job->next++;
  if (job->next == job->count) {  // nobody else needs to find it
    Job** at = &jobs_;
    while (*at != job) at = &(*at)->older;
    *at = job->older;
  }
  lock.unlock();
  job->task(job->context, index);
  lock.lock();
  if (++job->finished == job->count) done_.notify_all();
  return true;
}

void ThreadPool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || jobs_ != nullptr; });
    if (stop_) return;
    run_one(lock, jobs_);
  }
}

void ThreadPool::run(uint32_t count, Task task, void* context) {
  if (count == 0) return;
  if (count == 1) return task(context, 0);
  if (parallel_for_.run != nullptr) return parallel_for_.run(parallel_for_.user, count, task, context);
  Job job{.task = task, .context = context, .count = count};
  std::unique_lock<std::mutex> lock(mutex_);
  job.older = jobs_;
  jobs_ = &job;
  wake_.notify_all();
  while (run_one(lock, &job)) {
  }
  done_.wait(lock, [&job] { return job.finished == job.count; });
}

}  // namespace heed::cpu
