// heed for any language: its whole interface in C99, with handles and plain values.
//
//   heed_device* device = NULL;
//   heed_status s = heed_device_open(NULL, &device);        // the best GPU, else the CPU
//   if (s != HEED_OK) fprintf(stderr, "%s: %s\n", heed_status_text(s), heed_last_message());
//
// The parts below are the manual; README.md beside this file has a whole program.
//
// Handles. A heed_device*, heed_plan* and so on is made by one call and passed to its _destroy function in the end. The order does not
// matter: a plan keeps its device and weights alive. Destroying NULL does nothing. A handle is a number that heed looks up, never an
// address. A call that gets NULL, a destroyed handle, one of another kind, or anything else that is no handle, returns
// HEED_INVALID_ARGUMENT, and heed_last_message() names it. A call that makes a handle writes NULL if it fails.
//
// Options. A struct of options has an _init function that fills it with the defaults; a call that gets NULL uses these. Its `size`, which
// _init sets, must be that of the library, or the call returns HEED_INVALID_ARGUMENT. Other structs that begin with `size` have no _init:
// the caller sets `size` to the sizeof of the struct, and 0 in members that are not given.
//
// Texts are UTF-8 with a 0 at the end; arguments are read during the call only. Arrays come with their number of elements, and may be NULL
// if that is 0. The comment of a call says how long a returned pointer is valid. When a call fills the caller's array, `capacity` is its
// size and *count becomes the number of elements. If capacity is too small, the call returns HEED_BUFFER_TOO_SMALL with *count set and the
// array unchanged, so a first call with capacity 0 gives the size.
//
// Threads. Calls may come from any thread, for different objects at the same time. Devices, weights, plans, states, files and tokenizers
// may be used by several threads at once, within the limits that their functions state. Graphs, optimizers, started runs, text encoders, a
// text generator with all its conversations, and a speech recognizer with all its streams serve one thread at a time: a second call at the
// same time returns HEED_INVALID_ARGUMENT. A handle may be destroyed while another thread is in a call with it; the object is freed when
// the call returns. Callbacks run on the calling thread, within the call. Exceptions, if the host gives them, are heed_log with any_thread,
// heed_parallel_for, and heed_custom_pass::cpu in started runs, which other threads call.
//
// heed never throws, aborts or exits.
#ifndef HEED_C_HEED_H
#define HEED_C_HEED_H

#include <heed/c/base.h>
#include <heed/c/device.h>
#include <heed/c/files.h>
#include <heed/c/graph.h>
#include <heed/c/models.h>
#include <heed/c/nn.h>
#include <heed/c/onnx.h>
#include <heed/c/plan.h>
#include <heed/c/speech.h>
#include <heed/c/state.h>
#include <heed/c/text.h>
#include <heed/c/train.h>
#include <heed/c/vulkan.h>

#endif
