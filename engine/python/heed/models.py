"""Networks of language models and of BERT's family, as parts of graphs.

    model = heed.DecoderModel("model.gguf")
    logits = model.build(g.input("ids", [1, g.extent("tokens", 64)], "i32")).logits
    plan = device.compile(g, model.upload(device))

text.py has them with their tokenizers. include/heed/decoder.hpp and bert.hpp are the manual.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Sequence, Tuple, Union

from . import _c
from ._c import Keep, encoded, ffi, lib, pack
from .device import Device, Weights
from .files import Checkpoint
from .graph import Graph
from .tensor import Mask, Tensor, graph_of

if TYPE_CHECKING:
    from .nn import Cache

Path = Union[str, "os.PathLike[str]"]


def _fields_of(kind: Any, c: Any, words: Sequence[str], **known: Any) -> Dict[str, Any]:
    """The fields of a dataclass as a struct of C has them, some of them as words."""
    found = {f.name: getattr(c, f.name) for f in dataclasses.fields(kind) if f.name not in known}
    return {**found, **{name: _c.word_of(name, found[name]) for name in words}, **known}


# --- Decoders ------------------------------------------------------------------------------------------------------------

@dataclasses.dataclass
class DecoderConfig:
    """The numbers of a config.json or of a GGUF file's metadata."""

    family: str  # "llama", "qwen2", "qwen3", "gpt2", ...; another one is refused with the list of all
    layers: int
    width: int  # of a token's row
    heads: int  # query heads
    vocabulary: int
    positions: int  # the longest text of the training; of GPT-2 rows of the table of positions
    kv_heads: int = 0  # 0: heads
    head_width: int = 0  # 0: width / heads
    hidden: int = 0  # width of the feed-forward; 0: four times the width
    window: int = 0  # the sliding window of attention, in tokens; 0: none
    window_from: int = 0  # the first layer with a window
    full_every: int = 0  # layers full_every - 1, 2 full_every - 1, ... have none; 0: all have it
    eps: float = 1e-5
    rotary_width: int = 0  # these are those of Graph.rotary
    rotary_base: float = 10000.0
    rotary_pairs: str = "halves"
    scaling: Optional[str] = None
    factor: float = 1.0
    low: float = 1.0
    high: float = 4.0
    trained_length: int = 8192
    tied: bool = True  # logits are products with the table of tokens; else with "lm_head.weight"
    in_out: bool = True  # GPT-2: matrices are stored as [in, out]; else as [out, in], as in GGUF files

    def _pack(self, struct: Any, keep: Keep) -> None:
        struct.untied, struct.out_in = int(not self.tied), int(not self.in_out)

    @classmethod
    def _of(cls, c: Any) -> "DecoderConfig":
        return cls(**_fields_of(cls, c, ("rotary_pairs", "scaling"), family=_c.text(c.family), tied=not c.untied, in_out=not c.out_in))

    @classmethod
    def read(cls, checkpoint: Checkpoint) -> "DecoderConfig":
        """Of a GGUF file's metadata."""
        return cls._of(_c.filled("heed_decoder_config", lib.heed_decoder_config_read, Checkpoint._c_of(checkpoint, "checkpoint")))

    @classmethod
    def parse(cls, json: str, name: str = "config.json") -> "DecoderConfig":
        """Of the text of a Hugging Face config.json; `name` is for messages."""
        return cls._of(_c.filled("heed_decoder_config", lib.heed_decoder_config_parse, encoded(json, "json"), encoded(name, "name"),
                                 _c.log(Keep())))


class DecoderResult(NamedTuple):
    hidden: Tensor  # [B, S, width], after the last norm
    logits: Tensor  # [B, 1, vocabulary], or [B, S, vocabulary] with all_logits
    attention: Tuple[Tensor, ...]  # of each layer [B, heads, S, keys], if asked for


def _storage(dtype: str, weight_dtype: Optional[str]) -> Any:
    return pack("heed_decoder_options", dict(dtype=dtype, weight_dtype=weight_dtype), Keep())


def _add(function: Any, ctype: str, g: Graph, before: Any, options: Any, layers: int) -> Tuple[Any, Tuple[Tensor, ...]]:
    """Adds a network: its result, and the attention of its layers if the options ask for it."""
    count = layers if options.attention else 0
    result, attention = ffi.new(ctype + " *"), ffi.new("heed_tensor[]", count)
    _c.check(function(*before, options, result, attention, count))
    return result, tuple(g._new(t) for t in attention)


def decoder(ids: Tensor, config: DecoderConfig, *, cache: Optional["Cache"] = None, last: Optional[Tensor] = None,
            all_logits: bool = False, attention: bool = False, dtype: str = "f32", weight_dtype: Optional[str] = None,
            prefix: Optional[str] = None) -> DecoderResult:
    """Ids i32 [B, S] -> logits, with weights of Hugging Face's names behind the prefix. Without a cache every run has all tokens.
    `last`, i32 [B, 1], says which token of each row gives logits. `weight_dtype` is the storage of matrices and tables."""
    g, keep = graph_of(ids, "ids"), Keep()
    fields = dict(cache=cache, last=last, all_logits=all_logits, attention=attention, dtype=dtype, weight_dtype=weight_dtype,
                  prefix=prefix)
    options, numbers = pack("heed_decoder_options", fields, keep, g), pack("heed_decoder_config", config, keep)
    result, weights = _add(lib.heed_nn_decoder, "heed_decoder_result", g, (g._c, g._tensor_id(ids, "ids"), numbers), options,
                           config.layers)
    return DecoderResult(g._new(result.hidden), g._new(result.logits), weights)


