// Graph: operations on Tensor ids, built with plain calls. A Graph is a value; it holds no device and no memory
// except its constants.
//
//   heed::Graph g;
//   heed::Dim tokens = g.extent("tokens", 512);
//   heed::Tensor x = g.input("x", {1, tokens, 768});
//   heed::Tensor h = g.linear(x, g.weight("fc.weight", {3072, 768}), g.weight("fc.bias", {3072}));
//   g.output("y", g.activation(h, heed::Activation::GeluErf));
//
// Graph calls cannot fail at the call: the first mistake is kept with its message (status(), error()), later
// calls return an invalid Tensor quietly, and Device::compile returns that first mistake. Not thread-safe.
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
  // False: a call that failed gave it, or none did.
  constexpr bool valid() const { return id != UINT32_MAX; }
  friend constexpr bool operator==(Tensor, Tensor) = default;
};

// GeluErf: x Phi(x). GeluTanh: its tanh approximation (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class Activation : uint8_t { None, Relu, GeluErf, GeluTanh, Silu, Tanh };

// TopLeft: key j is visible to query i if j <= i. BottomRight: if j <= i + (S_kv - S_q), for decoding with a cache.
// Both are the same if S_q == S_kv.
enum class Causal : uint8_t { None, TopLeft, BottomRight };

// A boolean mask always states what it means: nonzero leaves the key out, or nonzero keeps it. Its element type is U8.
struct Mask {
  // Whether a nonzero element leaves its key out or keeps it.
  enum class Meaning : uint8_t { Exclude, Keep };
  Tensor tensor;
  Meaning meaning = Meaning::Exclude;
};
// These make a mask whose nonzero elements leave their keys out, or keep them.
constexpr Mask exclude(Tensor nonzero_is_left_out) { return {nonzero_is_left_out, Mask::Meaning::Exclude}; }
constexpr Mask keep(Tensor nonzero_is_kept) { return {nonzero_is_kept, Mask::Meaning::Keep}; }

// What Graph::reduce makes of the elements along axes. LogSumExp: log(sum of e^x). L2: sqrt(sum of x^2).
enum class Reduction : uint8_t { Sum, Mean, Product, Max, Min, LogSumExp, L2 };

// Windows along an axis, as those of a convolution. Element i of window w is element w * stride + i * dilation of the axis, behind
// `before` elements of padding.
struct WindowOptions {
  int64_t stride = 1;              // from one window to the next
  int64_t before = 0, behind = 0;  // elements of padding
  int64_t dilation = 1;            // from one element to the next
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
  float scale = 1.0f;        // multiplies the product
};

// softmax(scale * x + bias) over the visible keys of each row. A row with no visible key gives zeros, unless
// masked_fill is set.
struct SoftmaxOptions {
  float scale = 1.0f;
  Causal causal = Causal::None;
  Mask key_padding = {};  // [B, S_k]; x must then be [B, ..., S_k]
  Mask mask = {};         // broadcast to x, e.g. [B, 1 or H, S_q, S_k]
  Tensor bias = {};       // broadcast to x; element type of x; added after the scale
  // If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code that
  // fills with -1e9. A row without a visible key then becomes uniform.
  std::optional<float> masked_fill = {};
};

// The step at which AttentionResult::scores are taken. Scaled: scale q.k, for hidden keys, too. Capped: behind softcap; without one, as
// Scaled. Masked: with the bias, and minus infinity or masked_fill for hidden keys. One step on they are weights (return_weights).
enum class Scores : uint8_t { None, Scaled, Capped, Masked };

