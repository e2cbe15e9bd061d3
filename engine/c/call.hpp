// The frame of every function of the C interface: stores messages, checks arguments, and looks handles up.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/c/heed.h>

#include <heed/device.hpp>
#include <heed/graph.hpp>
#include <heed/status.hpp>

#include "base/logging.hpp"
#include "c/handles.hpp"

namespace heed::c {

// Keeps the log and callbacks that a host gave for a device or file, as long as objects made from it may call them.
struct Host {
  explicit Host(const heed_log* given);
  Log log();

  heed_log host = {};
  heed_memory_allocator memory = {};
  heed_queue_access queue = {};
  heed_parallel_for threads = {};
  std::mutex mutex;
  std::string elsewhere;  // the last error that was logged on a thread outside of calls
};

inline heed_dtype to_c(DType dtype) { return static_cast<heed_dtype>(dtype); }
inline heed_status to_c(Status status) { return static_cast<heed_status>(status); }

// One call of the interface. The first failure is kept, and its message becomes the thread's last one.
class Call {
 public:
  explicit Call(const char* function, heed::Graph* graph = nullptr);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool failed() const { return status_ != HEED_OK; }
  heed_status status() const { return status_; }
  // Records the failure with the message "heed_plan_run: " + message, also in a graph that is being built.
  heed_status fail(heed_status status, const std::string& message);
  // Records the status that the engine returned. The message is the error that was logged during the call, or on another thread for `host`.
  heed_status end(Status status, Host* host = nullptr);
  // Records a failure of an earlier call, with its message unchanged.
  heed_status repeat(Status status, std::string_view message);
  // Makes the call fail silently, since an earlier call has failed.
  void stop(Status status) { status_ = to_c(status); }
  void fails_into(heed::Graph* graph) { graph_ = graph; }

  // Checks that a required pointer is not null; otherwise the call fails.
  bool has(const void* pointer, const char* what);
  // Fails with IndexOutOfRange if index >= count.
  bool has_index(size_t index, size_t count);
  // Whether the engine logged an error during the call.
  bool has_logged() const { return !logged_.empty(); }
  // Checks that an array is given if it has elements.
  bool has_array(const void* pointer, size_t count, const char* what);
  // A required text, and an optional one that may be NULL.
  std::string_view text(const char* text, const char* what);
  std::string_view text_or(const char* text, std::string_view otherwise = {}) const;
  // Checks that an enumerator is one of 0 .. last.
  template <class T>
  T one_of(int32_t value, T last, const char* what) {
    if (value >= 0 && value <= static_cast<int32_t>(last)) return static_cast<T>(value);
    refuse_number(value, static_cast<int32_t>(last), what);
    return T{};
  }
  DType dtype(heed_dtype dtype, DType otherwise = DType::F32);
  std::optional<DType> dtype_if(heed_dtype dtype);
  // A word of 32 bits, or none if the value is negative.
  std::optional<uint32_t> word_if(int64_t value, const char* what);
  template <class T>
  std::span<const T> array(const T* values, size_t count, const char* what) {
    return has_array(values, count, what) ? std::span(values, count) : std::span<const T>();
  }

  // Called by Host when an error was logged on this thread.
  static bool take_message(const char* message);

 private:
  void refuse_number(int32_t value, int32_t last, const char* what);

  const char* function_;
  heed::Graph* graph_;
  Call* outer_;
  heed_status status_ = HEED_OK;
  std::string logged_;  // the last error that was logged during the call
};

const char* last_message();

// --- Structs with a size ---------------------------------------------------------------------------------------

// Fails the call unless the `size` member of the struct is `known`, its size in bytes. `what` is the struct's name in messages.
bool check_struct(Call& call, const void* given, size_t known, const char* what);

// A caller's struct whose defaults are zeros, which NULL gives.
template <class T>
class Given {
 public:
  Given(Call& call, const T* given, const char* what) {
    if (given == nullptr || !check_struct(call, given, sizeof(T), what)) return;
    value_ = *given;
    is_given_ = true;
  }
  bool is_given() const { return is_given_; }
  const T* operator->() const { return &value_; }
  const T& operator*() const { return value_; }

 private:
  T value_{};
  bool is_given_ = false;
};

// A caller's struct that a call fills.
template <class T>
class Wanted {
 public:
  Wanted(Call& call, T* wanted, const char* what) {
    if (call.has(wanted, what) && check_struct(call, wanted, sizeof(T), what)) wanted_ = wanted;
  }
  void set(T value) {
    if (wanted_ == nullptr) return;
    value.size = sizeof(T);
    *wanted_ = value;
  }

