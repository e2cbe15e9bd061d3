// The objects behind the handles that several files use. Each keeps what the host gave for it.
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

// A DeviceInfo as C can read it.
struct InfoTexts {
  explicit InfoTexts(DeviceInfo from);
  heed_device_info read() const;

  DeviceInfo info;
  std::vector<const char*> limits;
};

struct Device {
  using Handle = heed_device;
  static constexpr Kind kKind = Kind::Device;

  // A self-test may replace the device that a host lost.
  heed::Device get() const;
  void set(heed::Device device);
  heed_device_info info();

  std::shared_ptr<Host> host;

 private:
  mutable std::mutex mutex_;
  heed::Device device_;
  std::deque<InfoTexts> infos_;  // of the devices that this one was
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

  // Both lists stay as compile made them, and are read when a call first asks for one.
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

// Tensors of the caller's as the engine takes them; the call fails if one makes no sense.
std::vector<HostTensor> tensors_of(Call& call, const heed_host_tensor* tensors, size_t count);
// The options, whose callbacks go through this object.
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
