// Typed access to the metadata of a GGUF file, like Fields for JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <heed/gguf.hpp>

namespace heed {

// The first failure is logged with the file, the key and the value, and kept; later calls return their defaults.
class GgufFields {
 public:
  // `prefix` is put before keys that begin with a dot.
  GgufFields(const Gguf& file, std::string prefix, const Log& log)
      : file_(file), prefix_(std::move(prefix)), log_(log) {}

  // Without `otherwise` the key is required.
  int64_t integer(const char* key, int64_t least, int64_t most, std::optional<int64_t> otherwise = {});
  double number(const char* key, double least, double most, std::optional<double> otherwise = {});
  bool boolean(const char* key, std::optional<bool> otherwise = {});
  std::string text(const char* key, std::optional<std::string> otherwise = {});
  Gguf::Value value(const char* key) {
    const std::string name = full(key);
    asked_.insert(name);
    return file_.value(name);
  }
  // Whether one of these calls has read this key.
  bool has_asked(std::string_view name) const { return asked_.contains(name); }

  // Logs "'llama.block_count' is 7: <what>". The status is InvalidFile by default.
  void fail(const char* key, const std::string& what, Status status = Status::InvalidFile);
  Status status() const { return status_; }
  std::string full(const char* key) const { return *key == '.' ? prefix_ + key : std::string(key); }

 private:
  template <class T>
  T checked(const char* key, const std::string& wanted, std::optional<T> read, bool fits, std::optional<T> otherwise);

  const Gguf& file_;
  std::string prefix_;
  const Log& log_;
  std::set<std::string, std::less<>> asked_;
  Status status_ = Status::Ok;
};

}  // namespace heed
