// Adapters: which weights get them, and the nodes that they add to matmuls.
#include <heed/lora.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/blocks.hpp"
#include "base/half.hpp"
#include "base/logging.hpp"
#include "base/philox.hpp"
#include "base/try_resize.hpp"
#include "graph/build/build.hpp"
#include "train/layer_number.hpp"

namespace heed::train {
namespace {

using detail::Build;
using detail::GraphData;
using detail::NamedTensor;

constexpr std::string_view kWeightEnd = ".weight";

bool ends_in_module(std::string_view name, std::string_view module) {
  return name == module ||
         (name.size() > module.size() && name.ends_with(module) && name[name.size() - module.size() - 1] == '.');
}

// The first part of a dotted name that is a number; -1: there is none.
int64_t layer_of(std::string_view name) {
  while (true) {
    if (const int64_t number = layer_number(name); number >= 0) return number;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return -1;
    name.remove_prefix(dot + 1);
  }
}

bool names(const LoraOptions& options, std::string_view module) {
  const bool is_layer = options.layers.empty() || std::find(options.layers.begin(), options.layers.end(),
                                                            layer_of(module)) != options.layers.end();
  return is_layer && std::any_of(options.modules.begin(), options.modules.end(),
                                 [&](const std::string& one) { return ends_in_module(module, one); });
}

// Whether a matmul's b [in, out] shows a whole weight, which is stored as [out, in] or as [in, out].
bool shows_weight(const GraphData& data, Tensor b, uint32_t weight, bool* in_out) {
  const TensorInfo &view = data.tensors[b.id], &whole = data.tensors[weight];
  if (view.rank != 2 || whole.rank != 2 || !data.sizes.is_constant(view.offset, 0)) return false;
  const auto same = [&](size_t first, size_t second) {
    return view.dims[first] == whole.dims[0] && view.dims[second] == whole.dims[1] &&
           view.strides[first] == whole.strides[0] && view.strides[second] == whole.strides[1];
  };
  *in_out = same(0, 1);
  return *in_out || same(1, 0);
}

bool reads(const GraphData& data, const Node& node, uint32_t weight) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](Tensor t) { return t.valid() && data.tensors[t.id].storage == weight; });
}

bool is_product_with(const GraphData& data, const Node& node, uint32_t weight, bool* in_out) {
  if (node.op != Op::Matmul || !reads(data, node, weight)) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (i != in::kB && node.inputs[i].valid() && data.tensors[node.inputs[i].id].storage == weight) return false;
  return shows_weight(data, node.inputs[in::kB], weight, in_out);
}

// Adds the nodes of an adapter after the matmul at nodes[n], whose result becomes a sum for all its readers. Returns the number of added
// nodes.
size_t add_adapter(Graph& g, size_t n, Tensor a, Tensor b, const LoraOptions& options) {
  GraphData& data = detail::data_of(g);
  Build build(data, "lora");
  const size_t before = data.nodes.size();
  const Tensor x = data.nodes[n].inputs[in::kA], y = data.nodes[n].outputs[0];
  g.push_label(data.nodes[n].label);
  g.push_label("lora");
  const Tensor rows =
      options.dropout > 0.0f ? g.dropout(g.cast(x, DType::F32), options.dropout) : g.cast(x, DType::F32);
  const Tensor inner = g.matmul(rows, a, {.transpose_b = true});
  const float scale = options.alpha / static_cast<float>(options.rank);
  const Tensor delta = g.cast(g.matmul(inner, b, {.transpose_b = true, .scale = scale}), g.dtype(y));
  if (!build.failed()) {
    const Tensor alone = build.add_like(build.info(y), build.info(y).dtype);
    build.add_node(Op::Elementwise, {alone, delta}, y, ElementwiseAttrs::of(Function::Add));
    data.nodes[n].outputs[0] = alone;
  }
  g.pop_label();
  g.pop_label();
  const auto at = data.nodes.begin() + static_cast<ptrdiff_t>(n) + 1;
  std::rotate(at, data.nodes.begin() + static_cast<ptrdiff_t>(before), data.nodes.end());
  return data.nodes.size() - before;
}

uint64_t elements_of(const LoraMatrix& matrix) {
  return static_cast<uint64_t>(matrix.shape[0]) * static_cast<uint64_t>(matrix.shape[1]);
}

}  // namespace

