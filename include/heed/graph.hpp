// Graph: operations on Tensor ids, built with plain calls. A Graph is a value; it holds no device and no memory except its constants.
//
//   heed::Graph g;
//   heed::Dim tokens = g.extent("tokens", 512);
//   heed::Tensor x = g.input("x", {1, tokens, 768});
//   heed::Tensor h = g.linear(x, g.weight("fc.weight", {3072, 768}), g.weight("fc.bias", {3072}));
//   g.output("y", g.activation(h, heed::Activation::GeluErf));
//
// Graph calls cannot fail at the call. The graph keeps its first mistake with a message (status(), error()), later calls return an invalid
// Tensor silently, and Device::compile returns that mistake. Not thread-safe.
//
// Axes below 0 count from the end. Shapes are written [outer, ..., inner]. "Broadcast" means numpy's rule: right-aligned, sizes equal or 1.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

namespace detail {
struct GraphData;
struct GraphAccess;
}  // namespace detail
struct CustomPass;

// The id of one value in one graph. Using it with another graph is a mistake that compile may not notice.
struct Tensor {
  uint32_t id = UINT32_MAX;
  // False if no call made it, or the call failed.
  constexpr bool valid() const { return id != UINT32_MAX; }
  friend constexpr bool operator==(Tensor, Tensor) = default;
};

// GeluErf: x Phi(x). GeluTanh: its tanh approximation (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class Activation : uint8_t { None, Relu, GeluErf, GeluTanh, Silu, Tanh };

// Which keys a query sees. TopLeft: key j is visible to query i if j <= i. BottomRight: if j <= i + (S_kv - S_q), for decoding with a
// cache. Both are the same if S_q == S_kv.
enum class Causal : uint8_t { None, TopLeft, BottomRight };

// A boolean mask, of type U8, that states its meaning: a nonzero element excludes its key, or keeps it.
struct Mask {
  // Exclude: a nonzero element leaves its key out. Keep: it keeps it.
  enum class Meaning : uint8_t { Exclude, Keep };
  Tensor tensor;
  Meaning meaning = Meaning::Exclude;
};
// Make a mask whose nonzero elements exclude their keys, or keep them.
constexpr Mask exclude(Tensor nonzero_is_left_out) { return {nonzero_is_left_out, Mask::Meaning::Exclude}; }
constexpr Mask keep(Tensor nonzero_is_kept) { return {nonzero_is_kept, Mask::Meaning::Keep}; }

// How Graph::reduce combines the elements along axes. LogSumExp: log(sum of e^x). L2: sqrt(sum of x^2).
enum class Reduction : uint8_t { Sum, Mean, Product, Max, Min, LogSumExp, L2 };

// Windows along an axis, as in a convolution. Element i of window w is element w * stride + i * dilation of the padded axis, which begins
// with `before` elements of padding.
struct WindowOptions {
  int64_t stride = 1;              // distance from one window to the next, in elements
  int64_t before = 0, behind = 0;  // elements of padding at each end
  int64_t dilation = 1;            // distance from one element of a window to the next
};

// The windows of conv2d.
struct Conv2dOptions {
  WindowOptions rows = {};     // down, along axis 1
  WindowOptions columns = {};  // across, along axis 2
};

// How Graph::matmul reads its operands.
struct MatmulOptions {
  bool transpose_a = false;  // a is [..., K, M]
  bool transpose_b = false;  // b is [..., N, K]
  float scale = 1.0f;        // multiplies the result
};

// softmax(scale * x + bias) over the visible keys of each row. A row with no visible key gives zeros, unless
// masked_fill is set.
struct SoftmaxOptions {
  float scale = 1.0f;
  Causal causal = Causal::None;
  Mask key_padding = {};  // [B, S_k]; x must then be [B, ..., S_k]
  Mask mask = {};         // broadcast to x, e.g. [B, 1 or H, S_q, S_k]
  Tensor bias = {};       // broadcast to x; element type of x; added after the scale
  // If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code that fills with -1e9. A row
  // without a visible key then has uniform weights.
  std::optional<float> masked_fill = {};
};

// Which step of the computation gives AttentionResult::scores. Scaled: scale q.k, for hidden keys, too. Capped: after softcap; without one,
// as Scaled. Masked: after adding the bias, and with minus infinity or masked_fill for hidden keys. The next step gives the weights
// (return_weights).
enum class Scores : uint8_t { None, Scaled, Capped, Masked };

