// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// Operations of graphs. graph.h has the rules for all of them. An invalid tensor is 0.
// clang-format off
#ifndef HEED_C_OPERATIONS_H
#define HEED_C_OPERATIONS_H

#include <heed/c/options.h>

#ifdef __cplusplus
extern "C" {
#endif

// A size from 1 to `max` that may differ at each run. The same name with the same max returns the same Dim; with
// another max it is a mistake.
HEED_API heed_dim heed_graph_extent(heed_graph* graph, const char* name, int64_t max);

// A number from 0 to `max` that may differ at each run: where a slice begins, or how many rows a cache holds. It is 0
// if the run does not give it. Runs give it like an extent; both share their names. Since it may be 0 it cannot be the
// size of a tensor, but its sum with an extent can.
HEED_API heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t max);

// a + b, at most `most`: a run in which it would be more returns ExtentOutOfRange. With it one plan serves an empty and
// a full cache, whose length in keys is sum(position, tokens, capacity).
HEED_API heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim b, int64_t most);

// a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims
// may be `B * S` or `(T - 1) / 2 + 1`. A run in which a dim would be 0 returns ExtentOutOfRange. Expressions are
// simplified: (n - 1) + 1 and (n / 2) * 2 are n. Equal expressions are equal sizes.
HEED_API heed_dim heed_graph_dim_product(heed_graph* graph, heed_dim a, heed_dim b);

// a - b. A run in which it would be negative returns ExtentOutOfRange. See dim_product.
HEED_API heed_dim heed_graph_dim_difference(heed_graph* graph, heed_dim a, heed_dim b);

// a / b, exact: a run in which it is not an integer returns ExtentOutOfRange. b must be at least 1 at every run. See
// dim_product.
HEED_API heed_dim heed_graph_dim_quotient(heed_graph* graph, heed_dim a, heed_dim b);

// a / b, rounded down. b must be at least 1 at every run. See dim_product.
HEED_API heed_dim heed_graph_dim_floor_quotient(heed_graph* graph, heed_dim a, heed_dim b);

// A tensor that the host gives at each run, contiguous and row-major.
HEED_API heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// A tensor of the Weights that compile is given, by its name there. Its dims must be constants. The same name returns
// the same tensor. If the type is quantized, rows along the last axis must be whole blocks (DTypeMismatch). Such a
// tensor, or a view of whole rows of it, may only be the weight of linear, b of matmul with transpose_b, or the table
// of embedding; it is never copied or dequantized in memory.
HEED_API heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// The weight of this name if the graph already has it, else an invalid tensor, which is no mistake.
HEED_API heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name);

// Gives a tensor to the host at each run, contiguous and row-major. A graph needs at least one output, or a write to a
// state. The pass that computes the tensor writes it to the host's buffer directly. A pass labelled "NAME.output"
// copies it instead if it is an input, weight, constant or state, a view of a part or in another order, or already
// another output.
HEED_API heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor tensor);

// A run reads a state as the last run left it, in the State that it is given (<heed/state.hpp>). Reads and writes
// happen in the order of the graph calls. A tensor of a state has the values from when the call returned it. Once the
// state is written, using that tensor or a view of it is a mistake, since keeping the old values would take a copy (an
// output makes one, or for floating-point types scale by 1). append, assign and another call of state() return the
// state after the write.
//
// The dims must be constants. The same name must have the same shape and type.
HEED_API heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// Writes `rows` to a state or a view of it, at the elements at .. at + (size of rows along the axis) of an axis.
// Returns all that `state` shows, after the write. Rows of other floating-point types are converted. A run that would
// write beyond the end returns ExtentOutOfRange before anything is written.
//
// Usually no copy is made: the pass that computes the rows writes them into the state if nothing else reads them and
// they have the state's type. A copy is made if:
// - the pass is the host's own;
// - the pass reads the state, unless it is a sum, product or activation of exactly the elements that are written;
// - the state is read or written between the pass and this call;
// - the layout of the rows in the state differs from the one in which the pass writes them.
HEED_API heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
    heed_dim at);

