// Reader of whisper.cpp's ggml-*.bin: sizes of the network, mel filters, words and named tensors.
//
// Everything but the values is checked before open returns: every count, length and type fits, and no name occurs twice. Counts that exceed
// the file's size do not lead to allocations.
//
// Layout, little-endian, numbers of 32 bits: "lmgg", ten sizes, the type of most tensors; rows and columns of the mel filters, and these as
// f32; the number of words, each with its length and bytes; then tensors up to the end, each with its rank, the length of its name, its
// type, its sizes (innermost first), its name and values, at any alignment. Types are those of GGUF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

#include "io/gguf_types.hpp"
#include "io/mapped_file.hpp"

namespace heed {

// Owns a mapping of the file; views that it returns are valid while it lives.
class GgmlWhisper {
 public:
  GgmlWhisper() = default;
  GgmlWhisper(const GgmlWhisper&) = delete;
  GgmlWhisper& operator=(const GgmlWhisper&) = delete;

  static constexpr size_t kMaxDims = 4;

  // Sizes as the file states them, unchecked.
  struct Side {
    uint32_t positions = 0, width = 0, heads = 0, layers = 0;
  };
  struct Sizes {
    uint32_t vocabulary = 0;
    Side encoder, decoder;
    uint32_t bands = 0;
  };
  struct Filters {
    uint32_t bands = 0, bins = 0;
    std::span<const std::byte> values;  // f32 [bands, bins]
  };
  struct Entry {
    std::string_view name;
    const GgufType* type = nullptr;
    std::vector<int64_t> shape;  // outermost first; sizes are at least 1
    std::span<const std::byte> data;
  };

  // NotFound: there is no such file. InvalidFile: the file is no ggml file, or damaged. Unsupported: quantized tensors of an older layout.
  // Call it once; after a failure the object cannot be used.
  Status open(const std::string& path, const Log& log);
  // Reads from memory that the caller keeps alive. `name` stands for the file in messages.
  Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log);

  const std::string& name() const { return name_; }  // the file, for messages
  const Sizes& sizes() const { return sizes_; }
  const Filters& filters() const { return filters_; }
  std::span<const std::string_view> words() const { return words_; }            // texts of tokens, which may be empty
  std::span<const Entry> entries() const { return entries_; }                   // sorted by name
  void release(std::span<const std::byte> data) const { file_.release(data); }  // see MappedFile

 private:
  friend class GgmlWhisperParser;

  MappedFile file_;  // empty if the bytes are the caller's
  std::string name_;
  Sizes sizes_;
  Filters filters_;
  std::vector<std::string_view> words_;
  std::vector<Entry> entries_;
};

}  // namespace heed
