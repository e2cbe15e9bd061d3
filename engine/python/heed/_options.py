"""Options and results, with C++'s defaults. Made by engine/c/generate.py of the C++ headers: change those, and run it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Dict, NamedTuple, Optional, Tuple, Union

from . import _words
from .tensor import Mask, Size, Tensor


@dataclass
class WindowOptions:
    """Windows along an axis, as in a convolution. Element i of window w is element w * stride + i * dilation of the padded axis, which
    begins with `before` elements of padding.

    - stride: distance from one window to the next, in elements.
    - before, behind: elements of padding at each end.
    - dilation: distance from one element of a window to the next."""

    stride: int = 1
    before: int = 0
    behind: int = 0
    dilation: int = 1

    _ctype: ClassVar[str] = "heed_window_options"
    _kinds: ClassVar[Dict[str, Any]] = {"stride": "int", "before": "int", "behind": "int", "dilation": "int"}


@dataclass
class Conv2dOptions:
    """The windows of conv2d.

    - rows: down, along axis 1.
    - columns: across, along axis 2."""

    rows: WindowOptions = field(default_factory=WindowOptions)
    columns: WindowOptions = field(default_factory=WindowOptions)

    _ctype: ClassVar[str] = "heed_conv2d_options"
    _kinds: ClassVar[Dict[str, Any]] = {"rows": "struct", "columns": "struct"}


@dataclass
class MatmulOptions:
    """How Graph.matmul reads its operands.

    - transpose_a: a is [..., K, M].
    - transpose_b: b is [..., N, K].
    - scale: multiplies the result."""

    transpose_a: bool = False
    transpose_b: bool = False
    scale: float = 1.0

    _ctype: ClassVar[str] = "heed_matmul_options"
    _kinds: ClassVar[Dict[str, Any]] = {"transpose_a": "bool", "transpose_b": "bool", "scale": "float"}


@dataclass
class SoftmaxOptions:
    """softmax(scale * x + bias) over the visible keys of each row. A row with no visible key gives zeros, unless masked_fill is set.

    - causal: one of "none", "top_left", "bottom_right".
    - key_padding: [B, S_k]; x must then be [B, ..., S_k].
    - mask: broadcast to x, e.g. [B, 1 or H, S_q, S_k].
    - bias: broadcast to x; element type of x; added after the scale.
    - masked_fill: If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code that
    fills with -1e9. A row without a visible key then has uniform weights."""

    scale: float = 1.0
    causal: str = "none"
    key_padding: Optional[Mask] = None
    mask: Optional[Mask] = None
    bias: Optional[Tensor] = None
    masked_fill: Optional[float] = None

    _ctype: ClassVar[str] = "heed_softmax_options"
    _kinds: ClassVar[Dict[str, Any]] = {"scale": "float", "causal": _words.CAUSAL, "key_padding": "mask", "mask": "mask",
        "bias": "tensor", "masked_fill": "float"}


@dataclass
class AttentionOptions:
    """A query without a visible key gives zeros, as a row of softmax does. Hidden keys and values do not count, even if they are
    infinite or NaN. Exceptions, where all values must be finite:
    - masked_fill gives every key a weight.
    - return_weights, return_scores and softcap store scores and weights, and the output is a matmul of all weights and values, in
    which 0
      times infinity is NaN. That matmul also reads keys and values beyond `lengths`.
    - On Vulkan the same matmul runs where no fused kernel does: if d_k or d_v is above 256 or an extent, if the innermost dim of an
    operand
      is not contiguous, and on drivers whose fused kernels fail the self-test.

    The softmax is computed in f32 for every type. Output, scores and weights have the queries' type: cast the queries to f32 to get
    f32 scores and weights of f16 or bf16 keys and values.

    - scale: default 1/sqrt(d_k)
    - softcap: If c > 0, each scaled score s becomes c tanh(s / c), which lies within -c .. c, before bias and masks (Gemma Team
    2024, arXiv:2408.00118). 0: none.
    - causal: one of "none", "top_left", "bottom_right".
    - window: A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at position p among the keys sees key j only if j +
    window > p and j < p + window_ahead. 0: no bound on that side. With `causal`, window_ahead is 1 whatever is given, and tiles of
    keys that no query of a workgroup sees are skipped. Without it, positions are those of "bottom_right", or `positions`, and each
    run writes a mask, u8 [1 or B, 1, S_q, S_kv].
    - lengths: For batches whose rows differ, such as conversations of different lengths: i32 [B]. Row b uses its first lengths[b]
    keys only; numbers outside 0 .. S_kv are clamped. Keys and values beyond them are not read, masked_fill does not apply to them,
    and "bottom_right" means j <= i + (lengths[b] - S_q).
    - positions: The positions of queries, i32 [B]. Needs `causal` or a window. Query i of row b is at positions[b] + i among the
    keys. With causal, whose alignment then has no effect, it sees key j if j <= positions[b] + i.
    - key_padding: [B, S_kv].
    - mask: broadcast to [B, H, S_q, S_kv].
    - bias: broadcast to [B, H, S_q, S_kv].
    - dropout: on the weights, after softmax, in training plans.
    - return_weights: otherwise the weights are never stored for the host.
    - return_log_sum_exp: gives AttentionResult.log_sum_exp.
    - return_scores: one of "none", "scaled", "capped", "masked". Gives AttentionResult.scores."""

    scale: Optional[float] = None
    softcap: float = 0.0
    causal: str = "none"
    window: int = 0
    window_ahead: int = 0
    lengths: Optional[Tensor] = None
    positions: Optional[Tensor] = None
    key_padding: Optional[Mask] = None
    mask: Optional[Mask] = None
    bias: Optional[Tensor] = None
    masked_fill: Optional[float] = None
    dropout: float = 0.0
    return_weights: bool = False
    return_log_sum_exp: bool = False
    return_scores: str = "none"

    _ctype: ClassVar[str] = "heed_attention_options"
    _kinds: ClassVar[Dict[str, Any]] = {"scale": "float", "softcap": "float", "causal": _words.CAUSAL, "window": "int",
        "window_ahead": "int", "lengths": "tensor", "positions": "tensor", "key_padding": "mask", "mask": "mask", "bias": "tensor",
        "masked_fill": "float", "dropout": "float", "return_weights": "bool", "return_log_sum_exp": "bool",
        "return_scores": _words.SCORES}


@dataclass
class PadOptions:
    """Options of Graph.pad.

    - mode: one of "constant", "reflect", "edge", "wrap". Which elements are added.
    - value: for Constant; rounded to x's type if that is a float, else an integer within its range."""

    mode: str = "constant"
    value: float = 0.0

    _ctype: ClassVar[str] = "heed_pad_options"
    _kinds: ClassVar[Dict[str, Any]] = {"mode": _words.PADDING, "value": "float"}


@dataclass
class RotaryScaling:
    """Makes pairs turn more slowly than in training, for positions beyond those of the training. Linear slows all pairs down by
    `factor`. Llama3 slows a pair down by `factor` if it turns less than `low` times in `trained_length` positions, leaves it if it
    turns more than `high` times, and interpolates linearly in the number of turns in between.

    - kind: one of "none", "linear", "llama3"."""

    kind: str = "none"
    factor: float = 1.0
    low: float = 1.0
    high: float = 4.0
    trained_length: int = 8192

    _ctype: ClassVar[str] = "heed_rotary_scaling"
    _kinds: ClassVar[Dict[str, Any]] = {"kind": _words.ROTARY_SCALING_KIND, "factor": "float", "low": "float", "high": "float",
        "trained_length": "int"}


