#include "models/whisper_loader.hpp"

#include <algorithm>
#include <cstring>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "io/model_folder.hpp"

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

bool WhisperLoader::may_be_quantized(const WeightInfo& weight) {
  return weight.shape.rank == 2 && !is_position_table(weight.name);
}

void WhisperLoader::add(const Stored& found) {
  HostTensor tensor = {found.name, *found.dtype, found.shape, found.data};
  // What is added or multiplied is F32.
  const bool is_matrix = tensor.shape.size() > 1 && !is_position_table(tensor.name);
  if (!is_matrix && tensor.dtype != DType::F32) {
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

Status WhisperModel::open(const std::string& path, const Log& log) {
  const bool is_ctranslate2 = is_there(std::filesystem::path(path) / "model.bin");
  const bool is_hugging_face = is_there(std::filesystem::path(path) / "tokenizer.json") && !is_ctranslate2;
  return is_hugging_face ? load_hugging_face(path, log, this) : load_ctranslate2(path, log, this);
}

}  // namespace heed::models
