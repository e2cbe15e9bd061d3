#include "c/files.hpp"

#include <cstdio>

#include "base/find.hpp"
#include "c/objects.hpp"

namespace heed::c {
namespace {

int32_t kind_of(Gguf::ValueType type) {
  switch (type) {
    case Gguf::ValueType::Bool: return HEED_META_BOOLEAN;
    case Gguf::ValueType::Text: return HEED_META_TEXT;
    case Gguf::ValueType::Array: return HEED_META_ARRAY;
    case Gguf::ValueType::F32:
    case Gguf::ValueType::F64: return HEED_META_NUMBER;
    default: return HEED_META_INTEGER;
  }
}

heed_meta meta_of(Checkpoint& of, const Gguf::Field& field) {
  heed_meta meta = {};
  meta.name = of.keep(field.name);
  meta.kind = kind_of(field.value.type());
  meta.text = "";
  if (const auto text = field.value.text()) {
    meta.text = of.keep(*text);
    meta.text_bytes = text->size();
  }
  meta.integer = field.value.integer().value_or(field.value.boolean().value_or(false));
  meta.number = field.value.number().value_or(0.0);
  meta.count = field.value.size();
  if (meta.kind == HEED_META_ARRAY) meta.element_kind = kind_of(field.value.element_type());
  return meta;
}

// An entry of any of the readers, with the storage type and the name of its type.
template <class Entry>
heed_file_tensor tensor_of(Checkpoint& of, const Entry& entry, const char* type, bool has_storage, DType storage) {
  heed_file_tensor tensor = {};
  tensor.name = of.keep(entry.name);
  tensor.type = type;
  tensor.shape = entry.shape.data();
  tensor.rank = entry.shape.size();
  tensor.data = entry.data.data();
  tensor.bytes = entry.data.size();
  tensor.dtype = has_storage ? to_c(storage) : HEED_DTYPE_DEFAULT;
  HostTensor host;
  tensor.loadable = host_tensor(entry, &host);
  return tensor;
}

bool is_before(const heed_file_tensor& a, const heed_file_tensor& b) { return std::string_view(a.name) < b.name; }

template <class T>
const T* find(const std::vector<T>& sorted, std::string_view name) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), name,
                                      [](const T& one, std::string_view wanted) { return one.name < wanted; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

bool is_gguf(std::string_view path) {
  char magic[4] = {};
  std::FILE* file = std::fopen(std::string(path).c_str(), "rb");
  if (file == nullptr) return false;
  const size_t read = std::fread(magic, 1, sizeof(magic), file);
  std::fclose(file);
  return read == sizeof(magic) && std::memcmp(magic, "GGUF", sizeof(magic)) == 0;
}

Status Checkpoint::open(std::string_view path) {
  Status status;
  if (is_gguf(path)) {
    status = Gguf::open(path, host->log(), &file.emplace<Gguf>());
  } else if (path.ends_with(".safetensors")) {
    status = SafeTensors::open(path, host->log(), &file.emplace<SafeTensors>());
  } else {
    status = heed::Checkpoint::open(path, host->log(), &file.emplace<heed::Checkpoint>());
  }
  return status == Status::Ok ? list() : status;
}

Status Checkpoint::parse(std::span<const std::byte> bytes, std::string_view name) {
  const bool has_magic = bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
  const Status status = has_magic ? Gguf::parse(bytes, name, host->log(), &file.emplace<Gguf>())
                                  : SafeTensors::parse(bytes, name, host->log(), &file.emplace<SafeTensors>());
  return status == Status::Ok ? list() : status;
}

Status Checkpoint::list() {
  const auto add = [&](std::span<const SafeTensors::Entry> entries) {
    for (const SafeTensors::Entry& entry : entries) {
      DType storage = DType::F32;
      const bool has_storage = storage_type(entry.type, &storage);
      tensors.push_back(tensor_of(*this, entry, to_string(entry.type), has_storage, storage));
    }
  };
  if (const auto* safetensors = std::get_if<SafeTensors>(&file)) {
    add(safetensors->entries());
    for (const auto& [key, value] : safetensors->metadata()) {
      heed_meta meta = {};
      meta.name = key.c_str();
      meta.text = value.c_str();
      meta.text_bytes = value.size();
      meta.kind = HEED_META_TEXT;
      metas.push_back(meta);
    }
  } else if (const auto* checkpoint = std::get_if<heed::Checkpoint>(&file)) {
    add(checkpoint->entries());
  } else if (const Gguf* gguf = this->gguf()) {
    for (const Gguf::Entry& entry : gguf->entries()) {
      DType storage = DType::F32;
      const bool has_storage = Gguf::storage_type(entry.type, &storage);
      const char* type = Gguf::type_name(entry.type);
      tensors.push_back(tensor_of(*this, entry, type != nullptr ? type : "?", has_storage, storage));
    }
    for (const Gguf::Field& field : gguf->fields()) metas.push_back(meta_of(*this, field));
  }
  std::stable_sort(tensors.begin(), tensors.end(), is_before);
  return Status::Ok;
}

std::vector<HostTensor> Checkpoint::host_tensors() const {
  if (const auto* safetensors = std::get_if<SafeTensors>(&file)) return safetensors->host_tensors();
  if (const auto* checkpoint = std::get_if<heed::Checkpoint>(&file)) return checkpoint->host_tensors();
  return gguf()->host_tensors();
}

uint64_t Checkpoint::bytes() const {
  uint64_t sum = 0;
  for (const heed_file_tensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

namespace {

// The elements of an array of GGUF's.
template <class Element>
heed_status read_array(Call& call, const Checkpoint& of, std::string_view name, std::vector<Element>* values) {
  if (call.failed()) return call.status();
  if (of.gguf() == nullptr || !of.gguf()->value(name).there())
    return call.fail(HEED_NOT_FOUND, format("there is no key '%s'", std::string(name).c_str()));
  const Gguf::Value value = of.gguf()->value(name);
  if (value.read(values)) return HEED_OK;
  return call.fail(HEED_DTYPE_MISMATCH, format("'%s' is %s", std::string(name).c_str(), value.shown().c_str()));
}

heed_status make(Call& call, std::unique_ptr<Checkpoint> made, Status status, heed_checkpoint** checkpoint) {
  call.end(status, made->host.get());
  return give(call, std::move(made), checkpoint);
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_checkpoint_open(const char* path, const heed_log* log, heed_checkpoint** checkpoint) {
  Call call(__func__);
  const std::string_view at = call.text(path, "path");
  if (!has_place(call, checkpoint, "checkpoint") || call.failed()) return call.status();
  auto made = std::make_unique<Checkpoint>(log);
  const heed::Status status = made->open(at);
  return make(call, std::move(made), status, checkpoint);
}

heed_status heed_checkpoint_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                  heed_checkpoint** checkpoint) {
  Call call(__func__);
  if (!has_place(call, checkpoint, "checkpoint") || !call.has_array(data, bytes, "data")) return call.status();
  auto made = std::make_unique<Checkpoint>(log);
  const heed::Status status =
      made->parse({static_cast<const std::byte*>(data), bytes}, call.text_or(name, "the given bytes"));
  return make(call, std::move(made), status, checkpoint);
}

heed_status heed_checkpoint_destroy(heed_checkpoint* checkpoint) { return destroy<Checkpoint>(__func__, checkpoint); }

heed_status heed_checkpoint_bytes(heed_checkpoint* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = checkpoint->bytes();
  return call.status();
}

size_t heed_checkpoint_count(heed_checkpoint* handle) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  return checkpoint ? checkpoint->tensors.size() : 0;
}

heed_status heed_checkpoint_tensor(heed_checkpoint* handle, size_t index, heed_file_tensor* tensor) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_file_tensor> wanted(call, tensor, "tensor");
  if (call.failed() || !call.has_index(index, checkpoint->tensors.size())) return call.status();
  wanted.set(checkpoint->tensors[index]);
  return call.status();
}

heed_status heed_checkpoint_find(heed_checkpoint* handle, const char* name, heed_file_tensor* tensor) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  const std::string_view called = call.text(name, "name");
  Wanted<heed_file_tensor> wanted(call, tensor, "tensor");
  if (call.failed()) return call.status();
  const heed_file_tensor* found = find(checkpoint->tensors, called);
  if (found == nullptr) return call.fail(HEED_NOT_FOUND, heed::format("there is no tensor '%s'", name));
  wanted.set(*found);
  return call.status();
}

heed_status heed_checkpoint_upload(heed_checkpoint* handle, heed_device* device_handle,
                                   const heed_upload_options* options, heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<Checkpoint> checkpoint(call, handle);
  const Pin<Device> device(call, device_handle);
  const Upload upload(call, options);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  call.end(device->get().upload(checkpoint->host_tensors(), &made->it, upload.options()), device->host.get());
  return give(call, std::move(made), weights);
}

size_t heed_checkpoint_meta_count(heed_checkpoint* handle) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  return checkpoint ? checkpoint->metas.size() : 0;
}

heed_status heed_checkpoint_meta(heed_checkpoint* handle, size_t index, heed_meta* meta) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_meta> wanted(call, meta, "meta");
  if (call.failed() || !call.has_index(index, checkpoint->metas.size())) return call.status();
  wanted.set(checkpoint->metas[index]);
  return call.status();
}

