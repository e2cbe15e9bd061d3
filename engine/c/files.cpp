// Checkpoints: the functions.
#include "c/checkpoint.hpp"
#include "c/objects.hpp"

namespace heed::c {
namespace {

// Reads the elements of an array into `values`; the call fails if there is no such key, or if the elements are of another kind.
template <class T>
bool read_array(Call& call, const Pin<Checkpoint>& checkpoint, const char* name, std::vector<T>* values) {
  const std::string_view key = call.text(name, "name");
  if (call.failed()) return false;
  if (!checkpoint->find_meta(key)) {
    call.fail(HEED_NOT_FOUND, format("there is no key '%s'", name));
    return false;
  }
  if (checkpoint->value(key).read(values)) return true;
  call.fail(HEED_DTYPE_MISMATCH, format("'%s' has other elements, or is no array", name));
  return false;
}

// Writes the entry that a checkpoint finds by name.
template <class Found>
heed_status find_named(const char* function, heed_checkpoint* handle, const char* name, Found* to, const char* what,
                       std::optional<Found> (Checkpoint::*find)(std::string_view) const) {
  Call call(function);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<Found> wanted(call, to, what);
  const std::string_view text = call.text(name, "name");
  if (call.failed()) return call.status();
  const std::optional<Found> found = (checkpoint.get()->*find)(text);
  if (!found) return call.fail(HEED_NOT_FOUND, format("there is no %s '%s'", what, name));
  wanted.set(*found);
  return call.status();
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_checkpoint_open(const char* path, const heed_log* log, heed_checkpoint** checkpoint) {
  Call call(__func__);
  if (!has_place(call, checkpoint, "checkpoint") || !call.has(path, "path")) return call.status();
  auto made = std::make_unique<Checkpoint>(log);
  call.end(made->open(path), made->host.get());
  return give(call, std::move(made), checkpoint);
}

heed_status heed_checkpoint_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                  heed_checkpoint** checkpoint) {
  Call call(__func__);
  if (!has_place(call, checkpoint, "checkpoint") || !call.has_array(data, bytes, "data")) return call.status();
  auto made = std::make_unique<Checkpoint>(log);
  call.end(made->parse({static_cast<const std::byte*>(data), bytes}, call.text_or(name, "the bytes")),
           made->host.get());
  return give(call, std::move(made), checkpoint);
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
  return checkpoint ? checkpoint->tensor_count() : 0;
}

heed_status heed_checkpoint_tensor(heed_checkpoint* handle, size_t index, heed_file_tensor* tensor) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_file_tensor> wanted(call, tensor, "tensor");
  if (!call.failed() && call.has_index(index, checkpoint->tensor_count())) wanted.set(checkpoint->tensor(index));
  return call.status();
}

heed_status heed_checkpoint_find(heed_checkpoint* handle, const char* name, heed_file_tensor* tensor) {
  return find_named(__func__, handle, name, tensor, "tensor", &Checkpoint::find_tensor);
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
  return checkpoint ? checkpoint->meta_count() : 0;
}

heed_status heed_checkpoint_meta(heed_checkpoint* handle, size_t index, heed_meta* meta) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  Wanted<heed_meta> wanted(call, meta, "meta");
  if (!call.failed() && call.has_index(index, checkpoint->meta_count())) wanted.set(checkpoint->meta(index));
  return call.status();
}

heed_status heed_checkpoint_find_meta(heed_checkpoint* handle, const char* name, heed_meta* meta) {
  return find_named(__func__, handle, name, meta, "key", &Checkpoint::find_meta);
}

heed_status heed_checkpoint_meta_integers(heed_checkpoint* handle, const char* name, int64_t* values, size_t capacity,
                                          size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  std::vector<int64_t> all;
  if (!read_array(call, checkpoint, name, &all)) return call.status();
  return fill(call, std::span<const int64_t>(all), values, capacity, count);
}

heed_status heed_checkpoint_meta_numbers(heed_checkpoint* handle, const char* name, float* values, size_t capacity,
                                         size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  std::vector<float> all;
  if (!read_array(call, checkpoint, name, &all)) return call.status();
  return fill(call, std::span<const float>(all), values, capacity, count);
}

heed_status heed_checkpoint_meta_texts(heed_checkpoint* handle, const char* name, const char** values, size_t capacity,
                                       size_t* count) {
  Call call(__func__);
  const Pin<Checkpoint> checkpoint(call, handle);
  std::vector<std::string_view> all;
  if (!read_array(call, checkpoint, name, &all)) return call.status();
  return fill(call, std::span<const char* const>(checkpoint->texts(name, all)), values, capacity, count);
}
