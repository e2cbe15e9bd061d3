#include <heed/decoder_model.hpp>

#include <deque>
#include <filesystem>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "models/family.hpp"
#include "models/find_weights.hpp"

namespace heed {

namespace fs = std::filesystem;
using models::DecoderFamily, models::Stored, models::WeightFinder;

struct DecoderModel::Contents {
  DecoderConfig config;
  Gguf gguf;  // exactly one of these two is open
  Checkpoint checkpoint;
  bool is_gguf = false;
  std::vector<HostTensor> tensors;
  uint64_t bytes = 0;
  // Names of `tensors`, and values that were converted. A deque keeps their addresses.
  std::deque<std::string> names;
  std::deque<std::vector<float>> widened;

  // Adds a tensor of the network. `offset` is added to each element of a vector.
  void add(std::string_view name, const models::Stored& found, bool is_matrix, float offset);
};

namespace {

// Whether an additional tensor can be ignored: factors that the configuration has read, and tables that can be computed.
bool has_no_effect(std::string_view name, const DecoderFamily& family, bool tied) {
  if (name == "rope_freqs.weight" || name.ends_with(".rotary_emb.inv_freq")) return true;
  for (const std::string_view end : family.unused)
    if (name.ends_with(end)) return true;
  return tied && name.ends_with(family.names.head);
}

DType type_on_device(const HostTensor& tensor, const DecoderOptions& options) {
  if (tensor.shape.size() < 2) return options.dtype;
  if (options.weight_dtype) return *options.weight_dtype;
  return options.dtype == DType::F32 ? tensor.dtype : options.dtype;
}

}  // namespace

void DecoderModel::Contents::add(std::string_view name, const Stored& found, bool is_matrix, float offset) {
  HostTensor tensor = {names.emplace_back(name), *found.dtype, found.shape, found.data};
  if (!is_matrix && is_float(tensor.dtype) && (tensor.dtype != DType::F32 || offset != 0.0f)) {
    std::vector<float>& values = widened.emplace_back(tensor.data.size() / size_of(tensor.dtype));
    convert_floats(tensor.data.data(), tensor.dtype, values.data(), DType::F32, values.size());
    for (float& value : values) value += offset;
    tensor.dtype = DType::F32;
    tensor.data = std::as_bytes(std::span(values));
  }
  bytes += tensor.data.size();
  tensors.push_back(tensor);
}

DecoderModel::DecoderModel() = default;
DecoderModel::~DecoderModel() = default;
DecoderModel::DecoderModel(DecoderModel&&) noexcept = default;
DecoderModel& DecoderModel::operator=(DecoderModel&&) noexcept = default;

Status DecoderModel::open(std::string_view path, const Log& log, DecoderModel* model) {
  if (model == nullptr) return refuse("DecoderModel::open: model is null");
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
  if (model == nullptr) return refuse("DecoderModel::open: model is null");
  auto contents = std::make_unique<Contents>();
  contents->gguf = std::move(file);
  contents->is_gguf = true;
  const Status status = read_decoder_config(contents->gguf, log, &contents->config);
  return status == Status::Ok ? finish(std::move(contents), log, model) : status;
}

// Finds the weights that the network's graph declares in the file.
Status DecoderModel::finish(std::unique_ptr<Contents> contents, const Log& log, DecoderModel* model) {
  Contents& c = *contents;
  const DecoderFamily& family = *models::find_family(c.config.family);
  const std::vector<Stored> list =
      c.is_gguf ? models::all_stored(c.gguf.entries()) : models::all_stored(c.checkpoint.entries());
  const std::string file = c.is_gguf ? std::string(c.gguf.name()) : "the checkpoint";
  WeightFinder finder(list, file, log);
  Graph g;
  (void)nn::decoder(g, g.input("ids", {1, 1}, DType::I32), c.config);
  if (g.status() != Status::Ok) return fail(log, g.status(), file + ": " + std::string(g.error()));
  const std::string wrapped = std::string(family.wrapper).append(family.names.tokens);
  const std::string_view wrapper = finder.has(wrapped) ? family.wrapper : "";
  for (const WeightInfo& weight : g.weights()) {
    const bool is_head = weight.name == family.names.head;
    const std::string stored_name =
        c.is_gguf ? models::gguf_name(family, weight.name) : std::string(is_head ? "" : wrapper).append(weight.name);
    // Only matrices stay as they are: vectors are operands of sums and products, and the position table is sliced and added.
    const bool is_matrix = weight.shape.rank > 1 && weight.name != family.names.positions;
    if (const Stored* found = finder.take(stored_name, weight.shape, is_matrix))
      if (found->dtype) c.add(weight.name, *found, is_matrix, c.is_gguf ? 0.0f : family.norm_offset);
  }
  const NameList others =
      finder.others([&](std::string_view name) { return has_no_effect(name, family, c.config.tied); });
  Status status = finder.status(Status::Unsupported, "tensors are of types that are not supported here: ");
  const Status left =
      finder.tell(others, Status::Unsupported, "has tensors that the network of its configuration does not use: ");
  if (status == Status::Ok) status = left;
  if (status == Status::Ok) model->contents_ = std::move(contents);
  return status;
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
  if (!valid() || !device.valid()) return refuse("DecoderModel::upload: the DecoderModel is empty, or device is empty");
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