std::vector<HostTensor> host_tensors(std::span<const LoraMatrix> matrices) {
  std::vector<HostTensor> tensors;
  for (const LoraMatrix& matrix : matrices)
    tensors.push_back({matrix.name, DType::F32, matrix.shape, std::as_bytes(std::span(matrix.values))});
  return tensors;
}

std::string Lora::name_of(const Adapter& adapter, char matrix) const {
  return options_.prefix + adapter.module + ".lora_" + matrix + std::string(kWeightEnd);
}

Status Lora::check_numbers(const Log& log) const {
  if (options_.rank < 1 || options_.rank > 65536 || !std::isfinite(options_.alpha) || !(options_.dropout >= 0.0f) ||
      !(options_.dropout < 1.0f))
    return fail(log, Status::InvalidArgument,
                format("lora: a rank of %lld, an alpha of %g or a dropout of %g is out of range",
                       static_cast<long long>(options_.rank), static_cast<double>(options_.alpha),
                       static_cast<double>(options_.dropout)));
  return Status::Ok;
}

Status Lora::choose(const Graph& g, const Log& log) {
  if (const Status status = check_numbers(log); status != Status::Ok) return status;
  const GraphData& data = g.data();
  std::vector<Adapter> found;
  for (const NamedTensor& weight : data.weights) {
    const std::string_view name = weight.name;
    if (!name.ends_with(kWeightEnd) || data.tensors[weight.tensor].rank != 2) continue;
    Adapter adapter;
    adapter.module = name.substr(0, name.size() - kWeightEnd.size());
    if (!names(options_, adapter.module)) continue;
    bool is_read = false;
    for (const Node& node : data.nodes) {
      if (!reads(data, node, weight.tensor)) continue;
      if (!is_product_with(data, node, weight.tensor, &adapter.in_out))
        return fail(log, Status::Unsupported,
                    format("lora: %s does not read '%s' as the whole weight of a matmul", to_string(node.op),
                           weight.name.c_str()));
      is_read = true;
    }
    if (!is_read) continue;
    const Shape shape = g.shape({weight.tensor});
    adapter.out = shape[adapter.in_out ? 1 : 0].value;
    adapter.in = shape[adapter.in_out ? 0 : 1].value;
    found.push_back(std::move(adapter));
  }
  if (found.empty()) return fail(log, Status::NotFound, "lora: no weight of the graph is one that the options name");
  adapters_ = std::move(found);
  return Status::Ok;
}

void Lora::apply(Graph& g) const {
  GraphData& data = detail::data_of(g);
  for (const Adapter& adapter : adapters_) {
    const auto refuse = [&](Status status, const char* why) {
      static_cast<void>(g.fail(status, format("lora: '%s' %s", adapter.module.c_str(), why)));
    };
    if (g.status() != Status::Ok) return;
    const Tensor weight = g.find_weight(adapter.module + std::string(kWeightEnd));
    if (!weight.valid()) return refuse(Status::MissingWeight, "has no weight in the graph");
    if (g.find_weight(name_of(adapter, 'A')).valid()) return refuse(Status::InvalidArgument, "has its adapter already");
    const Shape stored = g.shape(weight);
    if (stored.rank != 2 || stored[0] != Dim(adapter.in_out ? adapter.in : adapter.out) ||
        stored[1] != Dim(adapter.in_out ? adapter.out : adapter.in))
      return refuse(Status::ShapeMismatch, "has a weight of another shape");
    const Tensor a = g.weight(name_of(adapter, 'A'), {options_.rank, adapter.in});
    const Tensor b = g.weight(name_of(adapter, 'B'), {adapter.out, options_.rank});
    for (size_t n = 0; n < data.nodes.size() && g.status() == Status::Ok; ++n) {
      bool in_out = false;
      if (!is_product_with(data, data.nodes[n], weight.id, &in_out) || in_out != adapter.in_out) continue;
      n += add_adapter(g, n, a, b, options_);
    }
  }
}