// As above, but each row of a batch has positions of its own, as conversations of different lengths have. `at` is
// either I32 [B], the position of the first element of each index of axis 0, after which the others follow; `axis` is
// then not 0. Or it has a position for each element along the axis: it broadcasts to the first axis + 1 dims of rows,
// [.., size along the axis]. One pass writes all rows, or the rotary before it if its `positions` is the same tensor as
// `at`.
//
// Positions are known on the device only. Rows at a position below 0 are not written, which serves for padding. Rows
// beyond the end are not written either, and such a run returns IndexOutOfRange, as for an id outside an embedding's
// table; all others are written. No two elements may have the same position.
HEED_API heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
    heed_tensor at);

// Overwrites the state, or the part of it that the view `state` shows, with `value` of the same shape, which may be
// computed from the state itself. g.assign(s, g.add(s, x)), with a sum, product or activation of what `state` shows, is
// one pass that works in place.
HEED_API heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value);

// The elements of x in another shape; copies only if the layout of x requires it. One size may be -1: it follows from
// the others. If the graph cannot compute it, each run does, as a dim_quotient.
HEED_API heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);

// Axis i of the result is axis axes[i] of x.
HEED_API heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t axes_count);

// x with axis_a and axis_b swapped
HEED_API heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b);

// Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1
// takes all behind begin, -2 all but the last one, and so on. If begin or size is only known at a run, a run in which
// they do not fit returns ExtentOutOfRange.
HEED_API heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim size);

// Every step-th element of an axis of x, beginning with index 0: (S - 1) / step + 1 of S elements. S must be constant
// unless step is 1.
HEED_API heed_tensor heed_graph_stride(heed_graph* graph, heed_tensor x, int32_t axis, int64_t step);

// The elements of an axis of x in reverse order. Takes a pass, unlike views; the axis must be constant.
HEED_API heed_tensor heed_graph_flip(heed_graph* graph, heed_tensor x, int32_t axis);

// x with more elements before and after those of an axis. Negative numbers remove elements. The axis must be constant
// unless the mode is Constant; Reflect adds fewer elements than the axis has (InvalidArgument).
HEED_API heed_tensor heed_graph_pad(heed_graph* graph, heed_tensor x, int32_t axis, int64_t before, int64_t behind,
    const heed_pad_options* options);

// x repeated `times` times along an axis.
HEED_API heed_tensor heed_graph_tile(heed_graph* graph, heed_tensor x, int32_t axis, int64_t times);

// x broadcast to a shape by numpy's rule. All copies share the same memory, so a state cannot be written through the
// result.
HEED_API heed_tensor heed_graph_expand(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);

// the last element of an axis of x, as a slice of size 1
HEED_API heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x, int32_t axis);

// A slice of x of size 1, with the axis removed. A negative index counts from the end.
HEED_API heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index);

// Elements at indices that differ from row to row. `places`, I32, holds indices along the axis: its leading dims are
// x's dims before `axis` (or fewer of the outer ones), where size 1 broadcasts on either side. The result has shape
// x.shape[:axis] + [places.shape[-1]] + x.shape[axis+1:]. x [B, S, C], axis 1 and places [B, 1] give one row of each,
// [B, 1, C]; x [1, S, C] and places [B, N] give [B, N, C]. An index below 0 or beyond the end gives zeros; for the
// latter, the run returns IndexOutOfRange.
HEED_API heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);

// As numpy's take_along_axis: `places`, I32, holds an index along the axis for each element of the result. It has x's
// rank and sizes, except along the axis; size 1 broadcasts on either side. Indices outside the axis are treated as in
// take.
HEED_API heed_tensor heed_graph_gather(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);

// A copy of x with the elements at the indices `places` along the axis replaced by `values`. `values` has x's type
// (F32, F16 or BF16) and sizes, except along the axis. `places`, I32, has the sizes of `values`, or 1, which
// broadcasts. Values whose index is below 0 are dropped; no index may be beyond the end. Values for the same element
// are added up in their order. Each element of the result visits all indices of its row, so time grows with the product
// of both lengths.
HEED_API heed_tensor heed_graph_scatter(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places,
    heed_tensor values);

