#include "nn/projections.hpp"

namespace heed::nn {

namespace {

// The position of each row's first query, [B].
Tensor first_positions(Graph& g, const MultiHeadOptions& options) {
  const Cache& cache = options.cache;
  if (cache.capacity == 0 || !cache.positions.valid()) return options.positions;
  const Shape shape = g.shape(cache.positions);
  return shape.rank == 2 ? g.reshape(g.slice(cache.positions, 1, 0, 1), {shape[0]}) : Tensor{};
}

AttentionOptions core_options(Graph& g, const MultiHeadOptions& options) {
  return {.scale = options.scale,
          .softcap = options.softcap,
          .causal = options.causal,
          .window = options.window,
          .window_ahead = options.window_ahead,
          .lengths = options.lengths,
          .positions = first_positions(g, options),
          .key_padding = options.key_padding,
          .mask = options.mask,
          .bias = options.score_bias,
          .masked_fill = options.masked_fill,
          .dropout = options.attention_dropout,
          .return_weights = options.weights != nullptr};
}

// Adds a batch axis, [S, C] -> [1, S, C]; the ranks of all three inputs must agree.
bool add_batch(Graph& g, std::string_view prefix, std::array<Tensor, 3>* inputs) {
  const std::array<Tensor, 3> given = *inputs;
  const int rank = g.shape(given[0]).rank;
  for (size_t i = 0; i < 3; ++i) {
    const Shape shape = g.shape(given[i]);
    if (shape.rank != rank || (rank != 2 && rank != 3)) {
      mistake(g, Status::ShapeMismatch, prefix, "query of rank %d and %s of rank %d, all must be [B, S, C] or [S, C]",
              rank, i == 2 ? "value" : "key", shape.rank);
      return false;
    }
    if (rank == 3) continue;
    // Equal inputs stay equal, so that project_heads still makes one matmul of them.
    (*inputs)[i] = i > 0 && given[i] == given[i - 1] ? (*inputs)[i - 1] : g.reshape(given[i], {1, shape[0], shape[1]});
  }
  return true;
}

// Appends the rows of new tokens, [B, G, S, d], to the state `name` and returns all its rows, [B, G, past + S, d].
Tensor remember(Graph& g, Tensor heads, const std::string& name, const Cache& cache, Tensor positions) {
  const Shape shape = g.shape(heads);
  if (shape.rank != 4) return {};
  const int64_t rows = cache.rows > 0 ? cache.rows : shape[0].value;
  Tensor state = g.state(name, {rows, shape[1], cache.capacity, shape[3]}, cache.dtype.value_or(g.dtype(heads)));
  if (cache.rows > 0 || !shape[0].is_constant()) state = g.slice(state, 0, cache.row, shape[0]);
  const Tensor written =
      positions.valid() ? g.append(state, heads, 2, positions) : g.append(state, heads, 2, cache.past);
  return g.slice(written, 2, 0, g.sum(cache.past, shape[2], cache.capacity));
}

// Positions [B, S] as those of all heads, [B, 1, S].
Tensor for_heads(Graph& g, Tensor positions) {
  const Shape shape = g.shape(positions);
  return shape.rank == 2 ? g.reshape(positions, {shape[0], 1, shape[1]}) : positions;
}

// Gathers the heads of tokens, [1, H, S, d], into the rows of the cache that have these tokens, [rows, H, 1, d].
bool to_rows(Graph& g, std::string_view prefix, MultiHeadOptions* options, std::array<Tensor, 3>* heads) {
  Cache& cache = options->cache;
  const Shape shape = g.shape(cache.tokens.of_rows);
  if (cache.rows < 1 || shape.rank != 2 || shape[0] != Dim(cache.rows) || shape[1] != Dim(1)) {
    mistake(g, Status::ShapeMismatch, prefix, "a token for each row of a cache must be i32 [rows, 1]");
    return false;
  }
  if (!cache.tokens.rows.valid() || !cache.tokens.positions.valid() || cache.row != Dim(0)) {
    mistake(g, Status::InvalidArgument, prefix,
            "a cache whose rows have tokens needs rows and positions of these, and has no first row");
    return false;
  }
  const Tensor places = g.reshape(cache.tokens.of_rows, {cache.rows, 1, 1});
  for (Tensor& one : *heads) one = g.take(one, 2, places);
  cache.positions = cache.tokens.positions;
  return true;
}

// The inverse for the attention's result, [rows, 1, C] -> [1, S, C].
Tensor to_tokens(Graph& g, Tensor y, const CacheTokens& tokens) {
  const Shape shape = g.shape(y);
  return shape.rank == 3 ? g.take(g.reshape(y, {1, shape[0], shape[2]}), 1, tokens.rows) : Tensor{};
}

bool check_cache(Graph& g, std::string_view prefix, const MultiHeadOptions& options) {
  const Cache& cache = options.cache;
  if (cache.positions.valid() && g.shape(cache.positions).rank != 2) {
    mistake(g, Status::ShapeMismatch, prefix, "the positions of a cache must be [B, S]");
    return false;
  }
  if (cache.capacity < 0 || options.causal == Causal::TopLeft) {
    mistake(g, Status::InvalidArgument, prefix,
            cache.capacity < 0 ? "the capacity of a cache is negative"
                               : "an attention with a cache is causal from the bottom right, or not at all");
    return false;
  }
  if (cache.rows < 0 || (cache.rows == 0 && cache.row != Dim(0))) {
    mistake(g, Status::InvalidArgument, prefix,
            cache.rows < 0 ? "the number of rows of a cache is negative"
                           : "a cache has a first row, but no number of rows");
    return false;
  }
  return true;
}

// Prepares projected heads for attention: applies norms and rotary embedding, and appends keys and values to the cache.
void prepare(Graph& g, std::string_view prefix, const AttentionNames& names, const MultiHeadOptions& options,
             std::array<Tensor, 3>* heads) {
  const Cache& cache = options.cache;
  // A single tensor of positions lets one pass rotate the keys and write them to the cache.
  const Tensor positions = cache.positions.valid() ? for_heads(g, cache.positions) : Tensor{};
  if (cache.capacity != 0 && !check_cache(g, prefix, options)) return;
  // Values come first, so that one pass can compute queries, keys and values and write them.
  if (cache.capacity != 0) (*heads)[2] = remember(g, (*heads)[2], join(prefix, "values"), cache, positions);
  const auto norm = [&](Tensor x, std::string_view name) {
    return name.empty() ? x : rmsnorm(g, x, join(prefix, name), options.head_norm_eps);
  };
  (*heads)[0] = norm((*heads)[0], names.q_norm);
  (*heads)[1] = norm((*heads)[1], names.k_norm);
  if (options.rotary) {
    RotaryOptions rotary = *options.rotary;
    if (cache.capacity > 0 && rotary.first == Dim(0) && !rotary.positions.valid()) {
      if (positions.valid())
        rotary.positions = positions;
      else
        rotary.first = cache.past;
    }
    const Label label(g, "rotary");
    for (size_t i = 0; i < 2; ++i) (*heads)[i] = g.rotary((*heads)[i], rotary);
  }
  if (cache.capacity != 0) (*heads)[1] = remember(g, (*heads)[1], join(prefix, "keys"), cache, positions);
}

// [B, heads, S, d_v] -> [B, S, heads d_v]. A view, since attention writes outputs in that order.
Tensor merge_heads(Graph& g, Tensor x) {
  const Shape shape = g.shape(x);
  if (shape.rank != 4) return {};
  const Tensor merged = g.transpose(x, 1, 2);
  return g.reshape(merged, {shape[0], shape[2], shape[1].value * shape[3].value});
}

}  // namespace

Tensor attention(Graph& g, Tensor query, Tensor key, Tensor value, std::string_view prefix,
                 const MultiHeadOptions& options) {
  const Label label(g, prefix);
  const AttentionNames names = options.names.value_or(kSeparate);
  Widths widths;
  if (!resolve_widths(g, query, prefix, options, &widths)) return {};
  std::array<Tensor, 3> inputs = {query, key, value};
  const bool unbatched = g.shape(query).rank == 2;
  if (!add_batch(g, prefix, &inputs)) return {};

  std::array<Tensor, 3> heads = project_heads(g, inputs, prefix, names, widths, options.bias, options.weight_dtype);
  const CacheTokens& tokens = options.cache.tokens;
  MultiHeadOptions by_rows = options;
  if (tokens.of_rows.valid() && !to_rows(g, prefix, &by_rows, &heads)) return {};
  prepare(g, prefix, names, by_rows, &heads);
  const AttentionResult result = g.attention(heads[0], heads[1], heads[2], core_options(g, by_rows));
  Tensor y = merge_heads(g, result.output);
  if (tokens.of_rows.valid()) y = to_tokens(g, y, tokens);
  if (!names.out.empty()) {
    const Label out_label(g, names.out);
    y = apply_linear(g, y, join(prefix, names.out), widths.out, options.out_bias, options.weight_dtype,
                     names.transposed);
  }
  y = drop(g, y, options.output_dropout);

  if (options.weights) *options.weights = unbatched ? g.select(result.weights, 0, 0) : result.weights;
  return unbatched ? g.select(y, 0, 0) : y;
}

Tensor self_attention(Graph& g, Tensor x, std::string_view prefix, const MultiHeadOptions& options) {
  MultiHeadOptions with_names = options;
  with_names.names = options.names.value_or(kFusedQkv);
  return attention(g, x, x, x, prefix, with_names);
}

Tensor cross_attention(Graph& g, Tensor x, Tensor context, std::string_view prefix, const MultiHeadOptions& options) {
  MultiHeadOptions with_names = options;
  with_names.names = options.names.value_or(kFusedKv);
  return attention(g, x, context, context, prefix, with_names);
}

AttentionResult single_head(Graph& g, Tensor query, Tensor key, Tensor value, const AttentionOptions& options) {
  const int rank = g.shape(query).rank;
  std::array<Tensor, 3> inputs = {query, key, value};
  if (!add_batch(g, "single_head", &inputs)) return {};
  for (Tensor& x : inputs) {
    const Shape shape = g.shape(x);
    x = g.reshape(x, {shape[0], 1, shape[1], shape[2]});
  }
  AttentionResult result = g.attention(inputs[0], inputs[1], inputs[2], options);
  const auto remove_heads = [&](Tensor x) {
    if (!x.valid()) return x;
    const Tensor batched = g.select(x, 1, 0);
    return rank == 2 ? g.select(batched, 0, 0) : batched;
  };
  return {remove_heads(result.output), remove_heads(result.weights), remove_heads(result.log_sum_exp),
          remove_heads(result.scores)};
}

}  // namespace heed::nn
