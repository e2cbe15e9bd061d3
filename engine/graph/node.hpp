// The contents of a graph, before and after scheduling: tensors, and nodes (operations) with their attributes.
//
// The position of a tensor in Node::inputs has a fixed meaning per operation; an absent optional input is an
// invalid Tensor. Views (reshape, permute, slice) are no nodes: a view is a TensorInfo whose `storage` is
// another tensor.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <heed/custom.hpp>
#include <heed/graph.hpp>

#include "graph/sizes.hpp"

namespace heed {

// An attention is lowered to matmul, softmax, dropout and matmul where no fused kernel exists; Custom is a pass of the host's.
enum class Op : uint8_t {
#define HEED_OPERATION(enumerator, name) enumerator,
#include "graph/operations.inc"
#undef HEED_OPERATION
};
const char* to_string(Op op);  // "matmul", ...: the one name of the operation

inline constexpr uint32_t kMaxInputs = 10;

struct TensorInfo {
  DType dtype = DType::F32;
  int rank = 0;
  std::array<SizeId, kMaxRank> dims{};
  std::array<SizeId, kMaxRank> strides{};  // in elements
  SizeId offset = 0;                       // in elements, from the start of the storage
  uint32_t storage = 0;                    // id of the tensor that owns the memory; itself unless a view
  uint32_t writes = 0;                     // of a state: how many writes came before; in the state itself, all of them
  std::string name;                        // for messages
};

// Random bits of one dropout; see base/philox.hpp.
struct DropoutAttrs {
  float p = 0.0f;
  uint32_t stream = 0;
};

// out = residual + dropout(act(scale * (a x b) + bias)), or the residual times it if `gated`; or, if `slopes`, scale * (a x b)
// times the derivative of act at the residual, and no more. If `skips_zeros`, elements of a that count as 0 add nothing, whatever
// b is; only reproducible plans have that.
// inputs: a [.., M, K], b [.., K, N] (transposes are already in the views' strides), bias [N], residual (shape of
// out). out may have any strides with the innermost 1. Dropout counts elements of out's shape, row-major.
struct MatmulAttrs {
  float scale = 1.0f;
  Activation activation = Activation::None;
  DropoutAttrs dropout;  // p == 0: none
  bool gated = false;
  bool slopes = false;
  bool skips_zeros = false;
};

// inputs: x [..., S_q, S_k] (rank 1..4), key_padding [B, S_k], mask, bias (both broadcast to x), lengths and positions
// (both I32 [B] without gaps, and only from a lowered attention, whose x has rank 4). In reproducible plans a lowered attention may
// also have the log-sum-exp, at the attention's place among the outputs: F32 [B, H, S_q], which starts a tensor without gaps.
struct SoftmaxAttrs {
  float scale = 1.0f;
  Causal causal = Causal::None;
  Mask::Meaning key_padding_meaning = Mask::Meaning::Exclude;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
  std::optional<float> masked_fill;
  uint32_t window = 0;  // with causal: keys that a query sees at most, its own the last; 0: all

