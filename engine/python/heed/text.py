"""Text: tokenizers, sentence vectors, and conversations with language models."""

from __future__ import annotations

import os
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c, _words
from ._arrays import of_list
from ._c import Keep, encoded, ffi, lib, options_of, pack, text
from ._options import TextConversationOptions, TextEncoderOptions, TextGeneratorOptions, TextSampling, TextSaveOptions
from .device import Device
from .state import State

__all__ = ["AttentionMap", "Conversation", "TextEncoder", "TextGenerator", "TextPiece", "Tokenizer", "grammar_of_json_schema"]

Path = Union[str, "os.PathLike[str]"]


def _ids(ids: Any) -> Any:
    array = np.ascontiguousarray(of_list(ids, "i32", "ids")).reshape(-1)
    return ffi.from_buffer("int32_t[]", array)


def _read_ids(function: Any, *arguments: Any) -> np.ndarray:
    """Fills an array whose size the first call returns."""
    count = ffi.new("size_t *")
    function(*arguments, ffi.NULL, 0, count)
    ids = np.empty(count[0], np.int32)
    _c.check(function(*arguments, ffi.from_buffer("int32_t[]", ids, require_writable=True), ids.size, count))
    return ids


class AttentionMap(NamedTuple):
    """Attention weights.

    - weights: [layers, heads, queries, tokens].
    - tokens: the texts of the tokens, from a text encoder."""

    weights: np.ndarray
    tokens: List[str]


def _attention_map(function: Any, *arguments: Any) -> AttentionMap:
    pointer = _c.make(function, *arguments)
    try:
        info = _c.filled("heed_attention_map_info", lib.heed_attention_map_get_info, pointer)
        flat = np.frombuffer(ffi.buffer(info.weights, info.weight_count * 4), np.float32).copy()
        tokens = [] if info.token_texts == ffi.NULL else [text(info.token_texts[i]) for i in range(info.tokens)]
        return AttentionMap(flat.reshape(info.layers, info.heads, info.queries, info.tokens), tokens)
    finally:
        lib.heed_attention_map_destroy(pointer)


class Tokenizer(_c.Handle):
    """A byte pair tokenizer, from a tokenizer.json, a folder with one, or a GGUF file."""

    _kind = "tokenizer"

    def __init__(self, path: Path) -> None:
        self._own(_c.make(lib.heed_tokenizer_open, _c.path(path, "path"), _c.log(Keep())))

    def __len__(self) -> int:
        return int(lib.heed_tokenizer_size(self._c))

    def id(self, token: str) -> int:
        """The id of a token, spelled as in the file."""
        return _c.number(lib.heed_tokenizer_id, self._c, encoded(token, "token"))

    def token(self, id: int) -> str:
        """The token of an id."""
        return text(_c.make(lib.heed_tokenizer_token, self._c, id))

    def encode(self, value: str, *, read_special: bool = False, add_special: bool = False) -> np.ndarray:
        """The ids of a text, int32. read_special: control tokens that are spelled out in the text become these tokens. add_special: adds
        the special tokens that the model wants before and after the text."""
        if not isinstance(value, str):
            raise TypeError(f"a text must be str, not {type(value).__name__}")
        data = value.encode("utf-8")
        return _read_ids(lib.heed_tokenizer_encode, self._c, data, len(data), int(read_special), int(add_special))

    def decode(self, ids: Any, *, show_special: bool = False) -> str:
        """The text of ids; special tokens are omitted unless show_special."""
        ids = _ids(ids)
        return _c.take_blob(lib.heed_tokenizer_decode, self._c, ids, len(ids), int(show_special)).decode("utf-8", "replace")