@dataclass
class RotaryOptions:
    """How Graph.rotary turns the pairs of a row.

    - pairs: one of "adjacent", "halves".
    - width: number of leading elements of a row that turn, even; the others stay. 0: all of them.
    - base: base of the angles; a larger one makes the last pairs turn more slowly.
    - scaling: RotaryScaling.
    - first: position of index 0 along axis -2 of x: a constant, or from Graph.position.
    - positions: instead: i32, broadcast to x's shape without its last axis."""

    pairs: str = "halves"
    width: int = 0
    base: float = 10000.0
    scaling: RotaryScaling = field(default_factory=RotaryScaling)
    first: Size = 0
    positions: Optional[Tensor] = None

    _ctype: ClassVar[str] = "heed_rotary_options"
    _kinds: ClassVar[Dict[str, Any]] = {"pairs": _words.ROTARY_PAIRS, "width": "int", "base": "float", "scaling": "struct",
        "first": "size", "positions": "tensor"}


@dataclass
class SampleOptions:
    """How Graph.sample draws a token. The steps happen in the order of the members; all except the draw cost nothing at their
    defaults. "For each row, or for all" means: the shape of the logits without their last axis, or all ones.

    - previous: Earlier tokens, for the repetition penalty: i32 [..., P], for each row, or for all. Of a row's P the first
    `previous_count`, or `previous_counts` (i32, for each row, or for all), count; the default is all. Tokens outside the vocabulary
    are ignored. The logit of such a token is divided by the penalty if it is positive and multiplied by it otherwise, once however
    often the token occurs (Keskar et al. 2019, arXiv:1909.05858).
    - previous_count: a constant, or from Graph.position or sum.
    - bias: Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
    - temperature: divides the logits; 0: the largest is taken, with no draw.
    - top_k: keeps the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
    - top_p: Keeps the fewest largest tokens whose probabilities sum to at least this share of what top_k kept (Holtzman et al.
    2019, arXiv:1904.09751).
    - min_p: Keeps tokens whose probability is at least this share of the largest one (Nguyen et al. 2024, arXiv:2407.01082).
    - step: Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The row is
    its index in the logits. With `seeds` (i32, for each row, or for all) a row uses its own seed and counts as row 0, so that a
    conversation draws the same tokens alone and in any batch. Index of the token in its text: a constant, or from Graph.position or
    sum.
    - steps: instead: i32, for each row, or for all.
    - stream: default: the number of earlier calls of sample in this graph.
    - settings: i32 [..., kSampleWords] from sample_words, for each row, or for all: replaces repetition_penalty, temperature,
    top_k, top_p and min_p, which may then differ from row to row and from run to run."""

    previous: Optional[Tensor] = None
    previous_count: Optional[Size] = None
    previous_counts: Optional[Tensor] = None
    repetition_penalty: float = 1.0
    bias: Optional[Tensor] = None
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    step: Size = 0
    steps: Optional[Tensor] = None
    seeds: Optional[Tensor] = None
    stream: Optional[int] = None
    settings: Optional[Tensor] = None

    _ctype: ClassVar[str] = "heed_sample_options"
    _kinds: ClassVar[Dict[str, Any]] = {"previous": "tensor", "previous_count": "size", "previous_counts": "tensor",
        "repetition_penalty": "float", "bias": "tensor", "temperature": "float", "top_k": "int", "top_p": "float", "min_p": "float",
        "step": "size", "steps": "tensor", "seeds": "tensor", "stream": "int", "settings": "tensor"}


@dataclass
class AttentionNames:
    """The names of the projections of one attention layer in a checkpoint, and how they are fused. If `qkv` is set, one weight holds
    the rows of queries, then keys, then values. Else `q` holds the queries, and keys and values are together in `kv` if that is
    set, else in `k` and `v`. Fused projections run as one matmul if their inputs are the same tensor; heads are views of its
    result.

    - out: empty: no output projection.
    - in_out: Projections other than `out` are [in, out] matrices without bias, whose names have no ".weight": y = x W.
    - transposed: Projections have names and biases as linear layers do, but their matrices are [in, out], as in GPT-2.
    - q_norm, k_norm: If set, an RMSNorm of this name scales each head's queries or keys after the projection, with one weight [d_k]
    for all heads (Qwen 3)."""

    qkv: Optional[str] = None
    q: Optional[str] = None
    kv: Optional[str] = None
    k: Optional[str] = None
    v: Optional[str] = None
    out: Optional[str] = None
    in_out: bool = False
    transposed: bool = False
    q_norm: Optional[str] = None
    k_norm: Optional[str] = None

    _ctype: ClassVar[str] = "heed_attention_names"
    _kinds: ClassVar[Dict[str, Any]] = {"qkv": "text", "q": "text", "kv": "text", "k": "text", "v": "text", "out": "text",
        "in_out": "bool", "transposed": "bool", "q_norm": "text", "k_norm": "text"}


@dataclass
class CacheTokens:
    """Which rows of a cache have a token in a run of S tokens, told by the host in three ways.

    - rows: i32 [1, S]: the row of each token.
    - of_rows: i32 [rows, 1]: which of the run's tokens a row has; -1: none.
    - positions: i32 [rows, 1]: the position of that token; -1: none."""

    rows: Optional[Tensor] = None
    of_rows: Optional[Tensor] = None
    positions: Optional[Tensor] = None

    _ctype: ClassVar[str] = "heed_cache_tokens"
    _kinds: ClassVar[Dict[str, Any]] = {"rows": "tensor", "of_rows": "tensor", "positions": "tensor"}


@dataclass
class Cache:
    """Keys and values that stay from run to run, so that a run computes those of new tokens only. They lie in two states
    (Graph.state), prefix + ".keys" [B, kv_heads, capacity, d_k] and prefix + ".values" [B, kv_heads, capacity, d_v], in which the
    rows of a head are contiguous. If the batch is an extent, B is its maximum.

    - capacity: maximum number of tokens of each row of the batch; 0: no cache.
    - past: number of tokens in the cache before the run; usually made by Graph.position.
    - dtype: Type of both states: f16 or bf16 beside activations of f32, for half the bytes; default: that of the activations. Rows
    are rounded when they are written. On the CPU this takes no extra pass; on Vulkan it takes one for each state, and needs a
    device with 16-bit storage (compile returns Unsupported on others).
    - positions: For batches whose rows are conversations of different lengths: the positions of this run's tokens, i32 [B, S].
    Positions of a row are consecutive from its first token. A row may end with -1 for missing tokens: nothing is stored for these,
    and their results are undefined. A row of -1 alone stays unchanged. `past` must then be that of the longest conversation, since
    it determines the number of keys. Needs `causal`, and replaces MultiHeadOptions.positions. A token whose position is beyond the
    capacity is not stored, and the run returns IndexOutOfRange.
    - rows: For conversations that share a State, of which a run has only some: B of both states is then `rows`, and a run uses as
    many as its batch from `row` on. A run with rows beyond the end returns ExtentOutOfRange. 0: as many as the batch has.
    - row: usually made by Graph.position.
    - tokens: Replaces `row` for arbitrary rows. A run has one token of each of them in a batch of 1, so that only attention works
    by rows. `positions` is then [1, S]."""

    capacity: int = 0
    past: Size = 0
    dtype: Optional[str] = None
    positions: Optional[Tensor] = None
    rows: int = 0
    row: Size = 0
    tokens: CacheTokens = field(default_factory=CacheTokens)

    _ctype: ClassVar[str] = "heed_cache"
    _kinds: ClassVar[Dict[str, Any]] = {"capacity": "int", "past": "size", "dtype": _words.DTYPE, "positions": "tensor", "rows": "int",
        "row": "size", "tokens": "struct"}


