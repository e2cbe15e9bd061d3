// Compares the weights that a graph declares with those that were uploaded, for all devices.
#include <algorithm>

#include "base/find.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::detail {
namespace {

// All mismatches, as text for one message.
struct Findings {
  std::string missing, wrong;
  Status status = Status::Ok;

  void add(std::string* list, Status kind, const std::string& text) {
    *list += (list->empty() ? "" : ", ") + text;
    if (status == Status::Ok || kind == Status::MissingWeight) status = kind;
  }
  std::string text() const {
    std::string all = missing.empty() ? "" : "there is no weight " + missing;
    if (!wrong.empty()) all += (all.empty() ? "weight " : "; weight ") + wrong;
    return all;
  }
};

Findings compare(const Schedule& schedule, const WeightsImpl* weights) {
  Findings found;
  for (const NamedTensor& wanted : schedule.weights) {
    const TensorInfo& info = schedule.tensors[wanted.tensor];
    const std::vector<int64_t> shape = schedule.max_shape(info);
    const std::string asked = std::string(to_string(info.dtype)) + " " + shape_text(shape);
    const WeightsImpl::Entry* entry = weights == nullptr ? nullptr : weights->find(wanted.name);
    if (entry == nullptr)
      found.add(&found.missing, Status::MissingWeight, "'" + wanted.name + "' (" + asked + " is needed)");
    else if (entry->shape != shape || entry->dtype != info.dtype)
      found.add(&found.wrong, entry->shape != shape ? Status::ShapeMismatch : Status::DTypeMismatch,
                format("'%s' is %s %s; the graph says %s", wanted.name.c_str(), to_string(entry->dtype),
                       shape_text(entry->shape).c_str(), asked.c_str()));
  }
  return found;
}

// Records which weights the graph declares.
WeightUses& note_uses(const GraphData& graph, const Schedule& schedule, WeightsImpl* weights) {
  const std::lock_guard<std::mutex> lock(weights->uses_mutex);
  if (weights->uses == nullptr) {
    weights->uses = std::make_shared<WeightUses>(weights->entries.size());
    for (size_t i = 0; i < weights->entries.size(); ++i) (*weights->uses)[i].name = weights->entries[i].name;
  }
  for (const auto* list : {&graph.weights, &graph.kept_weights, &schedule.weights})
    for (const NamedTensor& weight : *list)
      if (const WeightsImpl::Entry* entry = weights->find(weight.name); entry != nullptr)
        (*weights->uses)[static_cast<size_t>(entry - weights->entries.data())].declared = true;
  return *weights->uses;
}

// Adds the names of weights that no graph has declared; with only_new, only those that no message has named yet.
void add_unused(WeightUses& uses, bool only_new, std::string* text) {
  const char* before = " '";
  for (WeightUse& use : uses) {
    if (use.declared || (use.told.exchange(true) && only_new)) continue;
    text->append(before).append(use.name).append("'");
    before = ", '";
  }
}

constexpr const char* kUnused = "no graph uses the uploaded";

}  // namespace

const WeightsImpl::Entry* WeightsImpl::find(std::string_view name) const {
  return find_by_name(std::span<const Entry>(entries), name);
}

Status check_weights(const GraphData& graph, const Schedule& schedule, WeightsImpl* weights, const DeviceImpl* device,
                     bool strict, const Log& log) {
  if (weights != nullptr && weights->device() != device)
    return fail(log, Status::InvalidArgument, "compile: the weights were uploaded to another device");
  const Findings found = compare(schedule, weights);
  const bool fails = found.status != Status::Ok;
  std::string unused;
  if (weights != nullptr) {
    WeightUses& uses = note_uses(graph, schedule, weights);
    if (fails || strict) add_unused(uses, false, &unused);
  }
  const std::string told = unused.empty() ? "" : kUnused + unused;
  if (fails) return fail(log, found.status, "compile: " + found.text() + (told.empty() ? "" : "; " + told));
  return told.empty() ? Status::Ok : fail(log, Status::InvalidArgument, "compile: " + told);
}

void UnusedWeights::watch(std::shared_ptr<WeightUses> uses) {
  uses_ = std::move(uses);
  size_t room = std::string_view(kUnused).size() + 64;  // room for the call's name
  for (const WeightUse& use : *uses_) room += use.declared ? 0 : use.name.size() + 4;
  text_.reserve(room);
  is_due_ = true;
}

void UnusedWeights::tell(const char* call, const Log& log) {
  if (!is_due_.load(std::memory_order_relaxed) || !is_due_.exchange(false)) return;
  text_.append(call).append(": ").append(kUnused);
  const size_t size = text_.size();
  add_unused(*uses_, true, &text_);
  if (text_.size() > size) heed::log(log, LogLevel::Warning, text_);
}

std::vector<const WeightsImpl::Entry*> find_weights(const Schedule& schedule, const WeightsImpl* weights) {
  std::vector<const WeightsImpl::Entry*> found;
  for (const NamedTensor& wanted : schedule.weights) found.push_back(weights->find(wanted.name));
  return found;
}

}  // namespace heed::detail
