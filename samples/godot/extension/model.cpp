#include "model.hpp"

#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

namespace {

constexpr heed::DType kFloats = heed::DType::F32, kInts = heed::DType::I32;

std::string text_of(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

// The bytes of a tensor of these dims; none if a dim is negative, or the product too large.
std::optional<size_t> bytes_of(heed::DType dtype, const std::vector<int64_t>& dims) {
  uint64_t product = heed::size_of(dtype);
  for (const int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(dim), &product)) return std::nullopt;
  return product;
}

// Ordinary files are mapped, and may have external data beside them; those inside a .pck are read as a whole.
heed::Status open_file(const std::string& path, ModelFile* file) {
  const std::string found = godot::system_path(path);
  if (godot::is_file(found)) return heed::OnnxModel::open(found, heed::no_log(), &file->model);
  file->bytes = godot::read_file(path);
  return heed::OnnxModel::parse(file->bytes, path, heed::no_log(), &file->model);
}

}  // namespace

godot::Error HeedModel::refuse(const char* method, godot::Error error, const std::string& why) const {
  godot::error(std::string("HeedModel.") + method + ": " + why);
  std::ignore = emit("failed", {why});
  return error;
}

godot::Error HeedModel::load(const std::string& path) {
  if (refuse_thread("HeedModel.load")) return godot::Error::Unavailable;
  if (is_running_) return refuse("load", godot::Error::Busy, "a run goes on; wait for finished");
  auto fresh = std::make_shared<ModelFile>();
  if (open_file(path, fresh.get()) != heed::Status::Ok) {
    const bool is_there = godot::is_file(godot::system_path(path)) || !fresh->bytes.empty();
    return refuse("load", godot::Error::FileCannotBeRead,
                  is_there ? heed::last_message() : "nothing is at \"" + path + "\"");
  }
  close();
  file_ = std::move(fresh);
  given_.clear();
  largest_.clear();
  return godot::Error::Ok;
}

godot::Error HeedModel::set_largest(const std::string& dim, int64_t size) {
  if (refuse_thread("HeedModel.set_largest")) return godot::Error::Unavailable;
  bool is_there = false;
  if (file_)
    for (const heed::OnnxTensor& input : file_->model.inputs())
      for (const heed::OnnxDim& one : input.dims) is_there = is_there || (!dim.empty() && one.symbol == dim);
  if (!is_there)
    return refuse(
        "set_largest", godot::Error::DoesNotExist,
        file_ ? "no input has a dim \"" + dim + "\"; get_dims() lists them" : "there is no file; call load() first");
  if (size < 0 || size > INT32_MAX)
    return refuse("set_largest", godot::Error::InvalidParameter, dim + " cannot be " + std::to_string(size));
  largest_[dim] = size;
  return godot::Error::Ok;
}

godot::Error HeedModel::open(godot::Object object) {
  if (refuse_thread("HeedModel.open")) return godot::Error::Unavailable;
  if (is_running_) return refuse("open", godot::Error::Busy, "a run goes on; wait for finished");
  if (!file_) return refuse("open", godot::Error::Unconfigured, "there is no file; call load() first");
  const HeedDevice* device = HeedDevice::opened(object, "HeedModel.open");
  if (device == nullptr) return godot::Error::InvalidParameter;
  if (!device->can_serve_models("HeedModel.open")) return godot::Error::Unavailable;
  std::vector<heed::OnnxExtent> extents;
  for (const auto& [dim, size] : largest_) extents.push_back({dim, size});
  heed::Graph graph;
  const heed::Status status = file_->model.build({.extents = extents}, heed::no_log(), &graph);
  if (status != heed::Status::Ok)
    return refuse("open",
                  status == heed::Status::InvalidArgument ? godot::Error::InvalidParameter : godot::Error::Failed,
                  heed::last_message());
  close();
  work_ = std::make_shared<ModelWork>(file_, device->gpu(), device->cpu());
  work_->open(std::move(graph));
  return godot::Error::Ok;
}

void HeedModel::close() {
  if (work_) ModelWork::leave(std::move(work_));
  work_.reset();
  is_running_ = is_asked_ = has_run_ = false;
}

// --- Contents of the file

const heed::OnnxTensor* HeedModel::find(const std::string& name, bool* is_output) const {
  *is_output = false;
  if (!file_) return nullptr;
  for (const auto tensors : {file_->model.inputs(), file_->model.outputs()}) {
    for (const heed::OnnxTensor& tensor : tensors)
      if (tensor.name == name) return &tensor;
    *is_output = true;
  }
  return nullptr;
}