@dataclass
class MultiHeadOptions:
    """The heads of an attention layer, its weights' names, masks and cache.

    - kv_heads: number of key and value heads, which divides `heads` (grouped queries); 0: heads.
    - d_k: width of one head's queries and keys; 0: width of the query input / heads.
    - d_v: width of one head's values; 0: d_k.
    - out_width: width of the output projection; 0: width of the query input.
    - names: each function states its default.
    - bias: query, key and value projections have a bias.
    - out_bias: the output projection has a bias.
    - weight_dtype: type of the projections' matrices; default: the input's.
    - scale: default 1/sqrt(d_k); a temperature t is scale = 1/t.
    - softcap: see AttentionOptions.
    - causal: one of "none", "top_left", "bottom_right".
    - window, window_ahead: see AttentionOptions.
    - lengths, positions: i32 [B]; see AttentionOptions.
    - key_padding: [B, S_kv].
    - mask: broadcast to [B, heads, S_q, S_kv].
    - score_bias: broadcast to [B, heads, S_q, S_kv]; added to the scaled scores.
    - masked_fill: see AttentionOptions.
    - rotary: Turns queries and keys by their positions (Graph.rotary), after their norms. With a cache, a `first` of 0 becomes
    cache.past.
    - head_norm_eps: eps of names.q_norm and names.k_norm.
    - cache: Keys and values of `key` and `value` are appended to the cache, and queries attend to everything in it. `causal` must
    be None or "bottom_right"; masks and key_padding have past + S_kv keys. A run in which that exceeds the capacity returns
    ExtentOutOfRange.
    - attention_dropout: on the weights, after softmax.
    - output_dropout: after the output projection.
    - return_weights: If set, receives the weights before dropout, [B, heads, S_q, S_kv] or, without a batch, [heads, S_q, S_kv]. A
    stack returns those of its last layer."""

    heads: int = 1
    kv_heads: int = 0
    d_k: int = 0
    d_v: int = 0
    out_width: int = 0
    names: Optional[Union[AttentionNames, str]] = None
    bias: bool = True
    out_bias: bool = True
    weight_dtype: Optional[str] = None
    scale: Optional[float] = None
    softcap: float = 0.0
    causal: str = "none"
    window: int = 0
    window_ahead: int = 0
    lengths: Optional[Tensor] = None
    positions: Optional[Tensor] = None
    key_padding: Optional[Mask] = None
    mask: Optional[Mask] = None
    score_bias: Optional[Tensor] = None
    masked_fill: Optional[float] = None
    rotary: Optional[RotaryOptions] = None
    head_norm_eps: float = 1e-6
    cache: Cache = field(default_factory=Cache)
    attention_dropout: float = 0.0
    output_dropout: float = 0.0
    return_weights: bool = False

    _ctype: ClassVar[str] = "heed_multi_head_options"
    _kinds: ClassVar[Dict[str, Any]] = {"heads": "int", "kv_heads": "int", "d_k": "int", "d_v": "int", "out_width": "int",
        "names": "pointer", "bias": "bool", "out_bias": "bool", "weight_dtype": _words.DTYPE, "scale": "float", "softcap": "float",
        "causal": _words.CAUSAL, "window": "int", "window_ahead": "int", "lengths": "tensor", "positions": "tensor",
        "key_padding": "mask", "mask": "mask", "score_bias": "tensor", "masked_fill": "float", "rotary": "pointer",
        "head_norm_eps": "float", "cache": "struct", "attention_dropout": "float", "output_dropout": "float",
        "return_weights": "wanted"}


@dataclass
class NormOptions:
    """Which norm a block has, and where.

    - placement: one of "post", "pre".
    - eps: added to the variance.
    - kind: one of "layer", "rms"."""

    placement: str = "post"
    eps: float = 1e-5
    kind: str = "layer"

    _ctype: ClassVar[str] = "heed_norm_options"
    _kinds: ClassVar[Dict[str, Any]] = {"placement": _words.NORM_PLACEMENT, "eps": "float", "kind": _words.NORM_KIND}


@dataclass
class AttentionBlockNames:
    """The names of an attention block, which follow the prefix of its layer.

    - norm: the layer norm."""

    attention: str = "self_attn"
    norm: str = "norm1"

    _ctype: ClassVar[str] = "heed_attention_block_names"
    _kinds: ClassVar[Dict[str, Any]] = {"attention": "text", "norm": "text"}


@dataclass
class FeedForwardOptions:
    """The two linear layers of a feed-forward block, and the activation between them.

    - hidden: 0: four times the width of x.
    - activation: one of "none", "relu", "gelu_erf", "gelu_tanh", "silu", "tanh".
    - gate: If set, the activation acts on a linear layer of this name, which then scales the first one: second(activation(gate(x))
    * first(x)), SwiGLU with Silu and GeGLU with Gelu (Shazeer 2020, arXiv:2002.05202).
    - transposed: matrices are [in, out], as those of GPT-2 are.
    - bias: all layers have a bias.
    - weight_dtype: type of both matrices; default: that of x.
    - hidden_dropout: after the activation.
    - output_dropout: after the second layer."""

    hidden: int = 0
    activation: str = "relu"
    first: str = "linear1"
    second: str = "linear2"
    gate: Optional[str] = None
    transposed: bool = False
    bias: bool = True
    weight_dtype: Optional[str] = None
    hidden_dropout: float = 0.0
    output_dropout: float = 0.0

    _ctype: ClassVar[str] = "heed_feed_forward_options"
    _kinds: ClassVar[Dict[str, Any]] = {"hidden": "int", "activation": _words.ACTIVATION, "first": "text", "second": "text",
        "gate": "text", "transposed": "bool", "bias": "bool", "weight_dtype": _words.DTYPE, "hidden_dropout": "float",
        "output_dropout": "float"}


@dataclass
class FeedForwardBlockNames:
    """The names of a feed-forward block, which follow the prefix of its layer.

    - feed_forward: empty: the two linear layers lie directly below the prefix.
    - norm: the layer norm."""

    feed_forward: Optional[str] = None
    norm: str = "norm2"

    _ctype: ClassVar[str] = "heed_feed_forward_block_names"
    _kinds: ClassVar[Dict[str, Any]] = {"feed_forward": "text", "norm": "text"}


