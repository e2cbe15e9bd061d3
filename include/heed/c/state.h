// States: tensors that stay on a device from run to run, such as caches of keys and values.
//
// One run, or one call below, may use a state at a time; a second one at the same time returns InvalidArgument. On Vulkan the calls submit
// to the device's queue and wait (Unsupported if the host gave none).
#ifndef HEED_C_STATE_H
#define HEED_C_STATE_H

#include <heed/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a state, all zero, for the states that the plan's graph declares. OutOfMemory, OutOfDeviceMemory, DeviceLost.
HEED_API heed_status heed_plan_make_state(heed_plan* plan, heed_state** state);
// The same in the host's memory, whose contents become the state's. CPU device only. `bytes` is at least heed_plan_state_bytes, and the
// memory is aligned to 64 bytes. It must outlive the state and all runs with it.
HEED_API heed_status heed_plan_make_state_in(heed_plan* plan, void* memory, size_t bytes, heed_state** state);
// Makes a state with a copy of the contents of another one with the same tensors, on the device, as when a conversation forks.
HEED_API heed_status heed_plan_fork_state(heed_plan* plan, heed_state* from, heed_state** state);
HEED_API heed_status heed_state_destroy(heed_state* state);

HEED_API heed_status heed_state_bytes(heed_state* state, uint64_t* bytes);  // memory of the tensors
HEED_API heed_status heed_state_clear(heed_state* state);                   // sets all elements to zero
// Copies the contents of another state of the same device. NotFound, ShapeMismatch, DTypeMismatch: tensors differ, and nothing was copied.
HEED_API heed_status heed_state_copy(heed_state* state, heed_state* from);
// Copies one row (index of the first axis) of all tensors of another state, or of this one.
HEED_API heed_status heed_state_copy_row(heed_state* state, heed_state* from, int64_t from_row, int64_t to_row);

// Saves all tensors with their names, shapes, types and a checksum; any device can load them.
HEED_API heed_status heed_state_save(heed_state* state, heed_blob** blob);
// Loads a saved state. InvalidFile: damaged, or no saved state. NotFound, ShapeMismatch, DTypeMismatch: its tensors differ from this
// state's. On failure nothing was written.
HEED_API heed_status heed_state_load(heed_state* state, const void* data, size_t bytes);

// Elements begin .. begin + count of an axis; all of the axis if `count` is 0. Negative axes count from the end.
typedef struct heed_state_part {
  int64_t begin, count;
  int32_t axis;
  int32_t reserved;  // 0
} heed_state_part;
// Read or write a tensor, or a part of it (NULL: all), contiguous and row-major, of exactly this many bytes (ShapeMismatch). NotFound:
// there is no such tensor.
HEED_API heed_status heed_state_read(heed_state* state, const char* name, const heed_state_part* part, void* to,
                                     size_t bytes);
HEED_API heed_status heed_state_write(heed_state* state, const char* name, const heed_state_part* part,
                                      const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