// A query without a visible key gives zeros, as a row of softmax does. Hidden keys and values do not count, even if they are infinite or
// NaN. Exceptions, where all values must be finite:
// - masked_fill gives every key a weight.
// - return_weights, return_scores and softcap store scores and weights, and the output is a matmul of all weights and values, in which 0
//   times infinity is NaN. That matmul also reads keys and values beyond `lengths`.
// - On Vulkan the same matmul runs where no fused kernel does: if d_k or d_v is above 256 or an extent, if the innermost dim of an operand
//   is not contiguous, and on drivers whose fused kernels fail the self-test.
//
// The softmax is computed in F32 for every type. Output, scores and weights have the queries' type: cast the queries to F32 to get F32
// scores and weights of F16 or BF16 keys and values.
struct AttentionOptions {
  std::optional<float> scale = {};  // default 1/sqrt(d_k)
  // If c > 0, each scaled score s becomes c tanh(s / c), which lies within -c .. c, before bias and masks (Gemma Team 2024,
  // arXiv:2408.00118). 0: none.
  float softcap = 0.0f;
  Causal causal = Causal::None;
  // A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at position p among the keys sees key j only if j + window > p and j
  // < p + window_ahead. 0: no bound on that side. With `causal`, window_ahead is 1 whatever is given, and tiles of keys that no query of a
  // workgroup sees are skipped. Without it, positions are those of BottomRight, or `positions`, and each run writes a mask, U8 [1 or B, 1,
  // S_q, S_kv].
  int64_t window = 0;
  int64_t window_ahead = 0;
  // For batches whose rows differ, such as conversations of different lengths: I32 [B]. Row b uses its first lengths[b] keys only; numbers
  // outside 0 .. S_kv are clamped. Keys and values beyond them are not read, masked_fill does not apply to them, and BottomRight means j <=
  // i + (lengths[b] - S_q).
  Tensor lengths = {};
  // The positions of queries, I32 [B]. Needs `causal` or a window. Query i of row b is at positions[b] + i among the keys. With causal,
  // whose alignment then has no effect, it sees key j if j <= positions[b] + i.
  Tensor positions = {};
  Mask key_padding = {};  // [B, S_kv]
  Mask mask = {};         // broadcast to [B, H, S_q, S_kv]
  Tensor bias = {};       // broadcast to [B, H, S_q, S_kv]
  std::optional<float> masked_fill = {};
  float dropout = 0.0f;                 // on the weights, after softmax, in training plans
  bool return_weights = false;          // otherwise the weights are never stored for the host
  bool return_log_sum_exp = false;      // gives AttentionResult::log_sum_exp
  Scores return_scores = Scores::None;  // gives AttentionResult::scores
};

// The elements that Graph::pad adds along an axis. Constant: a number. Reflect: the axis mirrored at its edge, without repeating the edge.
// Edge: the edge element. Wrap: elements from the other end.
enum class Padding : uint8_t { Constant, Reflect, Edge, Wrap };

// Options of Graph::pad.
struct PadOptions {
  Padding mode = Padding::Constant;  // which elements are added
  double value = 0.0;  // for Constant; rounded to x's type if that is a float, else an integer within its range
};

// Which two elements of a row form a pair: neighbours (2i and 2i + 1), or the same position in the two halves (i and i + width / 2), as in
// Hugging Face's checkpoints of Llama, Qwen and GPT-NeoX.
enum class RotaryPairs : uint8_t { Adjacent, Halves };

// Makes pairs turn more slowly than in training, for positions beyond those of the training. Linear slows all pairs down by `factor`.
// Llama3 slows a pair down by `factor` if it turns less than `low` times in `trained_length` positions, leaves it if it turns more than
// `high` times, and interpolates linearly in the number of turns in between.
struct RotaryScaling {
  // See RotaryScaling.
  enum class Kind : uint8_t { None, Linear, Llama3 };
  Kind kind = Kind::None;
  float factor = 1.0f;
  float low = 1.0f, high = 4.0f;
  int64_t trained_length = 8192;
};

// How Graph::rotary turns the pairs of a row.
struct RotaryOptions {
  RotaryPairs pairs = RotaryPairs::Halves;
  int64_t width = 0;      // number of leading elements of a row that turn, even; the others stay. 0: all of them
  float base = 10000.0f;  // base of the angles; a larger one makes the last pairs turn more slowly
  RotaryScaling scaling = {};
  Dim first = 0;          // position of index 0 along axis -2 of x: a constant, or from Graph::position
  Tensor positions = {};  // instead: I32, broadcast to x's shape without its last axis
};

// A row of settings for Graph::sample, made by sample_words.
inline constexpr int kSampleWords = 8;
using SampleWords = std::array<int32_t, kSampleWords>;

