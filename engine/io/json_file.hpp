// JSON of files that nobody vouches for: size and depth are bounded before parsing, types are checked at every
// access, nothing throws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION  // already implied where exceptions are switched off
#endif
#include <nlohmann/json.hpp>

#include <heed/status.hpp>

namespace heed {

using Json = nlohmann::json;

// The bytes of a file of at most `most` bytes. NotFound: no such file; InvalidFile: larger.
Status read_text(const std::string& path, uint64_t most, const Log& log, std::string* text);

// `name` stands for the file in messages. InvalidFile: not JSON, nested deeper than 64, or no object.
Status parse_object(std::string_view text, std::string_view name, const Log& log, Json* object);

// Typed access to the fields of one JSON object. The first failure is logged with the file, the field and its
// value, and sticks; later calls return their defaults.
class Fields {
 public:
  // `where`: the file, or "file: field" for an object inside it.
  Fields(const Json& object, std::string where, const Log& log);

  // Without `otherwise` the field is required. A field that is null counts as absent.
  int64_t integer(const char* name, int64_t least, int64_t most, std::optional<int64_t> otherwise = {});
  double number(const char* name, double least, double most, std::optional<double> otherwise = {});
  bool boolean(const char* name, std::optional<bool> otherwise = {});
  std::string text(const char* name, std::optional<std::string> otherwise = {});
  // Null if absent or null.
  const Json* field(const char* name);
  // A required object, or array; after a failure an empty one that lives as long as the Fields.
  const Json& object(const char* name);
  const Json& array(const char* name);

  // "field 'name' is 7: <what>", as InvalidFile unless said otherwise.
  void fail(const char* name, const std::string& what, Status status = Status::InvalidFile);
  Status status() const { return status_; }
  const std::string& where() const { return where_; }

 private:
  const Json* required(const char* name, bool optional, const char* wanted);

  const Json& object_;
  const Json no_object_ = Json::object(), no_array_ = Json::array();
  std::string where_;
  const Log& log_;
  Status status_ = Status::Ok;
};

}  // namespace heed
