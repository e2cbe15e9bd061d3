// The attributes of each operation. The sheet (operations.inc) describes its inputs and outputs.
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

// Random bits of one dropout; see base/philox.hpp.
struct DropoutAttrs {
  float p = 0.0f;
  uint32_t stream = 0;
};

// out = residual + dropout(act(scale * (a x b) + bias)), or the residual times it if `gated`; or, if `slopes`, scale * (a x b)
// times the derivative of act at the residual, and no more. If `skips_zeros`, elements of a that count as 0 add nothing, whatever
// b is; only reproducible plans have that.
// Dropout counts elements of out's shape, row-major.
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
  uint32_t window = 0;  // with causal: keys that a query sees at most, its own the last; 0: all

  // The most keys of so many that `queries` neighbouring queries go over together: a window hides the others from all.
  int64_t visited_keys(int64_t keys, int64_t queries) const {
    return window == 0 || masked_fill ? keys : std::min<int64_t>(keys, window + queries - 1);
  }
};

struct AttentionAttrs {
  SoftmaxAttrs softmax;
  DropoutAttrs dropout;
  float softcap = 0.0f;  // c tanh(s / c) of each score s; 0: none
  // Lengths and positions lie side by side in a tensor of their own, [B, 2], or one of them in one, [B] (lower_attention.cpp).
  bool rows_joined = false;
  bool makes_query = true;  // of AttentionBackward: the gradient of the query is among its outputs
};

struct NormAttrs {
  float eps = 0.0f;
  bool adds_behind = false;  // the residual is added to what the norm gives; otherwise to x
};

struct ReduceAttrs {
  int axis = 0;  // of x; removed in out, or of size 1 there
  Reduction kind = Reduction::Mean;
  Mask::Meaning mask_meaning = Mask::Meaning::Exclude;
};

// The indices of the first `count` elements in descending order, or ascending if `smallest`. Of equals, that of the lower index
// comes first, or, if `last`, that of the higher one.
struct ArgmaxAttrs {
  int axis = 0;  // of size `count` in out, or removed there
  uint32_t count = 1;
  bool smallest = false, last = false;
};

// Sums up to each element of an axis, which if `exclusive` does not count itself; from the end if `reverse`.
struct CumsumAttrs {
  int axis = 0;
  bool exclusive = false, reverse = false;
};

struct RotaryAttrs {
  RotaryPairs pairs = RotaryPairs::Halves;
  SizeId first = 0;  // position of the first row, where there are no positions
  // With cosines and sines: elements of a row that turn. They have as many cosines, or half as many.
  int64_t width = 0;
  // Rows go to their positions along the axis before the last, of which there are `room`, as in PlaceAttrs. out: a view with the
  // shape of x, as if all rows went to 0.
  bool placed = false;
  SizeId room = 0;
};

struct ProjectionAttrs {
  uint32_t count = 0;  // of weights
  std::array<int64_t, 3> columns{};
  std::optional<float> norm_eps;  // none: x is taken as it is
  bool around_mean = false;       // the norm is LayerNorm; otherwise RMSNorm
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

struct SampleAttrs {
  uint32_t stream = 0;
  SizeId count = 0;  // previous tokens, where there are no counts
  SizeId step = 0;   // where there are no steps
};

// The table has the rows of ids from `first` on, of `total` that there are; 0: all of them. Of other ids nothing is written; the part with
// the first row also has what is no id.
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
  SizeId room = 0;  // places that there are
  bool gathers = false;
};

// How an optimizer changes weights, [n]; see update.hpp.
struct UpdateAttrs {
  enum class Rule : uint8_t { AdamW, Sgd } rule = Rule::AdamW;
  bool nesterov = false;  // of Sgd with a first moment
  bool clears = false;    // the gradient becomes 0
};

struct ConcatAttrs {
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
