// The graphs of a TextGenerator: a decoder, the draw of a token, and the text of each conversation beside its keys and values.
#include <limits>
#include <vector>

#include "text/generator_shared.hpp"

namespace heed {
namespace {

// Rows that pad the table are no tokens. Invalid if there are none.
Tensor forbid_padding(Graph& g, const TextGenerator::Shared& shared) {
  const auto words = static_cast<size_t>(shared.config.vocabulary);
  if (shared.bpe.size() >= words) return {};
  std::vector<float> bias(words, 0.0f);
  std::fill(bias.begin() + static_cast<long>(shared.bpe.size()), bias.end(), -std::numeric_limits<float>::infinity());
  return g.constant("no_token", {1, 1, shared.config.vocabulary}, bias);
}

}  // namespace

Graph speaking_graph(const DecoderModel& model, const TextGenerator::Shared& shared, Speaking what) {
  Graph g;
  const int64_t context = shared.context, room = shared.together;
  const bool reads = what == Speaking::Reads, together = what == Speaking::Together;
  const Dim past = g.position("past", context - 1), tokens = reads ? g.extent("tokens", shared.read) : Dim(1);
  const Dim row = room > 1 ? g.position("row", room - 1) : Dim(0), rows = together ? g.extent("rows", room) : Dim(1);
  const Dim length = g.sum(past, tokens, context);
  const auto state = [&](const char* name) {
    const Tensor all = g.state(name, {room, context + 1}, DType::I32);
    return room > 1 ? g.slice(all, 0, row, rows) : all;
  };
  // The text lies on the device beside keys and values. A token that was drawn is there before the host knows it.
  // What repetition is counted of lies beside it, without control tokens, or the end of an answer would seem to be one.
  Tensor text = state("text"), counted = state("counted"), ids, positions, ends;
  if (reads) {
    ids = g.input("ids", {1, tokens}, DType::I32);
    counted = g.append(counted, g.input("counted", {1, tokens}, DType::I32), 1, past);
  } else if (together) {
    positions = g.input("positions", {rows, 1}, DType::I32);
    ends = g.input("ends", {rows, 1}, DType::I32);
    ids = g.take(text, 1, positions);
  } else {
    ids = g.slice(text, 1, past, 1);
  }
  DecoderOptions network = shared.network;
  network.cache = {.capacity = context, .past = past, .dtype = shared.network.cache.dtype, .positions = positions};
  if (room > 1) network.cache.rows = room, network.cache.row = row;
  const DecoderResult y = model.build(g, ids, network);
  SampleOptions sample;
  sample.previous = together ? g.reshape(counted, {rows, 1, context + 1}) : counted;
  if (together)
    sample.previous_counts = ends;
  else
    sample.previous_count = length;
  sample.settings = g.input("settings", {rows, 1, kSampleWords}, DType::I32);
  sample.seeds = g.input("seed", {rows, 1}, DType::I32);
  sample.steps = g.input("step", {rows, 1}, DType::I32);
  sample.bias = forbid_padding(g, shared);
  const Tensor logits = shared.network.dtype == DType::F32 ? y.logits : g.cast(y.logits, DType::F32);
  const Tensor next = g.sample(logits, sample);
  const auto write = [&](Tensor to) {
    if (together)
      g.append(to, next, 1, ends);
    else
      g.append(to, next, 1, length);
  };
  write(text);
  write(counted);
  g.output("next", next);
  return g;
}

}  // namespace heed
