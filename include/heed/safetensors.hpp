// Reader and writer of the safetensors format: named tensors and a string map in one file.
//
//   heed::SafeTensors file;
//   heed::Status s = heed::SafeTensors::open("model.safetensors", heed::stderr_log(), &file);
//   if (s == heed::Status::Ok) s = device.upload(file.host_tensors(), &weights);
//
// The whole header is checked before open returns: every tensor lies inside the file, none overlap, no byte is left over. A damaged or
// hostile file gives InvalidFile and one message that names the file, the tensor and both values. Layout: 8 bytes little-endian header
// length, the header (JSON), the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

// Owns a mapping of the file, or a copy if files cannot be mapped. Move-only. Views that it returns point into it, and
// are valid while it lives. Nobody may shorten the file meanwhile.
class HEED_API SafeTensors {
 public:
  // The types that a file can hold.
  enum class Type : uint8_t { F32, F16, BF16, I32, I64, U8, Bool };
  // Files with more dims or a longer header are InvalidFile.
  static constexpr int kMaxDims = 8;
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

  // One tensor of the file.
  struct Entry {
    std::string name;
    Type type = Type::F32;
    std::vector<int64_t> shape;       // empty: a scalar; sizes may be 0
    std::span<const std::byte> data;  // little-endian, row-major; any alignment
    int64_t elements() const;
  };

  SafeTensors();
  ~SafeTensors();
  SafeTensors(SafeTensors&&) noexcept;
  SafeTensors& operator=(SafeTensors&&) noexcept;

  // NotFound: there is no such file, or it cannot be read. On failure *file is unchanged.
  static Status open(std::string_view path, const Log& log, SafeTensors* file);
  // Reads from memory that the caller keeps alive. `name` stands for the file in messages.
  static Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, SafeTensors* file);

  std::span<const Entry> entries() const;          // sorted by name
  const Entry* find(std::string_view name) const;  // null if absent

  // The __metadata__ map, sorted by key. metadata(key) is empty if absent.
  std::span<const std::pair<std::string, std::string>> metadata() const;
  std::string_view metadata(std::string_view key) const;

  // Views for Device::upload, in the order of entries(). Bool becomes U8. Tensors that heed cannot store are left out:
  // those of I64 (see read_i32), without elements, or with more than kMaxRank dims.
  std::vector<HostTensor> host_tensors() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

HEED_API const char* to_string(SafeTensors::Type type);  // "F32", "BOOL", ... as the file spells it
constexpr size_t size_of(SafeTensors::Type type) {
  switch (type) {
    case SafeTensors::Type::I64: return 8;
    case SafeTensors::Type::F32:
    case SafeTensors::Type::I32: return 4;
    case SafeTensors::Type::F16:
    case SafeTensors::Type::BF16: return 2;
    case SafeTensors::Type::U8:
    case SafeTensors::Type::Bool: return 1;
  }
  return 0;
}

// Sets *dtype to the storage type that holds `type` unchanged; false for I64.
HEED_API bool storage_type(SafeTensors::Type type, DType* dtype);

// Makes a view of one entry, for Device::upload or Plan::run. False for entries that host_tensors leaves out.
HEED_API bool host_tensor(const SafeTensors::Entry& entry, HostTensor* tensor);

// Reads F32, F16 or BF16 as F32. DTypeMismatch for other types.
HEED_API Status read_f32(const SafeTensors::Entry& entry, const Log& log, std::vector<float>* values);

// Reads I32, I64, U8 or Bool as I32. IndexOutOfRange if a value does not fit, with its position in the message;
// DTypeMismatch for floating-point entries.
HEED_API Status read_i32(const SafeTensors::Entry& entry, const Log& log, std::vector<int32_t>* values);

// Writes tensors of F32, F16, BF16, I32 or U8 in this order, and the map. The file is first written to "PATH.part" and then renamed, so
// that it appears as a whole or not at all; an existing file is replaced. FileError: it cannot be written, as when the disk is full.
// InvalidArgument: a name is empty or given twice, or a text is not UTF-8. ShapeMismatch: a tensor's data does not have the size of its
// shape.
HEED_API Status write_safetensors(std::string_view path, std::span<const HostTensor> tensors,
                                  std::span<const std::pair<std::string, std::string>> metadata = {},
                                  const Log& log = {});

}  // namespace heed