// How Graph::sample draws a token. The steps happen in the order of the members; all except the draw cost nothing at their defaults. "For
// each row, or for all" means: the shape of the logits without their last axis, or all ones.
struct SampleOptions {
  // Earlier tokens, for the repetition penalty: I32 [..., P], for each row, or for all. Of a row's P the first `previous_count`, or
  // `previous_counts` (I32, for each row, or for all), count; the default is all. Tokens outside the vocabulary are ignored. The logit of
  // such a token is divided by the penalty if it is positive and multiplied by it otherwise, once however often the token occurs (Keskar et
  // al. 2019, arXiv:1909.05858).
  Tensor previous = {};
  std::optional<Dim> previous_count = {};  // a constant, or from Graph::position or sum
  Tensor previous_counts = {};
  float repetition_penalty = 1.0f;
  // Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
  Tensor bias = {};
  float temperature = 1.0f;  // divides the logits; 0: the largest is taken, with no draw
  int64_t top_k = 0;         // keeps the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
  // Keeps the fewest largest tokens whose probabilities sum to at least this share of what top_k kept (Holtzman et al. 2019,
  // arXiv:1904.09751).
  float top_p = 1.0f;
  // Keeps tokens whose probability is at least this share of the largest one (Nguyen et al. 2024, arXiv:2407.01082).
  float min_p = 0.0f;

  // Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The row is its index in
  // the logits. With `seeds` (I32, for each row, or for all) a row uses its own seed and counts as row 0, so that a conversation draws the
  // same tokens alone and in any batch.
  Dim step = 0;       // index of the token in its text: a constant, or from Graph::position or sum
  Tensor steps = {};  // instead: I32, for each row, or for all
  Tensor seeds = {};
  std::optional<uint32_t> stream = {};  // default: the number of earlier calls of sample in this graph

  // I32 [..., kSampleWords] from sample_words, for each row, or for all: replaces repetition_penalty, temperature, top_k, top_p and min_p,
  // which may then differ from row to row and from run to run.
  Tensor settings = {};
};
// The row of SampleOptions::settings that stands for these five numbers of `options`. InvalidArgument if one is outside its
// range.
HEED_API Status sample_words(const SampleOptions& options, SampleWords* words);

// Results of Graph::attention.
struct AttentionResult {
  Tensor output;   // [B, H, S_q, d_v]
  Tensor weights;  // [B, H, S_q, S_kv] before dropout; invalid unless return_weights
  // [B, H, S_q] in F32; invalid unless return_log_sum_exp. The natural logarithm of the sum of exp(logit) over the visible keys, where a
  // logit is scale q.k + bias, or masked_fill; -inf for a row without a visible key. The mean of outputs over parts of the keys, weighted
  // by exp(log_sum_exp), is the output over all keys. On Vulkan, without softcap, d_k must be a constant up to 256, and lengths or
  // positions exclude giving all three of key_padding, mask and bias.
  Tensor log_sum_exp;
  Tensor scores;  // [B, H, S_q, S_kv] of the queries' type; invalid unless return_scores
};

// Results of Graph::top_k.
struct TopKResult {
  Tensor values;   // has x's type and shape, but size k along the axis
  Tensor indices;  // I32, of the same shape
};

// A weight that a graph declares.
struct WeightInfo {
  std::string_view name;  // valid until the graph changes
  Shape shape;            // all dims are constants
  DType dtype = DType::F32;
};

// Results of Graph::custom.
struct CustomResult {
  std::array<Tensor, 2> outputs;  // invalid for outputs that the pass does not have
};

