#include "cpu/thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

namespace heed::cpu {
namespace {

uint32_t thread_count(uint32_t asked) {
  constexpr uint32_t kMost = 1024;  // far above any use; keeps a mistaken value from exhausting the system
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

// Longer than the serial work between two steps of a plan, short beside a frame.
constexpr std::chrono::microseconds kSpin{100};

// Calls ready() until it is true or kSpin has passed.
template <class Ready>
bool spin(const Ready& ready) {
  constexpr int kLooksPerClock = 64;
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kLooksPerClock; ++i) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace

ThreadPool::ThreadPool(uint32_t threads, ParallelFor parallel_for)
    : parallel_for_(parallel_for), workers_(thread_count(threads)) {
  if (parallel_for_.run != nullptr) return;
  for (uint32_t i = 1; i < workers_; ++i) {
    std::unique_ptr<Thread> thread(new (std::nothrow) Thread);
    if (thread == nullptr || !thread->start([](void* pool) { static_cast<ThreadPool*>(pool)->work(); }, this))
      break;
    threads_.push_back(std::move(thread));
  }
  workers_ = static_cast<uint32_t>(threads_.size()) + 1;
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  {
    const std::lock_guard<std::mutex> lock(sleep_);
  }
  wake_.notify_all();
  threads_.clear();  // joins
}

// Takes an index of the current job. False if none is left.
bool ThreadPool::take(uint32_t* index) {
  uint32_t left = left_.load(std::memory_order_relaxed);
  while (left != 0)
    if (left_.compare_exchange_weak(left, left - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      *index = left - 1;
      return true;
    }
  return false;
}

void ThreadPool::finish_one() {
  if (unfinished_.fetch_sub(1) != 1 || !owner_sleeps_.load()) return;
  {
    const std::lock_guard<std::mutex> lock(sleep_);
  }
  done_.notify_one();
}

void ThreadPool::work() {
  while (!stop_.load(std::memory_order_relaxed)) {
    uint32_t index = 0;
    if (take(&index)) {
      task_(context_, index);
      finish_one();
      continue;
    }
    if (!spin([this] { return left_.load(std::memory_order_relaxed) != 0 || stop_.load(std::memory_order_relaxed); }))
      sleep_until_work();
  }
}

void ThreadPool::sleep_until_work() {
  std::unique_lock<std::mutex> lock(sleep_);
  sleepers_.fetch_add(1);
  wake_.wait(lock, [this] { return stop_.load() || left_.load() != 0; });
  sleepers_.fetch_sub(1);
}

void ThreadPool::publish(uint32_t count, Task task, void* context) {
  task_ = task;
  context_ = context;
  unfinished_.store(count, std::memory_order_relaxed);
  left_.store(count);  // from here on the threads see the job
  if (sleepers_.load() == 0) return;
  {
    const std::lock_guard<std::mutex> lock(sleep_);
  }
  wake_.notify_all();
}

void ThreadPool::wait_finished() {
  const auto finished = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (spin(finished)) return;
  std::unique_lock<std::mutex> lock(sleep_);
  owner_sleeps_.store(true);
  done_.wait(lock, [this] { return unfinished_.load() == 0; });
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
  uint32_t index = 0;
  while (take(&index)) {
    task(context, index);
    finish_one();
  }
  wait_finished();
}

}  // namespace heed::cpu
