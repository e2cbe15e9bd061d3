// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// Operations of graphs. graph.h says what holds for all of them. `invalid` is 0 of a tensor.
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

// A number from 0 to `max` that may differ at each run, and is 0 if the run does not give it: where a slice begins, or
// how many rows a cache holds. It is given as extents are, and shares their names. Since it may be 0 it is no size of a
// tensor; its sum with an extent is.
HEED_API heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t max);

// a + b, at most `most`: a run that would make it more answers ExtentOutOfRange. With it one plan serves an empty and a
// full cache, whose keys are sum(position, tokens, capacity).
HEED_API heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim b, int64_t most);

// a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims
// may be `B * S` or `(T - 1) / 2 + 1`. A run for which a dim would be 0 answers ExtentOutOfRange. Equal expressions are
// equal sizes, and what cancels is gone: (n - 1) + 1 and (n / 2) * 2 are n.
HEED_API heed_dim heed_graph_dim_product(heed_graph* graph, heed_dim a, heed_dim b);

// a - b: a run that would make it negative answers ExtentOutOfRange. See dim_product.
HEED_API heed_dim heed_graph_dim_difference(heed_graph* graph, heed_dim a, heed_dim b);

// a / b, exact: a run for which it is no whole number answers ExtentOutOfRange. b is 1 or more at every run. See
// dim_product.
HEED_API heed_dim heed_graph_dim_quotient(heed_graph* graph, heed_dim a, heed_dim b);

// a / b, rounded down. b is 1 or more at every run. See dim_product.
HEED_API heed_dim heed_graph_dim_floor_quotient(heed_graph* graph, heed_dim a, heed_dim b);

// A tensor that the host gives at each run, contiguous and row-major.
HEED_API heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// A tensor of the Weights that compile gets, by its name there. Its dims must be constants. The same name returns the
// same tensor. If the type is quantized, rows along the last axis are whole blocks (DTypeMismatch), and the tensor or a
// view of whole rows may only be the weight of linear, b of matmul with transpose_b, or the table of embedding: it is
// never copied or widened in memory.
HEED_API heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// The weight of this name if the graph has it already, else an invalid tensor; never a mistake.
HEED_API heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name);

// Gives a tensor to the host at each run, contiguous and row-major. A graph needs at least one output, or a write to a
// state. The pass that makes the tensor writes it where the host wants it. What no pass makes in that form is copied by
// a pass labelled "NAME.output": inputs, weights, constants, states, views of a part or in another order, and a tensor
// that is an output already.
HEED_API heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor tensor);

// A run finds a state as the last run left it, in the State that it is given (<heed/state.hpp>). Reads and writes
// happen in the order of the graph calls. A tensor of a state is what the state was when the call returned it; once the
// state is written, using that tensor, or a view of it, is a mistake, since keeping the old values would take a copy
// (an output, or of floating-point types scale by 1, makes one). What append and assign return, and state() called
// again, is the state as it then is.
//
// Its dims must be constants. The same name must come with the same shape and type.
HEED_API heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
    heed_dtype dtype);

// Writes rows to the elements at .. at + (size of rows along the axis) of an axis of a state or of a view of it, and
// returns all that `state` shows, after the write. Other floating-point types are converted. The pass that makes the
// rows writes them where they stay, with no copy, if nothing else reads them and they have the state's type; the
// exceptions are passes of the host's own, passes that read the state (but for sums, products and activations of just
// the elements that are written), states that are read or written between the pass and this call, and layouts whose
// rows do not lie in the state as the pass makes them. A run that would write behind the end answers ExtentOutOfRange
// before anything is written.
HEED_API heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
    heed_dim at);

// The same where each row of a batch has places of its own, as conversations of different lengths have. `at` is I32
// [B], the place of the first element of each index of axis 0, whose others follow, and `axis` is another than 0. Or it
// has a place for each element along the axis: it broadcasts to the first axis + 1 dims of rows, [.., size along the
// axis]. All rows are written by one pass, or by the rotary before it if its positions are the same tensor as `at`.
//
// Places are known on the device only. What has a place below 0 is not written, which is how rows are padded. Nor is
// what has a place behind the end; such a run answers IndexOutOfRange, as it does for an id outside of an embedding's
// table, and all else is written. No two elements may have the same place.
HEED_API heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
    heed_tensor at);

// Writes all that `state`, which may be a view of a state, shows; `value` has its shape. It may be computed from the
// state itself; a sum, product or activation of what it shows, g.assign(s, g.add(s, x)), is one pass that changes it
// where it lies.
HEED_API heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value);

// The elements of x in another shape; copies only if the layout of x asks for it. One size may be -1: what the others
// leave, which each run computes as a dim_quotient where the graph cannot.
HEED_API heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);

