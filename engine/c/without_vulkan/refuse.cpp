// Replaces c/vulkan in builds without the Vulkan device: all functions return Unsupported.
#include "c/call.hpp"

namespace {

heed_status refuse(const char* function) {
  return heed::c::Call(function).fail(HEED_UNSUPPORTED, "heed was built without its Vulkan device");
}
// Functions that make handles write NULL.
template <class Handle>
heed_status refuse(const char* function, Handle** handle) {
  if (handle != nullptr) *handle = nullptr;
  return refuse(function);
}

}  // namespace

int32_t heed_has_vulkan(void) { return 0; }

heed_status heed_device_adopt(const heed_host_device*, heed_device** device) { return refuse(__func__, device); }
heed_status heed_device_gone(heed_device*) { return refuse(__func__); }
heed_status heed_plan_scratch_needs(heed_plan*, heed_buffer_needs*) { return refuse(__func__); }
heed_status heed_plan_bind_scratch(heed_plan*, const heed_buffer_range*) { return refuse(__func__); }
heed_status heed_plan_state_needs(heed_plan*, heed_buffer_needs*) { return refuse(__func__); }
heed_status heed_plan_make_state_at(heed_plan*, const heed_buffer_range*, heed_state** state) {
  return refuse(__func__, state);
}
heed_status heed_device_upload_needs(heed_device*, const heed_host_tensor*, size_t, const heed_upload_options*,
                                     heed_buffer_needs*) {
  return refuse(__func__);
}
heed_status heed_device_upload_at(heed_device*, const heed_host_tensor*, size_t, const heed_upload_options*,
                                  const heed_buffer_range*, void*, heed_weights** weights) {
  return refuse(__func__, weights);
}
heed_status heed_device_memory_budget(heed_device*, heed_heap_budget*, size_t, size_t*) { return refuse(__func__); }
heed_status heed_plan_record(heed_plan*, void*, const heed_record_info*) { return refuse(__func__); }
heed_status heed_plan_sync_needs(heed_plan*, heed_sync_needs*) { return refuse(__func__); }
heed_status heed_plan_take_faults(heed_plan*, uint32_t) { return refuse(__func__); }
heed_status heed_plan_last_completed(heed_plan*, uint32_t, int32_t*) { return refuse(__func__); }
heed_status heed_plan_record_some(heed_plan*, void*, const heed_record_info*, double, heed_cursor*) {
  return refuse(__func__);
}
heed_status heed_plan_estimate(heed_plan*, const heed_extent_value*, size_t, const heed_cursor*, heed_estimate*) {
  return refuse(__func__);
}
heed_status heed_state_record_clear(heed_state*, void*) { return refuse(__func__); }
heed_status heed_state_record_copy(heed_state*, heed_state*, void*) { return refuse(__func__); }
heed_status heed_submitter_options_init(heed_submitter_options*) { return refuse(__func__); }
heed_status heed_submitter_create(heed_device*, const heed_submitter_options*, heed_submitter** submitter) {
  return refuse(__func__, submitter);
}
heed_status heed_submitter_destroy(heed_submitter* submitter) {
  return submitter == nullptr ? HEED_OK : refuse(__func__);
}
heed_status heed_submitter_submit(heed_submitter*, heed_plan*, const heed_record_info*, uint32_t*) {
  return refuse(__func__);
}
heed_status heed_submitter_poll(heed_submitter*, uint32_t) { return refuse(__func__); }
heed_status heed_submitter_wait(heed_submitter*, uint32_t) { return refuse(__func__); }
heed_status heed_text_generator_memory_bytes(heed_text_generator*, uint64_t*) { return refuse(__func__); }
heed_status heed_text_generator_record_step(heed_text_generator*, void*, const heed_buffer_range*, void*, double,
                                            heed_text_part*) {
  return refuse(__func__);
}
heed_status heed_text_generator_finish_step(heed_text_generator*) { return refuse(__func__); }
heed_status heed_speech_recognizer_memory_bytes(heed_speech_recognizer*, uint64_t*) { return refuse(__func__); }
heed_status heed_speech_recognizer_record_step(heed_speech_recognizer*, void*, const heed_buffer_range*, void*, double,
                                               heed_text_part*) {
  return refuse(__func__);
}
heed_status heed_speech_recognizer_finish_step(heed_speech_recognizer*) { return refuse(__func__); }