  // The most keys of so many that `queries` neighbouring queries go over together: a window hides the others from all.
  int64_t visited_keys(int64_t keys, int64_t queries) const {
    return window == 0 || masked_fill ? keys : std::min<int64_t>(keys, window + queries - 1);
  }
};

// inputs: query, key, value (whose heads may be fewer; see Graph::attention), key_padding, mask, bias, lengths, positions.
// outputs: output, weights (optional), log_sum_exp (optional).
struct AttentionAttrs {
  SoftmaxAttrs softmax;
  DropoutAttrs dropout;
  // Lengths and positions lie side by side in a tensor of their own, [B, 2], or one of them in one, [B] (lower_attention.cpp).
  bool rows_joined = false;
  bool makes_query = true;  // of AttentionBackward: the gradient of the query is among its outputs
};

// AttentionBackward has the attributes of its attention. inputs: query, key, value, key_padding, mask, bias, then the attention's
// output, the gradient of that, and the log-sum-exp, F32; all but this and masks of one type. outputs: the gradients of query, key and value, [B, H, S, d]
// with an innermost stride of 1. Strides of heads and tokens are constants, and batches lie one behind the other, as S tokens each.
// Those of key and value have the same strides and lie in one storage; and the gradient of the bias, of its shape, without gaps. All
// but the first are invalid if nobody wants them; without makes_query, the first output is one of the others.

// inputs: x, gamma, beta (LayerNorm only), residual (shape of x; added to x first).
struct NormAttrs {
  float eps = 0.0f;
};

// inputs: a, b (optional), both broadcast to out.
struct ElementwiseAttrs {
  // Copy also casts: out's dtype may differ. ActivationBackward: a times the derivative of `activation` at b, and nothing else.
  enum class Kind : uint8_t { Copy, Add, Mul, ActivationBackward } kind = Kind::Copy;
  float scale = 1.0f;                        // multiplies the result of `kind`
  Activation activation = Activation::None;  // applied last
};

// inputs: x, mask [d0, n]. Mean over axis 1 of x seen as [outer, n, inner]: `axis` of x, removed in out.
struct MeanAttrs {
  int axis = 0;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
  bool sum = false;  // the sum, not divided by anything
};

// inputs: x [..., S, C], positions (optional; shape of x without its last axis, broadcast), table [pairs, 2] (see
// op_rotary.cpp).
struct RotaryAttrs {
  RotaryPairs pairs = RotaryPairs::Halves;
  SizeId first = 0;  // position of the first row, where there are no positions
  // Rows go to their positions along the axis before the last, of which there are `room`, as in PlaceAttrs. out: a view with the
  // shape of x, as if all rows went to 0.
  bool placed = false;
  SizeId room = 0;
};

// Products of the same few rows x, [S, K] or [B, S, K], with up to three weights stored as [N, K], and what lies before and
// behind them: out[i] = rotary(rmsnorm(x) weight[i]^T + bias[i]), or out[0] = act(..[0]) * ..[1] if `gated`. Only a rewrite
// makes it (project.cpp). Results may be of f16 or bf16 beside rows of f32. inputs: x, gamma, positions, table, then three
// weights [K, N] and three biases. A result whose heads may lie apart, as all do that turn, is [B, H, S, d], others are shaped
// as x; all may have any strides with the innermost 1.
struct ProjectionAttrs {
  // Where operands start in the one range that holds all weights of this pass, in elements of their own type; of a quantized
  // weight, where the tensor starts that it is a part of, in groups of 16 bytes.
  struct Weight {
    int64_t columns = 0;
    uint32_t at = 0, bias_at = 0;
  };
  std::array<Weight, 3> weights{};
  uint32_t count = 0;  // of weights
  uint32_t gamma_at = 0;
  std::optional<float> norm_eps;  // none: x is taken as it is
  bool gated = false;
  Activation activation = Activation::None;
  uint32_t apart = 0;   // bit i: heads of result i may lie apart
  uint32_t turned = 0;  // bit i: result i turns, too
  // Bit i: rows of result i go to their positions, of which there are `room`, as in PlaceAttrs; apart is set then, too.
  uint32_t placed = 0;
  SizeId room = 0;
  int64_t head = 4;  // columns of a head, a multiple of 4
  RotaryAttrs rotary;
};
inline constexpr int64_t kMostProjectedRows = 8;

// inputs: x [..., V], bias, previous, counts, steps, seeds (all optional), settings; all but x contiguous. Each of these has
// rows as x has, or one row for all. out: contiguous.
struct SampleAttrs {
  uint32_t stream = 0;
  SizeId count = 0;  // previous tokens, where there are no counts
  SizeId step = 0;   // where there are no steps
};

// inputs: x [..., V], labels [...]. out: F32, contiguous. CrossEntropyBackward: and the gradient of the losses, F32 [...]; out
// is the gradient of x, contiguous.
struct CrossEntropyAttrs {
  float label_smoothing = 0.0f;
};

// inputs: weights p [.., S_k], which a softmax gave, their gradient g, and `visible` (optional). out: scale * p (g - sum of p g
// over the row), contiguous; 0 where a weight is 0, whose gradient does not count, and where `visible` is 0.
struct SoftmaxBackwardAttrs {
  float scale = 1.0f;
};

// inputs: x, the gradient of what the norm gave, gamma (optional; L2 has none), residual (shape of x, innermost stride 1; added to the
// gradient of x). outputs: the gradient of x, contiguous; and, each invalid if nobody wants it, the gradients of gamma and of beta,
// and the sums of the first output over all its rows, all three [C].
struct NormBackwardAttrs {
  enum class Kind : uint8_t { Layer, Rms, L2 } kind = Kind::Layer;
  float eps = 0.0f;
};

// inputs: x. out: contiguous, of any shape; zeros, but for the elements of x at offset + sum of index[i] * stride[i]. Strides
// fall from the first axis of x to the last, and no two indices have the same place.
struct SliceBackwardAttrs {
  SizeId offset = 0;
  std::array<SizeId, kMaxRank> strides{};
};

// Rows go to places along an axis of a tensor, which differ from row to row, or come from there. A row without a place is left
// out, and one whose place is behind the last is a fault. inputs: x, places (I32, which broadcasts to the first axis + 1 dims of
// the rows). out: a view with the shape of the rows, as if all of them went to place 0; or, if it gathers, the rows, and x
// is all that they may come from.
struct PlaceAttrs {
  int axis = 0;
  SizeId room = 0;  // places that there are
  bool gathers = false;
};

// How an optimizer changes weights, [n]; see update.hpp. inputs: the gradient, what GradientNorm gave, a row of settings, the weights,
// and the first and second moments, where the rule has them. outputs: states, which are the weights, these moments, and, where it is
// cleared, the gradient behind them.
struct UpdateAttrs {
  enum class Rule : uint8_t { AdamW, Sgd } rule = Rule::AdamW;
  bool nesterov = false;  // of Sgd with a first moment
  bool clears = false;    // the gradient becomes 0
};

struct ConcatAttrs {  // inputs: 1..kMaxInputs parts
  int axis = 0;
};

// The shader of a host's pass; plans and pipelines share it.
struct CustomKernel {
  std::string name, entry_point;
  std::vector<uint32_t> spirv;

