// Binds the host's buffers for one recording: finds them by name, checks them, and converts them to descriptor ranges. Allocates only to
// log a failure.
#include <algorithm>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "vulkan/memory/host_range.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {
namespace {

using ull = unsigned long long;

}  // namespace

Status VulkanPlan::bind_host_buffers(std::span<const Buffer> buffers, Slot& slot) const {
  std::fill(slot.bound.begin(), slot.bound.end(), BoundRange{});
  for (const Buffer& buffer : buffers) {
    size_t index = 0;
    while (index < host_count() && schedule_.buffer(index).name != buffer.name) ++index;
    if (index == host_count())
      return fail(context_.log, Status::NotFound,
                  format("record: the plan has no input or output '%.*s'", static_cast<int>(buffer.name.size()),
                         buffer.name.data()));
    if (slot.bound[index].buffer != VK_NULL_HANDLE)
      return fail(context_.log, Status::InvalidArgument,
                  format("record: '%s' is given twice", schedule_.buffer(index).name.c_str()));
    const Status status = bind_host_buffer(index, buffer, slot);
    if (status != Status::Ok) return status;
  }
  for (size_t i = 0; i < host_count(); ++i) {
    if (slot.bound[i].buffer == VK_NULL_HANDLE)
      return fail(context_.log, Status::MissingBuffer,
                  format("record: %s '%s' was not given", i < schedule_.inputs.size() ? "input" : "output",
                         schedule_.buffer(i).name.c_str()));
  }
  for (size_t i = schedule_.inputs.size(); i < host_count(); ++i) {
    const Status status = check_overlaps(i, slot);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

uint64_t VulkanPlan::host_begin(size_t index, const Slot& slot) const {
  const TensorInfo& info = schedule_.tensors[schedule_.buffer(index).tensor];
  return slot.bound[index].offset + static_cast<uint64_t>(slot.storage_offsets[info.storage]) * size_of(info.dtype);
}

// Checked because passes may still read inputs, and write other outputs, after another pass began to write this one.
Status VulkanPlan::check_overlaps(size_t output, const Slot& slot) const {
  const auto begin = [&](size_t index) { return host_begin(index, slot); };
  const uint64_t from = begin(output), to = from + schedule_.buffer_bytes(output, slot.sizes);
  for (size_t i = 0; i < host_count(); ++i) {
    if (i == output || slot.bound[i].buffer != slot.bound[output].buffer) continue;
    if (from < begin(i) + schedule_.buffer_bytes(i, slot.sizes) && begin(i) < to)
      return fail(context_.log, Status::InvalidArgument,
                  format("record: output '%s' overlaps '%s': both begin in one buffer, at %llu and %llu",
                         schedule_.buffer(output).name.c_str(), schedule_.buffer(i).name.c_str(),
                         static_cast<ull>(from), static_cast<ull>(begin(i))));
  }
  return Status::Ok;
}

Status VulkanPlan::bind_host_buffer(size_t index, const Buffer& buffer, Slot& slot) const {
  const char* name = schedule_.buffer(index).name.c_str();
  const TensorInfo& info = schedule_.tensors[schedule_.buffer(index).tensor];
  if (buffer.buffer == VK_NULL_HANDLE)
    return fail(context_.log, Status::InvalidArgument, format("record: the VkBuffer of '%s' is null", name));
  const uint64_t unit = std::max<uint64_t>(size_of(info.dtype), info.dtype == DType::U8 ? 4 : 1);
  if (buffer.offset % unit != 0)
    return fail(context_.log, Status::InvalidArgument,
                format("record: offset %llu of '%s' is no multiple of %llu", static_cast<ull>(buffer.offset), name,
                       static_cast<ull>(unit)));
  // Rounded up to whole words, since kernels may read elements of one or two bytes as parts of words.
  const uint64_t needed =
      align_up<uint64_t>(buffer.offset % 4 + schedule_.buffer_bytes(index, slot.sizes), 4) - buffer.offset % 4;
  if (buffer.offset > UINT64_MAX - needed)
    return fail(context_.log, Status::BufferTooSmall,
                format("record: offset %llu of '%s' is beyond any buffer", static_cast<ull>(buffer.offset), name));
  const bool whole = buffer.bytes == VK_WHOLE_SIZE;
  const uint64_t given = whole ? most_bytes(context_, buffer.buffer, buffer.offset) : buffer.bytes;
  if (given < needed)
    return fail(context_.log, Status::BufferTooSmall,
                format(whole ? "record: '%s' needs %llu bytes; its VkBuffer has at most %llu from the offset on"
                             : "record: '%s' needs %llu bytes, %llu were given",
                       name, static_cast<ull>(needed), static_cast<ull>(given)));
  // Descriptor offsets must be aligned. The remainder is passed to kernels as an offset in elements.
  const uint64_t rest = buffer.offset % context_.capabilities.storage_alignment;
  const uint64_t range = rest + needed;
  if (range > context_.capabilities.max_storage_range)
    return fail(context_.log, Status::Unsupported,
                format("record: '%s' needs a range of %llu bytes; the device binds at most %llu", name,
                       static_cast<ull>(range), static_cast<ull>(context_.capabilities.max_storage_range)));
  slot.bound[index] = {buffer.buffer, buffer.offset - rest, range};
  slot.storage_offsets[info.storage] = static_cast<int64_t>(rest / size_of(info.dtype));
  return Status::Ok;
}

}  // namespace heed::vulkan
