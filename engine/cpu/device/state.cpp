#include "cpu/device/state.hpp"

#include <cstring>

#include "base/logging.hpp"
#include "cpu/device/cpu_plan.hpp"

namespace heed::cpu {

const Log& CpuState::log() const { return device_->log; }

Status CpuState::allocate() {
  if (!own_.allocate(layout->bytes))
    return fail(log(), Status::OutOfMemory,
                format("make_state: no memory for %llu bytes", static_cast<unsigned long long>(layout->bytes)));
  data_ = own_.data();
  return clear();
}

Status CpuState::use(std::span<std::byte> memory) {
  if (memory.size() < layout->bytes)
    return fail(log(), Status::BufferTooSmall,
                format("make_state: %llu bytes are needed, %zu were given",
                       static_cast<unsigned long long>(layout->bytes), memory.size()));
  if (reinterpret_cast<uintptr_t>(memory.data()) % kAlignment != 0)
    return fail(log(), Status::InvalidArgument,
                format("make_state: the memory is not aligned to %d bytes", static_cast<int>(kAlignment)));
  data_ = memory.data();
  return Status::Ok;
}

Status CpuState::clear() {
  if (layout->bytes != 0) std::memset(data_, 0, layout->bytes);
  return Status::Ok;
}

Status CpuState::copy(const detail::StateImpl& from) {
  // States of one home and layout have the same type. The host may have given both the same memory.
  if (layout->bytes != 0) std::memmove(data_, static_cast<const CpuState&>(from).data_, layout->bytes);
  return Status::Ok;
}

Status CpuState::copy(const detail::StateImpl& from, std::span<const detail::StateRange> from_ranges,
                      std::span<const detail::StateRange> to_ranges) {
  const std::byte* const source = static_cast<const CpuState&>(from).data_;
  for (size_t i = 0; i < to_ranges.size(); ++i)
    std::memmove(data_ + to_ranges[i].offset, source + from_ranges[i].offset, to_ranges[i].bytes);
  return Status::Ok;
}

Status CpuState::read(std::span<const detail::StateRange> ranges, std::byte* to) {
  for (const detail::StateRange& range : ranges) {
    std::memcpy(to, data_ + range.offset, range.bytes);
    to += range.bytes;
  }
  return Status::Ok;
}

Status CpuState::write(std::span<const detail::StateRange> ranges, const std::byte* from) {
  for (const detail::StateRange& range : ranges) {
    std::memcpy(data_ + range.offset, from, range.bytes);
    from += range.bytes;
  }
  return Status::Ok;
}

}  // namespace heed::cpu
