// Devices, weights and compiling.
#include "c/generated/options.hpp"
#include "c/graph_object.hpp"
#include "c/objects.hpp"

namespace heed::c {

InfoTexts::InfoTexts(DeviceInfo from) : info(std::move(from)) {
  for (const auto& [name, value] : info.limits) {
    limits.push_back(name.c_str());
    limits.push_back(value.c_str());
  }
}

heed_device_info InfoTexts::read() const {
  heed_device_info c = {};
  c.word = info.word.c_str();
  c.name = info.name.c_str();
  c.driver = info.driver.c_str();
  c.api = info.api.c_str();
  c.reason = info.reason.c_str();
  c.limits = limits.data();
  c.limit_count = limits.size() / 2;
  c.kind = static_cast<int32_t>(info.kind);
  c.usable = info.usable;
  return c;
}

heed::Device Device::get() const {
  const std::lock_guard lock(mutex_);
  return device_;
}

void Device::set(heed::Device device) {
  const std::lock_guard lock(mutex_);
  if (device.impl() == device_.impl()) return;
  infos_.emplace_back(device.info());
  device_ = std::move(device);
}

heed_device_info Device::info() {
  const std::lock_guard lock(mutex_);
  return infos_.back().read();
}

std::vector<HostTensor> tensors_of(Call& call, const heed_host_tensor* tensors, size_t count) {
  std::vector<HostTensor> all;
  if (!call.has_array(tensors, count, "tensors")) return all;
  for (size_t i = 0; i < count && !call.failed(); ++i) {
    const heed_host_tensor& from = tensors[i];
    HostTensor tensor;
    tensor.name = call.text(from.name, "a tensor's name");
    tensor.dtype = call.dtype(from.dtype);
    if (from.rank > static_cast<size_t>(kMaxRank))
      call.fail(HEED_INVALID_ARGUMENT, format("'%s' has %zu sizes; %d are the most", from.name, from.rank, kMaxRank));
    if (!call.has_array(from.shape, from.rank, "a tensor's shape")) break;
    if (!call.has_array(from.data, from.bytes, "a tensor's data")) break;
    tensor.shape = {from.shape, from.rank};
    tensor.data = {static_cast<const std::byte*>(from.data), from.bytes};
    all.push_back(tensor);
  }
  return all;
}

Upload::Upload(Call& call, const heed_upload_options* options) : options_(read(call, options)) {
  if (options == nullptr || call.failed()) return;
  given_ = *options;
  const std::optional<DType> dtype = call.dtype_if(given_.dtype);
  options_.keep_dtype = !dtype;
  options_.dtype = dtype.value_or(DType::F32);
  options_.only_matrices = given_.only_matrices != 0;
  if (options_.only_matrices && options_.keep_dtype)
    call.fail(HEED_INVALID_ARGUMENT, "only_matrices needs the dtype that they become");
  if (given_.release != nullptr)
    options_.release = {[](void* user, std::span<const std::byte> data) {
                          const heed_upload_options& to = static_cast<Upload*>(user)->given_;
                          to.release(to.release_user, data.data(), data.size());
                        },
                        this};
}

namespace {

struct DeviceList {
  using Handle = heed_device_list;
  static constexpr Kind kKind = Kind::DeviceList;
  std::deque<InfoTexts> infos;
};

// The options, with the log and the threads that the host keeps for them.
DeviceOptions options_of(Call& call, const heed_device_options* given, Host* host) {
  DeviceOptions options = read(call, given);
  options.log = host->log();
  if (given == nullptr || call.failed() || given->parallel_for == nullptr) return options;
  host->threads = *given->parallel_for;
  if (call.has(reinterpret_cast<const void*>(host->threads.run), "parallel_for's run"))
    options.parallel_for = {host->threads.run, host->threads.user, host->threads.start};
  return options;
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_device_open(const heed_device_options* options, heed_device** device) {
  Call call(__func__);
  if (!has_place(call, device, "device")) return call.status();
  auto made = std::make_unique<Device>();
  made->host = std::make_shared<Host>(log_of(options));
  const heed::DeviceOptions wanted = options_of(call, options, made->host.get());
  if (call.failed()) return call.status();
  heed::Device opened;
  if (call.end(heed::Device::open(wanted, &opened), made->host.get()) == HEED_OK) made->set(std::move(opened));
  return give(call, std::move(made), device);
}

heed_status heed_device_destroy(heed_device* device) { return destroy<Device>(__func__, device); }

heed_status heed_device_get_info(heed_device* handle, heed_device_info* info) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  Wanted<heed_device_info> wanted(call, info, "info");
  if (!call.failed()) wanted.set(device->info());
  return call.status();
}

heed_status heed_device_list_create(const heed_device_options* options, heed_device_list** list) {
  Call call(__func__);
  if (!has_place(call, list, "list")) return call.status();
  Host host(log_of(options));
  const heed::DeviceOptions wanted = options_of(call, options, &host);
  if (call.failed()) return call.status();
  std::vector<heed::DeviceInfo> devices;
  call.end(heed::Device::list(wanted, &devices), &host);
  auto made = std::make_unique<DeviceList>();
  for (heed::DeviceInfo& device : devices) made->infos.emplace_back(std::move(device));
  return give(call, std::move(made), list);
}

size_t heed_device_list_count(heed_device_list* handle) {
  Call call(__func__);
  const Pin<DeviceList> list(call, handle);
  return list ? list->infos.size() : 0;
}

heed_status heed_device_list_get_info(heed_device_list* handle, size_t index, heed_device_info* info) {
  Call call(__func__);
  const Pin<DeviceList> list(call, handle);
  Wanted<heed_device_info> wanted(call, info, "info");
  if (call.failed() || !call.has_index(index, list->infos.size())) return call.status();
  wanted.set(list->infos[index].read());
  return call.status();
}

heed_status heed_device_list_destroy(heed_device_list* list) { return destroy<DeviceList>(__func__, list); }

heed_status heed_device_pipeline_cache(heed_device* handle, heed_blob** blob) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!has_place(call, blob, "blob") || call.failed()) return call.status();
  std::vector<std::byte> bytes;
  call.end(device->get().pipeline_cache(&bytes), device->host.get());
  return give_blob(call, std::move(bytes), blob);
}

