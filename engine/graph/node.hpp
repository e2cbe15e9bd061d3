// What a graph is made of, before and after planning: tensors, and nodes (operations) with their attributes.
//
// The position of a tensor in Node::inputs has a fixed meaning per operation; an absent optional input is an
// invalid Tensor. Views (reshape, permute, slice) are no nodes: a view is a TensorInfo whose `storage` is
// another tensor.
#pragma once

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

enum class Op : uint8_t {
  Matmul,
  Softmax,
  Dropout,
  LayerNorm,
  RmsNorm,
  Attention,  // a planner lowers it to matmul, softmax, dropout, matmul where no fused kernel exists
  Embedding,
  Elementwise,
  Mean,
  L2Normalize,
  Concat,
  Argmax,
  Custom,  // a pass of the host's own
};
inline constexpr int kOpCount = 13;
const char* to_string(Op op);  // "matmul", ...: the one name of the operation

inline constexpr uint32_t kMaxInputs = 8;

struct TensorInfo {
  DType dtype = DType::F32;
  int rank = 0;
  std::array<SizeId, kMaxRank> dims{};
  std::array<SizeId, kMaxRank> strides{};  // in elements
  SizeId offset = 0;                       // in elements, from the start of the storage
  uint32_t storage = 0;                    // id of the tensor that owns the memory; itself unless a view
  std::string name;                        // for messages
};

// Random bits of one dropout; see base/philox.hpp.
struct DropoutAttrs {
  float p = 0.0f;
  uint32_t stream = 0;
};

// out = residual + dropout(act(scale * (a x b) + bias)).
// inputs: a [.., M, K], b [.., K, N] (transposes are already in the views' strides), bias [N], residual (shape of
// out). out may have any strides with the innermost 1. Dropout counts elements of out's shape, row-major.
struct MatmulAttrs {
  float scale = 1.0f;
  Activation activation = Activation::None;
  DropoutAttrs dropout;  // p == 0: none
};

// inputs: x [..., S_q, S_k] (rank 1..4), key_padding [B, S_k], mask, bias (both broadcast to x).
struct SoftmaxAttrs {
  float scale = 1.0f;
  Causal causal = Causal::None;
  Mask::Meaning key_padding_meaning = Mask::Meaning::Exclude;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
  std::optional<float> masked_fill;
};

// inputs: query, key, value (whose heads may be fewer; see Graph::attention), key_padding, mask, bias.
// outputs: output, weights (optional), log_sum_exp (optional).
struct AttentionAttrs {
  SoftmaxAttrs softmax;
  DropoutAttrs dropout;
};

// inputs: x, gamma, beta (LayerNorm only), residual (shape of x; added to x first).
struct NormAttrs {
  float eps = 0.0f;
};

// inputs: a, b (optional, broadcast to out).
struct ElementwiseAttrs {
  enum class Kind : uint8_t { Copy, Add, Mul } kind = Kind::Copy;  // Copy also casts: out's dtype may differ
  float scale = 1.0f;                                              // multiplies the result of `kind`
  Activation activation = Activation::None;                        // applied last
};

// inputs: x, mask [d0, n]. Mean over axis 1 of x seen as [outer, n, inner]: `axis` of x, removed in out.
struct MeanAttrs {
  int axis = 0;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
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
  CustomFunction cpu;
  double group_work = 0;
  uint32_t input_count = 0, output_count = 0;
};

struct EmptyAttrs {};  // Embedding (inputs: table, ids), L2Normalize uses NormAttrs, Argmax (input: x)

using Attrs = std::variant<EmptyAttrs, MatmulAttrs, SoftmaxAttrs, DropoutAttrs, AttentionAttrs, NormAttrs,
                           ElementwiseAttrs, MeanAttrs, ConcatAttrs, CustomAttrs>;

struct Node {
  Op op = Op::Elementwise;
  std::array<Tensor, kMaxInputs> inputs{};
  std::array<Tensor, 3> outputs{};
  // f32 [n] that the step's own dispatches hand to each other, if its device asked for it; alive during this step only.
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
inline constexpr size_t kA = 0, kB = 1, kBias = 2, kResidual = 3;              // matmul
inline constexpr size_t kX = 0, kKeyPadding = 1, kMask = 2, kSoftmaxBias = 3;  // softmax
inline constexpr size_t kGamma = 1, kBeta = 2, kNormResidual = 3;              // layernorm, rmsnorm
inline constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kAttentionKeyPadding = 3, kAttentionMask = 4,
                        kAttentionBias = 5;    // attention
inline constexpr size_t kTable = 0, kIds = 1;  // embedding
inline constexpr size_t kMeanMask = 1;         // mean
}  // namespace in

// Positions in Node::outputs of an attention.
namespace out {
inline constexpr size_t kWeights = 1, kLogSumExp = 2;
}  // namespace out

}  // namespace heed
