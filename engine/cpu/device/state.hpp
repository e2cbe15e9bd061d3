// A State in host memory.
#pragma once

#include <memory>

#include "cpu/device/memory.hpp"
#include "graph/schedule/state.hpp"

namespace heed::cpu {

struct Shared;

class CpuState final : public detail::StateImpl {
 public:
  CpuState(std::shared_ptr<const detail::StateLayout> tensors, std::shared_ptr<const Shared> device)
      : StateImpl(std::move(tensors)), device_(std::move(device)) {}

  // allocate makes zeroed memory; use takes the host's, whose contents stay.
  Status allocate();
  Status use(std::span<std::byte> memory);
  std::byte* data() const { return data_; }

  const void* home() const override { return device_.get(); }
  const Log& log() const override;
  Status clear() override;
  Status copy(const detail::StateImpl& from) override;
  Status copy(const detail::StateImpl& from, std::span<const detail::StateRange> from_ranges,
              std::span<const detail::StateRange> to_ranges) override;
  Status read(std::span<const detail::StateRange> ranges, std::byte* to) override;
  Status write(std::span<const detail::StateRange> ranges, const std::byte* from) override;

 private:
  std::shared_ptr<const Shared> device_;
  AlignedBuffer own_;
  std::byte* data_ = nullptr;  // in own_ or in the host's memory
};

}  // namespace heed::cpu