// As scatter, but adds `values` to the elements of x along the axis.
HEED_API heed_tensor heed_graph_scatter_add(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places,
    heed_tensor values);

// a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are F32. Ranks are 2 to 4, and
// leading dims broadcast. b has a's type, or F16 or BF16, which takes half the bytes; if a is F32, that needs no 16-bit
// storage on any device. b in BF16 with a in F16 runs on the CPU only; on Vulkan, compile returns Unsupported. Values
// enter the sums unrounded, with one exception: AMD's processors with dot products of bf16 (AVX512_BF16) round a to
// bf16 (2^-8 relative) if b is BF16. PassInfo::why then says so.
//
// With transpose_b, b may also be a quantized weight [..., N, K]; a may have any of the three types.
HEED_API heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b,
    const heed_matmul_options* options);

// x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4.
HEED_API heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias);

// The windows of `size` elements along an axis of x, as a view [.., windows, size, ..] in which they overlap. Padding
// is zeros and takes a pass. With `length` the axis' padded length there are (length - (size - 1) dilation - 1) /
// stride + 1 windows, rounded down. An axis shorter than one window is a mistake, or at a run ExtentOutOfRange.
HEED_API heed_tensor heed_graph_windows(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size,
    const heed_window_options* options);

// x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' is the number of windows of k.
// Element n of the result is the sum over a window's elements and channels of x times weight[n]. Results of group i use
// the channels of group i only. PyTorch's weight [N, C / groups, k] is this one with its axes 1 and 2 swapped.
//
// A matmul reads the windows directly from padded x; without padding and dilation a convolution of one group is one
// matmul. Dilation takes one matmul per element of a window, groups take one each, and their sums are rounded if x is
// F16 or BF16. Depthwise convolutions (C / groups is 1) use no matmul. The gradient of the weight copies the windows.
HEED_API heed_tensor heed_graph_conv1d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_window_options* options);

// As conv1d, for images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C
// / groups, k_h, k_w]. Takes one matmul for each row of a window, or a single one where windows tile the image, as
// patches do.
HEED_API heed_tensor heed_graph_conv2d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_conv2d_options* options);

// Reduces each window along an axis, whose size becomes the number of windows. Padding is left out of the reduction. To
// pool images, call it for the rows and then for the columns. Types as for reduce.
HEED_API heed_tensor heed_graph_pool(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size, heed_reduction kind,
    const heed_window_options* options);

// A visible NaN makes all visible weights NaN. Hidden keys have weight 0 whatever their logit is. Rank 1..4
HEED_API heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options);

// (x - mean) / sqrt(var + eps) * gamma + beta with the biased variance (Ba et al. 2016, arXiv:1607.06450). gamma and
// beta are [C] of x's type (DTypeMismatch); if invalid, they count as 1 and 0.
HEED_API heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta,
    float eps);

// x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019, arXiv:1910.07467). gamma is [C] of x's type; if invalid, it
// counts as 1.
HEED_API heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps);

// x [..., C] / max(|x|, eps)
HEED_API heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps);

// x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, even if it fills
// the row; NaN or plus infinity anywhere in a row make the row NaN.
HEED_API heed_tensor heed_graph_log_softmax(heed_graph* graph, heed_tensor x);

// x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b
// sin, b cos + a sin) (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns up to
// position 2^22, and to 2^-22 turns beyond.
HEED_API heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options);

// The cross entropy of each row of logits [..., V] and its label, I32 [...]: log(sum of exp(logits)) - logits[label],
// F32 [...]. The mean over a text is the logarithm of its perplexity. With a label_smoothing s of 0 to 1 the loss is s
// times the mean over all labels plus 1
// - s times that of the row's label (Szegedy et al. 2016, arXiv:1512.00567). A label outside the vocabulary, such as
// -100, has loss 0. A label whose logit is minus infinity has a loss of plus infinity; NaN or plus infinity anywhere in
// a row make its loss NaN.
HEED_API heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
    float label_smoothing);

