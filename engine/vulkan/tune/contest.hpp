// Kernels that could make the same pass compete: each is forced in a plan of its own, and they are compared and timed
// at the same sizes.
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

// Contests whose runs would take longer are not held.
inline constexpr double kLongestMs = 30;

// Values in [-1, 1).
std::vector<std::byte> tuning_values(DType dtype, int64_t count);

// For as long as it lives the device chooses by this tuning.
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
  std::span<const ExtentValue> extents;  // all of them, in the order of the graph
  int64_t outputs = 0;                   // elements
};

struct ContestResult {
  DType dtype = DType::F32;
  // The usual one first; empty: no kernel that has variants runs this size.
  std::vector<Measurement> measured;
  size_t fastest = 0;

  bool held() const { return !measured.empty(); }
  // If it was held: what the report says, and the choice for this class of sizes if there is one to make.
  Tuned report() const;
  void choose(Tuning* found, uint32_t size_class, std::string_view among = Tuning::kUsual) const;
};

// The device must not choose by a tuning meanwhile.
class Contest {
 public:
  // Plans are made with round_rows and emulate_f32 of `options`; the rest of it is not looked at.
  Contest(Device& device, const Graph& graph, const Weights& weights, DType dtype, const CompileOptions& options = {});

  // `graph` is one pass, with one output, "y", of `dtype`.
  Status begin();
  Status hold(const ContestSize& size, ContestResult* result);

 private:
  // The pass on a device with these capabilities, without a plan.
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
