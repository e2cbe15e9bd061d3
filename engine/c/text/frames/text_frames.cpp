// Steps of a language model inside a host's frames.
#include <heed/text_frames.hpp>

#include "c/text/frames/recorded_step.hpp"
#include "c/text/text_objects.hpp"

using namespace heed::c;

heed_status heed_text_generator_memory_bytes(heed_text_generator* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<TextGenerator> generator(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = heed::vulkan::text_memory_bytes(generator->it());
  return call.status();
}

heed_status heed_text_generator_record_step(heed_text_generator* generator, void* command_buffer,
                                            const heed_buffer_range* range, void* mapped, double budget_ms,
                                            heed_text_part* part) {
  return record_step_of<TextGenerator>(__func__, generator, command_buffer, range, mapped, budget_ms, part);
}

heed_status heed_text_generator_finish_step(heed_text_generator* generator) {
  return finish_step_of<TextGenerator>(__func__, generator);
}