heed_status heed_checkpoint_find_meta(heed_checkpoint* handle, const char* name, heed_meta* meta) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  const std::string_view called = call.text(name, "name");
  Wanted<heed_meta> wanted(call, meta, "meta");
  if (call.failed()) return call.status();
  const heed_meta* found = find(checkpoint->metas, called);
  if (found == nullptr) return call.fail(HEED_NOT_FOUND, heed::format("there is no key '%s'", name));
  wanted.set(*found);
  return call.status();
}

heed_status heed_checkpoint_meta_integers(heed_checkpoint* handle, const char* name, int64_t* values, size_t capacity,
                                          size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  const std::string_view called = call.text(name, "name");
  std::vector<int64_t> read;
  if (call.failed() || read_array(call, *checkpoint, called, &read) != HEED_OK) return call.status();
  return fill<int64_t>(call, read, values, capacity, count);
}

heed_status heed_checkpoint_meta_numbers(heed_checkpoint* handle, const char* name, float* values, size_t capacity,
                                         size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  const std::string_view called = call.text(name, "name");
  std::vector<float> read;
  if (call.failed() || read_array(call, *checkpoint, called, &read) != HEED_OK) return call.status();
  return fill<float>(call, read, values, capacity, count);
}

heed_status heed_checkpoint_meta_texts(heed_checkpoint* handle, const char* name, const char** values, size_t capacity,
                                       size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  const std::string_view called = call.text(name, "name");
  std::vector<std::string_view> read;
  if (call.failed() || read_array(call, *checkpoint, called, &read) != HEED_OK) return call.status();
  if (read.size() > capacity || values == nullptr)
    return fill<const char*>(call, std::vector<const char*>(read.size()), values, capacity, count);
  std::vector<const char*> texts;
  const std::lock_guard lock(checkpoint->host->mutex);
  for (const std::string_view text : read) texts.push_back(checkpoint->keep(text));
  return fill<const char*>(call, texts, values, capacity, count);
}
