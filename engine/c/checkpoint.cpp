#include "c/checkpoint.hpp"

#include <cstdio>
#include <filesystem>

#include "base/find.hpp"

namespace heed::c {
namespace {

constexpr std::string_view kGguf = "GGUF";

bool is_gguf(std::span<const std::byte> bytes) {
  return bytes.size() >= kGguf.size() && std::memcmp(bytes.data(), kGguf.data(), kGguf.size()) == 0;
}

int32_t kind_of(Gguf::ValueType type) {
  using Type = Gguf::ValueType;
  switch (type) {
    case Type::F32:
    case Type::F64: return HEED_META_NUMBER;
    case Type::Bool: return HEED_META_BOOLEAN;
    case Type::Text: return HEED_META_TEXT;
    case Type::Array: return HEED_META_ARRAY;
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64: return HEED_META_INTEGER;
  }
  return HEED_META_NONE;
}

}  // namespace

bool begins_as_gguf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // opening a pipe would block
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  char begin[kGguf.size()];
  const bool is_gguf =
      std::fread(begin, 1, sizeof(begin), file) == sizeof(begin) && std::string_view(begin, sizeof(begin)) == kGguf;
  std::fclose(file);
  return is_gguf;
}

Status Checkpoint::open(const std::string& path) {
  if (begins_as_gguf(path)) {
    Gguf file;
    const Status status = Gguf::open(path, host->log(), &file);
    if (status == Status::Ok) take(files_.emplace<Gguf>(std::move(file)));
    return status;
  }
  heed::Checkpoint checkpoint;
  Status status = heed::Checkpoint::open(path, host->log(), &checkpoint);
  if (status != Status::Ok) return status;
  take(checkpoint.entries());
  files_ = std::move(checkpoint);
  // A Checkpoint of several files has one metadata map for each; the metadata of a single file is read separately.
  std::error_code error;
  const std::filesystem::path file(path);
  if (!std::filesystem::is_regular_file(file, error) || file.extension() == ".json") return Status::Ok;
  SafeTensors one;
  status = SafeTensors::open(path, host->log(), &one);
  if (status == Status::Ok) take(one.metadata());
  return status;
}

Status Checkpoint::parse(std::span<const std::byte> bytes, std::string_view name) {
  if (is_gguf(bytes)) {
    Gguf file;
    const Status status = Gguf::parse(bytes, name, host->log(), &file);
    if (status == Status::Ok) take(files_.emplace<Gguf>(std::move(file)));
    return status;
  }
  SafeTensors file;
  const Status status = SafeTensors::parse(bytes, name, host->log(), &file);
  if (status != Status::Ok) return status;
  take(file.entries());
  take(file.metadata());
  files_ = std::move(file);
  return status;
}

void Checkpoint::take(std::span<const SafeTensors::Entry> entries) {
  for (const SafeTensors::Entry& entry : entries) {
    DType dtype = DType::F32;
    HostTensor ignored;
    const heed_dtype stored = storage_type(entry.type, &dtype) ? to_c(dtype) : heed_dtype{HEED_DTYPE_DEFAULT};
    tensors_.push_back(
        {entry.name, to_string(entry.type), entry.shape, entry.data, stored, host_tensor(entry, &ignored)});
  }
}

void Checkpoint::take(std::span<const std::pair<std::string, std::string>> metadata) {
  for (const auto& [name, text] : metadata) {
    Meta& meta = metas_.emplace_back(Meta{name, text, {}});
    meta.c.kind = HEED_META_TEXT;
  }
}

void Checkpoint::take(const Gguf& file) {
  for (const Gguf::Entry& entry : file.entries()) {
    DType dtype = DType::F32;
    HostTensor ignored;
    const heed_dtype stored = Gguf::storage_type(entry.type, &dtype) ? to_c(dtype) : heed_dtype{HEED_DTYPE_DEFAULT};
    const char* type = Gguf::type_name(entry.type);
    tensors_.push_back({std::string(entry.name), type == nullptr ? "?" : type, entry.shape, entry.data, stored,
                        host_tensor(entry, &ignored)});
  }
  for (const Gguf::Field& field : file.fields()) take(field);
}

void Checkpoint::take(const Gguf::Field& field) {
  const Gguf::Value& value = field.value;
  Meta& meta = metas_.emplace_back(Meta{std::string(field.name), std::string(value.text().value_or("")), {}});
  meta.c.kind = kind_of(value.type());
  meta.c.number = value.number().value_or(0);
  if (meta.c.kind == HEED_META_BOOLEAN) meta.c.integer = value.boolean().value_or(false) ? 1 : 0;
  if (meta.c.kind == HEED_META_INTEGER) {
    const std::optional<int64_t> integer = value.integer();
    meta.c.integer = integer.value_or(0);
    if (!integer) meta.c.kind = HEED_META_NUMBER;  // an integer above 63 bits
  }
  if (meta.c.kind == HEED_META_ARRAY) {
    meta.c.count = value.size();
    meta.c.element_kind = kind_of(value.element_type());
  }
}

std::span<const SafeTensors::Entry> Checkpoint::entries() const {
  if (const auto* one = std::get_if<SafeTensors>(&files_)) return one->entries();
  const auto* several = std::get_if<heed::Checkpoint>(&files_);
  return several == nullptr ? std::span<const SafeTensors::Entry>() : several->entries();
}

std::vector<HostTensor> Checkpoint::host_tensors() const {
  return std::visit([](const auto& files) { return files.host_tensors(); }, files_);
}

uint64_t Checkpoint::bytes() const {
  uint64_t sum = 0;
  for (const Tensor& tensor : tensors_) sum += tensor.data.size();
  return sum;
}

heed_file_tensor Checkpoint::tensor(size_t index) const {
  const Tensor& from = tensors_[index];
  heed_file_tensor to = {};
  to.name = from.name.c_str();
  to.type = from.type;
  to.shape = from.shape.data();
  to.rank = from.shape.size();
  to.data = from.data.data();
  to.bytes = from.data.size();
  to.dtype = from.dtype;
  to.loadable = from.loadable ? 1 : 0;
  return to;
}

heed_meta Checkpoint::meta(size_t index) const {
  const Meta& from = metas_[index];
  heed_meta to = from.c;
  to.name = from.name.c_str();
  to.text = from.text.c_str();
  to.text_bytes = from.text.size();
  return to;
}

std::optional<heed_file_tensor> Checkpoint::find_tensor(std::string_view name) const {
  const Tensor* found = find_by_name(std::span<const Tensor>(tensors_), name);
  if (found == nullptr) return {};
  return tensor(static_cast<size_t>(found - tensors_.data()));
}

std::optional<heed_meta> Checkpoint::find_meta(std::string_view name) const {
  const Meta* found = find_by_name(std::span<const Meta>(metas_), name);
  if (found == nullptr) return {};
  return meta(static_cast<size_t>(found - metas_.data()));
}

Gguf::Value Checkpoint::value(std::string_view name) const {
  return gguf() == nullptr ? Gguf::Value() : gguf()->value(name);
}

const std::vector<const char*>& Checkpoint::texts(std::string_view name, const std::vector<std::string_view>& from) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = texts_.try_emplace(std::string(name));
  Texts& kept = found->second;
  if (is_new) {
    kept.texts.assign(from.begin(), from.end());
    for (const std::string& text : kept.texts) kept.pointers.push_back(text.c_str());
  }
  return kept.pointers;
}

}  // namespace heed::c
