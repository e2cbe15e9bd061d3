#include "cpu/device/cpu_device.hpp"

#include <cstring>
#include <thread>

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <cpuid.h>
#define HEED_HAS_CPUID 1
#else
#define HEED_HAS_CPUID 0
#endif

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "cpu/device/cpu_plan.hpp"
#include "cpu/gemm/blocks.hpp"
#include "cpu/simd/kernels.hpp"

namespace heed::cpu {
namespace {

std::string processor_name() {
#if HEED_HAS_CPUID
  // Leaves 0x80000002..4 hold 48 characters of the brand string.
  unsigned int words[12] = {};
  bool known = true;
  for (unsigned int i = 0; i < 3; ++i)
    known = known &&
            __get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]) != 0;
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  const std::string_view name = text;
  const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  if (known && begin != std::string_view::npos) return std::string(name.substr(begin, end - begin + 1));
#endif
  return "CPU";
}

std::string reason(const Kernels& kernels) {
  const bool best = &kernels == &supported_kernels().front();
  return format("f32 arithmetic with %s instructions, %s", kernels.name,
                best ? "the best this processor has" : "as was asked for");
}

// The fused attention does not return weights: an attention whose weights are read is composed of other passes.
class CpuPlanning final : public detail::PlanningDevice {
 public:
  CpuPlanning()
      : PlanningDevice({.alignment = kAlignment,
                        .colliding_pitch = kWayBytes,
                        .converts_results = true,
                        .strided_attention = true}) {}
  bool fuses_attention(const detail::GraphData&, const Node& node) const override {
    return !node.outputs[out::kWeights].valid();
  }
};

class CpuDevice final : public detail::DeviceImpl {
 public:
  explicit CpuDevice(const DeviceOptions& options)
      : shared_(std::make_shared<Shared>(options)), info_(device_info(options)) {
    const uint32_t workers = shared_->pool.workers();
    info_.limits.emplace_back("threads", std::to_string(workers));
    info_.reason =
        reason(shared_->kernels) +
        format("\n%u threads, %s", workers, options.parallel_for.run != nullptr ? "of the host" : "of heed's own");
  }

  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const DeviceInfo& info() const override { return info_; }
  const Log& log() const override { return shared_->log; }
  uint64_t weight_alignment() const override { return kAlignment; }
  std::unique_ptr<const detail::PlanningDevice> planning() const override { return std::make_unique<CpuPlanning>(); }

  uint64_t scratch_bytes() const override { return shared_->scratch.bytes(); }

  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                std::shared_ptr<detail::WeightsImpl>* weights) override {
    std::vector<detail::WeightsImpl::Entry> entries;
    std::vector<size_t> order;
    uint64_t bytes = 0;
    const Status status = detail::place_weights(tensors, options, weight_alignment(), most_weight_bytes(), log(),
                                                &entries, &order, &bytes);
    if (status != Status::Ok) return status;
    auto fresh = std::make_shared<CpuWeights>(entries.size());
    std::vector<std::byte*> memory(entries.size());
    std::vector<PackedB*> quantized(entries.size());
    const auto rows_of = [](const HostTensor& tensor) {
      return static_cast<int64_t>(tensor.data.size() /
                                  bytes_of(tensor.dtype, static_cast<uint64_t>(tensor.shape.back())));
    };
    for (size_t i = 0; i < entries.size(); ++i) {
      const uint64_t end = i + 1 < entries.size() ? entries[i + 1].offset : bytes;
      const HostTensor& tensor = tensors[order[i]];
      if (is_quantized(entries[i].dtype)) {
        quantized[i] =
            fresh->forms[i].allocate_quantized(tensor.dtype, rows_of(tensor), tensor.shape.back(), shared_->kernels);
      } else {
        const TypeBlock block = block_of(tensor.dtype);
        const uint64_t elements =
            tensor.data.size() / static_cast<uint64_t>(block.bytes) * static_cast<uint64_t>(block.elements);
        memory[i] = fresh->forms[i].allocate(elements * size_of(entries[i].dtype), end - entries[i].offset);
      }
      if (memory[i] == nullptr && quantized[i] == nullptr)
        return fail(log(), Status::OutOfMemory,
                    format("upload: no memory for %llu bytes", static_cast<unsigned long long>(bytes)));
    }
    fresh->entries = std::move(entries);
    const UploadProgress& progress = options.progress;
    if (progress.callback != nullptr) progress.callback(progress.user, 0, bytes);
    for (size_t i = 0; i < fresh->entries.size(); ++i) {
      const detail::WeightsImpl::Entry& entry = fresh->entries[i];
      const HostTensor& tensor = tensors[order[i]];
      if (quantized[i] != nullptr) {
        pack(tensor, rows_of(tensor), options, quantized[i]);
      } else {
        detail::convert_weight(tensor, entry, memory[i]);
        options.release(tensor);
      }
      if (progress.callback != nullptr) progress.callback(progress.user, entry.offset + entry.bytes, bytes);
    }
    fresh->owner = shared_from_this();
    *weights = std::move(fresh);
    return Status::Ok;
  }

  Status compile(Schedule&& schedule, std::shared_ptr<detail::WeightsImpl> weights, const CompileOptions& options,
                 std::shared_ptr<detail::PlanImpl>* plan) override {
    const auto entries = detail::find_weights(schedule, weights.get());
    // Device::compile has checked that the weights belong to this device, so they are CpuWeights.
    auto fresh =
        std::make_shared<CpuPlan>(shared_, std::move(schedule), std::static_pointer_cast<CpuWeights>(weights), options);
    const Status status = fresh->build(entries);
    if (status == Status::Ok) *plan = std::move(fresh);
    return status;
  }

 private:
  // Packs in chunks of rows, so that a whole tensor is not in memory twice.
  void pack(const HostTensor& tensor, int64_t rows, const UploadOptions& options, PackedB* packed) {
    constexpr uint64_t kSomeBytes = 8u << 20;
    const uint64_t row_bytes = tensor.data.size() / static_cast<uint64_t>(rows);
    const auto some =
        align_up<int64_t>(static_cast<int64_t>(kSomeBytes / row_bytes) + 1, shared_->kernels.matmul->cols);
    for (int64_t first = 0; first < rows; first += some) {
      const int64_t count = std::min(some, rows - first);
      HostTensor part = tensor;
      part.data =
          tensor.data.subspan(static_cast<uint64_t>(first) * row_bytes, static_cast<uint64_t>(count) * row_bytes);
      pack_blocks(part.data.data(), first, count, tensor.shape.back(), *shared_->kernels.matmul, shared_->pool, packed);
      options.release(part);
    }
  }

  std::shared_ptr<Shared> shared_;
  DeviceInfo info_;
};

}  // namespace

DeviceInfo device_info(const DeviceOptions& options) {
  DeviceInfo info;
  info.kind = DeviceKind::Cpu;
  info.word = "cpu";
  info.name = processor_name();
  info.reason = reason(choose_kernels(options.cpu_instructions, {}));
  std::string sets;
  for (const Kernels& kernels : supported_kernels()) sets.append(sets.empty() ? "" : " ").append(kernels.name);
  info.limits = {{"hardware threads", std::to_string(std::thread::hardware_concurrency())}, {"instruction sets", sets}};
  return info;
}

std::shared_ptr<detail::DeviceImpl> create_device(const DeviceOptions& options) {
  return std::make_shared<CpuDevice>(options);
}

}  // namespace heed::cpu
