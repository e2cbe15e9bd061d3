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
// Shapes are written [outer, ..., inner]. "Broadcast" means numpy's rule: right-aligned, sizes equal or 1.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <heed/export.hpp>
#include <heed/status.hpp>
#include <heed/types.hpp>

namespace heed {

namespace detail {
struct GraphData;
}
struct CustomPass;

// Id of one value in one graph. Using it with another graph is a mistake that compile may not detect.
struct Tensor {
  uint32_t id = UINT32_MAX;
  constexpr bool valid() const { return id != UINT32_MAX; }
  friend constexpr bool operator==(Tensor, Tensor) = default;
};

// GeluErf: x Phi(x). GeluTanh: its tanh approximation (Hendrycks & Gimpel 2016, arXiv:1606.08415).
enum class Activation : uint8_t { None, Relu, GeluErf, GeluTanh, Silu, Tanh };

// TopLeft: key j is visible to query i when j <= i. BottomRight: when j <= i + (S_kv - S_q), for decoding with
// a cache. With S_q == S_kv they are the same.
enum class Causal : uint8_t { None, TopLeft, BottomRight };

// A boolean mask never travels without its meaning: nonzero = leave the key out, or nonzero = keep it.
// Element type U8.
struct Mask {
  enum class Meaning : uint8_t { Exclude, Keep };
  Tensor tensor;
  Meaning meaning = Meaning::Exclude;
};
constexpr Mask exclude(Tensor nonzero_is_left_out) { return {nonzero_is_left_out, Mask::Meaning::Exclude}; }
constexpr Mask keep(Tensor nonzero_is_kept) { return {nonzero_is_kept, Mask::Meaning::Keep}; }

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
  // Instead of leaving masked (and causally hidden) keys out, give their logit this finite value, as code that
  // fills with -1e9 does: a row without visible keys then becomes uniform.
  std::optional<float> masked_fill = {};
};

// A query without a visible key gives zeros, as a row of softmax does. Values should be finite also where some query does
// not see them: a weight of 0 times infinity or NaN is NaN in a sum, and kernels take several queries together. Exempt, on
// the CPU and without return_weights and masked_fill: values that key_padding, or a mask with one row for all queries,
// hides from every query, and any values to a query without a visible key.
struct AttentionOptions {
  std::optional<float> scale = {};  // default 1/sqrt(d_k)
  Causal causal = Causal::None;
  Mask key_padding = {};  // [B, S_kv]
  Mask mask = {};         // broadcast to [B, H, S_q, S_kv]
  Tensor bias = {};       // broadcast to [B, H, S_q, S_kv]
  std::optional<float> masked_fill = {};
  float dropout = 0.0f;         // on the weights, after softmax, in training plans
  bool return_weights = false;  // otherwise the weights are never stored for the host
  bool return_log_sum_exp = false;
};

struct AttentionResult {
  Tensor output;   // [B, H, S_q, d_v]
  Tensor weights;  // [B, H, S_q, S_kv] before dropout; invalid unless return_weights
  // [B, H, S_q] in F32; invalid unless return_log_sum_exp. The natural logarithm of the sum of exp(logit) over the visible
  // keys, where a logit is scale q.k + bias, or masked_fill; -inf for a row without a visible key. Of two attentions
  // over parts of the keys, exp(log_sum_exp) are the weights that make one of their outputs. Vulkan: d_k up to 256.
  Tensor log_sum_exp;
};

struct CustomResult {
  std::array<Tensor, 2> outputs;  // as many as the pass has
};

