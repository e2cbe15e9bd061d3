// The network, from samples to logits.
#include "models/whisper.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <heed/nn.hpp>

#include "base/half.hpp"
#include "base/logging.hpp"

namespace heed::models {

namespace {

constexpr int64_t kFrame = WhisperConfig::kFrame, kBins = kFrame / 2 + 1;

std::string layer_name(const char* side, int index) { return format("%s.layer_%d", side, index); }

// Whether the weight computes keys and values of cross attention.
bool makes_memory(std::string_view name) { return name.find(".attention.linear_1.") != std::string_view::npos; }

// The basis of a DFT of windowed frames, [2 kBins, kFrame]: row b is the Hann window times cos(2 pi b i / kFrame), row kBins + b the window
// times the sine.
std::vector<float> spectrum_basis() {
  std::vector<float> basis(static_cast<size_t>(2 * kBins * kFrame));
  for (int64_t bin = 0; bin < kBins; ++bin)
    for (int64_t i = 0; i < kFrame; ++i) {
      const double turn = 2 * std::numbers::pi / static_cast<double>(kFrame);
      const double fade = 0.5 - 0.5 * std::cos(turn * static_cast<double>(i));
      const double angle = turn * static_cast<double>(bin * i % kFrame);
      basis[static_cast<size_t>(bin * kFrame + i)] = static_cast<float>(fade * std::cos(angle));
      basis[static_cast<size_t>((kBins + bin) * kFrame + i)] = static_cast<float>(fade * std::sin(angle));
    }
  return basis;
}

nn::MultiHeadOptions self_attention(const WhisperSide& side) {
  nn::MultiHeadOptions options;
  options.heads = side.heads;
  options.names = nn::AttentionNames{.qkv = "linear_0", .out = "linear_1"};
  return options;
}

nn::FeedForwardOptions feed_forward(const WhisperSide& side) {
  return {.hidden = side.hidden, .activation = Activation::GeluErf, .first = "linear_0", .second = "linear_1"};
}

constexpr nn::AttentionBlockNames kSelfNames = {.attention = "self_attention", .norm = "self_attention.layer_norm"};
constexpr nn::FeedForwardBlockNames kFeedForwardNames = {.feed_forward = "ffn", .norm = "ffn.layer_norm"};
constexpr nn::NormOptions kPreNorm = {.placement = nn::NormPlacement::Pre};

Tensor table(Graph& g, const char* name, int64_t rows, int64_t width) {
  const Tensor known = g.find_weight(name);
  return g.weight(name, {rows, width}, known.valid() ? g.dtype(known) : DType::F32);
}

// Splits rows [S, heads width] into heads [1, heads, S, width].
Tensor apart(Graph& g, Tensor x, int64_t heads) {
  const Shape shape = g.shape(x);
  if (shape.rank != 3) return {};
  return g.transpose(g.reshape(x, {shape[0], shape[1], heads, shape[2].value / heads}), 1, 2);
}

// Joins heads [1, heads, S, width] to rows.
Tensor together(Graph& g, Tensor heads) {
  const Shape shape = g.shape(heads);
  if (shape.rank != 4) return {};
  return g.reshape(g.transpose(heads, 1, 2), {shape[0], shape[2], shape[1].value * shape[3].value});
}

Tensor memory(Graph& g, const std::string& attention, const char* what, int64_t positions, const WhisperConfig& config,
              const WhisperOptions& options) {
  const int64_t heads = config.decoder.heads;
  return g.state(attention + what, {1, heads, positions, config.width / heads},
                 options.cache_dtype.value_or(DType::F32));
}

// The heads of one part (query, key or value), as wide as x, of a linear layer with several parts. Each part is a separate matmul that
// writes its heads directly to their destination. For few rows a GPU merges them into one pass.
Tensor heads_of_part(Graph& g, Tensor x, const std::string& name, int64_t part, int64_t parts,
                     const WhisperConfig& config) {
  const int64_t width = config.width, begin = part * width;
  g.push_label(name);
  const Tensor weight = table(g, (name + ".weight").c_str(), parts * width, width);
  const Tensor bias = g.weight(name + ".bias", {parts * width});
  const Tensor y = g.linear(x, g.slice(weight, 0, begin, width), g.slice(bias, 0, begin, width));
  g.pop_label();
  return apart(g, y, config.decoder.heads);
}

// Causal self-attention over the tokens so far.
Tensor own_attention(Graph& g, Tensor x, const std::string& layer, Dim past, const WhisperConfig& config,
                     const WhisperOptions& options) {
  const std::string name = layer + ".self_attention";
  const int64_t room = config.decoder.positions;
  const Tensor rows = nn::layernorm(g, x, name + ".layer_norm");
  const auto project = [&](int64_t part) { return heads_of_part(g, rows, name + ".linear_0", part, 3, config); };
  const Tensor query = project(0), key = project(1), value = project(2);
  if (g.status() != Status::Ok) return {};
  const Dim there = g.sum(past, g.shape(key)[2], room);
  const auto append = [&](const char* what, Tensor heads) {
    return g.slice(g.append(memory(g, name, what, room, config, options), heads, 2, past), 2, 0, there);
  };
  const Tensor keys = append(".keys", key), values = append(".values", value);
  const AttentionResult seen = g.attention(query, keys, values, {.causal = Causal::BottomRight});
  return g.add(x, nn::linear(g, together(g, seen.output), name + ".linear_1", config.width));
}

// Attention over the encoded sound, whose keys and values are in states. *weights receives those of all heads.
Tensor cross_attention(Graph& g, Tensor x, const std::string& layer, const WhisperConfig& config,
                       const WhisperOptions& options, Tensor* weights) {
  const std::string name = layer + ".attention";
  const Tensor query = nn::linear(g, nn::layernorm(g, x, name + ".layer_norm"), name + ".linear_0", config.width);
  const int64_t positions = config.encoder.positions;
  const AttentionResult heard =
      g.attention(apart(g, query, config.decoder.heads), memory(g, name, ".keys", positions, config, options),
                  memory(g, name, ".values", positions, config, options), {.return_weights = weights != nullptr});
  if (g.status() != Status::Ok) return {};
  if (weights != nullptr) *weights = heard.weights;
  return g.add(x, nn::linear(g, together(g, heard.output), name + ".linear_2", config.width));
}

}  // namespace

std::vector<std::pair<int, int>> WhisperConfig::aligning_heads() const {
  std::vector<std::pair<int, int>> all = aligning;
  for (int layer = decoder.layers / 2; layer < decoder.layers && aligning.empty(); ++layer)
    for (int head = 0; head < decoder.heads; ++head) all.emplace_back(layer, head);
  return all;
}

std::vector<double> mel_triangles(int64_t bands) {
  const double step = std::log(6.4) / 27.0, rate = static_cast<double>(WhisperConfig::kRate);
  const auto hertz = [&](double mel) {
    return mel < 15.0 ? mel * 200.0 / 3.0 : 1000.0 * std::exp((mel - 15.0) * step);
  };
  const double top = 15.0 + std::log(rate / 2.0 / 1000.0) / step;
  const auto corner = [&](int64_t i) { return hertz(top * static_cast<double>(i) / static_cast<double>(bands + 1)); };
  std::vector<double> triangles;
  for (int64_t band = 0; band < bands; ++band) {
    const double left = corner(band), middle = corner(band + 1), right = corner(band + 2);
    for (int64_t bin = 0; bin < kBins; ++bin) {
      const double at = static_cast<double>(bin) * rate / static_cast<double>(kFrame);
      const double height = std::min((at - left) / (middle - left), (right - at) / (right - middle));
      triangles.push_back(std::max(0.0, height) * 2.0 / (right - left));
    }
  }
  return triangles;
}

namespace {

// The storage type of a tensor on the device. Q8_0 is only for matrices whose rows are whole blocks, and not for position tables.
DType type_on_device(const HostTensor& tensor, const WhisperOptions& options) {
  if (tensor.shape.size() < 2) return DType::F32;
  if (!options.weight_dtype) return tensor.dtype;
  if (!is_quantized(*options.weight_dtype)) return *options.weight_dtype;
  const bool has_blocks = tensor.shape.size() == 2 && tensor.shape[1] % block_of(*options.weight_dtype).elements == 0 &&
                          !is_position_table(tensor.name);
  return has_blocks ? *options.weight_dtype : tensor.dtype;
}

// Rounds to blocks of Q8_0: 32 values as multiples of the largest magnitude / 127.
void round_to_blocks(std::span<const float> values, std::byte* to) {
  constexpr auto kBlock = static_cast<size_t>(block_of(DType::Q8_0).elements);
  for (; !values.empty(); values = values.subspan(kBlock)) {
    float largest = 0;
    for (const float value : values.first(kBlock)) largest = std::max(largest, std::fabs(value));
    const uint16_t scale = float_to_half(largest / 127.0f);
    *to++ = static_cast<std::byte>(scale & 0xff);
    *to++ = static_cast<std::byte>(scale >> 8);
    const float by = half_to_float(scale) > 0 ? 1.0f / half_to_float(scale) : 0.0f;
    for (const float value : values.first(kBlock))
      *to++ = static_cast<std::byte>(static_cast<int8_t>(std::clamp(std::nearbyint(value * by), -127.0f, 127.0f)));
  }
}

}  // namespace

// Declares all weights that the graph will use, with their types on the device.
void WhisperModel::declare(Graph& g, bool encodes, const WhisperOptions& options) const {
  for (const HostTensor& tensor : tensors_) {
    const bool of_encoder = tensor.name.starts_with("encoder.") || makes_memory(tensor.name);
    if (of_encoder != encodes) continue;
    Shape shape;
    for (const int64_t size : tensor.shape) shape.push_back(size);
    g.weight(tensor.name, shape, type_on_device(tensor, options));
  }
}

Tensor WhisperModel::mel(Graph& g, Tensor samples) const {
  g.push_label("mel");
  // The sound is reflected before its first sample and after its last one, to fill the first and last frames.
  constexpr int64_t kBefore = kFrame / 2, kBehind = kFrame / 2 - WhisperConfig::kHop;
  const Tensor padded = g.pad(samples, 1, kBefore, kBehind, {.mode = Padding::Reflect});
  const Tensor frames = g.windows(padded, 1, kFrame, {.stride = WhisperConfig::kHop});
  const Tensor basis = g.constant("spectrum", {2 * kBins, kFrame}, spectrum_basis());
  const Tensor spectrum = g.matmul(frames, basis, {.transpose_b = true});
  // The power of a bin is cosine^2 + sine^2, so the filter matrix has each bin's column twice.
  std::vector<float> both;
  const std::vector<double> triangles = mel_triangles(config_.bands);
  for (int64_t band = 0; band < config_.bands; ++band)
    for (int i = 0; i < 2; ++i)
      both.insert(both.end(), triangles.begin() + band * kBins, triangles.begin() + (band + 1) * kBins);
  const Tensor bands = g.constant("bands", {config_.bands, 2 * kBins}, both);
  const Tensor power = g.matmul(g.mul(spectrum, spectrum), bands, {.transpose_b = true});
  // (log10(power) + 4) / 4, clamped below at 2 less than the largest value of the window.
  const Tensor level =
      g.add(g.scale(g.log(g.maximum(power, g.number(1e-10))), 0.25f / std::numbers::ln10_v<float>), g.number(1.0));
  const Tensor floor = g.sub(g.reduce(level, Reduction::Max, {1, 2}, true), g.number(2.0));
  const Tensor result = g.maximum(level, floor);
  g.pop_label();
  return result;
}

Tensor WhisperModel::encode(Graph& g, Tensor mel, const WhisperOptions& options) const {
  declare(g, true, options);
  const WhisperSide& side = config_.encoder;
  const auto convolve = [&](Tensor x, const std::string& name, int64_t channels, int64_t stride) {
    const Tensor known = g.find_weight(name + ".weight");
    const Tensor weight =
        g.weight(name + ".weight", {config_.width, 3, channels}, known.valid() ? g.dtype(known) : DType::F32);
    const Tensor y =
        g.conv1d(x, weight, g.weight(name + ".bias", {config_.width}), {.stride = stride, .before = 1, .behind = 1});
    return g.activation(y, Activation::GeluErf);
  };
  Tensor x = convolve(mel, "encoder.conv1", config_.bands, 1);
  x = convolve(x, "encoder.conv2", config_.width, 2);
  x = g.add(x, g.cast(table(g, "encoder.position_encodings.encodings", side.positions, config_.width), DType::F32));
  nn::EncoderLayerOptions layer;
  layer.attention = self_attention(side);
  layer.feed_forward = feed_forward(side);
  layer.norm = kPreNorm;
  layer.attention_names = kSelfNames;
  layer.feed_forward_names = kFeedForwardNames;
  for (int i = 0; i < side.layers && g.status() == Status::Ok; ++i)
    x = nn::encoder_layer(g, x, layer_name("encoder", i), layer);
  return nn::layernorm(g, x, "encoder.layer_norm");
}

void WhisperModel::remember(Graph& g, Tensor encoded, const WhisperOptions& options) const {
  declare(g, true, options);
  for (int i = 0; i < config_.decoder.layers && g.status() == Status::Ok; ++i) {
    const std::string name = layer_name("decoder", i) + ".attention";
    const auto keep = [&](const char* what, int64_t part) {
      const Tensor heads = heads_of_part(g, encoded, name + ".linear_1", part, 2, config_);
      g.append(memory(g, name, what, config_.encoder.positions, config_, options), heads, 2, 0);
    };
    keep(".keys", 0);
    keep(".values", 1);
  }
}

Tensor WhisperModel::decode(Graph& g, Tensor ids, Dim past, const WhisperOptions& options, Tensor* looks) const {
  declare(g, false, options);
  const WhisperSide& side = config_.decoder;
  const Shape shape = g.shape(ids);
  if (shape.rank != 2) return g.fail(Status::ShapeMismatch, "whisper: ids must be [1, S]");
  const Tensor positions = table(g, "decoder.position_encodings.encodings", side.positions, config_.width);
  Tensor x = g.embedding(table(g, "decoder.embeddings.weight", config_.vocabulary, config_.width), ids, DType::F32);
  x = g.add(x, g.cast(g.slice(positions, 0, past, shape[1]), DType::F32));
  const std::vector<std::pair<int, int>> aligning = config_.aligning_heads();
  std::vector<Tensor> heads;
  for (int i = 0; i < side.layers && g.status() == Status::Ok; ++i) {
    const std::string name = layer_name("decoder", i);
    x = own_attention(g, x, name, past, config_, options);
    Tensor weights;
    const auto aligns = [&](const std::pair<int, int>& head) { return head.first == i; };
    const bool looks_here = looks != nullptr && std::any_of(aligning.begin(), aligning.end(), aligns);
    x = cross_attention(g, x, name, config_, options, looks_here ? &weights : nullptr);
    for (const auto& head : aligning)
      if (looks_here && aligns(head)) heads.push_back(g.slice(weights, 1, head.second, 1));
    x = nn::feed_forward_block(g, x, name, kFeedForwardNames, feed_forward(side), kPreNorm);
  }
  if (looks != nullptr && g.status() == Status::Ok) *looks = g.concat(heads, 1);
  return nn::layernorm(g, x, "decoder.layer_norm");
}

Tensor WhisperModel::logits(Graph& g, Tensor rows, const WhisperOptions& options) const {
  declare(g, false, options);
  return g.linear(rows, table(g, "decoder.embeddings.weight", config_.vocabulary, config_.width));
}

namespace {

// Frees the host's memory of a tensor after its upload: pages of the mapped file, or a rounded copy.
struct ReadOnce {
  const WhisperModel& model;
  std::vector<std::vector<std::byte>> made;

