#include "text/grammar/guide.hpp"

#include <algorithm>
#include <limits>

#include "base/logging.hpp"
#include "text/generator/generator_shared.hpp"

namespace heed {

namespace {

template <StepKind kWhat>
Graph guided_graph(const TextGenerator::Shared& shared) {
  return step_graph(shared, kWhat, true);
}

Status make_guided_plans(TextGenerator::Shared* shared) {
  const Status status = shared->compile_later(guided_graph<StepKind::Prefill>, &shared->guided.prefill);
  if (status != Status::Ok) return status;
  return shared->compile_later(guided_graph<StepKind::Decode>, &shared->guided.decode);
}

bool is_empty(const GrammarMasker::Mask& mask) {
  return std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; });
}

}  // namespace

Status TextGuide::find_masker(std::string_view grammar, TextGenerator::Shared* shared) {
  std::vector<std::weak_ptr<GrammarMasker>>& all = shared->guided.maskers;
  std::erase_if(all, [](const std::weak_ptr<GrammarMasker>& one) { return one.expired(); });
  for (const std::weak_ptr<GrammarMasker>& one : all) {
    masker_ = one.lock();
    if (masker_->grammar() == grammar) return Status::Ok;
  }
  masker_.reset();
  std::shared_ptr<const TokenTrie>& tokens = shared->guided.tokens;
  if (tokens == nullptr) tokens = std::make_shared<TokenTrie>(shared->bpe);
  const Status status = GrammarMasker::make(grammar, tokens, shared->ends, shared->log, &masker_);
  if (status == Status::Ok) all.push_back(masker_);
  return status;
}

Status TextGuide::open(std::string_view grammar, TextGenerator::Shared* shared) {
  if (grammar.empty()) return Status::Ok;
  Status status = find_masker(grammar, shared);
  if (status != Status::Ok) return status;
  restart();
  const GrammarMasker::Mask* mask = nullptr;
  status = masker_->mask(&place_, shared->log, &mask);
  if (status != Status::Ok) return status;
  if (is_empty(*mask))
    return fail(shared->log, Status::InvalidArgument, "grammar: no token of the model can begin an answer");
  bias_.resize(static_cast<size_t>(shared->config().vocabulary));
  return make_guided_plans(shared);
}

Status TextGuide::resume(std::string said, const Log& log) {
  restart();
  said_ = std::move(said);
  if (!is_on()) return Status::Ok;
  const Status status = masker_->take(said_, log, &place_);
  if (status != Status::Ok || GrammarMasker::goes_on(place_)) return status;
  return fail(log, Status::InvalidFile, "grammar: what was said does not keep to it");
}

Status TextGuide::take(int32_t id, const TextGenerator::Shared& shared, TextEnd* end) {
  *end = TextEnd::None;
  if (!is_on()) return Status::Ok;
  said_ += shared.bpe.bytes(id);
  Status status = masker_->take(shared.bpe.bytes(id), shared.log, &place_);
  if (status != Status::Ok) return status;
  if (!GrammarMasker::goes_on(place_)) {
    *end = GrammarMasker::accepts(place_) ? TextEnd::Complete : TextEnd::NoToken;
    return status;
  }
  const GrammarMasker::Mask* mask = nullptr;
  status = masker_->mask(&place_, shared.log, &mask);
  if (status == Status::Ok && is_empty(*mask)) *end = TextEnd::NoToken;
  return status;
}

Status TextGuide::bias(const TextGenerator::Shared& shared, std::span<const float>* bias) {
  const GrammarMasker::Mask* mask = nullptr;
  const Status status = masker_->mask(&place_, shared.log, &mask);
  if (status != Status::Ok) return status;
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  // Rows that only pad the model's vocabulary have no bit in the mask.
  std::fill(bias_.begin() + static_cast<long>(shared.bpe.size()), bias_.end(), kForbidden);
  for (size_t i = 0; i < shared.bpe.size(); ++i) bias_[i] = ((*mask)[i / 64] >> i % 64 & 1) != 0 ? 0.0f : kForbidden;
  *bias = bias_;
  return Status::Ok;
}

}  // namespace heed
