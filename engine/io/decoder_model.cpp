#include <heed/decoder_model.hpp>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/decoder_tensors.hpp"
#include "io/json_file.hpp"
#include "io/name_list.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace fs = std::filesystem;

struct DecoderModel::Contents {
  DecoderConfig config;
  Gguf gguf;  // one of these two is open
  Checkpoint checkpoint;
  bool is_gguf = false;
  std::vector<HostTensor> tensors;
  uint64_t bytes = 0;
  // `tensors` points to these names, and to values that the files have in other types. A deque keeps their addresses.
  std::deque<std::string> names;
  std::deque<std::vector<float>> widened;
};

namespace {

// A tensor of either kind of file.
struct Stored {
  std::string_view name;
  const char* type = "";
  std::optional<DType> dtype;  // nothing: heed cannot store it
  std::span<const int64_t> shape;
  std::span<const std::byte> data;
};

Stored stored(const Gguf::Entry& entry) {
  Stored tensor = {entry.name, Gguf::type_name(entry.type), {}, entry.shape, entry.data};
  DType dtype;
  if (Gguf::storage_type(entry.type, &dtype)) tensor.dtype = dtype;
  return tensor;
}
Stored stored(const SafeTensors::Entry& entry) {
  Stored tensor = {entry.name, to_string(entry.type), {}, entry.shape, entry.data};
  DType dtype;
  if (storage_type(entry.type, &dtype)) tensor.dtype = dtype;
  return tensor;
}

// Tensors beside the network's that change nothing: factors that the configuration has read, tables that can be computed.
bool has_no_effect(std::string_view name, const DecoderConfig& config) {
  if (name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq")) return true;
  if (config.family == DecoderFamily::Gpt2 && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")))
    return true;  // masks of the past, as old checkpoints have them
  return config.tied && name.ends_with("lm_head.weight");
}

// Compares the tensors of a file with those of the network, and takes the latter.
class DecoderLoader {
 public:
  DecoderLoader(const DecoderConfig& config, std::string file, const Log& log)
      : config_(config), file_(std::move(file)), log_(log) {}

  // `list`: the file's tensors, sorted by name. `name_of` says by which name the file has a tensor of the network.
  template <class NameOf>
  Status compare(const std::vector<DecoderTensor>& wanted, std::span<const Stored> list, NameOf name_of) {
    std::set<std::string_view> used;
    for (const DecoderTensor& tensor : wanted) {
      const std::string name = name_of(tensor);
      const auto at = std::lower_bound(list.begin(), list.end(), name,
                                       [](const Stored& one, const std::string& other) { return one.name < other; });
      if (at == list.end() || at->name != name) {
        missing_.add(name);
        continue;
      }
      used.insert(at->name);
      check(tensor, *at);
    }
    NameList others;
    for (const Stored& tensor : list)
      if (!used.contains(tensor.name) && !has_no_effect(tensor.name, config_)) others.add(printable(tensor.name));
    Status status = Status::Ok;
    const auto problem = [&](const NameList& names, Status kind, const char* what) {
      if (names.empty()) return;
      const Status logged = fail(log_, kind, file_ + ": " + what + names.text());
      if (status == Status::Ok) status = logged;
    };
    problem(missing_, Status::MissingWeight, "lacks tensors: ");
    problem(misshapen_, Status::ShapeMismatch, "tensors do not fit the configuration: ");
    problem(mistyped_, Status::Unsupported, "tensors are of types that are not supported here: ");
    problem(others, Status::Unsupported, "has tensors that the network of its configuration does not use: ");
    return status;
  }

  const std::vector<Stored>& found() const { return found_; }  // as many as were wanted, after Ok

 private:
  void check(const DecoderTensor& wanted, const Stored& tensor) {
    found_.push_back(tensor);
    const std::string name = printable(tensor.name);
    if (!std::equal(tensor.shape.begin(), tensor.shape.end(), wanted.shape.begin(), wanted.shape.end()))
      misshapen_.add(format("%s is %s, must be %s", name.c_str(), shape_text(tensor.shape).c_str(),
                            shape_text(wanted.shape).c_str()));
    const bool fits = tensor.dtype && *tensor.dtype != DType::I32 && *tensor.dtype != DType::U8 &&
                      (wanted.may_be_quantized || is_float(*tensor.dtype));
    if (!fits) mistyped_.add(format("%s is %s", name.c_str(), tensor.type));
  }

  const DecoderConfig& config_;
  std::string file_;
  const Log& log_;
  std::vector<Stored> found_;
  NameList missing_, misshapen_, mistyped_;
};

DType type_on_device(const HostTensor& tensor, const DecoderOptions& options) {
  if (tensor.shape.size() < 2) return options.dtype;
  if (options.weight_dtype) return *options.weight_dtype;
  return options.dtype == DType::F32 ? tensor.dtype : options.dtype;
}

}  // namespace

DecoderModel::DecoderModel() = default;
DecoderModel::~DecoderModel() = default;
DecoderModel::DecoderModel(DecoderModel&&) noexcept = default;
DecoderModel& DecoderModel::operator=(DecoderModel&&) noexcept = default;

Status DecoderModel::open(std::string_view path, const Log& log, DecoderModel* model) {
  if (model == nullptr) return Status::InvalidArgument;
  std::error_code error;
  const fs::path folder(path);
  if (!fs::is_directory(folder, error)) {
    Gguf file;
    const Status status = Gguf::open(path, log, &file);
    return status == Status::Ok ? open(std::move(file), log, model) : status;
  }
  auto contents = std::make_unique<Contents>();
  std::string text;
  const std::string config = (folder / "config.json").string();
  Status status = read_text(config, kMaxConfigBytes, log, &text);
  if (status == Status::Ok) status = parse_decoder_config(text, config, log, &contents->config);
  if (status == Status::Ok) status = Checkpoint::open(path, log, &contents->checkpoint);
  return status == Status::Ok ? finish(std::move(contents), log, model) : status;
}

Status DecoderModel::open(Gguf file, const Log& log, DecoderModel* model) {
  if (model == nullptr) return Status::InvalidArgument;
  auto contents = std::make_unique<Contents>();
  contents->gguf = std::move(file);
  contents->is_gguf = true;
  const Status status = read_decoder_config(contents->gguf, log, &contents->config);
  return status == Status::Ok ? finish(std::move(contents), log, model) : status;
}

// Finds the network's tensors in the file.
Status DecoderModel::finish(std::unique_ptr<Contents> contents, const Log& log, DecoderModel* model) {
  const std::vector<DecoderTensor> wanted = decoder_tensors(contents->config);
  std::vector<Stored> list;
  for (const Gguf::Entry& entry : contents->gguf.entries()) list.push_back(stored(entry));
  for (const SafeTensors::Entry& entry : contents->checkpoint.entries()) list.push_back(stored(entry));
  // GPT-2's checkpoints are of the network alone, or of one around it.
  const bool is_inside = contents->checkpoint.find("transformer." + wanted[0].name) != nullptr;
  const auto name_of = [&](const DecoderTensor& tensor) {
    if (contents->is_gguf) return tensor.gguf;
    return is_inside && tensor.name != "lm_head.weight" ? "transformer." + tensor.name : tensor.name;
  };
  DecoderLoader loader(contents->config, contents->is_gguf ? std::string(contents->gguf.name()) : "the checkpoint",
                       log);
  const Status status = loader.compare(wanted, list, name_of);
  if (status != Status::Ok) return status;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Stored& found = loader.found()[i];
    contents->names.push_back(wanted[i].name);
    HostTensor tensor = {contents->names.back(), *found.dtype, found.shape, found.data};
    if (!wanted[i].may_be_quantized && tensor.dtype != DType::F32) {
      std::vector<float>& values = contents->widened.emplace_back(tensor.data.size() / size_of(tensor.dtype));
      convert_floats(tensor.data.data(), tensor.dtype, values.data(), DType::F32, values.size());
      tensor.dtype = DType::F32;
      tensor.data = std::as_bytes(std::span(values));
    }
    contents->bytes += tensor.data.size();
    contents->tensors.push_back(tensor);
  }
  model->contents_ = std::move(contents);
  return Status::Ok;
}

const DecoderConfig& DecoderModel::config() const {
  static constexpr DecoderConfig kNone;
  return contents_ ? contents_->config : kNone;
}

const Gguf* DecoderModel::gguf() const { return contents_ && contents_->is_gguf ? &contents_->gguf : nullptr; }
uint64_t DecoderModel::bytes() const { return contents_ ? contents_->bytes : 0; }

std::span<const HostTensor> DecoderModel::tensors() const {
  if (!contents_) return {};
  return contents_->tensors;
}

Status DecoderModel::upload(Device& device, const DecoderOptions& options, Weights* weights,
                            UploadProgress progress) const {
  if (!valid() || !device.valid()) return Status::InvalidArgument;
  UploadOptions upload;
  upload.progress = progress;
  if (contents_->is_gguf)
    upload.release = {
        [](void* file, std::span<const std::byte> data) { static_cast<const Gguf*>(file)->release(data); },
        &contents_->gguf};
  if (options.weight_dtype || options.dtype != DType::F32) {
    upload.keep_dtype = false;
    upload.dtype = options.weight_dtype.value_or(options.dtype);
    upload.only_matrices = upload.dtype != options.dtype;
  }
  return device.upload(tensors(), weights, upload);
}

DecoderResult DecoderModel::build(Graph& g, Tensor ids, const DecoderOptions& options) const {
  if (!valid() || !options.prefix.empty()) {
    g.fail(Status::InvalidArgument,
           valid() ? "DecoderModel::build: the prefix must be empty" : "no DecoderModel is open");
    return {};
  }
  for (const HostTensor& tensor : tensors()) {
    Shape shape;
    for (const int64_t size : tensor.shape) shape.push_back(size);
    g.weight(tensor.name, shape, type_on_device(tensor, options));
  }
  return nn::decoder(g, ids, config(), options);
}

}  // namespace heed
