// Reads values of entries into host types.
#include <cstring>

#include <heed/safetensors.hpp>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

Status wrong_type(const SafeTensors::Entry& entry, const Log& log, const char* wanted) {
  return fail(log, Status::DTypeMismatch,
              format("tensor '%s': is %s, wanted %s", printable(entry.name).c_str(), to_string(entry.type), wanted));
}

// Tensor data may have any alignment in the file.
template <class T>
T load(std::span<const std::byte> data, size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
  return value;
}

Status narrow(const SafeTensors::Entry& entry, const Log& log, std::vector<int32_t>* values) {
  for (size_t i = 0; i < values->size(); ++i) {
    const int64_t value = load<int64_t>(entry.data, i);
    if (value < INT32_MIN || value > INT32_MAX)
      return fail(log, Status::IndexOutOfRange,
                  format("tensor '%s': value %lld at %zu does not fit 32 bits", printable(entry.name).c_str(),
                         static_cast<long long>(value), i));
    (*values)[i] = static_cast<int32_t>(value);
  }
  return Status::Ok;
}

}  // namespace

Status read_f32(const SafeTensors::Entry& entry, const Log& log, std::vector<float>* values) {
  if (values == nullptr) return refuse("read_f32: values is null");
  DType dtype;
  if (!storage_type(entry.type, &dtype) || dtype == DType::I32 || dtype == DType::U8)
    return wrong_type(entry, log, "F32, F16 or BF16");
  const size_t count = static_cast<size_t>(entry.elements());
  values->resize(count);
  if (count > 0) convert_floats(entry.data.data(), dtype, values->data(), DType::F32, count);
  return Status::Ok;
}

Status read_i32(const SafeTensors::Entry& entry, const Log& log, std::vector<int32_t>* values) {
  if (values == nullptr) return refuse("read_i32: values is null");
  using Type = SafeTensors::Type;
  std::vector<int32_t> read(static_cast<size_t>(entry.elements()));
  switch (entry.type) {
    case Type::I32:
      if (!read.empty()) std::memcpy(read.data(), entry.data.data(), entry.data.size());
      break;
    case Type::U8:
    case Type::Bool:
      for (size_t i = 0; i < read.size(); ++i) read[i] = static_cast<int32_t>(entry.data[i]);
      break;
    case Type::I64: {
      const Status status = narrow(entry, log, &read);
      if (status != Status::Ok) return status;
      break;
    }
    default: return wrong_type(entry, log, "an integer type");
  }
  *values = std::move(read);
  return Status::Ok;
}

}  // namespace heed
