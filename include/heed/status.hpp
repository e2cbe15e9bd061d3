// Error and logging contract of heed.
//
// Every call that can fail returns a Status. heed never throws, aborts or exits; the text that belongs to a
// failure (operation, tensor name, both shapes, the VkResult by name) goes to the Log that the host gave, by default
// stderr, and to last_message().
//
//   heed::Status s = plan.run(buffers);
//   if (s != heed::Status::Ok) show(heed::to_string(s), heed::last_message());
#pragma once

#include <cstdint>

#include <heed/export.hpp>

namespace heed {

// The result of a call. last_message() has the text of a failure.
enum class [[nodiscard]] Status : uint8_t {
  Ok,
  InvalidArgument,   // a parameter is outside its documented range
  InvalidGraph,      // the graph carries a mistake made while it was built
  ShapeMismatch,     // shapes that must agree do not
  DTypeMismatch,     // element types that must agree do not
  MissingWeight,     // the graph names a weight that the Weights do not hold
  MissingBuffer,     // an input or output of the plan was not bound
  ExtentOutOfRange,  // an extent is below 1, above the maximum it was declared with, or not given
  BufferTooSmall,    // a bound buffer holds fewer bytes than the tensor needs
  IndexOutOfRange,   // an embedding id lies outside its table, or an index of append or take beyond the end
  NotFound,          // no device, file or name matches
  Unsupported,       // valid, but this device or this version cannot do it
  OutOfMemory,       // host memory
  OutOfDeviceMemory,
  DeviceLost,   // the GPU stopped; the same graph can be compiled for the CPU
  InvalidFile,  // damaged or hostile file content
  DriverError,  // Vulkan returned an error that has no closer name here
  NotReady,     // some pipelines of the plan were not made yet; see Plan::prepare
  FileError,    // a file cannot be written: the disk is full, or the folder is not there
};

// The enumerator's name, e.g. "ShapeMismatch". Never null; static storage.
HEED_API const char* to_string(Status status);

// The severity of a message.
enum class LogLevel : uint8_t { Debug, Info, Warning, Error };

// The message of the last failure on this thread: operation, names, both values. "" if none has failed. Never null; valid until the next
// failure on this thread, and truncated to 4095 bytes. A successful call may change it, too, if it tried something that failed first.
HEED_API const char* last_message();

// Writes "heed: warning: ..." and a newline to stderr. `user` is not used.
HEED_API void write_to_stderr(void* user, LogLevel level, const char* message);

// Where messages go: by default warnings and errors to stderr. A plain value that may be copied. `callback` may be called
// from any thread that calls heed and from heed's own worker threads; `message` is only valid during the call. If it is
// null, messages are discarded.
struct Log {
  void (*callback)(void* user, LogLevel level, const char* message) = write_to_stderr;
  void* user = nullptr;
  LogLevel minimum = LogLevel::Warning;
};

// A Log that writes messages of at least this level to stderr.
HEED_API Log stderr_log(LogLevel minimum = LogLevel::Warning);
// A Log that discards everything.
constexpr Log no_log() { return {nullptr, nullptr, LogLevel::Error}; }

}  // namespace heed