Status Lora::add_to(Optimizer* optimizer, int group) const {
  for (const Adapter& adapter : adapters_) {
    const int64_t a[] = {options_.rank, adapter.in}, b[] = {adapter.out, options_.rank};
    Status status = optimizer->add(name_of(adapter, 'A'), a, group);
    if (status == Status::Ok) status = optimizer->add(name_of(adapter, 'B'), b, group);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

std::vector<LoraMatrix> Lora::shapes() const {
  std::vector<LoraMatrix> matrices;
  for (const Adapter& adapter : adapters_) {
    matrices.push_back({name_of(adapter, 'A'), {options_.rank, adapter.in}, {}});
    matrices.push_back({name_of(adapter, 'B'), {adapter.out, options_.rank}, {}});
  }
  return matrices;
}

Status Lora::initial(uint64_t seed, std::vector<LoraMatrix>* matrices) const {
  std::vector<LoraMatrix> made = shapes();
  for (LoraMatrix& matrix : made)
    if (!try_resize(&matrix.values, elements_of(matrix))) return Status::OutOfMemory;
  for (size_t stream = 0; stream < adapters_.size(); ++stream) {
    std::vector<float>& values = made[2 * stream].values;
    const double most = 1.0 / std::sqrt(static_cast<double>(adapters_[stream].in));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto bits = philox4x32_10({static_cast<uint32_t>(i / 4), static_cast<uint32_t>(seed >> 32), 0, 0},
                                      {static_cast<uint32_t>(seed), static_cast<uint32_t>(stream)});
      values[i] = static_cast<float>(most * ((static_cast<double>(bits[i % 4]) + 0.5) * 0x1p-31 - 1.0));
    }
  }
  *matrices = std::move(made);
  return Status::Ok;
}

Status Lora::read(const Optimizer& optimizer, const State& state, std::vector<LoraMatrix>* matrices) const {
  std::vector<LoraMatrix> found = shapes();
  for (LoraMatrix& matrix : found) {
    // If the State cannot hold the matrix, the optimizer's error is returned before memory is allocated.
    const uint64_t elements = elements_of(matrix);
    if (elements <= state.bytes() / sizeof(float) && !try_resize(&matrix.values, elements)) return Status::OutOfMemory;
    if (const Status status = optimizer.read(state, matrix.name, matrix.values); status != Status::Ok) return status;
  }
  *matrices = std::move(found);
  return Status::Ok;
}

Status Lora::merge(const HostTensor& weight, std::span<const LoraMatrix> matrices, std::span<float> values) const {
  int64_t elements = 1;
  for (const int64_t dim : weight.shape) elements *= dim;
  const auto count = static_cast<int64_t>(values.size());
  if (elements != count || weight.data.size() != bytes_of(weight.dtype, static_cast<uint64_t>(elements)))
    return Status::ShapeMismatch;
  if (is_quantized(weight.dtype))
    widen_blocks(weight.dtype, weight.data.data(), count / block_of(weight.dtype).elements, values.data());
  else if (is_float(weight.dtype))
    convert_floats(weight.data.data(), weight.dtype, values.data(), DType::F32, values.size());
  else
    return Status::DTypeMismatch;
  for (const Adapter& adapter : adapters_) {
    if (weight.name != adapter.module + std::string(kWeightEnd)) continue;
    const auto find = [&](char which) {
      const auto found = std::find_if(matrices.begin(), matrices.end(),
                                      [&](const LoraMatrix& one) { return one.name == name_of(adapter, which); });
      return found == matrices.end() ? nullptr : &*found;
    };
    const LoraMatrix *const a = find('A'), *const b = find('B');
    if (a == nullptr || b == nullptr) return Status::MissingWeight;
    const int64_t rank = options_.rank, in = adapter.in, out = adapter.out;
    if (elements != in * out || std::cmp_not_equal(a->values.size(), rank * in) ||
        std::cmp_not_equal(b->values.size(), out * rank))
      return Status::ShapeMismatch;
    const double scale = static_cast<double>(options_.alpha) / static_cast<double>(rank);
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) {
        double sum = 0.0;
        for (int64_t r = 0; r < rank; ++r)
          sum += static_cast<double>(b->values[static_cast<size_t>(o * rank + r)]) *
                 static_cast<double>(a->values[static_cast<size_t>(r * in + i)]);
        float& value = values[static_cast<size_t>(adapter.in_out ? i * out + o : o * in + i)];
        value = static_cast<float>(static_cast<double>(value) + scale * sum);
      }
  }
  return Status::Ok;
}

}  // namespace heed::train
