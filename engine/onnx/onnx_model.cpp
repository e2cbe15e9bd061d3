#include <algorithm>
#include <filesystem>
#include <map>

#include <heed/onnx.hpp>

#include "base/logging.hpp"
#include "io/mapped_file.hpp"
#include "onnx/extents.hpp"
#include "onnx/importer.hpp"
#include "onnx/join_products.hpp"

namespace heed {

using onnx::FileTensor, onnx::FileValue;

struct OnnxModel::Contents {
  MappedFile mapped;
  std::string name;
  onnx::ModelFile file;
  std::vector<OnnxTensor> inputs, outputs;
  std::vector<std::pair<std::string, int64_t>> operators;
  std::vector<OnnxState> states;  // views of names in inputs and outputs
  onnx::JoinedWeights joined;
};

namespace {

OnnxTensor described(const FileValue& value) {
  OnnxTensor tensor{value.name, onnx::device_type(value.type).value_or(DType::F32), {}};
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const onnx::FileDim& dim = value.dims[i];
    const bool is_unknown = dim.symbol.empty() && dim.size < 0;
    tensor.dims.push_back(
        {is_unknown ? onnx::symbol_of(dim, value.name, i) : dim.symbol, std::max<int64_t>(dim.size, 0)});
  }
  return tensor;
}

void count_operators(const onnx::FileGraph& graph, std::map<std::string, int64_t>* counts) {
  for (const onnx::FileNode& node : graph.nodes) {
    ++(*counts)[node.domain.empty() ? node.op : node.domain + "." + node.op];
    for (const onnx::FileAttribute& attribute : node.attributes)
      if (attribute.graph != nullptr) count_operators(*attribute.graph, counts);
  }
}

// Prefixes of the names of caches.
constexpr std::string_view kPast[] = {"past_key_values", "past_key_value", "past"},
                           kPresent[] = {"present_key_values", "present_key_value", "present"};

// Pairs of inputs and outputs whose names are equal after these prefixes. The longest prefix is tried first.
std::vector<OnnxState> usual_states(std::span<const OnnxTensor> inputs, std::span<const OnnxTensor> outputs) {
  std::vector<OnnxState> states;
  for (const OnnxTensor& input : inputs) {
    const auto begin = std::find_if(std::begin(kPast), std::end(kPast),
                                    [&](std::string_view past) { return input.name.starts_with(past); });
    if (begin == std::end(kPast)) continue;
    const std::string_view rest = std::string_view(input.name).substr(begin->size());
    const auto output = std::find_if(outputs.begin(), outputs.end(), [&](const OnnxTensor& o) {
      return o.name.ends_with(rest) &&
             std::find(std::begin(kPresent), std::end(kPresent),
                       std::string_view(o.name).substr(0, o.name.size() - rest.size())) != std::end(kPresent);
    });
    if (output != outputs.end()) states.push_back({input.name, output->name});
  }
  return states;
}

}  // namespace

OnnxModel::OnnxModel() = default;
OnnxModel::~OnnxModel() = default;
OnnxModel::OnnxModel(OnnxModel&&) noexcept = default;
OnnxModel& OnnxModel::operator=(OnnxModel&&) noexcept = default;

Status OnnxModel::open(std::string_view path, const Log& log, OnnxModel* model) {
  if (model == nullptr) return refuse("OnnxModel::open: model is null");
  auto contents = std::make_unique<Contents>();
  contents->name = path;
  Status status = MappedFile::open(contents->name, log, &contents->mapped);
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (status == Status::Ok) status = onnx::read_model(contents->mapped.bytes(), path, folder, log, &contents->file);
  return status == Status::Ok ? finish(std::move(contents), log, model) : status;
}

Status OnnxModel::parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, OnnxModel* model) {
  if (model == nullptr) return refuse("OnnxModel::parse: model is null");
  auto contents = std::make_unique<Contents>();
  contents->name = name;
  const Status status = onnx::read_model(bytes, name, "", log, &contents->file);
  return status == Status::Ok ? finish(std::move(contents), log, model) : status;
}

Status OnnxModel::finish(std::unique_ptr<Contents> contents, const Log&, OnnxModel* model) {
  const onnx::FileGraph& graph = contents->file.graph;
  for (const FileValue& input : graph.inputs) {
    const auto is_default = [&](const FileTensor& tensor) { return tensor.name == input.name; };
    if (std::none_of(graph.initializers.begin(), graph.initializers.end(), is_default))
      contents->inputs.push_back(described(input));
  }
  for (const FileValue& output : graph.outputs) contents->outputs.push_back(described(output));
  std::map<std::string, int64_t> counts;
  count_operators(graph, &counts);
  contents->operators.assign(counts.begin(), counts.end());
  contents->states = usual_states(contents->inputs, contents->outputs);
  contents->joined = onnx::join_products(&contents->file.graph);
  model->contents_ = std::move(contents);
  return Status::Ok;
}

std::span<const OnnxTensor> OnnxModel::inputs() const {
  return contents_ != nullptr ? std::span<const OnnxTensor>(contents_->inputs) : std::span<const OnnxTensor>();
}
std::span<const OnnxTensor> OnnxModel::outputs() const {
  return contents_ != nullptr ? std::span<const OnnxTensor>(contents_->outputs) : std::span<const OnnxTensor>();
}
std::span<const std::pair<std::string, int64_t>> OnnxModel::operators() const {
  return contents_ != nullptr ? std::span<const std::pair<std::string, int64_t>>(contents_->operators)
                              : std::span<const std::pair<std::string, int64_t>>();
}

