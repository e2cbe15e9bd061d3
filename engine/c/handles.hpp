// The live handles of the C interface. A handle is a number: a kind, a place in a table, and a generation that tells an object from
// those that had its place before, so that what a caller does with a handle can never reach memory that is not there.
//
// Looking a handle up takes no lock, since heed_plan_record takes none. While a call uses an object, the object is pinned:
// a handle that is destroyed meanwhile leaves it to the last call.
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

// One place in the table.
struct Slot {
  // The generation in the upper half; 1 in bit 31 once the handle is destroyed; below that how many calls use the object.
  std::atomic<uint64_t> word{0};
  Kind kind = Kind::None;
  void* object = nullptr;
  void (*drop)(void* object) = nullptr;
  Slot* next_free = nullptr;
  uint32_t index = 0;
};

// The handle of a new object, which `drop` destroys; 0 if the table is full.
uintptr_t make_handle(Kind kind, void* object, void (*drop)(void* object));
// The object's slot, pinned; null if there is no such object, and *why then says so: "is NULL", "was destroyed", ...
Slot* pin(uintptr_t handle, Kind kind, const char** why);
void unpin(Slot* slot);
// Destroys the handle, and the object as soon as no call uses it. False as for pin.
bool close(uintptr_t handle, Kind kind, const char** why);

}  // namespace heed::c
