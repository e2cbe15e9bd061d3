// Steps of a language model inside a host's frames.
#include <heed/text_frames.hpp>

#include "c/text/text_objects.hpp"
#include "c/vulkan/convert.hpp"

using namespace heed::c;

heed_status heed_text_generator_memory_bytes(heed_text_generator* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = heed::vulkan::text_memory_bytes(generator->it());
  return call.status();
}

heed_status heed_text_generator_record_step(heed_text_generator* handle, void* command_buffer,
                                            const heed_buffer_range* range, void* mapped, double budget_ms,
                                            heed_text_part* part) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  call.has(command_buffer, "command_buffer");
  const heed::vulkan::TextMemory memory = {range_of(call, range), static_cast<std::byte*>(mapped)};
  Wanted<heed_text_part> wanted(call, part, "part");
  if (call.failed()) return call.status();
  heed::vulkan::TextPart made;
  const heed::Status status = heed::vulkan::record_step(generator->it(), static_cast<VkCommandBuffer>(command_buffer),
                                                        memory, budget_ms, &made);
  if (call.end(status, generator->host()) != HEED_OK) return call.status();
  heed_text_part to = {};
  to.milliseconds = made.milliseconds;
  to.recorded = made.recorded;
  to.complete = made.complete;
  wanted.set(to);
  return call.status();
}

heed_status heed_text_generator_finish_step(heed_text_generator* handle) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  return call.failed() ? call.status() : call.end(heed::vulkan::finish_step(generator->it()), generator->host());
}
