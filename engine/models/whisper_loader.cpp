#include "models/whisper_loader.hpp"

#include <algorithm>
#include <cstring>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/model_folder.hpp"
#include "io/safetensors_header.hpp"

namespace heed::models {

bool is_position_table(std::string_view name) { return name.ends_with(".position_encodings.encodings"); }

void WhisperLoader::put_channels_last(Stored* tensor) {
  const auto out = static_cast<size_t>(tensor->shape[0]), in = static_cast<size_t>(tensor->shape[1]),
             taps = static_cast<size_t>(tensor->shape[2]), size = size_of(*tensor->dtype);
  std::vector<std::byte>& made = make(tensor->data.size());
  for (size_t o = 0; o < out; ++o)
    for (size_t i = 0; i < in; ++i)
      for (size_t t = 0; t < taps; ++t)
        std::memcpy(&made[((o * taps + t) * in + i) * size], &tensor->data[((o * in + i) * taps + t) * size], size);
  tensor->shape = shapes_.emplace_back(std::vector<int64_t>{tensor->shape[0], tensor->shape[2], tensor->shape[1]});
  tensor->data = made;
}

Status WhisperLoader::build(Graph* g) const {
  const Tensor encoded = model_.encode(*g, g->input("mel", {1, config_.frames(), config_.bands}), {});
  model_.remember(*g, encoded, {});
  (void)model_.logits(*g, model_.decode(*g, g->input("ids", {1, 1}, DType::I32), 0, {}), {});
  return g->status();
}

namespace {

// The file's names of the parts of a weight such as "decoder.layer_0.attention.linear_1.weight".
std::vector<std::string> parts_of(std::string_view weight, const PartNames& by, const char* wrapper) {
  const std::string side(weight.substr(0, weight.find('.'))), front = wrapper + side;
  if (weight == "decoder.embeddings.weight") return {wrapper + std::string(by.tokens)};
  if (is_position_table(weight)) return {front + std::string(by.positions)};
  const size_t end = weight.rfind('.');
  const std::string last(weight.substr(end));
  if (weight.starts_with(side + ".layer_norm."))
    return {wrapper + std::string(side == "encoder" ? by.encoder_norm : by.decoder_norm) + last};
  const std::string layer = side + ".layer_";
  if (!weight.starts_with(layer)) return {wrapper + std::string(weight)};
  const size_t begin = layer.size(), dot = weight.find('.', begin);
  const std::string of_layer = front + std::string(by.layers) + std::string(weight.substr(begin, dot + 1 - begin));
  std::vector<std::string> parts;
  for (const PartModule& module : by.modules)
    for (const std::string_view part : module.parts)
      if (module.name == weight.substr(dot + 1, end - dot - 1) && !part.empty())
        parts.push_back(of_layer + std::string(part) + last);
  return parts;
}

// Keys have no bias, which would add the same number to all scores of a query.
bool may_be_zero(std::string_view name) { return name.ends_with("k_proj.bias") || name.ends_with("attn.key.bias"); }

}  // namespace

Status WhisperLoader::take_all(const PartNames& by, const char* wrapper, WeightFinder* finder) {
  Graph g;
  if (const Status status = build(&g); status != Status::Ok)
    return fail(log_, status, path_.string() + ": " + std::string(g.error()));
  const std::vector<WeightInfo> weights = g.weights();
  names_.reserve(weights.size());
  for (const WeightInfo& weight : weights) take(weight, parts_of(weight.name, by, wrapper), finder);
  return finder->tell(mixed_, Status::Unsupported, "tensors are not of the type of those they are joined to: ");
}

void WhisperLoader::take(const WeightInfo& weight, const std::vector<std::string>& names, WeightFinder* finder) {
  Shape shape = weight.shape;
  if (shape.rank == 3) std::swap(shape[1], shape[2]);
  shape[0] = Dim(shape[0].value / static_cast<int64_t>(names.size()));
  std::vector<const Stored*> parts;
  const Stored* first = nullptr;
  for (const std::string& name : names) {
    const bool is_zero = may_be_zero(name) && !finder->has(name);
    const Stored* part = is_zero ? nullptr : finder->take(name, shape, may_be_quantized(weight));
    parts.push_back(part);
    if (part != nullptr && first == nullptr) first = part;
    if (is_zero) continue;
    // The finder reports missing parts and wrong shapes or types.
    const bool fits = part != nullptr && part->dtype && part->data.size() == first->data.size() &&
                      (is_float(*part->dtype) || (may_be_quantized(weight) && is_quantized(*part->dtype)));
    if (fits && part->dtype != first->dtype) mixed_.add(printable(part->name));
    if (!fits || part->dtype != first->dtype) return;
  }
  Stored whole = *first;
  whole.name = names_.emplace_back(weight.name);
  if (parts.size() > 1) join(parts, weight, &whole);
  // status() refuses tensors of another rank.
  if (weight.shape.rank == 3 && whole.shape.size() == 3) put_channels_last(&whole);
  add(whole);
}

void WhisperLoader::join(const std::vector<const Stored*>& parts, const WeightInfo& weight, Stored* whole) {
  const size_t bytes = whole->data.size();
  std::vector<std::byte>& made = make(bytes * parts.size());  // filled with zeros
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != nullptr) std::memcpy(&made[i * bytes], parts[i]->data.data(), bytes);
  std::vector<int64_t>& shape = shapes_.emplace_back();
  for (int i = 0; i < weight.shape.rank; ++i) shape.push_back(weight.shape[i].value);
  whole->shape = shape;
  whole->data = made;
}

