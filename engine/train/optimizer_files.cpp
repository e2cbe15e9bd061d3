// Reads and writes weights, moments and the count of steps as tensors by name.
#include <heed/optimizer.hpp>
#include <heed/safetensors.hpp>

#include <algorithm>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "base/try_resize.hpp"
#include "graph/schedule/state.hpp"

namespace heed::train {
namespace {

const HostTensor* find(std::span<const HostTensor> tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const HostTensor& one) { return one.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Status check(const HostTensor& tensor, std::span<const int64_t> shape, const Log& log) {
  const std::string name(tensor.name);
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
    return fail(log, Status::ShapeMismatch,
                format("optimizer: '%s' is %s; %s is needed", name.c_str(), shape_text(tensor.shape).c_str(),
                       shape_text(shape).c_str()));
  int64_t elements = 1;
  for (const int64_t dim : shape) elements *= dim;
  if (!is_float(tensor.dtype) || tensor.data.size() != static_cast<size_t>(elements) * size_of(tensor.dtype))
    return fail(log, Status::DTypeMismatch,
                format("optimizer: '%s' is %s in %zu bytes; f32, f16 or bf16 is needed", name.c_str(),
                       to_string(tensor.dtype), tensor.data.size()));
  return Status::Ok;
}

// One state of a group: the weights, or a moment of each weight.
struct Row {
  std::string state, what;  // `what` is empty for weights
  int group = 0;
  std::vector<float> values = {};
};

std::string tensor_name(const std::string& prefix, const Row& row, const std::string& weight) {
  return row.what.empty() ? weight : prefix + "." + weight + "." + row.what;
}

// Whether a State has a tensor of this name with `elements` of f32.
Status check_state(const State& state, const std::string& name, int64_t elements, const Log& log) {
  const detail::StateTensor* const tensor = state.impl()->layout->find(name);
  if (tensor == nullptr) return fail(log, Status::NotFound, format("optimizer: the State has no '%s'", name.c_str()));
  if (tensor->dtype != DType::F32)
    return fail(log, Status::DTypeMismatch,
                format("optimizer: '%s' of the State is %s; f32 is needed", name.c_str(), to_string(tensor->dtype)));
  if (tensor->bytes == static_cast<uint64_t>(elements) * sizeof(float)) return Status::Ok;
  return fail(log, Status::ShapeMismatch,
              format("optimizer: '%s' of the State is %s; [%lld] is needed", name.c_str(),
                     shape_text(tensor->shape).c_str(), static_cast<long long>(elements)));
}

Status no_memory(const Row& row, int64_t elements, const Log& log) {
  return fail(log, Status::OutOfMemory,
              format("optimizer: no memory for the %lld elements of '%s'", static_cast<long long>(elements),
                     row.state.c_str()));
}

constexpr int64_t kOne[] = {1};

}  // namespace

// All names and shapes are checked before anything is written or allocated.
Status Optimizer::load(State& state, std::span<const HostTensor> tensors, const Log& log) const {
  if (!state.valid()) return refuse("Optimizer::load: state is empty");
  const auto has = [&](const std::string& name) { return state.impl()->layout->find(name) != nullptr; };
  std::vector<Row> rows;
  std::vector<std::string> kinds = moments();
  kinds.insert(kinds.begin(), std::string());
  for (const std::string& what : kinds)
    for (int group = 0; group < groups(); ++group)
      if (group_size(group) > 0 && (what.empty() || has(state_name(group, what))))
        rows.push_back({state_name(group, what.empty() ? "weights" : what), what, group});
  for (const Row& row : rows) {
    if (const Status status = check_state(state, row.state, group_size(row.group), log); status != Status::Ok)
      return status;
    for (const Parameter& parameter : parameters_) {
      if (parameter.group != row.group) continue;
      const std::string name = tensor_name(options_.prefix, row, parameter.name);
      const HostTensor* const given = find(tensors, name);
      if (given == nullptr && row.what.empty())
        return fail(log, Status::MissingWeight, format("optimizer: there is no '%s'", name.c_str()));
      if (given == nullptr) continue;
      if (const Status status = check(*given, parameter.shape, log); status != Status::Ok) return status;
    }
  }
  const std::string step = options_.prefix + ".step";
  float steps = 0.0f;
  if (const HostTensor* const given = find(tensors, step); given != nullptr) {
    if (const Status status = check(*given, kOne, log); status != Status::Ok) return status;
    convert_floats(given->data.data(), given->dtype, &steps, DType::F32, 1);
  }
  if (has(step))
    if (const Status status = check_state(state, step, 1, log); status != Status::Ok) return status;

  for (Row& row : rows) {
    if (!try_resize(&row.values, static_cast<uint64_t>(group_size(row.group))))
      return no_memory(row, group_size(row.group), log);
    for (const Parameter& parameter : parameters_) {
      if (parameter.group != row.group) continue;
      const HostTensor* const given = find(tensors, tensor_name(options_.prefix, row, parameter.name));
      if (given != nullptr)
        convert_floats(given->data.data(), given->dtype, row.values.data() + parameter.at, DType::F32,
                       static_cast<size_t>(parameter.elements()));
    }
  }
  for (const Row& row : rows)
    if (const Status status = state.write(row.state, std::as_bytes(std::span(row.values))); status != Status::Ok)
      return status;
  return has(step) ? state.write(step, std::as_bytes(std::span(&steps, 1))) : Status::Ok;
}

Status Optimizer::save(const State& state, std::string_view path, const Log& log) const {
  if (!state.valid()) return refuse("Optimizer::save: state is empty");
  std::vector<std::string> kinds = moments();
  kinds.insert(kinds.begin(), std::string());
  std::vector<Row> rows;
  for (const std::string& what : kinds)
    for (int group = 0; group < groups(); ++group)
      if (group_size(group) > 0) rows.push_back({state_name(group, what.empty() ? "weights" : what), what, group});
  const std::string step = options_.prefix + ".step";
  Status status = check_state(state, step, 1, log);
  for (const Row& row : rows)
    if (status == Status::Ok) status = check_state(state, row.state, group_size(row.group), log);
  if (status != Status::Ok) return status;
  for (Row& row : rows) {
    if (!try_resize(&row.values, static_cast<uint64_t>(group_size(row.group))))
      return no_memory(row, group_size(row.group), log);
    status = state.read(row.state, std::as_writable_bytes(std::span(row.values)));
    if (status != Status::Ok) return status;
  }
  float steps = 0.0f;
  status = state.read(step, std::as_writable_bytes(std::span(&steps, 1)));
  if (status != Status::Ok) return status;
  std::vector<std::string> names;  // referenced by the tensors
  names.reserve(rows.size() * parameters_.size() + 1);
  std::vector<HostTensor> tensors;
  for (const Row& row : rows)
    for (const Parameter& parameter : parameters_) {
      if (parameter.group != row.group) continue;
      const auto values =
          std::span(row.values).subspan(static_cast<size_t>(parameter.at), static_cast<size_t>(parameter.elements()));
      names.push_back(tensor_name(options_.prefix, row, parameter.name));
      tensors.push_back({names.back(), DType::F32, parameter.shape, std::as_bytes(values)});
    }
  names.push_back(step);
  tensors.push_back({names.back(), DType::F32, kOne, std::as_bytes(std::span(&steps, 1))});
  return write_safetensors(path, tensors, {}, log);
}

Status Optimizer::read(const State& state, std::string_view name, std::span<float> values) const {
  for (const Parameter& parameter : parameters_) {
    if (parameter.name != name) continue;
    if (static_cast<int64_t>(values.size()) != parameter.elements()) return Status::ShapeMismatch;
    return state.read(state_name(parameter.group, "weights"), std::as_writable_bytes(values),
                      {.axis = 0, .begin = parameter.at, .size = parameter.elements()});
  }
  return Status::NotFound;
}

}  // namespace heed::train
