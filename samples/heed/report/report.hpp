// The parts of `heed report`. Each opens the device itself, so that other parts can run after one that loses the device.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

#include <heed/device.hpp>

#include "golden/run.hpp"

namespace heed::program {

// The arguments of every part.
struct PartContext {
  std::string select;                              // DeviceOptions::select
  DeviceInfo info;                                 // the name of the selected device
  bool tested = true;                              // whether the device passed the small test of Device::open
  double seconds = 0.25;                           // milliseconds for the repeats of one work
  std::chrono::steady_clock::time_point no_later;  // nothing new begins after this

  bool is_late() const { return std::chrono::steady_clock::now() > no_later; }
};

// A part has a "state": "passed", "failed", "left out" (with a "reason") or "device lost". `heed report` sets two more: "running", which
// stays in the file after a crash, and "timed out".
nlohmann::json pipelines_part(const PartContext& context);  // compiles every work
nlohmann::json goldens_part(const PartContext& context);    // compares results with the golden files in the program
nlohmann::json bits_part(
    const PartContext& context);  // compares fingerprints of reproducible plans with the known ones
nlohmann::json times_part(const PartContext& context);  // times of the works
nlohmann::json frames_part(
    const PartContext& context);  // frames with a fixed load, in which a model runs under a budget or not
nlohmann::json self_test_part(const PartContext& context);  // compares every kernel with the CPU

// The device of a part, with heed's messages.
struct PartDevice {
  goldens::Messages messages;
  Device device;
};
// Returns false, with the reason in *part, if the part cannot run.
bool open_for(const PartContext& context, PartDevice* device, nlohmann::json* part);
// Sets the part's state after a failure, "device lost" or "failed", with the first message, without paths.
nlohmann::json failed_part(Status status, goldens::Messages& messages);

// Messages of drivers and loaders may name files. Words with a slash or a backslash become "<path>".
std::string without_paths(const std::string& text);

// The report as text of at most a page. `report` follows tests/gpu/reports/schema.json.
std::string page_of(const nlohmann::json& report);
// The differences of two reports: devices, results, and the times of works that both have.
std::string comparison_of(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace heed::program
