// heed::tune and heed::use_tuning: measure both kinds of work, and store and apply the choices.
#include "vulkan/tune/tune.hpp"

#include <utility>

#include "base/logging.hpp"
#include "kernels/choose/tuning_choice.hpp"
#include "vulkan/device/device.hpp"
#include "vulkan/tune/contest.hpp"
#include "vulkan/tune/kinds.hpp"

namespace heed::vulkan {
namespace {

using Clock = Deadline::Clock;

constexpr double kShareOfProducts = 0.5;  // share of the time limit; attention gets the rest

VulkanDevice& vulkan_of(Device& device) { return static_cast<VulkanDevice&>(*device.impl()); }

Status time_all(Device& device, uint32_t limit_ms, Tuning* found, TuningReport* report) {
  const Clock::time_point start = Clock::now();
  const auto after = [&](double share) {
    return Deadline(start + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double, std::milli>(share * limit_ms)));
  };
  const Using estimates(vulkan_of(device), nullptr);
  Status status = tune_products(device, after(kShareOfProducts), found, &report->products);
  if (status == Status::Ok) status = tune_attentions(device, after(1), found, &report->attentions);
  report->milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return status;
}

}  // namespace

Status tune(Device& device, const TuningOptions& options, TuningReport* report) {
  VulkanDevice& vulkan = vulkan_of(device);
  if (vulkan.context().timestamp_bits() == 0)
    return fail(vulkan.log(), Status::Unsupported, "tune: the queue of " + device.info().word + " has no timestamps");
  auto found = std::make_shared<Tuning>();
  const Status status = time_all(device, options.time_limit_ms, found.get(), report);
  if (status != Status::Ok) return status;
  report->blob = write_tuning(vulkan.self_test_key(), *found);
  vulkan.context().capabilities.tuning = std::move(found);
  return Status::Ok;
}

Status use_tuning(Device& device, std::span<const std::byte> blob) {
  VulkanDevice& vulkan = vulkan_of(device);
  auto tuning = std::make_shared<Tuning>();
  std::string why;
  const Status status = read_tuning(blob, vulkan.self_test_key(), tuning.get(), &why);
  if (status != Status::Ok) return fail(vulkan.log(), status, "use_tuning: the tuning is not used: " + why);
  vulkan.context().capabilities.tuning = std::move(tuning);
  return Status::Ok;
}

}  // namespace heed::vulkan
