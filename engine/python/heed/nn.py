"""Attention layers and transformer stacks, made of graph calls.

    x = g.input("x", [1, g.extent("tokens", 512), 768])
    g.output("y", heed.nn.encoder_layer(x, "encoder.layers.0", attention=heed.nn.MultiHeadOptions(heads=12)))

Weights are asked for by name: the prefix, a dot, and a name of PyTorch's modules, in PyTorch's layouts, so that
`device.upload(module.state_dict())` has them. A linear layer `name` is name.weight [out, in] and name.bias [out]; a name that ends
in "_" continues without a dot ("in_proj_" is in_proj_weight). Activations are [B, S, C]; attention also takes [S, C].

Options are dataclasses; functions also take their fields as keywords. include/heed/nn.hpp is the manual.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Optional, Tuple, Type, TypeVar, Union

from . import _c
from ._c import Keep, encoded, ffi, lib, pack
from .models import BertResult, DecoderResult, bert, decoder, mean_sentence
from .tensor import AttentionResult, Mask, Size, Tensor, graph_of

# --- Options -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class AttentionNames:
    """The projections of an attention. One weight holds queries, keys and values if `qkv` is set. Else `q` holds the queries, and keys
    and values are together in `kv`, or in `k` and `v`. Without `out` there is no output projection."""

    qkv: Optional[str] = None
    q: Optional[str] = None
    kv: Optional[str] = None
    k: Optional[str] = None
    v: Optional[str] = None
    out: Optional[str] = None
    q_norm: Optional[str] = None  # an RMSNorm of each head's queries or keys
    k_norm: Optional[str] = None
    in_out: bool = False  # projections other than `out` are [in, out] without bias and without ".weight"
    transposed: bool = False  # all matrices are [in, out], as those of GPT-2


@dataclasses.dataclass
class RotaryOptions:
    """As the keywords of Graph.rotary."""

    pairs: str = "halves"
    width: int = 0
    base: float = 10000.0
    first: Size = 0
    positions: Optional[Tensor] = None
    scaling: Optional[str] = None
    factor: float = 1.0
    low: float = 1.0
    high: float = 4.0
    trained_length: int = 8192


@dataclasses.dataclass
class Cache:
    """Keys and values that stay from run to run, in the states prefix.keys and prefix.values [B, kv_heads, capacity, width]."""

    capacity: int
    past: Size = 0  # tokens that are there before the run; usually made by Graph.position
    dtype: Optional[str] = None  # "f16" or "bf16" beside activations of f32
    positions: Optional[Tensor] = None  # i32 [B, S], for rows of different lengths; -1: no token
    rows: int = 0  # rows of the states, of which a run has those from `row` on; 0: as many as the batch
    row: Size = 0
    token_rows: Optional[Tensor] = None  # i32 [1, S]: instead of `row`, the row of each token
    token_of_rows: Optional[Tensor] = None  # i32 [rows, 1]: which of the run's tokens a row has; -1: none
    token_positions: Optional[Tensor] = None  # i32 [rows, 1]: the position of that token; -1: none


_NAMINGS = {None: 0, "fused_qkv": 1, "fused_kv": 2, "separate": 3, "torch_multihead": 4}


@dataclasses.dataclass
class MultiHeadOptions:
    """Of an attention with projections. 0 is a default: kv_heads is heads, d_k the width of queries by heads, d_v d_k, and out_width
    the width of the query."""

    heads: int = 1
    kv_heads: int = 0
    d_k: int = 0
    d_v: int = 0
    out_width: int = 0
    # "fused_qkv" (wqkv, wo), "fused_kv" (wq, wkv, wo), "separate" (w_q, w_k, w_v, w_o), "torch_multihead" (in_proj_, out_proj) or
    # others; each function says its default.
    names: Union[AttentionNames, str, None] = None
    bias: bool = True  # of the projections of queries, keys and values
    out_bias: bool = True
    weight_dtype: Optional[str] = None
    scale: Optional[float] = None  # 1 / sqrt(d_k)
    causal: Optional[str] = None  # "top_left" or "bottom_right"
    window: int = 0
    lengths: Optional[Tensor] = None  # i32 [B]
    positions: Optional[Tensor] = None  # i32 [B]
    key_padding: Optional[Mask] = None  # [B, S_kv]
    mask: Optional[Mask] = None  # broadcast to [B, heads, S_q, S_kv]
    score_bias: Optional[Tensor] = None  # the same
    masked_fill: Optional[float] = None
    rotary: Optional[RotaryOptions] = None
    cache: Optional[Cache] = None
    head_norm_eps: float = 1e-6
    attention_dropout: float = 0.0
    output_dropout: float = 0.0
    return_weights: bool = False  # the function then also returns the weights [B, heads, S_q, S_kv], a stack those of its last layer

    def _pack(self, struct: Any, keep: Keep) -> None:
        keep.weights.append(ffi.new("heed_tensor *") if self.return_weights else None)
        if self.return_weights:
            struct.weights = keep.weights[-1]
        if not isinstance(self.names, AttentionNames):
            if self.names not in _NAMINGS:
                raise ValueError(f"names is {self.names!r}, must be AttentionNames or one of {', '.join(map(repr, _NAMINGS))}")
            struct.naming = _NAMINGS[self.names]


@dataclasses.dataclass
class NormOptions:
    placement: str = "post"  # norm(x + f(x)); "pre": x + f(norm(x))
    kind: str = "layer"  # or "rms"
    eps: float = 1e-5


@dataclasses.dataclass
class AttentionBlockNames:
    """Names behind the prefix of a layer; None: those of torch.nn's layers."""

    attention: Optional[str] = None
    norm: Optional[str] = None