bool WhisperLoader::may_be_quantized(const WeightInfo& weight) {
  return weight.shape.rank == 2 && !is_position_table(weight.name);
}

void WhisperLoader::add(const Stored& found) {
  HostTensor tensor = {found.name, *found.dtype, found.shape, found.data};
  // Operands of sums and elementwise products are F32.
  const bool is_matrix = tensor.shape.size() > 1 && !is_position_table(tensor.name);
  if (!is_matrix && tensor.dtype != DType::F32 && is_float(tensor.dtype)) {
    const size_t count = tensor.data.size() / size_of(tensor.dtype);
    std::vector<std::byte>& made = make(count * sizeof(float));
    convert_floats(tensor.data.data(), tensor.dtype, made.data(), DType::F32, count);
    tensor.dtype = DType::F32;
    tensor.data = made;
  }
  model_.tensors_.push_back(tensor);
}

int32_t WhisperLoader::find_token(std::string_view name) const {
  const auto found = std::find(vocabulary_.begin(), vocabulary_.end(), name);
  return found == vocabulary_.end() ? -1 : static_cast<int32_t>(found - vocabulary_.begin());
}

void WhisperLoader::name_times() {
  size_t last = vocabulary_.size();
  while (last > 0 && vocabulary_[last - 1].empty()) --last;
  if (last == 0 || vocabulary_[last - 1] != "<|notimestamps|>") return;
  for (size_t i = last; i < vocabulary_.size(); ++i)
    vocabulary_[i] = format("<|%zu.%02zu|>", (i - last) / 50, (i - last) % 50 * 2);
}

Status WhisperLoader::find_tokens() {
  WhisperTokens& t = tokens_;
  const std::pair<int32_t*, std::string_view> all[] = {
      {&t.end, "<|endoftext|>"},         {&t.start, "<|startoftranscript|>"}, {&t.translate, "<|translate|>"},
      {&t.transcribe, "<|transcribe|>"}, {&t.previous, "<|startofprev|>"},    {&t.no_times, "<|notimestamps|>"},
      {&t.first_time, "<|0.00|>"},
  };
  for (const auto& [id, name] : all) {
    *id = find_token(name);
    if (*id < 0 || (id != &t.end && *id <= t.end))
      return fail(log_, Status::InvalidFile,
                  format("%s: the token %s must be there, behind all texts", vocabulary_file_.c_str(),
                         std::string(name).c_str()));
  }
  t.no_speech = std::max(find_token("<|nospeech|>"), find_token("<|nocaptions|>"));
  if (t.no_speech >= 0 && t.start < t.translate && t.no_times < t.first_time) return Status::Ok;
  return fail(log_, Status::InvalidFile, vocabulary_file_ + ": lacks <|nospeech|>, or its tokens are in another order");
}

Status WhisperLoader::read_rules(const std::string& path, const char* suppressed, const char* at_first) {
  JsonFile object;
  const Status status = read_object(path, kMaxConfigBytes, log_, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path, log_);
  read_ids(&fields, suppressed, &tokens_.suppressed);
  read_ids(&fields, at_first, &tokens_.at_first);
  read_alignment(&fields);
  tokens_.multilingual = fields.boolean("is_multilingual", seems_multilingual());
  return fields.status();
}

void WhisperLoader::read_ids(Fields* fields, const char* name, std::vector<int32_t>* ids) const {
  if (!fields->field(name)) return;
  fields->array(name).each([&](const std::string&, Json value) {
    const uint64_t* id = value.natural();
    const bool fits = id != nullptr && *id < static_cast<uint64_t>(config_.vocabulary);
    if (fits)
      ids->push_back(static_cast<int32_t>(*id));
    else
      fields->fail(name, "must list ids of tokens");
    return fits;
  });
}

void WhisperLoader::read_alignment(Fields* fields) const {
  const auto layers = static_cast<uint64_t>(config_.decoder.layers),
             heads = static_cast<uint64_t>(config_.decoder.heads);
  const auto add = [&](uint64_t layer, uint64_t head) {
    config_.aligning.emplace_back(static_cast<int>(layer), static_cast<int>(head));
  };
  if (fields->field("alignment_heads"))
    fields->array("alignment_heads").each([&](const std::string&, Json pair) {
      const uint64_t *layer = pair.element(0).natural(), *head = pair.element(1).natural();
      const bool fits = pair.size() == 2 && layer != nullptr && head != nullptr && *layer < layers && *head < heads;
      if (fits)
        add(*layer, *head);
      else
        fields->fail("alignment_heads", "must list pairs of a layer and a head of the decoder");
      return fits;
    });
  std::sort(config_.aligning.begin(), config_.aligning.end());
  config_.aligning.erase(std::unique(config_.aligning.begin(), config_.aligning.end()), config_.aligning.end());
}

Status WhisperModel::open(const std::string& path, const Log& log) {
  const std::filesystem::path folder(path);
  std::error_code error;
  if (std::filesystem::is_regular_file(folder, error)) return load_ggml(path, log, this);
  const bool is_hugging_face = is_there(folder / "tokenizer.json") && !is_there(folder / "model.bin");
  return is_hugging_face ? load_hugging_face(path, log, this) : load_ctranslate2(path, log, this);
}

}  // namespace heed::models
