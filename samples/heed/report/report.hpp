// The parts of `heed report`. Each opens the device for itself, so that one that loses the device leaves the others theirs.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

#include <heed/device.hpp>

#include "golden/run.hpp"

namespace heed::program {

// What every part is given.
struct PartContext {
  std::string select;                              // of DeviceOptions
  DeviceInfo info;                                 // of the device that it selects
  bool tested = true;                              // the device passed the small test of Device::open
  double seconds = 0.25;                           // for the repeats of one work
  std::chrono::steady_clock::time_point no_later;  // nothing new is begun after this

  bool is_late() const { return std::chrono::steady_clock::now() > no_later; }
};

// A part has a "state": "passed", "failed", "left out" (with a "reason") or "device lost". `heed report` sets two more: "running", in the
// file that a crash leaves behind, and "timed out".
nlohmann::json pipelines_part(const PartContext& context);  // compiles every work
nlohmann::json goldens_part(
    const PartContext& context);  // results beside those of other libraries, which the program holds
nlohmann::json bits_part(const PartContext& context);   // fingerprints of reproducible plans beside the known ones
nlohmann::json times_part(const PartContext& context);  // times of the works
nlohmann::json frames_part(
    const PartContext& context);  // frames with a fixed load, in which a model runs under a budget or not
nlohmann::json self_test_part(const PartContext& context);  // every kernel beside the CPU

// The device of a part, with what heed says of it.
struct PartDevice {
  goldens::Messages messages;
  Device device;
};
// False: *part says why the part cannot run.
bool open_for(const PartContext& context, PartDevice* device, nlohmann::json* part);
// The part's state after a failure, "device lost" or "failed", with the first of the messages, without paths.
nlohmann::json failed_part(Status status, goldens::Messages& messages);

// Texts of drivers and loaders may name files. Words that hold a slash or a backslash become "<path>".
std::string without_paths(const std::string& text);

// The report for people: at most a page. `report` follows tests/gpu/reports/schema.json.
std::string page_of(const nlohmann::json& report);
// Where two reports differ: devices, results, and the times of works that both have.
std::string comparison_of(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace heed::program
