"""Networks of language models and BERT-family encoders, as parts of graphs.

    model = heed.DecoderModel("model.gguf")
    logits = model.build(g.input("ids", [1, g.extent("tokens", 64)], "i32")).logits
    plan = device.compile(g, model.upload(device))

text.py combines them with their tokenizers.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional, Tuple, Union

from . import _c, _options
from ._c import Keep, encoded, ffi, lib, options_of, pack
from ._options import BertOptions, DecoderOptions, UploadOptions
from .device import Device, Weights
from .files import Checkpoint
from .graph import Graph
from .tensor import Mask, Tensor, graph_of

__all__ = ["BertConfig", "BertResult", "DecoderConfig", "DecoderModel", "DecoderResult", "bert", "decoder"]

Path = Union[str, "os.PathLike[str]"]


# --- Decoders ------------------------------------------------------------------------------------------------------------


class DecoderConfig(_options.DecoderConfig):
    __doc__ = _options.DecoderConfig.__doc__

    @classmethod
    def read(cls, checkpoint: Checkpoint) -> "DecoderConfig":
        """Reads a GGUF file's metadata."""
        return _c.unpack(cls, _c.filled("heed_decoder_config", lib.heed_decoder_config_read, Checkpoint._c_of(checkpoint, "checkpoint")))

    @classmethod
    def parse(cls, json: str, name: str = "config.json") -> "DecoderConfig":
        """Reads the text of a Hugging Face config.json; `name` is for messages."""
        return _c.unpack(cls, _c.filled("heed_decoder_config", lib.heed_decoder_config_parse, encoded(json, "json"), encoded(name, "name"),
                                        _c.log(Keep())))


class DecoderResult(NamedTuple):
    """Results of heed.nn.decoder.

    - hidden: [B, S, width], after the final norm.
    - logits: [B, 1, vocabulary], or [B, S, vocabulary] with all_logits.
    - attention: of each layer [B, heads, S, keys], if requested."""

    hidden: Tensor
    logits: Tensor
    attention: Tuple[Tensor, ...]


def _add(function: Any, ctype: str, g: Graph, before: Any, options: Any, keep: Keep, layers: int) -> Tuple[Any, Tuple[Tensor, ...]]:
    """Adds a network; returns its result, and the attention of its layers if the options request it."""
    count = layers if options.attention else 0
    result, attention = ffi.new(ctype + " *"), ffi.new("heed_tensor[]", count)
    g._check(function(*before, pack(options, keep, g), result, attention, count))
    return result, tuple(g._new(t) for t in attention)


def decoder(ids: Tensor, config: DecoderConfig, options: Optional[DecoderOptions] = None, **fields: Any) -> DecoderResult:
    """Ids i32 [B, S] -> logits. Weights have Hugging Face's names behind the prefix. Without a cache every run has all tokens."""
    g, keep = graph_of(ids, "ids"), Keep()
    options, = options_of(fields, options=(DecoderOptions, options))
    before = (g._c, g._id_of(ids, "ids"), pack(_c.checked(config, DecoderConfig, "config"), keep, g))
    result, weights = _add(lib.heed_nn_decoder, "heed_decoder_result", g, before, options, keep, config.layers)
    return DecoderResult(g._new(result.hidden), g._new(result.logits), weights)


class DecoderModel(_c.Handle):
    """A language model's network and weights in files: a GGUF file, or a folder with config.json and safetensors."""

    _kind = "decoder_model"

    def __init__(self, path: Path) -> None:
        self._own(_c.make(lib.heed_decoder_model_open, _c.path(path, "path"), _c.log(Keep())))

    @property
    def config(self) -> DecoderConfig:
        """The network's configuration, as the file states it."""
        return _c.unpack(DecoderConfig, _c.filled("heed_decoder_config", lib.heed_decoder_model_get_config, self._c))

    @property
    def bytes(self) -> int:
        """The bytes of its tensors."""
        return _c.number(lib.heed_decoder_model_bytes, self._c)

    def upload(self, device: Device, *, dtype: str = "f32", weight_dtype: Optional[str] = None) -> Weights:
        """Uploads the weights. If dtype is "f32", matrices keep the file's type, or are converted to weight_dtype."""
        options = pack(DecoderOptions(dtype=dtype, weight_dtype=weight_dtype), Keep())
        return Weights(_c.make(lib.heed_decoder_model_upload, self._c, Device._c_of(device, "device"), options, ffi.NULL))

    def build(self, ids: Tensor, options: Optional[DecoderOptions] = None, **fields: Any) -> DecoderResult:
        """As decoder(), with the same dtype and weight_dtype as the upload."""
        g, keep = graph_of(ids, "ids"), Keep()
        options, = options_of(fields, options=(DecoderOptions, options))
        result, weights = _add(lib.heed_decoder_model_build, "heed_decoder_result", g, (self._c, g._c, g._id_of(ids, "ids")), options,
                               keep, self.config.layers)
        return DecoderResult(g._new(result.hidden), g._new(result.logits), weights)


# --- BERT ----------------------------------------------------------------------------------------------------------------


class BertConfig(_options.BertConfig):
    __doc__ = _options.BertConfig.__doc__

    @classmethod
    def read(cls, path: Path) -> "BertConfig":
        """Reads a config.json."""
        return _c.unpack(cls, _c.filled("heed_bert_config", lib.heed_bert_config_read, _c.path(path, "path"), _c.log(Keep())))

    @classmethod
    def parse(cls, json: str, name: str = "config.json") -> "BertConfig":
        """Reads the text of a config.json; `name` is for messages."""
        return _c.unpack(cls, _c.filled("heed_bert_config", lib.heed_bert_config_parse, encoded(json, "json"), encoded(name, "name"),
                                        _c.log(Keep())))

    def upload(self, device: Device, checkpoint: Checkpoint, options: Optional[UploadOptions] = None, **fields: Any) -> Weights:
        """Uploads the tensors of a safetensors checkpoint in the form that heed.nn.bert needs, with one weight for queries, keys and
        values."""
        options, = options_of(fields, options=(UploadOptions, options))
        keep = Keep()
        return Weights(_c.make(lib.heed_bert_upload, Checkpoint._c_of(checkpoint, "checkpoint"), pack(self, keep),
                               Device._c_of(device, "device"), pack(options, keep)))


class BertResult(NamedTuple):
    """Results of heed.nn.bert.

    - tokens: [B, S, width], after the last layer.
    - pooled: [B, width], if requested.
    - attention: of each layer [B, heads, S, S], if requested."""

    tokens: Tensor
    pooled: Optional[Tensor]
    attention: Tuple[Tensor, ...]


def bert(ids: Tensor, padding: Mask, config: BertConfig, options: Optional[BertOptions] = None, **fields: Any) -> BertResult:
    """BERT's encoder on ids i32 [B, S] with padding u8 [B, S]. Weights have the names of BertConfig.upload, or without joined_qkv those
    of a checkpoint."""
    g, keep = graph_of(ids, "ids"), Keep()
    options, = options_of(fields, options=(BertOptions, options))
    before = (g._c, g._id_of(ids, "ids"), *g._mask(padding, "padding"), pack(_c.checked(config, BertConfig, "config"), keep))
    result, weights = _add(lib.heed_nn_bert, "heed_bert_result", g, before, options, keep, config.layers)
    return BertResult(g._new(result.tokens), g._new(result.pooled) if options.pooler else None, weights)