// A query without a visible key gives zeros, as a row of softmax does. Keys and values that a query does not see may be
// anything, also infinite or NaN: they do not count. Some options make an exception of values, which must then be finite:
// masked_fill, by which every key has a weight; and return_weights, return_scores and softcap, by which scores and weights are
// stored, and the output is a matrix product of all weights and values, where 0 times infinity is NaN. On Vulkan that product
// is also made where no fused kernel serves: for d_k or d_v that is above 256 or an extent, for operands whose innermost dim
// is not contiguous, and on drivers whose fused kernels fail the self-test. It reads keys and values behind `lengths`, too.
//
// The softmax is computed in F32 for every type. What is stored has the queries' type: for scores and weights of F32 beside keys and
// values of F16 or BF16, cast the queries to F32.
struct AttentionOptions {
  std::optional<float> scale = {};  // default 1/sqrt(d_k)
  // c > 0 makes c tanh(s / c) of each scaled score s, before bias and masks, so that none is beyond -c .. c (Gemma Team 2024,
  // arXiv:2408.00118). 0: none.
  float softcap = 0.0f;
  Causal causal = Causal::None;
  // A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at place p among the keys sees key j only if j + window > p and
  // j < p + window_ahead. 0: no bound on that side. Causal is a window_ahead of 1, whatever is given; tiles of keys that no query of a
  // workgroup sees are then not visited. Without it places are those of BottomRight, or `positions`, and each run writes a mask, U8
  // [1 or B, 1, S_q, S_kv].
  int64_t window = 0;
  int64_t window_ahead = 0;
  // For batches whose rows differ, such as conversations of different lengths: I32 [B]. Row b has the first lengths[b]
  // keys only (0 to S_kv; other numbers count as the nearest of these). Nothing is read behind them, masked_fill does not
  // reach them, and BottomRight means j <= i + (lengths[b] - S_q).
  Tensor lengths = {};
  // The places of queries, I32 [B], which need causal, whose alignment then does not count, or a window. Query i of row b sits at
  // positions[b] + i among the keys, and if causal sees key j if j <= positions[b] + i.
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

// What Graph::pad puts beside the elements of an axis: a number; their reflection, in which the edge is not there again; the edge
// again; or what lies at the other end.
enum class Padding : uint8_t { Constant, Reflect, Edge, Wrap };

// What Graph::pad adds.
struct PadOptions {
  Padding mode = Padding::Constant;  // what the further elements are
  double value = 0.0;  // for Constant; rounded to x's type if that is a float, else a whole number that the type has
};

// The two elements of a row that turn together: neighbours (2i and 2i + 1), or the same places of its two halves (i and
// i + width / 2), as checkpoints in Hugging Face's layout of Llama, Qwen and GPT-NeoX have them.
enum class RotaryPairs : uint8_t { Adjacent, Halves };

// Makes pairs turn more slowly than in training, for positions beyond those of the training. Linear slows all pairs
// down by `factor`. Llama3 slows down by `factor` the pairs that turn less than `low` times in `trained_length`
// positions, leaves those that turn more than `high` times as they are, and blends both for pairs between, linearly in
// the number of turns.
struct RotaryScaling {
  // See above.
  enum class Kind : uint8_t { None, Linear, Llama3 };
  Kind kind = Kind::None;
  float factor = 1.0f;
  float low = 1.0f, high = 4.0f;
  int64_t trained_length = 8192;
};

// How Graph::rotary turns the pairs of a row.
struct RotaryOptions {
  RotaryPairs pairs = RotaryPairs::Halves;
  int64_t width = 0;      // even; the first elements of a row turn, the others stay. 0: all of them
  float base = 10000.0f;  // of the angles: the larger, the more slowly the last pairs turn
  RotaryScaling scaling = {};
  Dim first = 0;          // position of index 0 along x's axis -2: a constant, or made by Graph::position
  Tensor positions = {};  // instead: I32, broadcast to x's shape without its last axis
};

// A row of settings for Graph::sample, made by sample_words.
inline constexpr int kSampleWords = 8;
using SampleWords = std::array<int32_t, kSampleWords>;

// How Graph::sample draws a token. The steps are taken in the order of the members; each but the draw costs nothing at its
// default. "For each row, or for all": the shape of the logits without their last axis, or all ones.
struct SampleOptions {
  // Tokens that were there before: I32 [..., P], for each row, or for all. Of a row's P the first `previous_count` count, or
  // `previous_counts` (I32, for each row, or for all); the default is all. A token that is no index of the vocabulary
  // does not count. Logits of these tokens are divided by the penalty if they are positive, and multiplied by it
  // otherwise, however often they were there (Keskar et al. 2019, arXiv:1909.05858).
  Tensor previous = {};
  std::optional<Dim> previous_count = {};  // a constant, or made by Graph::position or sum
  Tensor previous_counts = {};
  float repetition_penalty = 1.0f;
  // Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
  Tensor bias = {};
  float temperature = 1.0f;  // divides the logits; 0: the largest is taken, with no draw
  int64_t top_k = 0;         // leaves the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
  // Leaves the fewest of the largest whose probabilities sum to at least this share of what top_k left (Holtzman et al. 2019,
  // arXiv:1904.09751).
  float top_p = 1.0f;
  // Leaves those of at least this share of the largest probability (Nguyen et al. 2024, arXiv:2407.01082).
  float min_p = 0.0f;

  // Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The row is
  // the number of the row in the logits. With `seeds` (I32, for each row, or for all) a row has a seed of its own instead
  // and is row 0, so that a conversation reads the same alone and in any batch.
  Dim step = 0;       // a constant, or made by Graph::position or sum: which token of a text it is
  Tensor steps = {};  // instead: I32, for each row, or for all
  Tensor seeds = {};
  std::optional<uint32_t> stream = {};  // default: the number of earlier calls of sample in this graph

  // I32 [..., kSampleWords] from sample_words, for each row, or for all: takes the place of repetition_penalty,
  // temperature, top_k, top_p and min_p, which may then differ from row to row and from run to run.
  Tensor settings = {};
};
// The row of SampleOptions::settings that stands for these five numbers of `options`. InvalidArgument if one is outside its
// range.
HEED_API Status sample_words(const SampleOptions& options, SampleWords* words);

// What Graph::attention gives.
struct AttentionResult {
  Tensor output;   // [B, H, S_q, d_v]
  Tensor weights;  // [B, H, S_q, S_kv] before dropout; invalid unless return_weights
  // [B, H, S_q] in F32; invalid unless return_log_sum_exp. The natural logarithm of the sum of exp(logit) over the
  // visible keys, where a logit is scale q.k + bias, or masked_fill; -inf for a row without a visible key. The outputs
  // of attentions over parts of the keys, weighted by exp(log_sum_exp), average to the output over all keys. On Vulkan, without
  // softcap, d_k must be a constant up to 256, and not all of key_padding, mask and bias may be given beside lengths or positions.
  Tensor log_sum_exp;
  Tensor scores;  // [B, H, S_q, S_kv] of the queries' type; invalid unless return_scores
};

// What Graph::top_k gives.
struct TopKResult {
  Tensor values;   // of x's type; the shape of x, with k along the axis
  Tensor indices;  // I32, of the same shape
};

// A weight that a graph asks for.
struct WeightInfo {
  std::string_view name;  // valid until the graph changes
  Shape shape;            // of constants
  DType dtype = DType::F32;
};

// What Graph::custom gives.
struct CustomResult {
  std::array<Tensor, 2> outputs;  // those that the pass does not have are invalid
};

// Operations on tensors. A value: copies are graphs of their own.
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
  // A number from 0 to `max` that may differ at each run, and is 0 if the run does not give it: where a slice begins, or how
  // many rows a cache holds. It is given as extents are, and shares their names. Since it may be 0 it is no size of a
  // tensor; its sum with an extent is.
  Dim position(std::string_view name, int64_t max);
  // a + b, at most `most`: a run that would make it more answers ExtentOutOfRange. With it one plan serves an empty and a
  // full cache, whose keys are sum(position, tokens, capacity).
  Dim sum(Dim a, Dim b, int64_t most = INT64_MAX);
  // a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims may be `B * S` or
  // `(T - 1) / 2 + 1`. A run for which a dim would be 0 answers ExtentOutOfRange. Equal expressions are equal sizes, and what cancels is
  // gone: (n - 1) + 1 and (n / 2) * 2 are n.
  Dim dim_product(Dim a, Dim b);
  // a - b: a run that would make it negative answers ExtentOutOfRange. See dim_product.
  Dim dim_difference(Dim a, Dim b);
  // a / b, exact: a run for which it is no whole number answers ExtentOutOfRange. b is 1 or more at every run. See dim_product.
  Dim dim_quotient(Dim a, Dim b);
  // a / b, rounded down. b is 1 or more at every run. See dim_product.
  Dim dim_floor_quotient(Dim a, Dim b);
  // A tensor that the host gives at each run, contiguous and row-major.
  Tensor input(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // A tensor of the Weights that compile gets, by its name there. Its dims must be constants. The same name returns the
  // same tensor. If the type is quantized, rows along the last axis are whole blocks (DTypeMismatch), and the tensor or a view of
  // whole rows may only be the weight of linear, b of matmul with transpose_b, or the table of embedding: it is never copied or
  // widened in memory.
  Tensor weight(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // The weight of this name if the graph has it already, else an invalid tensor; never a mistake.
  Tensor find_weight(std::string_view name) const;
  // A tensor with these values, F32, I32 or U8, which the graph copies.
  Tensor constant(std::string_view name, const Shape& shape, std::span<const float> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const int32_t> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const uint8_t> values);
  // Gives a tensor to the host at each run, contiguous and row-major. A graph needs at least one output, or a write to
  // a state. The pass that makes the tensor writes it where the host wants it. What no pass makes in that form is
  // copied by a pass labelled "NAME.output": inputs, weights, constants, states, views of a part or in another order,
  // and a tensor that is an output already.
  void output(std::string_view name, Tensor tensor);

  // --- Tensors that stay from run to run --------------------------------------------------------------------
  // A run finds a state as the last run left it, in the State that it is given (<heed/state.hpp>). Reads and writes
  // happen in the order of the graph calls. A tensor of a state is what the state was when the call returned it; once
  // the state is written, using that tensor, or a view of it, is a mistake, since keeping the old values would take a
  // copy (an output, or of floating-point types scale by 1, makes one). What append and assign return, and state()
  // called again, is the state as it then is.
  //
  //   Tensor keys = g.state("layer.0.keys", {1, 512, 8, 64}, DType::F16);  // [batch, tokens, heads, width]
  //   keys = g.append(keys, fresh, 1, past);                               // fresh: [1, tokens, 8, 64]
  //   Tensor seen = g.slice(keys, 1, 0, g.sum(past, tokens, 512));
  //
  // Its dims must be constants. The same name must come with the same shape and type.
  Tensor state(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // Writes rows to the elements at .. at + (size of rows along the axis) of an axis of a state or of a view of it, and
  // returns all that `state` shows, after the write. Other floating-point types are converted. The pass that makes the
  // rows writes them where they stay, with no copy, if nothing else reads them and they have the state's type; the
  // exceptions are passes of the host's own, passes that read the state (but for sums, products and activations of just the elements that are written), states that are read or written between the
  // pass and this call, and layouts whose rows do not lie in the state as the pass makes them. A run that would write
  // behind the end answers ExtentOutOfRange before anything is written.
  Tensor append(Tensor state, Tensor rows, int axis, Dim at);
  // The same where each row of a batch has places of its own, as conversations of different lengths have. `at` is I32 [B], the
  // place of the first element of each index of axis 0, whose others follow, and `axis` is another than 0. Or it has a place
  // for each element along the axis: it broadcasts to the first axis + 1 dims of rows, [.., size along the axis]. All rows are
  // written by one pass, or by the rotary before it if its positions are the same tensor as `at`.
  //
  // Places are known on the device only. What has a place below 0 is not written, which is how rows are padded. Nor is
  // what has a place behind the end; such a run answers IndexOutOfRange, as it does for an id outside of an embedding's
  // table, and all else is written. No two elements may have the same place.
  Tensor append(Tensor state, Tensor rows, int axis, Tensor at);
  // Writes all that `state`, which may be a view of a state, shows; `value` has its shape. It may be computed from the state itself; a sum,
  // product or activation of what it shows, g.assign(s, g.add(s, x)), is one pass that changes it where it lies.
  Tensor assign(Tensor state, Tensor value);

  // --- Views: neither dispatch nor copy, wherever the layout allows --------------------------------------
  // The elements of x in another shape; copies only if the layout of x asks for it. One size may be -1: what the others leave, which
  // each run computes as a dim_quotient where the graph cannot.
  Tensor reshape(Tensor x, const Shape& shape);
  // Axis i of the result is axis axes[i] of x.
  Tensor permute(Tensor x, std::span<const int> axes);
  Tensor permute(Tensor x, std::initializer_list<int> axes);
  Tensor transpose(Tensor x, int axis_a, int axis_b);  // x with axis_a and axis_b swapped
  // Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1 takes
  // all behind begin, -2 all but the last one, and so on. Where one of them is only known at a run, a run for which they do
  // not fit answers ExtentOutOfRange.
  Tensor slice(Tensor x, int axis, Dim begin, Dim size);
  // Every step-th element of an axis of x, from index 0 on: (S - 1) / step + 1 of its S, which must be constant unless step is 1.
  Tensor stride(Tensor x, int axis, int64_t step);
  // The elements of an axis of x in the reverse order. Not a view but a pass; the axis must be constant.
  Tensor flip(Tensor x, int axis);
  // x with more elements along an axis, before and behind those that it has. A negative number takes as many away. The axis must be
  // constant unless the mode is Constant; Reflect adds fewer elements than the axis has (InvalidArgument).
  Tensor pad(Tensor x, int axis, int64_t before, int64_t behind, const PadOptions& options = {});
  // x `times` times along an axis, one copy behind the other.
  Tensor tile(Tensor x, int axis, int64_t times);
  // x broadcast to a shape by numpy's rule: all copies show the same memory. A state cannot be written through it.
  Tensor expand(Tensor x, const Shape& shape);
  // Slices of these sizes along an axis, one behind the other, which together are the whole axis (ShapeMismatch).
  std::vector<Tensor> split(Tensor x, int axis, std::span<const Dim> sizes);
  std::vector<Tensor> split(Tensor x, int axis, std::initializer_list<Dim> sizes);
  Tensor last(Tensor x, int axis);  // the last element of an axis of x, as a slice of size 1
  // A slice of x of size 1, with the axis removed. A negative index counts from the end.
  Tensor select(Tensor x, int axis, int64_t index);

  // Elements at places that differ from row to row: places, I32, has the dims of x up to the axis (or less of the outer ones),
  // where 1 is broadcast, on either side; along the axis, the result is as long as `places`. x [B, S, C], axis 1 and places
  // [B, 1] give one row of each, [B, 1, C]; x [1, S, C] and places [B, N] give [B, N, C]. Zeros where a place is below 0, or
  // behind the end; for the latter, a run answers IndexOutOfRange.
  Tensor take(Tensor x, int axis, Tensor places);
  // A place for each element, as numpy's take_along_axis: places, I32, has x's rank, and the same sizes but for the axis, or 1 on
  // either side, which is broadcast. Places outside the axis are as in take.
  Tensor gather(Tensor x, int axis, Tensor places);
  // x, whose elements at these places become `values`. Those have x's type (F32, F16 or BF16) and sizes, but for the axis; places,
  // I32, has the sizes of `values`, or 1, which is broadcast. What a place below 0 says goes nowhere; no place may be behind the end. Values
  // for the same element are added up in their order. Each element looks at all places of its row: time grows with both lengths.
  Tensor scatter(Tensor x, int axis, Tensor places, Tensor values);
  // As scatter, but adds `values` to the elements of x at places along an axis.
  Tensor scatter_add(Tensor x, int axis, Tensor places, Tensor values);

  // --- Matrix product ------------------------------------------------------------------------------------
  // a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are F32. Ranks are 2 to 4, and
  // leading dims broadcast. b has a's type, or F16 or BF16, which takes half the bytes; no device needs 16-bit storage
  // for that if a is F32. A b of BF16 with an a of F16 runs on the CPU only; on Vulkan, compile returns Unsupported.
  // Values enter the sums unrounded, with one exception: AMD's processors that have dot products of bf16
  // (AVX512_BF16) round a to bf16 (2^-8 relative) if b is BF16. PassInfo::why then says so.
  //
  // b may also be a quantized weight [..., N, K] with transpose_b, beside an a of any of the three types.
  Tensor matmul(Tensor a, Tensor b, const MatmulOptions& options = {});
  // x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4.
  Tensor linear(Tensor x, Tensor weight, Tensor bias = {});

  // --- Convolutions and pools: channels lie along the last axis -------------------------------------------
  // The windows of `size` along an axis of x: [.., windows, size, ..], a view, in which they overlap; padding is zeros, by a pass. There are
  // (length - (size - 1) dilation - 1) / stride + 1 of them, rounded down, of the axis' length with padding; a shorter axis is a mistake, or
  // at a run ExtentOutOfRange.
  Tensor windows(Tensor x, int axis, int64_t size, const WindowOptions& options = {});
  // x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' counts windows of k. Element n of a result is the
  // sum over a window's elements and channels of x times weight[n]. Results of group i see the channels of group i alone. PyTorch's weight
  // [N, C / groups, k] is this one with its axes 1 and 2 swapped.
  //
  // A matrix product reads windows where they lie in x, padded; without padding or dilation a convolution of one group is that product. Each
  // element of a dilated window is a product of its own, as are groups; where channels do not meet (C / groups is 1) there are none. Of F16 and
  // BF16, the sums of these products are rounded. The gradient of the weight copies the windows.
  Tensor conv1d(Tensor x, Tensor weight, Tensor bias = {}, const WindowOptions& options = {});
  // As conv1d, of images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C / groups, k_h, k_w]. One
  // product for each row of a window; a single one where windows tile the image, as patches do.
  Tensor conv2d(Tensor x, Tensor weight, Tensor bias = {}, const Conv2dOptions& options = {});
  // A reduction of each window along an axis, whose size then counts windows. Padding does not count. Pools of images are two of these:
  // along the rows, and along the columns. Types as for reduce.
  Tensor pool(Tensor x, int axis, int64_t size, Reduction kind, const WindowOptions& options = {});

  // --- Operations on rows, which lie along the last axis --------------------------------------------------
  // A NaN makes all of its row NaN in layernorm, rmsnorm and l2_normalize. On Vulkan no loop of an invocation is unbounded: compile answers
  // Unsupported, and names the numbers, where one would have more than 2^20 rounds, on llvmpipe 65,535. These are rows of some 33 million
  // elements, on llvmpipe 2 million; along an inner axis a masked mean, max, min and their indices of 4 million, on llvmpipe 260,000, and
  // cumsum of a million, on llvmpipe 65,000. Longer sums are made in several dispatches.

  // A NaN that is visible makes all visible weights NaN; hidden keys have weight 0, whatever they are.
  Tensor softmax(Tensor x, const SoftmaxOptions& options = {});  // rank 1..4
  // (x - mean) / sqrt(var + eps) * gamma + beta with the biased variance (Ba et al. 2016, arXiv:1607.06450).
  // gamma and beta are [C] of x's type (DTypeMismatch); if invalid, they count as 1 and 0.
  Tensor layernorm(Tensor x, Tensor gamma, Tensor beta, float eps);
  // x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019, arXiv:1910.07467). gamma is [C] of x's type; if invalid,
  // it counts as 1.
  Tensor rmsnorm(Tensor x, Tensor gamma, float eps);
  Tensor l2_normalize(Tensor x, float eps = 1e-12f);  // x [..., C] / max(|x|, eps)
  // x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, also in a row of nothing else; NaN or
  // plus infinity anywhere in a row make the row NaN.
  Tensor log_softmax(Tensor x);
  // x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b
  // sin, b cos + a sin) (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns
  // up to position 2^22, and to 2^-22 turns at any.
  Tensor rotary(Tensor x, const RotaryOptions& options = {});
  // How far each row of logits [..., V] is from its label, I32 [...]: log(sum of exp(logits)) - logits[label], F32 [...]. The
  // mean over a text is the logarithm of its perplexity. With a label_smoothing of 0 to 1 it is that share of the mean over
  // all labels, and the rest of the row's own (Szegedy et al. 2016, arXiv:1512.00567). A label that is no index of the
  // vocabulary, such as -100, is left out: its loss is 0. A label whose logit is minus infinity has a loss of plus infinity;
  // NaN or plus infinity anywhere in a row make its loss NaN.
  Tensor cross_entropy(Tensor logits, Tensor labels, float label_smoothing = 0.0f);
  // Draws a token for each row of logits [..., V]: I32, and the axis is removed. It stays on the device, where an embedding
  // reads it and append writes it to a state, so that many steps can be recorded with no word to the host between.
  //
  //   Tensor text = g.state("text", {1, 4096}, DType::I32);            // the prompt is there; `at` is its last token
  //   Tensor x = g.embedding(table, g.slice(text, 1, at, 1));
  //   ...
  //   Tensor next = g.sample(logits, {.previous = text, .previous_count = g.sum(at, 1, 4096), .temperature = 0.8f,
  //                                   .top_p = 0.95f, .step = at});     // logits: [1, 1, V]
  //   g.append(text, next, 1, g.sum(at, 1, 4096));
  //
  // The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their logits,
  // of equal ones the lower token first. A weight is a whole number, made from the distance to the largest logit by
  // arithmetic of whole numbers, and so are all sums and the draw: neither a device's exp nor the order of its sums takes
  // part. What is left to f32 are single operations that IEEE 754 rounds alike everywhere: the product with a penalty,
  // the sum with a bias, the distance, and its product with 1 / temperature. A weight is off by at most 2^-17 of its own
  // value and 2^-32 of the largest one, and a token of less than that is never drawn.
  //
  // Subnormal logits count as 0. NaN and minus infinity are never drawn; beside plus infinity nothing else is. A row that
  // forbids every token gives -1, which an embedding reports. On Vulkan a workgroup reads a row up to 19 times, for a
  // vocabulary of 262144.
  Tensor sample(Tensor logits, const SampleOptions& options = {});

  // --- Attention: softmax(scale q k^T + bias) v (Vaswani et al. 2017, arXiv:1706.03762) -------------------
  // query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v] may be any views. The output lies in
  // memory as [B, S_q, H, d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] cost nothing. G is H, or a
  // constant that divides a constant H: query head h then reads the head h / (H / G) of keys and values (grouped
  // queries, Ainslie et al. 2023, arXiv:2305.13245). Keys and values have the type of the queries, or both have F16 or BF16
  // beside queries of F32, such as caches of half the bytes; no device needs 16-bit storage for that. The output has
  // the type of the queries.
  AttentionResult attention(Tensor query, Tensor key, Tensor value, const AttentionOptions& options = {});

  // --- Everything else ------------------------------------------------------------------------------------
  // In training plans, zeroes elements of x, of any shape, with probability p and scales the others by 1/(1-p); in other plans, does
  // nothing. Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (seed of the run, stream) and the
  // counter element index / 4. The default stream is the number of earlier dropout calls in this graph; of two that are arguments
  // of one call, the compiler chooses which is earlier.
  Tensor dropout(Tensor x, float p, std::optional<uint32_t> stream = {});
  // Rows of a table: table [V, C], ids I32 [...] -> [..., C] of type `dtype`: F32, F16 or BF16. The table may be any
  // tensor, also one that the graph computes or an input; one that is not contiguous is copied as a whole first.
  //
  // The default is F32 for a BF16 or quantized table, else the table's type: rows of an F16 table are F16. A norm with factors of F32
  // then refuses them, as do sums with F32; for activations of F32 ask for DType::F32 here, which costs no pass. A
  // quantized table gives rows of all three types; F16 or BF16 from a table of F32, or of the other of the two, exist on the
  // CPU device only, and on Vulkan compile returns Unsupported.
  Tensor embedding(Tensor table, Tensor ids, std::optional<DType> dtype = {});
  // x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be
  // even.
  Tensor positional_encoding(Tensor x);

  // --- Elementwise ----------------------------------------------------------------------------------------
  // Operands broadcast. Where there are several tensors they have one type: F32, F16, BF16, or I32 where a call says so. Chains
  // of these calls become one pass, as far as 16 functions and 6 tensors go; between its functions values are F32, not rounded
  // to F16 or BF16. NaN gives NaN unless a call says otherwise. Floats that are below 2^-126 in size may count as 0.

  // The constant `value` of one element and this dtype, F32 (beside any type of float), I32 or U8, which costs no memory and no load as an operand here.
  Tensor number(double value, DType dtype = DType::F32);
  Tensor add(Tensor a, Tensor b);  // a + b; also I32, where sums, differences and products wrap around
  Tensor sub(Tensor a, Tensor b);  // a - b; also I32
  Tensor mul(Tensor a, Tensor b);  // a b; also I32
  Tensor div(Tensor a, Tensor b);  // a / b; also I32: rounds towards zero; 0 where b is 0
  // The remainder with the sign of b, as Python has it: a - b floor(a / b). Also I32: 0 where b is 0. Floats lose digits where
  // |a / b| is above 2^22.
  Tensor mod(Tensor a, Tensor b);
  Tensor minimum(Tensor a, Tensor b);  // the smaller of a and b; also I32; NaN if either is
  Tensor maximum(Tensor a, Tensor b);  // the larger of a and b; also I32; NaN if either is
  // a^b. Of a negative a only whole b have a power, others give NaN. 1 if b is 0 or a is 1, whatever the other is.
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
  Tensor floor(Tensor x);                                    // the nearest whole number that is not above
  Tensor round(Tensor x);                                    // to the nearest whole number, ties to even
  Tensor scale(Tensor x, float factor);                      // x * factor, in x's type
  Tensor activation(Tensor x, Activation kind);              // the function `kind` of each element, in x's type
  // Whether a == b. Comparisons give U8, 1 where they hold and 0 elsewhere. Operands may also be I32 or U8. Where one is NaN only ne holds.
  Tensor eq(Tensor a, Tensor b);
  Tensor ne(Tensor a, Tensor b);  // U8: whether a != b
  Tensor lt(Tensor a, Tensor b);  // U8: whether a < b
  Tensor le(Tensor a, Tensor b);  // U8: whether a <= b
  Tensor gt(Tensor a, Tensor b);  // U8: whether a > b
  Tensor ge(Tensor a, Tensor b);  // U8: whether a >= b
  // Whether both are: of U8, where all but 0 counts as true; results are 0 or 1.
  Tensor logical_and(Tensor a, Tensor b);
  Tensor logical_or(Tensor a, Tensor b);  // whether a or b is; of U8
  Tensor logical_not(Tensor x);           // whether x is not; of U8
  // a where the mask, U8, is not 0, else b. What is not chosen does not count, also if it is NaN. Types as for comparisons.
  Tensor where(Tensor mask, Tensor a, Tensor b);
  // x as `dtype`, among F32, F16, BF16, I32 and U8. To a type of float: rounds to nearest even. From a float to I32 or U8: towards zero, to the
  // nearest number that the type has where it is outside, and 0 for NaN. From I32 to U8: the low 8 bits.
  Tensor cast(Tensor x, DType dtype);

  // --- Reductions and joins -------------------------------------------------------------------------------
  // The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result
  // is zero if no token is kept.
  Tensor mean(Tensor x, int axis, Mask mask = {});
  // Adds up an axis of x and removes it, in F32 and rounded once to x's type: F32, F16 or BF16; or of I32, where it wraps
  // around.
  Tensor sum(Tensor x, int axis);
  // One number for the elements along these axes together; no axes: all of them. The axes are removed, or stay with size 1 if
  // `keep`. heed has no rank 0: where all are removed, [1] is left. x: F32, F16 or BF16, with arithmetic in F32 and one
  // rounding to x's type; or I32 for Sum, which wraps around, Max and Min. Axes that are no neighbours are reduced one
  // after the other.
  //
  // NaN gives NaN. LogSumExp of minus infinities is minus infinity. Its powers cannot overflow, nor can the squares of L2. The
  // gradient of Max and Min goes in equal shares to the elements that are equal to the result.
  Tensor reduce(Tensor x, Reduction kind, std::span<const int> axes, bool keep = false);
  Tensor reduce(Tensor x, Reduction kind, std::initializer_list<int> axes, bool keep = false);
  // I32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`: the first of equal ones,
  // or the last if `last`. x: F32, F16, BF16 or I32. NaN is never the largest; where all are NaN it is one of theirs.
  Tensor argmax(Tensor x, int axis = -1, bool keep = false, bool last = false);
  // As argmax, of the smallest element along an axis.
  Tensor argmin(Tensor x, int axis = -1, bool keep = false, bool last = false);
  // The k largest elements along an axis, the largest first, or the k smallest, and their indices there: views whose size
  // along the axis is k. Of equal ones that with the lower index comes first; NaN come last. x: F32, F16, BF16 or I32. On
  // Vulkan a workgroup reads a row k times.
  TopKResult top_k(Tensor x, int64_t k, int axis = -1, bool smallest = false);
  // Sums of the elements along an axis up to each one, which an exclusive sum leaves out, or from each one to the end if
  // `reverse`. x: F32, F16 or BF16; sums are F32.
  Tensor cumsum(Tensor x, int axis, bool exclusive = false, bool reverse = false);
  // Joins parts of one type (DTypeMismatch) along an axis; their other sizes must be the same (ShapeMismatch).
  Tensor concat(std::span<const Tensor> parts, int axis);
  Tensor concat(std::initializer_list<Tensor> parts, int axis);

  // The host's own pass; see <heed/custom.hpp>. Inputs that are not contiguous are copied first.
  CustomResult custom(const CustomPass& pass, std::span<const Tensor> inputs);
  CustomResult custom(const CustomPass& pass, std::initializer_list<Tensor> inputs);

  // --- Asking --------------------------------------------------------------------------------------------
  // The weights that the graph asks for, in the order of their first declaration, to look them up in files.
  std::vector<WeightInfo> weights() const;
  Shape shape(Tensor x) const;  // rank 0 if x is invalid
  DType dtype(Tensor x) const;
  Status status() const;      // Ok, or the first mistake
  const char* error() const;  // its message, or ""; valid until the graph changes

  // Labels the passes of later operations, as in "encoder.0.attention", for timings and GPU captures. Labels nest:
  // push_label appends ".name", pop_label removes the last part.
  void push_label(std::string_view name);
  void pop_label();

  // For functions that build graphs, as heed::nn does: keeps `message` as the graph's mistake if it is the first.
  // Returns an invalid Tensor.
  Tensor fail(Status status, std::string_view message);

  const detail::GraphData& data() const { return *data_; }

 private:
  friend struct detail::GraphAccess;

  std::unique_ptr<detail::GraphData> data_;
};

}  // namespace heed
