// Records steps of a model T, which is a language model or a speech recognizer, into a host's frames.
#pragma once

#include <heed/text_frames.hpp>

#include "c/call.hpp"
#include "c/vulkan/convert.hpp"

namespace heed::c {

template <class T>
heed_status record_step_of(const char* function, typename T::Handle* handle, void* command_buffer,
                           const heed_buffer_range* range, void* mapped, double budget_ms, heed_text_part* part) {
  Call call(function);
  const Pin<T> model(call, handle);
  call.has(command_buffer, "command_buffer");
  const heed::vulkan::TextMemory memory = {range_of(call, range), static_cast<std::byte*>(mapped)};
  Wanted<heed_text_part> wanted(call, part, "part");
  if (call.failed()) return call.status();
  heed::vulkan::TextPart made;
  const heed::Status status =
      heed::vulkan::record_step(model->it(), static_cast<VkCommandBuffer>(command_buffer), memory, budget_ms, &made);
  if (call.end(status, model->host()) != HEED_OK) return call.status();
  heed_text_part to = {};
  to.milliseconds = made.milliseconds;
  to.recorded = made.recorded;
  to.complete = made.complete;
  wanted.set(to);
  return call.status();
}

template <class T>
heed_status finish_step_of(const char* function, typename T::Handle* handle) {
  Call call(function);
  const Pin<T> model(call, handle);
  return call.failed() ? call.status() : call.end(heed::vulkan::finish_step(model->it()), model->host());
}

}  // namespace heed::c
