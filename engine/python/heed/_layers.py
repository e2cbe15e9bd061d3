"""Layers of heed.nn. Made by engine/c/generate.py of the C++ headers: change those, and run it."""

from __future__ import annotations

from typing import Any, Optional

from . import _words
from ._c import Keep, encoded, ffi, lib, options_of, pack, real, truth, whole, word_if
from ._options import (AttentionBlockNames, AttentionOptions, AttentionResult, CrossEntropyOptions, CrossEntropyResult,
                       DecoderLayerOptions, EncoderLayerOptions, FeedForwardBlockNames, FeedForwardOptions, MultiHeadOptions,
                       NormOptions, StackOptions, TransformerOptions, TransformerResult)
from .tensor import Mask, Tensor, graph_of


# The output, or with return_weights the output and the weights of each attention, None where they are not asked for.
Layer = Any


def linear(x: Tensor, prefix: str, out: int, bias: bool = True, weight_dtype: Optional[str] = None) -> Tensor:
    """x [..., in] -> [..., out] with the linear layer `prefix`, which has a bias if `bias` is set."""
    g = graph_of(x, "x")
    return g._new(lib.heed_nn_linear(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), whole(out, "out"), truth(bias, "bias"),
        word_if(_words.DTYPE, weight_dtype, "weight_dtype")))


def layernorm(x: Tensor, prefix: str, eps: float = 1e-5) -> Tensor:
    """LayerNorm over the last axis of x [..., C] with `prefix`.weight and `prefix`.bias."""
    g = graph_of(x, "x")
    return g._new(lib.heed_nn_layernorm(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), real(eps, "eps")))


def rmsnorm(x: Tensor, prefix: str, eps: float = 1e-6) -> Tensor:
    """RMSNorm over the last axis of x [..., C] with `prefix`.weight."""
    g = graph_of(x, "x")
    return g._new(lib.heed_nn_rmsnorm(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), real(eps, "eps")))


def attention(query: Tensor, key: Tensor, value: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None,
        **fields: Any) -> Layer:
    """Multi-head attention of `query` [B, S_q, C] over `key` and `value` [B, S_kv, C_kv], with a projection of each and of the output.
    Returns [B, S_q, out_width], or [B, S_q, heads d_v] without an output projection. All three may lack the batch: [S, C]. Default
    names: SEPARATE.

    Keywords are the fields of MultiHeadOptions."""
    g = graph_of(query, "query")
    keep = Keep()
    options, = options_of(fields, options=(MultiHeadOptions, options))
    return g._with_weights(g._new(lib.heed_nn_attention(g._c, g._id_of(query, "query"), g._id_of(key, "key"), g._id_of(value,
        "value"), encoded(prefix, "prefix"), pack(options, keep, g))), keep)


def self_attention(x: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None, **fields: Any) -> Layer:
    """Attention of x [B, S, C] over itself -> [B, S, out_width]. Default names: FUSED_QKV.

    Keywords are the fields of MultiHeadOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    options, = options_of(fields, options=(MultiHeadOptions, options))
    return g._with_weights(g._new(lib.heed_nn_self_attention(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), pack(options, keep,
        g))), keep)


def cross_attention(x: Tensor, context: Tensor, prefix: str, options: Optional[MultiHeadOptions] = None, **fields: Any) -> Layer:
    """Attention of x [B, S, C] over `context` [B, S_kv, C_kv] -> [B, S, out_width]. Default names: FUSED_KV.

    Keywords are the fields of MultiHeadOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    options, = options_of(fields, options=(MultiHeadOptions, options))
    return g._with_weights(g._new(lib.heed_nn_cross_attention(g._c, g._id_of(x, "x"), g._id_of(context, "context"), encoded(prefix,
        "prefix"), pack(options, keep, g))), keep)


