#include "complaints.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include <heed/device.hpp>

// SAMPLE_NAME is the program's name (samples/CMakeLists.txt).

namespace samples {
namespace {

std::string reasons;

}  // namespace

int bad_input(const std::string& message) {
  std::fprintf(stderr, SAMPLE_NAME ": %s\n", message.c_str());
  return kBadInput;
}

int failed(const std::string& what, heed::Status status) {
  using heed::Status;
  const std::string why = take_reasons();
  std::fprintf(stderr, SAMPLE_NAME ": %s: %s\n", what.c_str(), why.empty() ? heed::to_string(status) : why.c_str());
  const bool device = status == Status::DeviceLost || status == Status::DriverError ||
                      status == Status::OutOfDeviceMemory || status == Status::OutOfMemory;
  return device ? kFailed : kBadInput;
}

heed::Log program_log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            if (level < heed::LogLevel::Error)
              std::fprintf(stderr, SAMPLE_NAME ": %s\n", message);
            else
              reasons.append(reasons.empty() ? "" : "; ").append(message);
          },
          nullptr, heed::LogLevel::Warning};
}

std::string take_reasons() { return std::exchange(reasons, {}); }

int list_devices() {
  std::vector<heed::DeviceInfo> devices;
  const heed::Status status = heed::Device::list({.log = program_log()}, &devices);
  if (status != heed::Status::Ok) return failed("the list of devices", status);
  for (size_t i = 0; i < devices.size(); ++i)
    std::printf("%zu  %s  %s%s%s\n", i, devices[i].word.c_str(), devices[i].name.c_str(),
                devices[i].usable ? "" : "  not usable: ", devices[i].usable ? "" : devices[i].reason.c_str());
  return kOk;
}

}  // namespace samples
