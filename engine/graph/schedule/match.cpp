// Assigns offsets to weights, and finds a plan's buffers by name, for all devices.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/arith.hpp"
#include "base/blocks.hpp"
#include "base/find.hpp"
#include "base/float_environment.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"
#include "graph/schedule/weight_parts.hpp"

namespace heed::detail {
namespace {

Status check_source(const HostTensor& tensor, const Log& log, int64_t* elements) {
  const std::string name(tensor.name);
  if (tensor.name.empty()) return fail(log, Status::InvalidArgument, "upload: a tensor has no name");
  if (block_of(tensor.dtype).elements == 0)
    return fail(log, Status::InvalidArgument,
                format("upload: '%s' is of type %d, which is none", name.c_str(), static_cast<int>(tensor.dtype)));
  *elements = 1;
  bool fits = tensor.shape.size() <= static_cast<size_t>(kMaxRank);
  for (int64_t dim : tensor.shape) fits = fits && dim >= 1 && checked_mul(*elements, dim, elements);
  if (!fits || *elements > INT64_MAX / 16)
    return fail(log, Status::InvalidArgument,
                format("upload: '%s' has shape %s; up to %d dims of at least 1 are supported", name.c_str(),
                       shape_text(tensor.shape).c_str(), kMaxRank));
  const TypeBlock block = block_of(tensor.dtype);
  if (is_quantized(tensor.dtype) && (tensor.shape.empty() || tensor.shape.back() % block.elements != 0))
    return fail(log, Status::ShapeMismatch,
                format("upload: '%s' %s %s: rows are no whole blocks of %lld", name.c_str(), to_string(tensor.dtype),
                       shape_text(tensor.shape).c_str(), static_cast<long long>(block.elements)));
  const uint64_t needed = bytes_of(tensor.dtype, static_cast<uint64_t>(*elements));
  if (needed == tensor.data.size()) return Status::Ok;
  return fail(log, Status::ShapeMismatch,
              format("upload: '%s' %s %s needs %llu bytes, %zu were given", name.c_str(), to_string(tensor.dtype),
                     shape_text(tensor.shape).c_str(), static_cast<unsigned long long>(needed), tensor.data.size()));
}

DType stored_as(const HostTensor& tensor, const UploadOptions& options) {
  if (options.keep_dtype || !(is_float(tensor.dtype) || is_quantized(tensor.dtype))) return tensor.dtype;
  return options.only_matrices && tensor.shape.size() < 2 ? DType::F32 : options.dtype;
}

// Writes quantized blocks as a floating-point type, in chunks.
void write_widened(const HostTensor& from, DType type, std::byte* target) {
  constexpr int64_t kSome = 2048;
  float values[kSome];
  const TypeBlock block = block_of(from.dtype);
  const int64_t blocks = static_cast<int64_t>(from.data.size()) / block.bytes;
  for (int64_t done = 0, count = 0; done < blocks; done += count) {
    count = std::min(kSome / block.elements, blocks - done);
    widen_blocks(from.dtype, from.data.data() + done * block.bytes, count, values);
    const auto elements = static_cast<size_t>(count * block.elements);
    convert_floats(values, DType::F32, target, type, elements);
    target += elements * size_of(type);
  }
}

// Adds one entry for a tensor, or several if it is too large.
void add_entries(const HostTensor& tensor, DType dtype, int64_t elements, uint64_t most_bytes,
                 std::vector<WeightsImpl::Entry>* entries) {
  const bool is_matrix = tensor.shape.size() == 2;
  const int64_t rows = is_matrix ? tensor.shape[0] : 1;
  const uint64_t row_bytes = bytes_of(dtype, static_cast<uint64_t>(elements / rows));
  const int64_t each = rows_of_parts(rows, row_bytes, most_bytes);
  for (int64_t begin = 0; begin < rows; begin += each) {
    const int64_t end = std::min(begin + each, rows);
    WeightsImpl::Entry entry;
    entry.name = each < rows ? name_of_part(tensor.name, begin, end) : std::string(tensor.name);
    entry.dtype = dtype;
    entry.shape.assign(tensor.shape.begin(), tensor.shape.end());
    if (is_matrix) entry.shape[0] = end - begin;
    entry.bytes = align_up<uint64_t>(row_bytes * static_cast<uint64_t>(end - begin), 4);
    entry.first_row = begin;
    entries->push_back(std::move(entry));
  }
}

}  // namespace

Status place_weights(std::span<const HostTensor> tensors, const UploadOptions& options, uint64_t alignment,
                     uint64_t most_bytes, const Log& log, std::vector<WeightsImpl::Entry>* entries,
                     std::vector<size_t>* order, uint64_t* bytes) {
  if (!options.keep_dtype && !is_float(options.dtype))
    return fail(log, Status::InvalidArgument,
                format("upload: tensors are converted to f32, f16 or bf16, not to %s", to_string(options.dtype)));
  std::vector<WeightsImpl::Entry> fresh;
  std::vector<size_t> sources;
  for (size_t i = 0; i < tensors.size(); ++i) {
    int64_t elements = 0;
    const Status status = check_source(tensors[i], log, &elements);
    if (status != Status::Ok) return status;
    add_entries(tensors[i], stored_as(tensors[i], options), elements, most_bytes, &fresh);
    sources.resize(fresh.size(), i);
  }
  std::vector<size_t> sorted(fresh.size());
  std::iota(sorted.begin(), sorted.end(), size_t{0});
  std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return fresh[a].name < fresh[b].name; });
  entries->clear();
  order->clear();
  *bytes = 0;
  for (const size_t index : sorted) {
    WeightsImpl::Entry& entry = fresh[index];
    if (!entries->empty() && entries->back().name == entry.name)
      return fail(log, Status::InvalidArgument, "upload: '" + entry.name + "' is given twice");
    entry.offset = align_up(*bytes, alignment);
    *bytes = entry.offset + entry.bytes;
    entries->push_back(std::move(entry));
    order->push_back(sources[index]);
  }
  return Status::Ok;
}

