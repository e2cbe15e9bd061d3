#include "cpu/device/run_queue.hpp"

#include <condition_variable>
#include <mutex>
#include <new>

namespace heed::cpu {

struct RunQueue::Jobs {
  std::mutex mutex;
  std::condition_variable changed;  // a job was added or done, or `stop` was set
  Job* first = nullptr;
  bool stop = false;

  // The calls below need the lock.
  void push(Job* job) {
    Job** end = &first;
    while (*end != nullptr) end = &(*end)->next;
    *end = job;
    job->next = nullptr;
    job->state = Job::State::Queued;
  }
  void remove(const Job* job) {
    Job** at = &first;
    while (*at != job) at = &(*at)->next;
    *at = job->next;
  }
  // Executes a job that is in the queue, without the lock meanwhile. The job may be destroyed as soon as it is done.
  void run(Job* job, std::unique_lock<std::mutex>& lock) {
    remove(job);
    job->state = Job::State::Running;
    lock.unlock();
    job->work(job->argument);
    lock.lock();
    job->state = Job::State::Done;
    changed.notify_all();
  }

  // The loop of heed's own thread.
  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stop || first != nullptr; });
      if (stop) return;
      run(first, lock);
    }
  }
};

RunQueue::RunQueue(const ParallelFor& host) : host_(host), jobs_(std::make_shared<Jobs>()), process_(process_id()) {}

RunQueue::~RunQueue() {
  if (process_id() != process_) {
    // As in ThreadPool: a forked process has no thread to join, and destroying condition variables would wait for waiters that do not
    // exist.
    (void)thread_.release();
    new (std::nothrow) std::shared_ptr<Jobs>(std::move(jobs_));
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(jobs_->mutex);
    jobs_->stop = true;
    jobs_->changed.notify_all();
  }
  thread_.reset();  // joins
}

Status RunQueue::start_thread() {
  if (thread_ != nullptr) return Status::Ok;
  std::unique_ptr<Thread> thread(new (std::nothrow) Thread);
  if (thread == nullptr || !thread->start([](void* jobs) { static_cast<Jobs*>(jobs)->work(); }, jobs_.get()))
    return Status::OutOfMemory;
  thread_ = std::move(thread);
  return Status::Ok;
}

Status RunQueue::add(Job* job) {
  if (process_id() != process_ || (host_.run != nullptr && host_.start == nullptr)) return Status::Unsupported;
  std::unique_lock<std::mutex> lock(jobs_->mutex);
  if (host_.run == nullptr) {
    const Status status = start_thread();
    if (status != Status::Ok) return status;
    jobs_->push(job);
    jobs_->changed.notify_all();
    return Status::Ok;
  }
  // The host may begin its task after finish has done the job, and even after this queue was destroyed.
  auto* kept = new (std::nothrow) std::shared_ptr<Jobs>(jobs_);
  if (kept == nullptr) return Status::OutOfMemory;
  jobs_->push(job);
  lock.unlock();
  const auto task = [](void* context) {
    const std::unique_ptr<std::shared_ptr<Jobs>> own(static_cast<std::shared_ptr<Jobs>*>(context));
    Jobs& jobs = **own;
    std::unique_lock<std::mutex> locked(jobs.mutex);
    if (jobs.first != nullptr) jobs.run(jobs.first, locked);
  };
  host_.start(host_.user, task, kept);
  return Status::Ok;
}

void RunQueue::finish(Job* job) {
  std::unique_lock<std::mutex> lock(jobs_->mutex);
  if (job->state == Job::State::Queued) return jobs_->run(job, lock);
  jobs_->changed.wait(lock, [job] { return job->state == Job::State::Done; });
}

}  // namespace heed::cpu
