// The kinds of work that heed::tune times. Each adds results to `found` and to the report until the deadline, at least for one size; matmul
// for one of each storage type.
#pragma once

#include <chrono>
#include <heed/tuning.hpp>
#include <vector>

#include "kernels/choose/tuning.hpp"

namespace heed::vulkan {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(Clock::time_point end) : end_(end) {}
  bool passed() const { return Clock::now() >= end_; }

 private:
  Clock::time_point end_;
};

Status tune_products(Device& device, const Deadline& deadline, Tuning* found, std::vector<TunedProduct>* products);
Status tune_attentions(Device& device, const Deadline& deadline, Tuning* found,
                       std::vector<TunedAttention>* attentions);

}  // namespace heed::vulkan
