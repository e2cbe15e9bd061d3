// Files with named tensors.
#pragma once

#include <deque>
#include <string>
#include <variant>
#include <vector>

#include <heed/checkpoint.hpp>
#include <heed/gguf.hpp>
#include <heed/safetensors.hpp>

#include "c/call.hpp"

namespace heed::c {

struct Checkpoint {
  using Handle = heed_checkpoint;
  static constexpr Kind kKind = Kind::Checkpoint;

  explicit Checkpoint(const heed_log* log) : host(std::make_shared<Host>(log)) {}
  Status open(std::string_view path);
  Status parse(std::span<const std::byte> bytes, std::string_view name);

  const Gguf* gguf() const { return std::get_if<Gguf>(&file); }
  std::vector<HostTensor> host_tensors() const;
  uint64_t bytes() const;

  std::shared_ptr<Host> host;
  std::variant<std::monostate, SafeTensors, heed::Checkpoint, Gguf> file;
  // What C reads of them: names and texts with a 0 at the end.
  std::deque<std::string> texts;
  std::vector<heed_file_tensor> tensors;  // sorted by name
  std::vector<heed_meta> metas;           // sorted by name
  const char* keep(std::string_view text) { return texts.emplace_back(text).c_str(); }

 private:
  Status list();
};

// Opens the file `path` for a look at its first bytes: whether it is a GGUF file.
bool is_gguf(std::string_view path);

}  // namespace heed::c