heed_status heed_device_scratch_bytes(heed_device* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = device->get().scratch_bytes();
  return call.status();
}

heed_status heed_device_upload(heed_device* handle, const heed_host_tensor* tensors, size_t count,
                               const heed_upload_options* options, heed_weights** weights) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (!has_place(call, weights, "weights")) return call.status();
  const Upload upload(call, options);
  const std::vector<heed::HostTensor> all = tensors_of(call, tensors, count);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  call.end(device->get().upload(all, &made->it, upload.options()), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_device_upload_bytes(heed_device* handle, const heed_host_tensor* tensors, size_t count,
                                     const heed_upload_options* options, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  const Upload upload(call, options);
  const std::vector<heed::HostTensor> all = tensors_of(call, tensors, count);
  if (!call.has(bytes, "bytes") || call.failed()) return call.status();
  *bytes = device->get().upload_bytes(all, upload.options());
  // For tensors that cannot be uploaded the engine returns 0 and logs the reason.
  const bool is_refused = *bytes == 0 && call.has_logged();
  return call.end(is_refused ? heed::Status::InvalidArgument : heed::Status::Ok);
}

heed_status heed_weights_bytes(heed_weights* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Weights> weights(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = weights->it.bytes();
  return call.status();
}

heed_status heed_weights_destroy(heed_weights* weights) { return destroy<Weights>(__func__, weights); }

heed_status heed_device_compile(heed_device* handle, heed_graph* graph_handle, heed_weights* weights_handle,
                                const heed_compile_options* options, heed_plan** plan) {
  Call call(__func__);
  if (!has_place(call, plan, "plan")) return call.status();
  const Pin<Device> device(call, handle);
  const Pin<Graph> graph(call, graph_handle);
  std::optional<Pin<Weights>> weights;
  if (weights_handle != nullptr) weights.emplace(call, weights_handle);
  const heed::CompileOptions wanted = read(call, options);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Plan>();
  made->host = device->host;
  made->customs = graph->customs;
  const heed::Weights named = weights ? (*weights)->it : heed::Weights();
  call.end(device->get().compile(graph->it, named, &made->it, wanted), device->host.get());
  return give(call, std::move(made), plan);
}