class TextEncoder(_c.Handle):
    """A sentence-transformers model on a device: turns texts into vectors of length 1, whose dot products are cosine similarities.

        encoder = heed.TextEncoder(device, "all-MiniLM-L6-v2")
        a, b = encoder.encode(["where can I buy a sword", "visit the weapon shop"])

    With `reproducible`, vectors have the same bits on every device that supports it. One thread at a time."""

    _kind = "text_encoder"

    def __init__(self, device: Device, folder: Path, options: Optional[TextEncoderOptions] = None, **fields: Any) -> None:
        """Keywords are the fields of TextEncoderOptions."""
        keep = Keep()
        chosen, = options_of(fields, options=(TextEncoderOptions, options))
        options = pack(chosen, keep)
        options.log = _c.log(keep)
        self._own(_c.make(lib.heed_text_encoder_open, Device._c_of(device, "device"), _c.path(folder, "folder"), options))
        info = _c.filled("heed_text_encoder_info", lib.heed_text_encoder_get_info, self._c)
        self.width: int = info.width
        self.max_tokens: int = info.max_tokens
        self.max_batch: int = info.max_batch
        self.fingerprint: int = info.fingerprint  # vectors of two encoders can be compared if these are equal
        self.weight_dtype: str = _c.DTYPE_NAMES[info.weight_dtype]

    def encode(self, texts: Union[str, Sequence[str]]) -> np.ndarray:
        """Encodes texts to vectors [texts, width] f32, or a single text to [width]. Tokens beyond max_tokens are left out. An interrupt
        takes effect between batches."""
        if isinstance(texts, str):
            return self.encode([texts])[0]
        keep = Keep()
        keep.extend(ffi.new("char[]", encoded(t, "a text")) for t in texts)
        vectors = np.empty((len(keep), self.width), np.float32)
        done = ffi.new("size_t *")

        @ffi.callback("int32_t(void *, size_t, size_t)", error=1, onerror=lambda *what: None)
        def go_on(_user: Any, _done: int, _total: int) -> int:
            return 0

        options = ffi.new("heed_encode_options *", dict(size=ffi.sizeof("heed_encode_options"), progress=go_on, done=done))
        out = ffi.from_buffer("float[]", vectors, require_writable=True) if len(vectors) else ffi.NULL
        _c.check(lib.heed_text_encoder_encode(self._c, ffi.new("char *[]", keep[:len(vectors)]), len(vectors), out, vectors.size, options))
        if done[0] < len(vectors):
            raise KeyboardInterrupt
        return vectors

    def tokens(self, value: str) -> np.ndarray:
        """The ids of a text as encode reads them."""
        return _read_ids(lib.heed_text_encoder_tokens, self._c, encoded(value))

    def attention(self, value: str) -> AttentionMap:
        """The attention weights of one text in all layers and heads."""
        return _attention_map(lib.heed_text_encoder_attention, self._c, encoded(value))


def _end(number: int) -> Optional[str]:
    return None if number == 0 else _c.word_of(_words.TEXT_END, number)


class TextPiece(NamedTuple):
    """The result of a step.

    - text: whole characters, perhaps none.
    - token: the token that the step drew; None: none.
    - read: how many prompt tokens the step read.
    - done: a step has ended.
    - end: why the answer ended: "end_of_turn", "stop_string", "most_tokens", "context_full", "cancelled", "complete", "no_token"; None:
      it goes on."""

    text: str
    token: Optional[int]
    read: int
    done: bool
    end: Optional[str]


