// The objects behind handles that several files use. Each keeps the callbacks and logs that the host gave for it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/plan.hpp>
#include <heed/state.hpp>

#include "c/call.hpp"

namespace heed::c {

// A DeviceInfo with C strings.
struct InfoTexts {
  explicit InfoTexts(DeviceInfo from);
  heed_device_info read() const;

  DeviceInfo info;
  std::vector<const char*> limits;
};

struct Device {
  using Handle = heed_device;
  static constexpr Kind kKind = Kind::Device;

  // A copy, since a self-test may replace a lost device.
  heed::Device get() const;
  void set(heed::Device device);
  heed_device_info info();

  std::shared_ptr<Host> host;

 private:
  mutable std::mutex mutex_;
  heed::Device device_;
  std::deque<InfoTexts> infos_;  // texts of this device and of those that it replaced
};

struct Weights {
  using Handle = heed_weights;
  static constexpr Kind kKind = Kind::Weights;
  std::shared_ptr<Host> host;
  heed::Weights it;
};

// A host's own pass; see custom.cpp.
struct CustomAdapter {
  void (*run)(void* user, const heed_custom_call* call);
  void (*gradient)(void* user, heed_graph* graph, const heed_custom_gradient_call* call);
  void* user;
};
using CustomAdapters = std::vector<std::shared_ptr<const CustomAdapter>>;

struct Plan {
  using Handle = heed_plan;
  static constexpr Kind kKind = Kind::Plan;
  std::shared_ptr<Host> host;
  CustomAdapters customs;
  heed::Plan it;

  // Both lists are read at the first call, and do not change.
  const std::vector<PassInfo>& passes();
  const std::vector<PipelineInfo>& pipeline_names();

 private:
  std::mutex mutex_;
  bool has_passes_ = false, has_names_ = false;
  std::vector<PassInfo> passes_;
  std::vector<PipelineInfo> names_;
};

struct Run {
  using Handle = heed_run;
  static constexpr Kind kKind = Kind::Run;
  std::shared_ptr<Host> host;
  CustomAdapters customs;
  StartedRun it;
  Turn turn;
  bool take_turn() { return turn.take(); }
  void give_turn() { turn.give_back(); }
};

struct State {
  using Handle = heed_state;
  static constexpr Kind kKind = Kind::State;
  std::shared_ptr<Host> host;
  heed::State it;
};

// Converts the caller's tensors for the engine; the call fails if one is invalid.
std::vector<HostTensor> tensors_of(Call& call, const heed_host_tensor* tensors, size_t count);
// Upload options whose callbacks are forwarded by this object.
class Upload {
 public:
  Upload(Call& call, const heed_upload_options* options);
  Upload(const Upload&) = delete;
  const UploadOptions& options() const { return options_; }

 private:
  heed_upload_options given_ = {};
  UploadOptions options_;
};

}  // namespace heed::c