@dataclasses.dataclass
class FeedForwardOptions:
    hidden: int = 0  # 0: four times the width of x
    activation: str = "relu"
    first: Optional[str] = None  # "linear1"
    second: Optional[str] = None  # "linear2"
    gate: Optional[str] = None  # second(activation(gate(x)) * first(x))
    transposed: bool = False
    bias: bool = True
    weight_dtype: Optional[str] = None
    hidden_dropout: float = 0.0
    output_dropout: float = 0.0


@dataclasses.dataclass
class FeedForwardBlockNames:
    """Names behind the prefix of a layer; without `feed_forward` the linear layers lie directly below it."""

    feed_forward: Optional[str] = None
    norm: Optional[str] = None


def _default(kind: Any) -> Any:
    return dataclasses.field(default_factory=kind)


@dataclasses.dataclass
class EncoderLayerOptions:
    attention: MultiHeadOptions = _default(MultiHeadOptions)
    feed_forward: FeedForwardOptions = _default(FeedForwardOptions)
    norm: NormOptions = _default(NormOptions)
    attention_names: AttentionBlockNames = _default(AttentionBlockNames)
    feed_forward_names: FeedForwardBlockNames = _default(FeedForwardBlockNames)


@dataclasses.dataclass
class DecoderLayerOptions:
    """A decoder layer is causal only if self_attention says so."""

    self_attention: MultiHeadOptions = _default(MultiHeadOptions)
    cross_attention: MultiHeadOptions = _default(MultiHeadOptions)
    feed_forward: FeedForwardOptions = _default(FeedForwardOptions)
    norm: NormOptions = _default(NormOptions)
    self_names: AttentionBlockNames = _default(AttentionBlockNames)
    cross_names: AttentionBlockNames = _default(AttentionBlockNames)
    feed_forward_names: FeedForwardBlockNames = _default(FeedForwardBlockNames)


class TransformerResult(NamedTuple):
    encoded: Tensor  # [B, S, C]
    decoded: Tensor  # [B, T, C]
    logits: Tensor  # [B, T, vocabulary]
    probabilities: Tensor
    weights: Tuple[Optional[Tensor], ...]  # of the last encoder layer, the last decoder layer, and its cross-attention, if asked for


# --- Between Python and C ------------------------------------------------------------------------------------------------

T = TypeVar("T")
# The output, or with return_weights the output and the weights of each attention.
Result = Any


def _options(kind: Type[T], options: Optional[T], fields: Any) -> T:
    if options is None:
        return kind(**fields)
    if not isinstance(options, kind):
        raise TypeError(f"options must be {kind.__name__}, not {type(options).__name__}")
    return dataclasses.replace(options, **fields) if fields else options  # type: ignore[type-var]


def _call(function: str, tensors: Tuple[Tensor, ...], prefix: str, *more: Any, keep: Optional[Keep] = None) -> Result:
    """heed_nn_FUNCTION, with the weights that it gave through `keep`."""
    g = graph_of(tensors[0])
    ids = [g._tensor_id(t, "a tensor") for t in tensors]
    y = g._new(getattr(lib, "heed_nn_" + function)(g._c, *ids, encoded(prefix, "prefix"), *more))
    if keep is None or not any(keep.weights):
        return y
    return (y, *(Tensor(g, w[0]) if w else None for w in keep.weights))