// Operations on tensors. A Graph is a value: its copies are independent.
class HEED_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&);
  Graph& operator=(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // --- Sources and results -----------------------------------------------------------------------------
  // A size from 1 to `max` that may differ at each run. The same name with the same max returns the same Dim; with
  // another max it is a mistake.
  Dim extent(std::string_view name, int64_t max);
  // A number from 0 to `max` that may differ at each run: where a slice begins, or how many rows a cache holds. It is 0 if the run does not
  // give it. Runs give it like an extent; both share their names. Since it may be 0 it cannot be the size of a tensor, but its sum with an
  // extent can.
  Dim position(std::string_view name, int64_t max);
  // a + b, at most `most`: a run in which it would be more returns ExtentOutOfRange. With it one plan serves an empty and a full cache,
  // whose length in keys is sum(position, tokens, capacity).
  Dim sum(Dim a, Dim b, int64_t most = INT64_MAX);
  // a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims may be `B * S` or
  // `(T - 1) / 2 + 1`. A run in which a dim would be 0 returns ExtentOutOfRange. Expressions are simplified: (n - 1) + 1 and (n / 2) * 2
  // are n. Equal expressions are equal sizes.
  Dim dim_product(Dim a, Dim b);
  // a - b. A run in which it would be negative returns ExtentOutOfRange. See dim_product.
  Dim dim_difference(Dim a, Dim b);
  // a / b, exact: a run in which it is not an integer returns ExtentOutOfRange. b must be at least 1 at every run. See dim_product.
  Dim dim_quotient(Dim a, Dim b);
  // a / b, rounded down. b must be at least 1 at every run. See dim_product.
  Dim dim_floor_quotient(Dim a, Dim b);
  // A tensor that the host gives at each run, contiguous and row-major.
  Tensor input(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // A tensor of the Weights that compile is given, by its name there. Its dims must be constants. The same name returns the same tensor. If
  // the type is quantized, rows along the last axis must be whole blocks (DTypeMismatch). Such a tensor, or a view of whole rows of it, may
  // only be the weight of linear, b of matmul with transpose_b, or the table of embedding; it is never copied or dequantized in memory.
  Tensor weight(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // The weight of this name if the graph already has it, else an invalid tensor, which is no mistake.
  Tensor find_weight(std::string_view name) const;
  // A tensor with these values, F32, I32 or U8. The graph copies them.
  Tensor constant(std::string_view name, const Shape& shape, std::span<const float> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const int32_t> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const uint8_t> values);
  // Gives a tensor to the host at each run, contiguous and row-major. A graph needs at least one output, or a write to a state. The pass
  // that computes the tensor writes it to the host's buffer directly. A pass labelled "NAME.output" copies it instead if it is an input,
  // weight, constant or state, a view of a part or in another order, or already another output.
  void output(std::string_view name, Tensor tensor);

  // --- Tensors that stay from run to run --------------------------------------------------------------------
  // A run reads a state as the last run left it, in the State that it is given (<heed/state.hpp>). Reads and writes happen in the order of
  // the graph calls. A tensor of a state has the values from when the call returned it. Once the state is written, using that tensor or a
  // view of it is a mistake, since keeping the old values would take a copy (an output makes one, or for floating-point types scale by 1).
  // append, assign and another call of state() return the state after the write.
  //
  //   Tensor keys = g.state("layer.0.keys", {1, 512, 8, 64}, DType::F16);  // [batch, tokens, heads, width]
  //   keys = g.append(keys, fresh, 1, past);                               // fresh: [1, tokens, 8, 64]
  //   Tensor seen = g.slice(keys, 1, 0, g.sum(past, tokens, 512));
  //
  // The dims must be constants. The same name must have the same shape and type.
  Tensor state(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // Writes `rows` to a state or a view of it, at the elements at .. at + (size of rows along the axis) of an axis. Returns all that `state`
  // shows, after the write. Rows of other floating-point types are converted. A run that would write beyond the end returns
  // ExtentOutOfRange before anything is written.
  //
  // Usually no copy is made: the pass that computes the rows writes them into the state if nothing else reads them and they have the
  // state's type. A copy is made if:
  // - the pass is the host's own;
  // - the pass reads the state, unless it is a sum, product or activation of exactly the elements that are written;
  // - the state is read or written between the pass and this call;
  // - the layout of the rows in the state differs from the one in which the pass writes them.
  Tensor append(Tensor state, Tensor rows, int axis, Dim at);
  // As above, but each row of a batch has positions of its own, as conversations of different lengths have. `at` is either I32 [B], the
  // position of the first element of each index of axis 0, after which the others follow; `axis` is then not 0. Or it has a position for
  // each element along the axis: it broadcasts to the first axis + 1 dims of rows, [.., size along the axis]. One pass writes all rows, or
  // the rotary before it if its `positions` is the same tensor as `at`.
  //
  // Positions are known on the device only. Rows at a position below 0 are not written, which serves for padding. Rows beyond the end are
  // not written either, and such a run returns IndexOutOfRange, as for an id outside an embedding's table; all others are written. No two
  // elements may have the same position.
  Tensor append(Tensor state, Tensor rows, int axis, Tensor at);
  // Overwrites the state, or the part of it that the view `state` shows, with `value` of the same shape, which may be computed from the
  // state itself. g.assign(s, g.add(s, x)), with a sum, product or activation of what `state` shows, is one pass that works in place.
  Tensor assign(Tensor state, Tensor value);

  // --- Views: neither dispatch nor copy, wherever the layout allows --------------------------------------
  // The elements of x in another shape; copies only if the layout of x requires it. One size may be -1: it follows from the others. If the
  // graph cannot compute it, each run does, as a dim_quotient.
  Tensor reshape(Tensor x, const Shape& shape);
  // Axis i of the result is axis axes[i] of x.
  Tensor permute(Tensor x, std::span<const int> axes);
  Tensor permute(Tensor x, std::initializer_list<int> axes);
  Tensor transpose(Tensor x, int axis_a, int axis_b);  // x with axis_a and axis_b swapped
  // Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1 takes all behind
  // begin, -2 all but the last one, and so on. If begin or size is only known at a run, a run in which they do not fit returns
  // ExtentOutOfRange.
  Tensor slice(Tensor x, int axis, Dim begin, Dim size);
  // Every step-th element of an axis of x, beginning with index 0: (S - 1) / step + 1 of S elements. S must be constant unless step is 1.
  Tensor stride(Tensor x, int axis, int64_t step);
  // The elements of an axis of x in reverse order. Takes a pass, unlike views; the axis must be constant.
  Tensor flip(Tensor x, int axis);
  // x with more elements before and after those of an axis. Negative numbers remove elements. The axis must be constant unless the mode is
  // Constant; Reflect adds fewer elements than the axis has (InvalidArgument).
  Tensor pad(Tensor x, int axis, int64_t before, int64_t behind, const PadOptions& options = {});
  // x repeated `times` times along an axis.
  Tensor tile(Tensor x, int axis, int64_t times);
  // x broadcast to a shape by numpy's rule. All copies share the same memory, so a state cannot be written through the result.
  Tensor expand(Tensor x, const Shape& shape);
  // Consecutive slices of these sizes along an axis; their sum must be the axis' size (ShapeMismatch).
  std::vector<Tensor> split(Tensor x, int axis, std::span<const Dim> sizes);
  std::vector<Tensor> split(Tensor x, int axis, std::initializer_list<Dim> sizes);
  Tensor last(Tensor x, int axis);  // the last element of an axis of x, as a slice of size 1
  // A slice of x of size 1, with the axis removed. A negative index counts from the end.
  Tensor select(Tensor x, int axis, int64_t index);

  // Elements at indices that differ from row to row. `places`, I32, holds indices along the axis: its leading dims are x's dims before
  // `axis` (or fewer of the outer ones), where size 1 broadcasts on either side. The result has shape x.shape[:axis] + [places.shape[-1]] +
  // x.shape[axis+1:]. x [B, S, C], axis 1 and places [B, 1] give one row of each, [B, 1, C]; x [1, S, C] and places [B, N] give [B, N, C].
  // An index below 0 or beyond the end gives zeros; for the latter, the run returns IndexOutOfRange.
  Tensor take(Tensor x, int axis, Tensor places);
  // As numpy's take_along_axis: `places`, I32, holds an index along the axis for each element of the result. It has x's rank and sizes,
  // except along the axis; size 1 broadcasts on either side. Indices outside the axis are treated as in take.
  Tensor gather(Tensor x, int axis, Tensor places);
  // A copy of x with the elements at the indices `places` along the axis replaced by `values`. `values` has x's type (F32, F16 or BF16) and
  // sizes, except along the axis. `places`, I32, has the sizes of `values`, or 1, which broadcasts. Values whose index is below 0 are
  // dropped; no index may be beyond the end. Values for the same element are added up in their order. Each element of the result visits all
  // indices of its row, so time grows with the product of both lengths.
  Tensor scatter(Tensor x, int axis, Tensor places, Tensor values);
  // As scatter, but adds `values` to the elements of x along the axis.
  Tensor scatter_add(Tensor x, int axis, Tensor places, Tensor values);

  // --- Matrix product ------------------------------------------------------------------------------------
  // a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are F32. Ranks are 2 to 4, and leading dims broadcast.
  // b has a's type, or F16 or BF16, which takes half the bytes; if a is F32, that needs no 16-bit storage on any device. b in BF16 with a
  // in F16 runs on the CPU only; on Vulkan, compile returns Unsupported. Values enter the sums unrounded, with one exception: AMD's
  // processors with dot products of bf16 (AVX512_BF16) round a to bf16 (2^-8 relative) if b is BF16. PassInfo::why then says so.
  //
  // With transpose_b, b may also be a quantized weight [..., N, K]; a may have any of the three types.
  Tensor matmul(Tensor a, Tensor b, const MatmulOptions& options = {});
  // x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4.
  Tensor linear(Tensor x, Tensor weight, Tensor bias = {});

  // --- Convolutions and pools: channels lie along the last axis -------------------------------------------
  // The windows of `size` elements along an axis of x, as a view [.., windows, size, ..] in which they overlap. Padding is zeros and takes
  // a pass. With `length` the axis' padded length there are (length - (size - 1) dilation - 1) / stride + 1 windows, rounded down. An axis
  // shorter than one window is a mistake, or at a run ExtentOutOfRange.
  Tensor windows(Tensor x, int axis, int64_t size, const WindowOptions& options = {});
  // x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' is the number of windows of k. Element n of the
  // result is the sum over a window's elements and channels of x times weight[n]. Results of group i use the channels of group i only.
  // PyTorch's weight [N, C / groups, k] is this one with its axes 1 and 2 swapped.
  //
  // A matmul reads the windows directly from padded x; without padding and dilation a convolution of one group is one matmul. Dilation
  // takes one matmul per element of a window, groups take one each, and their sums are rounded if x is F16 or BF16. Depthwise convolutions
  // (C / groups is 1) use no matmul. The gradient of the weight copies the windows.
  Tensor conv1d(Tensor x, Tensor weight, Tensor bias = {}, const WindowOptions& options = {});
  // As conv1d, for images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C / groups, k_h,
  // k_w]. Takes one matmul for each row of a window, or a single one where windows tile the image, as patches do.
  Tensor conv2d(Tensor x, Tensor weight, Tensor bias = {}, const Conv2dOptions& options = {});
  // Reduces each window along an axis, whose size becomes the number of windows. Padding is left out of the reduction. To pool images, call
  // it for the rows and then for the columns. Types as for reduce.
  Tensor pool(Tensor x, int axis, int64_t size, Reduction kind, const WindowOptions& options = {});

  // --- Operations on rows, which lie along the last axis --------------------------------------------------
  // A NaN makes all of its row NaN in layernorm, rmsnorm and l2_normalize. On Vulkan the loops of an invocation are bounded: compile
  // returns Unsupported, with the numbers, if one would have more than 2^20 iterations (llvmpipe: 65,535). This limits rows to some 33
  // million elements (llvmpipe: 2 million); along an inner axis it limits max, min and their indices to 4 million (260,000). Longer sums,
  // means and cumulative sums take several dispatches, with the same bits in reproducible plans.

  // A visible NaN makes all visible weights NaN. Hidden keys have weight 0 whatever their logit is.
  Tensor softmax(Tensor x, const SoftmaxOptions& options = {});  // rank 1..4
  // (x - mean) / sqrt(var + eps) * gamma + beta with the biased variance (Ba et al. 2016, arXiv:1607.06450).
  // gamma and beta are [C] of x's type (DTypeMismatch); if invalid, they count as 1 and 0.
  Tensor layernorm(Tensor x, Tensor gamma, Tensor beta, float eps);
  // x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019, arXiv:1910.07467). gamma is [C] of x's type; if invalid,
  // it counts as 1.
  Tensor rmsnorm(Tensor x, Tensor gamma, float eps);
  Tensor l2_normalize(Tensor x, float eps = 1e-12f);  // x [..., C] / max(|x|, eps)
  // x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, even if it fills the row; NaN or
  // plus infinity anywhere in a row make the row NaN.
  Tensor log_softmax(Tensor x);
  // x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b sin, b cos + a sin)
  // (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns up to position 2^22, and to 2^-22 turns beyond.
  Tensor rotary(Tensor x, const RotaryOptions& options = {});
  // The cross entropy of each row of logits [..., V] and its label, I32 [...]: log(sum of exp(logits)) - logits[label], F32 [...]. The mean
  // over a text is the logarithm of its perplexity. With a label_smoothing s of 0 to 1 the loss is s times the mean over all labels plus 1
  // - s times that of the row's label (Szegedy et al. 2016, arXiv:1512.00567). A label outside the vocabulary, such as -100, has loss 0. A
  // label whose logit is minus infinity has a loss of plus infinity; NaN or plus infinity anywhere in a row make its loss NaN.
  Tensor cross_entropy(Tensor logits, Tensor labels, float label_smoothing = 0.0f);
  // Draws a token for each row of logits [..., V]: I32, and the axis is removed. The token stays on the device, where an embedding can read
  // it and append can write it to a state, so that many steps can be recorded without waiting for the host.
  //
  //   Tensor text = g.state("text", {1, 4096}, DType::I32);            // the prompt is there; `at` is its last token
  //   Tensor x = g.embedding(table, g.slice(text, 1, at, 1));
  //   ...
  //   Tensor next = g.sample(logits, {.previous = text, .previous_count = g.sum(at, 1, 4096), .temperature = 0.8f,
  //                                   .top_p = 0.95f, .step = at});     // logits: [1, 1, V]
  //   g.append(text, next, 1, g.sum(at, 1, 4096));
  //
  // The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their logits, of equal ones
  // the lower token first. A weight is an integer that integer arithmetic computes from the distance to the largest logit. All sums and the
  // draw are integers, too, so that neither a device's exp nor its order of sums matters. Only single f32 operations remain, which IEEE 754
  // rounds alike everywhere: the product with a penalty, the sum with a bias, the distance, and its product with 1 / temperature. The error
  // of a weight is at most 2^-17 of its own value plus 2^-32 of the largest one; a token whose weight is less than that is never drawn.
  //
  // Subnormal logits count as 0. NaN and minus infinity are never drawn; if a row has plus infinity, only such tokens are. A row that
  // forbids every token gives -1, for which an embedding reports IndexOutOfRange. On Vulkan a workgroup reads a row up to 19 times, for a
  // vocabulary of 262144.
  Tensor sample(Tensor logits, const SampleOptions& options = {});

  // --- Attention: softmax(scale q k^T + bias) v (Vaswani et al. 2017, arXiv:1706.03762) -------------------
  // query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v] may be any views. The output lies in memory as [B, S_q, H,
  // d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] cost nothing. G is H, or a constant that divides a constant H: query head
  // h then reads head h / (H / G) of keys and values (grouped queries, Ainslie et al. 2023, arXiv:2305.13245). Keys and values have the
  // queries' type, or both are F16 or BF16 beside queries of F32, as in caches of half the bytes, which needs no 16-bit storage. The output
  // has the queries' type.
  AttentionResult attention(Tensor query, Tensor key, Tensor value, const AttentionOptions& options = {});

  // --- Everything else ------------------------------------------------------------------------------------
  // In training plans, zeroes elements of x, of any shape, with probability p and scales the others by 1/(1-p); in other plans, does
  // nothing. Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (seed of the run, stream) and the counter element index
  // / 4. The default stream is the number of earlier dropout calls in this graph. C++ does not order the arguments of a call: pass `stream`
  // when two dropouts are arguments of one call.
  Tensor dropout(Tensor x, float p, std::optional<uint32_t> stream = {});
  // Rows of a table: table [V, C], ids I32 [...] -> [..., C] of type `dtype`: F32, F16 or BF16. The table may be any tensor, including an
  // input or a computed one. A table that is not contiguous is copied as a whole first.
  //
  // The default `dtype` is F32 for a BF16 or quantized table, else the table's type. Rows of an F16 table are thus F16, which norms with
  // F32 factors and sums with F32 refuse: pass DType::F32 for activations of F32, which costs no pass. A quantized table gives rows of all
  // three types. F16 rows of an F32 or BF16 table, and BF16 rows of an F32 or F16 table, exist on the CPU device only; on Vulkan compile
  // returns Unsupported.
  Tensor embedding(Tensor table, Tensor ids, std::optional<DType> dtype = {});
  // x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be
  // even.
  Tensor positional_encoding(Tensor x);

  // --- Elementwise ----------------------------------------------------------------------------------------
  // Operands broadcast. All operands of a call have one type: F32, F16, BF16, or I32 where the call says so. Chains of up to 16 such calls
  // on up to 6 tensors become one pass; between its functions values stay F32, not rounded to F16 or BF16. NaN gives NaN unless a call says
  // otherwise. Floats whose magnitude is below 2^-126 may count as 0.

  // A constant of one element. dtype: F32 (which may be an operand beside any type of float), I32 or U8. As an operand of the calls below
  // it takes no memory and no load.
  Tensor number(double value, DType dtype = DType::F32);
  Tensor add(Tensor a, Tensor b);  // a + b; also I32, where sums, differences and products wrap around
  Tensor sub(Tensor a, Tensor b);  // a - b; also I32
  Tensor mul(Tensor a, Tensor b);  // a b; also I32
  Tensor div(Tensor a, Tensor b);  // a / b; also I32: rounds towards zero; 0 where b is 0
  // The remainder with the sign of b, as in Python: a - b floor(a / b). Also I32: 0 where b is 0. Floats lose digits where |a / b| is above
  // 2^22.
  Tensor mod(Tensor a, Tensor b);
  Tensor minimum(Tensor a, Tensor b);  // the smaller of a and b; also I32; NaN if either is
  Tensor maximum(Tensor a, Tensor b);  // the larger of a and b; also I32; NaN if either is
  // a^b. NaN if a is negative and b is not an integer. 1 if b is 0 or a is 1, whatever the other is.
  Tensor pow(Tensor a, Tensor b);
  Tensor clamp(Tensor x, float low, float high);  // x within low <= high; NaN stays
  Tensor neg(Tensor x);                           // -x; also I32
  Tensor abs(Tensor x);                           // |x|; also I32
  Tensor sign(Tensor x);                          // -1, 0 or 1 as x is; also I32
  Tensor reciprocal(Tensor x);                    // 1 / x
  Tensor sqrt(Tensor x);                          // the square root of x; NaN below 0
  Tensor rsqrt(Tensor x);                         // 1 / sqrt(x)
  Tensor exp(Tensor x);                           // e^x
  Tensor log(Tensor x);                           // the natural logarithm of x; -infinity for 0, NaN below
  Tensor sin(Tensor x);  // the sine of x radians; as cos within 2^-22 up to |x| = 100,000, beyond which digits are lost
  Tensor cos(Tensor x);  // the cosine of x radians, as sin
  Tensor erf(Tensor x);  // the error function of x
  Tensor sigmoid(Tensor x);                                  // 1 / (1 + e^-x)
  Tensor softplus(Tensor x);                                 // log(1 + e^x)
  Tensor elu(Tensor x, float alpha = 1.0f);                  // x, or alpha (e^x - 1) below 0
  Tensor leaky_relu(Tensor x, float slope = 0.01f);          // x, or slope x below 0
  Tensor hard_sigmoid(Tensor x, float slope = 0.16666667f);  // slope x + 1/2 within 0 .. 1
  Tensor hard_swish(Tensor x);                               // x hard_sigmoid(x)
  Tensor floor(Tensor x);                                    // the largest integer that is not above x
  Tensor round(Tensor x);                                    // the nearest integer, ties to even
  Tensor scale(Tensor x, float factor);                      // x * factor, in x's type
  Tensor activation(Tensor x, Activation kind);              // the function `kind` of each element, in x's type
  // Whether a == b. Comparisons give U8: 1 for true and 0 for false. Operands may also be I32 or U8. With a NaN only ne is true.
  Tensor eq(Tensor a, Tensor b);
  Tensor ne(Tensor a, Tensor b);  // U8: whether a != b
  Tensor lt(Tensor a, Tensor b);  // U8: whether a < b
  Tensor le(Tensor a, Tensor b);  // U8: whether a <= b
  Tensor gt(Tensor a, Tensor b);  // U8: whether a > b
  Tensor ge(Tensor a, Tensor b);  // U8: whether a >= b
  // 1 if both operands, U8, are nonzero, else 0.
  Tensor logical_and(Tensor a, Tensor b);
  Tensor logical_or(Tensor a, Tensor b);  // 1 if a or b, U8, is nonzero, else 0
  Tensor logical_not(Tensor x);           // 1 if x, U8, is 0, else 0
  // a where the mask, U8, is nonzero, else b. The operand that is not selected has no effect, even if it is NaN. Types as for comparisons.
  Tensor where(Tensor mask, Tensor a, Tensor b);
  // x converted to `dtype`: F32, F16, BF16, I32 or U8. To floats: rounds to nearest even. From floats to I32 or U8: rounds towards zero and
  // clamps to the type's range; NaN gives 0. From I32 to U8: the low 8 bits.
  Tensor cast(Tensor x, DType dtype);

  // --- Reductions and joins -------------------------------------------------------------------------------
  // The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result
  // is zero if no token is kept.
  Tensor mean(Tensor x, int axis, Mask mask = {});
  // The sum over an axis, which is removed. F32, F16 or BF16: summed in F32 and rounded once to x's type. I32: wraps around.
  Tensor sum(Tensor x, int axis);
  // Reduces these axes together; no axes: all of them. They are removed, or stay with size 1 if `keep`. heed has no rank 0: if all axes are
  // removed, the shape is [1]. x: F32, F16 or BF16, with arithmetic in F32 and one rounding to x's type; or I32 for Sum, which wraps
  // around, Max and Min. Axes that are not adjacent are reduced one after the other.
  //
  // NaN gives NaN. LogSumExp of minus infinities is minus infinity. Neither the powers of LogSumExp nor the squares of L2 overflow. The
  // gradient of Max and Min is shared equally among the elements that equal the result.
  Tensor reduce(Tensor x, Reduction kind, std::span<const int> axes, bool keep = false);
  Tensor reduce(Tensor x, Reduction kind, std::initializer_list<int> axes, bool keep = false);
  // I32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`. Of equal elements the first counts,
  // or the last if `last`. x: F32, F16, BF16 or I32. NaN is never the largest, unless all elements are NaN.
  Tensor argmax(Tensor x, int axis = -1, bool keep = false, bool last = false);
  // As argmax, for the smallest element along an axis.
  Tensor argmin(Tensor x, int axis = -1, bool keep = false, bool last = false);
  // The k largest elements along an axis in descending order, or the k smallest in ascending order, and their indices; both are views whose
  // size along the axis is k. Of equal elements the one with the lower index comes first; NaN comes last. x: F32, F16, BF16 or I32. On
  // Vulkan a workgroup reads a row k times.
  TopKResult top_k(Tensor x, int64_t k, int axis = -1, bool smallest = false);
  // Cumulative sums of the elements along an axis. An exclusive sum leaves its own element out; with `reverse` sums run from each element
  // to the end. x: F32, F16 or BF16; sums are F32.
  Tensor cumsum(Tensor x, int axis, bool exclusive = false, bool reverse = false);
  // Joins parts of one type (DTypeMismatch) along an axis; their other sizes must be the same (ShapeMismatch).
  Tensor concat(std::span<const Tensor> parts, int axis);
  Tensor concat(std::initializer_list<Tensor> parts, int axis);

  // The host's own pass; see <heed/custom.hpp>. Inputs that are not contiguous are copied first.
  CustomResult custom(const CustomPass& pass, std::span<const Tensor> inputs);
  CustomResult custom(const CustomPass& pass, std::initializer_list<Tensor> inputs);

  // --- Asking --------------------------------------------------------------------------------------------
  // The weights that the graph declares, in the order of their first declaration, to look them up in files.
  std::vector<WeightInfo> weights() const;
  Shape shape(Tensor x) const;  // rank 0 if x is invalid
  DType dtype(Tensor x) const;
  Status status() const;      // Ok, or the first mistake
  const char* error() const;  // its message, or ""; valid until the graph changes

  // Labels the passes of later operations, as in "encoder.0.attention", for timings and GPU captures. Labels nest:
  // push_label appends ".name", pop_label removes the last part.
  void push_label(std::string_view name);
  void pop_label();

  // For functions that build graphs, as heed::nn does: keeps `message` as the graph's mistake if it is the first one. Returns an invalid
  // Tensor.
  Tensor fail(Status status, std::string_view message);

  const detail::GraphData& data() const { return *data_; }

 private:
  friend struct detail::GraphAccess;

  std::unique_ptr<detail::GraphData> data_;
};

}  // namespace heed