@dataclass
class EncoderLayerOptions:
    """One layer of an encoder: self-attention, then feed-forward.

    - attention: MultiHeadOptions.
    - feed_forward: FeedForwardOptions.
    - norm: NormOptions.
    - attention_names: AttentionBlockNames.
    - feed_forward_names: FeedForwardBlockNames."""

    attention: MultiHeadOptions = field(default_factory=MultiHeadOptions)
    feed_forward: FeedForwardOptions = field(default_factory=FeedForwardOptions)
    norm: NormOptions = field(default_factory=NormOptions)
    attention_names: AttentionBlockNames = field(default_factory=AttentionBlockNames)
    feed_forward_names: FeedForwardBlockNames = field(default_factory=FeedForwardBlockNames)

    _ctype: ClassVar[str] = "heed_encoder_layer_options"
    _kinds: ClassVar[Dict[str, Any]] = {"attention": "struct", "feed_forward": "struct", "norm": "struct", "attention_names": "struct",
        "feed_forward_names": "struct"}


@dataclass
class DecoderLayerOptions:
    """A decoder layer is causal only if self_attention says so, by `causal` or by a mask.

    - self_attention: MultiHeadOptions.
    - cross_attention: MultiHeadOptions.
    - feed_forward: FeedForwardOptions.
    - norm: NormOptions.
    - self_names: AttentionBlockNames.
    - cross_names: AttentionBlockNames.
    - feed_forward_names: FeedForwardBlockNames."""

    self_attention: MultiHeadOptions = field(default_factory=MultiHeadOptions)
    cross_attention: MultiHeadOptions = field(default_factory=MultiHeadOptions)
    feed_forward: FeedForwardOptions = field(default_factory=FeedForwardOptions)
    norm: NormOptions = field(default_factory=NormOptions)
    self_names: AttentionBlockNames = field(default_factory=AttentionBlockNames)
    cross_names: AttentionBlockNames = field(default_factory=lambda: AttentionBlockNames(attention="multihead_attn", norm="norm2"))
    feed_forward_names: FeedForwardBlockNames = field(default_factory=lambda: FeedForwardBlockNames(norm="norm3"))

    _ctype: ClassVar[str] = "heed_decoder_layer_options"
    _kinds: ClassVar[Dict[str, Any]] = {"self_attention": "struct", "cross_attention": "struct", "feed_forward": "struct",
        "norm": "struct", "self_names": "struct", "cross_names": "struct", "feed_forward_names": "struct"}


@dataclass
class StackOptions:
    """How many layers a stack has, and the norm after the last one.

    - layers: at most kMaxLayers.
    - final_norm: If set, a norm of this name, of the layers' kind, follows the last layer, as is usual with pre-norm layers."""

    layers: int = 1
    final_norm: Optional[str] = None

    _ctype: ClassVar[str] = "heed_stack_options"
    _kinds: ClassVar[Dict[str, Any]] = {"layers": "int", "final_norm": "text"}


@dataclass
class CrossEntropyOptions:
    """Weights of labels in nn.cross_entropy.

    - class_weights: [V]: multiply the loss of each label; f32, f16 or bf16, computed in f32.
    - ignored: A label that is left out: its loss and weight are 0, as for all labels outside the vocabulary.
    - label_smoothing: This share (0 to 1) of each loss is the mean over all classes, weighted by class_weights (Szegedy et al.
    2016, arXiv:1512.00567).
    - reduction: one of "none", "sum", "mean".
    - of_log_probabilities: `logits` are log-probabilities, used as they are (torch.nn.functional.nll_loss)"""

    class_weights: Optional[Tensor] = None
    ignored: int = -100
    label_smoothing: float = 0.0
    reduction: str = "mean"
    of_log_probabilities: bool = False

    _ctype: ClassVar[str] = "heed_cross_entropy_options"
    _kinds: ClassVar[Dict[str, Any]] = {"class_weights": "tensor", "ignored": "int", "label_smoothing": "float",
        "reduction": _words.LOSS_REDUCTION, "of_log_probabilities": "bool"}


@dataclass
class TransformerOptions:
    """The parts of an encoder-decoder transformer.

    - encoder: EncoderLayerOptions.
    - decoder: DecoderLayerOptions.
    - encoder_stack: StackOptions.
    - decoder_stack: StackOptions.
    - encoder_prefix: prefix of the encoder's layers.
    - decoder_prefix: prefix of the decoder's layers.
    - positional_encoding: add the sinusoidal encoding to both inputs.
    - input_dropout: after the positional encoding.
    - vocabulary: width of the final linear layer.
    - out: its name.
    - out_weight_dtype: the type of its matrix; default: that of `target`."""

    encoder: EncoderLayerOptions = field(default_factory=EncoderLayerOptions)
    decoder: DecoderLayerOptions = field(default_factory=DecoderLayerOptions)
    encoder_stack: StackOptions = field(default_factory=StackOptions)
    decoder_stack: StackOptions = field(default_factory=StackOptions)
    encoder_prefix: str = "encoder.layers"
    decoder_prefix: str = "decoder.layers"
    positional_encoding: bool = True
    input_dropout: float = 0.0
    vocabulary: int = 0
    out: str = "out"
    out_weight_dtype: Optional[str] = None

    _ctype: ClassVar[str] = "heed_transformer_options"
    _kinds: ClassVar[Dict[str, Any]] = {"encoder": "struct", "decoder": "struct", "encoder_stack": "struct", "decoder_stack": "struct",
        "encoder_prefix": "text", "decoder_prefix": "text", "positional_encoding": "bool", "input_dropout": "float",
        "vocabulary": "int", "out": "text", "out_weight_dtype": _words.DTYPE}


@dataclass
class DeviceOptions:
    """Which device Device.open opens, and how it works.

    - select: "" is the best device: GPUs come first, then the CPU device, then software drivers. "cpu" is the CPU device, a number
    is an index into Device.list, and any other text is a part of DeviceInfo.word or name, in upper or lower case; the first match
    is opened.
    - threads: CPU device: number of threads with the caller's; 0: one per hardware thread.
    - cpu_instructions: CPU device: the instruction set to use instead of the best one ("avx2", "neon", "scalar", ...;
    DeviceInfo.limits lists them). A set that the processor or this build lacks is ignored, with a warning in the log.
    - vulkan_loader: Vulkan: a library file instead of the system's Vulkan loader. If it cannot be loaded, there is no GPU.
    - validation: Vulkan: enable the Khronos validation layer with synchronization validation.
    - debug_labels: Vulkan: label passes and name objects if VK_EXT_debug_utils is there.
    - low_priority: Vulkan: asks the system to prefer other programs' work on the GPU to heed's (VK_KHR_global_priority, or
    VK_EXT_global_priority). Where the driver lacks both or refuses, the queue gets the default priority. DeviceInfo.limits has the
    priority of an open device ("queue priority"), and DeviceInfo.reason says why it is not low.
    - async_compute: Vulkan: uses a queue of a family with compute and without graphics, which GPUs that draw may run beside their
    other work. Without such a family heed uses the same queue family as otherwise; DeviceInfo.limits has its index and what it can
    do ("queue family").
    - self_test: compare a small graph with the CPU, unless the build lacks it, before a GPU is accepted."""

    select: Optional[str] = None
    threads: int = 0
    cpu_instructions: Optional[str] = None
    vulkan_loader: Optional[str] = None
    validation: bool = False
    debug_labels: bool = True
    low_priority: bool = False
    async_compute: bool = False
    self_test: bool = True

    _ctype: ClassVar[str] = "heed_device_options"
    _kinds: ClassVar[Dict[str, Any]] = {"select": "text", "threads": "int", "cpu_instructions": "text", "vulkan_loader": "text",
        "validation": "bool", "debug_labels": "bool", "low_priority": "bool", "async_compute": "bool", "self_test": "bool"}