  friend bool operator==(const CustomKernel& a, const CustomKernel& b) {
    return a.entry_point == b.entry_point && a.spirv == b.spirv;
  }
};

// inputs: contiguous, in the order of the bindings; then outputs.
struct CustomAttrs {
  struct Word {
    SizeId size = -1;  // < 0: bits
    uint32_t bits = 0;
  };
  struct Groups {
    SizeId total = 0;
    uint32_t each = 1;
  };
  std::shared_ptr<const CustomKernel> kernel;
  std::vector<uint32_t> constants;
  std::vector<Word> push;
  std::array<Groups, 3> groups{};
  std::array<uint32_t, 3> local_size{};  // 0 if the SPIR-V does not tell
  bool local_size_id = false;            // told by LocalSizeId
  CustomFunction cpu;
  CustomGradient gradient;
  double group_work = 0;
  uint32_t input_count = 0, output_count = 0;
};

// Embedding (inputs: table, ids), L2Normalize uses NormAttrs, Argmax (input: x), EmbeddingBackward (inputs: rows [outer, n,
// inner], ids [outer, n], both contiguous; out [outer, V, inner], contiguous: out[o, v] is the sum of rows[o, i] over all i with
// ids[o, i] == v, in their order; other ids do not count), GradientNorm (see update.hpp; inputs: settings, the
// step, then the gradients, each [n]; outputs: F32 [4], and the step, a state).
struct EmptyAttrs {};

using Attrs =
    std::variant<EmptyAttrs, MatmulAttrs, SoftmaxAttrs, DropoutAttrs, AttentionAttrs, NormAttrs, ElementwiseAttrs,
                 MeanAttrs, RotaryAttrs, ProjectionAttrs, CrossEntropyAttrs, SampleAttrs, PlaceAttrs, ConcatAttrs,
                 CustomAttrs, SoftmaxBackwardAttrs, NormBackwardAttrs, SliceBackwardAttrs, UpdateAttrs>;

struct Node {
  Op op = Op::Elementwise;
  std::array<Tensor, kMaxInputs> inputs{};
  std::array<Tensor, 4> outputs{};
  // Memory, f32 [n], by which dispatches of this pass hand data to each other, if the device asked for it. It lives during
  // this pass only.
  Tensor workspace;
  Attrs attrs;
  std::string label;

