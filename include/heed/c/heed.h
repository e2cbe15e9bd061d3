// heed from any language: all of it in C99, with handles and plain values.
//
//   heed_device* device = NULL;
//   heed_status s = heed_device_open(NULL, &device);        // the best GPU, else the CPU
//   if (s != HEED_OK) fprintf(stderr, "%s: %s\n", heed_status_text(s), heed_last_message());
//
// The parts below are the manual; README.md beside this file has a whole program.
//
// Handles. A heed_device*, heed_plan* and so on is made by one call and given back to its _destroy function, in any order:
// what a plan needs of its device and weights stays until the plan is destroyed, too. Destroying NULL does nothing. A handle
// is a number that heed looks up, and never an address. A call that is given NULL, a handle that was destroyed, one of another
// kind, or anything else that is no handle, returns HEED_INVALID_ARGUMENT, and heed_last_message() names it. Where a call
// makes a handle, it writes NULL if it fails.
//
// Options. A struct of options has an _init function that fills it with the defaults; a call that gets NULL takes these. Its `size`,
// which _init sets, must be that of the library, or the call returns HEED_INVALID_ARGUMENT. Other structs that begin with `size`
// have no _init: zeros are what is not given, and the caller sets `size` to the sizeof of the struct.
//
// Texts are UTF-8 with a 0 at the end; given ones are read during the call only. Arrays come with their number of elements, and
// may be NULL if that is 0. What a call gives as `const char*` or as another pointer says how long it is valid. Where an
// array of the caller's is filled, `capacity` is how many elements it has and *count becomes how many there are;
// HEED_BUFFER_TOO_SMALL, with *count set and the array unchanged, if it has too few. So a first call with capacity 0 asks.
//
// Threads. Calls may come from any thread, for different objects at the same time. Devices, weights, plans, states, files and
// tokenizers may be used by several threads at once, as far as their functions say. Graphs, optimizers, started runs, text
// encoders, a text generator with all its conversations, and a speech recognizer with all its streams serve one thread at a time: a call
// beside another one returns HEED_INVALID_ARGUMENT. A handle may be destroyed while another thread is in a call with it; the object goes
// when the call returns. heed calls back on the calling thread, within the call. Three functions are called on other threads, and only if
// they are given: heed_log with any_thread, heed_parallel_for, and heed_custom_pass::cpu where a run is started.
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