@dataclass
class UploadOptions:
    """The types in which Device.upload stores tensors.

    - only_matrices: Only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become f32. Needs
    keep_dtype to be false."""

    dtype: Optional[str] = None
    only_matrices: bool = False

    _ctype: ClassVar[str] = "heed_upload_options"
    _kinds: ClassVar[Dict[str, Any]] = {"dtype": _words.DTYPE, "only_matrices": "bool"}


@dataclass
class CompileOptions:
    """How Device.compile compiles a graph. The defaults suit a program that runs a trained network.

    - training: dropout acts; without it, dropout leaves no dispatch in the plan.
    - timestamps: measure GPU time per pass (Plan.timings, vulkan.record_some)
    - strict: Makes it an error (InvalidArgument) that an uploaded weight is declared neither by this graph nor by one that was
    compiled before with the same Weights. Otherwise it is a warning at the plan's first run.
    - memory_limit: A plan that needs more device memory than this many bytes is refused before anything is allocated:
    OutOfDeviceMemory, on the CPU OutOfMemory, with both numbers in the log. Weights and States are not counted.
    - host_scratch: Vulkan: heed allocates no scratch. The host gives it (vulkan.bind_scratch) before the plan is recorded or run;
    several plans may share one. The CPU device ignores this: its plans share scratch by themselves.
    - record_slots: How many recordings of this plan may be in flight at once, 1 to 16. They share one scratch, so they must not
    overlap in time. On one queue record orders them; on several queues the host must, or it compiles one plan for each.
    - pipelines: one of "now", "deferred", "background".
    - round_rows: Lets matmuls with quantized weights round the rows of a to 8 bits, as llama.cpp does. Each 32 neighbours get a
    scale, the largest magnitude / 127, and sums inside a block of the weight are integers. The error of a result is at most the sum
    over k of |weight| * scale / 2, beside that of f32 sums; a row with an infinite value or NaN gives NaN. Without this option the
    dequantized weights and the unrounded rows enter the sums.  Where it acts (PassInfo.why says so for each pass, DeviceInfo.reason
    for the device): - The CPU device, where its instructions make it faster: x86 with AVX2 or AVX-512 (tests/bench/README.md
    compares both). - Vulkan devices, for many rows of f32, whose drivers have integer matrix units that are deeper than those for
    f16, whose fragments   have fewer than 16 rows (VK_KHR_cooperative_matrix with shaderInt8, for Q6_K at most 16 deep), or that
    have no matrix units but fast   dot products of bytes (Vulkan 1.3 with shaderIntegerDotProduct,
    integerDotProduct4x8BitPackedSignedAccelerated). - Other Vulkan devices with matrix units round many rows of f32 and the weights
    to f16 instead, for one f16 matmul with sums in f32.   Let A and B be the largest magnitudes of finite elements of rows and
    weights, but at least 2^-113. The error of a result is then at   most 2^-9 * (1 + 2^-11) * (sum over k of |a| |b|) + 2^-24 * k *
    A * B, beside that of f32 sums. The first summand is below half of   the CPU's bound. For infinities and NaN, results below
    2^-126 and their last bits see emulate_f32.  A matmul that both options allow is rounded. All other operations are unchanged.
    - emulate_f32: Lets Vulkan devices with matrix units (VK_KHR_cooperative_matrix, f16 with sums in f32) use them for matmuls of
    many rows whose a [.., m, k] is f32 and whose b [.., k, n] is f32 or quantized. Each element is split into two summands of f16,
    and three f16 matmuls are added up in f32. Let A and B be the largest magnitudes of finite elements of a and b, but at least
    2^-113. The error of an element is at most   2^-21 * (sum over k of |a| |b|) + 2^-38 * k * A * B, beside that of sums in f32;
    results below 2^-126 may be 0. So elements count fully down to 2^-16 of their operand's largest one; an element below 2^-39 of
    it may count as 0.  If the rows of a or columns of b of a tile (32x64 to 128x128 results) hold an infinity or NaN, f32
    arithmetic computes the tile, as IEEE 754 defines it, which takes many times as long. The last bits of a result may depend on
    rows and columns beside its own.  It pays where matrix units have more than three times the rate of f32
    (tests/gpu/profile/README.md). No driver reports that, but heed.tune measures it: sizes for which f32 arithmetic was clearly
    faster keep it. All else is unchanged: other types, few rows, devices without matrix units, the CPU device. PassInfo.why says
    what a pass uses.
    - reproducible: Results have the same bits on every device that can promise it, on every instruction set of the CPU, for any
    number of threads, any batch and any split of the work. Each operation, gradients and optimizers included, sums in one order and
    rounds in one sequence; tests/reproducible/README.md defines both. What changes: - Two roundings replace a fused multiply-add.
    exp, tanh and division are made of additions and multiplications. Error bounds stay. - Attention is computed as matmul, softmax
    and matmul, its gradient likewise. - Tensors of f16 and bf16 are rounded to nearest even by casts and where the host sees them.
    Between passes they are f32, and take its   memory. - Values of keys with a weight below 2^-51, hidden ones among them, add
    nothing, even if they are infinite or NaN. - round_rows and emulate_f32 have no effect.  Unsupported, with the missing feature:
    a Vulkan device that does not report shaderRoundingModeRTEFloat32 and shaderSignedZeroInfNanPreserveFloat32; a pass of the
    host's own.
    - progress: Vulkan: notes each finished pass in host-visible memory, so that the last one is known when the device is lost: run
    names it in the log, and vulkan.last_completed returns it. Each pass then also fills 4 bytes; the fill waits for the passes
    before it and delays none after it. For finding faults, not for a shipped game."""

    training: bool = False
    timestamps: bool = False
    strict: bool = False
    memory_limit: int = 2**64 - 1
    host_scratch: bool = False
    record_slots: int = 2
    pipelines: str = "now"
    round_rows: bool = False
    emulate_f32: bool = False
    reproducible: bool = False
    progress: bool = False

    _ctype: ClassVar[str] = "heed_compile_options"
    _kinds: ClassVar[Dict[str, Any]] = {"training": "bool", "timestamps": "bool", "strict": "bool", "memory_limit": "int",
        "host_scratch": "bool", "record_slots": "int", "pipelines": _words.PIPELINE_CREATION, "round_rows": "bool",
        "emulate_f32": "bool", "reproducible": "bool", "progress": "bool"}


@dataclass
class GradientOptions:
    """Memory options of gradients.

    - remat: Layers whose activations are recomputed in the backward pass instead of kept (Chen et al. 2016, arXiv:1604.06174).
    `remat` is a NAME of labels: a layer is everything in the graph from the first to the last operation whose label is NAME.i or
    begins with "NAME.i.", for one number i. The stacks of heed.nn label their layers by the names of their weights, "model.layers".
    Results of a layer's forward passes that its backward passes read are recomputed from the layer's inputs, right before they are
    read, with the same bits and the same dropout. Results that others read, such as the layer's output, are kept. A layer is kept
    as a whole if it writes a state or reads one that is written later, draws a sample, or has passes of the host's; so are layers
    within each other. Empty: everything is kept."""

    remat: Optional[str] = None

    _ctype: ClassVar[str] = "heed_gradient_options"
    _kinds: ClassVar[Dict[str, Any]] = {"remat": "text"}


