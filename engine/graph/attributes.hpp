// The attributes of each operation. The sheet (operations.inc) describes their inputs and outputs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <heed/custom.hpp>
#include <heed/graph.hpp>

#include "graph/functions.hpp"
#include "graph/sizes.hpp"

namespace heed {

// The random bits of one dropout; see base/philox.hpp.
struct DropoutAttrs {
  float p = 0.0f;
  uint32_t stream = 0;
};

// out = residual + dropout(act(scale * (a x b) + bias)), or residual * the dropout's result if `gated`. If `slopes`, out = scale * (a x b)
// * act'(residual) instead, where act' is the derivative. If `skips_zeros`, elements of a that count as 0 add nothing, whatever b is; only
// reproducible plans set that. Dropout counts elements of out's shape, row-major.
struct MatmulAttrs {
  float scale = 1.0f;
  Activation activation = Activation::None;
  DropoutAttrs dropout;  // p == 0: none
  bool gated = false;
  bool slopes = false;
  bool skips_zeros = false;
};

struct SoftmaxAttrs {
  float scale = 1.0f;
  Causal causal = Causal::None;
  Mask::Meaning key_padding_meaning = Mask::Meaning::Exclude;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
  std::optional<float> masked_fill;
  uint32_t window = 0;  // with causal: the most keys that a query sees, its own the last; 0: all

  // An upper bound on the keys, of `keys`, that a block of `queries` neighbouring queries visits. The window hides the others from all of
  // them.
  int64_t visited_keys(int64_t keys, int64_t queries) const {
    return window == 0 || masked_fill ? keys : std::min<int64_t>(keys, window + queries - 1);
  }
};

struct AttentionAttrs {
  SoftmaxAttrs softmax;
  DropoutAttrs dropout;
  float softcap = 0.0f;  // s becomes c tanh(s / c) for each score s; 0: none
  // Lengths and positions are joined to one tensor, [B, 2], or one of them is packed, [B] (lower_attention.cpp).
  bool rows_joined = false;
  bool makes_query = true;  // AttentionBackward computes the gradient of the query
};

struct NormAttrs {
  float eps = 0.0f;
  bool adds_behind = false;  // the residual is added after the norm; otherwise to x before it
};

struct ReduceAttrs {
  int axis = 0;  // the axis of x; out has it with size 1, or does not have it
  Reduction kind = Reduction::Mean;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
};

// The indices of the first `count` elements in descending order, or ascending if `smallest`. Of equal elements the lower index comes first,
// or, if `last`, the higher one.
struct ArgmaxAttrs {
  int axis = 0;  // out has it with size `count`, or does not have it
  uint32_t count = 1;
  bool smallest = false, last = false;
};

// Cumulative sums along an axis. An exclusive sum leaves its own element out; `reverse` sums from the end.
struct CumsumAttrs {
  int axis = 0;
  bool exclusive = false, reverse = false;
};

struct RotaryAttrs {
  RotaryPairs pairs = RotaryPairs::Halves;
  SizeId first = 0;  // position of the first row, if there is no positions input
  // With cosines and sines as inputs: the number of elements of a row that turn. There are as many cosines, or half as many.
  int64_t width = 0;
  // Rows are written at their positions along the axis before the last, of which there are `room`, as in PlaceAttrs. out: a view with the
  // shape of x, as if all rows were at position 0.
  bool placed = false;
  SizeId room = 0;
};

struct ProjectionAttrs {
  uint32_t count = 0;  // number of weights
  std::array<int64_t, 3> columns{};
  std::optional<float> norm_eps;  // none: there is no norm before the matmuls
  bool around_mean = false;       // the norm is LayerNorm; otherwise RMSNorm
  bool gated = false;
  Activation activation = Activation::None;
  uint32_t apart = 0;   // bit i: heads of result i may have any stride
  uint32_t turned = 0;  // bit i: result i gets the rotary embedding, too
  // Bit i: rows of result i are written at their positions, of which there are `room`, as in PlaceAttrs; the bit of `apart` is set then,
  // too.
  uint32_t placed = 0;
  SizeId room = 0;
  int64_t head = 4;  // columns of a head, a multiple of 4
  RotaryAttrs rotary;
};
inline constexpr int64_t kMostProjectedRows = 8;

struct SampleAttrs {
  uint32_t stream = 0;
  SizeId count = 0;  // number of previous tokens, if there is no counts input
  SizeId step = 0;   // if there is no steps input
};

// The table has `total` rows, or a part of them that begins with row `first`; 0: all of them. Nothing is written for ids of other parts.
// The part with the first row also handles invalid ids.
struct EmbeddingAttrs {
  int64_t first = 0, total = 0;
};

struct CrossEntropyAttrs {
  float label_smoothing = 0.0f;
};

struct SoftmaxBackwardAttrs {
  float scale = 1.0f;
};

struct NormBackwardAttrs {
  enum class Kind : uint8_t { Layer, Rms, L2 } kind = Kind::Layer;
  float eps = 0.0f;
};

struct SliceBackwardAttrs {
  SizeId offset = 0;
  std::array<SizeId, kMaxRank> strides{};
};

struct PlaceAttrs {
  int axis = 0;
  SizeId room = 0;  // number of positions along the axis
  bool gathers = false;
};

// How an optimizer updates weights, [n]; see update.hpp.
struct UpdateAttrs {
  enum class Rule : uint8_t { AdamW, Sgd } rule = Rule::AdamW;
  bool nesterov = false;  // Nesterov's momentum, for Sgd with momentum
  bool clears = false;    // sets the gradient to 0 afterwards
};

struct ConcatAttrs {
  int axis = 0;
};

// The shader of a host's pass. Plans and pipelines share it.
struct CustomKernel {
  std::string name, entry_point;
  std::vector<uint32_t> spirv;

  friend bool operator==(const CustomKernel& a, const CustomKernel& b) {
    return a.entry_point == b.entry_point && a.spirv == b.spirv;
  }
};

struct CustomAttrs {
  struct Word {
    SizeId size = -1;  // < 0: the word is `bits`
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
  std::array<uint32_t, 3> local_size{};  // 0 if the SPIR-V does not state it
  bool local_size_id = false;            // stated by LocalSizeId
  CustomFunction cpu;
  CustomGradient gradient;
  double group_work = 0;
  uint32_t input_count = 0, output_count = 0;
};

struct EmptyAttrs {};

using Attrs = std::variant<EmptyAttrs, MatmulAttrs, SoftmaxAttrs, DropoutAttrs, AttentionAttrs, NormAttrs,
                           ElementwiseAttrs, ReduceAttrs, ArgmaxAttrs, CumsumAttrs, RotaryAttrs, ProjectionAttrs,
                           CrossEntropyAttrs, SampleAttrs, PlaceAttrs, ConcatAttrs, CustomAttrs, SoftmaxBackwardAttrs,
                           NormBackwardAttrs, SliceBackwardAttrs, UpdateAttrs, EmbeddingAttrs>;

// The index of T among the attributes, as the sheet stores it.
template <class T, size_t I = 0>
consteval size_t index_of_attributes() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attrs>, T>)
    return I;
  else
    return index_of_attributes<T, I + 1>();
}
template <class T>
inline constexpr size_t kAttributes = index_of_attributes<T>();

}  // namespace heed
