#include "harness/setup.hpp"

#include "graph/graph_data.hpp"

namespace heed::test {

Log Messages::log(LogLevel minimum) {
  return {[](void* user, LogLevel, const char* message) {
            std::string line = message;
            std::replace(line.begin(), line.end(), '\n', ' ');  // tensor names may contain any characters
            static_cast<std::string*>(user)->append(line).append("\n");
          },
          &text, minimum};
}

Device open_device(const DeviceOptions& options) {
  Device device;
  REQUIRE(Device::open(options, &device) == Status::Ok);
  return device;
}

Device open_cpu(DeviceOptions options) {
  options.select = "cpu";
  return open_device(options);
}

Weights uploaded(Device device, std::span<const HostTensor> tensors, const UploadOptions& options) {
  Weights weights;
  REQUIRE(device.upload(tensors, &weights, options) == Status::Ok);
  return weights;
}

Plan compiled(Device device, const Graph& graph, const Weights& weights, const CompileOptions& options) {
  Plan plan;
  REQUIRE(device.compile(graph, weights, &plan, options) == Status::Ok);
  return plan;
}

State state_of(Plan plan) {
  State state;
  REQUIRE(plan.make_state(&state) == Status::Ok);
  return state;
}

std::vector<float> pattern(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

void Tensors::add(const std::string& name, std::vector<int64_t> shape, uint32_t seed) {
  size_t count = 1;
  for (int64_t dim : shape) count *= static_cast<size_t>(dim);
  add(name, std::move(shape), pattern(count, seed));
}

void Tensors::add(const std::string& name, std::vector<int64_t> shape, std::vector<float> data) {
  values[name] = std::move(data);
  shapes[name] = std::move(shape);
}

void Tensors::add_weights_of(const Graph& graph) {
  uint32_t seed = 1;
  for (const WeightInfo& weight : graph.weights()) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < weight.shape.rank; ++i) sizes.push_back(weight.shape[i].value);
    add(std::string(weight.name), std::move(sizes), seed++);
  }
}

std::vector<HostTensor> Tensors::list() const {
  std::vector<HostTensor> tensors;
  for (const auto& [name, data] : values)
    tensors.push_back({name, DType::F32, shapes.at(name), std::as_bytes(std::span(data))});
  return tensors;
}

std::string difference(const float* got, const std::vector<float>& want) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::fabs(got[i] - want[i]) <= 2e-5f + 1e-4f * std::fabs(want[i])) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]);
  }
  return "";
}

}  // namespace heed::test