@dataclass
class OptimizerOptions:
    """How an Optimizer updates weights.

    - rule: one of "adamw", "sgd".
    - momentum: for Sgd; without it there are no moments.
    - nesterov: Nesterov's momentum, for Sgd with momentum.
    - accumulate: Adds up the gradients of several runs until a run with StepNumbers.apply takes the step and sets them to zero.
    - prefix: prefix of the names of states and of the input."""

    rule: str = "adamw"
    momentum: bool = True
    nesterov: bool = False
    accumulate: bool = False
    prefix: str = "optimizer"

    _ctype: ClassVar[str] = "heed_optimizer_options"
    _kinds: ClassVar[Dict[str, Any]] = {"rule": _words.UPDATE_RULE, "momentum": "bool", "nesterov": "bool", "accumulate": "bool",
        "prefix": "text"}


@dataclass
class StepNumbers:
    """The numbers of one step, for a group of weights. The last five apply to all groups and are read from group 0.

    - rate: the learning rate.
    - weight_decay: a step subtracts rate * weight_decay * weight.
    - beta1: Sgd: the momentum.
    - beta2: "adamw"'s decay of the second moment.
    - eps: "adamw" adds it to the root of the second moment.
    - apply: false: the run only adds to the gradients.
    - runs: number of runs whose gradients were added up; the step uses their mean.
    - loss_scale: the factor of the loss (Optimizer.loss_scale); gradients are divided by it.
    - max_norm: gradients of a larger norm are scaled to it, as by torch.nn.utils.clip_grad_norm_; 0: off."""

    rate: float = 1e-3
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    apply: bool = True
    runs: int = 1
    loss_scale: float = 1.0
    max_norm: float = 0.0

    _ctype: ClassVar[str] = "heed_step_numbers"
    _kinds: ClassVar[Dict[str, Any]] = {"rate": "float", "weight_decay": "float", "beta1": "float", "beta2": "float", "eps": "float",
        "apply": "bool", "runs": "int", "loss_scale": "float", "max_norm": "float"}


@dataclass
class LossScale:
    """Dynamic loss scale for gradients that pass through f16 (Micikevicius et al. 2018, arXiv:1710.03740). It is halved at a skipped
    step and doubled after `grow_after` consecutive steps that were taken, which `good` counts. It stays within `least` and `most`."""

    scale: float = 65536.0
    least: float = 1.0
    most: float = 16777216.0
    grow_after: int = 2000
    good: int = 0

    _ctype: ClassVar[str] = "heed_loss_scale"
    _kinds: ClassVar[Dict[str, Any]] = {"scale": "float", "least": "float", "most": "float", "grow_after": "int", "good": "int"}


@dataclass
class InitialOptions:
    """How initial_values draws a weight.

    - kind: one of "zeros", "ones", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal".
    - mean: for Normal.
    - deviation: for Normal.
    - gain: for Xavier and Kaiming.
    - seed: key of the random bits.
    - stream: number of the random stream: use a different one for each weight of a model."""

    kind: str = "normal"
    mean: float = 0.0
    deviation: float = 1.0
    gain: float = 1.0
    seed: int = 0
    stream: int = 0

    _ctype: ClassVar[str] = "heed_initial_options"
    _kinds: ClassVar[Dict[str, Any]] = {"kind": _words.INITIAL, "mean": "float", "deviation": "float", "gain": "float", "seed": "int",
        "stream": "int"}


@dataclass
class BertConfig:
    """The network as a Hugging Face config.json describes it. Names in brackets are those of the file's fields.

    - vocabulary: [vocab_size] rows of the word table.
    - width: [hidden_size].
    - layers: [num_hidden_layers] at most nn.kMaxLayers.
    - heads: [num_attention_heads] must divide width.
    - hidden: [intermediate_size].
    - positions: [max_position_embeddings] the longest input.
    - types: [type_vocab_size].
    - activation: one of "none", "relu", "gelu_erf", "gelu_tanh", "silu", "tanh". [hidden_act].
    - eps: [layer_norm_eps].
    - pad_id: [pad_token_id]."""

    vocabulary: int = 30522
    width: int = 768
    layers: int = 12
    heads: int = 12
    hidden: int = 3072
    positions: int = 512
    types: int = 2
    activation: str = "gelu_erf"
    eps: float = 1e-12
    pad_id: int = 0

    _ctype: ClassVar[str] = "heed_bert_config"
    _kinds: ClassVar[Dict[str, Any]] = {"vocabulary": "int", "width": "int", "layers": "int", "heads": "int", "hidden": "int",
        "positions": "int", "types": "int", "activation": _words.ACTIVATION, "eps": "float", "pad_id": "int"}


@dataclass
class BertOptions:
    """Options of nn.bert: which results it computes, and in which types.

    - dtype: f32, f16 or bf16: storage of the weights and of all results.
    - weight_dtype: Storage of matrices and tables: f16 or bf16 if `dtype` is f32. Default: `dtype`. Upload the weights with
    {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}.
    - pooler: compute BertResult.pooled.
    - attention: compute BertResult.attention.
    - joined_qkv: the weights are those of BertWeights; false: those of the checkpoint.
    - types: token types, i32 [B, S]; if invalid, all are 0."""

    dtype: str = "f32"
    weight_dtype: Optional[str] = None
    pooler: bool = False
    attention: bool = False
    joined_qkv: bool = True
    types: Optional[Tensor] = None

    _ctype: ClassVar[str] = "heed_bert_options"
    _kinds: ClassVar[Dict[str, Any]] = {"dtype": _words.DTYPE, "weight_dtype": _words.DTYPE, "pooler": "bool", "attention": "bool",
        "joined_qkv": "bool", "types": "tensor"}


@dataclass
class DecoderConfig:
    """The numbers of a checkpoint's config.json, or of a GGUF file's metadata (<heed/decoder_model.hpp> reads both). Weights have
    Hugging Face's names. Factors of norms are complete: Gemma's checkpoints store them minus 1, and loading adds it.

    - family: one of decoder_families(); only read during calls.
    - width: width of a token's embedding.
    - heads: number of query heads.
    - kv_heads: number of key and value heads; 0: heads.
    - head_width: 0: width / heads.
    - hidden: width of the feed-forward; 0: four times the width.
    - vocabulary: rows of the table of tokens.
    - positions: The longest text of the training, in tokens. With a table of positions (gpt2): its rows, and the most tokens of a
    conversation.
    - window: The sliding window of attention, in tokens ("sliding_window"; AttentionOptions.window). 0: none. It applies to layers
    from `window_from` on (Qwen's "max_window_layers"), except every `full_every`th layer, which attends to all tokens: layers
    full_every - 1, 2 full_every - 1, ... (2 where layers alternate; Gemma's "sliding_window_pattern"). full_every 0: no such
    layers, as in Mistral.
    - eps: added under the root of the norms.
    - rotary: base and scaling; not of gpt2.
    - window_base: The rotary base of layers with a sliding window, which then have no scaling (Gemma's "rope_local_base_freq"). 0:
    as in the other layers.
    - score_width: Attention scores are divided by the square root of this (Gemma's "query_pre_attn_scalar"). 0: head_width.
    - tied: true: logits are matmuls with the token table; false: with the matrix "lm_head.weight".
    - in_out: gpt2: matrices are stored as [in, out]; false: as [out, in], as in GGUF files."""

    family: str = "llama"
    layers: int = 0
    width: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_width: int = 0
    hidden: int = 0
    vocabulary: int = 0
    positions: int = 0
    window: int = 0
    window_from: int = 0
    full_every: int = 0
    eps: float = 1e-5
    rotary: RotaryOptions = field(default_factory=RotaryOptions)
    window_base: float = 0.0
    score_width: int = 0
    tied: bool = True
    in_out: bool = True

    _ctype: ClassVar[str] = "heed_decoder_config"
    _kinds: ClassVar[Dict[str, Any]] = {"family": "text", "layers": "int", "width": "int", "heads": "int", "kv_heads": "int",
        "head_width": "int", "hidden": "int", "vocabulary": "int", "positions": "int", "window": "int", "window_from": "int",
        "full_every": "int", "eps": "float", "rotary": "struct", "window_base": "float", "score_width": "int", "tied": "bool",
        "in_out": "bool"}