// Axis i of the result is axis axes[i] of x.
HEED_API heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t axes_count);

// x with axis_a and axis_b swapped
HEED_API heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b);

// Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1
// takes all behind begin, -2 all but the last one, and so on. Where one of them is only known at a run, a run for which
// they do not fit answers ExtentOutOfRange.
HEED_API heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim size);

// Every step-th element of an axis of x, from index 0 on: (S - 1) / step + 1 of its S, which must be constant unless
// step is 1.
HEED_API heed_tensor heed_graph_stride(heed_graph* graph, heed_tensor x, int32_t axis, int64_t step);

// The elements of an axis of x in the reverse order. Not a view but a pass; the axis must be constant.
HEED_API heed_tensor heed_graph_flip(heed_graph* graph, heed_tensor x, int32_t axis);

// x with more elements along an axis, before and behind those that it has. A negative number takes as many away. The
// axis must be constant unless the mode is Constant; Reflect adds fewer elements than the axis has (InvalidArgument).
HEED_API heed_tensor heed_graph_pad(heed_graph* graph, heed_tensor x, int32_t axis, int64_t before, int64_t behind,
    const heed_pad_options* options);

// x `times` times along an axis, one copy behind the other.
HEED_API heed_tensor heed_graph_tile(heed_graph* graph, heed_tensor x, int32_t axis, int64_t times);

// x broadcast to a shape by numpy's rule: all copies show the same memory. A state cannot be written through it.
HEED_API heed_tensor heed_graph_expand(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);

// the last element of an axis of x, as a slice of size 1
HEED_API heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x, int32_t axis);

// A slice of x of size 1, with the axis removed. A negative index counts from the end.
HEED_API heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index);

// Elements at places that differ from row to row: places, I32, has the dims of x up to the axis (or less of the outer
// ones), where 1 is broadcast, on either side; along the axis, the result is as long as `places`. x [B, S, C], axis 1
// and places [B, 1] give one row of each, [B, 1, C]; x [1, S, C] and places [B, N] give [B, N, C]. Zeros where a place
// is below 0, or behind the end; for the latter, a run answers IndexOutOfRange.
HEED_API heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);

// A place for each element, as numpy's take_along_axis: places, I32, has x's rank, and the same sizes but for the axis,
// or 1 on either side, which is broadcast. Places outside the axis are as in take.
HEED_API heed_tensor heed_graph_gather(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);

// x, whose elements at these places become `values`. Those have x's type (F32, F16 or BF16) and sizes, but for the
// axis; places, I32, has the sizes of `values`, or 1, which is broadcast. What a place below 0 says goes nowhere; no
// place may be behind the end. Values for the same element are added up in their order. Each element looks at all
// places of its row: time grows with both lengths.
HEED_API heed_tensor heed_graph_scatter(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places,
    heed_tensor values);

// As scatter, but adds `values` to the elements of x at places along an axis.
HEED_API heed_tensor heed_graph_scatter_add(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places,
    heed_tensor values);

// a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are F32. Ranks are 2 to 4, and
// leading dims broadcast. b has a's type, or F16 or BF16, which takes half the bytes; no device needs 16-bit storage
// for that if a is F32. A b of BF16 with an a of F16 runs on the CPU only; on Vulkan, compile returns Unsupported.
// Values enter the sums unrounded, with one exception: AMD's processors that have dot products of bf16 (AVX512_BF16)
// round a to bf16 (2^-8 relative) if b is BF16. PassInfo::why then says so.
//
// b may also be a quantized weight [..., N, K] with transpose_b, beside an a of any of the three types.
HEED_API heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b,
    const heed_matmul_options* options);

// x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4.
HEED_API heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias);

// The windows of `size` along an axis of x: [.., windows, size, ..], a view, in which they overlap; padding is zeros,
// by a pass. There are (length - (size - 1) dilation - 1) / stride + 1 of them, rounded down, of the axis' length with
// padding; a shorter axis is a mistake, or at a run ExtentOutOfRange.
HEED_API heed_tensor heed_graph_windows(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size,
    const heed_window_options* options);

// x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' counts windows of k. Element n
// of a result is the sum over a window's elements and channels of x times weight[n]. Results of group i see the
// channels of group i alone. PyTorch's weight [N, C / groups, k] is this one with its axes 1 and 2 swapped.
//
// A matrix product reads windows where they lie in x, padded; without padding or dilation a convolution of one group is
// that product. Each element of a dilated window is a product of its own, as are groups; where channels do not meet (C
// / groups is 1) there are none. Of F16 and BF16, the sums of these products are rounded. The gradient of the weight
// copies the windows.
HEED_API heed_tensor heed_graph_conv1d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_window_options* options);