  template <class T>
  const T& as() const {
    return *std::get_if<T>(&attrs);
  }
  template <class T>
  T& as() {
    return *std::get_if<T>(&attrs);
  }
};

// Positions in Node::inputs.
namespace in {
// matmul
inline constexpr size_t kA = 0, kB = 1, kBias = 2, kResidual = 3;
// softmax
inline constexpr size_t kX = 0, kKeyPadding = 1, kMask = 2, kSoftmaxBias = 3, kSoftmaxLengths = 4,
                        kSoftmaxPositions = 5;
// layernorm, rmsnorm
inline constexpr size_t kGamma = 1, kBeta = 2, kNormResidual = 3;
// attention
inline constexpr size_t kQuery = 0, kKey = 1, kValue = 2;
inline constexpr size_t kAttentionKeyPadding = 3, kAttentionMask = 4, kAttentionBias = 5;
inline constexpr size_t kLengths = 6, kQueryPositions = 7;
// attention_backward: the first six as attention
inline constexpr size_t kAttended = 6, kAttendedGradient = 7, kAttendedLogSumExp = 8;
// embedding
inline constexpr size_t kTable = 0, kIds = 1;
// cross_entropy
inline constexpr size_t kLabels = 1;
// mean
inline constexpr size_t kMeanMask = 1;
// rotary
inline constexpr size_t kPositions = 1, kRotaryTable = 2;
// projection: as rotary, with the norm's gamma first, then the weights and biases
inline constexpr size_t kProjectionGamma = 1, kProjectionPositions = 2, kProjectionTable = 3;
inline constexpr size_t kProjectionWeights = 4, kProjectionBiases = 7;
// place
inline constexpr size_t kPlaces = 1;
// softmax_backward; norm_backward; cross_entropy_backward
inline constexpr size_t kUpstream = 1, kVisible = 2;
inline constexpr size_t kBackwardGamma = 2, kBackwardResidual = 3;
inline constexpr size_t kLossUpstream = 2;
// gradient_norm
inline constexpr size_t kNormSettings = 0, kNormStep = 1, kNormGradients = 2;
// update
inline constexpr size_t kGradient = 0, kFactors = 1, kUpdateSettings = 2, kUpdated = 3, kFirstMoment = 4,
                        kSecondMoment = 5;
// sample
inline constexpr size_t kSampleBias = 1, kPrevious = 2, kCounts = 3, kSteps = 4, kSeeds = 5, kSettings = 6;
}  // namespace in

// Positions in Node::outputs.
namespace out {
// attention
inline constexpr size_t kWeights = 1, kLogSumExp = 2;
// matmul: scale * (a x b) + bias beside what the activation makes of it, if later passes read both; then there is no residual
inline constexpr size_t kBeforeActivation = 1;
// attention_backward
inline constexpr size_t kQueryGradient = 0, kKeyGradient = 1, kValueGradient = 2, kBiasGradient = 3;
// norm_backward
inline constexpr size_t kGammaGradient = 1, kBetaGradient = 2, kRowSums = 3;
// gradient_norm
inline constexpr size_t kStep = 1;
}  // namespace out

}  // namespace heed