@dataclass
class DecoderOptions:
    """What nn.decoder computes, and in which types.

    - cache: capacity 0: every run has all tokens.
    - all_logits: logits of every token, not only of a run's last one.
    - attention: gives the attention weights; attentions then store them (AttentionOptions.return_weights)
    - last: Which token of each row gives logits, i32 [B, 1], where rows of a batch have different numbers of tokens. 0 is the run's
    first token; -1 gives logits of a row of zeros. Default: the last token of a run.
    - weight_dtype: Storage of matrices and tables: f16 or bf16 if `dtype` is f32. Default: `dtype`. Upload the weights with
    {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}. A weight that the graph already has keeps its type.
    - prefix: Precedes all names. States are named after the attentions: "model.layers.0.self_attn.keys" behind the prefix."""

    cache: Cache = field(default_factory=Cache)
    all_logits: bool = False
    attention: bool = False
    last: Optional[Tensor] = None
    dtype: str = "f32"
    weight_dtype: Optional[str] = None
    prefix: Optional[str] = None

    _ctype: ClassVar[str] = "heed_decoder_options"
    _kinds: ClassVar[Dict[str, Any]] = {"cache": "struct", "all_logits": "bool", "attention": "bool", "last": "tensor",
        "dtype": _words.DTYPE, "weight_dtype": _words.DTYPE, "prefix": "text"}


@dataclass
class TextEncoderOptions:
    """The types and sizes with which a TextEncoder works.

    - dtype: f32, or f16 or bf16 if the device supports them.
    - weight_dtype: Storage of matrices and tables; default: dtype. If dtype is f32, this may be f16 or bf16, which takes half the
    memory and half the reads per run; matmuls still sum in f32 (see Graph.matmul).
    - keep_weight_dtype: store them as the checkpoint does (BertWeights.dtype), whatever weight_dtype is.
    - max_batch: texts that run together.
    - max_tokens: The longest input in tokens, with [CLS] and [SEP]. 0: the number in sentence_bert_config.json, or without that
    file the model's positions.
    - timestamps: see CompileOptions.
    - reproducible: see CompileOptions: vectors have the same bits on every device."""

    dtype: str = "f32"
    weight_dtype: Optional[str] = None
    keep_weight_dtype: bool = False
    max_batch: int = 32
    max_tokens: int = 0
    timestamps: bool = False
    reproducible: bool = False

    _ctype: ClassVar[str] = "heed_text_encoder_options"
    _kinds: ClassVar[Dict[str, Any]] = {"dtype": _words.DTYPE, "weight_dtype": _words.DTYPE, "keep_weight_dtype": "bool",
        "max_batch": "int", "max_tokens": "int", "timestamps": "bool", "reproducible": "bool"}


@dataclass
class TextSampling:
    """How tokens are drawn; SampleOptions explains the members. The draws of a conversation depend on its seed and on how many there
    were, not on other conversations.

    - temperature: 0: always the most likely token.
    - top_k: keeps the k most likely tokens; 0: all.
    - top_p: keeps the fewest of the most likely tokens with this total probability; 1: all.
    - min_p: keeps tokens with at least this share of the largest probability.
    - repetition_penalty: for all tokens of the conversation except control tokens.
    - seed: seed of the draws."""

    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    seed: int = 0

    _ctype: ClassVar[str] = "heed_text_sampling"
    _kinds: ClassVar[Dict[str, Any]] = {"temperature": "float", "top_k": "int", "top_p": "float", "min_p": "float",
        "repetition_penalty": "float", "seed": "int"}


@dataclass
class TextGeneratorOptions:
    """The sizes and types of a language model and its conversations.

    - context: The most tokens of a conversation. 0: as many as the model was trained with, at most 4096. A conversation allocates
    memory for all of them when it begins (TextGenerator.conversation_bytes).
    - read: the most prompt tokens that one step reads.
    - together: The most conversations, 1 to 64, that decode as one batch, which reads each weight once for all of them. They share
    a State with one row each; the first conversation in a State allocates memory for all rows: together x conversation_bytes().
    Further conversations use another State, whose runs alternate with those of the first. Matmuls of up to eight rows read weights
    fastest on all devices.
    - weight_dtype: Storage of matrices and tables: f32, f16 or bf16. Default: as in the file, also if it is quantized; if the
    device cannot compute with that, f16, with a warning in the log.
    - cache_dtype: Storage of keys and values (Cache.dtype): f16 or bf16 beside a dtype of f32, for half the memory of a
    conversation, if the device supports it.
    - round_rows: Lets matmuls with quantized weights round their rows where that is faster (CompileOptions.round_rows). It may
    change words of answers.
    - reproducible: Answers have the same tokens on every device (CompileOptions.reproducible)."""

    context: int = 0
    read: int = 128
    together: int = 1
    dtype: str = "f32"
    weight_dtype: Optional[str] = None
    cache_dtype: Optional[str] = None
    round_rows: bool = False
    reproducible: bool = False

    _ctype: ClassVar[str] = "heed_text_generator_options"
    _kinds: ClassVar[Dict[str, Any]] = {"context": "int", "read": "int", "together": "int", "dtype": _words.DTYPE,
        "weight_dtype": _words.DTYPE, "cache_dtype": _words.DTYPE, "round_rows": "bool", "reproducible": "bool"}


@dataclass
class TextConversationOptions:
    """How a conversation begins, draws tokens and ends its answers.

    - system: the first message; "": none, or the template's default.
    - sampling: TextSampling.
    - grammar: A grammar for answers (<heed/grammar.hpp>), of which "root" is the whole answer. Tokens that would violate it are
    never drawn, and the answer ends only where the root may. The sampling applies to the remaining tokens. "": no grammar. An
    answer that ends for another reason, such as most_tokens or a stop string, may be incomplete: see TextEnd. The first
    conversation with a grammar compiles additional plans; conversations without one keep using theirs.
    - most_tokens: per answer; 0: as many as fit into the context, or unlimited for "drop_oldest".
    - overflow: one of "drop_oldest", "stop".
    - keep_tokens: number of first tokens of a raw text that are kept; see "drop_oldest".
    - think: see ChatOptions.
    - date: see ChatOptions; read by TextGenerator.begin."""

    system: Optional[str] = None
    sampling: TextSampling = field(default_factory=TextSampling)
    grammar: Optional[str] = None
    most_tokens: int = 0
    overflow: str = "drop_oldest"
    keep_tokens: int = 4
    think: bool = True
    date: Optional[str] = None

    _ctype: ClassVar[str] = "heed_conversation_options"
    _kinds: ClassVar[Dict[str, Any]] = {"system": "text", "sampling": "struct", "grammar": "text", "most_tokens": "int",
        "overflow": _words.OVERFLOW, "keep_tokens": "int", "think": "bool", "date": "text"}