// As conv1d, of images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C /
// groups, k_h, k_w]. One product for each row of a window; a single one where windows tile the image, as patches do.
HEED_API heed_tensor heed_graph_conv2d(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias,
    const heed_conv2d_options* options);

// A reduction of each window along an axis, whose size then counts windows. Padding does not count. Pools of images are
// two of these: along the rows, and along the columns. Types as for reduce.
HEED_API heed_tensor heed_graph_pool(heed_graph* graph, heed_tensor x, int32_t axis, int64_t size, heed_reduction kind,
    const heed_window_options* options);

// A NaN that is visible makes all visible weights NaN; hidden keys have weight 0, whatever they are. Rank 1..4
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

// x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, also in a row of
// nothing else; NaN or plus infinity anywhere in a row make the row NaN.
HEED_API heed_tensor heed_graph_log_softmax(heed_graph* graph, heed_tensor x);

// x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b
// sin, b cos + a sin) (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns up to
// position 2^22, and to 2^-22 turns at any.
HEED_API heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options);

// How far each row of logits [..., V] is from its label, I32 [...]: log(sum of exp(logits)) - logits[label], F32 [...].
// The mean over a text is the logarithm of its perplexity. With a label_smoothing of 0 to 1 it is that share of the
// mean over all labels, and the rest of the row's own (Szegedy et al. 2016, arXiv:1512.00567). A label that is no index
// of the vocabulary, such as -100, is left out: its loss is 0. A label whose logit is minus infinity has a loss of plus
// infinity; NaN or plus infinity anywhere in a row make its loss NaN.
HEED_API heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
    float label_smoothing);

// Draws a token for each row of logits [..., V]: I32, and the axis is removed. It stays on the device, where an
// embedding reads it and append writes it to a state, so that many steps can be recorded with no word to the host
// between.
//
// The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their
// logits, of equal ones the lower token first. A weight is a whole number, made from the distance to the largest logit
// by arithmetic of whole numbers, and so are all sums and the draw: neither a device's exp nor the order of its sums
// takes part. What is left to f32 are single operations that IEEE 754 rounds alike everywhere: the product with a
// penalty, the sum with a bias, the distance, and its product with 1 / temperature. A weight is off by at most 2^-17 of
// its own value and 2^-32 of the largest one, and a token of less than that is never drawn.
//
// Subnormal logits count as 0. NaN and minus infinity are never drawn; beside plus infinity nothing else is. A row that
// forbids every token gives -1, which an embedding reports. On Vulkan a workgroup reads a row up to 19 times, for a
// vocabulary of 262144.
HEED_API heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options);

// query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v] may be any views. The output lies in memory
// as [B, S_q, H, d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] cost nothing. G is H, or a constant that
// divides a constant H: query head h then reads the head h / (H / G) of keys and values (grouped queries, Ainslie et
// al. 2023, arXiv:2305.13245). Keys and values have the type of the queries, or both have F16 or BF16 beside queries of
// F32, such as caches of half the bytes; no device needs 16-bit storage for that. The output has the type of the
// queries. Returns `output`; *result, if not NULL, gets all.
HEED_API heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const heed_attention_options* options, heed_attention_result* result);

// In training plans, zeroes elements of x, of any shape, with probability p and scales the others by 1/(1-p); in other
// plans, does nothing. Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (seed of the run, stream)
// and the counter element index / 4. The default stream is the number of earlier dropout calls in this graph; of two
// that are arguments of one call, the compiler chooses which is earlier.
HEED_API heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream);

// Rows of a table: table [V, C], ids I32 [...] -> [..., C] of type `dtype`: F32, F16 or BF16. The table may be any
// tensor, also one that the graph computes or an input; one that is not contiguous is copied as a whole first.
//
// The default is F32 for a BF16 or quantized table, else the table's type: rows of an F16 table are F16. A norm with
// factors of F32 then refuses them, as do sums with F32; for activations of F32 ask for HEED_F32 here, which costs no
// pass. A quantized table gives rows of all three types; F16 or BF16 from a table of F32, or of the other of the two,
// exist on the CPU device only, and on Vulkan compile returns Unsupported.
HEED_API heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype);

// x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be
// even.
HEED_API heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x);

// The constant `value` of one element and this dtype, F32 (beside any type of float), I32 or U8, which costs no memory
// and no load as an operand here.
HEED_API heed_tensor heed_graph_number(heed_graph* graph, double value, heed_dtype dtype);

// a + b; also I32, where sums, differences and products wrap around
HEED_API heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b);

// a - b; also I32
HEED_API heed_tensor heed_graph_sub(heed_graph* graph, heed_tensor a, heed_tensor b);

// a b; also I32
HEED_API heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b);

