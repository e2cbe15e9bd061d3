// The loss of a model on a text.
#include <algorithm>

#include "base/logging.hpp"
#include "text/generator/generator_shared.hpp"

namespace heed {

namespace {

constexpr int32_t kNoLabel = -100;

// The most tokens of a run; all their logits are in memory at once.
int64_t most_scored(const TextGenerator::Shared& shared) {
  constexpr int64_t kMostLogits = 16 << 20;
  return std::min(shared.read, std::max<int64_t>(kMostLogits / shared.config().vocabulary, 1));
}

Graph scoring_graph(const TextGenerator::Shared& shared) {
  Graph g;
  const Dim past = g.position("past", shared.context - 1), tokens = g.extent("tokens", most_scored(shared));
  DecoderOptions network = shared.with_cache(past);
  network.all_logits = true;
  const DecoderResult y = shared.model.build(g, g.input("ids", {1, tokens}, DType::I32), network);
  g.output("loss", g.cross_entropy(y.logits, g.input("labels", {1, tokens}, DType::I32)));
  return g;
}

// Reads a text in windows of the context's length; each begins in the middle of the one before.
class Scorer {
 public:
  Scorer(Plan plan, State state, std::span<const int32_t> ids, size_t context, size_t read)
      : plan_(std::move(plan)), state_(std::move(state)), ids_(ids), context_(context), losses_(read) {}

  Status run() {
    for (size_t begin = 0;;) {
      const size_t end = std::min(begin + context_, ids_.size());
      for (size_t at = begin; at < end; at += losses_.size()) {
        const Status status = read(at - begin, at, std::min(losses_.size(), end - at));
        if (status != Status::Ok) return status;
      }
      if (end == ids_.size()) return Status::Ok;
      begin = end - context_ / 2;
    }
  }
  double sum() const { return sum_; }
  size_t count() const { return next_ - 1; }

 private:
  // Reads tokens at .. at + size with `past` tokens of the window before them. The logits of each give the loss of the next token.
  Status read(size_t past, size_t at, size_t size) {
    labels_.assign(size, kNoLabel);
    size_t behind = next_;
    for (size_t i = 0; i < size; ++i)
      if (at + i + 1 == behind && behind < ids_.size()) labels_[i] = ids_[behind++];
    const Status status =
        plan_.run({{"ids", ids_.subspan(at, size)}, {"labels", labels_}, {"loss", losses_}},
                  {{"past", static_cast<int64_t>(past)}, {"tokens", static_cast<int64_t>(size)}}, {.state = state_});
    for (size_t i = 0; i < size && status == Status::Ok; ++i)
      if (labels_[i] != kNoLabel) sum_ += static_cast<double>(losses_[i]);
    next_ = behind;
    return status;
  }

  Plan plan_;
  State state_;
  std::span<const int32_t> ids_;
  size_t context_;
  std::vector<float> losses_;
  std::vector<int32_t> labels_;
  size_t next_ = 1;  // the first token that was not counted yet
  double sum_ = 0;
};

}  // namespace

Status TextGenerator::loss(std::span<const int32_t> ids, double* mean, size_t* count) {
  if (!valid() || mean == nullptr) return refuse("TextGenerator::loss: the TextGenerator is empty, or mean is null");
  Shared& s = *shared_;
  if (ids.size() < 2) return fail(s.log, Status::InvalidArgument, "the loss of fewer than two tokens");
  Status status = s.check_ids(ids, "the loss of a text");
  if (status != Status::Ok) return status;
  if (s.context < 2) return fail(s.log, Status::InvalidArgument, "the loss with a context of one token");
  status = s.compile_later(scoring_graph, &s.scorer);
  State state;
  if (status == Status::Ok) status = s.scorer.make_state(&state);
  if (status != Status::Ok) return status;
  Scorer scorer(s.scorer, state, ids, static_cast<size_t>(s.context), static_cast<size_t>(most_scored(s)));
  status = scorer.run();
  if (status != Status::Ok) return status;
  *mean = scorer.sum() / static_cast<double>(scorer.count());
  if (count != nullptr) *count = scorer.count();
  return Status::Ok;
}

}  // namespace heed
