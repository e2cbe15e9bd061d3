#include "io/json_file.hpp"

#include "base/logging.hpp"
#include "io/mapped_file.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

constexpr int kMaxDepth = 64;

// Deepest nesting of arrays and objects, counted outside of strings.
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

std::string shown(const Json& value) { return printable(value.dump(-1, ' ', true, Json::error_handler_t::replace)); }

}  // namespace

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

Status parse_object(std::string_view text, std::string_view name, const Log& log, Json* object) {
  const std::string file(name);
  const int depth = depth_of(text);
  if (depth > kMaxDepth)
    return fail(log, Status::InvalidFile,
                format("%s: nested %d deep, at most %d is read", file.c_str(), depth, kMaxDepth));
  Json parsed = Json::parse(text.begin(), text.end(), nullptr, false);
  if (parsed.is_discarded()) return fail(log, Status::InvalidFile, format("%s: is not valid JSON", file.c_str()));
  if (!parsed.is_object()) return fail(log, Status::InvalidFile, format("%s: is no JSON object", file.c_str()));
  *object = std::move(parsed);
  return Status::Ok;
}

Fields::Fields(const Json& object, std::string where, const Log& log)
    : object_(object), where_(std::move(where)), log_(log) {}

void Fields::fail(const char* name, const std::string& what, Status status) {
  if (status_ != Status::Ok) return;
  const Json* value = field(name);
  const std::string is = value == nullptr ? "" : " is " + shown(*value);
  status_ = heed::fail(log_, status, format("%s: '%s'%s: %s", where_.c_str(), name, is.c_str(), what.c_str()));
}

const Json* Fields::field(const char* name) {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

const Json* Fields::required(const char* name, bool optional, const char* wanted) {
  const Json* value = field(name);
  if (value == nullptr && !optional) fail(name, std::string("is missing; it must be ") + wanted);
  return value;
}

int64_t Fields::integer(const char* name, int64_t least, int64_t most, std::optional<int64_t> otherwise) {
  const int64_t fallback = otherwise.value_or(least);
  const std::string wanted =
      format("an integer from %lld to %lld", static_cast<long long>(least), static_cast<long long>(most));
  const Json* value = required(name, otherwise.has_value(), wanted.c_str());
  if (value == nullptr) return fallback;
  const uint64_t* natural = value->get_ptr<const Json::number_unsigned_t*>();
  const int64_t* whole = value->get_ptr<const Json::number_integer_t*>();
  const bool fits = natural != nullptr ? *natural <= static_cast<uint64_t>(INT64_MAX) : whole != nullptr;
  const int64_t read = natural != nullptr ? static_cast<int64_t>(*natural) : whole != nullptr ? *whole : 0;
  if (fits && read >= least && read <= most) return read;
  fail(name, "must be " + wanted);
  return fallback;
}

double Fields::number(const char* name, double least, double most, std::optional<double> otherwise) {
  const double fallback = otherwise.value_or(least);
  const std::string wanted = format("a number from %g to %g", least, most);
  const Json* value = required(name, otherwise.has_value(), wanted.c_str());
  if (value == nullptr) return fallback;
  const double read = value->is_number() ? value->get<double>() : fallback;
  if (value->is_number() && read >= least && read <= most) return read;
  fail(name, "must be " + wanted);
  return fallback;
}

bool Fields::boolean(const char* name, std::optional<bool> otherwise) {
  const Json* value = required(name, otherwise.has_value(), "true or false");
  if (value == nullptr) return otherwise.value_or(false);
  const bool* read = value->get_ptr<const Json::boolean_t*>();
  if (read == nullptr) fail(name, "must be true or false");
  return read == nullptr ? otherwise.value_or(false) : *read;
}

std::string Fields::text(const char* name, std::optional<std::string> otherwise) {
  const Json* value = required(name, otherwise.has_value(), "text");
  if (value == nullptr) return otherwise.value_or("");
  const std::string* read = value->get_ptr<const Json::string_t*>();
  if (read == nullptr) fail(name, "must be text");
  return read == nullptr ? otherwise.value_or("") : *read;
}

const Json& Fields::object(const char* name) {
  const Json* value = required(name, false, "an object");
  if (value != nullptr && value->is_object()) return *value;
  if (value != nullptr) fail(name, "must be an object");
  return no_object_;
}

const Json& Fields::array(const char* name) {
  const Json* value = required(name, false, "an array");
  if (value != nullptr && value->is_array()) return *value;
  if (value != nullptr) fail(name, "must be an array");
  return no_array_;
}

}  // namespace heed
