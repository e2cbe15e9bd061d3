// The object behind a checkpoint handle: files with named tensors.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <heed/checkpoint.hpp>
#include <heed/gguf.hpp>

#include "c/call.hpp"

namespace heed::c {

// Recognizes GGUF files by their first bytes, whatever their name.
bool begins_as_gguf(const std::string& path);

class Checkpoint {
 public:
  using Handle = heed_checkpoint;
  static constexpr Kind kKind = Kind::Checkpoint;

  explicit Checkpoint(const heed_log* log) : host(std::make_shared<Host>(log)) {}
  Status open(const std::string& path);
  Status parse(std::span<const std::byte> bytes, std::string_view name);

  // The GGUF file; null for other kinds.
  const Gguf* gguf() const { return std::get_if<Gguf>(&files_); }
  // The tensors of safetensors, sorted by name; empty for GGUF.
  std::span<const SafeTensors::Entry> entries() const;

  std::vector<HostTensor> host_tensors() const;
  uint64_t bytes() const;
  // Both are numbered in the order of their names.
  size_t tensor_count() const { return tensors_.size(); }
  heed_file_tensor tensor(size_t index) const;
  size_t meta_count() const { return metas_.size(); }
  heed_meta meta(size_t index) const;
  std::optional<heed_file_tensor> find_tensor(std::string_view name) const;
  std::optional<heed_meta> find_meta(std::string_view name) const;
  // The value of a GGUF key; not there() for other files.
  Gguf::Value value(std::string_view name) const;
  // The texts as C strings, kept after the first call.
  const std::vector<const char*>& texts(std::string_view name, const std::vector<std::string_view>& from);

  std::shared_ptr<Host> host;

 private:
  // One tensor or key, with zero-terminated copies of its texts.
  struct Tensor {
    std::string name;
    const char* type;
    std::vector<int64_t> shape;
    std::span<const std::byte> data;
    heed_dtype dtype;
    bool loadable;
  };
  struct Meta {
    std::string name, text;
    heed_meta c;
  };
  struct Texts {
    std::vector<std::string> texts;
    std::vector<const char*> pointers;
  };

  void take(std::span<const SafeTensors::Entry> entries);
  void take(std::span<const std::pair<std::string, std::string>> metadata);
  void take(const Gguf& file);
  void take(const Gguf::Field& field);

  std::variant<heed::Checkpoint, SafeTensors, Gguf> files_;
  std::vector<Tensor> tensors_;
  std::vector<Meta> metas_;
  std::mutex mutex_;  // for the map
  std::map<std::string, Texts, std::less<>> texts_;
};

}  // namespace heed::c
