#include <algorithm>

#include "base/arith.hpp"
#include "kernels/matmul/planes.hpp"
#include "vulkan/calls/barrier.hpp"
#include "vulkan/context/submission.hpp"
#include "vulkan/memory/host_range.hpp"
#include "vulkan/memory/weights.hpp"

namespace heed::vulkan {
namespace {

// An upload takes this much host memory in addition to the source, however large the model is. Submitting takes some 50 us and copying this
// much about 2 ms, so more memory would gain nothing.
constexpr uint64_t kStagingBytes = 16u << 20;

// Packs converted pieces of tensors into staging memory and copies them to the device whenever it is full.
class Stream {
 public:
  Stream(Context& context, const BufferRange& target, const UploadProgress& progress)
      : context_(context), target_(target), progress_(progress) {}

  Status create(uint64_t bytes) {
    total_ = bytes;
    report(0);
    const Status status =
        staging_.create(context_, "upload staging", std::min(align_up<uint64_t>(bytes, 4), kStagingBytes),
                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT, MemoryUse::Staging);
    return status == Status::Ok ? submission_.create(context_, "upload") : status;
  }

  Status write(const HostTensor& from, const detail::WeightsImpl::Entry& to) {
    // A tensor keeps its type, or is converted to a type without blocks.
    const TypeBlock block = block_of(from.dtype);
    const auto from_size = static_cast<uint64_t>(block.bytes);
    const uint64_t to_size = bytes_of(to.dtype, static_cast<uint64_t>(block.elements));
    const uint64_t blocks = from.data.size() / from_size;
    for (uint64_t done = 0; done < blocks;) {
      const uint64_t least = is_quantized(to.dtype) ? std::min<uint64_t>(2, blocks - done) * to_size : to_size;
      if (staging_.bytes() - used_ < least) {
        const Status status = flush();
        if (status != Status::Ok) return status;
      }
      uint64_t count = std::min(blocks - done, (staging_.bytes() - used_) / to_size);
      if (is_quantized(to.dtype)) {
        count = write_blocks(from, to, done, count);
        done += count;
        continue;
      }
      HostTensor piece = from;
      piece.data = from.data.subspan(done * from_size, count * from_size);
      detail::convert_weight(piece, to, staging_.mapped() + used_);
      copies_.push_back({used_, target_.offset + to.offset + done * to_size, count * to_size});
      // The next tensor may have a wider type. Copies begin at multiples of 4.
      used_ = align_up<uint64_t>(used_ + count * to_size, 4);
      done += count;
    }
    return Status::Ok;
  }

  Status flush() {
    if (copies_.empty()) return Status::Ok;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Status status = staging_.flush();
    if (status == Status::Ok) status = submission_.begin(&commands);
    if (status != Status::Ok) return status;
    context_.vk.CmdCopyBuffer(commands, staging_.handle(), target_.buffer, static_cast<uint32_t>(copies_.size()),
                              copies_.data());
    // Makes the copies visible to all later commands on the queue, so that plans need no barrier for weights.
    memory_barrier(context_.vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                   {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT});
    status = submission_.submit_and_wait();
    if (status == Status::Ok) report(copies_.back().dstOffset + copies_.back().size - target_.offset);
    copies_.clear();
    used_ = 0;
    return status;
  }

  // Entries are written in order of their offsets, so the last byte written gives the progress.
  void report(uint64_t done) const {
    if (progress_.callback != nullptr) progress_.callback(progress_.user, done, total_);
  }

 private:
  // Writes blocks from `first` on, each part to its plane. The number of blocks is even, except for the last ones, so that every copy
  // begins at a multiple of 4.
  uint64_t write_blocks(const HostTensor& from, const detail::WeightsImpl::Entry& to, uint64_t first, uint64_t count) {
    const auto size = static_cast<uint64_t>(block_of(to.dtype).bytes), all = from.data.size() / size;
    if (first + count < all) count = count / 2 * 2;
    const std::span<const kernels::Plane> planes = kernels::planes_of(to.dtype);
    const std::byte* const source = from.data.data() + first * size;
    for (size_t i = 0; i < planes.size(); ++i) {
      kernels::gather_plane(to.dtype, i, source, static_cast<int64_t>(count), staging_.mapped() + used_);
      const auto bytes = static_cast<uint64_t>(planes[i].bytes) * count;
      const auto at = static_cast<uint64_t>(
          kernels::offset_in_planes(to.dtype, i, static_cast<int64_t>(first), static_cast<int64_t>(all)));
      copies_.push_back({used_, target_.offset + to.offset + at, bytes});
      used_ += bytes;
    }
    used_ = align_up<uint64_t>(used_, 4);
    return count;
  }

  Context& context_;
  BufferRange target_;
  UploadProgress progress_;
  uint64_t total_ = 0;
  DeviceBuffer staging_;
  Submission submission_;
  std::vector<VkBufferCopy> copies_;
  uint64_t used_ = 0;
};

}  // namespace

Status VulkanWeights::place(std::span<const HostTensor> tensors, const UploadOptions& options) {
  const Status status = context_.alive("upload");
  if (status != Status::Ok) return status;
  return detail::place_weights(tensors, options, owner_->weight_alignment(), owner_->most_weight_bytes(), context_.log,
                               &entries, &order_, &bytes_);
}

Status VulkanWeights::upload(std::span<const HostTensor> tensors, const UploadOptions& options) {
  Status status = place(tensors, options);
  if (status != Status::Ok || bytes_ == 0) return status;
  status = buffer_.create(context_, "weights", bytes_, kWeightsUsage, MemoryUse::Device);
  range_ = {buffer_.handle(), 0, bytes_};
  return status == Status::Ok ? copy(tensors, options) : status;
}

Status VulkanWeights::upload_to(const WeightTarget& target, std::span<const HostTensor> tensors,
                                const UploadOptions& options) {
  Status status = place(tensors, options);
  if (status != Status::Ok || bytes_ == 0) return status;
  status = check_range(context_, "upload", target.range, bytes_, owner_->weight_alignment());
  if (status != Status::Ok) return status;
  range_ = target.range;
  if (target.mapped == nullptr) return copy(tensors, options);
  write(tensors, options, target.mapped);
  return Status::Ok;
}

Status VulkanWeights::copy(std::span<const HostTensor> tensors, const UploadOptions& options) {
  Stream stream(context_, range_, options.progress);
  Status status = stream.create(bytes_);
  for (size_t i = 0; i < entries.size() && status == Status::Ok; ++i) {
    const HostTensor from = detail::rows_of(tensors[order_[i]], entries[i]);
    status = stream.write(from, entries[i]);
    options.release(from);
  }
  if (status == Status::Ok) status = stream.flush();
  if (status == Status::Ok) stream.report(bytes_);
  return status;
}

void VulkanWeights::write(std::span<const HostTensor> tensors, const UploadOptions& options, std::byte* to) const {
  const auto report = [&](uint64_t done) {
    if (options.progress.callback != nullptr) options.progress.callback(options.progress.user, done, bytes_);
  };
  report(0);
  for (size_t i = 0; i < entries.size(); ++i) {
    const HostTensor from = detail::rows_of(tensors[order_[i]], entries[i]);
    kernels::write_weight(from, entries[i], to + entries[i].offset);
    options.release(from);
    report(entries[i].offset + entries[i].bytes);
  }
}

}  // namespace heed::vulkan