def _c_text(value: Optional[str], what: str) -> Any:
    return ffi.NULL if value is None else ffi.new("char[]", encoded(value, what))


# --- Layers --------------------------------------------------------------------------------------------------------------


def linear(x: Tensor, prefix: str, out: int, *, bias: bool = True, weight_dtype: Optional[str] = None) -> Tensor:
    """x [..., in] -> [..., out]."""
    return _call("linear", (x,), prefix, out, int(not bias), _c.word("weight_dtype", weight_dtype))


def layernorm(x: Tensor, prefix: str, eps: float = 1e-5) -> Tensor:
    return _call("layernorm", (x,), prefix, eps)


def rmsnorm(x: Tensor, prefix: str, eps: float = 1e-6) -> Tensor:
    return _call("rmsnorm", (x,), prefix, eps)


def _attention(function: str, tensors: Tuple[Tensor, ...], prefix: str, options: Any, fields: Any) -> Result:
    keep = Keep()
    options = _options(MultiHeadOptions, options, fields)
    struct = pack("heed_multi_head_options", options, keep, graph_of(tensors[0]))
    return _call(function, tensors, prefix, struct, keep=keep)


def attention(query: Tensor, key: Tensor, value: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None,
              **fields: Any) -> Result:
    """Attention of query [B, S_q, C] over key and value [B, S_kv, C_kv]: [B, S_q, out_width]. Names: "separate". With return_weights,
    this and the other functions return (output, weights)."""
    return _attention("attention", (query, key, value), prefix, options, fields)


def self_attention(x: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None, **fields: Any) -> Result:
    """Attention of x over itself. Names: "fused_qkv"."""
    return _attention("self_attention", (x,), prefix, options, fields)


def cross_attention(x: Tensor, context: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None, **fields: Any) -> Result:
    """Attention of x over `context`. Names: "fused_kv"."""
    return _attention("cross_attention", (x, context), prefix, options, fields)


def single_head(query: Tensor, key: Tensor, value: Tensor, *, scale: Optional[float] = None, causal: Optional[str] = None,
                key_padding: Optional[Mask] = None, mask: Optional[Mask] = None, bias: Optional[Tensor] = None,
                masked_fill: Optional[float] = None, dropout: float = 0.0, return_weights: bool = False,
                return_log_sum_exp: bool = False) -> AttentionResult:
    """Attention without projections: query [S_q, d_k], key [S_kv, d_k], value [S_kv, d_v], or all with a batch in front."""
    g = graph_of(query)
    fields = dict(scale=scale, causal=causal, key_padding=key_padding, mask=mask, bias=bias, masked_fill=masked_fill,
                  dropout=dropout, return_weights=return_weights, return_log_sum_exp=return_log_sum_exp)
    ids = [g._tensor_id(t, "a tensor") for t in (query, key, value)]
    result = ffi.new("heed_attention_result *")
    g._new(lib.heed_nn_single_head(g._c, *ids, pack("heed_attention_options", fields, Keep(), g), result))
    return g._attention_result(result)


def attention_block(query: Tensor, key: Tensor, value: Tensor, prefix: str, names: Optional[AttentionBlockNames] = None,
                    options: Optional[MultiHeadOptions] = None, norm: Optional[NormOptions] = None) -> Result:
    """An attention with its residual connection and norm."""
    g, keep = graph_of(query), Keep()
    structs = (pack("heed_attention_block_names", names or AttentionBlockNames(), keep, g),
               pack("heed_multi_head_options", options or MultiHeadOptions(), keep, g),
               pack("heed_norm_options", norm or NormOptions(), keep, g))
    return _call("attention_block", (query, key, value), prefix, *structs, keep=keep)


def feed_forward(x: Tensor, prefix: str, options: Optional[FeedForwardOptions] = None, **fields: Any) -> Tensor:
    """second(activation(first(x))), without a residual."""
    keep = Keep()
    struct = pack("heed_feed_forward_options", _options(FeedForwardOptions, options, fields), keep, graph_of(x))
    return _call("feed_forward", (x,), prefix, struct, keep=keep)