HostTensor rows_of(const HostTensor& source, const WeightsImpl::Entry& entry) {
  if (entry.shape.empty() || entry.shape[0] == source.shape[0]) return source;
  const uint64_t row = source.data.size() / static_cast<uint64_t>(source.shape[0]);
  HostTensor rows = source;
  rows.shape = entry.shape;
  rows.data =
      source.data.subspan(static_cast<uint64_t>(entry.first_row) * row, static_cast<uint64_t>(entry.shape[0]) * row);
  return rows;
}

void convert_weight(const HostTensor& from, const WeightsImpl::Entry& to, std::byte* target) {
  const UsualFloats floats;
  if (from.dtype == to.dtype)
    std::memcpy(target, from.data.data(), from.data.size());
  else if (is_quantized(from.dtype))
    write_widened(from, to.dtype, target);
  else
    convert_floats(from.data.data(), from.dtype, target, to.dtype, from.data.size() / size_of(from.dtype));
}

namespace {

Status check_buffer(const HostBuffer& buffer, const NamedTensor& wanted, DType dtype, uint64_t needed, bool is_output,
                    const Log& log) {
  if (buffer.dtype && *buffer.dtype != dtype)
    return fail(log, Status::DTypeMismatch,
                format("run: '%s' is %s; a buffer of %s was given", wanted.name.c_str(), to_string(dtype),
                       to_string(*buffer.dtype)));
  const bool other_kind = dtype == DType::F32 ? buffer.is_integer : buffer.is_float;
  if (!buffer.raw && (buffer.element_bytes != size_of(dtype) || other_kind))
    return fail(log, Status::DTypeMismatch,
                format("run: '%s' is %s; a buffer of %zu-byte%s elements was given", wanted.name.c_str(),
                       to_string(dtype), buffer.element_bytes,
                       buffer.is_float     ? " float"
                       : buffer.is_integer ? " integer"
                                           : ""));
  if (buffer.bytes < needed)
    return fail(log, Status::BufferTooSmall,
                format("run: '%s' needs %llu bytes, the buffer has %zu", wanted.name.c_str(),
                       static_cast<unsigned long long>(needed), buffer.bytes));
  if (buffer.data == nullptr) return fail(log, Status::InvalidArgument, "run: '" + wanted.name + "' is null");
  if (is_output && !buffer.writable)
    return fail(log, Status::InvalidArgument, "run: output '" + wanted.name + "' was given as const memory");
  return Status::Ok;
}

Status check_outputs_apart(const Schedule& schedule, std::span<const HostBuffer* const> outputs,
                           const RunValues& values, const Log& log) {
  const auto begin = [&](size_t i) { return static_cast<const std::byte*>(outputs[i]->data); };
  const auto end = [&](size_t i) { return begin(i) + schedule.buffer_bytes(schedule.inputs.size() + i, values.sizes); };
  for (size_t i = 1; i < outputs.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (std::less<>()(begin(i), end(j)) && std::less<>()(begin(j), end(i)))
        return fail(log, Status::InvalidArgument,
                    format("run: outputs '%s' and '%s' overlap", schedule.outputs[j].name.c_str(),
                           schedule.outputs[i].name.c_str()));
  return Status::Ok;
}

}  // namespace

Status match_buffers(const Schedule& schedule, std::span<const HostBuffer> buffers, const RunValues& values,
                     const Log& log, std::span<const HostBuffer*> found) {
  const size_t inputs = schedule.inputs.size();
  std::fill(found.begin(), found.end(), nullptr);
  for (const HostBuffer& buffer : buffers) {
    size_t i = 0;
    while (i < found.size() && schedule.buffer(i).name != buffer.name) ++i;
    if (i == found.size())
      return fail(log, Status::NotFound, "run: the plan has no input or output '" + std::string(buffer.name) + "'");
    if (found[i] != nullptr)
      return fail(log, Status::InvalidArgument, "run: '" + std::string(buffer.name) + "' is given twice");
    const NamedTensor& wanted = schedule.buffer(i);
    const TensorInfo& info = schedule.tensors[wanted.tensor];
    const Status status =
        check_buffer(buffer, wanted, info.dtype, schedule.buffer_bytes(i, values.sizes), i >= inputs, log);
    if (status != Status::Ok) return status;
    found[i] = &buffer;
  }
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] == nullptr)
      return fail(
          log, Status::MissingBuffer,
          format("run: %s '%s' was not given", i < inputs ? "input" : "output", schedule.buffer(i).name.c_str()));
  return check_outputs_apart(schedule, found.subspan(inputs), values, log);
}

}  // namespace heed::detail
