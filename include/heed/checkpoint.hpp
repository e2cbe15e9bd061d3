// Checkpoint: the tensors of a model in one or several safetensors files.
//
//   heed::Checkpoint checkpoint;
//   heed::Status s = heed::Checkpoint::open("model-directory", heed::stderr_log(), &checkpoint);
//   if (s == heed::Status::Ok) s = device.upload(checkpoint.host_tensors(), &weights);
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/safetensors.hpp>

namespace heed {

// Owns the mapped files. Move-only. Views that it returns point into it, and are valid while it lives.
class HEED_API Checkpoint {
 public:
  // Checkpoints with more files or a larger index are InvalidFile.
  static constexpr size_t kMaxShards = 1000;
  static constexpr uint64_t kMaxIndexBytes = 64u << 20;

  Checkpoint();
  ~Checkpoint();
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;

  // `path` is a .safetensors file, a *.index.json that says which tensor is in which file beside it, or a directory
  // with model.safetensors or, if it has none, model.safetensors.index.json. Index and files must agree: every
  // tensor of the index is in the file it names, and the files hold no others. NotFound: a file is missing.
  // InvalidFile: any other fault; the message names file and tensor. On failure *checkpoint is unchanged.
  static Status open(std::string_view path, const Log& log, Checkpoint* checkpoint);

  std::span<const SafeTensors::Entry> entries() const;          // sorted by name
  const SafeTensors::Entry* find(std::string_view name) const;  // null if absent
  uint64_t bytes() const;                                       // the size of all tensors

  // Views for Device::upload, in the order of entries(). Some tensors are left out: see SafeTensors::host_tensors.
  std::vector<HostTensor> host_tensors() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace heed
