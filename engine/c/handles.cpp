#include "c/handles.hpp"

#include <mutex>
#include <new>

namespace heed::c {
namespace {

// Bits of a handle, from the lowest: kind, index, generation, and a 1, which no address of a process has.
constexpr int kBits = sizeof(uintptr_t) * 8;
constexpr int kKindBits = 5, kIndexBits = kBits >= 64 ? 22 : 16, kGenerationBits = kBits >= 64 ? 31 : 10;
constexpr uint64_t kGenerations = uint64_t{1} << kGenerationBits;
constexpr uint64_t kClosed = uint64_t{1} << 31, kUses = kClosed - 1;
constexpr uint32_t kChunk = 1024, kChunks = (1u << kIndexBits) / kChunk;

// Slots are allocated in chunks that do not move; they are never freed, and no code runs at exit.
constinit std::atomic<Slot*> chunks[kChunks];
std::mutex mutex;  // for the two below; constant-initialized except with MinGW's C++ library
constinit uint32_t slot_count = 0;
constinit Slot* free_slots = nullptr;

Slot* fresh_slot() {
  if (free_slots != nullptr) {
    Slot* slot = free_slots;
    free_slots = slot->next_free;
    return slot;
  }
  if (slot_count == kChunk * kChunks) return nullptr;
  if (slot_count % kChunk == 0) {
    Slot* chunk = new (std::nothrow) Slot[kChunk];
    if (chunk == nullptr) return nullptr;
    for (uint32_t i = 0; i < kChunk; ++i) {
      chunk[i].index = slot_count + i;
      chunk[i].word = kClosed;  // generation 0, which no handle has
    }
    chunks[slot_count / kChunk].store(chunk, std::memory_order_release);
  }
  Slot* slot = &chunks[slot_count / kChunk].load(std::memory_order_relaxed)[slot_count % kChunk];
  ++slot_count;
  return slot;
}

uint64_t generation_of(uint64_t word) { return word >> 32; }

// The slot of a handle, and its generation; null if the handle is invalid.
Slot* find(uintptr_t handle, Kind kind, uint64_t* generation, const char** why) {
  *why = "is NULL";
  if (handle == 0) return nullptr;
  *why = "is no handle of heed";
  if (handle >> (kBits - 1) == 0) return nullptr;
  const auto index = static_cast<uint32_t>((handle >> kKindBits) & ((uintptr_t{1} << kIndexBits) - 1));
  *generation = (handle >> (kKindBits + kIndexBits)) & (kGenerations - 1);
  Slot* chunk = chunks[index / kChunk].load(std::memory_order_acquire);
  const auto given = static_cast<Kind>(handle & ((1u << kKindBits) - 1));
  if (chunk == nullptr || *generation == 0 || given == Kind::None || given > Kind::SpeechText) return nullptr;
  *why = "is a handle of another kind";
  if (given != kind) return nullptr;
  *why = "was destroyed";
  return &chunk[index % kChunk];
}

// Destroys the object of a closed slot that no call uses, and frees the slot.
void clear(Slot* slot) {
  slot->drop(slot->object);
  slot->object = nullptr;
  const std::lock_guard lock(mutex);
  slot->next_free = free_slots;
  free_slots = slot;
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::None: break;
    case Kind::Blob: return "blob";
    case Kind::Device: return "device";
    case Kind::DeviceList: return "device list";
    case Kind::Weights: return "weights";
    case Kind::SelfTestReport: return "self-test report";
    case Kind::TuningReport: return "tuning report";
    case Kind::Graph: return "graph";
    case Kind::Plan: return "plan";
    case Kind::Run: return "run";
    case Kind::State: return "state";
    case Kind::Checkpoint: return "checkpoint";
    case Kind::DecoderModel: return "decoder model";
    case Kind::Tokenizer: return "tokenizer";
    case Kind::AttentionMap: return "attention map";
    case Kind::TextEncoder: return "text encoder";
    case Kind::TextGenerator: return "text generator";
    case Kind::Conversation: return "conversation";
    case Kind::Submitter: return "submitter";
    case Kind::Optimizer: return "optimizer";
    case Kind::OnnxModel: return "ONNX model";
    case Kind::BitsReport: return "bits report";
    case Kind::SpeechRecognizer: return "speech recognizer";
    case Kind::SpeechStream: return "speech stream";
    case Kind::SpeechText: return "speech text";
  }
  return "handle";
}

uintptr_t make_handle(Kind kind, void* object, void (*drop)(void* object)) {
  const std::lock_guard lock(mutex);
  Slot* slot = fresh_slot();
  if (slot == nullptr) return 0;
  slot->kind = kind;
  slot->object = object;
  slot->drop = drop;
  const uint64_t generation = generation_of(slot->word.load(std::memory_order_relaxed)) % (kGenerations - 1) + 1;
  slot->word.store(generation << 32, std::memory_order_release);
  return (uintptr_t{1} << (kBits - 1)) | static_cast<uintptr_t>(generation) << (kKindBits + kIndexBits) |
         static_cast<uintptr_t>(slot->index) << kKindBits | static_cast<uintptr_t>(kind);
}

Slot* pin(uintptr_t handle, Kind kind, const char** why) {
  uint64_t generation = 0;
  Slot* slot = find(handle, kind, &generation, why);
  if (slot == nullptr) return nullptr;
  uint64_t word = slot->word.load(std::memory_order_acquire);
  do {
    if (generation_of(word) != generation || (word & kClosed) != 0) return nullptr;
  } while (!slot->word.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel));
  if (slot->kind == kind) return slot;
  unpin(slot);  // the slot's handle is of another kind, so heed did not make this one
  *why = "is no handle of heed";
  return nullptr;
}

void unpin(Slot* slot) {
  const uint64_t before = slot->word.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kClosed) != 0 && (before & kUses) == 1) clear(slot);
}

bool close(uintptr_t handle, Kind kind, const char** why) {
  // The pin keeps the object alive until the slot is marked, even if other calls destroy it at the same time.
  Slot* slot = pin(handle, kind, why);
  if (slot == nullptr) return false;
  const bool is_mine = (slot->word.fetch_or(kClosed, std::memory_order_acq_rel) & kClosed) == 0;
  unpin(slot);
  *why = "was destroyed";
  return is_mine;
}

}  // namespace heed::c