  static void release(void* user, std::span<const std::byte> data) {
    auto& all = *static_cast<ReadOnce*>(user);
    all.model.release(data);
    for (std::vector<std::byte>& one : all.made)
      if (!one.empty() && one.data() == data.data()) one = {};
  }
};

}  // namespace

Status WhisperModel::upload(Device& device, const WhisperOptions& options, Weights* weights,
                            UploadProgress progress) const {
  ReadOnce memory = {*this, std::vector<std::vector<std::byte>>(tensors_.size())};
  UploadOptions upload;
  upload.progress = progress;
  upload.release = {ReadOnce::release, &memory};
  if (!options.weight_dtype) return device.upload(tensors_, weights, upload);
  if (!is_quantized(*options.weight_dtype)) {
    upload.keep_dtype = false;
    upload.dtype = *options.weight_dtype;
    upload.only_matrices = true;
    return device.upload(tensors_, weights, upload);
  }
  std::vector<HostTensor> tensors = tensors_;
  for (size_t i = 0; i < tensors.size(); ++i) {
    HostTensor& tensor = tensors[i];
    const DType type = type_on_device(tensor, options);
    if (type == tensor.dtype || !is_float(tensor.dtype)) continue;
    const auto rows = static_cast<size_t>(tensor.shape[0]), row_bytes = tensor.data.size() / rows;
    std::vector<float> row(static_cast<size_t>(tensor.shape[1]));
    const size_t rounded_bytes = bytes_of(type, row.size());
    memory.made[i].resize(rows * rounded_bytes);
    for (size_t r = 0; r < rows; ++r) {
      convert_floats(tensor.data.data() + r * row_bytes, tensor.dtype, row.data(), DType::F32, row.size());
      round_to_blocks(row, memory.made[i].data() + r * rounded_bytes);
    }
    release(tensor.data);
    tensor.dtype = type;
    tensor.data = memory.made[i];
  }
  return device.upload(tensors, weights, upload);
}

void WhisperModel::release(std::span<const std::byte> data) const {
  file_.release(data);
  ggml_.release(data);
}

void WhisperModel::forget_values() {
  for (HostTensor& tensor : tensors_) tensor.data = {};
  made_.clear();
}

}  // namespace heed::models
