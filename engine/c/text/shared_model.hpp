// A model with dependent parts: conversations of a language model, streams of a speech recognizer. All of them serve one call at a time.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "c/objects.hpp"

namespace heed::c {

// `it`, with the logs and callbacks that hosts gave for it and its device.
template <class Model, class Part>
class SharedModel {
 public:
  std::shared_ptr<Host> device_host, host;
  Model it;

  // False if another call has the turn. Waits for parts that are being destroyed, since garbage collectors destroy handles on threads of
  // their own.
  bool take_turn() {
    Holder was = Holder::Nobody;
    while (!holder_.compare_exchange_weak(was, Holder::Call, std::memory_order_acquire)) {
      if (was == Holder::Call) return false;
      if (was == Holder::End) std::this_thread::yield();
      was = Holder::Nobody;
    }
    return true;
  }
  void give_turn() {
    holder_.store(Holder::Nobody, std::memory_order_release);
    end_dropped();
  }
  // Destroying a part uses data shared by the model's parts. If a call has the turn, that call destroys this part, too.
  void drop(Part part) {
    {
      const std::lock_guard lock(mutex_);
      dropped_.push_back(std::move(part));
    }
    end_dropped();
  }

 private:
  bool has_dropped() {
    const std::lock_guard lock(mutex_);
    return !dropped_.empty();
  }
  void end_dropped() {
    while (has_dropped()) {
      Holder was = Holder::Nobody;
      if (!holder_.compare_exchange_strong(was, Holder::End, std::memory_order_acquire))
        return;  // the call with the turn checks again
      std::vector<Part> ending;
      {
        const std::lock_guard lock(mutex_);
        ending.swap(dropped_);
      }
      ending.clear();
      holder_.store(Holder::Nobody, std::memory_order_release);
    }
  }

  enum class Holder : uint8_t { Nobody, Call, End };
  std::atomic<Holder> holder_{Holder::Nobody};
  std::mutex mutex_;  // for dropped_
  std::vector<Part> dropped_;
};

// The object of a model's or part's handle.
template <class Shared>
struct ModelObject {
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();

  bool take_turn() { return shared->take_turn(); }
  void give_turn() { shared->give_turn(); }
  auto& it() { return shared->it; }
  Host* host() { return shared->host.get(); }
};

template <class Shared, class Part>
struct PartObject {
  explicit PartObject(std::shared_ptr<Shared> of) : shared(std::move(of)) {}
  ~PartObject() {
    if (it.valid()) shared->drop(std::move(it));
  }

  std::shared_ptr<Shared> shared;
  Part it;

  bool take_turn() { return shared->take_turn(); }
  void give_turn() { shared->give_turn(); }
  Host* host() { return shared->host.get(); }
};

// Handles of a model's plan or weights.
template <class T, class Shared, class It>
heed_status give_part(Call& call, const Shared& shared, const It& it, typename T::Handle** handle) {
  auto made = std::make_unique<T>();
  made->host = shared.device_host;
  made->it = it;
  return give(call, std::move(made), handle);
}

}  // namespace heed::c
