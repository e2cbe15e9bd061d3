// The live handles of the C interface. A handle is a number: a kind, an index in a table, and a generation that distinguishes an object
// from earlier ones at the same index. So a wrong handle is always detected, and never accesses freed memory.
//
// Looking a handle up takes no lock, since heed_plan_record must take none. While a call uses an object, the object is pinned: if the
// handle is destroyed meanwhile, the last call destroys the object.
#pragma once

#include <atomic>
#include <cstdint>

namespace heed::c {

enum class Kind : uint8_t {
  None,
  Blob,
  Device,
  DeviceList,
  Weights,
  SelfTestReport,
  TuningReport,
  Graph,
  Plan,
  Run,
  State,
  Checkpoint,
  DecoderModel,
  Tokenizer,
  AttentionMap,
  TextEncoder,
  TextGenerator,
  Conversation,
  Submitter,
  Optimizer,
  OnnxModel,
  BitsReport,
  SpeechRecognizer,
  SpeechStream,
  SpeechText,
};
const char* to_string(Kind kind);  // "device", for messages

// One entry of the table.
struct Slot {
  // The generation in the upper half; bit 31 is 1 once the handle is destroyed; the bits below count the calls that use the object.
  std::atomic<uint64_t> word{0};
  Kind kind = Kind::None;
  void* object = nullptr;
  void (*drop)(void* object) = nullptr;
  Slot* next_free = nullptr;
  uint32_t index = 0;
};

// Makes a handle for a new object, which `drop` destroys; 0 if the table is full.
uintptr_t make_handle(Kind kind, void* object, void (*drop)(void* object));
// Returns the object's slot, pinned; null if there is no such object, with the reason in *why: "is NULL", "was destroyed", ...
Slot* pin(uintptr_t handle, Kind kind, const char** why);
void unpin(Slot* slot);
// Destroys the handle, and the object as soon as no call uses it. False, with *why, if there is no such object.
bool close(uintptr_t handle, Kind kind, const char** why);

}  // namespace heed::c
