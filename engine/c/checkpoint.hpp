// Files with named tensors behind their handle.
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

// GGUF files are known by their first bytes, whatever they are called.
bool begins_as_gguf(const std::string& path);

class Checkpoint {
 public:
  using Handle = heed_checkpoint;
  static constexpr Kind kKind = Kind::Checkpoint;

  explicit Checkpoint(const heed_log* log) : host(std::make_shared<Host>(log)) {}
  Status open(const std::string& path);
  Status parse(std::span<const std::byte> bytes, std::string_view name);

  // The file if it is of this kind, else null.
  const Gguf* gguf() const { return std::get_if<Gguf>(&files_); }
  // The tensors of safetensors, sorted by name; none of GGUF.
  std::span<const SafeTensors::Entry> entries() const;

  std::vector<HostTensor> host_tensors() const;
  uint64_t bytes() const;
  // Both by their number, in the order of their names.
  size_t tensor_count() const { return tensors_.size(); }
  heed_file_tensor tensor(size_t index) const;
  size_t meta_count() const { return metas_.size(); }
  heed_meta meta(size_t index) const;
  std::optional<heed_file_tensor> find_tensor(std::string_view name) const;
  std::optional<heed_meta> find_meta(std::string_view name) const;
  // The value of a key of GGUF; not there() for others.
  Gguf::Value value(std::string_view name) const;
  // The texts as C reads them, kept from the first call on.
  const std::vector<const char*>& texts(std::string_view name, const std::vector<std::string_view>& from);

  std::shared_ptr<Host> host;

 private:
  // One tensor or key, with the texts that files do not end with a 0.
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
  std::mutex mutex_;  // of the map
  std::map<std::string, Texts, std::less<>> texts_;
};

}  // namespace heed::c
