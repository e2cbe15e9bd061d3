#include "cpu/step.hpp"

namespace heed::cpu {

const Operation& operation(Op op) {
  static constexpr Operation kNone = {};
  static constexpr Operation kMatmul = {run_matmul, matmul_scratch};
  static constexpr Operation kSoftmax = {run_softmax, softmax_scratch};
  static constexpr Operation kDropout = {run_dropout, dropout_scratch};
  static constexpr Operation kLayerNorm = {run_layernorm, layernorm_scratch};
  static constexpr Operation kRmsNorm = {run_rmsnorm, rmsnorm_scratch};
  static constexpr Operation kAttention = {run_attention, attention_scratch};
  static constexpr Operation kEmbedding = {run_embedding, embedding_scratch};
  static constexpr Operation kElementwise = {run_elementwise, elementwise_scratch};
  static constexpr Operation kMean = {run_mean, mean_scratch};
  static constexpr Operation kL2Normalize = {run_l2_normalize, l2_normalize_scratch};
  static constexpr Operation kConcat = {run_concat, nullptr};
  static constexpr Operation kArgmax = {run_argmax, argmax_scratch};
  static constexpr Operation kCustom = {run_custom, nullptr};
  switch (op) {
    case Op::Matmul: return kMatmul;
    case Op::Softmax: return kSoftmax;
    case Op::Dropout: return kDropout;
    case Op::LayerNorm: return kLayerNorm;
    case Op::RmsNorm: return kRmsNorm;
    case Op::Attention: return kAttention;
    case Op::Embedding: return kEmbedding;
    case Op::Elementwise: return kElementwise;
    case Op::Mean: return kMean;
    case Op::L2Normalize: return kL2Normalize;
    case Op::Concat: return kConcat;
    case Op::Argmax: return kArgmax;
    case Op::Custom: return kCustom;
  }
  return kNone;
}

}  // namespace heed::cpu
