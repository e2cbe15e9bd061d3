// The words of a window, timed by the attention of the alignment heads while the text is decoded once more, without time tokens.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "speech/speech_stream.hpp"
#include "speech/stream_words.hpp"

namespace heed {

// A prompt without time tokens, the text, and its end; as many tokens as the decoder can hold.
std::vector<int32_t> SpeechStream::Impl::text_to_align() const {
  const models::WhisperTokens& tokens = shared->model.tokens();
  std::vector<int32_t> all = prompt;
  if (all.back() != tokens.no_times) all.push_back(tokens.no_times);
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(all), [&](int32_t id) { return id < tokens.end; });
  const auto room = static_cast<size_t>(shared->model.config().decoder.positions) - 1;
  all.resize(std::min(all.size(), room));
  all.push_back(tokens.end);
  return all;
}

size_t SpeechStream::Impl::frames_to_align() const {
  const auto positions = static_cast<size_t>(shared->model.config().encoder.positions);
  return std::clamp<size_t>(static_cast<size_t>(samples / models::WhisperConfig::kPosition), 1, positions);
}

// Splits the window's segments into words, without their times.
void SpeechStream::Impl::begin_words() {
  const SpeechRecognizer::Shared& s = *shared;
  const models::WhisperTokens& tokens = s.model.tokens();
  // The row of a token gives the next token; the row of the text's last token gives its end.
  const size_t read = text_to_align().size(), first = prompt.size() - (prompt.back() == tokens.no_times ? 1 : 0);
  const speech::Alignment::Sizes sizes = {.heads = s.model.config().aligning_heads().size(),
                                          .tokens = read,
                                          .frames = frames_to_align(),
                                          .first = first,
                                          .rows = read - 1 - first};
  words = std::make_unique<SpeechWords>(speech::Alignment(std::move(run_looks), sizes));
  words->segments = segments_of_window(&words->next);
  const auto bytes = [&](int32_t id) { return s.bpe.bytes(id); };
  size_t at = 0, text_at = 0;  // index among all tokens of the window; among those of the text
  for (SpeechSegment& segment : words->segments) {
    std::vector<int32_t> text;
    std::vector<float> sure;
    for (const int32_t id : segment.ids) {
      if (id < tokens.end) {
        text.push_back(id);
        sure.push_back(std::exp(id_log_probabilities[at]));
      }
      ++at;
    }
    constexpr std::string_view kWithoutSpaces[] = {"zh", "ja", "th", "lo", "my", "yue"};
    const bool has_spaces =
        std::find(std::begin(kWithoutSpaces), std::end(kWithoutSpaces), segment.language) == std::end(kWithoutSpaces);
    for (const speech::WordSpan& span : speech::words_of(text, bytes, has_spaces)) {
      SpeechWord& word = segment.words.emplace_back();
      word.text = text_of(std::span(text).subspan(span.begin, span.end - span.begin));
      for (size_t i = span.from; i < span.to; ++i)
        word.probability += sure[i] / static_cast<float>(span.to - span.from);
      words->spans.push_back({text_at + span.from, text_at + span.to});
      words->times.push_back({.may_follow_pause = span.may_follow_pause});
    }
    text_at += text.size();
  }
}

// The sound that the heads attended to while they gave a word.
std::vector<float> SpeechWords::attention_of(const Span& span) const {
  const speech::Alignment::Sizes& sizes = alignment.sizes();
  std::vector<float> attention(sizes.frames);
  const size_t last = std::min(span.to, sizes.rows), first = std::min(span.from, last - 1);
  for (size_t row = first; row < last; ++row) {
    const std::span<const float> one = alignment.attention(row);
    for (size_t c = 0; c < one.size(); ++c) attention[c] += one[c] / static_cast<float>(last - first);
  }
  return attention;
}

// Processes about so many elements. Returns true if all words have their attention and all times are known.
bool SpeechWords::advance(size_t elements) {
  if (!alignment.advance(elements)) return false;
  const std::span<const size_t> begins = alignment.begins();
  const auto step = [&](size_t token) { return static_cast<int32_t>(begins[std::min(token, begins.size() - 1)]); };
  for (size_t done = 0; done < elements && timed < spans.size(); ++timed) {
    const Span& span = spans[timed];
    times[timed].begin = step(span.from);
    times[timed].end = step(span.to);
    attentions.push_back(attention_of(span));
    done += (1 + span.to - span.from) * alignment.sizes().frames;
  }
  return timed == spans.size();
}

// Gives the segments if the times of their words are known after about so many elements more.
void SpeechStream::Impl::advance_words(size_t elements, SpeechPiece* piece) {
  if (!words->advance(elements)) return;
  speech::shorten_after_pauses(words->times);
  const auto seconds = [&](int32_t step) {
    return static_cast<double>(begin + std::min(samples, step * models::WhisperConfig::kPosition)) /
           static_cast<double>(models::WhisperConfig::kRate);
  };
  size_t at = 0;
  for (SpeechSegment& segment : words->segments)
    for (SpeechWord& word : segment.words) {
      word.begin = seconds(words->times[at].begin);
      word.end = seconds(words->times[at].end);
      word.attention = std::move(words->attentions[at++]);
    }
  const std::unique_ptr<SpeechWords> ready = std::move(words);
  piece->done = true;
  stage = Stage::Idle;
  give(std::move(ready->segments), ready->next, piece);
}

}  // namespace heed
