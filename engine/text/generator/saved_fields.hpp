// What is saved of a conversation, field by field.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "base/sealed_blob.hpp"
#include "base/try_resize.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

inline constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max();

// All fields but keys and values, in the order of the format. A change of it needs another kTextFormat.
struct SavedText {
  TextConversationOptions options;
  std::string date;
  std::vector<TextMessage> messages;
  std::vector<int32_t> ids;
  bool answering = false, ahead = false;
  uint64_t answer_at = 0;
  TextEnd end = TextEnd::None;
  int32_t draws = 0;
  std::string answer, held,
      guided;  // `held` may become a stop string; `guided` is the text that the grammar has accepted
  // The tokens of the keys and values that follow; the length of the common prefix of these and `ids`; and the token that the last run wrote
  // into the State's text, with its index.
  std::vector<int32_t> stored;
  uint64_t there = 0, drawn_at = kNowhere;
  int32_t drawn = -1;
  uint64_t layout = 0, key_bytes = 0;

  template <class File>
  void pass(File& file) {
    TextSampling& s = options.sampling;
    file(options.system, s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, s.seed, options.stop,
         options.grammar, options.most_tokens, options.overflow, options.keep_tokens, options.think, date);
    file(messages, ids, answering, ahead, answer_at, end, draws, answer, held, guided);
    file(stored, there, drawn_at, drawn, layout, key_bytes);
  }
};

// Writes fields, or counts their bytes without a blob.
class FieldWriter {
 public:
  explicit FieldWriter(BlobWriter* blob) : blob_(blob) {}
  template <class... All>
  void operator()(const All&... fields) {
    (write(fields), ...);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  void put(const void* data, size_t bytes) {
    bytes_ += bytes;
    if (blob_ != nullptr) blob_->append(data, bytes);
  }
  template <class T>
  void write(const T& number) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    put(&number, sizeof number);
  }
  void write(const std::string& text) {
    write(uint64_t{text.size()});
    put(text.data(), text.size());
  }
  void write(const TextMessage& message) {
    write(message.role);
    write(message.content);
  }
  template <class T>
  void write(const std::vector<T>& list) {
    write(uint64_t{list.size()});
    for (const T& one : list) write(one);
  }

  BlobWriter* blob_;
  uint64_t bytes_ = 0;
};

// Reads fields. After the first failure all further fields are empty.
class FieldReader {
 public:
  explicit FieldReader(BlobReader* blob) : blob_(blob) {}
  template <class... All>
  void operator()(All&... fields) {
    (read(fields), ...);
  }
  Status status() const { return status_; }

 private:
  void stop(Status status) {
    if (status_ == Status::Ok) status_ = status;
  }
  template <class T>
  void read(T& number) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    if (status_ == Status::Ok && !blob_->take(&number, sizeof number)) stop(Status::InvalidFile);
  }
  void read(bool& flag) {  // another byte in a bool would be undefined
    uint8_t byte = 0;
    read(byte);
    if (byte > 1) stop(Status::InvalidFile);
    flag = byte == 1;
  }
  // The number of T that follow, each of at least `least_bytes` bytes; 0 after a failure.
  template <class T>
  size_t count(size_t least_bytes) {
    uint64_t claimed = 0;
    read(claimed);
    if (claimed > blob_->rest().size() / least_bytes) stop(Status::InvalidFile);
    if (status_ == Status::Ok && !has_memory<T>(claimed)) stop(Status::OutOfMemory);
    return status_ == Status::Ok ? static_cast<size_t>(claimed) : 0;
  }
  void read(std::string& text) {
    text.resize(count<char>(1));
    if (status_ == Status::Ok) (void)blob_->take(text.data(), text.size());
  }
  void read(TextMessage& message) {
    read(message.role);
    read(message.content);
  }
  template <class T>
  void read(std::vector<T>& list) {
    const size_t size = count<T>(std::is_arithmetic_v<T> ? sizeof(T) : sizeof(uint64_t));
    list.reserve(size);
    for (size_t i = 0; i < size && status_ == Status::Ok; ++i) read(list.emplace_back());
  }

  BlobReader* blob_;
  Status status_ = Status::Ok;
};

}  // namespace heed