class HEED_API Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&);
  Graph& operator=(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // --- Sources and results -----------------------------------------------------------------------------
  // A size that may differ at each run: 1..max. Names are unique within the graph; the same name with the same
  // max returns the same Dim.
  Dim extent(std::string_view name, int64_t max);
  // A tensor the host gives at each run, contiguous, row-major.
  Tensor input(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // A tensor of the Weights given to compile, by its name there. Constant dims only. The same name twice is the
  // same tensor.
  Tensor weight(std::string_view name, const Shape& shape, DType dtype = DType::F32);
  // Values baked into the graph (copied). F32, I32 or U8.
  Tensor constant(std::string_view name, const Shape& shape, std::span<const float> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const int32_t> values);
  Tensor constant(std::string_view name, const Shape& shape, std::span<const uint8_t> values);
  // Gives a tensor to the host at each run, contiguous, row-major. At least one is needed to compile.
  void output(std::string_view name, Tensor tensor);

  // --- Views: no dispatch, no copy, wherever the layout allows ------------------------------------------
  Tensor reshape(Tensor x, const Shape& shape);  // same number of elements; copies only if x is not contiguous
  Tensor permute(Tensor x, std::initializer_list<int> axes);
  Tensor permute(Tensor x, std::span<const int> axes);
  Tensor transpose(Tensor x, int axis_a, int axis_b);         // negative axes count from the end
  Tensor slice(Tensor x, int axis, int64_t begin, Dim size);  // elements begin .. begin + size
  Tensor select(Tensor x, int axis, int64_t index);           // slice of size 1, with the axis removed

  // --- Matrix product ------------------------------------------------------------------------------------
  // a [..., M, K] x b [..., K, N] -> [..., M, N] of a's type, sums in F32; rank 2..4; leading dims broadcast. b is of a's
  // type, or F16 or BF16 (half the bytes, and no device needs 16-bit storage beside an a of F32); by BF16 beside F16 on the
  // CPU alone, Vulkan answers Unsupported. Values enter the sums exactly, but for an a beside BF16 on AMD's processors with
  // dot products of bf16 (AVX512_BF16), which round it to bf16 (2^-8 relative): PassInfo::why tells.
  Tensor matmul(Tensor a, Tensor b, const MatmulOptions& options = {});
  // x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4.
  Tensor linear(Tensor x, Tensor weight, Tensor bias = {});

  // --- Rows: over the last axis --------------------------------------------------------------------------
  Tensor softmax(Tensor x, const SoftmaxOptions& options = {});  // rank 1..4
  // (x - mean) / sqrt(var + eps) * gamma + beta, biased variance (Ba et al. 2016, arXiv:1607.06450).
  // gamma and beta are [C] and may be invalid (1 and 0).
  Tensor layernorm(Tensor x, Tensor gamma, Tensor beta, float eps);
  // x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019, arXiv:1910.07467). gamma may be invalid.
  Tensor rmsnorm(Tensor x, Tensor gamma, float eps);
  Tensor l2_normalize(Tensor x, float eps = 1e-12f);  // x / max(|x|, eps)
  Tensor argmax(Tensor x);                            // index of the first largest element, I32, axis removed

  // --- Attention: softmax(scale q k^T + bias) v (Vaswani et al. 2017, arXiv:1706.03762) -------------------
  // query [B, H, S_q, d_k], key [B, G, S_kv, d_k], value [B, G, S_kv, d_v]: any strided views. The output
  // lies in memory as [B, S_q, H, d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] are free. G is
  // H, or a constant that divides a constant H: query head h then reads key and value head h / (H / G)
  // (grouped queries, Ainslie et al. 2023, arXiv:2305.13245).
  AttentionResult attention(Tensor query, Tensor key, Tensor value, const AttentionOptions& options = {});

  // --- Everything else ------------------------------------------------------------------------------------
  // Zeroes elements with probability p and scales the rest by 1/(1-p), in training plans; nothing otherwise.
  // Random bits: Philox4x32-10 (Salmon et al. 2011), key (seed of the run, stream), counter = element index / 4.
  // Streams default to the number of dropout calls made before in this graph.
  Tensor dropout(Tensor x, float p, std::optional<uint32_t> stream = {});
  // table [V, C], ids I32 [...] -> [..., C] of `dtype`, F32, F16 or BF16; without one, of the table's, and F32 from a
  // BF16 table. F16 or BF16 from a table of another type the CPU device has alone; Vulkan answers Unsupported.
  Tensor embedding(Tensor table, Tensor ids, std::optional<DType> dtype = {});
  // x [..., S, C] + the sinusoidal table (Vaswani et al. 2017, section 3.5), C even, computed in double.
  Tensor positional_encoding(Tensor x);
  Tensor add(Tensor a, Tensor b);  // broadcast
  Tensor mul(Tensor a, Tensor b);  // broadcast
  Tensor scale(Tensor x, float factor);
  Tensor activation(Tensor x, Activation kind);
  Tensor cast(Tensor x, DType dtype);  // among F32, F16 and BF16; rounds to nearest even
  // Mean over one axis, which is removed. With a mask [B, S] for x [B, S, C] and axis 1: over kept tokens only;
  // zero when none is kept.
  Tensor mean(Tensor x, int axis, Mask mask = {});
  Tensor concat(std::span<const Tensor> parts, int axis);
  Tensor concat(std::initializer_list<Tensor> parts, int axis);

  // A pass of the host's own: see <heed/custom.hpp>. Inputs that are not contiguous are copied first.
  CustomResult custom(const CustomPass& pass, std::span<const Tensor> inputs);
  CustomResult custom(const CustomPass& pass, std::initializer_list<Tensor> inputs);

  // --- Asking --------------------------------------------------------------------------------------------
  Shape shape(Tensor x) const;  // rank 0 if x is invalid
  DType dtype(Tensor x) const;
  Status status() const;      // Ok, or the first mistake
  const char* error() const;  // its message, or ""; valid until the graph changes

  // Labels the passes made from here on, "encoder.0.attention", in timings and GPU captures. Scopes nest:
  // push_label appends ".name"; pop_label removes the last.
  void push_label(std::string_view name);
  void pop_label();

  // For code that offers operations of its own: records `message` as the graph's mistake, if it is the first.
  Tensor fail(Status status, std::string_view message);

  const detail::GraphData& data() const { return *data_; }

 private:
  std::unique_ptr<detail::GraphData> data_;
};

}  // namespace heed
