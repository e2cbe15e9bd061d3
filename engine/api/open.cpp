// Device::open and Device::list, which select among all devices of the machine.
#include <algorithm>
#include <cctype>
#include <optional>

#include "api/cpu_device.hpp"
#include "api/self_test_probes.hpp"
#include "base/logging.hpp"
#ifdef HEED_VULKAN
#include "vulkan/device/open.hpp"
#endif

namespace heed {
namespace {

std::vector<DeviceInfo> gpus(const DeviceOptions& options) {
#ifdef HEED_VULKAN
  return vulkan::list_devices(options);
#else
  (void)options;
  return {};
#endif
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

std::optional<size_t> to_index(std::string_view text) {
  size_t index = 0;
  if (text.empty() || text.size() > 4) return {};
  for (char c : text) {
    if (c < '0' || c > '9') return {};
    index = index * 10 + static_cast<size_t>(c - '0');
  }
  return index;
}

Status open_at(const DeviceOptions& options, const std::vector<DeviceInfo>& devices, size_t index, Device* device) {
  if (devices[index].kind == DeviceKind::Cpu) return open_cpu_device(options, device);
#ifdef HEED_VULKAN
  if (!devices[index].usable)
    return fail(options.log, Status::Unsupported, devices[index].word + " cannot be used: " + devices[index].reason);
  std::shared_ptr<detail::DeviceImpl> impl;
  Status status = vulkan::open_device(options, static_cast<uint32_t>(index), &impl);
  if (status != Status::Ok) return status;
  Device opened(std::move(impl));
  // Skips this test if an earlier self-test found no failure.
  const bool known_good = opened.impl()->tested() == detail::DeviceImpl::Tested::Passed;
  if (options.self_test && !known_good) status = test_layer(opened, options.log);
  if (status == Status::Ok) *device = std::move(opened);
  return status;
#else
  return Status::Unsupported;
#endif
}

// The lowest rank is best. A software driver is slower than the CPU device, so it is never the default.
int rank(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::DiscreteGpu: return 0;
    case DeviceKind::IntegratedGpu: return 1;
    case DeviceKind::VirtualGpu: return 2;
    case DeviceKind::OtherGpu: return 3;
    case DeviceKind::Cpu: return 4;
    case DeviceKind::SoftwareGpu: return 5;
  }
  return 6;
}

Status open_best(const DeviceOptions& options, const std::vector<DeviceInfo>& devices, Device* device) {
  std::vector<size_t> order;
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i].usable) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rank(devices[a].kind) < rank(devices[b].kind); });
  for (size_t index : order) {
    if (devices[index].kind == DeviceKind::Cpu) break;
    if (open_at(options, devices, index, device) == Status::Ok) return Status::Ok;
    log(options.log, LogLevel::Warning, devices[index].word + " is left out; trying the next device");
  }
  return open_cpu_device(options, device);
}

}  // namespace

Status Device::list(const DeviceOptions& options, std::vector<DeviceInfo>* devices) {
  if (devices == nullptr) return refuse("Device::list: devices is null");
  *devices = gpus(options);
  list_cpu_device(options, devices);
  return Status::Ok;
}

Status Device::open(const DeviceOptions& options, Device* device) {
  if (device == nullptr) return refuse("Device::open: device is null");
  if (options.select == "cpu") return open_cpu_device(options, device);
  std::vector<DeviceInfo> devices;
  const Status status = list(options, &devices);
  if (status != Status::Ok) return status;
  if (options.select.empty()) return open_best(options, devices, device);
  const std::optional<size_t> index = to_index(options.select);
  if (index && *index < devices.size()) return open_at(options, devices, *index, device);
  for (size_t i = 0; i < devices.size() && !index; ++i)
    if (contains(devices[i].word, options.select) || contains(devices[i].name, options.select))
      return open_at(options, devices, i, device);
  std::string known;
  for (const DeviceInfo& info : devices) known += (known.empty() ? "" : ", ") + info.word;
  return fail(options.log, Status::NotFound,
              "no device matches '" + std::string(options.select) + "'; there are " + known);
}

}  // namespace heed
