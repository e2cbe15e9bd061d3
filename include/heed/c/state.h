// States: tensors that stay on a device from run to run, such as caches of keys and values.
//
// One run or call below may use a state at a time; another beside it returns InvalidArgument. On Vulkan the calls submit to
// the device's queue and wait (Unsupported if the host gave none).
#ifndef HEED_C_STATE_H
#define HEED_C_STATE_H

#include <heed/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Makes a state for the states that the plan's graph names, all zero. OutOfMemory, OutOfDeviceMemory, DeviceLost.
HEED_API heed_status heed_plan_make_state(heed_plan* plan, heed_state** state);
// The same in the host's memory, whose contents it takes over, for the CPU device: at least heed_plan_state_bytes, aligned to
// 64. The memory must outlive the state and all runs with it.
HEED_API heed_status heed_plan_make_state_in(heed_plan* plan, void* memory, size_t bytes, heed_state** state);
// Makes a state with the contents of another one of the same tensors, copied on the device: a conversation forks.
HEED_API heed_status heed_plan_fork_state(heed_plan* plan, heed_state* from, heed_state** state);
HEED_API heed_status heed_state_destroy(heed_state* state);

HEED_API heed_status heed_state_bytes(heed_state* state, uint64_t* bytes);  // memory of the tensors
HEED_API heed_status heed_state_clear(heed_state* state);                   // makes all zero
// Takes the contents of another state of the same device. NotFound, ShapeMismatch, DTypeMismatch: tensors differ, and nothing
// was copied.
HEED_API heed_status heed_state_copy(heed_state* state, heed_state* from);
// Takes one row, of an index of all tensors' first axis, of another state or of this one.
HEED_API heed_status heed_state_copy_row(heed_state* state, heed_state* from, int64_t from_row, int64_t to_row);

// All tensors with their names, shapes, types and a checksum, for any device.
HEED_API heed_status heed_state_save(heed_state* state, heed_blob** blob);
// InvalidFile: damaged, or no saved state. NotFound, ShapeMismatch, DTypeMismatch: of other tensors. Nothing was written then.
HEED_API heed_status heed_state_load(heed_state* state, const void* data, size_t bytes);

// Elements begin .. begin + count of an axis; all of the axis if `count` is 0. Negative axes count from the end.
typedef struct heed_state_part {
  int64_t begin, count;
  int32_t axis;
  int32_t reserved;  // 0
} heed_state_part;
// A tensor, or a part of it (NULL: all), contiguous and row-major, of exactly this many bytes (ShapeMismatch). NotFound:
// there is no such tensor.
HEED_API heed_status heed_state_read(heed_state* state, const char* name, const heed_state_part* part, void* to,
                                     size_t bytes);
HEED_API heed_status heed_state_write(heed_state* state, const char* name, const heed_state_part* part,
                                      const void* from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