class TextGenerator(_c.Handle):
    """A language model on a device, from a GGUF file or a folder of Hugging Face.

        model = heed.TextGenerator(device, "model.gguf")
        smith = model.begin(system="You are Bram, a grumpy blacksmith.")
        for piece in smith.say("Where can I buy a sword?"):
            print(piece, end="", flush=True)

    With `reproducible`, answers have the same tokens on every device that supports it. `chat_template`, a Jinja template of a family
    that heed knows, replaces the file's. The model and all its conversations serve one thread at a time."""

    _kind = "text_generator"

    def __init__(self, device: Device, path: Path, options: Optional[TextGeneratorOptions] = None, *, chat_template: Optional[str] = None,
                 **fields: Any) -> None:
        """Keywords are the fields of TextGeneratorOptions."""
        keep = Keep()
        chosen, = options_of(fields, options=(TextGeneratorOptions, options))
        options = pack(chosen, keep)
        options.log = _c.log(keep)
        if chat_template is not None:
            template = ffi.new("char[]", encoded(chat_template, "chat_template"))
            options.chat_template = template
        self._own(_c.make(lib.heed_text_generator_open, Device._c_of(device, "device"), _c.path(path, "path"), options))
        info = _c.filled("heed_text_generator_info", lib.heed_text_generator_get_info, self._c)
        self.context: int = info.context
        self.conversation_bytes: int = info.conversation_bytes
        self.weight_dtype: str = _c.DTYPE_NAMES[info.weight_dtype]
        self.has_chat: bool = bool(info.has_chat)  # its chat template is known, so that Conversation.say works
        self.tokenizer = Tokenizer.__new__(Tokenizer)
        self.tokenizer._own(_c.make(lib.heed_text_generator_tokenizer, self._c))

    def begin(self, options: Optional[TextConversationOptions] = None, *, stop: Sequence[str] = (), **fields: Any) -> "Conversation":
        """Begins a conversation. Keywords are the fields of TextConversationOptions; any text of `stop` ends an answer and is not part
        of it."""
        if isinstance(stop, str):
            raise TypeError("stop must be a list of texts")
        keep = Keep()
        chosen, = options_of(fields, options=(TextConversationOptions, options))
        c_options = pack(chosen, keep)
        stops = [ffi.new("char[]", encoded(s, "stop")) for s in stop]
        texts = ffi.new("char *[]", stops)
        c_options.stop, c_options.stop_count = texts, len(stops)
        return Conversation(_c.make(lib.heed_conversation_begin, self._c, c_options))

    def load(self, saved: bytes) -> "Conversation":
        """Restores a conversation from the bytes of Conversation.save. Raises Error if they are damaged, or of another model."""
        data = _c.blob(saved, "saved")
        return Conversation(_c.make(lib.heed_conversation_load, self._c, data, len(data)))

    def loss(self, ids: Any) -> float:
        """The mean of -log(probability) over all tokens but the first, in nats; its exponential is the perplexity."""
        ids, mean = _ids(ids), ffi.new("double *")
        _c.check(lib.heed_text_generator_loss(self._c, ids, len(ids), mean, ffi.NULL))
        return float(mean[0])

    def attention(self, ids: Any) -> AttentionMap:
        """The attention of the last of these tokens: weights [layers, heads, 1, tokens]."""
        ids = _ids(ids)
        return _attention_map(lib.heed_text_generator_attention, self._c, ids, len(ids))