namespace {
godot::Texts names_of(std::span<const heed::OnnxTensor> tensors) {
  godot::Texts names;
  for (const heed::OnnxTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}
}  // namespace

godot::Texts HeedModel::input_names() const { return file_ ? names_of(file_->model.inputs()) : godot::Texts(); }
godot::Texts HeedModel::output_names() const { return file_ ? names_of(file_->model.outputs()) : godot::Texts(); }

std::string HeedModel::type(const std::string& name) const {
  bool is_output = false;
  const heed::OnnxTensor* tensor = find(name, &is_output);
  return tensor != nullptr ? heed::to_string(tensor->dtype) : "";
}

godot::Texts HeedModel::dims(const std::string& name) const {
  bool is_output = false;
  godot::Texts result;
  if (const heed::OnnxTensor* tensor = find(name, &is_output))
    for (const heed::OnnxDim& dim : tensor->dims)
      result.push_back(dim.symbol.empty() ? std::to_string(dim.size) : dim.symbol);
  return result;
}

// --- Before a run

godot::Error HeedModel::set(const char* method, const std::string& name, const void* values, size_t bytes,
                            const heed::DType* dtype, const godot::Ints& shape) {
  if (refuse_thread((std::string("HeedModel.") + method).c_str())) return godot::Error::Unavailable;
  bool is_output = false;
  const heed::OnnxTensor* tensor = find(name, &is_output);
  if (tensor == nullptr || is_output)
    return refuse(method, godot::Error::DoesNotExist,
                  "the network has no input \"" + name + "\"; get_input_names() lists them");
  if (dtype != nullptr && tensor->dtype != *dtype)
    return refuse(method, godot::Error::InvalidParameter,
                  name + " is " + heed::to_string(tensor->dtype) + ", not " + heed::to_string(*dtype));
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  if (bytes_of(tensor->dtype, dims) != bytes)
    return refuse(
        method, godot::Error::InvalidParameter,
        std::to_string(bytes / heed::size_of(tensor->dtype)) + " values of " + name + " are not " + text_of(dims));
  Given& given = given_[name];
  given = {dims, {}, {}};
  given.bytes.resize(bytes);
  if (bytes > 0) std::memcpy(given.bytes.data(), values, bytes);
  return godot::Error::Ok;
}

godot::Error HeedModel::set_floats(const std::string& name, const godot::Floats& values, const godot::Ints& shape) {
  return set("set_floats", name, values.data(), values.size() * sizeof(float), &kFloats, shape);
}
godot::Error HeedModel::set_ints(const std::string& name, const godot::Ints& values, const godot::Ints& shape) {
  return set("set_ints", name, values.data(), values.size() * sizeof(int32_t), &kInts, shape);
}
godot::Error HeedModel::set_bytes(const std::string& name, const godot::Bytes& values, const godot::Ints& shape) {
  return set("set_bytes", name, values.data(), values.size(), nullptr, shape);
}

godot::Error HeedModel::bind(const std::string& name, godot::Rid buffer, const godot::Ints& shape) {
  if (refuse_thread("HeedModel.bind_buffer")) return godot::Error::Unavailable;
  bool is_output = false;
  if (find(name, &is_output) == nullptr)
    return refuse("bind_buffer", godot::Error::DoesNotExist, "the network has no input or output \"" + name + "\"");
  if (work_ && !work_->gpu())
    return refuse("bind_buffer", godot::Error::Unavailable,
                  "buffers are the GPU's, and the network is on the CPU; set arrays");
  if (buffer.id == 0)
    return refuse("bind_buffer", godot::Error::InvalidParameter, "the buffer of " + name + " is no valid RID");
  given_[name] = {{shape.begin(), shape.end()}, {}, buffer};
  return godot::Error::Ok;
}

// --- Runs

godot::Error HeedModel::prepare(const char* method, ModelRun* run) const {
  std::vector<heed::OnnxShape> shapes;
  for (const bool is_output : {false, true})
    for (const heed::OnnxTensor& tensor : is_output ? file_->model.outputs() : file_->model.inputs()) {
      const auto found = given_.find(tensor.name);
      ModelValue value = {tensor.name, tensor.dtype, {}, {}, {}, is_output};
      if (found != given_.end()) {
        value.dims = found->second.dims;
        value.bytes = found->second.bytes;
        value.buffer = found->second.buffer;
        if (!is_output) shapes.push_back({tensor.name, found->second.dims});
      }
      if (value.buffer.id != 0 && !work_->gpu())
        return refuse(method, godot::Error::InvalidParameter,
                      "a buffer is bound to " + tensor.name + ", and the network is on the CPU; set arrays");
      run->values.push_back(std::move(value));
    }
  std::string why;
  return work_->fit(shapes, run, &why) ? godot::Error::Ok : refuse(method, godot::Error::InvalidParameter, why);
}

godot::Error HeedModel::run() {
  if (refuse_thread("HeedModel.run")) return godot::Error::Unavailable;
  if (!work_) return refuse("run", godot::Error::Unconfigured, "no network is open; call load() and open() first");
  if (is_running_) return refuse("run", godot::Error::Busy, "a run goes on; wait for finished");
  if (!has_parent())
    return refuse("run", godot::Error::Unconfigured,
                  "the node is in no tree, so that no frame computes; add_child() it, or call run_now()");
  is_asked_ = !work_->is_open();
  if (!is_asked_) {
    ModelRun run;
    const godot::Error error = prepare("run", &run);
    if (error != godot::Error::Ok) return error;
    work_->begin(std::move(run));
  }
  is_running_ = true;
  return godot::Error::Ok;
}

godot::Error HeedModel::run_now() {
  if (refuse_thread("HeedModel.run_now")) return godot::Error::Unavailable;
  if (!is_open()) return refuse("run_now", godot::Error::Unconfigured, "no network is open; wait for opened first");
  if (is_running_) return refuse("run_now", godot::Error::Busy, "a run goes on; wait for finished");
  ModelRun run;
  const godot::Error error = prepare("run_now", &run);
  if (error != godot::Error::Ok) return error;
  std::string why;
  has_run_ = work_->run_now(std::move(run), &why);
  return has_run_ ? godot::Error::Ok : refuse("run_now", godot::Error::Failed, why);
}

void HeedModel::process() {
  if (!work_) return;
  if (is_running_ && !is_asked_) work_->allow(budget_msec_);
  const ModelWork::News news = work_->take();
  if (!news.problem.empty()) {
    is_running_ = is_asked_ = has_run_ = false;
    std::ignore = refuse("run", godot::Error::Failed, news.problem);
    return;
  }
  if (news.is_opened && !emit("opened", {})) return;
  if (is_asked_ && is_open()) {
    is_asked_ = false;
    ModelRun run;
    is_running_ = false;
    if (prepare("run", &run) != godot::Error::Ok) return;
    is_running_ = true;
    work_->begin(std::move(run));
  }
  if (!news.is_finished) return;
  is_running_ = false;
  has_run_ = true;
  std::ignore = emit("finished", {});
}

void HeedModel::set_budget_msec(double milliseconds) {
  if (milliseconds >= 0)
    budget_msec_ = milliseconds;
  else
    godot::error("HeedModel.budget_msec: must be 0 or more");
}

// --- After a run

const ModelValue* HeedModel::result(const char* method, const std::string& name, const heed::DType* dtype) const {
  const ModelValue* found = nullptr;
  if (has_run())
    for (const ModelValue& value : work_->last().values)
      if (value.is_output && value.name == name) found = &value;
  if (found == nullptr)
    std::ignore = refuse(method, godot::Error::DoesNotExist,
                         has_run() ? "the network has no output \"" + name + "\"; get_output_names() lists them"
                                   : "no run has finished");
  else if (dtype != nullptr && found->dtype != *dtype)
    std::ignore = refuse(method, godot::Error::InvalidParameter,
                         name + " is " + heed::to_string(found->dtype) + ", not " + heed::to_string(*dtype));
  else
    return found;
  return nullptr;
}

namespace {
template <typename T>
std::vector<T> values_of(const ModelValue* value) {
  std::vector<T> values(value != nullptr ? value->bytes.size() / sizeof(T) : 0);
  if (!values.empty()) std::memcpy(values.data(), value->bytes.data(), values.size() * sizeof(T));
  return values;
}
}  // namespace

godot::Floats HeedModel::floats(const std::string& name) {
  return values_of<float>(result("get_floats", name, &kFloats));
}
godot::Ints HeedModel::ints(const std::string& name) { return values_of<int32_t>(result("get_ints", name, &kInts)); }
godot::Bytes HeedModel::bytes(const std::string& name) {
  return values_of<std::byte>(result("get_bytes", name, nullptr));
}
godot::Ints HeedModel::shape(const std::string& name) {
  const ModelValue* value = result("get_shape", name, nullptr);
  return value == nullptr ? godot::Ints() : godot::Ints(value->dims.begin(), value->dims.end());
}

const godot::Class& HeedModel::description() {
  using godot::Kind, godot::method;
  using M = HeedModel;
  static const godot::Class result{
      "HeedModel",
      "Node",
      godot::create<M>,
      {method<&M::load>("load", {{"path"}}),
       method<&M::set_largest>("set_largest", {{"dim"}, {"size"}}),
       method<&M::open>("open", {{"device", Kind::Object, "HeedDevice"}}),
       method<&M::close>("close"),
       method<&M::is_open>("is_open"),
       method<&M::input_names>("get_input_names"),
       method<&M::output_names>("get_output_names"),
       method<&M::type>("get_type", {{"name"}}),
       method<&M::dims>("get_dims", {{"name"}}),
       method<&M::set_floats>("set_floats", {{"name"}, {"values"}, {"shape"}}),
       method<&M::set_ints>("set_ints", {{"name"}, {"values"}, {"shape"}}),
       method<&M::set_bytes>("set_bytes", {{"name"}, {"values"}, {"shape"}}),
       method<&M::bind>("bind_buffer", {{"name"}, {"buffer"}, {"shape"}}),
       method<&M::run>("run"),
       method<&M::run_now>("run_now"),
       method<&M::is_running>("is_running"),
       method<&M::floats>("get_floats", {{"name"}}),
       method<&M::ints>("get_ints", {{"name"}}),
       method<&M::bytes>("get_bytes", {{"name"}}),
       method<&M::shape>("get_shape", {{"name"}}),
       method<&M::frames>("get_frames"),
       method<&M::msec>("get_msec")},
      {{"opened", {}}, {"finished", {}}, {"failed", {{"why", Kind::Text}}}},
      {godot::property<&M::set_budget_msec, &M::budget_msec>("budget_msec", "set_budget_msec", "get_budget_msec")}};
  return result;
}