@dataclass
class TextSaveOptions:
    """What is saved of a conversation beside its messages, tokens, settings and number of draws, which take a few KB.

    - keys: Also saves keys and values, so that no token is read again after loading. Each token needs
    TextGenerator.conversation_bytes() / context() bytes."""

    keys: bool = False

    _ctype: ClassVar[str] = "heed_text_save_options"
    _kinds: ClassVar[Dict[str, Any]] = {"keys": "bool"}


@dataclass
class SpeechRecognizerOptions:
    """In which types a recognizer stores weights and caches, and how it computes.

    - weight_dtype: Storage of matrices: f32, f16, bf16 or Q8_0; values are rounded to it, except those of convolutions and
    positions. Default: as in the file.
    - cache_dtype: Storage of keys and values: f16 or bf16, for half the memory of a stream, if the device supports it. Default:
    f32.
    - round_rows: see CompileOptions; may change words.
    - reproducible: see CompileOptions: the same tokens on every device.
    - timestamps: see CompileOptions: record_step fills its budget by measured times."""

    weight_dtype: Optional[str] = None
    cache_dtype: Optional[str] = None
    round_rows: bool = False
    reproducible: bool = False
    timestamps: bool = False

    _ctype: ClassVar[str] = "heed_speech_recognizer_options"
    _kinds: ClassVar[Dict[str, Any]] = {"weight_dtype": _words.DTYPE, "cache_dtype": _words.DTYPE, "round_rows": "bool",
        "reproducible": "bool", "timestamps": "bool"}


@dataclass
class SpeechOptions:
    """Options of a stream. Sound is processed in windows of 30 seconds (SpeechRecognizer.window_samples).

    - language: The spoken language, for models of several languages: "en", "de", ... Default: the model detects it for each window.
    - task: one of "transcribe", "translate".
    - timestamps: The model tells when segments begin and end. A window begins where the last complete segment ended, so that no
    word is cut. Without it windows follow each other without gaps, and each is one segment.
    - most_tokens: per window; 0: half of the decoder's capacity.
    - words: fills SpeechSegment.words, for which each window is decoded once more.
    - least_log_probability: A window is doubtful if the mean of log(probability) of its tokens is lower than this,.
    - least_entropy: or if its ids repeat so much that the entropy of the last 32, in nats, is lower than this.
    - temperature_step: A doubtful window is decoded again by sampling; each time the temperature rises by this much, up to 1. 0: no
    further attempts.
    - seed: seed of the sampling.
    - most_no_speech: A window counts as silence, without segments, if the probability of no speech is above this and the mean is
    below least_log_probability.
    - pause_seconds: Of streams: a window also ends where the sound stays below `pause_level` (root mean square; full scale is 1)
    for this many seconds, at most half a window, so that text becomes final before 30 seconds are full. The rest of the pause is
    skipped. 0: windows do not end at pauses.
    - partial_seconds: Of streams: the incomplete window is decoded each time this many more seconds have arrived, for
    SpeechPiece.partial. 0: never."""

    language: Optional[str] = None
    task: str = "transcribe"
    timestamps: bool = True
    most_tokens: int = 0
    words: bool = False
    least_log_probability: float = -1.0
    least_entropy: float = 2.4
    temperature_step: float = 0.2
    seed: int = 0
    most_no_speech: float = 0.6
    pause_seconds: float = 0
    pause_level: float = 0.01
    partial_seconds: float = 0

    _ctype: ClassVar[str] = "heed_speech_options"
    _kinds: ClassVar[Dict[str, Any]] = {"language": "text", "task": _words.SPEECH_TASK, "timestamps": "bool", "most_tokens": "int",
        "words": "bool", "least_log_probability": "float", "least_entropy": "float", "temperature_step": "float", "seed": "int",
        "most_no_speech": "float", "pause_seconds": "float", "pause_level": "float", "partial_seconds": "float"}


class AttentionResult(NamedTuple):
    """Results of Graph.attention.

    - output: [B, H, S_q, d_v].
    - weights: [B, H, S_q, S_kv] before dropout; None unless return_weights.
    - log_sum_exp: [B, H, S_q] in f32; None unless return_log_sum_exp. The natural logarithm of the sum of exp(logit) over the
    visible keys, where a logit is scale q.k + bias, or masked_fill; -inf for a row without a visible key. The mean of outputs over
    parts of the keys, weighted by exp(log_sum_exp), is the output over all keys. On Vulkan, without softcap, d_k must be a constant
    up to 256, and lengths or positions exclude giving all three of key_padding, mask and bias.
    - scores: [B, H, S_q, S_kv] of the queries' type; None unless return_scores."""

    output: Tensor
    weights: Optional[Tensor]
    log_sum_exp: Optional[Tensor]
    scores: Optional[Tensor]


class TopKResult(NamedTuple):
    """Results of Graph.top_k.

    - values: has x's type and shape, but size k along the axis.
    - indices: i32, of the same shape."""

    values: Tensor
    indices: Tensor


class CrossEntropyResult(NamedTuple):
    """Results of nn.cross_entropy.

    - loss: f32: the labels' shape, or [1] if reduced.
    - log_probabilities: log_softmax of the logits; takes a pass if it is used."""

    loss: Tensor
    log_probabilities: Tensor


class TransformerResult(NamedTuple):
    """Results of nn.transformer.

    - encoded: [B, S, C].
    - decoded: [B, T, C].
    - logits: [B, T, vocabulary].
    - probabilities: softmax of the logits.
    - weights: of each attention of the options, if it asks for them."""

    encoded: Tensor
    decoded: Tensor
    logits: Tensor
    probabilities: Tensor
    weights: Tuple[Optional[Tensor], ...]


# One weight holds queries, keys and values: the default names of self_attention.
FUSED_QKV = AttentionNames(qkv="wqkv", out="wo")

# One weight holds keys and values: the default names of cross_attention.
FUSED_KV = AttentionNames(q="wq", kv="wkv", out="wo")

# Queries, keys and values have a weight each: the default names of attention.
SEPARATE = AttentionNames(q="w_q", k="w_k", v="w_v", out="w_o")

# torch.nn.MultiheadAttention with equal widths: in_proj_weight [3C, C], in_proj_bias, out_proj.
TORCH_MULTIHEAD = AttentionNames(qkv="in_proj_", out="out_proj")

# What may be given by name.
NAMED: Dict[str, Any] = {"fused_qkv": FUSED_QKV, "fused_kv": FUSED_KV, "separate": SEPARATE, "torch_multihead": TORCH_MULTIHEAD}
