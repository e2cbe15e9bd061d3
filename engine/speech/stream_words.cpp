// The words of a window, timed by the attention of the alignment heads while the text is decoded once more, without time tokens.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "speech/speech_stream.hpp"
#include "speech/words.hpp"

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

void SpeechStream::Impl::add_words(std::span<SpeechSegment> segments) const {
  const SpeechRecognizer::Shared& s = *shared;
  const models::WhisperTokens& tokens = s.model.tokens();
  const auto positions = static_cast<size_t>(s.model.config().encoder.positions);
  const size_t heads = s.model.config().aligning_heads().size(), read = text_to_align().size();
  const size_t first =
      prompt.size() - (prompt.back() == tokens.no_times ? 1 : 0);  // the row whose logits give the text's first token
  const auto frames = std::clamp<size_t>(static_cast<size_t>(samples / models::WhisperConfig::kPosition), 1, positions);
  // Weights of each head: rows of tokens over the frames of the window's sound, normalized to sum to 1.
  std::vector<speech::Matrix> looks(heads, {read, frames, std::vector<double>(read * frames)});
  speech::Matrix mean{read, frames, std::vector<double>(read * frames)};
  for (size_t h = 0; h < heads; ++h)
    for (size_t r = 0; r < read; ++r) {
      const std::span<const float> from = std::span(run_looks).subspan((h * read + r) * positions, frames);
      const double sum = std::accumulate(from.begin(), from.end(), 0.0);
      for (size_t c = 0; c < frames; ++c) {
        const double weight = sum > 0 ? static_cast<double>(from[c]) / sum : 1.0 / static_cast<double>(frames);
        looks[h].row(r)[c] = weight;
        mean.row(r)[c] += weight / static_cast<double>(heads);
      }
    }
  speech::Matrix all = speech::combined(std::move(looks));
  // The row of a token gives the next token; the row of the text's last token gives its end.
  const size_t rows = read - 1 - first;
  all.values.erase(all.values.begin(), all.values.begin() + static_cast<long>(first * frames));
  all.values.resize(rows * frames);
  all.rows = rows;
  const std::vector<size_t> begins = speech::path_begins(all);
  const auto seconds = [&](size_t token) {  // time at which a token of the text begins
    const auto step = static_cast<int64_t>(begins[std::min(token, rows - 1)]);
    return static_cast<double>(begin + std::min(samples, step * models::WhisperConfig::kPosition)) /
           static_cast<double>(models::WhisperConfig::kRate);
  };
  const auto bytes = [&](int32_t id) { return s.bpe.bytes(id); };
  size_t at = 0, text_at = 0;  // index among all tokens of the window; among those of the text
  for (SpeechSegment& segment : segments) {
    std::vector<int32_t> text;
    std::vector<float> sure;
    for (const int32_t id : segment.ids) {
      if (id < tokens.end) {
        text.push_back(id);
        sure.push_back(std::exp(id_log_probabilities[at]));
      }
      ++at;
    }
    const std::string& language = segment.language;
    constexpr std::string_view kWithoutSpaces[] = {"zh", "ja", "th", "lo", "my", "yue"};
    const bool has_spaces =
        std::find(std::begin(kWithoutSpaces), std::end(kWithoutSpaces), language) == std::end(kWithoutSpaces);
    for (const speech::WordSpan& span : speech::words_of(text, bytes, has_spaces)) {
      SpeechWord word;
      word.text = text_of(std::span(text).subspan(span.begin, span.end - span.begin));
      word.begin = seconds(text_at + span.from);
      word.end = seconds(text_at + span.to);
      for (size_t i = span.from; i < span.to; ++i)
        word.probability += sure[i] / static_cast<float>(span.to - span.from);
      std::vector<double> looked(frames);
      const size_t last = std::min(text_at + span.to, rows);
      for (size_t i = std::min(text_at + span.from, last - 1); i < last; ++i)
        for (size_t c = 0; c < frames; ++c) looked[c] += mean.row(first + i)[c];
      const double sum = std::accumulate(looked.begin(), looked.end(), 0.0);
      for (const double weight : looked) word.attention.push_back(static_cast<float>(weight / sum));
      segment.words.push_back(std::move(word));
    }
    text_at += text.size();
  }
}

}  // namespace heed