// Draws a token for each row of logits [..., V]: I32, and the axis is removed. The token stays on the device, where an
// embedding can read it and append can write it to a state, so that many steps can be recorded without waiting for the
// host.
//
// The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their
// logits, of equal ones the lower token first. A weight is an integer that integer arithmetic computes from the
// distance to the largest logit. All sums and the draw are integers, too, so that neither a device's exp nor its order
// of sums matters. Only single f32 operations remain, which IEEE 754 rounds alike everywhere: the product with a
// penalty, the sum with a bias, the distance, and its product with 1 / temperature. The error of a weight is at most
// 2^-17 of its own value plus 2^-32 of the largest one; a token whose weight is less than that is never drawn.
//
// Subnormal logits count as 0. NaN and minus infinity are never drawn; if a row has plus infinity, only such tokens
// are. A row that forbids every token gives -1, for which an embedding reports IndexOutOfRange. On Vulkan a workgroup
// reads a row up to 19 times, for a vocabulary of 262144.
HEED_API heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options);

// query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v] may be any views. The output lies in memory
// as [B, S_q, H, d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] cost nothing. G is H, or a constant that
// divides a constant H: query head h then reads head h / (H / G) of keys and values (grouped queries, Ainslie et al.
// 2023, arXiv:2305.13245). Keys and values have the queries' type, or both are F16 or BF16 beside queries of F32, as in
// caches of half the bytes, which needs no 16-bit storage. The output has the queries' type. Returns `output`; *result,
// if not NULL, receives all results.
HEED_API heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const heed_attention_options* options, heed_attention_result* result);

// In training plans, zeroes elements of x, of any shape, with probability p and scales the others by 1/(1-p); in other
// plans, does nothing. Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (seed of the run, stream)
// and the counter element index / 4. The default stream is the number of earlier dropout calls in this graph. C++ does
// not order the arguments of a call: pass `stream` when two dropouts are arguments of one call.
HEED_API heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream);

// Rows of a table: table [V, C], ids I32 [...] -> [..., C] of type `dtype`: F32, F16 or BF16. The table may be any
// tensor, including an input or a computed one. A table that is not contiguous is copied as a whole first.
//
// The default `dtype` is F32 for a BF16 or quantized table, else the table's type. Rows of an F16 table are thus F16,
// which norms with F32 factors and sums with F32 refuse: pass HEED_F32 for activations of F32, which costs no pass. A
// quantized table gives rows of all three types. F16 rows of an F32 or BF16 table, and BF16 rows of an F32 or F16
// table, exist on the CPU device only; on Vulkan compile returns Unsupported.
HEED_API heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype);

// x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be
// even.
HEED_API heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x);

// A constant of one element. dtype: F32 (which may be an operand beside any type of float), I32 or U8. As an operand of
// the calls below it takes no memory and no load.
HEED_API heed_tensor heed_graph_number(heed_graph* graph, double value, heed_dtype dtype);

// a + b; also I32, where sums, differences and products wrap around
HEED_API heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b);

// a - b; also I32
HEED_API heed_tensor heed_graph_sub(heed_graph* graph, heed_tensor a, heed_tensor b);

// a b; also I32
HEED_API heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b);

// a / b; also I32: rounds towards zero; 0 where b is 0
HEED_API heed_tensor heed_graph_div(heed_graph* graph, heed_tensor a, heed_tensor b);

// The remainder with the sign of b, as in Python: a - b floor(a / b). Also I32: 0 where b is 0. Floats lose digits
// where |a / b| is above 2^22.
HEED_API heed_tensor heed_graph_mod(heed_graph* graph, heed_tensor a, heed_tensor b);

// the smaller of a and b; also I32; NaN if either is
HEED_API heed_tensor heed_graph_minimum(heed_graph* graph, heed_tensor a, heed_tensor b);

// the larger of a and b; also I32; NaN if either is
HEED_API heed_tensor heed_graph_maximum(heed_graph* graph, heed_tensor a, heed_tensor b);

