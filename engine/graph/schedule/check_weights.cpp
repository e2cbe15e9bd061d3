// Compares the weights that a graph declares with those that were uploaded, for all devices.
#include <algorithm>

#include "base/find.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::detail {
namespace {

// Everything that is wrong, as text for one message.
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

// Notes what the graph declares, and names what no graph has declared so far; with only_new what no message has named yet.
std::string take_unused(const GraphData& graph, WeightsImpl* weights, bool only_new) {
  const std::lock_guard<std::mutex> lock(weights->known_mutex);
  weights->known.resize(weights->entries.size());
  for (const auto* list : {&graph.weights, &graph.kept_weights})
    for (const NamedTensor& weight : *list)
      if (const WeightsImpl::Entry* entry = weights->find(weight.name); entry != nullptr)
        weights->known[static_cast<size_t>(entry - weights->entries.data())].declared = true;
  std::string names;
  for (size_t i = 0; i < weights->known.size(); ++i) {
    WeightsImpl::Known& known = weights->known[i];
    if (known.declared || (only_new && known.told)) continue;
    known.told = true;
    names += (names.empty() ? "'" : ", '") + weights->entries[i].name + "'";
  }
  return names;
}

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
  const std::string unused = weights == nullptr ? "" : take_unused(graph, weights, !strict && !fails);
  const std::string told = unused.empty() ? "" : "no graph uses the uploaded " + unused;
  if (fails) return fail(log, found.status, "compile: " + found.text() + (told.empty() ? "" : "; " + told));
  if (told.empty()) return Status::Ok;
  if (strict) return fail(log, Status::InvalidArgument, "compile: " + told);
  heed::log(log, LogLevel::Warning, "compile: " + told);
  return Status::Ok;
}

std::vector<const WeightsImpl::Entry*> find_weights(const Schedule& schedule, const WeightsImpl* weights) {
  std::vector<const WeightsImpl::Entry*> found;
  for (const NamedTensor& wanted : schedule.weights) found.push_back(weights->find(wanted.name));
  return found;
}

}  // namespace heed::detail
