#include "models/find_weights.hpp"

#include "base/find.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed::models {

Stored stored(const Gguf::Entry& entry) {
  Stored tensor = {entry.name, Gguf::type_name(entry.type), {}, entry.shape, entry.data};
  DType dtype;
  if (Gguf::storage_type(entry.type, &dtype)) tensor.dtype = dtype;
  return tensor;
}

Stored stored(const SafeTensors::Entry& entry) {
  Stored tensor = {entry.name, to_string(entry.type), {}, entry.shape, entry.data};
  DType dtype;
  if (storage_type(entry.type, &dtype)) tensor.dtype = dtype;
  return tensor;
}

bool WeightFinder::has(std::string_view name) const { return find_by_name(tensors_, name) != nullptr; }

const Stored* WeightFinder::take(const std::string& name, const Shape& shape, bool may_be_quantized) {
  const Stored* tensor = find_by_name(tensors_, name);
  if (tensor == nullptr) {
    missing_.add(name);
    return nullptr;
  }
  taken_.insert(tensor->name);
  std::vector<int64_t> wanted;
  for (int i = 0; i < shape.rank; ++i) wanted.push_back(shape[i].value);
  if (!std::equal(tensor->shape.begin(), tensor->shape.end(), wanted.begin(), wanted.end()))
    misshapen_.add(format("%s is %s, must be %s", shown(name).c_str(), shape_text(tensor->shape).c_str(),
                          shape_text(wanted).c_str()));
  const bool fits = tensor->dtype && (is_float(*tensor->dtype) || (may_be_quantized && is_quantized(*tensor->dtype)));
  if (!fits) mistyped_.add(format("%s is %s", shown(name).c_str(), tensor->type));
  return tensor;
}

Status WeightFinder::tell(const NameList& names, Status kind, const char* what) const {
  return names.empty() ? Status::Ok : fail(log_, kind, file_ + ": " + what + names.text());
}

Status WeightFinder::status(Status of_type, const char* types) const {
  const Status all[] = {tell(missing_, Status::MissingWeight, "lacks tensors: "),
                        tell(misshapen_, Status::ShapeMismatch, "tensors do not fit the configuration: "),
                        tell(mistyped_, of_type, types)};
  for (const Status status : all)
    if (status != Status::Ok) return status;
  return Status::Ok;
}

std::string WeightFinder::shown(std::string_view name) { return printable(name); }

}  // namespace heed::models