// a^b. NaN if a is negative and b is not an integer. 1 if b is 0 or a is 1, whatever the other is.
HEED_API heed_tensor heed_graph_pow(heed_graph* graph, heed_tensor a, heed_tensor b);

// x within low <= high; NaN stays
HEED_API heed_tensor heed_graph_clamp(heed_graph* graph, heed_tensor x, float low, float high);

// -x; also I32
HEED_API heed_tensor heed_graph_neg(heed_graph* graph, heed_tensor x);

// |x|; also I32
HEED_API heed_tensor heed_graph_abs(heed_graph* graph, heed_tensor x);

// -1, 0 or 1 as x is; also I32
HEED_API heed_tensor heed_graph_sign(heed_graph* graph, heed_tensor x);

// 1 / x
HEED_API heed_tensor heed_graph_reciprocal(heed_graph* graph, heed_tensor x);

// the square root of x; NaN below 0
HEED_API heed_tensor heed_graph_sqrt(heed_graph* graph, heed_tensor x);

// 1 / sqrt(x)
HEED_API heed_tensor heed_graph_rsqrt(heed_graph* graph, heed_tensor x);

// e^x
HEED_API heed_tensor heed_graph_exp(heed_graph* graph, heed_tensor x);

// the natural logarithm of x; -infinity for 0, NaN below
HEED_API heed_tensor heed_graph_log(heed_graph* graph, heed_tensor x);

// the sine of x radians; as cos within 2^-22 up to |x| = 100,000, beyond which digits are lost
HEED_API heed_tensor heed_graph_sin(heed_graph* graph, heed_tensor x);

// the cosine of x radians, as sin
HEED_API heed_tensor heed_graph_cos(heed_graph* graph, heed_tensor x);

// the error function of x
HEED_API heed_tensor heed_graph_erf(heed_graph* graph, heed_tensor x);

// 1 / (1 + e^-x)
HEED_API heed_tensor heed_graph_sigmoid(heed_graph* graph, heed_tensor x);

// log(1 + e^x)
HEED_API heed_tensor heed_graph_softplus(heed_graph* graph, heed_tensor x);

// x, or alpha (e^x - 1) below 0
HEED_API heed_tensor heed_graph_elu(heed_graph* graph, heed_tensor x, float alpha);

// x, or slope x below 0
HEED_API heed_tensor heed_graph_leaky_relu(heed_graph* graph, heed_tensor x, float slope);

// slope x + 1/2 within 0 .. 1
HEED_API heed_tensor heed_graph_hard_sigmoid(heed_graph* graph, heed_tensor x, float slope);

// x hard_sigmoid(x)
HEED_API heed_tensor heed_graph_hard_swish(heed_graph* graph, heed_tensor x);

// the largest integer that is not above x
HEED_API heed_tensor heed_graph_floor(heed_graph* graph, heed_tensor x);

// the nearest integer, ties to even
HEED_API heed_tensor heed_graph_round(heed_graph* graph, heed_tensor x);

// x * factor, in x's type
HEED_API heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor);

// the function `kind` of each element, in x's type
HEED_API heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, heed_activation kind);

// Whether a == b. Comparisons give U8: 1 for true and 0 for false. Operands may also be I32 or U8. With a NaN only ne
// is true.
HEED_API heed_tensor heed_graph_eq(heed_graph* graph, heed_tensor a, heed_tensor b);

// U8: whether a != b
HEED_API heed_tensor heed_graph_ne(heed_graph* graph, heed_tensor a, heed_tensor b);

// U8: whether a < b
HEED_API heed_tensor heed_graph_lt(heed_graph* graph, heed_tensor a, heed_tensor b);

// U8: whether a <= b
HEED_API heed_tensor heed_graph_le(heed_graph* graph, heed_tensor a, heed_tensor b);

// U8: whether a > b
HEED_API heed_tensor heed_graph_gt(heed_graph* graph, heed_tensor a, heed_tensor b);

