#include "text/generator/saved_keys.hpp"

#include <algorithm>

#include "base/fingerprint.hpp"
#include "base/logging.hpp"
#include "base/try_resize.hpp"

namespace heed {
namespace {

// A tensor of keys or values, [rows, heads, capacity, width].
struct CacheTensor {
  StateInfo info;
  size_t heads() const { return static_cast<size_t>(info.shape[1]); }
  size_t capacity() const { return static_cast<size_t>(info.shape[2]); }
  size_t width() const { return static_cast<size_t>(info.shape[3]) * size_of(info.dtype); }  // in bytes
};

std::vector<CacheTensor> caches_of(const State& state) {
  std::vector<CacheTensor> all;
  for (StateInfo& info : state.tensors())
    if (info.shape.size() == 4) all.push_back({std::move(info)});
  return all;
}

// Copies keys and values of a conversation's first `count` tokens: [heads, count, width] of each tensor. If other conversations share the
// tensors, the conversation's row is copied as a whole through `row_`.
class KeyMover {
 public:
  KeyMover(const TextConversation::Impl& c, size_t count) : c_(c), count_(count) {}

  Status read(std::byte* to) {
    return each([&](const CacheTensor& one, size_t bytes) {
      Status status = Status::Ok;
      if (is_alone(one)) {
        status = c_.batch->state.read(one.info.name, {to, bytes}, tokens());
      } else {
        status = c_.batch->state.read(one.info.name, row_, own_row());
        for (size_t head = 0; head < one.heads(); ++head)
          std::copy_n(row_.data() + head * one.capacity() * one.width(), count_ * one.width(),
                      to + head * count_ * one.width());
      }
      to += bytes;
      return status;
    });
  }
  Status write(const std::byte* from) {
    return each([&](const CacheTensor& one, size_t bytes) {
      Status status = Status::Ok;
      if (is_alone(one)) {
        status = c_.batch->state.write(one.info.name, {from, bytes}, tokens());
      } else {
        for (size_t head = 0; head < one.heads(); ++head)
          std::copy_n(from + head * count_ * one.width(), count_ * one.width(),
                      row_.data() + head * one.capacity() * one.width());
        status = c_.batch->state.write(one.info.name, row_, own_row());
      }
      from += bytes;
      return status;
    });
  }

 private:
  static bool is_alone(const CacheTensor& one) { return one.info.shape[0] == 1; }
  StatePart tokens() const { return {.axis = 2, .begin = 0, .size = static_cast<int64_t>(count_)}; }
  StatePart own_row() const { return {.axis = 0, .begin = static_cast<int64_t>(c_.row), .size = 1}; }

  template <class Move>
  Status each(const Move& move) {
    if (count_ == 0) return Status::Ok;
    for (const CacheTensor& one : caches_of(c_.batch->state)) {
      const uint64_t row_bytes = is_alone(one) ? 0 : uint64_t{one.heads()} * one.capacity() * one.width();
      row_.clear();
      if (!try_resize(&row_, row_bytes))
        return fail(c_.log(), Status::OutOfMemory,
                    format("no memory for the %llu bytes of '%s'", static_cast<unsigned long long>(row_bytes),
                           one.info.name.c_str()));
      const Status status = move(one, one.heads() * count_ * one.width());
      if (status != Status::Ok) return status;
    }
    return Status::Ok;
  }

  const TextConversation::Impl& c_;
  size_t count_;
  std::vector<std::byte> row_;
};

}  // namespace

uint64_t layout_of_keys(const State& state) {
  Fingerprint print;
  for (const CacheTensor& one : caches_of(state)) {
    print.add(one.info.name);
    print.add(static_cast<uint64_t>(one.info.dtype));
    print.add(one.heads());
    print.add(one.width());
  }
  return print.value();
}

uint64_t key_bytes_of_token(const State& state) {
  uint64_t bytes = 0;
  for (const CacheTensor& one : caches_of(state)) bytes += one.heads() * one.width();
  return bytes;
}

Status read_keys(const TextConversation::Impl& c, size_t count, std::byte* to) { return KeyMover(c, count).read(to); }
Status write_keys(const TextConversation::Impl& c, size_t count, const std::byte* from) {
  return KeyMover(c, count).write(from);
}

Status write_text(const TextConversation::Impl& c) {
  std::vector<int32_t> text(c.context() + 1), counted(c.context() + 1);
  for (size_t i = 0; i < c.stored.size(); ++i) counted[i] = c.is_control(c.stored[i]) ? -1 : c.stored[i];
  if (c.drawn_at <= c.context()) text[c.drawn_at] = counted[c.drawn_at] = c.drawn;
  const StatePart row = {.axis = 0, .begin = static_cast<int64_t>(c.row), .size = 1};
  const Status status = c.batch->state.write("text", std::as_bytes(std::span(text)), row);
  return status == Status::Ok ? c.batch->state.write("counted", std::as_bytes(std::span(counted)), row) : status;
}

}  // namespace heed
