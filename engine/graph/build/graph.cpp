// Graph: life cycle, inputs, outputs, queries and labels.
#include <heed/graph.hpp>

#include <algorithm>
#include <cstring>
#include <new>

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;
using detail::GraphData;
using detail::NamedTensor;

struct detail::GraphAccess {
  static GraphData& data_of(Graph& g) { return *g.data_; }
};
GraphData& detail::data_of(Graph& g) { return GraphAccess::data_of(g); }

Graph::Graph() : data_(std::make_unique<GraphData>()) {}
Graph::~Graph() = default;
Graph::Graph(const Graph& other) : data_(std::make_unique<GraphData>(*other.data_)) {}
Graph& Graph::operator=(const Graph& other) {
  if (this != &other) data_ = std::make_unique<GraphData>(*other.data_);
  return *this;
}
// A moved-from graph becomes an empty graph, so that every call on it stays defined.
Graph::Graph(Graph&& other) noexcept : data_(std::move(other.data_)) { other.data_ = std::make_unique<GraphData>(); }
Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}

namespace {

const NamedTensor* find_named(const std::vector<NamedTensor>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == list.end() ? nullptr : &*found;
}

const NamedTensor* find_known_weight(const GraphData& data, std::string_view name) {
  const NamedTensor* known = find_named(data.weights, name);
  return known != nullptr ? known : find_named(data.kept_weights, name);
}

// Whether rows of a quantized weight are whole blocks. Invalid shapes are reported elsewhere.
bool has_whole_blocks(Build& build, std::string_view name, const Shape& shape, DType dtype) {
  const int64_t block = block_of(dtype).elements;
  if (!shape.valid() || shape.rank == 0 || shape[shape.rank - 1].value % block == 0) return true;
  return build.refuse(
      Status::DTypeMismatch,
      format("'%s' cannot be %s: rows of %lld are no whole blocks of %lld", std::string(name).c_str(), to_string(dtype),
             static_cast<long long>(shape[shape.rank - 1].value), static_cast<long long>(block)));
}

Tensor add_source(Build& build, std::string_view name, const Shape& shape, DType dtype,
                  std::vector<NamedTensor>* list) {
  TensorInfo info;
  const bool is_weight = list == &build.data().weights;
  if (!build.is_name(name) ||
      !(is_weight && is_quantized(dtype) ? has_whole_blocks(build, name, shape, dtype)
                                         : build.is_type(dtype, std::string(name).c_str())) ||
      !build.sizes_of(shape, std::string(name).c_str(), &info))
    return {};
  info.dtype = dtype;
  info.name = name;
  build.make_contiguous(&info);
  const Tensor tensor = build.add_storage(std::move(info));
  if (list != nullptr) list->push_back({std::string(name), tensor.id});
  return tensor;
}

template <class T>
Tensor copy_constant(Build& build, std::string_view name, const Shape& shape, DType dtype, std::span<const T> values) {
  std::byte* memory = nullptr;
  const Tensor tensor = build.add_constant(name, shape, dtype, values.size(), &memory);
  if (memory != nullptr) std::memcpy(memory, values.data(), values.size_bytes());
  return tensor;
}

}  // namespace

Tensor detail::Build::add_constant(std::string_view name, const Shape& shape, DType dtype, size_t count,
                                   std::byte** memory) {
  *memory = nullptr;
  const Tensor tensor = add_source(*this, name, shape, dtype, nullptr);
  if (!tensor.valid()) return {};
  const TensorInfo& constant = info(tensor);
  for (int i = 0; i < constant.rank; ++i)
    if (!data_.sizes.is_constant(constant.dims[static_cast<size_t>(i)]))
      return fail(Status::InvalidArgument, format("%s: a constant cannot have extents", text(tensor).c_str()));
  if (static_cast<uint64_t>(max_elements(constant)) != count)
    return fail(Status::ShapeMismatch, format("%s needs %lld values, %zu were given", text(tensor).c_str(),
                                              static_cast<long long>(max_elements(constant)), count));
  const size_t bytes = count * size_of(dtype);
  std::shared_ptr<std::byte[]> fresh(new (std::nothrow) std::byte[bytes]);
  if (fresh == nullptr)
    return fail(Status::OutOfMemory, format("%s: no memory for %zu bytes", text(tensor).c_str(), bytes));
  *memory = fresh.get();
  data_.constants.push_back({tensor.id, std::move(fresh), {*memory, bytes}});
  return tensor;
}

