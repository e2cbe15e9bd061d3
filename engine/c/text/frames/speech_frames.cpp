// Steps of a speech recognizer inside a host's frames.
#include <heed/speech_frames.hpp>

#include "c/text/frames/recorded_step.hpp"
#include "c/text/speech_objects.hpp"

using namespace heed::c;

heed_status heed_speech_recognizer_memory_bytes(heed_speech_recognizer* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<SpeechRecognizer> recognizer(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = heed::vulkan::speech_memory_bytes(recognizer->it());
  return call.status();
}

heed_status heed_speech_recognizer_record_step(heed_speech_recognizer* recognizer, void* command_buffer,
                                               const heed_buffer_range* range, void* mapped, double budget_ms,
                                               heed_text_part* part) {
  return record_step_of<SpeechRecognizer>(__func__, recognizer, command_buffer, range, mapped, budget_ms, part);
}

heed_status heed_speech_recognizer_finish_step(heed_speech_recognizer* recognizer) {
  return finish_step_of<SpeechRecognizer>(__func__, recognizer);
}
