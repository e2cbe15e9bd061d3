// The graphs of a TextGenerator: a decoder, the draw of a token, and the tokens of each conversation in a state beside keys and values.
#include <limits>
#include <vector>

#include "text/generator/generator_shared.hpp"

namespace heed {
namespace {

// Forbids rows that only pad the vocabulary. Invalid if there are none.
Tensor forbid_padding(Graph& g, const TextGenerator::Shared& shared) {
  const auto words = static_cast<size_t>(shared.config().vocabulary);
  if (shared.bpe.size() >= words) return {};
  std::vector<float> bias(words, 0.0f);
  std::fill(bias.begin() + static_cast<long>(shared.bpe.size()), bias.end(), -std::numeric_limits<float>::infinity());
  return g.constant("no_token", {1, 1, shared.config().vocabulary}, bias);
}

}  // namespace

Graph step_graph(const TextGenerator::Shared& shared, StepKind what, bool guided) {
  Graph g;
  const int64_t context = shared.context, batch = shared.together;
  const bool reads = what == StepKind::Prefill, batch_decode = what == StepKind::BatchDecode;
  const Dim past = g.position("past", context - 1), tokens = reads ? g.extent("tokens", shared.read) : Dim(1);
  const Dim row = batch > 1 && !batch_decode ? g.position("row", batch - 1) : Dim(0);
  const Dim members = batch_decode ? g.extent("members", batch) : Dim(1);
  const Dim length = g.sum(past, tokens, context);
  const auto list = [&](const char* name) { return g.input(name, {1, members}, DType::I32); };
  const auto by_row = [&](const char* name) { return g.input(name, {batch, 1}, DType::I32); };
  // The text is a state, so that a drawn token can be read before the host knows it. In a batch the texts of all rows are contiguous.
  // Tokens that count for repetition are a second state without control tokens, since otherwise the penalty would apply to the end of an
  // answer.
  const auto state = [&](const char* name) {
    const Tensor all = g.state(name, {batch, context + 1}, DType::I32);
    if (batch_decode) return g.reshape(all, {1, batch * (context + 1)});
    return batch > 1 ? g.slice(all, 0, row, 1) : all;
  };
  Tensor text = state("text"), counted = state("counted"), ids;
  DecoderOptions network = shared.with_cache(past);
  if (batch > 1) network.cache.rows = batch, network.cache.row = row;
  SampleOptions sample;
  Tensor ends;
  if (reads) {
    ids = g.input("ids", {1, tokens}, DType::I32);
    counted = g.append(counted, g.input("counted", {1, tokens}, DType::I32), 1, past);
  } else if (batch_decode) {
    ids = g.take(text, 1, list("places"));
    ends = list("ends");
    network.all_logits = true;
    network.cache.positions = list("positions");
    network.cache.tokens = {list("rows"), by_row("member_of"), by_row("position_of")};
  } else {
    ids = g.slice(text, 1, past, 1);
  }
  if (batch_decode) {
    const Tensor rows = g.reshape(network.cache.tokens.rows, {members});
    const Tensor own = g.take(g.reshape(counted, {batch, context + 1}), 0, rows);
    sample.previous = g.reshape(own, {1, members, context + 1});
    sample.previous_counts = list("lengths");
  } else {
    sample.previous = counted;
    sample.previous_count = length;
  }
  const DecoderResult y = shared.model.build(g, ids, network);
  sample.settings = g.input("settings", {1, members, kSampleWords}, DType::I32);
  sample.seeds = list("seed");
  sample.steps = list("step");
  sample.bias = guided ? g.input("bias", {1, 1, shared.config().vocabulary}) : forbid_padding(g, shared);
  const Tensor logits = shared.network.dtype == DType::F32 ? y.logits : g.cast(y.logits, DType::F32);
  const Tensor next = g.sample(logits, sample);
  for (const Tensor to : {text, counted})
    if (batch_decode)
      g.append(to, next, 1, ends);
    else
      g.append(to, next, 1, length);
  g.output("next", next);
  return g;
}

}  // namespace heed
