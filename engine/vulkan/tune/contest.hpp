// Compares the kernels that can compute the same pass: each is forced in a separate plan, and results and times are compared at the same
// sizes.
#pragma once

#include <cstdint>
#include <heed/device.hpp>
#include <heed/plan.hpp>
#include <heed/tuning.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernels/choose/tuning_choice.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/device/device.hpp"

namespace heed::vulkan {

// Sizes whose runs would take longer are skipped.
inline constexpr double kLongestMs = 30;

// Values in [-1, 1).
std::vector<std::byte> tuning_values(DType dtype, int64_t count);

// For its lifetime the device uses this tuning.
class Using {
 public:
  Using(VulkanDevice& device, std::shared_ptr<const Tuning> tuning);
  ~Using();
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Capabilities& capabilities_;
  std::shared_ptr<const Tuning> before_;
};

struct ContestSize {
  std::span<const HostBuffer> inputs;
  std::span<const ExtentValue> extents;  // in the order of the graph
  int64_t outputs = 0;                   // number of elements
};

struct ContestResult {
  DType dtype = DType::F32;
  // Times of the kernels, the default one first. Empty: there is no other kernel for this size.
  std::vector<Measurement> measured;
  size_t fastest = 0;

  bool held() const { return !measured.empty(); }
  // Only if held(): the result for the report, and the choice for this class of sizes if one kernel is faster.
  Tuned report() const;
  void choose(Tuning* found, uint32_t size_class, std::string_view among = Tuning::kUsual) const;
};

// The device must not have a tuning meanwhile.
class Contest {
 public:
  // Plans use round_rows and emulate_f32 of `options`; other options are ignored.
  Contest(Device& device, const Graph& graph, const Weights& weights, DType dtype, const CompileOptions& options = {});

  // `graph` must be one pass with one output, "y", of `dtype`.
  Status begin();
  Status hold(const ContestSize& size, ContestResult* result);

 private:
  // The pass lowered for a device with these capabilities, without a plan.
  struct Lowered {
    Schedule schedule;
    KernelList kernels;
  };
  struct Variant {
    std::string name;
    Lowered lowered;
    Plan plan;
    bool wrong = false;
  };

  Status lower(Lowered* lowered);
  std::string used(const Lowered& lowered, std::span<const ExtentValue> extents) const;
  Status prepare(Variant* variant);
  Status measure(Plan* plan, const ContestSize& size, double fastest, std::vector<std::byte>* y, double* ms);
  bool agree(std::span<const std::byte> a, std::span<const std::byte> b) const;

  Device& device_;
  VulkanDevice& vulkan_;
  const Graph& graph_;
  const Weights& weights_;
  const DType dtype_;
  CompileOptions options_;
  Lowered usual_;
  std::vector<Variant> variants_;
};

}  // namespace heed::vulkan
