"""Operations of graphs. Made by engine/c/generate.py of the C++ headers: change those, and run it."""

from __future__ import annotations

from typing import Optional, Sequence

from . import _words
from ._building import Building
from ._c import Keep, ffi, int32, ints, lib, number_if, pack, real, truth, whole, word, word_if
from ._options import (AttentionOptions, AttentionResult, Conv2dOptions, MatmulOptions, PadOptions, RotaryOptions, RotaryScaling, SampleOptions, SoftmaxOptions, TopKResult, WindowOptions)
from .tensor import Dim, Mask, Operand, Size, Tensor


class Operations(Building):
    """What Graph has of operations."""

    def sum(self, a: Size, b: Size, most: int = 2**63 - 1) -> Dim:
        """a + b, at most `most`: a run that would make it more answers ExtentOutOfRange. With it one plan serves an empty and a full
        cache, whose keys are sum(position, tokens, capacity)."""
        return self._dim(lib.heed_graph_sum(self._c, self._size_id(a, "a"), self._size_id(b, "b"), whole(most, "most")))

    def dim_product(self, a: Size, b: Size) -> Dim:
        """a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims may be `B
        * S` or `(T - 1) / 2 + 1`. A run for which a dim would be 0 answers ExtentOutOfRange. Equal expressions are equal sizes, and
        what cancels is gone: (n - 1) + 1 and (n / 2) * 2 are n."""
        return self._dim(lib.heed_graph_dim_product(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_difference(self, a: Size, b: Size) -> Dim:
        """a - b: a run that would make it negative answers ExtentOutOfRange. See dim_product."""
        return self._dim(lib.heed_graph_dim_difference(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_quotient(self, a: Size, b: Size) -> Dim:
        """a / b, exact: a run for which it is no whole number answers ExtentOutOfRange. b is 1 or more at every run. See dim_product."""
        return self._dim(lib.heed_graph_dim_quotient(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_floor_quotient(self, a: Size, b: Size) -> Dim:
        """a / b, rounded down. b is 1 or more at every run. See dim_product."""
        return self._dim(lib.heed_graph_dim_floor_quotient(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def assign(self, state: Tensor, value: Tensor) -> Tensor:
        """Writes all that `state`, which may be a view of a state, shows; `value` has its shape. It may be computed from the state
        itself; a sum, product or activation of what it shows, g.assign(s, g.add(s, x)), is one pass that changes it where it lies."""
        return self._new(lib.heed_graph_assign(self._c, self._id_of(state, "state"), self._id_of(value, "value")))

    def reshape(self, x: Tensor, shape: Sequence[Size]) -> Tensor:
        """The elements of x in another shape; copies only if the layout of x asks for it. One size may be -1: what the others leave,
        which each run computes as a dim_quotient where the graph cannot."""
        return self._new(lib.heed_graph_reshape(self._c, self._id_of(x, "x"), *self._shape(shape, "shape")))

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Axis i of the result is axis axes[i] of x."""
        return self._new(lib.heed_graph_permute(self._c, self._id_of(x, "x"), *ints(axes, "axes")))

    def transpose(self, x: Tensor, axis_a: int, axis_b: int) -> Tensor:
        """x with axis_a and axis_b swapped"""
        return self._new(lib.heed_graph_transpose(self._c, self._id_of(x, "x"), int32(axis_a, "axis_a"), int32(axis_b, "axis_b")))

    def slice(self, x: Tensor, axis: int, begin: Size, size: Size) -> Tensor:
        """Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1 takes
        all behind begin, -2 all but the last one, and so on. Where one of them is only known at a run, a run for which they do not
        fit answers ExtentOutOfRange."""
        return self._new(lib.heed_graph_slice(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._size_id(begin, "begin"),
            self._size_id(size, "size")))

    def stride(self, x: Tensor, axis: int, step: int) -> Tensor:
        """Every step-th element of an axis of x, from index 0 on: (S - 1) / step + 1 of its S, which must be constant unless step is
        1."""
        return self._new(lib.heed_graph_stride(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(step, "step")))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        """The elements of an axis of x in the reverse order. Not a view but a pass; the axis must be constant."""
        return self._new(lib.heed_graph_flip(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def pad(self, x: Tensor, axis: int, before: int, behind: int, *, mode: str = "constant", value: float = 0.0) -> Tensor:
        """x with more elements along an axis, before and behind those that it has. A negative number takes as many away. The axis must
        be constant unless the mode is Constant; Reflect adds fewer elements than the axis has (InvalidArgument).

        - mode: one of "constant", "reflect", "edge", "wrap". What the further elements are.
        - value: for Constant; rounded to x's type if that is a float, else a whole number that the type has."""
        keep = Keep()
        options = PadOptions(mode, value)
        return self._new(lib.heed_graph_pad(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(before, "before"),
            whole(behind, "behind"), pack(options, keep, self)))

    def tile(self, x: Tensor, axis: int, times: int) -> Tensor:
        """x `times` times along an axis, one copy behind the other."""
        return self._new(lib.heed_graph_tile(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(times, "times")))

    def expand(self, x: Tensor, shape: Sequence[Size]) -> Tensor:
        """x broadcast to a shape by numpy's rule: all copies show the same memory. A state cannot be written through it."""
        return self._new(lib.heed_graph_expand(self._c, self._id_of(x, "x"), *self._shape(shape, "shape")))

    def last(self, x: Tensor, axis: int) -> Tensor:
        """the last element of an axis of x, as a slice of size 1"""
        return self._new(lib.heed_graph_last(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def select(self, x: Tensor, axis: int, index: int) -> Tensor:
        """A slice of x of size 1, with the axis removed. A negative index counts from the end."""
        return self._new(lib.heed_graph_select(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(index, "index")))

    def take(self, x: Tensor, axis: int, places: Tensor) -> Tensor:
        """Elements at places that differ from row to row: places, i32, has the dims of x up to the axis (or less of the outer ones),
        where 1 is broadcast, on either side; along the axis, the result is as long as `places`. x [B, S, C], axis 1 and places [B,
        1] give one row of each, [B, 1, C]; x [1, S, C] and places [B, N] give [B, N, C]. Zeros where a place is below 0, or behind
        the end; for the latter, a run answers IndexOutOfRange."""
        return self._new(lib.heed_graph_take(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places")))

    def gather(self, x: Tensor, axis: int, places: Tensor) -> Tensor:
        """A place for each element, as numpy's take_along_axis: places, i32, has x's rank, and the same sizes but for the axis, or 1
        on either side, which is broadcast. Places outside the axis are as in take."""
        return self._new(lib.heed_graph_gather(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places")))

    def scatter(self, x: Tensor, axis: int, places: Tensor, values: Tensor) -> Tensor:
        """x, whose elements at these places become `values`. Those have x's type (f32, f16 or bf16) and sizes, but for the axis;
        places, i32, has the sizes of `values`, or 1, which is broadcast. What a place below 0 says goes nowhere; no place may be
        behind the end. Values for the same element are added up in their order. Each element looks at all places of its row: time
        grows with both lengths."""
        return self._new(lib.heed_graph_scatter(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places"),
            self._id_of(values, "values")))

    def scatter_add(self, x: Tensor, axis: int, places: Tensor, values: Tensor) -> Tensor:
        """As scatter, but adds `values` to the elements of x at places along an axis."""
        return self._new(lib.heed_graph_scatter_add(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places,
            "places"), self._id_of(values, "values")))

    def matmul(self, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False, scale: float = 1.0) -> Tensor:
        """a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are f32. Ranks are 2 to 4, and leading dims
        broadcast. b has a's type, or f16 or bf16, which takes half the bytes; no device needs 16-bit storage for that if a is f32.
        A b of bf16 with an a of f16 runs on the CPU only; on Vulkan, compile returns Unsupported. Values enter the sums unrounded,
        with one exception: AMD's processors that have dot products of bf16 (AVX512_BF16) round a to bf16 (2^-8 relative) if b is
        bf16. PassInfo.why then says so.

        b may also be a quantized weight [..., N, K] with transpose_b, beside an a of any of the three types.

        - transpose_a: a is [..., K, M].
        - transpose_b: b is [..., N, K].
        - scale: multiplies the product."""
        keep = Keep()
        options = MatmulOptions(transpose_a, transpose_b, scale)
        return self._new(lib.heed_graph_matmul(self._c, self._id_of(a, "a"), self._id_of(b, "b"), pack(options, keep, self)))

    def linear(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        """x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4."""
        return self._new(lib.heed_graph_linear(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias")))

    def windows(self, x: Tensor, axis: int, size: int, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """The windows of `size` along an axis of x: [.., windows, size, ..], a view, in which they overlap; padding is zeros, by a
        pass. There are (length - (size - 1) dilation - 1) / stride + 1 of them, rounded down, of the axis' length with padding; a
        shorter axis is a mistake, or at a run ExtentOutOfRange.

        - stride: from one window to the next.
        - before, behind: elements of padding.
        - dilation: from one element to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_windows(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(size, "size"),
            pack(options, keep, self)))

    def conv1d(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' counts windows of k. Element n of a
        result is the sum over a window's elements and channels of x times weight[n]. Results of group i see the channels of group i
        alone. PyTorch's weight [N, C / groups, k] is this one with its axes 1 and 2 swapped.

        A matrix product reads windows where they lie in x, padded; without padding or dilation a convolution of one group is that
        product. Each element of a dilated window is a product of its own, as are groups; where channels do not meet (C / groups is
        1) there are none. Of f16 and bf16, the sums of these products are rounded. The gradient of the weight copies the windows.

        - stride: from one window to the next.
        - before, behind: elements of padding.
        - dilation: from one element to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_conv1d(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias"), pack(options, keep, self)))

    def conv2d(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, *, rows: Optional[WindowOptions] = None,
        columns: Optional[WindowOptions] = None) -> Tensor:
        """As conv1d, of images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C /
        groups, k_h, k_w]. One product for each row of a window; a single one where windows tile the image, as patches do.

        - rows: down, along axis 1.
        - columns: across, along axis 2."""
        keep = Keep()
        options = Conv2dOptions(rows, columns)
        return self._new(lib.heed_graph_conv2d(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias"), pack(options, keep, self)))

    def pool(self, x: Tensor, axis: int, size: int, kind: str, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """A reduction of each window along an axis, whose size then counts windows. Padding does not count. Pools of images are two of
        these: along the rows, and along the columns. Types as for reduce.

        - stride: from one window to the next.
        - before, behind: elements of padding.
        - dilation: from one element to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_pool(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(size, "size"),
            word(_words.REDUCTION, kind, "kind"), pack(options, keep, self)))

    def softmax(self, x: Tensor, *, scale: float = 1.0, causal: str = "none", key_padding: Optional[Mask] = None,
        mask: Optional[Mask] = None, bias: Optional[Tensor] = None, masked_fill: Optional[float] = None) -> Tensor:
        """A NaN that is visible makes all visible weights NaN; hidden keys have weight 0, whatever they are. Rank 1..4

        - causal: one of "none", "top_left", "bottom_right".
        - key_padding: [B, S_k]; x must then be [B, ..., S_k].
        - mask: broadcast to x, e.g. [B, 1 or H, S_q, S_k].
        - bias: broadcast to x; element type of x; added after the scale.
        - masked_fill: If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code
        that fills with -1e9. A row without a visible key then becomes uniform."""
        keep = Keep()
        options = SoftmaxOptions(scale, causal, key_padding, mask, bias, masked_fill)
        return self._new(lib.heed_graph_softmax(self._c, self._id_of(x, "x"), pack(options, keep, self)))

    def layernorm(self, x: Tensor, gamma: Optional[Tensor] = None, beta: Optional[Tensor] = None, eps: float = 1e-5) -> Tensor:
        """(x - mean) / sqrt(var + eps) * gamma + beta with the biased variance (Ba et al. 2016, arXiv:1607.06450). gamma and beta are
        [C] of x's type (DTypeMismatch); if invalid, they count as 1 and 0."""
        return self._new(lib.heed_graph_layernorm(self._c, self._id_of(x, "x"), self._tensor_id(gamma, "gamma"),
            self._tensor_id(beta, "beta"), real(eps, "eps")))

    def rmsnorm(self, x: Tensor, gamma: Optional[Tensor] = None, eps: float = 1e-6) -> Tensor:
        """x / sqrt(mean(x^2) + eps) * gamma (Zhang & Sennrich 2019, arXiv:1910.07467). gamma is [C] of x's type; if invalid, it counts
        as 1."""
        return self._new(lib.heed_graph_rmsnorm(self._c, self._id_of(x, "x"), self._tensor_id(gamma, "gamma"), real(eps, "eps")))

    def l2_normalize(self, x: Tensor, eps: float = 1e-12) -> Tensor:
        """x [..., C] / max(|x|, eps)"""
        return self._new(lib.heed_graph_l2_normalize(self._c, self._id_of(x, "x"), real(eps, "eps")))

    def log_softmax(self, x: Tensor) -> Tensor:
        """x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, also in a row of nothing
        else; NaN or plus infinity anywhere in a row make the row NaN."""
        return self._new(lib.heed_graph_log_softmax(self._c, self._id_of(x, "x")))

    def rotary(self, x: Tensor, *, pairs: str = "halves", width: int = 0, base: float = 10000.0,
        scaling: Optional[RotaryScaling] = None, first: Size = 0, positions: Optional[Tensor] = None) -> Tensor:
        """x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b sin, b cos
        + a sin) (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns up to position 2^22, and to
        2^-22 turns at any.

        - pairs: one of "adjacent", "halves".
        - width: even; the first elements of a row turn, the others stay. 0: all of them.
        - base: of the angles: the larger, the more slowly the last pairs turn.
        - scaling: RotaryScaling.
        - first: position of index 0 along x's axis -2: a constant, or made by Graph.position.
        - positions: instead: i32, broadcast to x's shape without its last axis."""
        keep = Keep()
        options = RotaryOptions(pairs, width, base, scaling, first, positions)
        return self._new(lib.heed_graph_rotary(self._c, self._id_of(x, "x"), pack(options, keep, self)))

    def cross_entropy(self, logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """How far each row of logits [..., V] is from its label, i32 [...]: log(sum of exp(logits)) - logits[label], f32 [...]. The
        mean over a text is the logarithm of its perplexity. With a label_smoothing of 0 to 1 it is that share of the mean over all
        labels, and the rest of the row's own (Szegedy et al. 2016, arXiv:1512.00567). A label that is no index of the vocabulary,
        such as -100, is left out: its loss is 0. A label whose logit is minus infinity has a loss of plus infinity; NaN or plus
        infinity anywhere in a row make its loss NaN."""
        return self._new(lib.heed_graph_cross_entropy(self._c, self._id_of(logits, "logits"), self._id_of(labels, "labels"),
            real(label_smoothing, "label_smoothing")))

    def sample(self, logits: Tensor, *, previous: Optional[Tensor] = None, previous_count: Optional[Size] = None,
        previous_counts: Optional[Tensor] = None, repetition_penalty: float = 1.0, bias: Optional[Tensor] = None,
        temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, step: Size = 0,
        steps: Optional[Tensor] = None, seeds: Optional[Tensor] = None, stream: Optional[int] = None,
        settings: Optional[Tensor] = None) -> Tensor:
        """Draws a token for each row of logits [..., V]: i32, and the axis is removed. It stays on the device, where an embedding
        reads it and append writes it to a state, so that many steps can be recorded with no word to the host between.

        The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their logits, of
        equal ones the lower token first. A weight is a whole number, made from the distance to the largest logit by arithmetic of
        whole numbers, and so are all sums and the draw: neither a device's exp nor the order of its sums takes part. What is left
        to f32 are single operations that IEEE 754 rounds alike everywhere: the product with a penalty, the sum with a bias, the
        distance, and its product with 1 / temperature. A weight is off by at most 2^-17 of its own value and 2^-32 of the largest
        one, and a token of less than that is never drawn.

        Subnormal logits count as 0. NaN and minus infinity are never drawn; beside plus infinity nothing else is. A row that
        forbids every token gives -1, which an embedding reports. On Vulkan a workgroup reads a row up to 19 times, for a vocabulary
        of 262144.

        - previous: Tokens that were there before: i32 [..., P], for each row, or for all. Of a row's P the first `previous_count`
        count, or `previous_counts` (i32, for each row, or for all); the default is all. A token that is no index of the vocabulary
        does not count. Logits of these tokens are divided by the penalty if they are positive, and multiplied by it otherwise,
        however often they were there (Keskar et al. 2019, arXiv:1909.05858).
        - previous_count: a constant, or made by Graph.position or sum.
        - bias: Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
        - temperature: divides the logits; 0: the largest is taken, with no draw.
        - top_k: leaves the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
        - top_p: Leaves the fewest of the largest whose probabilities sum to at least this share of what top_k left (Holtzman et al.
        2019, arXiv:1904.09751).
        - min_p: Leaves those of at least this share of the largest probability (Nguyen et al. 2024, arXiv:2407.01082).
        - step: Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The
        row is the number of the row in the logits. With `seeds` (i32, for each row, or for all) a row has a seed of its own instead
        and is row 0, so that a conversation reads the same alone and in any batch. A constant, or made by Graph.position or sum:
        which token of a text it is.
        - steps: instead: i32, for each row, or for all.
        - stream: default: the number of earlier calls of sample in this graph.
        - settings: i32 [..., kSampleWords] from sample_words, for each row, or for all: takes the place of repetition_penalty,
        temperature, top_k, top_p and min_p, which may then differ from row to row and from run to run."""
        keep = Keep()
        options = SampleOptions(previous, previous_count, previous_counts, repetition_penalty, bias, temperature, top_k, top_p,
            min_p, step, steps, seeds, stream, settings)
        return self._new(lib.heed_graph_sample(self._c, self._id_of(logits, "logits"), pack(options, keep, self)))

    def attention(self, query: Tensor, key: Tensor, value: Tensor, *, scale: Optional[float] = None, softcap: float = 0.0,
        causal: str = "none", window: int = 0, window_ahead: int = 0, lengths: Optional[Tensor] = None,
        positions: Optional[Tensor] = None, key_padding: Optional[Mask] = None, mask: Optional[Mask] = None,
        bias: Optional[Tensor] = None, masked_fill: Optional[float] = None, dropout: float = 0.0, return_weights: bool = False,
        return_log_sum_exp: bool = False, return_scores: str = "none") -> AttentionResult:
        """query [B, H, S_q, d_k], key [B, G, S_kv, d_k] and value [B, G, S_kv, d_v] may be any views. The output lies in memory as [B,
        S_q, H, d_v], so that transpose(1, 2) and reshape to [B, S_q, H d_v] cost nothing. G is H, or a constant that divides a
        constant H: query head h then reads the head h / (H / G) of keys and values (grouped queries, Ainslie et al. 2023,
        arXiv:2305.13245). Keys and values have the type of the queries, or both have f16 or bf16 beside queries of f32, such as
        caches of half the bytes; no device needs 16-bit storage for that. The output has the type of the queries.

        - scale: default 1/sqrt(d_k)
        - softcap: c > 0 makes c tanh(s / c) of each scaled score s, before bias and masks, so that none is beyond -c .. c (Gemma
        Team 2024, arXiv:2408.00118). 0: none.
        - causal: one of "none", "top_left", "bottom_right".
        - window: A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at place p among the keys sees key j only if j +
        window > p and j < p + window_ahead. 0: no bound on that side. Causal is a window_ahead of 1, whatever is given; tiles of
        keys that no query of a workgroup sees are then not visited. Without it places are those of "bottom_right", or `positions`,
        and each run writes a mask, u8 [1 or B, 1, S_q, S_kv].
        - lengths: For batches whose rows differ, such as conversations of different lengths: i32 [B]. Row b has the first
        lengths[b] keys only (0 to S_kv; other numbers count as the nearest of these). Nothing is read behind them, masked_fill does
        not reach them, and "bottom_right" means j <= i + (lengths[b] - S_q).
        - positions: The places of queries, i32 [B], which need causal, whose alignment then does not count, or a window. Query i of
        row b sits at positions[b] + i among the keys, and if causal sees key j if j <= positions[b] + i.
        - key_padding: [B, S_kv].
        - mask: broadcast to [B, H, S_q, S_kv].
        - bias: broadcast to [B, H, S_q, S_kv].
        - dropout: on the weights, after softmax, in training plans.
        - return_weights: otherwise the weights are never stored for the host.
        - return_log_sum_exp: gives AttentionResult.log_sum_exp.
        - return_scores: one of "none", "scaled", "capped", "masked". Gives AttentionResult.scores."""
        keep = Keep()
        options = AttentionOptions(scale, softcap, causal, window, window_ahead, lengths, positions, key_padding, mask, bias,
            masked_fill, dropout, return_weights, return_log_sum_exp, return_scores)
        result = ffi.new("heed_attention_result *")
        self._new(lib.heed_graph_attention(self._c, self._id_of(query, "query"), self._id_of(key, "key"), self._id_of(value,
            "value"), pack(options, keep, self), result))
        return AttentionResult(*self._all_of(result))

    def dropout(self, x: Tensor, p: float, stream: Optional[int] = None) -> Tensor:
        """In training plans, zeroes elements of x, of any shape, with probability p and scales the others by 1/(1-p); in other plans,
        does nothing. Random bits come from Philox4x32-10 (Salmon et al. 2011) with the key (seed of the run, stream) and the
        counter element index / 4. The default stream is the number of earlier dropout calls in this graph; of two that are
        arguments of one call, the compiler chooses which is earlier."""
        return self._new(lib.heed_graph_dropout(self._c, self._id_of(x, "x"), real(p, "p"), number_if(stream, "stream")))

    def embedding(self, table: Tensor, ids: Tensor, dtype: Optional[str] = None) -> Tensor:
        """Rows of a table: table [V, C], ids i32 [...] -> [..., C] of type `dtype`: f32, f16 or bf16. The table may be any tensor,
        also one that the graph computes or an input; one that is not contiguous is copied as a whole first.

        The default is f32 for a bf16 or quantized table, else the table's type: rows of an f16 table are f16. A norm with factors
        of f32 then refuses them, as do sums with f32; for activations of f32 ask for "f32" here, which costs no pass. A quantized
        table gives rows of all three types; f16 or bf16 from a table of f32, or of the other of the two, exist on the CPU device
        only, and on Vulkan compile returns Unsupported."""
        return self._new(lib.heed_graph_embedding(self._c, self._id_of(table, "table"), self._id_of(ids, "ids"),
            word_if(_words.DTYPE, dtype, "dtype")))

    def positional_encoding(self, x: Tensor) -> Tensor:
        """x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be even."""
        return self._new(lib.heed_graph_positional_encoding(self._c, self._id_of(x, "x")))

    def number(self, value: float, dtype: str = "f32") -> Tensor:
        """The constant `value` of one element and this dtype, f32 (beside any type of float), i32 or u8, which costs no memory and no
        load as an operand here."""
        return self._new(lib.heed_graph_number(self._c, real(value, "value"), word(_words.DTYPE, dtype, "dtype")))

    def add(self, a: Operand, b: Operand) -> Tensor:
        """a + b; also i32, where sums, differences and products wrap around

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_add(self._c, *self._operands(a=a, b=b)))

    def sub(self, a: Operand, b: Operand) -> Tensor:
        """a - b; also i32

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_sub(self._c, *self._operands(a=a, b=b)))

    def mul(self, a: Operand, b: Operand) -> Tensor:
        """a b; also i32

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_mul(self._c, *self._operands(a=a, b=b)))

    def div(self, a: Operand, b: Operand) -> Tensor:
        """a / b; also i32: rounds towards zero; 0 where b is 0

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_div(self._c, *self._operands(a=a, b=b)))

    def mod(self, a: Operand, b: Operand) -> Tensor:
        """The remainder with the sign of b, as Python has it: a - b floor(a / b). Also i32: 0 where b is 0. Floats lose digits where
        |a / b| is above 2^22.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_mod(self._c, *self._operands(a=a, b=b)))

    def minimum(self, a: Operand, b: Operand) -> Tensor:
        """the smaller of a and b; also i32; NaN if either is

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_minimum(self._c, *self._operands(a=a, b=b)))

    def maximum(self, a: Operand, b: Operand) -> Tensor:
        """the larger of a and b; also i32; NaN if either is

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_maximum(self._c, *self._operands(a=a, b=b)))

    def pow(self, a: Operand, b: Operand) -> Tensor:
        """a^b. Of a negative a only whole b have a power, others give NaN. 1 if b is 0 or a is 1, whatever the other is.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_pow(self._c, *self._operands(a=a, b=b)))

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        """x within low <= high; NaN stays

        The result has x's shape."""
        return self._new(lib.heed_graph_clamp(self._c, self._id_of(x, "x"), real(low, "low"), real(high, "high")))

    def neg(self, x: Tensor) -> Tensor:
        """-x; also i32

        The result has x's shape."""
        return self._new(lib.heed_graph_neg(self._c, self._id_of(x, "x")))

    def abs(self, x: Tensor) -> Tensor:
        """|x|; also i32

        The result has x's shape."""
        return self._new(lib.heed_graph_abs(self._c, self._id_of(x, "x")))

    def sign(self, x: Tensor) -> Tensor:
        """-1, 0 or 1 as x is; also i32

        The result has x's shape."""
        return self._new(lib.heed_graph_sign(self._c, self._id_of(x, "x")))

    def reciprocal(self, x: Tensor) -> Tensor:
        """1 / x

        The result has x's shape."""
        return self._new(lib.heed_graph_reciprocal(self._c, self._id_of(x, "x")))

    def sqrt(self, x: Tensor) -> Tensor:
        """the square root of x; NaN below 0

        The result has x's shape."""
        return self._new(lib.heed_graph_sqrt(self._c, self._id_of(x, "x")))

    def rsqrt(self, x: Tensor) -> Tensor:
        """1 / sqrt(x)

        The result has x's shape."""
        return self._new(lib.heed_graph_rsqrt(self._c, self._id_of(x, "x")))

    def exp(self, x: Tensor) -> Tensor:
        """e^x

        The result has x's shape."""
        return self._new(lib.heed_graph_exp(self._c, self._id_of(x, "x")))

    def log(self, x: Tensor) -> Tensor:
        """the natural logarithm of x; -infinity for 0, NaN below

        The result has x's shape."""
        return self._new(lib.heed_graph_log(self._c, self._id_of(x, "x")))

    def sin(self, x: Tensor) -> Tensor:
        """the sine of x radians; as cos within 2^-22 up to |x| = 100,000, beyond which digits are lost

        The result has x's shape."""
        return self._new(lib.heed_graph_sin(self._c, self._id_of(x, "x")))

    def cos(self, x: Tensor) -> Tensor:
        """the cosine of x radians, as sin

        The result has x's shape."""
        return self._new(lib.heed_graph_cos(self._c, self._id_of(x, "x")))

    def erf(self, x: Tensor) -> Tensor:
        """the error function of x

        The result has x's shape."""
        return self._new(lib.heed_graph_erf(self._c, self._id_of(x, "x")))

    def sigmoid(self, x: Tensor) -> Tensor:
        """1 / (1 + e^-x)

        The result has x's shape."""
        return self._new(lib.heed_graph_sigmoid(self._c, self._id_of(x, "x")))

    def softplus(self, x: Tensor) -> Tensor:
        """log(1 + e^x)

        The result has x's shape."""
        return self._new(lib.heed_graph_softplus(self._c, self._id_of(x, "x")))

    def elu(self, x: Tensor, alpha: float = 1.0) -> Tensor:
        """x, or alpha (e^x - 1) below 0

        The result has x's shape."""
        return self._new(lib.heed_graph_elu(self._c, self._id_of(x, "x"), real(alpha, "alpha")))

    def leaky_relu(self, x: Tensor, slope: float = 0.01) -> Tensor:
        """x, or slope x below 0

        The result has x's shape."""
        return self._new(lib.heed_graph_leaky_relu(self._c, self._id_of(x, "x"), real(slope, "slope")))

    def hard_sigmoid(self, x: Tensor, slope: float = 0.16666667) -> Tensor:
        """slope x + 1/2 within 0 .. 1

        The result has x's shape."""
        return self._new(lib.heed_graph_hard_sigmoid(self._c, self._id_of(x, "x"), real(slope, "slope")))

    def hard_swish(self, x: Tensor) -> Tensor:
        """x hard_sigmoid(x)

        The result has x's shape."""
        return self._new(lib.heed_graph_hard_swish(self._c, self._id_of(x, "x")))

    def floor(self, x: Tensor) -> Tensor:
        """the nearest whole number that is not above

        The result has x's shape."""
        return self._new(lib.heed_graph_floor(self._c, self._id_of(x, "x")))

    def round(self, x: Tensor) -> Tensor:
        """to the nearest whole number, ties to even

        The result has x's shape."""
        return self._new(lib.heed_graph_round(self._c, self._id_of(x, "x")))

    def scale(self, x: Tensor, factor: float) -> Tensor:
        """x * factor, in x's type

        The result has x's shape."""
        return self._new(lib.heed_graph_scale(self._c, self._id_of(x, "x"), real(factor, "factor")))

    def activation(self, x: Tensor, kind: str) -> Tensor:
        """the function `kind` of each element, in x's type

        The result has x's shape."""
        return self._new(lib.heed_graph_activation(self._c, self._id_of(x, "x"), word(_words.ACTIVATION, kind, "kind")))

    def eq(self, a: Operand, b: Operand) -> Tensor:
        """Whether a == b. Comparisons give u8, 1 where they hold and 0 elsewhere. Operands may also be i32 or u8. Where one is NaN
        only ne holds.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_eq(self._c, *self._operands(a=a, b=b)))

    def ne(self, a: Operand, b: Operand) -> Tensor:
        """u8: whether a != b

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_ne(self._c, *self._operands(a=a, b=b)))

    def lt(self, a: Operand, b: Operand) -> Tensor:
        """u8: whether a < b

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_lt(self._c, *self._operands(a=a, b=b)))

    def le(self, a: Operand, b: Operand) -> Tensor:
        """u8: whether a <= b

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_le(self._c, *self._operands(a=a, b=b)))

    def gt(self, a: Operand, b: Operand) -> Tensor:
        """u8: whether a > b

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_gt(self._c, *self._operands(a=a, b=b)))

    def ge(self, a: Operand, b: Operand) -> Tensor:
        """u8: whether a >= b

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_ge(self._c, *self._operands(a=a, b=b)))

    def logical_and(self, a: Operand, b: Operand) -> Tensor:
        """Whether both are: of u8, where all but 0 counts as true; results are 0 or 1.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_logical_and(self._c, *self._operands(a=a, b=b)))

    def logical_or(self, a: Operand, b: Operand) -> Tensor:
        """whether a or b is; of u8

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_logical_or(self._c, *self._operands(a=a, b=b)))

    def logical_not(self, x: Tensor) -> Tensor:
        """whether x is not; of u8

        The result has x's shape."""
        return self._new(lib.heed_graph_logical_not(self._c, self._id_of(x, "x")))

    def where(self, mask: Tensor, a: Operand, b: Operand) -> Tensor:
        """a where the mask, u8, is not 0, else b. What is not chosen does not count, also if it is NaN. Types as for comparisons.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_where(self._c, self._id_of(mask, "mask"), *self._operands(a=a, b=b)))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """x as `dtype`, among f32, f16, bf16, i32 and u8. To a type of float: rounds to nearest even. From a float to i32 or u8:
        towards zero, to the nearest number that the type has where it is outside, and 0 for NaN. From i32 to u8: the low 8 bits.

        The result has x's shape."""
        return self._new(lib.heed_graph_cast(self._c, self._id_of(x, "x"), word(_words.DTYPE, dtype, "dtype")))

    def mean(self, x: Tensor, axis: int, mask: Optional[Mask] = None) -> Tensor:
        """The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result is zero if
        no token is kept."""
        return self._new(lib.heed_graph_mean(self._c, self._id_of(x, "x"), int32(axis, "axis"), *self._mask(mask, "mask")))

    def sum_axis(self, x: Tensor, axis: int) -> Tensor:
        """Adds up an axis of x and removes it, in f32 and rounded once to x's type: f32, f16 or bf16; or of i32, where it wraps
        around."""
        return self._new(lib.heed_graph_sum_axis(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def reduce(self, x: Tensor, kind: str, axes: Sequence[int], keep: bool = False) -> Tensor:
        """One number for the elements along these axes together; no axes: all of them. The axes are removed, or stay with size 1 if
        `keep`. heed has no rank 0: where all are removed, [1] is left. x: f32, f16 or bf16, with arithmetic in f32 and one rounding
        to x's type; or i32 for Sum, which wraps around, Max and Min. Axes that are no neighbours are reduced one after the other.

        NaN gives NaN. "log_sum_exp" of minus infinities is minus infinity. Its powers cannot overflow, nor can the squares of L2.
        The gradient of Max and Min goes in equal shares to the elements that are equal to the result."""
        return self._new(lib.heed_graph_reduce(self._c, self._id_of(x, "x"), word(_words.REDUCTION, kind, "kind"), *ints(axes,
            "axes"), truth(keep, "keep")))

    def argmax(self, x: Tensor, axis: int = -1, keep: bool = False, last: bool = False) -> Tensor:
        """i32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`: the first of equal ones,
        or the last if `last`. x: f32, f16, bf16 or i32. NaN is never the largest; where all are NaN it is one of theirs."""
        return self._new(lib.heed_graph_argmax(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(keep, "keep"), truth(last,
            "last")))

    def argmin(self, x: Tensor, axis: int = -1, keep: bool = False, last: bool = False) -> Tensor:
        """As argmax, of the smallest element along an axis."""
        return self._new(lib.heed_graph_argmin(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(keep, "keep"), truth(last,
            "last")))

    def top_k(self, x: Tensor, k: int, axis: int = -1, smallest: bool = False) -> TopKResult:
        """The k largest elements along an axis, the largest first, or the k smallest, and their indices there: views whose size along
        the axis is k. Of equal ones that with the lower index comes first; NaN come last. x: f32, f16, bf16 or i32. On Vulkan a
        workgroup reads a row k times."""
        result = ffi.new("heed_top_k_result *")
        self._new(lib.heed_graph_top_k(self._c, self._id_of(x, "x"), whole(k, "k"), int32(axis, "axis"), truth(smallest,
            "smallest"), result))
        return TopKResult(*self._all_of(result))

    def cumsum(self, x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        """Sums of the elements along an axis up to each one, which an exclusive sum leaves out, or from each one to the end if
        `reverse`. x: f32, f16 or bf16; sums are f32."""
        return self._new(lib.heed_graph_cumsum(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(exclusive, "exclusive"),
            truth(reverse, "reverse")))

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Joins parts of one type (DTypeMismatch) along an axis; their other sizes must be the same (ShapeMismatch)."""
        return self._new(lib.heed_graph_concat(self._c, *self._tensor_ids(parts, "parts"), int32(axis, "axis")))
