// Writes safetensors files.
#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION  // already implied where exceptions are switched off
#endif
#include <nlohmann/json.hpp>

#include <heed/safetensors.hpp>

#include <set>
#include <vector>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "base/utf8.hpp"
#include "io/safetensors_header.hpp"
#include "io/whole_file.hpp"

namespace heed {
namespace {

const char* type_text(DType type) {
  switch (type) {
    case DType::F32: return "F32";
    case DType::F16: return "F16";
    case DType::BF16: return "BF16";
    case DType::I32: return "I32";
    case DType::U8: return "U8";
    default: return nullptr;
  }
}

Status check(const HostTensor& tensor, const Log& log, std::set<std::string_view>* names) {
  const std::string name = printable(std::string(tensor.name));
  if (tensor.name.empty() || tensor.name == "__metadata__" || !names->insert(tensor.name).second)
    return fail(log, Status::InvalidArgument,
                format("write_safetensors: the name '%s' is taken, reserved or empty", name.c_str()));
  if (!is_utf8(tensor.name))
    return fail(log, Status::InvalidArgument, format("write_safetensors: '%s' is not UTF-8", name.c_str()));
  if (type_text(tensor.dtype) == nullptr)
    return fail(log, Status::DTypeMismatch,
                format("write_safetensors: '%s' is %s, which files of safetensors have not", name.c_str(),
                       to_string(tensor.dtype)));
  int64_t bytes = static_cast<int64_t>(size_of(tensor.dtype));
  for (const int64_t dim : tensor.shape)
    if (dim < 0 || !checked_mul(bytes, dim, &bytes)) bytes = -1;
  if (bytes == static_cast<int64_t>(tensor.data.size())) return Status::Ok;
  return fail(log, Status::ShapeMismatch,
              format("write_safetensors: '%s' %s has %zu bytes", name.c_str(), shape_text(tensor.shape).c_str(),
                     tensor.data.size()));
}

// The header with its length, padded with spaces so that the data begins at a multiple of eight bytes.
std::string header_of(std::span<const HostTensor> tensors,
                      std::span<const std::pair<std::string, std::string>> metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  uint64_t at = 0;
  for (const HostTensor& tensor : tensors) {
    nlohmann::ordered_json& one = header[std::string(tensor.name)];
    one["dtype"] = type_text(tensor.dtype);
    one["shape"] = std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end());
    one["data_offsets"] = {at, at + tensor.data.size()};
    at += tensor.data.size();
  }
  // All texts are valid UTF-8; `replace` only keeps the library from throwing.
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize(align_up<size_t>(text.size(), 8), ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i));
  return length + text;
}

}  // namespace

Status write_safetensors(std::string_view path, std::span<const HostTensor> tensors,
                         std::span<const std::pair<std::string, std::string>> metadata, const Log& log) {
  std::set<std::string_view> names;
  for (const HostTensor& tensor : tensors)
    if (const Status status = check(tensor, log, &names); status != Status::Ok) return status;
  for (const auto& [key, value] : metadata)
    if (!is_utf8(key) || !is_utf8(value))
      return fail(log, Status::InvalidArgument,
                  format("write_safetensors: '%s' or what the map has for it is not UTF-8", printable(key).c_str()));
  const std::string name(path), header = header_of(tensors, metadata);
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(header))};
  for (const HostTensor& tensor : tensors) parts.push_back(tensor.data);
  if (write_whole_file(name, parts)) return Status::Ok;
  return fail(log, Status::FileError, format("write_safetensors: %s cannot be written", name.c_str()));
}

}  // namespace heed
