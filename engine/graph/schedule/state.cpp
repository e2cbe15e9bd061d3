#include "graph/schedule/state.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/find.hpp"
#include "base/logging.hpp"

namespace heed::detail {
namespace {

// Finds the tensor of this name in a layout. NotFound, ShapeMismatch or DTypeMismatch if it is missing or differs.
Status find_tensor(const StateTensor& needed, const StateLayout& layout, const char* call, const Log& log,
                   const StateTensor** found) {
  *found = layout.find(needed.name);
  if (*found == nullptr)
    return fail(log, Status::NotFound, format("%s: the State has no '%s'", call, needed.name.c_str()));
  const StateTensor& has = **found;
  if (has.shape == needed.shape && has.dtype == needed.dtype) return Status::Ok;
  return fail(log, has.shape == needed.shape ? Status::DTypeMismatch : Status::ShapeMismatch,
              format("%s: state '%s' is %s %s; %s %s is needed", call, has.name.c_str(), to_string(has.dtype),
                     shape_text(has.shape).c_str(), to_string(needed.dtype), shape_text(needed.shape).c_str()));
}

}  // namespace

const StateTensor* StateLayout::find(std::string_view name) const {
  return find_by_name(std::span<const StateTensor>(tensors), name);
}

StateLayout layout_of(const Schedule& schedule, uint64_t alignment) {
  StateLayout layout;
  for (const NamedTensor& state : schedule.states) {
    const TensorInfo& info = schedule.tensors[state.tensor];
    StateTensor tensor = {state.name, info.dtype, schedule.max_shape(info), 0, size_of(info.dtype)};
    for (const int64_t size : tensor.shape) tensor.bytes *= static_cast<uint64_t>(size);
    tensor.offset = align_up(layout.bytes, alignment);
    layout.bytes = tensor.offset + align_up<uint64_t>(tensor.bytes, 4);
    layout.tensors.push_back(std::move(tensor));
  }
  return layout;
}

uint64_t bytes_of(std::span<const StateRange> ranges) {
  uint64_t bytes = 0;
  for (const StateRange& range : ranges) bytes += range.bytes;
  return bytes;
}

Status match_states(const StateLayout& own, const StateImpl* state, const void* home, const char* call, const Log& log,
                    FoundStates* found) {
  if (own.tensors.empty()) return Status::Ok;
  if (state == nullptr)
    return fail(log, Status::MissingBuffer,
                format("%s: the plan has a state '%s' and was given no State", call, own.tensors[0].name.c_str()));
  if (state->home() != home)
    return fail(log, Status::InvalidArgument, format("%s: the State belongs to another device", call));
  if (found->layout == state->layout) return Status::Ok;
  found->layout = nullptr;
  for (size_t i = 0; i < own.tensors.size(); ++i)
    if (const Status status = find_tensor(own.tensors[i], *state->layout, call, log, &found->tensors[i]);
        status != Status::Ok)
      return status;
  found->layout = state->layout;
  return Status::Ok;
}

Status match_layouts(const StateLayout& own, const StateLayout& other, const char* call, const Log& log) {
  const StateTensor* found = nullptr;
  for (const StateTensor& tensor : own.tensors)
    if (const Status status = find_tensor(tensor, other, call, log, &found); status != Status::Ok) return status;
  for (const StateTensor& tensor : other.tensors)
    if (own.find(tensor.name) == nullptr)
      return fail(log, Status::NotFound, format("%s: this State has no '%s'", call, tensor.name.c_str()));
  return Status::Ok;
}

Status ranges_of(const StateLayout& layout, std::string_view name, const StatePart& part, uint64_t given,
                 const char* call, const Log& log, std::vector<StateRange>* ranges) {
  const StateTensor* tensor = layout.find(name);
  if (tensor == nullptr)
    return fail(log, Status::NotFound, format("%s: this State has no '%s'", call, std::string(name).c_str()));
  const auto rank = static_cast<int64_t>(tensor->shape.size());
  const int64_t axis = part.axis < 0 ? part.axis + rank : part.axis;
  if (axis < 0 || axis >= rank)
    return fail(
        log, Status::InvalidArgument,
        format("%s: axis %d of '%s', which has %d", call, part.axis, tensor->name.c_str(), static_cast<int>(rank)));
  const int64_t length = tensor->shape[static_cast<size_t>(axis)];
  const int64_t size = part.size == 0 && part.begin == 0 ? length : part.size;
  if (part.begin < 0 || size < 1 || size > length || part.begin > length - size)
    return fail(
        log, Status::InvalidArgument,
        format("%s: elements %lld + %lld of axis %d of '%s', which has %lld", call, static_cast<long long>(part.begin),
               static_cast<long long>(size), part.axis, tensor->name.c_str(), static_cast<long long>(length)));
  uint64_t outer = 1, inner = size_of(tensor->dtype);  // number of ranges; bytes of one element of the axis
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : static_cast<uint64_t>(tensor->shape[static_cast<size_t>(i)]);
  const uint64_t needed = outer * static_cast<uint64_t>(size) * inner;
  if (given != needed)
    return fail(log, Status::ShapeMismatch,
                format("%s: this part of '%s' has %llu bytes; %llu were given", call, tensor->name.c_str(),
                       static_cast<unsigned long long>(needed), static_cast<unsigned long long>(given)));
  if (size == length) {
    ranges->push_back({tensor->offset, tensor->bytes});
    return Status::Ok;
  }
  ranges->reserve(outer);
  for (uint64_t i = 0; i < outer; ++i)
    ranges->push_back({tensor->offset + (i * static_cast<uint64_t>(length) + static_cast<uint64_t>(part.begin)) * inner,
                       static_cast<uint64_t>(size) * inner});
  return Status::Ok;
}

Status ranges_of_row(const StateLayout& layout, int64_t row, const char* call, const Log& log,
                     std::vector<StateRange>* ranges) {
  for (const StateTensor& tensor : layout.tensors) {
    const int64_t rows = tensor.shape.empty() ? 0 : tensor.shape[0];
    if (row < 0 || row >= rows)
      return fail(log, Status::InvalidArgument,
                  format("%s: row %lld of '%s', which has %lld", call, static_cast<long long>(row), tensor.name.c_str(),
                         static_cast<long long>(rows)));
    const uint64_t bytes = tensor.bytes / static_cast<uint64_t>(rows);
    ranges->push_back({tensor.offset + static_cast<uint64_t>(row) * bytes, bytes});
  }
  return Status::Ok;
}

}  // namespace heed::detail
