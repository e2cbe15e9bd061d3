#include "api/self_test_operands.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::probes {

double Operand::value(size_t i) const {
  const std::byte* at = data.data() + i * size_of(dtype);
  const auto as = [&](auto type) {
    std::memcpy(&type, at, sizeof type);
    return type;
  };
  switch (dtype) {
    case DType::F32: return static_cast<double>(as(float{}));
    case DType::F16: return static_cast<double>(half_to_float(as(uint16_t{})));
    case DType::BF16: return static_cast<double>(bfloat_to_float(as(uint16_t{})));
    case DType::I32: return as(int32_t{});
    case DType::U8: return as(uint8_t{});
    default: return 0;
  }
}

namespace {

// Blocks of random bits, whose scales and offsets are powers of two with values in [-1, 2).
void fill_blocks(Operand* operand, uint32_t state) {
  const DType type = operand->dtype;
  const auto half_of = [](int power) { return static_cast<uint16_t>((15 + power) << 10); };
  const bool pairs = type == DType::Q4_K || type == DType::Q5_K, bytes = type == DType::Q8_0;
  const uint16_t scale = half_of(type == DType::Q6_K ? -12
                                 : pairs             ? -11
                                 : bytes             ? -7
                                                     : -5),
                 offset = half_of(pairs ? -6 : 0);
  for (std::byte& byte : operand->data) byte = static_cast<std::byte>((state = state * 1664525u + 1013904223u) >> 24);
  const auto block = static_cast<size_t>(block_of(type).bytes);
  for (std::byte* at = operand->data.data(); at != operand->data.data() + operand->data.size(); at += block) {
    std::memcpy(type == DType::Q6_K ? at + block - sizeof scale : at, &scale, sizeof scale);
    if (pairs || type == DType::Q4_1 || type == DType::Q5_1) std::memcpy(at + sizeof scale, &offset, sizeof offset);
  }
}

void fill(Operand* operand, uint32_t state) {
  if (is_quantized(operand->dtype)) return fill_blocks(operand, state);
  for (size_t i = 0; i < operand->count(); ++i) {
    state = state * 1664525u + 1013904223u;
    std::byte* at = operand->data.data() + i * size_of(operand->dtype);
    const float value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
    const auto id = static_cast<int32_t>((state >> 8) % 7);
    const auto flag = static_cast<uint8_t>((state >> 8) % 3 != 0);
    if (operand->dtype == DType::I32)
      std::memcpy(at, &id, sizeof id);
    else if (operand->dtype == DType::U8)
      std::memcpy(at, &flag, sizeof flag);
    else
      convert_floats(&value, DType::F32, at, operand->dtype, 1);
  }
}

}  // namespace

std::vector<Operand> operands_of(const detail::GraphData& graph, const std::vector<detail::NamedTensor>& list,
                                 const ProbeSize& size) {
  std::vector<int64_t> extents;
  for (const detail::ExtentInfo& extent : graph.extents) extents.push_back(extent.name == "m" ? size.m : size.n);
  std::vector<Operand> result;
  for (const detail::NamedTensor& named : list) {
    const TensorInfo& info = graph.tensors[named.tensor];
    size_t elements = 1;
    for (int i = 0; i < info.rank; ++i)
      elements *= static_cast<size_t>(graph.sizes.evaluate(info.dims[static_cast<size_t>(i)], extents));
    Operand& operand = result.emplace_back(Operand{named.name, info.dtype, {}, named.tensor});
    // An output that no kernel writes must not look right: with all bits set, values are NaN, -1 and 255.
    operand.data.assign(bytes_of(info.dtype, elements), std::byte{0xff});
  }
  std::sort(result.begin(), result.end(), [](const Operand& a, const Operand& b) { return a.name < b.name; });
  return result;
}

void fill_all(std::vector<Operand>* operands) {
  for (size_t i = 0; i < operands->size(); ++i) fill(&(*operands)[i], static_cast<uint32_t>(i + 1) * 2654435761u);
}

Status upload_weights(Device& device, const detail::GraphData& graph, Weights* weights) {
  if (graph.weights.empty()) return Status::Ok;
  std::vector<Operand> values = operands_of(graph, graph.weights, {});
  fill_all(&values);
  std::vector<HostTensor> tensors;
  std::vector<std::array<int64_t, kMaxRank>> shapes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const TensorInfo& info = graph.tensors[values[i].tensor];
    const auto rank = static_cast<size_t>(info.rank);
    for (size_t d = 0; d < rank; ++d) shapes[i][d] = graph.sizes.evaluate(info.dims[d], {});
    tensors.push_back({values[i].name, values[i].dtype, std::span(shapes[i]).first(rank), values[i].data});
  }
  return device.upload(tensors, weights);
}

Graph graph_of(const Probe& probe, DType storage) {
  CaseGraph made(storage, probe.sizes, true);
  probe.of->build(made);
  return std::move(made.graph);
}

Status run_probe_plan(Plan& plan, const std::vector<Operand>& inputs, std::vector<Operand>& outputs,
                      const ProbeSize& size, uint32_t timeout_ms) {
  std::vector<HostBuffer> buffers;
  for (const Operand& input : inputs) buffers.emplace_back(input.name, input.data);
  for (Operand& output : outputs) buffers.emplace_back(output.name, output.data);
  const ExtentValue extents[] = {{"m", size.m}, {"n", size.n}};
  State state;
  const Status status = plan.state_bytes() > 0 ? plan.make_state(&state) : Status::Ok;
  if (status != Status::Ok) return status;
  return plan.run(buffers, extents, {.seed = 5, .timeout_ms = timeout_ms, .state = state});
}

}  // namespace heed::probes
