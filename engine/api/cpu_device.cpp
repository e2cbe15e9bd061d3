#include "api/cpu_device.hpp"

#include "base/logging.hpp"
#ifdef HEED_CPU
#include "cpu/device/cpu_device.hpp"
#endif

namespace heed {

#ifdef HEED_CPU

bool has_cpu_device() { return true; }

Status open_cpu_device(const DeviceOptions& options, Device* device) {
  *device = Device(cpu::create_device(options));
  return Status::Ok;
}

void list_cpu_device(const DeviceOptions& options, std::vector<DeviceInfo>* devices) {
  devices->push_back(cpu::device_info(options));
}

#else

bool has_cpu_device() { return false; }

Status open_cpu_device(const DeviceOptions& options, Device*) {
  return fail(options.log, Status::Unsupported, "heed was built without its CPU device (HEED_CPU=OFF)");
}

void list_cpu_device(const DeviceOptions&, std::vector<DeviceInfo>*) {}

#endif

}  // namespace heed
