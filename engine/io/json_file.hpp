// Reads untrusted JSON files: size and depth are bounded before parsing, types are checked at every access, nothing throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <heed/status.hpp>

namespace heed {

// One value of a parsed file, or none. Valid as long as the file. Only json_file.cpp includes the parser, whose headers take a second to
// compile.
class Json {
 public:
  Json() = default;
  explicit Json(const void* value) : value_(value) {}
  explicit operator bool() const { return value_ != nullptr; }

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  size_t size() const;  // number of entries of an object or array; 0 for other values
  // Null or empty if the value has another type. An integer >= 0 is both natural and integer.
  const std::string* text() const;
  const uint64_t* natural() const;
  const int64_t* integer() const;
  const bool* boolean() const;
  std::optional<double> number() const;
  // None if the object has no field of this name, or the array no element i.
  Json field(std::string_view name) const;
  Json element(size_t i) const;
  std::string shown() const;  // for messages

  // Calls visit(name, value) for each field, or visit("", value) for each element, until a call returns false.
  template <class Visit>
  void each(Visit visit) const {
    each([](void* context, const std::string& name, Json v) { return (*static_cast<Visit*>(context))(name, v); },
         &visit);
  }

 private:
  void each(bool (*visit)(void* context, const std::string& name, Json value), void* context) const;

  const void* value_ = nullptr;
};

// Owns the values of one file.
class JsonFile {
 public:
  JsonFile() = default;
  explicit JsonFile(void* value) : value_(value) {}  // takes ownership
  Json root() const { return Json(value_.get()); }

 private:
  struct Delete {
    void operator()(void* value) const;
  };
  std::unique_ptr<void, Delete> value_;
};

inline constexpr uint64_t kMaxConfigBytes = 1u << 20;  // limit for configuration files

// Reads a file of at most `most` bytes. NotFound: no such file; InvalidFile: it is larger.
Status read_text(const std::string& path, uint64_t most, const Log& log, std::string* text);

// `name` stands for the file in messages. InvalidFile: not JSON, nested deeper than 64, or not an object.
Status parse_object(std::string_view text, std::string_view name, const Log& log, JsonFile* object);
// Read and parse a file whose outermost value is an object, or an array.
Status read_object(const std::string& path, uint64_t most, const Log& log, JsonFile* object);
Status read_array(const std::string& path, uint64_t most, const Log& log, JsonFile* array);

// Typed access to the fields of one JSON object. The first failure is logged with the file, the field and the value, and kept; later calls
// return their defaults.
class Fields {
 public:
  // `where`: the file, or "file: field" for an object inside it.
  Fields(Json object, std::string where, const Log& log);

  // Without `otherwise` the field is required. A null field counts as absent.
  int64_t integer(const char* name, int64_t least, int64_t most, std::optional<int64_t> otherwise = {});
  double number(const char* name, double least, double most, std::optional<double> otherwise = {});
  bool boolean(const char* name, std::optional<bool> otherwise = {});
  std::string text(const char* name, std::optional<std::string> otherwise = {});
  // None if absent or null.
  Json field(const char* name) const;
  // A required object or array; none after a failure.
  Json object(const char* name);
  Json array(const char* name);

  // Logs "field 'name' is 7: <what>". The status is InvalidFile by default.
  void fail(const char* name, const std::string& what, Status status = Status::InvalidFile);
  Status status() const { return status_; }
  const std::string& where() const { return where_; }

 private:
  Json required(const char* name, bool optional, const char* wanted);

  Json object_;
  std::string where_;
  const Log& log_;
  Status status_ = Status::Ok;
};

}  // namespace heed
