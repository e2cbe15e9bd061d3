#include "cpu/device/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

namespace heed::cpu {
namespace {

uint32_t thread_count(uint32_t asked) {
  constexpr uint32_t kMost = 1024;  // far above any use; limits the effect of a mistaken value
  const uint32_t count = asked != 0 ? asked : std::thread::hardware_concurrency();
  return std::clamp(count, 1u, kMost);
}

// Tells the processor that this is a waiting loop.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ volatile("yield");
#else
  std::this_thread::yield();
#endif
}

// Longer than the serial work between two passes of a plan, short compared to a frame.
constexpr std::chrono::microseconds kSpin{100};
// A waiting thread polls kEagerLooks times without yielding, which reacts fastest. Then it yields every kLooksPerYield polls, since the
// thread it waits for, or another program, may need this processor.
constexpr int kEagerLooks = 200, kLooksPerYield = 8;

// Calls ready() until it is true or kSpin has passed.
template <class Ready>
bool spin(const Ready& ready) {
  for (int i = 0; i < kEagerLooks; ++i) {
    if (ready()) return true;
    relax();
  }
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    std::this_thread::yield();
    for (int i = 0; i < kLooksPerYield; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads, ParallelFor parallel_for)
    : parallel_for_(parallel_for), workers_(thread_count(threads)), process_(process_id()) {
  if (parallel_for_.run != nullptr) return;
  for (uint32_t i = 1; i < workers_; ++i) {
    std::unique_ptr<Worker> worker(new (std::nothrow) Worker);
    if (worker == nullptr) break;
    worker->pool = this;
    worker->index = i;
    worker->thread.reset(new (std::nothrow) Thread);
    const auto start = [](void* context) {
      auto* self = static_cast<Worker*>(context);
      self->pool->work(*self);
    };
    if (worker->thread == nullptr || !worker->thread->start(start, worker.get())) break;
    threads_.push_back(std::move(worker));
  }
  workers_ = static_cast<uint32_t>(threads_.size()) + 1;
}

ThreadPool::~ThreadPool() {
  if (process_id() != process_) {
    // The process was forked. A fork does not copy threads: there is nothing to join, and destroying the condition variables would wait for
    // waiters that do not exist.
    for (std::unique_ptr<Worker>& worker : threads_) (void)worker.release();
    (void)sleep_.release();
    return;
  }
  stop_.store(true);
  {
    const std::lock_guard<std::mutex> lock(sleep_->mutex);
  }
  sleep_->wake.notify_all();
  threads_.clear();  // joins
}

void ThreadPool::call(uint32_t first) {
  for (uint64_t i = first; i < count_; i += workers_) task_(context_, static_cast<uint32_t>(i));
}

// Executes this worker's share of a job. Returns false if there is none, or another thread has begun it.
bool ThreadPool::do_share(Worker& worker) {
  if (!worker.asked.load(std::memory_order_relaxed) || !worker.asked.exchange(false)) return false;
  call(worker.index);
  finish_one();
  return true;
}

void ThreadPool::finish_one() {
  if (unfinished_.fetch_sub(1) != 1 || !owner_sleeps_.load()) return;
  {
    const std::lock_guard<std::mutex> lock(sleep_->mutex);
  }
  sleep_->done.notify_one();
}

void ThreadPool::work(Worker& worker) {
  const auto awaited = [&] {
    return worker.asked.load(std::memory_order_relaxed) || stop_.load(std::memory_order_relaxed);
  };
  while (!stop_.load(std::memory_order_relaxed)) {
    if (do_share(worker)) continue;
    if (!spin(awaited)) sleep_until_asked(worker);
  }
}

void ThreadPool::sleep_until_asked(const Worker& worker) {
  std::unique_lock<std::mutex> lock(sleep_->mutex);
  sleepers_.fetch_add(1);
  sleep_->wake.wait(lock, [&] { return stop_.load() || worker.asked.load(); });
  sleepers_.fetch_sub(1);
}

void ThreadPool::publish(uint32_t count, Task task, void* context) {
  task_ = task;
  context_ = context;
  count_ = count;
  const uint32_t shares = std::min(count, workers_) - 1;
  unfinished_.store(shares, std::memory_order_relaxed);
  for (uint32_t i = 0; i < shares; ++i) threads_[i]->asked.store(true);  // that thread sees the job from now on
  if (sleepers_.load() == 0) return;
  {
    const std::lock_guard<std::mutex> lock(sleep_->mutex);
  }
  sleep_->wake.notify_all();
}

void ThreadPool::wait_finished() {
  const auto finished = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (spin(finished)) return;
  std::unique_lock<std::mutex> lock(sleep_->mutex);
  owner_sleeps_.store(true);
  sleep_->done.wait(lock, [this] { return unfinished_.load() == 0; });
  owner_sleeps_.store(false);
}

void ThreadPool::run(uint32_t count, Task task, void* context) {
  if (count == 0) return;
  if (count == 1) return task(context, 0);
  if (parallel_for_.run != nullptr) return parallel_for_.run(parallel_for_.user, count, task, context);
  const std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
  if (!owner.owns_lock() || threads_.empty()) {
    for (uint32_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  publish(count, task, context);
  call(0);
  // A thread that has not begun by now may be asleep or preempted.
  for (const std::unique_ptr<Worker>& worker : threads_) do_share(*worker);
  wait_finished();
}

}  // namespace heed::cpu