def single_head(query: Tensor, key: Tensor, value: Tensor, options: Optional[AttentionOptions] = None,
        **fields: Any) -> AttentionResult:
    """Attention without projections: query [S_q, d_k], key [S_kv, d_k] and value [S_kv, d_v], or all three with a batch in front. The
    results are output [..., S_q, d_v], weights and scores [..., S_q, S_kv] and log_sum_exp [..., S_q].

    Keywords are the fields of AttentionOptions."""
    g = graph_of(query, "query")
    keep = Keep()
    options, = options_of(fields, options=(AttentionOptions, options))
    result = ffi.new("heed_attention_result *")
    g._new(lib.heed_nn_single_head(g._c, g._id_of(query, "query"), g._id_of(key, "key"), g._id_of(value, "value"), pack(options,
        keep, g), result))
    return AttentionResult(*g._all_of(result))


def attention_block(query: Tensor, key: Tensor, value: Tensor, prefix: str, names: Optional[AttentionBlockNames] = None,
        options: Optional[MultiHeadOptions] = None, norm: Optional[NormOptions] = None, **fields: Any) -> Layer:
    """`attention` with its residual connection and norm: query [B, S_q, C] -> [B, S_q, C]. Keys and values are normalized if they are
    the query's tensor.

    Keywords are the fields of AttentionBlockNames and MultiHeadOptions and NormOptions."""
    g = graph_of(query, "query")
    keep = Keep()
    names, options, norm = options_of(fields, names=(AttentionBlockNames, names), options=(MultiHeadOptions, options),
        norm=(NormOptions, norm))
    return g._with_weights(g._new(lib.heed_nn_attention_block(g._c, g._id_of(query, "query"), g._id_of(key, "key"), g._id_of(value,
        "value"), encoded(prefix, "prefix"), pack(names, keep, g), pack(options, keep, g), pack(norm, keep, g))), keep)


def feed_forward(x: Tensor, prefix: str, options: Optional[FeedForwardOptions] = None, **fields: Any) -> Tensor:
    """Position-wise feed-forward, second(activation(first(x))), without a residual: x [B, S, C] -> [B, S, C].

    Keywords are the fields of FeedForwardOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    options, = options_of(fields, options=(FeedForwardOptions, options))
    return g._new(lib.heed_nn_feed_forward(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), pack(options, keep, g)))


def feed_forward_block(x: Tensor, prefix: str, names: Optional[FeedForwardBlockNames] = None,
        options: Optional[FeedForwardOptions] = None, norm: Optional[NormOptions] = None, **fields: Any) -> Tensor:
    """`feed_forward` with its residual connection and norm: x [B, S, C] -> [B, S, C].

    Keywords are the fields of FeedForwardBlockNames and FeedForwardOptions and NormOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    names, options, norm = options_of(fields, names=(FeedForwardBlockNames, names), options=(FeedForwardOptions, options),
        norm=(NormOptions, norm))
    return g._new(lib.heed_nn_feed_forward_block(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), pack(names, keep, g),
        pack(options, keep, g), pack(norm, keep, g)))


def encoder_layer(x: Tensor, prefix: str, options: Optional[EncoderLayerOptions] = None, **fields: Any) -> Layer:
    """x [B, S, C] -> [B, S, C]. Weights: self_attn.in_proj_ [3C, C], self_attn.out_proj, linear1, linear2; norm1, norm2.

    Keywords are the fields of EncoderLayerOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    options, = options_of(fields, options=(EncoderLayerOptions, options))
    return g._with_weights(g._new(lib.heed_nn_encoder_layer(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), pack(options, keep,
        g))), keep)


def decoder_layer(x: Tensor, memory: Tensor, prefix: str, options: Optional[DecoderLayerOptions] = None, **fields: Any) -> Layer:
    """x [B, S, C] with `memory` [B, S_kv, C], the encoder's output -> [B, S, C]. Weights: those of an encoder layer,
    multihead_attn.in_proj_, multihead_attn.out_proj; norm3.

    Keywords are the fields of DecoderLayerOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    options, = options_of(fields, options=(DecoderLayerOptions, options))
    return g._with_weights(g._new(lib.heed_nn_decoder_layer(g._c, g._id_of(x, "x"), g._id_of(memory, "memory"), encoded(prefix,
        "prefix"), pack(options, keep, g))), keep)


