#include "session.hpp"

#include <cstdio>

namespace listen {
namespace {

// heed's error messages become part of the one line that the program prints about a failure. Warnings are printed at once.
std::string reasons;

heed::Log program_log() {
  return {[](void*, heed::LogLevel level, const char* message) {
            if (level < heed::LogLevel::Error)
              std::fprintf(stderr, "listen: %s\n", message);
            else
              reasons.append(reasons.empty() ? "" : "; ").append(message);
          },
          nullptr, heed::LogLevel::Warning};
}

heed::DType dtype_of(const std::string& word) {
  if (word == "q8_0") return heed::DType::Q8_0;
  return word == "f16" ? heed::DType::F16 : word == "bf16" ? heed::DType::BF16 : heed::DType::F32;
}

}  // namespace

int bad_input(const std::string& message) {
  std::fprintf(stderr, "listen: %s\n", message.c_str());
  return kBadInput;
}

int failed(const std::string& what, heed::Status status) {
  using heed::Status;
  std::fprintf(stderr, "listen: %s: %s\n", what.c_str(), reasons.empty() ? heed::to_string(status) : reasons.c_str());
  reasons.clear();
  const bool device = status == Status::DeviceLost || status == Status::DriverError ||
                      status == Status::OutOfDeviceMemory || status == Status::OutOfMemory;
  return device ? kFailed : kBadInput;
}

int list_devices() {
  std::vector<heed::DeviceInfo> devices;
  const heed::Status status = heed::Device::list({.log = program_log()}, &devices);
  if (status != heed::Status::Ok) return failed("the list of devices", status);
  for (size_t i = 0; i < devices.size(); ++i)
    std::printf("%zu  %s  %s%s%s\n", i, devices[i].word.c_str(), devices[i].name.c_str(),
                devices[i].usable ? "" : "  not usable: ", devices[i].usable ? "" : devices[i].reason.c_str());
  return kOk;
}

int open_model(const Options& options, heed::Device* device, heed::SpeechRecognizer* model) {
  heed::Status status =
      heed::Device::open({.select = options.device, .log = program_log(), .threads = options.threads}, device);
  if (status != heed::Status::Ok)
    return failed(options.device.empty() ? "no device" : "device '" + options.device + "'", status);
  heed::SpeechRecognizerOptions chosen;
  if (!options.weights.empty()) chosen.weight_dtype = dtype_of(options.weights);
  if (!options.cache.empty()) chosen.cache_dtype = dtype_of(options.cache);
  chosen.round_rows = options.round_rows;
  chosen.log = program_log();
  status = heed::SpeechRecognizer::open(*device, options.model, chosen, model);
  return status == heed::Status::Ok ? kOk : failed("the model", status);
}

}  // namespace listen
