#include "io/gguf_fields.hpp"

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

void GgufFields::fail(const char* key, const std::string& what, Status status) {
  if (status_ != Status::Ok) return;
  const Gguf::Value found = value(key);
  const std::string is = found.there() ? " is " + found.shown() : "";
  status_ = heed::fail(log_, status,
                       format("%s: '%s'%s: %s", std::string(file_.name()).c_str(), printable(full(key)).c_str(),
                              is.c_str(), what.c_str()));
}

// `read` is empty if the value is absent or of another kind; `fits` says whether it is in range.
template <class T>
T GgufFields::checked(const char* key, const std::string& wanted, std::optional<T> read, bool fits,
                      std::optional<T> otherwise) {
  const Gguf::Value found = value(key);
  if (!found.there()) {
    if (!otherwise) fail(key, "is missing; it must be " + wanted);
    return otherwise.value_or(T());
  }
  if (read && fits) return *read;
  const bool is_list = found.type() == Gguf::ValueType::Array;  // one for each layer
  fail(key, "must be " + wanted, is_list ? Status::Unsupported : Status::InvalidFile);
  return otherwise.value_or(T());
}

int64_t GgufFields::integer(const char* key, int64_t least, int64_t most, std::optional<int64_t> otherwise) {
  const std::optional<int64_t> read = value(key).integer();
  const std::string wanted =
      format("an integer from %lld to %lld", static_cast<long long>(least), static_cast<long long>(most));
  return checked(key, wanted, read, read && *read >= least && *read <= most, otherwise);
}

double GgufFields::number(const char* key, double least, double most, std::optional<double> otherwise) {
  const std::optional<double> read = value(key).number();
  return checked(key, format("a number from %g to %g", least, most), read, read && *read >= least && *read <= most,
                 otherwise);
}

bool GgufFields::boolean(const char* key, std::optional<bool> otherwise) {
  return checked(key, "true or false", value(key).boolean(), true, otherwise);
}

std::string GgufFields::text(const char* key, std::optional<std::string> otherwise) {
  std::optional<std::string> read;
  if (const std::optional<std::string_view> found = value(key).text()) read = std::string(*found);
  return checked(key, "text", read, true, otherwise);
}

}  // namespace heed
