#include <algorithm>

#include "base/arith.hpp"
#include "vulkan/submission.hpp"
#include "vulkan/weights.hpp"

namespace heed::vulkan {
namespace {

// Host memory that an upload needs beside the source, however large the model is. Submitting costs some 50
// us, copying this much about 2 ms, so that larger pieces would gain nothing.
constexpr uint64_t kStagingBytes = 16u << 20;

// Packs converted pieces of tensors into staging memory and copies them out whenever it is full.
class Stream {
 public:
  Stream(Context& context, VkBuffer target, const UploadProgress& progress)
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
    const uint64_t from_size = size_of(from.dtype), to_size = size_of(to.dtype);
    const uint64_t elements = from.data.size() / from_size;
    for (uint64_t done = 0; done < elements;) {
      if (staging_.bytes() - used_ < to_size) {
        const Status status = flush();
        if (status != Status::Ok) return status;
      }
      const uint64_t count = std::min(elements - done, (staging_.bytes() - used_) / to_size);
      HostTensor piece = from;
      piece.data = from.data.subspan(done * from_size, count * from_size);
      detail::convert_weight(piece, to, staging_.mapped() + used_);
      copies_.push_back({used_, to.offset + done * to_size, count * to_size});
      // The next tensor may be of a wider type; 4 is the widest.
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
    context_.vk.CmdCopyBuffer(commands, staging_.handle(), target_, static_cast<uint32_t>(copies_.size()),
                              copies_.data());
    // Visible to every later command of the queue, so that a plan need not know when its weights arrived.
    auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT;
    context_.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                                   nullptr);
    status = submission_.submit_and_wait();
    if (status == Status::Ok) report(copies_.back().dstOffset + copies_.back().size);
    copies_.clear();
    used_ = 0;
    return status;
  }

  // Entries are written in the order of their places, so that the last byte written says how far it is.
  void report(uint64_t done) const {
    if (progress_.callback != nullptr) progress_.callback(progress_.user, done, total_);
  }

 private:
  Context& context_;
  VkBuffer target_;
  UploadProgress progress_;
  uint64_t total_ = 0;
  DeviceBuffer staging_;
  Submission submission_;
  std::vector<VkBufferCopy> copies_;
  uint64_t used_ = 0;
};

}  // namespace

Status VulkanWeights::upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                             uint64_t alignment) {
  std::vector<size_t> order;
  uint64_t bytes = 0;
  Status status = context_.alive("upload");
  if (status == Status::Ok)
    status = detail::place_weights(tensors, options, alignment, context_.log, &entries, &order, &bytes);
  if (status != Status::Ok || bytes == 0) return status;
  status = buffer_.create(context_, "weights", bytes,
                          VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          MemoryUse::Device);
  if (status != Status::Ok) return status;
  Stream stream(context_, buffer_.handle(), options.progress);
  status = stream.create(bytes);
  for (size_t i = 0; i < entries.size() && status == Status::Ok; ++i)
    status = stream.write(tensors[order[i]], entries[i]);
  if (status == Status::Ok) status = stream.flush();
  if (status == Status::Ok) stream.report(bytes);
  return status;
}

}  // namespace heed::vulkan