// U8: whether a >= b
HEED_API heed_tensor heed_graph_ge(heed_graph* graph, heed_tensor a, heed_tensor b);

// 1 if both operands, U8, are nonzero, else 0.
HEED_API heed_tensor heed_graph_logical_and(heed_graph* graph, heed_tensor a, heed_tensor b);

// 1 if a or b, U8, is nonzero, else 0
HEED_API heed_tensor heed_graph_logical_or(heed_graph* graph, heed_tensor a, heed_tensor b);

// 1 if x, U8, is 0, else 0
HEED_API heed_tensor heed_graph_logical_not(heed_graph* graph, heed_tensor x);

// a where the mask, U8, is nonzero, else b. The operand that is not selected has no effect, even if it is NaN. Types as
// for comparisons.
HEED_API heed_tensor heed_graph_where(heed_graph* graph, heed_tensor mask, heed_tensor a, heed_tensor b);

// x converted to `dtype`: F32, F16, BF16, I32 or U8. To floats: rounds to nearest even. From floats to I32 or U8:
// rounds towards zero and clamps to the type's range; NaN gives 0. From I32 to U8: the low 8 bits.
HEED_API heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype);

// The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result is
// zero if no token is kept.
HEED_API heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask,
    heed_mask_meaning mask_meaning);

// The sum over an axis, which is removed. F32, F16 or BF16: summed in F32 and rounded once to x's type. I32: wraps
// around.
HEED_API heed_tensor heed_graph_sum_axis(heed_graph* graph, heed_tensor x, int32_t axis);

// Reduces these axes together; no axes: all of them. They are removed, or stay with size 1 if `keep`. heed has no rank
// 0: if all axes are removed, the shape is [1]. x: F32, F16 or BF16, with arithmetic in F32 and one rounding to x's
// type; or I32 for Sum, which wraps around, Max and Min. Axes that are not adjacent are reduced one after the other.
//
// NaN gives NaN. HEED_REDUCTION_LOG_SUM_EXP of minus infinities is minus infinity. Neither the powers of
// HEED_REDUCTION_LOG_SUM_EXP nor the squares of L2 overflow. The gradient of Max and Min is shared equally among the
// elements that equal the result.
HEED_API heed_tensor heed_graph_reduce(heed_graph* graph, heed_tensor x, heed_reduction kind, const int32_t* axes,
    size_t axes_count, int32_t keep);

// I32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`. Of equal elements
// the first counts, or the last if `last`. x: F32, F16, BF16 or I32. NaN is never the largest, unless all elements are
// NaN.
HEED_API heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last);

// As argmax, for the smallest element along an axis.
HEED_API heed_tensor heed_graph_argmin(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last);

// The k largest elements along an axis in descending order, or the k smallest in ascending order, and their indices;
// both are views whose size along the axis is k. Of equal elements the one with the lower index comes first; NaN comes
// last. x: F32, F16, BF16 or I32. On Vulkan a workgroup reads a row k times. Returns `values`; *result, if not NULL,
// receives all results.
HEED_API heed_tensor heed_graph_top_k(heed_graph* graph, heed_tensor x, int64_t k, int32_t axis, int32_t smallest,
    heed_top_k_result* result);

// Cumulative sums of the elements along an axis. An exclusive sum leaves its own element out; with `reverse` sums run
// from each element to the end. x: F32, F16 or BF16; sums are F32.
HEED_API heed_tensor heed_graph_cumsum(heed_graph* graph, heed_tensor x, int32_t axis, int32_t exclusive,
    int32_t reverse);

// Joins parts of one type (DTypeMismatch) along an axis; their other sizes must be the same (ShapeMismatch).
HEED_API heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t parts_count, int32_t axis);

// Labels the passes of later operations, as in "encoder.0.attention", for timings and GPU captures. Labels nest:
// push_label appends ".name", pop_label removes the last part.
HEED_API heed_status heed_graph_push_label(heed_graph* graph, const char* name);
HEED_API heed_status heed_graph_pop_label(heed_graph* graph);

#ifdef __cplusplus
}
#endif

#endif