class DecoderModel(_c.Handle):
    """A language model's network and weights in files: a GGUF file, or a folder with config.json and safetensors."""

    _kind = "decoder_model"

    def __init__(self, path: Path) -> None:
        self._own(_c.make(lib.heed_decoder_model_open, encoded(os.fspath(path), "path"), _c.log(Keep())))

    @property
    def config(self) -> DecoderConfig:
        return DecoderConfig._of(_c.filled("heed_decoder_config", lib.heed_decoder_model_get_config, self._c))

    @property
    def bytes(self) -> int:
        """Of its tensors."""
        return _c.number(lib.heed_decoder_model_bytes, self._c)

    def upload(self, device: Device, *, dtype: str = "f32", weight_dtype: Optional[str] = None) -> Weights:
        """If dtype is "f32", matrices stay as they are in the file, or become weight_dtype."""
        return Weights(_c.make(lib.heed_decoder_model_upload, self._c, Device._c_of(device, "device"), _storage(dtype, weight_dtype), ffi.NULL))

    def build(self, ids: Tensor, *, cache: Optional["Cache"] = None, last: Optional[Tensor] = None, all_logits: bool = False,
              attention: bool = False, dtype: str = "f32", weight_dtype: Optional[str] = None) -> DecoderResult:
        """As decoder(), with the same dtype and weight_dtype as the upload."""
        g, keep = graph_of(ids, "ids"), Keep()
        fields = dict(cache=cache, last=last, all_logits=all_logits, attention=attention, dtype=dtype, weight_dtype=weight_dtype)
        options = pack("heed_decoder_options", fields, keep, g)
        result, weights = _add(lib.heed_decoder_model_build, "heed_decoder_result", g, (self._c, g._c, g._tensor_id(ids, "ids")),
                               options, self.config.layers)
        return DecoderResult(g._new(result.hidden), g._new(result.logits), weights)


# --- BERT ----------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class BertConfig:
    """The numbers of a config.json."""

    vocabulary: int = 30522
    width: int = 768
    layers: int = 12
    heads: int = 12  # divides width
    hidden: int = 3072
    positions: int = 512  # the longest input
    types: int = 2
    pad_id: int = 0
    activation: str = "gelu_erf"
    eps: float = 1e-12

    @classmethod
    def _of(cls, c: Any) -> "BertConfig":
        return cls(**_fields_of(cls, c, ("activation",)))

    @classmethod
    def read(cls, path: Path) -> "BertConfig":
        """Of a config.json."""
        return cls._of(_c.filled("heed_bert_config", lib.heed_bert_config_read, encoded(os.fspath(path), "path"), _c.log(Keep())))

    @classmethod
    def parse(cls, json: str, name: str = "config.json") -> "BertConfig":
        """Of its text; `name` is for messages."""
        return cls._of(_c.filled("heed_bert_config", lib.heed_bert_config_parse, encoded(json, "json"), encoded(name, "name"),
                                 _c.log(Keep())))

    def upload(self, device: Device, checkpoint: Checkpoint, *, dtype: Optional[str] = None, only_matrices: bool = False) -> Weights:
        """The tensors of safetensors in the form that heed.nn.bert asks for, with one weight for queries, keys and values."""
        options = pack("heed_upload_options", dict(dtype=dtype, only_matrices=only_matrices), Keep())
        return Weights(_c.make(lib.heed_bert_upload, Checkpoint._c_of(checkpoint, "checkpoint"), pack("heed_bert_config", self, Keep()),
                             Device._c_of(device, "device"), options))


class BertResult(NamedTuple):
    tokens: Tensor  # [B, S, width], after the last layer
    pooled: Optional[Tensor]  # [B, width], if asked for
    attention: Tuple[Tensor, ...]  # of each layer [B, heads, S, S], if asked for


def bert(ids: Tensor, padding: Mask, config: BertConfig, *, types: Optional[Tensor] = None, dtype: str = "f32",
         weight_dtype: Optional[str] = None, pooler: bool = False, attention: bool = False, separate_qkv: bool = False) -> BertResult:
    """BERT's encoder on ids i32 [B, S] with padding u8 [B, S]. Weights have the names of BertConfig.upload, or with separate_qkv those
    of a checkpoint. `types` are token types i32 [B, S]; without them all are 0."""
    g, keep = graph_of(ids, "ids"), Keep()
    fields = dict(types=types, dtype=dtype, weight_dtype=weight_dtype, pooler=pooler, attention=attention, separate_qkv=separate_qkv)
    options, numbers = pack("heed_bert_options", fields, keep, g), pack("heed_bert_config", config, keep)
    mask, meaning = _c.masked(padding, "padding")
    before = (g._c, g._tensor_id(ids, "ids"), g._tensor_id(mask, "padding"), meaning, numbers)
    result, weights = _add(lib.heed_nn_bert, "heed_bert_result", g, before, options, config.layers)
    return BertResult(g._new(result.tokens), g._new(result.pooled) if pooler else None, weights)


def mean_sentence(tokens: Tensor, padding: Mask) -> Tensor:
    """The mean of the kept tokens, [B, S, C] -> [B, C], with each row scaled to length 1."""
    g = graph_of(tokens, "tokens")
    mask, meaning = _c.masked(padding, "padding")
    return g._new(lib.heed_nn_mean_sentence(g._c, g._tensor_id(tokens, "tokens"), g._tensor_id(mask, "padding"), meaning))
