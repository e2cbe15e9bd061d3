// The attention of a text's last token.
#include <algorithm>

#include "base/logging.hpp"
#include "text/generator/generator_shared.hpp"

namespace heed {

namespace {

std::string layer_name(int layer) { return "layer." + std::to_string(layer); }

// A graph that returns the weights of a run's last token, by layer.
Graph attention_graph(const TextGenerator::Shared& shared) {
  Graph g;
  const Dim past = g.position("past", shared.context - 1), tokens = g.extent("tokens", shared.read);
  DecoderOptions network = shared.with_cache(past);
  network.attention = true;
  const DecoderResult y = shared.model.build(g, g.input("ids", {1, tokens}, DType::I32), network);
  for (int i = 0; i < static_cast<int>(y.attention.size()); ++i) {
    const Tensor last = g.last(y.attention[static_cast<size_t>(i)], 2);
    g.output(layer_name(i), network.dtype == DType::F32 ? last : g.cast(last, DType::F32));
  }
  return g;
}

// Reads the text in several runs; the weights of the last run are the result.
Status look(TextGenerator::Shared& s, std::span<const int32_t> ids, TokenAttention* result) {
  State state;
  Status status = s.attention.make_state(&state);
  const auto read = static_cast<size_t>(s.read), layers = static_cast<size_t>(result->layers);
  const size_t row = static_cast<size_t>(result->heads * result->tokens);
  result->weights.resize(layers * row);
  std::vector<std::string> names;
  for (int i = 0; i < s.config().layers; ++i) names.push_back(layer_name(i));
  for (size_t at = 0; at < ids.size() && status == Status::Ok; at += read) {
    const size_t size = std::min(read, ids.size() - at);
    std::vector<HostBuffer> buffers = {{"ids", ids.subspan(at, size)}};
    for (size_t i = 0; i < layers; ++i)
      buffers.emplace_back(names[i], std::span(result->weights).subspan(i * row, row));
    const std::vector<ExtentValue> extents = {{"past", static_cast<int64_t>(at)},
                                              {"tokens", static_cast<int64_t>(size)}};
    status = s.attention.run(buffers, extents, {.state = state});
  }
  return status;
}

}  // namespace

Status TextGenerator::attention(std::span<const int32_t> ids, TokenAttention* attention) {
  if (!valid() || attention == nullptr)
    return refuse("TextGenerator::attention: the TextGenerator is empty, or attention is null");
  Shared& s = *shared_;
  if (ids.empty()) return fail(s.log, Status::InvalidArgument, "the attention of no tokens");
  Status status = s.check_ids(ids, "the attention of a text");
  if (status != Status::Ok) return status;
  if (ids.size() > static_cast<size_t>(s.context))
    return fail(s.log, Status::ExtentOutOfRange,
                format("the attention of %zu tokens; the context has room for %lld", ids.size(),
                       static_cast<long long>(s.context)));
  TokenAttention fresh;
  fresh.layers = s.config().layers;
  fresh.heads = s.config().heads;
  fresh.tokens = static_cast<int64_t>(ids.size());
  status = s.compile_later(attention_graph, &s.attention);
  if (status == Status::Ok) status = look(s, ids, &fresh);
  if (status == Status::Ok) *attention = std::move(fresh);
  return status;
}

}  // namespace heed