class Conversation(_c.Handle):
    """Messages, or a raw text, with keys and values on the device. Made by TextGenerator.begin."""

    _kind = "conversation"

    def __init__(self, pointer: Any) -> None:
        self._own(pointer)

    def say(self, message: str) -> Iterator[str]:
        """Adds a message of the user. Iterating over the result yields the answer's pieces. After an interrupt, or after stopping the
        iteration and calling cancel(), the conversation can go on."""
        _c.check(lib.heed_conversation_say(self._c, encoded(message, "message")))
        return self.pieces()

    def add(self, role: str, message: str) -> None:
        """Adds a message of "system", "user" or "assistant" without asking for an answer."""
        _c.check(lib.heed_conversation_add(self._c, encoded(role, "role"), encoded(message, "message")))

    def prompt(self, value: Union[str, Any], *, special: bool = True) -> Iterator[str]:
        """Adds a raw text, or ids of tokens, which the answer continues."""
        if isinstance(value, str):
            _c.check(lib.heed_conversation_prompt(self._c, encoded(value), int(special)))
        else:
            ids = _ids(value)
            _c.check(lib.heed_conversation_prompt_ids(self._c, ids, len(ids)))
        return self.pieces()

    def answer_now(self) -> Iterator[str]:
        """Asks for an answer to the messages so far, or for more of a raw text."""
        _c.check(lib.heed_conversation_answer_now(self._c))
        return self.pieces()

    def read_ahead(self) -> None:
        """Lets steps read the existing messages already, so that an answer can begin sooner."""
        _c.check(lib.heed_conversation_read_ahead(self._c))

    def pieces(self) -> Iterator[str]:
        """The remaining texts of the answer."""
        while self.answering:
            piece = self.step()
            if piece.text:
                yield piece.text

    def step(self) -> TextPiece:
        """Reads some prompt tokens, or draws one, and waits for it."""
        return self._piece(lib.heed_conversation_step)

    def poll(self) -> TextPiece:
        """The same without waiting: begins a step, or returns the last one's result and begins the next."""
        return self._piece(lib.heed_conversation_poll)

    def _piece(self, function: Any) -> TextPiece:
        p = _c.filled("heed_text_piece", function, self._c)
        shown = bytes(ffi.buffer(p.text, p.text_bytes)).decode("utf-8", "replace") if p.text_bytes else ""
        return TextPiece(shown, None if p.token < 0 else p.token, p.read, bool(p.done), _end(p.end))

    def cancel(self) -> None:
        """Ends the answer; the text so far counts as said."""
        _c.check(lib.heed_conversation_cancel(self._c))

    @property
    def answering(self) -> bool:
        """Whether an answer has begun and has not ended."""
        return bool(_c.number(lib.heed_conversation_answering, self._c))

    @property
    def answer(self) -> str:
        """The text of the answer so far, or of the last one."""
        return self._text()[0]

    @property
    def end(self) -> Optional[str]:
        """How the last answer ended: see TextPiece."""
        return self._text()[1]

    def _text(self) -> Any:
        blob, end = ffi.new("heed_blob **"), ffi.new("int32_t *")
        _c.check(lib.heed_conversation_text(self._c, blob, end))
        data = bytes(ffi.buffer(lib.heed_blob_data(blob[0]), lib.heed_blob_size(blob[0])))
        lib.heed_blob_destroy(blob[0])
        return data.decode("utf-8", "replace"), _end(end[0])

    def fork(self) -> "Conversation":
        """An independent conversation that continues from here, also in the middle of an answer."""
        return Conversation(_c.make(lib.heed_conversation_fork, self._c))

    def save(self, options: Optional[TextSaveOptions] = None, **fields: Any) -> bytes:
        """Returns the conversation as bytes for TextGenerator.load, also in the middle of an answer. Keywords are the fields of
        TextSaveOptions: with keys=True the bytes hold keys and values, and loading reads no token again."""
        chosen, = options_of(fields, options=(TextSaveOptions, options))
        return _c.take_blob(lib.heed_conversation_save, self._c, pack(chosen, Keep()))

    def reset(self) -> None:
        """Drops everything except the system message, and restarts the draws."""
        _c.check(lib.heed_conversation_reset(self._c))

    def set_sampling(self, sampling: TextSampling) -> None:
        """Draws later tokens with these settings."""
        _c.check(lib.heed_conversation_set_sampling(self._c, pack(sampling, Keep())))

    @property
    def ids(self) -> np.ndarray:
        """All tokens, read or yet to be read."""
        return _read_ids(lambda c, ids, capacity, count: lib.heed_conversation_ids(c, ids, capacity, count, ffi.NULL), self._c)

    @property
    def state(self) -> State:
        """Its keys and values; other conversations may use other rows of the same State."""
        row = ffi.new("int64_t *")
        out = ffi.new("heed_state **")
        _c.check(lib.heed_conversation_state(self._c, out, row))
        return State(out[0], {})


def grammar_of_json_schema(schema: str) -> str:
    """A grammar, for TextGenerator.begin, of JSON that is valid for a schema. include/heed/grammar.hpp lists the supported keywords."""
    return _c.take_blob(lib.heed_grammar_of_json_schema, encoded(schema, "schema"), _c.log(Keep())).decode("utf-8")
