// Reads Whisper from a folder in CTranslate2's format.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>

#include <heed/bpe.hpp>
#include <heed/nn.hpp>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/gguf_numbers.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"
#include "models/family.hpp"
#include "models/find_weights.hpp"
#include "models/whisper_loader.hpp"

namespace heed::models {

namespace fs = std::filesystem;

namespace {

using Entry = CTranslate2::Entry;
using Type = CTranslate2::Type;

// Settings that the network must have.
struct Setting {
  const char* name;
  int64_t value;
};
constexpr Setting kSettings[] = {
    {"activation", 3},  // erf-based GELU
    {"pre_norm", 1},   {"alibi", 0}, {"scale_embeddings", 0}, {"start_from_zero_embedding", 0},
};
// Tensors with facts that are read elsewhere, or that have no effect.
constexpr std::string_view kFacts[] = {"num_heads", "alignment_heads", "alignment_layer"};

std::optional<int64_t> scalar_of(const Entry& entry) {
  if (!entry.shape.empty()) return {};
  switch (entry.type) {
    case Type::I8: return load_number<int8_t>(entry.data.data());
    case Type::I16: return load_number<int16_t>(entry.data.data());
    case Type::I32: return load_number<int32_t>(entry.data.data());
    default: return {};
  }
}

std::optional<DType> storage_of(Type type) {
  switch (type) {
    case Type::F32: return DType::F32;
    case Type::F16: return DType::F16;
    case Type::BF16: return DType::BF16;
    default: return {};
  }
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// "encoder/layer_norm/gamma" -> "encoder.layer_norm.weight"
std::string graph_name(std::string_view name) {
  std::string dotted(name);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  const std::string_view end = last_part(name);
  if (end == "gamma") dotted.replace(dotted.size() - end.size(), end.size(), "weight");
  if (end == "beta") dotted.replace(dotted.size() - end.size(), end.size(), "bias");
  return dotted;
}

class CTranslate2Loader : WhisperLoader {
 public:
  using WhisperLoader::WhisperLoader;

  Status run() {
    Status status = file_.open((path_ / "model.bin").string(), log_);
    if (status == Status::Ok) status = check_network();
    if (status == Status::Ok) status = read_sizes();
    if (status == Status::Ok) status = read_tensors();
    if (status == Status::Ok) status = find_weights();
    if (status == Status::Ok) status = read_vocabulary();
    if (status == Status::Ok) status = find_tokens();
    if (status == Status::Ok)
      status = read_rules((path_ / "config.json").string(), "suppress_ids", "suppress_ids_begin");
    return status;
  }

 private:
  Status wrong(Status status, const std::string& what) const { return fail(log_, status, file_.name() + ": " + what); }

  Status check_network() const {
    if (file_.network() != "WhisperSpec" || file_.revision() != 3)
      return wrong(Status::Unsupported,
                   format("holds the network '%s', revision %u; 'WhisperSpec' of revision 3 is read",
                          printable(file_.network()).c_str(), file_.revision()));
    for (const Entry& entry : file_.entries()) {
      if (!entry.shape.empty()) continue;
      const std::string_view name = last_part(entry.name);
      const Setting* known = std::find_if(std::begin(kSettings), std::end(kSettings),
                                          [&](const Setting& setting) { return name == setting.name; });
      const bool is_setting = known != std::end(kSettings);
      if (!is_setting && std::find(std::begin(kFacts), std::end(kFacts), name) == std::end(kFacts))
        return wrong(Status::Unsupported, "its setting '" + printable(entry.name) + "' is not known");
      if (is_setting && scalar_of(entry) != known->value)
        return wrong(Status::Unsupported, format("its setting '%s' must be %lld", printable(entry.name).c_str(),
                                                 static_cast<long long>(known->value)));
    }
    return Status::Ok;
  }

  // --- The configuration, from shapes of tensors

  Status size(const char* name, size_t rank, size_t axis, int64_t* to) const {
    const Entry* entry = file_.find(name);
    if (entry == nullptr) return wrong(Status::MissingWeight, format("lacks the tensor %s", name));
    if (entry->shape.size() != rank || entry->shape[axis] > kMaxDecoderSize)
      return wrong(Status::ShapeMismatch,
                   format("%s is %s; it must have %zu dims of at most %lld", name, shape_text(entry->shape).c_str(),
                          rank, static_cast<long long>(kMaxDecoderSize)));
    *to = entry->shape[axis];
    return Status::Ok;
  }

  Status read_sizes() {
    Status status = size("decoder/embeddings/weight", 2, 0, &config_.vocabulary);
    if (status == Status::Ok) status = size("decoder/embeddings/weight", 2, 1, &config_.width);
    if (status == Status::Ok) status = size("encoder/conv1/weight", 3, 1, &config_.bands);
    if (status == Status::Ok) status = read_side("encoder", &config_.encoder);
    if (status == Status::Ok) status = read_side("decoder", &config_.decoder);
    return status;
  }

  Status read_side(const std::string& side, WhisperSide* to) {
    const Entry* heads = file_.find(side + "/num_heads");
    to->heads = heads != nullptr ? scalar_of(*heads).value_or(0) : 0;
    if (to->heads < 1 || config_.width % to->heads != 0)
      return wrong(Status::InvalidFile, format("%s/num_heads must be there and divide the width %lld", side.c_str(),
                                               static_cast<long long>(config_.width)));
    const auto has_layer = [&](int i) {
      return file_.find(format("%s/layer_%d/ffn/linear_0/weight", side.c_str(), i)) != nullptr;
    };
    while (to->layers < nn::kMaxLayers && has_layer(to->layers)) ++to->layers;
    Status status = size((side + "/position_encodings/encodings").c_str(), 2, 0, &to->positions);
    if (status == Status::Ok) status = size((side + "/layer_0/ffn/linear_0/weight").c_str(), 2, 0, &to->hidden);
    if (status == Status::Ok && to->positions > kMostPositions)
      status = wrong(Status::Unsupported,
                     format("the %s has %lld positions, at most %lld are supported", side.c_str(),
                            static_cast<long long>(to->positions), static_cast<long long>(kMostPositions)));
    return status;
  }

  // --- Tensors in the graph's layout: convolutions with channels last, integers with their scales

  Status read_tensors() {
    names_.reserve(file_.entries().size());
    for (const Entry& entry : file_.entries()) {
      if (entry.shape.empty() || entry.name.ends_with("_scale")) continue;
      Stored tensor = {names_.emplace_back(graph_name(entry.name)), CTranslate2::name_of(entry.type),
                       storage_of(entry.type), entry.shape, entry.data};
      if (entry.type == Type::I8) {
        const Status status = add_scales(entry, &tensor);
        if (status != Status::Ok) return status;
      }
      if (tensor.shape.size() == 3 && tensor.dtype) put_channels_last(&tensor);
      stored_.push_back(tensor);
    }
    std::sort(stored_.begin(), stored_.end(), [](const Stored& a, const Stored& b) { return a.name < b.name; });
    for (size_t i = 1; i < stored_.size(); ++i)
      if (stored_[i].name == stored_[i - 1].name)
        return wrong(Status::InvalidFile, "two tensors mean " + printable(stored_[i].name));
    return Status::Ok;
  }

  // Adds the scales of an int8 tensor. The file stores q = round(w scale[row]), so that w = q / scale[row]. The result is Q8_0 if rows are
  // whole blocks and every 1 / scale is a normal f16 number, otherwise F32. A tensor without scales is unchanged, and is refused later.
  Status add_scales(const Entry& entry, Stored* tensor) {
    const Entry* scales = file_.find(std::string(entry.name) + "_scale");
    if (scales == nullptr) return Status::Ok;
    const auto rows = static_cast<size_t>(entry.shape[0]), width = entry.data.size() / rows;
    if (scales->type != Type::F32 || scales->shape.size() != 1 || scales->shape[0] != entry.shape[0])
      return wrong(Status::ShapeMismatch, printable(scales->name) + " must be f32, one for each row of its tensor");
    std::vector<float> inverse(rows);
    constexpr int64_t kBlock = block_of(DType::Q8_0).elements;
    bool fits = entry.shape.size() == 2 && width % kBlock == 0;
    for (size_t row = 0; row < rows; ++row) {
      const float scale = load_number<float>(&scales->data[row * sizeof(float)]);
      inverse[row] = 1.0f / scale;
      if (!std::isfinite(scale) || scale <= 0 || !std::isfinite(inverse[row]))
        return wrong(Status::InvalidFile,
                     format("scale %zu of %s is no positive number", row, printable(scales->name).c_str()));
      fits = fits && inverse[row] > 0x1p-14f && inverse[row] < 65504.0f;
    }
    tensor->dtype = fits ? DType::Q8_0 : DType::F32;
    std::vector<std::byte>& made = make(bytes_of(*tensor->dtype, entry.data.size()));
    std::byte* to = made.data();
    for (size_t i = 0; i < entry.data.size(); ++i) {
      const float by = inverse[i / width];
      if (fits && i % kBlock == 0) {
        const uint16_t half = float_to_half(by);
        *to++ = static_cast<std::byte>(half & 0xff);
        *to++ = static_cast<std::byte>(half >> 8);
      }
      if (fits) {
        *to++ = entry.data[i];
      } else {
        const float value = by * static_cast<float>(static_cast<int8_t>(entry.data[i]));
        std::memcpy(to, &value, sizeof value);
        to += sizeof value;
      }
    }
    tensor->data = made;
    return Status::Ok;
  }

  // Finds the weights that the network's graph declares.
  Status find_weights() {
    WeightFinder finder(stored_, file_.name(), log_);
    Graph g;
    if (const Status status = build(&g); status != Status::Ok) return wrong(status, std::string(g.error()));
    for (const WeightInfo& weight : g.weights()) {
      const Stored* found = finder.take(std::string(weight.name), weight.shape, may_be_quantized(weight));
      if (found != nullptr && found->dtype) add(*found);
    }
    return tell(finder, [](std::string_view) { return false; });
  }

  // --- Tokens

  Status read_vocabulary() {
    const fs::path json = path_ / "vocabulary.json", lines = path_ / "vocabulary.txt";
    std::vector<std::string>& words = vocabulary_;
    Status status = Status::Ok;
    if (is_there(json)) {
      vocabulary_file_ = json.string();
      JsonFile array;
      status = read_array(vocabulary_file_, Bpe::kMaxFileBytes, log_, &array);
      array.root().each([&](const std::string&, Json word) {
        if (word.text() != nullptr) words.push_back(*word.text());
        return word.text() != nullptr;
      });
    } else {
      vocabulary_file_ = lines.string();
      std::string text;
      status = read_text(vocabulary_file_, Bpe::kMaxFileBytes, log_, &text);
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        words.emplace_back(text, begin, end - begin);
        begin = end + 1;
      }
    }
    if (status != Status::Ok || static_cast<int64_t>(words.size()) == config_.vocabulary) return status;
    return fail(log_, Status::ShapeMismatch,
                format("%s: has %zu tokens, the model's table %lld rows", vocabulary_file_.c_str(), words.size(),
                       static_cast<long long>(config_.vocabulary)));
  }

  std::vector<Stored> stored_;
};

}  // namespace

Status load_ctranslate2(const std::string& path, const Log& log, WhisperModel* model) {
  return CTranslate2Loader(path, log, model).run();
}

}  // namespace heed::models