def feed_forward_block(x: Tensor, prefix: str, names: Optional[FeedForwardBlockNames] = None,
                       options: Optional[FeedForwardOptions] = None, norm: Optional[NormOptions] = None) -> Tensor:
    """A feed-forward with its residual connection and norm."""
    g, keep = graph_of(x), Keep()
    structs = (pack("heed_feed_forward_block_names", names or FeedForwardBlockNames(), keep, g),
               pack("heed_feed_forward_options", options or FeedForwardOptions(), keep, g),
               pack("heed_norm_options", norm or NormOptions(), keep, g))
    return _call("feed_forward_block", (x,), prefix, *structs, keep=keep)


def encoder_layer(x: Tensor, prefix: str, options: Optional[EncoderLayerOptions] = None, **fields: Any) -> Result:
    """x [B, S, C] -> [B, S, C], with the weights of torch.nn.TransformerEncoderLayer."""
    keep = Keep()
    struct = pack("heed_encoder_layer_options", _options(EncoderLayerOptions, options, fields), keep, graph_of(x))
    return _call("encoder_layer", (x,), prefix, struct, keep=keep)


def decoder_layer(x: Tensor, memory: Tensor, prefix: str, options: Optional[DecoderLayerOptions] = None, **fields: Any) -> Result:
    """x [B, S, C] with memory [B, S_kv, C], the encoder's output, and the weights of torch.nn.TransformerDecoderLayer. With
    return_weights in one of the attentions: (output, weights, weights of the cross-attention), None for those not asked for."""
    keep = Keep()
    struct = pack("heed_decoder_layer_options", _options(DecoderLayerOptions, options, fields), keep, graph_of(x))
    return _call("decoder_layer", (x, memory), prefix, struct, keep=keep)


def encoder_stack(x: Tensor, prefix: str, options: Optional[EncoderLayerOptions] = None, *, layers: int,
                  final_norm: Optional[str] = None, **fields: Any) -> Result:
    """Layers prefix.0, prefix.1, ..., then, if it is named, a norm."""
    keep = Keep()
    struct = pack("heed_encoder_layer_options", _options(EncoderLayerOptions, options, fields), keep, graph_of(x))
    return _call("encoder_stack", (x,), prefix, struct, layers, _c_text(final_norm, "final_norm"), keep=keep)


def decoder_stack(x: Tensor, memory: Tensor, prefix: str, options: Optional[DecoderLayerOptions] = None, *, layers: int,
                  final_norm: Optional[str] = None, **fields: Any) -> Result:
    """Layers prefix.0, prefix.1, ..., each with the same memory, then, if it is named, a norm."""
    keep = Keep()
    struct = pack("heed_decoder_layer_options", _options(DecoderLayerOptions, options, fields), keep, graph_of(x))
    return _call("decoder_stack", (x, memory), prefix, struct, layers, _c_text(final_norm, "final_norm"), keep=keep)


def transformer(source: Tensor, target: Tensor, prefix: str = "", *, vocabulary: int,
                encoder: Optional[EncoderLayerOptions] = None, decoder: Optional[DecoderLayerOptions] = None,
                encoder_layers: int = 1, decoder_layers: int = 1, encoder_prefix: str = "encoder.layers",
                decoder_prefix: str = "decoder.layers", encoder_final_norm: Optional[str] = None,
                decoder_final_norm: Optional[str] = None, positional_encoding: bool = True, input_dropout: float = 0.0,
                out: str = "out", out_weight_dtype: Optional[str] = None) -> TransformerResult:
    """source [B, S, C] and target [B, T, C] are embedded tokens. Every decoder layer gets the last encoder layer's output."""
    g, keep = graph_of(source), Keep()
    fields = dict(encoder=encoder or EncoderLayerOptions(), decoder=decoder or DecoderLayerOptions(), vocabulary=vocabulary,
                  encoder_layers=encoder_layers, decoder_layers=decoder_layers, encoder_prefix=encoder_prefix,
                  decoder_prefix=decoder_prefix, encoder_final_norm=encoder_final_norm, decoder_final_norm=decoder_final_norm,
                  positional_encoding=positional_encoding, input_dropout=input_dropout, out=out, out_weight_dtype=out_weight_dtype)
    result = ffi.new("heed_transformer_result *")
    _c.check(lib.heed_nn_transformer(g._c, g._tensor_id(source, "source"), g._tensor_id(target, "target"), encoded(prefix, "prefix"),
                                     pack("heed_transformer_options", fields, keep, g), result))
    return TransformerResult(g._new(result.encoded), g._new(result.decoded), g._new(result.logits), g._new(result.probabilities),
                             tuple(Tensor(g, w[0]) if w else None for w in keep.weights))
