#include <heed/speech.hpp>

#include <algorithm>
#include <cmath>

#include "base/half.hpp"
#include "base/logging.hpp"
#include "speech/speech_stream.hpp"

namespace heed {

namespace {

bool is_float_or(DType other, const std::optional<DType>& type) { return !type || is_float(*type) || *type == other; }

// A tokenizer of the model's tokens; control tokens are not shown.
Status make_bpe(SpeechRecognizer::Shared* shared) {
  BpeVocabulary vocabulary;
  vocabulary.tokens = shared->model.take_vocabulary();
  vocabulary.types.assign(vocabulary.tokens.size(), TokenType::Normal);
  vocabulary.eos = shared->model.tokens().end;
  std::fill(vocabulary.types.begin() + vocabulary.eos, vocabulary.types.end(), TokenType::Control);
  return Bpe::make(std::move(vocabulary), shared->path, shared->log, &shared->bpe);
}

// A pause must fit into half a window.
float most_pause(const models::WhisperConfig& config) {
  return 0.5f * static_cast<float>(config.window()) / static_cast<float>(models::WhisperConfig::kRate);
}

Status check_options(const SpeechOptions& o, const SpeechRecognizer::Shared& shared) {
  const auto wrong = [&](Status status, const std::string& what) {
    return fail(shared.log, status, "a stream: " + what);
  };
  const models::WhisperTokens& tokens = shared.model.tokens();
  struct Range {
    const char* name;
    float value, least, most;
  };
  // Thresholds may be infinite, and then have no effect.
  constexpr float kNever = std::numeric_limits<float>::infinity(), kMostSeconds = 3600.0f;
  const Range ranges[] = {{"least_log_probability", o.least_log_probability, -kNever, kNever},
                          {"least_entropy", o.least_entropy, -kNever, kNever},
                          {"temperature_step", o.temperature_step, 0.0f, 1.0f},
                          {"most_no_speech", o.most_no_speech, -kNever, kNever},
                          {"pause_seconds", o.pause_seconds, 0.0f, most_pause(shared.model.config())},
                          {"pause_level", o.pause_level, 0.0f, kNever},
                          {"partial_seconds", o.partial_seconds, 0.0f, kMostSeconds}};
  for (const Range& range : ranges)
    if (!(range.value >= range.least && range.value <= range.most))
      return wrong(Status::InvalidArgument,
                   format("%s is %g; it must be %g to %g", range.name, static_cast<double>(range.value),
                          static_cast<double>(range.least), static_cast<double>(range.most)));
  if (o.temperature_step > 0 && o.temperature_step < 0.01f)
    return wrong(Status::InvalidArgument, "a temperature_step below 0.01");
  if (o.most_tokens < 0)
    return wrong(Status::InvalidArgument, format("most_tokens is %lld", static_cast<long long>(o.most_tokens)));
  if (!tokens.multilingual && o.task == SpeechTask::Translate)
    return wrong(Status::Unsupported, "a model of English alone does not translate");
  if (o.language.empty() || (!tokens.multilingual && o.language == "en")) return Status::Ok;
  if (!tokens.multilingual || shared.language(o.language) < 0)
    return wrong(Status::Unsupported, "the model does not know the language '" + o.language + "'");
  return Status::Ok;
}

}  // namespace

Status SpeechRecognizer::Shared::compile_decoder(const Decoding& what, Plan* plan) {
  Plan& made = decoders[what.index()];
  const Status status =
      made.valid() ? Status::Ok : device.compile(decoding_graph(*this, what), weights, &made, compiling);
  *plan = made;
  return status;
}

Status SpeechRecognizer::Shared::compile_aligner() {
  return aligner.valid() ? Status::Ok : device.compile(aligning_graph(*this), weights, &aligner, compiling);
}

void SpeechRecognizer::Shared::settle() {
  if (run.under_way && run.recording == nullptr) run.finish(run.started.wait());
}

speech::Times SpeechRecognizer::Shared::times() const {
  return {model.tokens().end, model.tokens().first_time, static_cast<int32_t>(model.config().vocabulary)};
}

int32_t SpeechRecognizer::Shared::language(std::string_view name) const {
  const int32_t id = bpe.id("<|" + std::string(name) + "|>");
  return id > model.tokens().start && id < model.tokens().translate ? id : -1;
}

std::string SpeechRecognizer::Shared::language_name(int32_t id) const {
  const std::string_view word = bpe.token(id);
  if (id <= model.tokens().start || id >= model.tokens().translate || word.size() < 5) return {};
  return std::string(word.substr(2, word.size() - 4));
}

Status SpeechRecognizer::open(Device& device, std::string_view path, const SpeechRecognizerOptions& options,
                              SpeechRecognizer* recognizer) {
  if (!device.valid() || recognizer == nullptr)
    return refuse("SpeechRecognizer::open: device is empty, or recognizer is null");
  if (!is_float_or(DType::Q8_0, options.weight_dtype) || !is_float_or(DType::F32, options.cache_dtype))
    return fail(options.log, Status::InvalidArgument,
                "types of weights and caches must be f32, f16 or bf16; of weights also q8_0");
  auto shared = std::make_shared<Shared>();
  shared->device = device;
  shared->path = path;
  shared->log = options.log;
  shared->network = {options.weight_dtype, options.cache_dtype};
  shared->compiling.round_rows = options.round_rows;
  shared->compiling.reproducible = options.reproducible;
  shared->compiling.timestamps = options.timestamps;
  Status status = shared->model.open(shared->path, options.log);
  if (status == Status::Ok) status = make_bpe(shared.get());
  if (status == Status::Ok)
    status = shared->model.upload(shared->device, shared->network, &shared->weights, options.progress);
  shared->model.forget_values();
  if (status == Status::Ok)
    status = shared->device.compile(hearing_graph(*shared), shared->weights, &shared->encoder, shared->compiling);
  Plan decoder;
  if (status == Status::Ok) status = shared->compile_decoder({}, &decoder);
  if (status == Status::Ok) recognizer->shared_ = std::move(shared);
  return status;
}

Status SpeechRecognizer::begin(const SpeechOptions& options, SpeechStream* stream) const {
  if (!valid() || stream == nullptr)
    return refuse("SpeechRecognizer::begin: the SpeechRecognizer is empty, or stream is null");
  Status status = check_options(options, *shared_);
  auto impl = std::make_unique<SpeechStream::Impl>(shared_, options);
  if (status == Status::Ok) status = impl->prepare_plans();
  if (status == Status::Ok) stream->impl_ = std::move(impl);
  return status;
}

Status SpeechRecognizer::recognize(std::span<const float> samples, const SpeechOptions& options,
                                   SpeechText* text) const {
  if (!valid() || text == nullptr)
    return refuse("SpeechRecognizer::recognize: the SpeechRecognizer is empty, or text is null");
  SpeechStream stream;
  SpeechText heard;
  Status status = begin(options, &stream);
  while (status == Status::Ok && !(samples.empty() && !stream.busy())) {
    const std::span<const float> some = samples.first(std::min(samples.size(), static_cast<size_t>(window_samples())));
    samples = samples.subspan(some.size());
    status = stream.push(some);
    if (samples.empty()) stream.finish();
    while (status == Status::Ok && stream.busy()) {
      SpeechPiece piece;
      status = stream.step(&piece);
      std::move(piece.segments.begin(), piece.segments.end(), std::back_inserter(heard.segments));
    }
  }
  if (status == Status::Ok) *text = std::move(heard);
  return status;
}

const Bpe& SpeechRecognizer::tokenizer() const { return shared_->bpe; }
int64_t SpeechRecognizer::window_samples() const { return shared_->model.config().window(); }
const Weights& SpeechRecognizer::weights() const { return shared_->weights; }
const Plan& SpeechRecognizer::encoder() const { return shared_->encoder; }
const Plan& SpeechRecognizer::decoder() const { return shared_->decoders[Decoding().index()]; }
uint64_t SpeechRecognizer::stream_bytes() const { return decoder().state_bytes(); }

std::vector<std::string> SpeechRecognizer::languages() const {
  std::vector<std::string> all;
  const models::WhisperTokens& tokens = shared_->model.tokens();
  for (int32_t id = tokens.start + 1; tokens.multilingual && id < tokens.translate; ++id)
    all.push_back(shared_->language_name(id));
  return all;
}

std::string SpeechText::text() const {
  std::string all;
  for (const SpeechSegment& segment : segments) all += segment.text;
  return all;
}

}  // namespace heed
