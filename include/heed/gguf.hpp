// Reader of the GGUF format: metadata and named tensors of a language model in one file.
//
//   heed::Gguf file;
//   heed::Status s = heed::Gguf::open("model.gguf", heed::stderr_log(), &file);
//   std::optional<int64_t> layers = file.value("llama.block_count").integer();
//   std::vector<std::string_view> tokens;
//   if (!file.value("tokenizer.ggml.tokens").read(&tokens)) { ... }   // absent, or no array of text
//
// Everything but the values of tensors is checked before open returns: every count, length and type fits, no key or name is given twice,
// every tensor lies inside the file and none overlap. A damaged or hostile file gives InvalidFile and one message that names the file, the
// key or tensor and the values. Versions 2 and 3 are read.
//
// Layout, little-endian: "GGUF", version, the numbers of tensors and of keys; each key with the type of its value and the value; each
// tensor's name, shape (innermost first), type and offset; the tensors' data, aligned. <heed/decoder_model.hpp> builds networks from such
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

// Owns a mapping of the file, or a copy if files cannot be mapped. Move-only. Views that it returns point into it, and
// are valid while it lives, also after a move. Nobody may shorten the file meanwhile.
class HEED_API Gguf {
 public:
  // Files with more dims or longer names are InvalidFile.
  static constexpr size_t kMaxDims = 4;
  static constexpr uint64_t kMaxNameBytes = 65535;  // longest key or tensor name

  // The types of values. The enumerators have the file's numbers.
  enum class ValueType : uint8_t { U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64 };

  // A view of one value, or of none. Texts are the file's bytes, unchecked: they may be invalid UTF-8.
  class HEED_API Value {
   public:
    // False if the file has no such key.
    bool there() const { return data_ != nullptr; }
    // The type of the value; U8 if there is no value.
    ValueType type() const { return type_; }
    // The type of an array's elements, which are never arrays themselves, and their number. A value that is no array has 0 of them.
    ValueType element_type() const { return element_; }
    size_t size() const { return size_; }

    // The value; empty if it is absent, of another type, or does not fit. A number is any integer or float.
    std::optional<int64_t> integer() const;
    std::optional<double> number() const;
    std::optional<bool> boolean() const;
    std::optional<std::string_view> text() const;

    // Reads the elements of an array. Returns false and leaves *values unchanged if the value is absent, its elements are of another kind,
    // or one does not fit. The texts point into the file.
    bool read(std::vector<std::string_view>* values) const;
    bool read(std::vector<int64_t>* values) const;
    bool read(std::vector<int32_t>* values) const;
    bool read(std::vector<float>* values) const;  // any integers or floats

    std::string shown() const;  // for messages: "7", "'text'", "an array of 3 f32", "absent"

   private:
    friend class GgufParser;
    ValueType type_ = ValueType::U8, element_ = ValueType::U8;
    size_t size_ = 0;
    const std::byte* data_ = nullptr;  // the first byte of the value, or of an array's first element
  };

  // A key and its value.
  struct Field {
    std::string_view name;
    Value value;
  };

  // One tensor. `type` is the file's number for its type; type_name(type) is the name.
  struct Entry {
    std::string_view name;
    uint32_t type = 0;
    std::vector<int64_t> shape;       // outermost first, as everywhere in heed; empty: a scalar; sizes may be 0
    std::span<const std::byte> data;  // rows of whole blocks; any alignment
    int64_t elements() const;
  };

  Gguf();
  ~Gguf();
  Gguf(Gguf&&) noexcept;
  Gguf& operator=(Gguf&&) noexcept;

  // NotFound: there is no such file, or it cannot be read. Unsupported: another version, big-endian numbers, or a type
  // of values or tensors that is not known. On failure *file is unchanged.
  static Status open(std::string_view path, const Log& log, Gguf* file);
  // Reads from memory that the caller keeps alive. `name` stands for the file in messages.
  static Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, Gguf* file);

  std::string_view name() const;             // the file, for messages
  uint32_t version() const;                  // 2 or 3; 0 before a file is open
  std::span<const Field> fields() const;     // sorted by name
  Value value(std::string_view name) const;  // not there() if absent
  // Tells the system that an entry's data may leave memory until it is read again. Has no effect on bytes that are not part of a file that
  // open() has mapped.
  void release(std::span<const std::byte> data) const;
  std::span<const Entry> entries() const;          // sorted by name
  const Entry* find(std::string_view name) const;  // null if absent
  uint64_t bytes() const;                          // the size of all tensors

  // Views for Device::upload, in the order of entries(). Tensors that heed cannot store are left out: those of other
  // types than storage_type names, and those without elements.
  std::vector<HostTensor> host_tensors() const;

  // "Q4_1", "IQ2_XXS", ...; null if heed does not know the type.
  static const char* type_name(uint32_t type);
  // Sets *dtype to the storage type of heed that holds the tensor type unchanged; false if there is none.
  static bool storage_type(uint32_t type, DType* dtype);

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

HEED_API const char* to_string(Gguf::ValueType type);  // "u8", "text", ...

// Makes a view of one entry, for Device::upload. False for entries that host_tensors leaves out.
HEED_API bool host_tensor(const Gguf::Entry& entry, HostTensor* tensor);

}  // namespace heed
