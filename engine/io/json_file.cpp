#include "io/json_file.hpp"

#include <algorithm>
#include <utility>

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION  // already implied where exceptions are switched off
#endif
#include <nlohmann/json.hpp>

#include "base/logging.hpp"
#include "io/mapped_file.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

using Value = nlohmann::json;

constexpr int kMaxDepth = 64;

const Value& value_of(const void* value) { return *static_cast<const Value*>(value); }

template <class T>
const T* get(const void* value) {
  return value == nullptr ? nullptr : value_of(value).get_ptr<const T*>();
}

// The deepest nesting of arrays and objects, not counting brackets in strings.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// The outermost value must be of `type`, an object or an array.
Value* parse(std::string_view text, std::string_view name, Value::value_t type, const Log& log, Status* status) {
  const std::string file(name);
  const auto failed = [&](const std::string& what) {
    *status = fail(log, Status::InvalidFile, file + ": " + what);
    return static_cast<Value*>(nullptr);
  };
  const int depth = depth_of(text);
  if (depth > kMaxDepth) return failed(format("nested %d deep, at most %d is read", depth, kMaxDepth));
  Value parsed = Value::parse(text.begin(), text.end(), nullptr, false);
  if (parsed.is_discarded()) return failed("is not valid JSON");
  if (parsed.type() != type)
    return failed(std::string("is no JSON ") + (type == Value::value_t::object ? "object" : "array"));
  *status = Status::Ok;
  return new Value(std::move(parsed));
}

}  // namespace

bool Json::is_null() const { return value_ != nullptr && value_of(value_).is_null(); }
bool Json::is_object() const { return value_ != nullptr && value_of(value_).is_object(); }
bool Json::is_array() const { return value_ != nullptr && value_of(value_).is_array(); }

size_t Json::size() const {
  return value_ != nullptr && value_of(value_).is_structured() ? value_of(value_).size() : 0;
}

const std::string* Json::text() const { return get<Value::string_t>(value_); }
const uint64_t* Json::natural() const { return get<Value::number_unsigned_t>(value_); }
const int64_t* Json::integer() const { return get<Value::number_integer_t>(value_); }
const bool* Json::boolean() const { return get<Value::boolean_t>(value_); }

std::optional<double> Json::number() const {
  if (value_ == nullptr || !value_of(value_).is_number()) return std::nullopt;
  return value_of(value_).get<double>();
}

Json Json::field(std::string_view name) const {
  if (!is_object()) return {};
  const Value& object = value_of(value_);
  const auto found = object.find(std::string(name));
  return found == object.end() ? Json() : Json(&*found);
}

Json Json::element(size_t i) const { return is_array() && i < size() ? Json(&value_of(value_)[i]) : Json(); }

std::string Json::shown() const {
  if (value_ == nullptr) return "absent";
  return printable(value_of(value_).dump(-1, ' ', true, Value::error_handler_t::replace));
}

void Json::each(bool (*visit)(void* context, const std::string& name, Json value), void* context) const {
  if (size() == 0) return;
  const Value& all = value_of(value_);
  const std::string none;
  for (auto it = all.begin(); it != all.end(); ++it)
    if (!visit(context, all.is_object() ? it.key() : none, Json(&*it))) return;
}

void JsonFile::Delete::operator()(void* value) const { delete static_cast<Value*>(value); }

Status read_text(const std::string& path, uint64_t most, const Log& log, std::string* text) {
  MappedFile file;
  const Status status = MappedFile::open(path, log, &file);
  if (status != Status::Ok) return status;
  if (file.bytes().size() > most)
    return fail(log, Status::InvalidFile,
                format("%s: has %zu bytes, at most %llu are read", path.c_str(), file.bytes().size(),
                       static_cast<unsigned long long>(most)));
  text->assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return Status::Ok;
}

Status parse_object(std::string_view text, std::string_view name, const Log& log, JsonFile* object) {
  Status status = Status::Ok;
  *object = JsonFile(parse(text, name, Value::value_t::object, log, &status));
  return status;
}

Status read_object(const std::string& path, uint64_t most, const Log& log, JsonFile* object) {
  std::string text;
  const Status status = read_text(path, most, log, &text);
  return status == Status::Ok ? parse_object(text, path, log, object) : status;
}

Status read_array(const std::string& path, uint64_t most, const Log& log, JsonFile* array) {
  std::string text;
  Status status = read_text(path, most, log, &text);
  if (status == Status::Ok) *array = JsonFile(parse(text, path, Value::value_t::array, log, &status));
  return status;
}

Fields::Fields(Json object, std::string where, const Log& log) : object_(object), where_(std::move(where)), log_(log) {}

void Fields::fail(const char* name, const std::string& what, Status status) {
  if (status_ != Status::Ok) return;
  const Json value = field(name);
  const std::string is = value ? " is " + value.shown() : "";
  status_ = heed::fail(log_, status, format("%s: '%s'%s: %s", where_.c_str(), name, is.c_str(), what.c_str()));
}

Json Fields::field(const char* name) const {
  const Json value = object_.field(name);
  return value.is_null() ? Json() : value;
}

Json Fields::required(const char* name, bool optional, const char* wanted) {
  const Json value = field(name);
  if (!value && !optional) fail(name, std::string("is missing; it must be ") + wanted);
  return value;
}

int64_t Fields::integer(const char* name, int64_t least, int64_t most, std::optional<int64_t> otherwise) {
  const int64_t fallback = otherwise.value_or(least);
  const std::string wanted =
      format("an integer from %lld to %lld", static_cast<long long>(least), static_cast<long long>(most));
  const Json value = required(name, otherwise.has_value(), wanted.c_str());
  if (!value) return fallback;
  const uint64_t* natural = value.natural();
  const int64_t* whole = value.integer();
  const bool fits = natural != nullptr ? *natural <= static_cast<uint64_t>(INT64_MAX) : whole != nullptr;
  const int64_t read = natural != nullptr ? static_cast<int64_t>(*natural) : whole != nullptr ? *whole : 0;
  if (fits && read >= least && read <= most) return read;
  fail(name, "must be " + wanted);
  return fallback;
}

double Fields::number(const char* name, double least, double most, std::optional<double> otherwise) {
  const double fallback = otherwise.value_or(least);
  const std::string wanted = format("a number from %g to %g", least, most);
  const Json value = required(name, otherwise.has_value(), wanted.c_str());
  if (!value) return fallback;
  const std::optional<double> read = value.number();
  if (read && *read >= least && *read <= most) return *read;
  fail(name, "must be " + wanted);
  return fallback;
}

bool Fields::boolean(const char* name, std::optional<bool> otherwise) {
  const Json value = required(name, otherwise.has_value(), "true or false");
  if (!value) return otherwise.value_or(false);
  const bool* read = value.boolean();
  if (read == nullptr) fail(name, "must be true or false");
  return read == nullptr ? otherwise.value_or(false) : *read;
}

std::string Fields::text(const char* name, std::optional<std::string> otherwise) {
  const Json value = required(name, otherwise.has_value(), "text");
  if (!value) return otherwise.value_or("");
  const std::string* read = value.text();
  if (read == nullptr) fail(name, "must be text");
  return read == nullptr ? otherwise.value_or("") : *read;
}

Json Fields::object(const char* name) {
  const Json value = required(name, false, "an object");
  if (!value || value.is_object()) return value;
  fail(name, "must be an object");
  return {};
}

Json Fields::array(const char* name) {
  const Json value = required(name, false, "an array");
  if (!value || value.is_array()) return value;
  fail(name, "must be an array");
  return {};
}

}  // namespace heed
