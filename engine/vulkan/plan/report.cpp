// A plan's reports: its passes, their times, faults of embeddings, and the last pass that a lost device completed.
#include <cstring>
#include <string>

#include "base/logging.hpp"
#include "vulkan/plan/plan.hpp"
#include "vulkan/recording/split.hpp"

namespace heed::vulkan {
namespace {

// Kernels of a pass that differ only in tiles have one name, and often one reason.
void append_new(std::string* list, const char* separator, const std::string& item) {
  if (item.empty() || (separator + *list + separator).find(separator + item + separator) != std::string::npos) return;
  *list += (list->empty() ? "" : separator) + item;
}

void append_use(PassInfo* pass, const KernelUse& use) {
  append_new(&pass->kernel, " + ", kernel_name(use.key));
  append_new(&pass->why, "; ", use.traits.tuned == 0 ? use.why : std::string("measured: ") + use.why);
}

}  // namespace

VulkanPlan* plan_of(const Plan& plan, const char* call) {
  detail::PlanImpl* impl = plan.impl().get();
  if (impl != nullptr && impl->backend() == detail::Backend::Vulkan) return static_cast<VulkanPlan*>(impl);
  if (call == nullptr) return nullptr;
  if (impl == nullptr)
    (void)refuse((std::string(call) + ": the plan is empty").c_str());
  else
    (void)fail(impl->host_log(), Status::InvalidArgument,
               std::string(call) + ": this plan is of the CPU device; only Plan::run runs it");
  return nullptr;
}

Status check_slot_free(const VulkanPlan& plan, uint32_t slot, const char* call) {
  if (slot != 0 || !plan.running) return Status::Ok;
  return fail(plan.host_log(), Status::InvalidArgument, format("%s: slot 0 is in use by a run that is not done", call));
}

Status take_faults(const Plan& plan, uint32_t slot) {
  VulkanPlan* impl = plan_of(plan, "take_faults");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  const Status status = check_slot_free(*impl, slot, "take_faults");
  return status == Status::Ok ? impl->take_faults(slot) : status;
}

Status last_completed(const Plan& plan, uint32_t slot, int32_t* pass) {
  VulkanPlan* impl = plan_of(plan, "last_completed");
  if (impl == nullptr) return Status::InvalidArgument;  // plan_of has logged it
  return pass == nullptr ? refuse("last_completed: pass is null") : impl->last_completed(slot, pass);
}

Status VulkanPlan::last_completed(uint32_t slot, int32_t* pass) {
  if (slot >= slots_.size())
    return fail(context_.log, Status::InvalidArgument,
                format("last_completed: slot %u was asked for; the plan has %zu slots (CompileOptions::record_slots)",
                       slot, slots_.size()));
  if (!options_.progress)
    return fail(context_.log, Status::Unsupported, "last_completed: the plan was compiled without progress");
  const Status status = context_.there("last_completed");
  if (status == Status::Ok) *pass = progress_.last(slot);
  return status;
}

void VulkanPlan::log_last_completed() {
  int32_t last = -1;
  if (!options_.progress || last_completed(0, &last) != Status::Ok) return;
  const auto next = static_cast<size_t>(last + 1);
  const std::string before = last < 0 ? std::string("no pass was completed")
                                      : format("the last completed pass is %d of %zu, %s", last + 1, passes_.size(),
                                               schedule_.passes[static_cast<size_t>(last)].label.c_str());
  const std::string after =
      next < passes_.size() ? format("; %s was not", schedule_.passes[next].label.c_str()) : std::string();
  log(context_.log, LogLevel::Error, "run: " + before + after);
}

Status VulkanPlan::take_faults(uint32_t slot) {
  if (slot >= slots_.size())
    return fail(context_.log, Status::InvalidArgument,
                format("take_faults: slot %u was asked for; the plan has %zu slots (CompileOptions::record_slots)",
                       slot, slots_.size()));
  Status status = context_.there("take_faults");
  if (status != Status::Ok || faulting_passes_.empty()) return status;
  // Only this slot's words, since other slots may be in flight.
  const uint64_t begin = slot * fault_slot_bytes();
  status = faults_.invalidate(begin, fault_slot_bytes());
  if (status != Status::Ok) return status;
  for (size_t i = 0; i < faulting_passes_.size(); ++i) {
    std::byte* word = faults_.mapped() + begin + i * fault_word_bytes();
    uint32_t value = 0;
    std::memcpy(&value, word, sizeof value);
    if (value == 0) continue;
    std::memset(word, 0, sizeof value);
    const Node& node = schedule_.passes[faulting_passes_[i]];
    status = fail(context_.log, Status::IndexOutOfRange, format("%s: %s", node.label.c_str(), info_of(node.op).fault));
  }
  const Status flushed = faults_.flush(begin, fault_slot_bytes());
  return status == Status::Ok ? flushed : status;
}

std::vector<PassInfo> VulkanPlan::passes() const {
  const RunValues maxima = {.sizes = schedule_.max_values};
  const std::vector<double> fewest = fewest_bytes(schedule_, maxima);
  std::vector<PassInfo> passes;
  const auto list_memory = std::make_unique<DispatchList>();  // too large for small stacks, such as those of fibers
  DispatchList& list = *list_memory;
  for (size_t i = 0; i < passes_.size(); ++i) {
    const Node& node = schedule_.passes[i];
    const KernelList& kernels = passes_[i].kernels;
    PassInfo pass;
    pass.label = node.label;
    pass.op = to_string(node.op);
    emit_dispatches(schedule_, node, context_.capabilities, kernels, maxima, &list);
    // Kernels that run at the maxima come first.
    for (uint32_t d = 0; d < list.count; ++d) append_use(&pass, kernels.uses[list.dispatches[d].kernel]);
    for (uint32_t k = 0; k < kernels.count; ++k) append_use(&pass, kernels.uses[k]);
    append_new(&pass.why, "; ", node.note);
    pass.dtype = schedule_.info(node.outputs[0]).dtype;
    for (uint32_t d = 0; d < list.count; ++d)
      pass.dispatches +=
          split_dispatch(list.dispatches[d].groups, list.dispatches[d].work, dispatch_work_limit(context_.info.kind))
              .count();
    const Cost cost = cost_of(schedule_, node, maxima);
    pass.flops = cost.flops;
    pass.bytes = cost.bytes;
    for (uint32_t d = 0; d < list.count; ++d) pass.bytes += 2 * list.dispatches[d].workspace_bytes;
    pass.fewest_bytes = fewest[i];
    passes.push_back(std::move(pass));
  }
  return passes;
}

Status VulkanPlan::timings(std::vector<PassTime>* times, uint32_t slot) const {
  if (!clock_.on()) return fail(context_.log, Status::Unsupported, "timings: the plan was compiled without timestamps");
  if (slot >= slots_.size() || !slots_[slot].recorded)
    return fail(context_.log, Status::InvalidArgument, format("timings: slot %u was never recorded to its end", slot));
  Status status = context_.there("timings");
  if (status == Status::Ok) status = clock_.read(slot, &times_);
  if (status != Status::Ok) return status;
  std::vector<PassTime> found;
  if (!clock_.milliseconds(slot, &found))
    return fail(context_.log, Status::InvalidArgument,
                format("timings: the GPU has not finished the recording of slot %u", slot));
  *times = std::move(found);
  return Status::Ok;
}

}  // namespace heed::vulkan