def encoder_stack(x: Tensor, prefix: str, layer: Optional[EncoderLayerOptions] = None, stack: Optional[StackOptions] = None,
        **fields: Any) -> Layer:
    """x [B, S, C] -> [B, S, C]. Layers prefix.0, prefix.1, ... run one after the other. stack.final_norm is a full name: the prefix is
    not put before it.

    Keywords are the fields of EncoderLayerOptions and StackOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    layer, stack = options_of(fields, layer=(EncoderLayerOptions, layer), stack=(StackOptions, stack))
    return g._with_weights(g._new(lib.heed_nn_encoder_stack(g._c, g._id_of(x, "x"), encoded(prefix, "prefix"), pack(layer, keep, g),
        pack(stack, keep, g))), keep)


def decoder_stack(x: Tensor, memory: Tensor, prefix: str, layer: Optional[DecoderLayerOptions] = None,
        stack: Optional[StackOptions] = None, **fields: Any) -> Layer:
    """x [B, S, C] -> [B, S, C]. Every layer gets the same `memory` [B, S_kv, C].

    Keywords are the fields of DecoderLayerOptions and StackOptions."""
    g = graph_of(x, "x")
    keep = Keep()
    layer, stack = options_of(fields, layer=(DecoderLayerOptions, layer), stack=(StackOptions, stack))
    return g._with_weights(g._new(lib.heed_nn_decoder_stack(g._c, g._id_of(x, "x"), g._id_of(memory, "memory"), encoded(prefix,
        "prefix"), pack(layer, keep, g), pack(stack, keep, g))), keep)


def cross_entropy(logits: Tensor, labels: Tensor, options: Optional[CrossEntropyOptions] = None,
        **fields: Any) -> CrossEntropyResult:
    """The cross entropy of logits [..., V] and labels, i32 [...], as torch.nn.functional.cross_entropy: Graph.cross_entropy with
    weights and a reduction. V is a constant. Gradients reach class_weights, too.

    Keywords are the fields of CrossEntropyOptions."""
    g = graph_of(logits, "logits")
    keep = Keep()
    options, = options_of(fields, options=(CrossEntropyOptions, options))
    result = ffi.new("heed_cross_entropy_result *")
    g._new(lib.heed_nn_cross_entropy(g._c, g._id_of(logits, "logits"), g._id_of(labels, "labels"), pack(options, keep, g), result))
    return CrossEntropyResult(*g._all_of(result))


def transformer(source: Tensor, target: Tensor, prefix: str, options: Optional[TransformerOptions] = None,
        **fields: Any) -> TransformerResult:
    """source [B, S, C] and target [B, T, C] are embedded tokens. Every decoder layer attends to the output of the last encoder layer.

    Keywords are the fields of TransformerOptions."""
    g = graph_of(source, "source")
    keep = Keep()
    options, = options_of(fields, options=(TransformerOptions, options))
    result = ffi.new("heed_transformer_result *")
    g._new(lib.heed_nn_transformer(g._c, g._id_of(source, "source"), g._id_of(target, "target"), encoded(prefix, "prefix"),
        pack(options, keep, g), result))
    return TransformerResult(*g._all_of(result), tuple(g._given(keep)))


def mean_sentence(tokens: Tensor, padding: Mask) -> Tensor:
    """The mean of the kept tokens, [B, S, C] -> [B, C], with each row scaled to length 1: the sentence embedding of
    sentence-transformers (Reimers & Gurevych 2019, arXiv:1908.10084). A row without tokens gives zeros."""
    g = graph_of(tokens, "tokens")
    return g._new(lib.heed_nn_mean_sentence(g._c, g._id_of(tokens, "tokens"), *g._mask(padding, "padding")))
