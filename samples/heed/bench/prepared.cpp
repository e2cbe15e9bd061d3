#include "bench/prepared.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace heed::program {

namespace {

// At least `count` values, small and never subnormal. All tensors share them.
const std::vector<float>& values(size_t count) {
  static std::vector<float> shared;
  for (uint32_t state = static_cast<uint32_t>(shared.size()) * 747796405u + 1; shared.size() < count;) {
    state = state * 1664525u + 1013904223u;
    shared.push_back((static_cast<float>(state >> 8) / 16777216.0f - 0.5f) * 0.1f + 0.001f);
  }
  return shared;
}

// At least `count` bytes that are valid blocks of any quantized type: no byte is above 0x1f, so that every f16 scale is finite, and below
// 2^-7.
const std::vector<std::byte>& blocks(size_t count) {
  static std::vector<std::byte> shared;
  for (uint32_t state = static_cast<uint32_t>(shared.size()) * 747796405u + 1; shared.size() < count;) {
    state = state * 1664525u + 1013904223u;
    shared.push_back(static_cast<std::byte>(state >> 27));
  }
  return shared;
}

std::vector<std::byte> data_of(const BenchGraph::Buffer& buffer) {
  std::vector<std::byte> data(buffer.elements() * size_of(buffer.dtype));
  if (buffer.dtype == DType::F32) {
    std::memcpy(data.data(), values(buffer.elements()).data(), data.size());
  } else if (buffer.dtype == DType::F16 || buffer.dtype == DType::BF16) {
    std::memcpy(data.data(), blocks(data.size()).data(), data.size());
  } else if (buffer.dtype == DType::I32 && buffer.ids_below > 0) {
    auto* ids = reinterpret_cast<int32_t*>(data.data());
    for (size_t i = 0; i < buffer.elements(); ++i) ids[i] = static_cast<int32_t>(i * 7919 % size_t(buffer.ids_below));
  }
  return data;
}

}  // namespace

Status upload_for(Device& device, const BenchGraph& graph, Weights* weights) {
  if (graph.weights.empty()) return Status::Ok;
  size_t largest = 0;
  for (const BenchGraph::Buffer& weight : graph.weights) largest = std::max(largest, weight.elements());
  const DType type = graph.weight_dtype;
  const std::vector<float>& all = values(largest);
  const std::vector<std::byte>& all_blocks = blocks(is_quantized(type) ? bytes_of(type, largest) : 0);
  std::vector<HostTensor> tensors;
  for (const BenchGraph::Buffer& weight : graph.weights) {
    const size_t elements = weight.elements();
    if (is_quantized(type) && weight.shape.size() > 1)
      tensors.push_back({weight.name, type, weight.shape, std::span(all_blocks).first(bytes_of(type, elements))});
    else
      tensors.push_back({weight.name, DType::F32, weight.shape, std::as_bytes(std::span(all.data(), elements))});
  }
  if (is_quantized(type)) return device.upload(tensors, weights);  // as they are
  return device.upload(tensors, weights, {.keep_dtype = false, .dtype = type, .only_matrices = true});
}

Status prepare(Device& device, const BenchCase& row, Prepared* prepared, const PrepareOptions& options) {
  BenchGraph graph;
  row.build(graph);
  Weights weights;
  Status status = upload_for(device, graph, &weights);
  if (status != Status::Ok) return status;
  prepared->gpu_time = device.info().kind != DeviceKind::Cpu;
  status = device.compile(graph.graph, weights, &prepared->plan,
                          {.training = row.training,
                           .timestamps = prepared->gpu_time || options.traced,
                           .reproducible = options.reproducible});
  if (status != Status::Ok) return status;
  if (prepared->plan.state_bytes() > 0) status = prepared->plan.make_state(&prepared->state);
  if (status != Status::Ok) return status;
  prepared->extents = graph.extents;
  prepared->tensors = graph.inputs;
  prepared->tensors.push_back(graph.output);
  for (const BenchGraph::Buffer& tensor : prepared->tensors) prepared->storage.push_back(data_of(tensor));
  for (size_t i = 0; i < prepared->tensors.size(); ++i)
    prepared->buffers.emplace_back(prepared->tensors[i].name, prepared->storage[i]);
  return Status::Ok;
}

}  // namespace heed::program
