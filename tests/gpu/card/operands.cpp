#include "gpu/card/operands.hpp"

#include <algorithm>

#include "base/half.hpp"

namespace heed::gpu_tests {
namespace {

// Small values that are no powers of two. In quantized blocks, each 16-bit word that may be a scale is made finite. Integers are 0, a valid
// index of every table.
void fill(Given* tensor, int64_t count) {
  uint32_t state = 1;
  const auto next = [&] { return state = state * 1664525u + 1013904223u; };
  tensor->bytes.resize(bytes_of(tensor->type, static_cast<uint64_t>(count)));
  if (tensor->type == DType::I32) return;
  if (tensor->type == DType::F32 || tensor->type == DType::F16 || tensor->type == DType::BF16) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(next() >> 8) * 0x1p-25f - 0.25f;
    return convert_floats(values.data(), DType::F32, tensor->bytes.data(), tensor->type, values.size());
  }
  // Keeps the exponent of an f16 below that of 1.
  for (size_t i = 0; i < tensor->bytes.size(); ++i)
    tensor->bytes[i] = static_cast<std::byte>((next() >> 16) & (i % 2 == 1 ? 0xabu : 0xffu));
}

}  // namespace

Given make_given(const detail::GraphData& graph, const detail::NamedTensor& named, std::span<const int64_t> extents,
                 bool filled) {
  const TensorInfo& info = graph.tensors[named.tensor];
  Given given;
  given.name = named.name;
  given.type = info.dtype;
  int64_t count = 1;
  for (int i = 0; i < info.rank; ++i) {
    given.shape.push_back(graph.sizes.evaluate(info.dims[static_cast<size_t>(i)], extents));
    count *= given.shape.back();
  }
  if (filled)
    fill(&given, count);
  else
    given.bytes.resize(bytes_of(given.type, static_cast<uint64_t>(count)));
  return given;
}

std::vector<int64_t> values_of(const detail::GraphData& graph, const Work& work) {
  std::vector<int64_t> values;
  for (const auto& extent : graph.extents)
    for (const ExtentValue& value : work.extents)
      if (value.name == extent.name) values.push_back(value.value);
  return values;
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

}  // namespace heed::gpu_tests