std::span<const OnnxState> OnnxModel::states() const {
  return contents_ != nullptr ? std::span<const OnnxState>(contents_->states) : std::span<const OnnxState>();
}

Status OnnxModel::build(const OnnxOptions& options, const Log& log, Graph* g) const {
  if (!valid() || g == nullptr) return refuse("OnnxModel::build: no file is open, or the graph is null");
  Graph made;
  const Status status = add_to(&made, {}, options, log, nullptr);
  if (status == Status::Ok) *g = std::move(made);
  return status;
}

Status OnnxModel::add(Graph* g, std::span<const OnnxInput> inputs, const OnnxOptions& options, const Log& log,
                      std::vector<Tensor>* outputs) const {
  if (!valid() || g == nullptr || outputs == nullptr)
    return refuse("OnnxModel::add: no file is open, or the graph or outputs is null");
  if (g->status() != Status::Ok) return fail(log, g->status(), g->error());
  return add_to(g, inputs, options, log, outputs);
}

// Adds to *g, with outputs of the graph if `outputs` is null.
Status OnnxModel::add_to(Graph* g, std::span<const OnnxInput> inputs, const OnnxOptions& options, const Log& log,
                         std::vector<Tensor>* outputs) const {
  onnx::ImportOptions import;
  import.inputs.assign(inputs.begin(), inputs.end());
  import.gives_outputs = outputs == nullptr;
  for (const OnnxExtent& extent : options.extents) import.largest.emplace(extent.symbol, extent.largest);
  import.largest_otherwise = options.largest;
  for (const OnnxState& state : options.states) import.states.push_back({state.past, state.present});
  std::vector<onnx::SameSize> same;
  while (true) {
    Graph made = *g;
    onnx::Importer importer(contents_->file, made, import);
    importer.same = same;
    const Status status = importer.run();
    same = importer.same;
    if (importer.must_retry()) continue;  // each retry unites at least two symbols
    if (status != Status::Ok) return fail(log, status, contents_->name + ": " + importer.message());
    for (const onnx::SameSize& one : same) {
      std::string sum = one.terms.empty() ? std::to_string(one.size) : one.terms[0];
      for (size_t i = 1; i < one.terms.size(); ++i) sum += " + " + one.terms[i];
      heed::log(log, LogLevel::Info,
                format("%s: '%s' is %s, as node '%s' shows", contents_->name.c_str(), one.symbol.c_str(), sum.c_str(),
                       one.node.c_str()));
    }
    *g = std::move(made);
    if (outputs != nullptr) *outputs = importer.outputs;
    return Status::Ok;
  }
}

Status OnnxModel::upload(Device& device, const Graph& g, const Log& log, Weights* weights) const {
  if (!valid() || weights == nullptr) return refuse("OnnxModel::upload: no file is open, or weights is null");
  std::map<std::string_view, const FileTensor*> known;
  for (const FileTensor& tensor : contents_->file.graph.initializers) known.emplace(tensor.name, &tensor);
  // The memory of a value is freed right after its upload, so that the upload needs little more than the weights.
  struct Reading {
    const MappedFile& file;
    std::vector<std::unique_ptr<std::byte[]>> joined;
    void release(std::span<const std::byte> data) {
      file.release(data);
      for (std::unique_ptr<std::byte[]>& values : joined)
        if (values.get() == data.data()) values.reset();
    }
  };
  Reading reading{contents_->mapped, {}};
  std::vector<HostTensor> tensors;
  for (const WeightInfo& weight : g.weights()) {
    const auto found = known.find(weight.name);
    if (found == known.end())
      return fail(log, Status::MissingWeight,
                  format("%s: the file has no weight '%s'", contents_->name.c_str(), std::string(weight.name).c_str()));
    const FileTensor& tensor = *found->second;
    std::span<const std::byte> data = tensor.data;
    if (const auto parts = contents_->joined.find(tensor.name); parts != contents_->joined.end()) {
      reading.joined.push_back(onnx::joined_values(parts->second));
      const auto size = static_cast<size_t>(tensor.elements()) * size_of(weight.dtype);
      if (reading.joined.back() == nullptr)
        return fail(log, Status::OutOfMemory,
                    format("%s: no memory for the %zu bytes of weight '%s'", contents_->name.c_str(), size,
                           tensor.name.c_str()));
      data = {reading.joined.back().get(), size};
      for (const FileTensor& part : parts->second) reading.file.release(part.data);
    }
    tensors.push_back({tensor.name, weight.dtype, tensor.dims, data});
  }
  UploadOptions options;
  options.release = {[](void* user, std::span<const std::byte> some) { static_cast<Reading*>(user)->release(some); },
                     &reading};
  return device.upload(tensors, weights, options);
}

Status OnnxModel::compile(Device& device, const OnnxOptions& options, const Log& log, Plan* plan,
                          const CompileOptions& compile_options) const {
  Graph g;
  Weights weights;
  Status status = build(options, log, &g);
  if (status == Status::Ok) status = upload(device, g, log, &weights);
  return status == Status::Ok ? device.compile(g, weights, plan, compile_options) : status;
}

Status OnnxModel::find_extents(const Graph& g, std::span<const OnnxShape> shapes, const Log& log,
                               std::vector<ExtentValue>* extents) const {
  if (!valid() || extents == nullptr) return refuse("OnnxModel::find_extents: no file is open, or extents is null");
  const std::string wrong = onnx::find_extents(g, contents_->inputs, shapes, extents);
  return wrong.empty() ? Status::Ok : fail(log, Status::ShapeMismatch, contents_->name + ": " + wrong);
}

}  // namespace heed
