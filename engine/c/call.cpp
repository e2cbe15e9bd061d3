#include "c/call.hpp"

#include <algorithm>

#include "base/try_resize.hpp"

namespace heed::c {
namespace {

// Separate from the C++ message, which successful calls may change.
thread_local constinit LastMessage last;
thread_local constinit Call* current = nullptr;

void keep(std::string_view text) { last.keep(text); }

}  // namespace

const char* last_message() { return last.text; }

Host::Host(const heed_log* given) {
  if (given != nullptr) host = *given;
}

Log Host::log() {
  const auto tell = [](void* user, LogLevel level, const char* text) {
    Host* self = static_cast<Host*>(user);
    const bool is_in_call = current != nullptr;
    if (level == LogLevel::Error && !Call::take_message(text)) {
      const std::lock_guard lock(self->mutex);
      self->elsewhere = text;
    }
    const heed_log& to = self->host;
    if (to.callback != nullptr && static_cast<int32_t>(level) >= to.minimum && (is_in_call || to.any_thread != 0))
      to.callback(to.user, static_cast<int32_t>(level), text);
  };
  const int32_t minimum =
      host.callback == nullptr ? HEED_LOG_ERROR : std::clamp(host.minimum, 0, int32_t{HEED_LOG_ERROR});
  return {tell, this, static_cast<LogLevel>(minimum)};
}

Call::Call(const char* function, heed::Graph* graph) : function_(function), graph_(graph), outer_(current) {
  current = this;
}
Call::~Call() { current = outer_; }

bool Call::take_message(const char* text) {
  if (current == nullptr) return false;
  current->logged_ = text;
  return true;
}

heed_status Call::fail(heed_status status, const std::string& text) {
  if (failed()) return status_;
  status_ = status;
  const std::string whole = std::string(function_) + ": " + text;
  keep(whole);
  if (graph_ != nullptr) (void)graph_->fail(static_cast<Status>(status), whole);
  return status_;
}

heed_status Call::end(Status status, Host* host) {
  if (failed() || status == Status::Ok) return status_;
  if (!logged_.empty()) {
    status_ = to_c(status);
    keep(logged_);
    return status_;
  }
  std::string text = to_string(status);
  if (host != nullptr) {
    const std::lock_guard lock(host->mutex);
    if (!host->elsewhere.empty()) text = std::move(host->elsewhere);
    host->elsewhere.clear();
  }
  return fail(to_c(status), text);
}

heed_status Call::repeat(Status status, std::string_view text) {
  if (status == Status::Ok) return status_;
  stop(status);
  keep(text);
  return status_;
}

bool Call::has(const void* pointer, const char* what) {
  if (pointer == nullptr) fail(HEED_INVALID_ARGUMENT, format("%s is NULL", what));
  return pointer != nullptr;
}

bool Call::has_array(const void* pointer, size_t count, const char* what) { return count == 0 || has(pointer, what); }

bool Call::has_index(size_t index, size_t count) {
  if (index >= count) fail(HEED_INDEX_OUT_OF_RANGE, format("there is no %zu; there are %zu", index, count));
  return index < count;
}

std::string_view Call::text(const char* text, const char* what) {
  return has(text, what) ? std::string_view(text) : std::string_view();
}

std::string_view Call::text_or(const char* text, std::string_view otherwise) const {
  return text == nullptr ? otherwise : std::string_view(text);
}

void Call::refuse_number(int32_t value, int32_t last, const char* what) {
  fail(HEED_INVALID_ARGUMENT, format("%s is %d; it must be 0 to %d", what, value, last));
}

DType Call::dtype(heed_dtype dtype, DType otherwise) { return dtype_if(dtype).value_or(otherwise); }

std::optional<DType> Call::dtype_if(heed_dtype dtype) {
  if (dtype >= 0 && dtype < kDTypes) return static_cast<DType>(dtype);
  if (dtype != HEED_DTYPE_DEFAULT) refuse_number(dtype, kDTypes - 1, "the dtype");
  return {};
}

std::optional<uint32_t> Call::word_if(int64_t value, const char* what) {
  if (value < 0) return {};
  if (value > int64_t{UINT32_MAX})
    fail(HEED_INVALID_ARGUMENT, format("%s is %lld; %lu is the largest", what, static_cast<long long>(value),
                                       static_cast<unsigned long>(UINT32_MAX)));
  return static_cast<uint32_t>(value);
}

bool check_struct(Call& call, const void* given, size_t known, const char* what) {
  size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  if (size == known) return true;
  call.fail(HEED_INVALID_ARGUMENT,
            format("%s has the size %zu, not %zu: its _init function sets it, or sizeof the struct where it has none",
                   what, size, known));
  return false;
}

heed_status give_blob(Call& call, std::vector<std::byte> bytes, heed_blob** blob) {
  auto made = std::make_unique<Blob>();
  made->size = bytes.size();
  made->bytes = std::move(bytes);
  if (!try_resize(&made->bytes, uint64_t{made->size} + 1))  // with a 0
    call.fail(HEED_OUT_OF_MEMORY, format("no memory for %zu bytes", made->size));
  return give(call, std::move(made), blob);
}

heed_status give_text(Call& call, std::string_view text, heed_blob** blob) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return give_blob(call, std::vector<std::byte>(bytes, bytes + text.size()), blob);
}

}  // namespace heed::c