// a / b; also I32: rounds towards zero; 0 where b is 0
HEED_API heed_tensor heed_graph_div(heed_graph* graph, heed_tensor a, heed_tensor b);

// The remainder with the sign of b, as Python has it: a - b floor(a / b). Also I32: 0 where b is 0. Floats lose digits
// where |a / b| is above 2^22.
HEED_API heed_tensor heed_graph_mod(heed_graph* graph, heed_tensor a, heed_tensor b);

// the smaller of a and b; also I32; NaN if either is
HEED_API heed_tensor heed_graph_minimum(heed_graph* graph, heed_tensor a, heed_tensor b);

// the larger of a and b; also I32; NaN if either is
HEED_API heed_tensor heed_graph_maximum(heed_graph* graph, heed_tensor a, heed_tensor b);

// a^b. Of a negative a only whole b have a power, others give NaN. 1 if b is 0 or a is 1, whatever the other is.
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

// the nearest whole number that is not above
HEED_API heed_tensor heed_graph_floor(heed_graph* graph, heed_tensor x);

// to the nearest whole number, ties to even
HEED_API heed_tensor heed_graph_round(heed_graph* graph, heed_tensor x);

// x * factor, in x's type
HEED_API heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor);

// the function `kind` of each element, in x's type
HEED_API heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, heed_activation kind);

// Whether a == b. Comparisons give U8, 1 where they hold and 0 elsewhere. Operands may also be I32 or U8. Where one is
// NaN only ne holds.
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

// Whether both are: of U8, where all but 0 counts as true; results are 0 or 1.
HEED_API heed_tensor heed_graph_logical_and(heed_graph* graph, heed_tensor a, heed_tensor b);

// whether a or b is; of U8
HEED_API heed_tensor heed_graph_logical_or(heed_graph* graph, heed_tensor a, heed_tensor b);

// whether x is not; of U8
HEED_API heed_tensor heed_graph_logical_not(heed_graph* graph, heed_tensor x);

// a where the mask, U8, is not 0, else b. What is not chosen does not count, also if it is NaN. Types as for
// comparisons.
HEED_API heed_tensor heed_graph_where(heed_graph* graph, heed_tensor mask, heed_tensor a, heed_tensor b);

// x as `dtype`, among F32, F16, BF16, I32 and U8. To a type of float: rounds to nearest even. From a float to I32 or
// U8: towards zero, to the nearest number that the type has where it is outside, and 0 for NaN. From I32 to U8: the low
// 8 bits.
HEED_API heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype);

// The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result is
// zero if no token is kept.
HEED_API heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask,
    heed_mask_meaning mask_meaning);

// Adds up an axis of x and removes it, in F32 and rounded once to x's type: F32, F16 or BF16; or of I32, where it wraps
// around.
HEED_API heed_tensor heed_graph_sum_axis(heed_graph* graph, heed_tensor x, int32_t axis);

// One number for the elements along these axes together; no axes: all of them. The axes are removed, or stay with size
// 1 if `keep`. heed has no rank 0: where all are removed, [1] is left. x: F32, F16 or BF16, with arithmetic in F32 and
// one rounding to x's type; or I32 for Sum, which wraps around, Max and Min. Axes that are no neighbours are reduced
// one after the other.
//
// NaN gives NaN. HEED_REDUCTION_LOG_SUM_EXP of minus infinities is minus infinity. Its powers cannot overflow, nor can
// the squares of L2. The gradient of Max and Min goes in equal shares to the elements that are equal to the result.
HEED_API heed_tensor heed_graph_reduce(heed_graph* graph, heed_tensor x, heed_reduction kind, const int32_t* axes,
    size_t axes_count, int32_t keep);

// I32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`: the first of equal
// ones, or the last if `last`. x: F32, F16, BF16 or I32. NaN is never the largest; where all are NaN it is one of
// theirs.
HEED_API heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last);

// As argmax, of the smallest element along an axis.
HEED_API heed_tensor heed_graph_argmin(heed_graph* graph, heed_tensor x, int32_t axis, int32_t keep, int32_t last);

// The k largest elements along an axis, the largest first, or the k smallest, and their indices there: views whose size
// along the axis is k. Of equal ones that with the lower index comes first; NaN come last. x: F32, F16, BF16 or I32. On
// Vulkan a workgroup reads a row k times. Returns `values`; *result, if not NULL, gets all.
HEED_API heed_tensor heed_graph_top_k(heed_graph* graph, heed_tensor x, int64_t k, int32_t axis, int32_t smallest,
    heed_top_k_result* result);

// Sums of the elements along an axis up to each one, which an exclusive sum leaves out, or from each one to the end if
// `reverse`. x: F32, F16 or BF16; sums are F32.
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
