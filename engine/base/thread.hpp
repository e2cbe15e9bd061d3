// A thread whose creation may fail. std::thread reports that with an exception, which this library cannot catch.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#include <thread>
#else
#include <pthread.h>
#include <unistd.h>
#endif

namespace heed {

// Changes after a fork, since the child process has no threads of its parent.
inline int64_t process_id() {
#if defined(_WIN32)
  return 0;  // the platform has no fork
#else
  return getpid();
#endif
}

class Thread {
 public:
  Thread() = default;
  ~Thread() { join(); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // May be called once. `entry` may end before start returns. Returns false if the system cannot create a thread.
  bool start(void (*entry)(void* argument), void* argument) {
    entry_ = entry;
    argument_ = argument;
#if defined(_WIN32)
    handle_ = std::thread([this] { entry_(argument_); });
    started_ = true;
#else
    const auto call = [](void* self) -> void* {
      static_cast<Thread*>(self)->entry_(static_cast<Thread*>(self)->argument_);
      return nullptr;
    };
    started_ = pthread_create(&handle_, nullptr, call, this) == 0;
#endif
    return started_;
  }

  void join() {
    if (!started_) return;
#if defined(_WIN32)
    handle_.join();
#else
    pthread_join(handle_, nullptr);
#endif
    started_ = false;
  }

 private:
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool started_ = false;
#if defined(_WIN32)
  std::thread handle_;
#else
  pthread_t handle_{};
#endif
};

}  // namespace heed
