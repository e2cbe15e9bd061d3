// The graphs of a SpeechRecognizer: the encoder, from samples to the keys and values of a window, and the decoder with the draw of a token.
// Drawn tokens are stored in a state, so that the next run can read them before the host knows them.
#include <limits>
#include <numeric>

#include "speech/speech_shared.hpp"

namespace heed {

Graph hearing_graph(const SpeechRecognizer::Shared& shared) {
  Graph g;
  const models::WhisperModel& model = shared.model;
  const Tensor mel = model.mel(g, g.input("samples", {1, model.config().window()}));
  model.remember(g, model.encode(g, mel, shared.network), shared.network);
  return g;
}

namespace {

class DecodingBuilder {
 public:
  DecodingBuilder(const SpeechRecognizer::Shared& shared, const Decoding& what)
      : shared_(shared), what_(what), model_(shared.model), tokens_(model_.tokens()) {}

  Graph build() {
    const int64_t room = model_.config().decoder.positions;
    const Dim past = g_.position("past", room - 1), tokens = what_.reads ? g_.extent("tokens", room) : Dim(1);
    const Tensor text = g_.state("text", {1, room + 1}, DType::I32);
    const Tensor ids = what_.reads ? g_.input("ids", {1, tokens}, DType::I32) : g_.slice(text, 1, past, 1);
    const Tensor rows = model_.decode(g_, ids, past, shared_.network);
    g_.push_label("token");
    const Tensor next = draw(what_.reads ? read_logits(rows) : model_.logits(g_, rows, shared_.network));
    g_.append(text, next, 1, g_.sum(past, tokens, room));
    g_.output("next", next);
    g_.pop_label();
    return std::move(g_);
  }

 private:
  int64_t words() const { return model_.config().vocabulary; }
  Tensor last_axis(Tensor x, Reduction kind) { return g_.reduce(x, kind, {2}, true); }

  // Logits of the last token. Those of the token that begins a transcript give the probability of no speech.
  Tensor read_logits(Tensor rows) {
    const Tensor start = g_.take(rows, 1, g_.input("start", {1, 1}, DType::I32));
    const Tensor both = model_.logits(g_, g_.concat({start, g_.last(rows, 1)}, 1), shared_.network);
    const Tensor first = g_.slice(both, 1, 0, 1);
    const Tensor silence = g_.sub(g_.slice(first, 2, tokens_.no_speech, 1), last_axis(first, Reduction::LogSumExp));
    g_.output("no_speech", g_.reshape(g_.exp(silence), {1, 1}));
    return g_.slice(both, 1, 1, 1);
  }

  // By token: its id, or -1 if it is never drawn.
  Tensor allowed_ids() {
    std::vector<int32_t> ids(static_cast<size_t>(words()));
    std::iota(ids.begin(), ids.end(), 0);
    const auto forbid = [&](const std::vector<int32_t>& list) {
      for (const int32_t id : list) ids[static_cast<size_t>(id)] = -1;
    };
    forbid(tokens_.suppressed);
    if (what_.reads) forbid(tokens_.at_first);
    if (what_.times) forbid({tokens_.no_times});
    return g_.constant("allowed_ids", {1, 1, words()}, ids);
  }

  Tensor draw(Tensor logits) {
    const Tensor ids = allowed_ids(), limits = g_.input("limits", {1, 1, 4}, DType::I32);
    const Tensor never = g_.number(-std::numeric_limits<double>::infinity());
    const auto within = [&](int64_t i) {
      return g_.logical_and(g_.ge(ids, g_.slice(limits, 2, i, 1)), g_.lt(ids, g_.slice(limits, 2, i + 1, 1)));
    };
    Tensor ruled = g_.where(g_.logical_or(within(0), within(2)), logits, never);
    if (what_.times) {
      const int64_t first = tokens_.first_time;
      const Tensor times = last_axis(g_.slice(ruled, 2, first, words() - first), Reduction::LogSumExp);
      const Tensor others = last_axis(g_.slice(ruled, 2, 0, first), Reduction::Max);
      const Tensor first_time = g_.number(static_cast<double>(first), DType::I32);
      ruled = g_.where(g_.logical_and(g_.lt(ids, first_time), g_.gt(times, others)), never, ruled);
    }
    Tensor next;
    if (what_.draws) {
      const auto list = [&](const char* name) { return g_.input(name, {1, 1}, DType::I32); };
      SampleOptions sample;
      sample.settings = g_.input("settings", {1, 1, kSampleWords}, DType::I32);
      sample.seeds = list("seed");
      sample.steps = list("step");
      next = g_.sample(ruled, sample);
    } else {
      next = g_.argmax(ruled);
    }
    g_.output("loss", g_.cross_entropy(ruled, next));
    return next;
  }

  const SpeechRecognizer::Shared& shared_;
  const Decoding what_;
  const models::WhisperModel& model_;
  const models::WhisperTokens& tokens_;
  Graph g_;
};

}  // namespace

Graph decoding_graph(const SpeechRecognizer::Shared& shared, const Decoding& what) {
  return DecodingBuilder(shared, what).build();
}

Graph aligning_graph(const SpeechRecognizer::Shared& shared) {
  Graph g;
  const Dim tokens = g.extent("tokens", shared.model.config().decoder.positions);
  Tensor looks;
  (void)shared.model.decode(g, g.input("ids", {1, tokens}, DType::I32), 0, shared.network, &looks);
  g.output("looks", g.slice(looks, 3, 0, g.extent("frames", shared.model.config().encoder.positions)));
  return g;
}

}  // namespace heed
