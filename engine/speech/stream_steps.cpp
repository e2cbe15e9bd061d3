// Runs of a stream: encoding a window, reading the prompt, and drawing tokens one by one.
#include <algorithm>
#include <cmath>

#include "base/logging.hpp"
#include "speech/speech_stream.hpp"

namespace heed {

void SpeechRun::finish(Status status) {
  if (of != nullptr) {
    of->run_status = status;
    of->run_next = next[0];
    of->run_log_probability = -loss[0];
    of->run_no_speech = no_speech[0];
    of->run_looks = std::move(looks);
    of->has_run = true;
  }
  clear();
}

void SpeechRun::clear() {
  of = nullptr;
  under_way = false;
  recording = nullptr;
  plan = {};
  state = {};  // a stream that has left may have kept it alive
}

SpeechStream::Impl::~Impl() {
  wait();
  if (shared->waiting == this) shared->waiting = nullptr;
  std::erase(shared->streams, this);
}

Status SpeechStream::Impl::prepare_plans() {
  const bool times = options.timestamps, falls_back = options.temperature_step > 0;
  Status status = shared->compile_decoder({true, times, false}, &reader);
  if (status == Status::Ok) status = shared->compile_decoder({false, times, false}, &drawer);
  if (status == Status::Ok && falls_back) status = shared->compile_decoder({true, times, true}, &fallback_reader);
  if (status == Status::Ok && falls_back) status = shared->compile_decoder({false, times, true}, &fallback_drawer);
  if (status == Status::Ok && options.words) status = shared->compile_aligner();
  if (status == Status::Ok) status = reader.make_state(&state);
  return status;
}

bool SpeechStream::Impl::busy() const { return has_run || stage == Stage::Words || wants_run(); }

bool SpeechStream::Impl::wants_run() const {
  if (has_run || stage == Stage::Words) return false;
  return stage != Stage::Idle || end_of_window() >= 0 || may_draft();
}

// The most tokens that can be drawn after the prompt.
int64_t SpeechStream::Impl::room() const {
  const int64_t all = shared->model.config().decoder.positions, left = all - static_cast<int64_t>(prompt.size());
  return std::min(left, options.most_tokens > 0 ? options.most_tokens : all / 2);
}

// Fills shared->run with the plan and inputs of this stream's next run. A recognizer has one run at a time.
void SpeechStream::Impl::prepare() {
  SpeechRecognizer::Shared& s = *shared;
  SpeechRun& run = s.run;
  const SpeechRun& given = run;  // const, so that its buffers are inputs
  if (stage == Stage::Idle) begin_window();
  run.state = state;
  run.extents.clear();
  if (stage == Stage::Hears) {
    run.plan = s.encoder;
    run.samples.assign(static_cast<size_t>(window_samples()), 0.0f);
    std::copy_n(heard.begin(), samples, run.samples.begin());
    run.buffers = {{"samples", given.samples}};
    return;
  }
  if (stage == Stage::Aligns) {
    run.plan = s.aligner;
    run.ids = text_to_align();
    const size_t frames = frames_to_align();
    const size_t looks = s.model.config().aligning_heads().size() * run.ids.size() * frames;
    run.looks = std::make_unique_for_overwrite<float[]>(looks);
    run.extents = {{"tokens", static_cast<int64_t>(run.ids.size())}, {"frames", static_cast<int64_t>(frames)}};
    run.buffers = {{"ids", given.ids}, {"looks", std::span(run.looks.get(), looks)}};
    return;
  }
  const models::WhisperTokens& tokens = s.model.tokens();
  const bool draws = temperature > 0 && stage != Stage::Detects, reads = stage != Stage::Draws;
  run.plan = reads ? (draws ? fallback_reader : reader) : (draws ? fallback_drawer : drawer);
  run.extents = {{"past", there}};
  run.buffers = {{"limits", given.limits}, {"next", run.next}, {"loss", run.loss}};
  const auto give = [&](std::initializer_list<HostBuffer> more) {
    run.buffers.insert(run.buffers.end(), more.begin(), more.end());
  };
  run.limits = options.timestamps ? s.times().behind(ids) : s.times().all();
  if (stage == Stage::Detects) run.limits = {tokens.start + 1, tokens.translate, 0, 0};
  if (reads) {
    run.ids = stage == Stage::Detects ? std::vector<int32_t>{tokens.start} : prompt;
    run.start = {0};
    run.extents.push_back({"tokens", static_cast<int64_t>(run.ids.size())});
    give({{"ids", given.ids}, {"start", given.start}, {"no_speech", run.no_speech}});
  }
  if (draws) {
    // Cannot fail: check_options has checked the settings.
    (void)sample_words({.temperature = temperature}, &run.settings);
    run.seed = {static_cast<int32_t>(options.seed)};
    run.step = {static_cast<int32_t>(ids.size())};
    give({{"settings", given.settings}, {"seed", given.seed}, {"step", given.step}});
  }
}

void SpeechStream::Impl::begins() {
  begun_at = ++shared->begun;
  shared->run.of = this;
  shared->run.under_way = true;
}

// Prepares the next run and executes it, or, without `waits`, only starts it.
Status SpeechStream::Impl::launch(bool waits) {
  prepare();
  begins();
  SpeechRun& run = shared->run;
  if (waits) {
    run.finish(run.plan.run(run.buffers, run.extents, {.state = run.state}));
    return Status::Ok;
  }
  const Status status = run.plan.start(run.buffers, run.extents, {.state = run.state}, &run.started);
  if (status != Status::Ok) run.finish(status);
  return Status::Ok;
}

void SpeechStream::Impl::begin_text() {
  const models::WhisperTokens& tokens = shared->model.tokens();
  prompt = {tokens.start};
  if (tokens.multilingual)
    prompt.insert(prompt.end(),
                  {language, options.task == SpeechTask::Translate ? tokens.translate : tokens.transcribe});
  if (!options.timestamps) prompt.push_back(tokens.no_times);
  ids.clear();
  id_log_probabilities.clear();
  there = 0;
  log_probabilities = 0;
  stage = Stage::Reads;
}

// Processes the results of the finished run.
Status SpeechStream::Impl::take(SpeechPiece* piece) {
  has_run = false;
  piece->done = true;
  Status status = run_status;
  if (status == Status::Ok && stage == Stage::Hears) {
    language = shared->language(options.language);
    there = 0;
    if (shared->model.tokens().multilingual && language < 0)
      stage = Stage::Detects;
    else
      begin_text();
  } else if (status == Status::Ok && stage == Stage::Detects) {
    language = run_next;
    begin_text();
  } else if (status == Status::Ok && stage == Stage::Aligns) {
    stage = Stage::Words;
    begin_words();
  } else if (status == Status::Ok) {
    if (stage == Stage::Reads) no_speech = run_no_speech;
    there += stage == Stage::Reads ? static_cast<int64_t>(prompt.size()) : 1;
    status = take_token(piece);
  }
  const bool is_outdated = !is_final && end_of_window() >= 0;  // a final text can be decoded instead of the partial one
  if (status != Status::Ok && is_final) drop(samples);
  if (status != Status::Ok || is_outdated) stage = Stage::Idle;
  return status;
}

Status SpeechStream::Impl::take_token(SpeechPiece* piece) {
  const int32_t id = run_next;
  piece->token = id;
  if (id < 0 || !std::isfinite(run_log_probability))
    return fail(log(), Status::InvalidFile,
                shared->path + ": all logits are NaN or minus infinity, so no token was drawn");
  log_probabilities += static_cast<double>(run_log_probability);
  stage = Stage::Draws;
  if (id != shared->model.tokens().end) {
    ids.push_back(id);
    id_log_probabilities.push_back(run_log_probability);
    if (options.partial_seconds > 0) piece->partial = text_of(ids);
    if (static_cast<int64_t>(ids.size()) < room()) return Status::Ok;
  }
  end_window(piece);
  return Status::Ok;
}

void SpeechStream::Impl::end_window(SpeechPiece* piece) {
  // The end token counts in the mean, too.
  const bool ended = piece->token == shared->model.tokens().end;
  mean_log_probability = static_cast<float>(log_probabilities / static_cast<double>(ids.size() + (ended ? 1 : 0)));
  const bool is_unlikely = mean_log_probability < options.least_log_probability;
  const bool is_silent = is_unlikely && no_speech > options.most_no_speech;
  const bool is_doubtful = is_unlikely || speech::entropy_of_last(ids) < options.least_entropy;
  if (is_final && is_doubtful && !is_silent && options.temperature_step > 0 && temperature < 1.0f) {
    temperature = std::min(1.0f, temperature + options.temperature_step);
    begin_text();
    return;
  }
  stage = Stage::Idle;
  if (!is_final) return;
  if (is_silent) {
    drop(samples);
  } else if (options.words && !ids.empty()) {
    stage = Stage::Aligns;
  } else {
    int32_t next = 0;
    std::vector<SpeechSegment> segments = segments_of_window(&next);
    give(std::move(segments), next, piece);
  }
}

// The segments with their texts, and the step at which the next window begins.
std::vector<SpeechSegment> SpeechStream::Impl::segments_of_window(int32_t* next) const {
  constexpr int64_t kStep = models::WhisperConfig::kPosition;
  constexpr auto kRate = static_cast<double>(models::WhisperConfig::kRate);
  std::vector<speech::Stretch> stretches;
  *next = static_cast<int32_t>((samples + kStep - 1) / kStep);
  if (options.timestamps)
    stretches = speech::stretches(shared->times(), ids, *next, next);
  else
    stretches.push_back({0, ids.size(), 0, *next});
  std::vector<SpeechSegment> all;
  for (const speech::Stretch& stretch : stretches) {
    SpeechSegment segment;
    segment.ids.assign(ids.begin() + static_cast<long>(stretch.begin), ids.begin() + static_cast<long>(stretch.end));
    segment.text = text_of(segment.ids);
    const auto seconds = [&](int32_t step) {
      return static_cast<double>(begin + std::min(samples, step * kStep)) / kRate;
    };
    segment.begin = seconds(stretch.from);
    segment.end = seconds(stretch.to);
    segment.language = shared->language_name(language);
    segment.log_probability = mean_log_probability;
    segment.no_speech = no_speech;
    segment.temperature = temperature;
    segment.window_begin = static_cast<double>(begin) / kRate;
    all.push_back(std::move(segment));
  }
  return all;
}

void SpeechStream::Impl::give(std::vector<SpeechSegment> segments, int32_t next, SpeechPiece* piece) {
  for (SpeechSegment& segment : segments)
    if (!segment.text.empty() || !options.timestamps) piece->segments.push_back(std::move(segment));
  drop(std::min(samples, next * models::WhisperConfig::kPosition));
}

std::string SpeechStream::Impl::text_of(std::span<const int32_t> list) const {
  BpeStream stream(shared->bpe);
  std::string text;
  for (const int32_t id : list) (void)stream.add(id, &text);  // all are tokens of the model
  stream.finish(&text);
  return text;
}

// Waits for the stream's current run. A run that the host records may never end, so the stream leaves it instead.
void SpeechStream::Impl::wait() {
  if (shared->run.of != this) return;
  if (shared->run.recording != nullptr)
    shared->run.of = nullptr;
  else
    shared->settle();
}

}  // namespace heed
