"""Operations of graphs. Made by engine/c/generate.py of the C++ headers: change those, and run it."""

from __future__ import annotations

from typing import Optional, Sequence

from . import _words
from ._building import Building
from ._c import Keep, ffi, int32, ints, lib, number_if, pack, real, truth, whole, word, word_if
from ._options import (AttentionOptions, AttentionResult, Conv2dOptions, MatmulOptions, PadOptions, RotaryOptions, RotaryScaling, SampleOptions, SoftmaxOptions, TopKResult, WindowOptions)
from .tensor import Dim, Mask, Operand, Size, Tensor


class Operations(Building):
    """The operations of Graph."""

    def sum(self, a: Size, b: Size, most: int = 2**63 - 1) -> Dim:
        """a + b, at most `most`: a run in which it would be more returns ExtentOutOfRange. With it one plan serves an empty and a full
        cache, whose length in keys is sum(position, tokens, capacity)."""
        return self._dim(lib.heed_graph_sum(self._c, self._size_id(a, "a"), self._size_id(b, "b"), whole(most, "most")))

    def dim_product(self, a: Size, b: Size) -> Dim:
        """a * b, of sizes, positions and constants. Each run computes it, as it does differences and quotients, so that dims may be `B
        * S` or `(T - 1) / 2 + 1`. A run in which a dim would be 0 returns ExtentOutOfRange. Expressions are simplified: (n - 1) + 1
        and (n / 2) * 2 are n. Equal expressions are equal sizes."""
        return self._dim(lib.heed_graph_dim_product(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_difference(self, a: Size, b: Size) -> Dim:
        """a - b. A run in which it would be negative returns ExtentOutOfRange. See dim_product."""
        return self._dim(lib.heed_graph_dim_difference(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_quotient(self, a: Size, b: Size) -> Dim:
        """a / b, exact: a run in which it is not an integer returns ExtentOutOfRange. b must be at least 1 at every run. See
        dim_product."""
        return self._dim(lib.heed_graph_dim_quotient(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def dim_floor_quotient(self, a: Size, b: Size) -> Dim:
        """a / b, rounded down. b must be at least 1 at every run. See dim_product."""
        return self._dim(lib.heed_graph_dim_floor_quotient(self._c, self._size_id(a, "a"), self._size_id(b, "b")))

    def assign(self, state: Tensor, value: Tensor) -> Tensor:
        """Overwrites the state, or the part of it that the view `state` shows, with `value` of the same shape, which may be computed
        from the state itself. g.assign(s, g.add(s, x)), with a sum, product or activation of what `state` shows, is one pass that
        works in place."""
        return self._new(lib.heed_graph_assign(self._c, self._id_of(state, "state"), self._id_of(value, "value")))

    def reshape(self, x: Tensor, shape: Sequence[Size]) -> Tensor:
        """The elements of x in another shape; copies only if the layout of x requires it. One size may be -1: it follows from the
        others. If the graph cannot compute it, each run does, as a dim_quotient."""
        return self._new(lib.heed_graph_reshape(self._c, self._id_of(x, "x"), *self._shape(shape, "shape")))

    def permute(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Axis i of the result is axis axes[i] of x."""
        return self._new(lib.heed_graph_permute(self._c, self._id_of(x, "x"), *ints(axes, "axes")))

    def transpose(self, x: Tensor, axis_a: int, axis_b: int) -> Tensor:
        """x with axis_a and axis_b swapped"""
        return self._new(lib.heed_graph_transpose(self._c, self._id_of(x, "x"), int32(axis_a, "axis_a"), int32(axis_b, "axis_b")))

    def slice(self, x: Tensor, axis: int, begin: Size, size: Size) -> Tensor:
        """Elements begin .. begin + size of an axis of x. A negative begin counts from the end. A negative size ends there: -1 takes
        all behind begin, -2 all but the last one, and so on. If begin or size is only known at a run, a run in which they do not
        fit returns ExtentOutOfRange."""
        return self._new(lib.heed_graph_slice(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._size_id(begin, "begin"),
            self._size_id(size, "size")))

    def stride(self, x: Tensor, axis: int, step: int) -> Tensor:
        """Every step-th element of an axis of x, beginning with index 0: (S - 1) / step + 1 of S elements. S must be constant unless
        step is 1."""
        return self._new(lib.heed_graph_stride(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(step, "step")))

    def flip(self, x: Tensor, axis: int) -> Tensor:
        """The elements of an axis of x in reverse order. Takes a pass, unlike views; the axis must be constant."""
        return self._new(lib.heed_graph_flip(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def pad(self, x: Tensor, axis: int, before: int, behind: int, *, mode: str = "constant", value: float = 0.0) -> Tensor:
        """x with more elements before and after those of an axis. Negative numbers remove elements. The axis must be constant unless
        the mode is Constant; Reflect adds fewer elements than the axis has (InvalidArgument).

        - mode: one of "constant", "reflect", "edge", "wrap". Which elements are added.
        - value: for Constant; rounded to x's type if that is a float, else an integer within its range."""
        keep = Keep()
        options = PadOptions(mode, value)
        return self._new(lib.heed_graph_pad(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(before, "before"),
            whole(behind, "behind"), pack(options, keep, self)))

    def tile(self, x: Tensor, axis: int, times: int) -> Tensor:
        """x repeated `times` times along an axis."""
        return self._new(lib.heed_graph_tile(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(times, "times")))

    def expand(self, x: Tensor, shape: Sequence[Size]) -> Tensor:
        """x broadcast to a shape by numpy's rule. All copies share the same memory, so a state cannot be written through the result."""
        return self._new(lib.heed_graph_expand(self._c, self._id_of(x, "x"), *self._shape(shape, "shape")))

    def last(self, x: Tensor, axis: int) -> Tensor:
        """the last element of an axis of x, as a slice of size 1"""
        return self._new(lib.heed_graph_last(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def select(self, x: Tensor, axis: int, index: int) -> Tensor:
        """A slice of x of size 1, with the axis removed. A negative index counts from the end."""
        return self._new(lib.heed_graph_select(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(index, "index")))

    def take(self, x: Tensor, axis: int, places: Tensor) -> Tensor:
        """Elements at indices that differ from row to row. `places`, i32, holds indices along the axis: its leading dims are x's dims
        before `axis` (or fewer of the outer ones), where size 1 broadcasts on either side. The result has shape x.shape[:axis] +
        [places.shape[-1]] + x.shape[axis+1:]. x [B, S, C], axis 1 and places [B, 1] give one row of each, [B, 1, C]; x [1, S, C]
        and places [B, N] give [B, N, C]. An index below 0 or beyond the end gives zeros; for the latter, the run returns
        IndexOutOfRange."""
        return self._new(lib.heed_graph_take(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places")))

    def gather(self, x: Tensor, axis: int, places: Tensor) -> Tensor:
        """As numpy's take_along_axis: `places`, i32, holds an index along the axis for each element of the result. It has x's rank and
        sizes, except along the axis; size 1 broadcasts on either side. Indices outside the axis are treated as in take."""
        return self._new(lib.heed_graph_gather(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places")))

    def scatter(self, x: Tensor, axis: int, places: Tensor, values: Tensor) -> Tensor:
        """A copy of x with the elements at the indices `places` along the axis replaced by `values`. `values` has x's type (f32, f16
        or bf16) and sizes, except along the axis. `places`, i32, has the sizes of `values`, or 1, which broadcasts. Values whose
        index is below 0 are dropped; no index may be beyond the end. Values for the same element are added up in their order. Each
        element of the result visits all indices of its row, so time grows with the product of both lengths."""
        return self._new(lib.heed_graph_scatter(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places, "places"),
            self._id_of(values, "values")))

    def scatter_add(self, x: Tensor, axis: int, places: Tensor, values: Tensor) -> Tensor:
        """As scatter, but adds `values` to the elements of x along the axis."""
        return self._new(lib.heed_graph_scatter_add(self._c, self._id_of(x, "x"), int32(axis, "axis"), self._id_of(places,
            "places"), self._id_of(values, "values")))

    def matmul(self, a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False, scale: float = 1.0) -> Tensor:
        """a [..., M, K] x b [..., K, N] -> [..., M, N]. The result has a's type, and sums are f32. Ranks are 2 to 4, and leading dims
        broadcast. b has a's type, or f16 or bf16, which takes half the bytes; if a is f32, that needs no 16-bit storage on any
        device. b in bf16 with a in f16 runs on the CPU only; on Vulkan, compile returns Unsupported. Values enter the sums
        unrounded, with one exception: AMD's processors with dot products of bf16 (AVX512_BF16) round a to bf16 (2^-8 relative) if b
        is bf16. PassInfo.why then says so.

        With transpose_b, b may also be a quantized weight [..., N, K]; a may have any of the three types.

        - transpose_a: a is [..., K, M].
        - transpose_b: b is [..., N, K].
        - scale: multiplies the result."""
        keep = Keep()
        options = MatmulOptions(transpose_a, transpose_b, scale)
        return self._new(lib.heed_graph_matmul(self._c, self._id_of(a, "a"), self._id_of(b, "b"), pack(options, keep, self)))

    def linear(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        """x [..., in] x weight [out, in] -> [..., out], plus bias [out] if valid (torch.nn.Linear); x has rank 1..4."""
        return self._new(lib.heed_graph_linear(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias")))

    def windows(self, x: Tensor, axis: int, size: int, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """The windows of `size` elements along an axis of x, as a view [.., windows, size, ..] in which they overlap. Padding is zeros
        and takes a pass. With `length` the axis' padded length there are (length - (size - 1) dilation - 1) / stride + 1 windows,
        rounded down. An axis shorter than one window is a mistake, or at a run ExtentOutOfRange.

        - stride: distance from one window to the next, in elements.
        - before, behind: elements of padding at each end.
        - dilation: distance from one element of a window to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_windows(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(size, "size"),
            pack(options, keep, self)))

    def conv1d(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """x [B, S, C], weight [N, k, C / groups] of constants, bias [N] -> [B, S', N], where S' is the number of windows of k. Element
        n of the result is the sum over a window's elements and channels of x times weight[n]. Results of group i use the channels
        of group i only. PyTorch's weight [N, C / groups, k] is this one with its axes 1 and 2 swapped.

        A matmul reads the windows directly from padded x; without padding and dilation a convolution of one group is one matmul.
        Dilation takes one matmul per element of a window, groups take one each, and their sums are rounded if x is f16 or bf16.
        Depthwise convolutions (C / groups is 1) use no matmul. The gradient of the weight copies the windows.

        - stride: distance from one window to the next, in elements.
        - before, behind: elements of padding at each end.
        - dilation: distance from one element of a window to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_conv1d(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias"), pack(options, keep, self)))

    def conv2d(self, x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, *, rows: Optional[WindowOptions] = None,
        columns: Optional[WindowOptions] = None) -> Tensor:
        """As conv1d, for images: x [B, H, W, C], weight [N, k_h, k_w, C / groups] -> [B, H', W', N]. PyTorch's weight is [N, C /
        groups, k_h, k_w]. Takes one matmul for each row of a window, or a single one where windows tile the image, as patches do.

        - rows: down, along axis 1.
        - columns: across, along axis 2."""
        keep = Keep()
        options = Conv2dOptions(rows, columns)
        return self._new(lib.heed_graph_conv2d(self._c, self._id_of(x, "x"), self._id_of(weight, "weight"), self._tensor_id(bias,
            "bias"), pack(options, keep, self)))

    def pool(self, x: Tensor, axis: int, size: int, kind: str, *, stride: int = 1, before: int = 0, behind: int = 0,
        dilation: int = 1) -> Tensor:
        """Reduces each window along an axis, whose size becomes the number of windows. Padding is left out of the reduction. To pool
        images, call it for the rows and then for the columns. Types as for reduce.

        - stride: distance from one window to the next, in elements.
        - before, behind: elements of padding at each end.
        - dilation: distance from one element of a window to the next."""
        keep = Keep()
        options = WindowOptions(stride, before, behind, dilation)
        return self._new(lib.heed_graph_pool(self._c, self._id_of(x, "x"), int32(axis, "axis"), whole(size, "size"),
            word(_words.REDUCTION, kind, "kind"), pack(options, keep, self)))

    def softmax(self, x: Tensor, *, scale: float = 1.0, causal: str = "none", key_padding: Optional[Mask] = None,
        mask: Optional[Mask] = None, bias: Optional[Tensor] = None, masked_fill: Optional[float] = None) -> Tensor:
        """A visible NaN makes all visible weights NaN. Hidden keys have weight 0 whatever their logit is. Rank 1..4

        - causal: one of "none", "top_left", "bottom_right".
        - key_padding: [B, S_k]; x must then be [B, ..., S_k].
        - mask: broadcast to x, e.g. [B, 1 or H, S_q, S_k].
        - bias: broadcast to x; element type of x; added after the scale.
        - masked_fill: If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code
        that fills with -1e9. A row without a visible key then has uniform weights."""
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
        """x [..., C] - log(sum of exp(x)), the logarithm of softmax(x). Minus infinity stays minus infinity, even if it fills the row;
        NaN or plus infinity anywhere in a row make the row NaN."""
        return self._new(lib.heed_graph_log_softmax(self._c, self._id_of(x, "x")))

    def rotary(self, x: Tensor, *, pairs: str = "halves", width: int = 0, base: float = 10000.0,
        scaling: Optional[RotaryScaling] = None, first: Size = 0, positions: Optional[Tensor] = None) -> Tensor:
        """x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians: (a, b) becomes (a cos - b sin, b cos
        + a sin) (rotary embedding, Su et al. 2021, arXiv:2104.09864). Angles are exact to 2^-31 turns up to position 2^22, and to
        2^-22 turns beyond.

        - pairs: one of "adjacent", "halves".
        - width: number of leading elements of a row that turn, even; the others stay. 0: all of them.
        - base: base of the angles; a larger one makes the last pairs turn more slowly.
        - scaling: RotaryScaling.
        - first: position of index 0 along axis -2 of x: a constant, or from Graph.position.
        - positions: instead: i32, broadcast to x's shape without its last axis."""
        keep = Keep()
        options = RotaryOptions(pairs, width, base, scaling, first, positions)
        return self._new(lib.heed_graph_rotary(self._c, self._id_of(x, "x"), pack(options, keep, self)))

    def cross_entropy(self, logits: Tensor, labels: Tensor, label_smoothing: float = 0.0) -> Tensor:
        """The cross entropy of each row of logits [..., V] and its label, i32 [...]: log(sum of exp(logits)) - logits[label], f32
        [...]. The mean over a text is the logarithm of its perplexity. With a label_smoothing s of 0 to 1 the loss is s times the
        mean over all labels plus 1
        - s times that of the row's label (Szegedy et al. 2016, arXiv:1512.00567). A label outside the vocabulary, such as -100, has
        loss 0. A label whose logit is minus infinity has a loss of plus infinity; NaN or plus infinity anywhere in a row make its
        loss NaN."""
        return self._new(lib.heed_graph_cross_entropy(self._c, self._id_of(logits, "logits"), self._id_of(labels, "labels"),
            real(label_smoothing, "label_smoothing")))

    def sample(self, logits: Tensor, *, previous: Optional[Tensor] = None, previous_count: Optional[Size] = None,
        previous_counts: Optional[Tensor] = None, repetition_penalty: float = 1.0, bias: Optional[Tensor] = None,
        temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0, step: Size = 0,
        steps: Optional[Tensor] = None, seeds: Optional[Tensor] = None, stream: Optional[int] = None,
        settings: Optional[Tensor] = None) -> Tensor:
        """Draws a token for each row of logits [..., V]: i32, and the axis is removed. The token stays on the device, where an
        embedding can read it and append can write it to a state, so that many steps can be recorded without waiting for the host.

        The same logits, options and seed give the same token on every device. Tokens are ordered by the bits of their logits, of
        equal ones the lower token first. A weight is an integer that integer arithmetic computes from the distance to the largest
        logit. All sums and the draw are integers, too, so that neither a device's exp nor its order of sums matters. Only single
        f32 operations remain, which IEEE 754 rounds alike everywhere: the product with a penalty, the sum with a bias, the
        distance, and its product with 1 / temperature. The error of a weight is at most 2^-17 of its own value plus 2^-32 of the
        largest one; a token whose weight is less than that is never drawn.

        Subnormal logits count as 0. NaN and minus infinity are never drawn; if a row has plus infinity, only such tokens are. A row
        that forbids every token gives -1, for which an embedding reports IndexOutOfRange. On Vulkan a workgroup reads a row up to
        19 times, for a vocabulary of 262144.

        - previous: Earlier tokens, for the repetition penalty: i32 [..., P], for each row, or for all. Of a row's P the first
        `previous_count`, or `previous_counts` (i32, for each row, or for all), count; the default is all. Tokens outside the
        vocabulary are ignored. The logit of such a token is divided by the penalty if it is positive and multiplied by it
        otherwise, once however often the token occurs (Keskar et al. 2019, arXiv:1909.05858).
        - previous_count: a constant, or from Graph.position or sum.
        - bias: Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
        - temperature: divides the logits; 0: the largest is taken, with no draw.
        - top_k: keeps the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
        - top_p: Keeps the fewest largest tokens whose probabilities sum to at least this share of what top_k kept (Holtzman et al.
        2019, arXiv:1904.09751).
        - min_p: Keeps tokens whose probability is at least this share of the largest one (Nguyen et al. 2024, arXiv:2407.01082).
        - step: Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The
        row is its index in the logits. With `seeds` (i32, for each row, or for all) a row uses its own seed and counts as row 0, so
        that a conversation draws the same tokens alone and in any batch. Index of the token in its text: a constant, or from
        Graph.position or sum.
        - steps: instead: i32, for each row, or for all.
        - stream: default: the number of earlier calls of sample in this graph.
        - settings: i32 [..., kSampleWords] from sample_words, for each row, or for all: replaces repetition_penalty, temperature,
        top_k, top_p and min_p, which may then differ from row to row and from run to run."""
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
        constant H: query head h then reads head h / (H / G) of keys and values (grouped queries, Ainslie et al. 2023,
        arXiv:2305.13245). Keys and values have the queries' type, or both are f16 or bf16 beside queries of f32, as in caches of
        half the bytes, which needs no 16-bit storage. The output has the queries' type.

        - scale: default 1/sqrt(d_k)
        - softcap: If c > 0, each scaled score s becomes c tanh(s / c), which lies within -c .. c, before bias and masks (Gemma Team
        2024, arXiv:2408.00118). 0: none.
        - causal: one of "none", "top_left", "bottom_right".
        - window: A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at position p among the keys sees key j only if
        j + window > p and j < p + window_ahead. 0: no bound on that side. With `causal`, window_ahead is 1 whatever is given, and
        tiles of keys that no query of a workgroup sees are skipped. Without it, positions are those of "bottom_right", or
        `positions`, and each run writes a mask, u8 [1 or B, 1, S_q, S_kv].
        - lengths: For batches whose rows differ, such as conversations of different lengths: i32 [B]. Row b uses its first
        lengths[b] keys only; numbers outside 0 .. S_kv are clamped. Keys and values beyond them are not read, masked_fill does not
        apply to them, and "bottom_right" means j <= i + (lengths[b] - S_q).
        - positions: The positions of queries, i32 [B]. Needs `causal` or a window. Query i of row b is at positions[b] + i among
        the keys. With causal, whose alignment then has no effect, it sees key j if j <= positions[b] + i.
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
        counter element index / 4. The default stream is the number of earlier dropout calls in this graph. C++ does not order the
        arguments of a call: pass `stream` when two dropouts are arguments of one call."""
        return self._new(lib.heed_graph_dropout(self._c, self._id_of(x, "x"), real(p, "p"), number_if(stream, "stream")))

    def embedding(self, table: Tensor, ids: Tensor, dtype: Optional[str] = None) -> Tensor:
        """Rows of a table: table [V, C], ids i32 [...] -> [..., C] of type `dtype`: f32, f16 or bf16. The table may be any tensor,
        including an input or a computed one. A table that is not contiguous is copied as a whole first.

        The default `dtype` is f32 for a bf16 or quantized table, else the table's type. Rows of an f16 table are thus f16, which
        norms with f32 factors and sums with f32 refuse: pass "f32" for activations of f32, which costs no pass. A quantized table
        gives rows of all three types. f16 rows of an f32 or bf16 table, and bf16 rows of an f32 or f16 table, exist on the CPU
        device only; on Vulkan compile returns Unsupported."""
        return self._new(lib.heed_graph_embedding(self._c, self._id_of(table, "table"), self._id_of(ids, "ids"),
            word_if(_words.DTYPE, dtype, "dtype")))

    def positional_encoding(self, x: Tensor) -> Tensor:
        """x [..., S, C] plus the sinusoidal table (Vaswani et al. 2017, section 3.5), which is computed in double. C must be even."""
        return self._new(lib.heed_graph_positional_encoding(self._c, self._id_of(x, "x")))

    def number(self, value: float, dtype: str = "f32") -> Tensor:
        """A constant of one element. dtype: f32 (which may be an operand beside any type of float), i32 or u8. As an operand of the
        calls below it takes no memory and no load."""
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
        """The remainder with the sign of b, as in Python: a - b floor(a / b). Also i32: 0 where b is 0. Floats lose digits where |a /
        b| is above 2^22.

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
        """a^b. NaN if a is negative and b is not an integer. 1 if b is 0 or a is 1, whatever the other is.

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
        """the largest integer that is not above x

        The result has x's shape."""
        return self._new(lib.heed_graph_floor(self._c, self._id_of(x, "x")))

    def round(self, x: Tensor) -> Tensor:
        """the nearest integer, ties to even

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
        """Whether a == b. Comparisons give u8: 1 for true and 0 for false. Operands may also be i32 or u8. With a NaN only ne is true.

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
        """1 if both operands, u8, are nonzero, else 0.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_logical_and(self._c, *self._operands(a=a, b=b)))

    def logical_or(self, a: Operand, b: Operand) -> Tensor:
        """1 if a or b, u8, is nonzero, else 0

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_logical_or(self._c, *self._operands(a=a, b=b)))

    def logical_not(self, x: Tensor) -> Tensor:
        """1 if x, u8, is 0, else 0

        The result has x's shape."""
        return self._new(lib.heed_graph_logical_not(self._c, self._id_of(x, "x")))

    def where(self, mask: Tensor, a: Operand, b: Operand) -> Tensor:
        """a where the mask, u8, is nonzero, else b. The operand that is not selected has no effect, even if it is NaN. Types as for
        comparisons.

        The shapes of a and b broadcast; one of them may be a number."""
        return self._new(lib.heed_graph_where(self._c, self._id_of(mask, "mask"), *self._operands(a=a, b=b)))

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        """x converted to `dtype`: f32, f16, bf16, i32 or u8. To floats: rounds to nearest even. From floats to i32 or u8: rounds
        towards zero and clamps to the type's range; NaN gives 0. From i32 to u8: the low 8 bits.

        The result has x's shape."""
        return self._new(lib.heed_graph_cast(self._c, self._id_of(x, "x"), word(_words.DTYPE, dtype, "dtype")))

    def mean(self, x: Tensor, axis: int, mask: Optional[Mask] = None) -> Tensor:
        """The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask [B, S] leaves tokens out; the result is zero if
        no token is kept."""
        return self._new(lib.heed_graph_mean(self._c, self._id_of(x, "x"), int32(axis, "axis"), *self._mask(mask, "mask")))

    def sum_axis(self, x: Tensor, axis: int) -> Tensor:
        """The sum over an axis, which is removed. f32, f16 or bf16: summed in f32 and rounded once to x's type. i32: wraps around."""
        return self._new(lib.heed_graph_sum_axis(self._c, self._id_of(x, "x"), int32(axis, "axis")))

    def reduce(self, x: Tensor, kind: str, axes: Sequence[int], keep: bool = False) -> Tensor:
        """Reduces these axes together; no axes: all of them. They are removed, or stay with size 1 if `keep`. heed has no rank 0: if
        all axes are removed, the shape is [1]. x: f32, f16 or bf16, with arithmetic in f32 and one rounding to x's type; or i32 for
        Sum, which wraps around, Max and Min. Axes that are not adjacent are reduced one after the other.

        NaN gives NaN. "log_sum_exp" of minus infinities is minus infinity. Neither the powers of "log_sum_exp" nor the squares of
        L2 overflow. The gradient of Max and Min is shared equally among the elements that equal the result."""
        return self._new(lib.heed_graph_reduce(self._c, self._id_of(x, "x"), word(_words.REDUCTION, kind, "kind"), *ints(axes,
            "axes"), truth(keep, "keep")))

    def argmax(self, x: Tensor, axis: int = -1, keep: bool = False, last: bool = False) -> Tensor:
        """i32 index of the largest element along an axis, which is removed, or stays with size 1 if `keep`. Of equal elements the
        first counts, or the last if `last`. x: f32, f16, bf16 or i32. NaN is never the largest, unless all elements are NaN."""
        return self._new(lib.heed_graph_argmax(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(keep, "keep"), truth(last,
            "last")))

    def argmin(self, x: Tensor, axis: int = -1, keep: bool = False, last: bool = False) -> Tensor:
        """As argmax, for the smallest element along an axis."""
        return self._new(lib.heed_graph_argmin(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(keep, "keep"), truth(last,
            "last")))

    def top_k(self, x: Tensor, k: int, axis: int = -1, smallest: bool = False) -> TopKResult:
        """The k largest elements along an axis in descending order, or the k smallest in ascending order, and their indices; both are
        views whose size along the axis is k. Of equal elements the one with the lower index comes first; NaN comes last. x: f32,
        f16, bf16 or i32. On Vulkan a workgroup reads a row k times."""
        result = ffi.new("heed_top_k_result *")
        self._new(lib.heed_graph_top_k(self._c, self._id_of(x, "x"), whole(k, "k"), int32(axis, "axis"), truth(smallest,
            "smallest"), result))
        return TopKResult(*self._all_of(result))

    def cumsum(self, x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
        """Cumulative sums of the elements along an axis. An exclusive sum leaves its own element out; with `reverse` sums run from
        each element to the end. x: f32, f16 or bf16; sums are f32."""
        return self._new(lib.heed_graph_cumsum(self._c, self._id_of(x, "x"), int32(axis, "axis"), truth(exclusive, "exclusive"),
            truth(reverse, "reverse")))

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Joins parts of one type (DTypeMismatch) along an axis; their other sizes must be the same (ShapeMismatch)."""
        return self._new(lib.heed_graph_concat(self._c, *self._tensor_ids(parts, "parts"), int32(axis, "axis")))
