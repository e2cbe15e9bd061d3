// Creation of a plan's pipelines: at compile, by the host's threads, or by a thread of the plan's own.
#include <algorithm>

#include "base/logging.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

Status VulkanPlan::start_pipelines() {
  if (options_.pipelines == PipelineCreation::Deferred) return Status::Ok;
  if (options_.pipelines == PipelineCreation::Now) return prepare_all();
  const auto work = [](void* plan) {
    // A failure is logged; the plan stays not ready.
    (void)static_cast<VulkanPlan*>(plan)->prepare_all();
  };
  if (background_.start(work, this)) return Status::Ok;
  log(context_.log, LogLevel::Warning, "compile: no thread is available; the pipelines are made at once");
  return prepare_all();
}

Status VulkanPlan::prepare_all() {
  for (uint32_t i = 0; i < pipelines_.size() && !ready() && !stop_; ++i) {
    const Status status = prepare(i);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

// Waits at most for the one pipeline that is being created.
void VulkanPlan::stop_background() {
  stop_ = true;
  background_.join();
}

std::vector<PipelineInfo> VulkanPlan::pipelines() const {
  std::vector<PipelineInfo> list;
  for (const Pipeline* pipeline : pipelines_) list.push_back({pipeline->name(), pipeline->ready()});
  return list;
}

Status VulkanPlan::prepare(uint32_t index) {
  if (index >= pipelines_.size())
    return fail(context_.log, Status::InvalidArgument,
                format("prepare: pipeline %u was asked for; the plan has %zu", index, pipelines_.size()));
  const Status status = context_.alive("prepare");
  return status == Status::Ok ? device_pipelines_.build(*pipelines_[index]) : status;
}

bool VulkanPlan::ready() const {
  if (ready_.load(std::memory_order_acquire)) return true;
  const bool all =
      std::all_of(pipelines_.begin(), pipelines_.end(), [](const Pipeline* pipeline) { return pipeline->ready(); });
  if (all) ready_.store(true, std::memory_order_release);
  return all;
}

}  // namespace heed::vulkan