Tensor Graph::input(std::string_view name, const Shape& shape, DType dtype) {
  Build build(*data_, "input");
  if (find_named(data_->inputs, name) != nullptr || find_named(data_->outputs, name) != nullptr)
    return build.fail(Status::InvalidArgument, format("'%s' exists already", std::string(name).c_str()));
  return add_source(build, name, shape, dtype, &data_->inputs);
}

Tensor Graph::weight(std::string_view name, const Shape& shape, DType dtype) {
  Build build(*data_, "weight");
  const NamedTensor* known = find_known_weight(*data_, name);
  if (known == nullptr) {
    for (int i = 0; i < std::min(shape.rank, kMaxRank); ++i)
      if (!shape[i].is_constant() && !build.failed())
        return build.fail(Status::InvalidArgument,
                          format("'%s': a weight cannot have extents", std::string(name).c_str()));
    return add_source(build, name, shape, dtype, &data_->weights);
  }
  TensorInfo asked;
  if (!build.sizes_of(shape, known->name.c_str(), &asked)) return {};
  const Tensor tensor{known->tensor};
  if (!build.same_shape(build.info(tensor), asked) || build.info(tensor).dtype != dtype)
    return build.fail(Status::ShapeMismatch, format("%s was declared before; now %s %s", build.text(tensor).c_str(),
                                                    to_string(dtype), build.shape_text(asked).c_str()));
  return tensor;
}

Tensor Graph::find_weight(std::string_view name) const {
  const NamedTensor* known = find_known_weight(*data_, name);
  return known == nullptr ? Tensor{} : Tensor{known->tensor};
}

std::vector<WeightInfo> Graph::weights() const {
  std::vector<WeightInfo> all;
  for (const auto* list : {&data_->weights, &data_->kept_weights})
    for (const NamedTensor& weight : *list) {
      const Tensor tensor{weight.tensor};
      all.push_back({weight.name, shape(tensor), dtype(tensor)});
    }
  return all;
}

Tensor Graph::constant(std::string_view name, const Shape& shape, std::span<const float> values) {
  Build build(*data_, "constant");
  return copy_constant(build, name, shape, DType::F32, values);
}
Tensor Graph::constant(std::string_view name, const Shape& shape, std::span<const int32_t> values) {
  Build build(*data_, "constant");
  return copy_constant(build, name, shape, DType::I32, values);
}
Tensor Graph::constant(std::string_view name, const Shape& shape, std::span<const uint8_t> values) {
  Build build(*data_, "constant");
  return copy_constant(build, name, shape, DType::U8, values);
}

void Graph::output(std::string_view name, Tensor tensor) {
  Build build(*data_, "output");
  if (!build.is_name(name)) return;
  if (!build.needs({tensor})) return;
  if (find_named(data_->outputs, name) != nullptr || find_named(data_->inputs, name) != nullptr) {
    build.fail(Status::InvalidArgument, format("'%s' exists already", std::string(name).c_str()));
    return;
  }
  // Later calls may write the state, so the copy is added here, in the order of the reads.
  if (build.is_state(build.info(tensor).storage)) {
    tensor = build.copy(tensor);
    data_->nodes.back().label = std::string(name) + ".output";
  }
  data_->outputs.push_back({std::string(name), tensor.id});
}

Shape Graph::shape(Tensor x) const {
  if (x.id >= data_->tensors.size()) return {};
  const Build build(*data_, "shape");
  return build.shape_of(build.info(x));
}

DType Graph::dtype(Tensor x) const { return x.id < data_->tensors.size() ? data_->tensors[x.id].dtype : DType::F32; }
Status Graph::status() const { return data_->status; }
const char* Graph::error() const { return data_->error.c_str(); }

void Graph::push_label(std::string_view name) {
  std::string label = data_->labels.empty() ? std::string() : data_->labels.back() + ".";
  data_->labels.push_back(label.append(name));
}
void Graph::pop_label() {
  if (!data_->labels.empty()) data_->labels.pop_back();
}

Tensor Graph::fail(Status status, std::string_view message) {
  if (status == Status::Ok) status = Status::InvalidArgument;
  if (data_->status == Status::Ok) {
    data_->status = status;
    data_->error = message;
  }
  return {};
}

}  // namespace heed
