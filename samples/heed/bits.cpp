// `heed bits`: a fingerprint of each operation of reproducible plans.
#include <cinttypes>

#include <nlohmann/json.hpp>

#include <heed/reproducible.hpp>

#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

int bits(const BitsOptions& options) {
  nlohmann::json devices = nlohmann::json::array();
  bool all_right = true, any = false;
  for (const std::string& select : selections(options.device)) {
    goldens::Messages messages;
    Device device;
    std::vector<OperationBits> operations;
    Status status = Device::open(device_options(select, messages.log()), &device);
    if (status == Status::Ok) status = operation_bits(device, &operations);
    if (status != Status::Ok) {
      complain(device.valid() ? device.info().word : select, messages.take(), status);
      // With --device all, devices that do not support reproducible plans are skipped.
      all_right = all_right && options.device == "all" && status == Status::Unsupported;
      continue;
    }
    any = true;
    nlohmann::json list = nlohmann::json::object();
    for (const OperationBits& one : operations) {
      const bool right = one.bits == one.known;
      all_right = all_right && right;
      char text[17];
      std::snprintf(text, sizeof text, "%016" PRIx64, one.bits);
      list[one.operation] = {{"bits", text}, {"right", right}};
      if (!options.json)
        std::printf("%-14s %s %s%s\n", one.operation.c_str(), text, device.info().word.c_str(),
                    right ? "" : "  not what this version of heed must give");
    }
    devices.push_back({{"device", device.info().word}, {"operations", list}});
  }
  if (options.json) std::printf("%s\n", text_of(devices).c_str());
  return any && all_right ? kSuccess : kFailed;
}

}  // namespace heed::program