 private:
  T* wanted_ = nullptr;
};

// The log in a struct of options, which may be NULL or have another size.
template <class T>
const heed_log* log_of(const T* options) {
  return options != nullptr && options->size == sizeof(T) ? options->log : nullptr;
}

// --- Handles ---------------------------------------------------------------------------------------------------

// For objects that serve one call at a time: false if another call uses the object.
class Turn {
 public:
  bool take() { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

// Maps each kind of handle to its object: `using Handle = heed_plan; static constexpr Kind kKind`. Objects that serve one call at a time
// have take_turn() and give_turn().
template <class T>
concept TakesTurns = requires(T& object) {
  object.take_turn();
  object.give_turn();
};

// Keeps the object of a handle alive for the duration of a call. The call fails if the handle has no object.
template <class T>
class Pin {
 public:
  Pin(Call& call, typename T::Handle* handle) {
    const char* why = "";
    slot_ = pin(reinterpret_cast<uintptr_t>(handle), T::kKind, &why);
    if (slot_ == nullptr) {
      call.fail(HEED_INVALID_ARGUMENT, format("the %s %s", to_string(T::kKind), why));
      return;
    }
    if constexpr (TakesTurns<T>) {
      if (!static_cast<T*>(slot_->object)->take_turn()) {
        call.fail(HEED_INVALID_ARGUMENT, format("the %s is in use by another call", to_string(T::kKind)));
        unpin(slot_);
        slot_ = nullptr;
      }
    }
  }
  ~Pin() {
    if (slot_ == nullptr) return;
    if constexpr (TakesTurns<T>) static_cast<T*>(slot_->object)->give_turn();
    unpin(slot_);
  }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  explicit operator bool() const { return slot_ != nullptr; }
  T* get() const { return static_cast<T*>(slot_->object); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }

 private:
  Slot* slot_ = nullptr;
};

// Makes a handle for an object if the call has not failed, else writes NULL.
template <class T>
heed_status give(Call& call, std::unique_ptr<T> object, typename T::Handle** handle) {
  if (handle == nullptr) return call.status();
  *handle = nullptr;
  if (call.failed()) return call.status();
  const uintptr_t made = make_handle(T::kKind, object.get(), [](void* dropped) { delete static_cast<T*>(dropped); });
  if (made == 0) return call.fail(HEED_OUT_OF_MEMORY, "there are too many handles");
  (void)object.release();
  *handle = reinterpret_cast<typename T::Handle*>(made);
  return HEED_OK;
}

// Checks the pointer that receives a handle, and writes NULL to it for the case of a failure.
template <class Handle>
bool has_place(Call& call, Handle** handle, const char* what) {
  if (!call.has(handle, what)) return false;
  *handle = nullptr;
  return true;
}

template <class T>
heed_status destroy(const char* function, typename T::Handle* handle) {
  if (handle == nullptr) return HEED_OK;
  Call call(function);
  const char* why = "";
  if (!close(reinterpret_cast<uintptr_t>(handle), T::kKind, &why))
    return call.fail(HEED_INVALID_ARGUMENT, format("the %s %s", to_string(T::kKind), why));
  return HEED_OK;
}

// --- The caller's arrays, and blobs --------------------------------------------------------------------------------

// Fills an array of the caller's; *count becomes the number of elements.
template <class T>
heed_status fill(Call& call, std::span<const T> values, T* array, size_t capacity, size_t* count) {
  if (!call.has(count, "count")) return call.status();
  *count = values.size();
  if (values.size() > capacity)
    return call.fail(HEED_BUFFER_TOO_SMALL, format("there are %zu, and room for %zu", values.size(), capacity));
  if (!call.has_array(array, values.size(), "the array")) return call.status();
  if (!values.empty()) std::memcpy(array, values.data(), values.size_bytes());
  return HEED_OK;
}

struct Blob {
  using Handle = heed_blob;
  static constexpr Kind kKind = Kind::Blob;
  std::vector<std::byte> bytes;  // `size` bytes and a final 0
  size_t size = 0;
};
heed_status give_blob(Call& call, std::vector<std::byte> bytes, heed_blob** blob);
heed_status give_text(Call& call, std::string_view text, heed_blob** blob);

}  // namespace heed::c
