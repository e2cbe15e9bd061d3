// The contents of a graph, before and after scheduling: tensors, and nodes (operations) with their attributes.
//
// The sheet (operations.inc) gives the position of a tensor in Node::inputs; an absent optional input is an invalid Tensor. Views (reshape,
// permute, slice) are not nodes: a view is a TensorInfo whose `storage` is another tensor.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "graph/attributes.hpp"
#include "graph/operations.hpp"

namespace heed {

// Views, elementwise nodes and reductions have up to kMaxRank dims, other nodes up to this many.
inline constexpr int kMaxNodeRank = 5;

struct TensorInfo {
  DType dtype = DType::F32;
  int rank = 0;
  std::array<SizeId, kMaxRank> dims{};
  std::array<SizeId, kMaxRank> strides{};  // in elements
  SizeId offset = 0;                       // in elements, from the start of the storage
  uint32_t storage = 0;                    // id of the tensor that owns the memory; itself unless a view
  uint32_t writes = 0;                     // of a tensor of a state: number of earlier writes; of the state itself:
                                           // number of all writes
  std::string name;                        // for messages
};

struct Node {
  Op op = Op::Elementwise;
  std::array<Tensor, kMaxInputs> inputs{};
  std::array<Tensor, kMaxOutputs> outputs{};
  // Temporary memory, f32 [n], through which dispatches of this pass exchange data, if the device asked for it. It is live during this pass
  // only.
  Tensor workspace;
  Attrs attrs;
  std::string label;
  std::string note;  // for PassInfo::why: why this was not fused into another operation

  // Number of inputs before the first absent one.
  size_t input_count() const {
    return static_cast<size_t>(std::find(inputs.begin(), inputs.end(), Tensor{}) - inputs.begin());
  }

  template <class T>
  const T& as() const {
    return *std::get_if<T>(&attrs);
  }
  template <class T>
  T& as() {
    return *std::get_if<T>(&attrs);
  }
};

// Positions in Node::inputs, by the sheet's names. Code that serves several operations may use a position that they share.
namespace in {
inline constexpr size_t kA = input_of(Op::Matmul, "a"), kB = input_of(Op::Matmul, "b"),
                        kBias = input_of(Op::Matmul, "bias"), kResidual = input_of(Op::Matmul, "residual");
inline constexpr size_t kX = input_of(Op::Softmax, "x"), kKeyPadding = input_of(Op::Softmax, "key_padding"),
                        kMask = input_of(Op::Softmax, "mask"), kSoftmaxBias = input_of(Op::Softmax, "bias"),
                        kSoftmaxLengths = input_of(Op::Softmax, "lengths"),
                        kSoftmaxPositions = input_of(Op::Softmax, "positions");
inline constexpr size_t kGamma = input_of(Op::LayerNorm, "gamma"), kBeta = input_of(Op::LayerNorm, "beta"),
                        kNormResidual = input_of(Op::LayerNorm, "residual");
inline constexpr size_t kQuery = input_of(Op::Attention, "query"), kKey = input_of(Op::Attention, "key"),
                        kValue = input_of(Op::Attention, "value"),
                        kAttentionKeyPadding = input_of(Op::Attention, "key_padding"),
                        kAttentionMask = input_of(Op::Attention, "mask"),
                        kAttentionBias = input_of(Op::Attention, "bias"), kLengths = input_of(Op::Attention, "lengths"),
                        kQueryPositions = input_of(Op::Attention, "query_positions");
inline constexpr size_t kAttended = input_of(Op::AttentionBackward, "attended"),
                        kAttendedGradient = input_of(Op::AttentionBackward, "upstream"),
                        kAttendedLogSumExp = input_of(Op::AttentionBackward, "log_sum_exp");
inline constexpr size_t kTable = input_of(Op::Embedding, "table"), kIds = input_of(Op::Embedding, "ids");
inline constexpr size_t kLabels = input_of(Op::CrossEntropy, "labels");
inline constexpr size_t kReduceMask = input_of(Op::Reduce, "mask");
inline constexpr size_t kPositions = input_of(Op::Rotary, "positions"), kRotaryTable = input_of(Op::Rotary, "table"),
                        kCos = input_of(Op::Rotary, "cos"), kSin = input_of(Op::Rotary, "sin");
inline constexpr size_t kProjectionGamma = input_of(Op::Projection, "gamma"),
                        kProjectionBeta = input_of(Op::Projection, "beta"),
                        kProjectionPositions = input_of(Op::Projection, "positions"),
                        kProjectionTable = input_of(Op::Projection, "table"),
                        kProjectionWeights = input_of(Op::Projection, "weight_0"),
                        kProjectionBiases = input_of(Op::Projection, "bias_0");
inline constexpr size_t kPlaces = input_of(Op::Place, "places");
inline constexpr size_t kUpstream = input_of(Op::SoftmaxBackward, "upstream"),
                        kVisible = input_of(Op::SoftmaxBackward, "visible");
inline constexpr size_t kBackwardGamma = input_of(Op::NormBackward, "gamma"),
                        kBackwardResidual = input_of(Op::NormBackward, "residual");
inline constexpr size_t kLossUpstream = input_of(Op::CrossEntropyBackward, "upstream");
inline constexpr size_t kNormSettings = input_of(Op::GradientNorm, "settings"),
                        kNormStep = input_of(Op::GradientNorm, "step"),
                        kNormGradients = input_of(Op::GradientNorm, "gradients");
inline constexpr size_t kGradient = input_of(Op::Update, "gradient"), kFactors = input_of(Op::Update, "factors"),
                        kUpdateSettings = input_of(Op::Update, "settings"), kUpdated = input_of(Op::Update, "weights"),
                        kFirstMoment = input_of(Op::Update, "first_moment"),
                        kSecondMoment = input_of(Op::Update, "second_moment");
inline constexpr size_t kSampleBias = input_of(Op::Sample, "bias"), kPrevious = input_of(Op::Sample, "previous"),
                        kCounts = input_of(Op::Sample, "counts"), kSteps = input_of(Op::Sample, "steps"),
                        kSeeds = input_of(Op::Sample, "seeds"), kSettings = input_of(Op::Sample, "settings");
}  // namespace in

namespace out {
inline constexpr size_t kBeforeActivation = output_of(Op::Matmul, "before_activation");
inline constexpr size_t kWeights = output_of(Op::Attention, "weights"),
                        kLogSumExp = output_of(Op::Attention, "log_sum_exp"),
                        kScores = output_of(Op::Attention, "scores");
inline constexpr size_t kQueryGradient = output_of(Op::AttentionBackward, "query_gradient"),
                        kKeyGradient = output_of(Op::AttentionBackward, "key_gradient"),
                        kValueGradient = output_of(Op::AttentionBackward, "value_gradient"),
                        kBiasGradient = output_of(Op::AttentionBackward, "bias_gradient");
inline constexpr size_t kGammaGradient = output_of(Op::NormBackward, "gamma_gradient"),
                        kBetaGradient = output_of(Op::NormBackward, "beta_gradient"),
                        kRowSums = output_of(Op::NormBackward, "row_sums");
inline constexpr size_t kStep = output_of(Op::GradientNorm, "step");
}  // namespace out

// Whether a node has all inputs and outputs that the sheet requires, no others, and its attributes.
bool fits_sheet(const Node& node);

}  // namespace heed
