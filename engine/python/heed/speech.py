"""Speech recognition with a model (Whisper): text with times, from complete sounds or as samples arrive."""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple, Optional

import numpy as np

from . import _c
from ._arrays import as_input
from ._c import Error, Keep, Status, ffi, lib, options_of, pack, text
from ._options import SpeechOptions, SpeechRecognizerOptions
from .device import Device
from .text import Path, Tokenizer

__all__ = ["SPEECH_RATE", "SpeechPiece", "SpeechRecognizer", "SpeechSegment", "SpeechStream", "SpeechWord"]

SPEECH_RATE: int = lib.HEED_SPEECH_RATE  # samples a second


class SpeechWord(NamedTuple):
    """A word, with the punctuation around it.

    - text: the concatenated texts of a segment's words are its text.
    - begin, end: seconds since the sound began.
    - probability: mean over its tokens.
    - attention: float32; how much the alignment heads attended to each 0.02 s from the segment's window_begin on. The sum is 1."""

    text: str
    begin: float
    end: float
    probability: float
    attention: np.ndarray


class SpeechSegment(NamedTuple):
    """A stretch of recognized speech.

    - begin, end: seconds since the sound began.
    - text: usually with a space at its front.
    - ids: tokens of the text and its times, int32.
    - language: the spoken language, such as "en", from models of several languages; else None.
    - log_probability, no_speech, temperature: of the segment's window: the mean of log(probability) of its tokens, the probability that
      there is no speech, and the temperature of the draws.
    - window_begin: where the sound of the window begins, in seconds since the sound began.
    - words: list of SpeechWord, with the option `words`."""

    begin: float
    end: float
    text: str
    ids: np.ndarray
    language: Optional[str]
    log_probability: float
    no_speech: float
    temperature: float
    window_begin: float
    words: List[SpeechWord]


class SpeechPiece(NamedTuple):
    """The result of a step.

    - segments: those that became final.
    - partial: the text of the incomplete window so far, which may change. Only with `partial_seconds`.
    - token: the token that the step drew; None: none.
    - done: a step has ended."""

    segments: List[SpeechSegment]
    partial: str
    token: Optional[int]
    done: bool


def _utf8(pointer: Any, size: int) -> str:
    return bytes(ffi.buffer(pointer, size)).decode("utf-8", "replace") if size else ""


def _array(pointer: Any, count: int, dtype: Any) -> np.ndarray:
    return np.frombuffer(ffi.buffer(pointer, count * 4), dtype).copy() if count else np.empty(0, dtype)


def _segment(s: Any) -> SpeechSegment:
    words = [SpeechWord(_utf8(w.text, w.text_bytes), w.begin, w.end, w.probability, _array(w.attention, w.attention_count, np.float32))
             for w in ffi.unpack(s.words, s.word_count)] if s.word_count else []
    return SpeechSegment(s.begin, s.end, _utf8(s.text, s.text_bytes), _array(s.ids, s.id_count, np.int32), text(s.language) or None,
                         s.log_probability, s.no_speech, s.temperature, s.window_begin, words)


def _sound(samples: Any) -> np.ndarray:
    array = as_input(samples, "f32", "samples")
    if array.ndim != 1:
        raise Error(Status.SHAPE_MISMATCH, f"samples has the shape {list(array.shape)}, must have one axis: sound is mono")
    return array


class SpeechRecognizer(_c.Handle):
    """A speech model on a device: Whisper, from a folder of CTranslate2 (faster-whisper) or Hugging Face, or a file of whisper.cpp.

        model = heed.SpeechRecognizer(device, "whisper-tiny.en")
        for segment in model.recognize(samples):                       # float32, mono, 16,000 a second, from -1 to 1
            print(f"{segment.begin:.1f} to {segment.end:.1f} s:{segment.text}")

        ear = model.begin(partial_seconds=1)                           # or as the sound comes in
        ear.push(microphone)
        print(ear.poll().segments)

    With `reproducible`, tokens are the same on every device that supports it. The model and all its streams serve one thread at a time.

    - languages: those that it knows, such as "en"; empty: English only.
    - window_samples: length of the windows in which sound is processed.
    - stream_bytes: device memory of a stream.
    - tokenizer: decodes ids to text; it cannot encode."""

    _kind = "speech_recognizer"

    def __init__(self, device: Device, path: Path, options: Optional[SpeechRecognizerOptions] = None, **fields: Any) -> None:
        """Keywords are the fields of SpeechRecognizerOptions."""
        keep = Keep()
        chosen, = options_of(fields, options=(SpeechRecognizerOptions, options))
        options = pack(chosen, keep)
        options.log = _c.log(keep)
        self._own(_c.make(lib.heed_speech_recognizer_open, Device._c_of(device, "device"), _c.path(path, "path"), options))
        info = _c.filled("heed_speech_recognizer_info", lib.heed_speech_recognizer_get_info, self._c)
        self.languages: List[str] = [text(info.languages[i]) for i in range(info.language_count)]
        self.window_samples: int = info.window_samples
        self.stream_bytes: int = info.stream_bytes
        self.tokenizer = Tokenizer.__new__(Tokenizer)
        self.tokenizer._own(_c.make(lib.heed_speech_recognizer_tokenizer, self._c))

    def begin(self, options: Optional[SpeechOptions] = None, **fields: Any) -> "SpeechStream":
        """Begins a stream. Keywords are the fields of SpeechOptions."""
        keep = Keep()
        chosen, = options_of(fields, options=(SpeechOptions, options))
        return SpeechStream(_c.make(lib.heed_speech_stream_begin, self._c, pack(chosen, keep)))

    def recognize(self, samples: Any, options: Optional[SpeechOptions] = None, **fields: Any) -> Iterator[SpeechSegment]:
        """The text of these samples, segment by segment as they become final. Keywords are the fields of SpeechOptions. An interrupt takes
        effect between two steps."""
        return self._steps(_sound(samples), self.begin(options, **fields))

    def _steps(self, sound: np.ndarray, stream: "SpeechStream") -> Iterator[SpeechSegment]:
        for begin in range(0, len(sound), self.window_samples):
            stream.push(sound[begin:begin + self.window_samples])
            yield from stream.segments()
        stream.finish()
        yield from stream.segments()


class SpeechStream(_c.Handle):
    """Incoming sound and its text. Made by SpeechRecognizer.begin. Final text does not depend on how samples are divided among calls, nor
    on when results are fetched."""

    _kind = "speech_stream"

    def __init__(self, pointer: Any) -> None:
        self._own(pointer)

    def push(self, samples: Any) -> None:
        """Adds samples, float32 [n], which it copies; those that have become text are released."""
        sound = _sound(samples)
        _c.check(lib.heed_speech_stream_push(self._c, ffi.from_buffer("float[]", sound), sound.size))

    def finish(self) -> None:
        """Tells the end of the sound: the rest of it becomes text, too."""
        _c.check(lib.heed_speech_stream_finish(self._c))

    def segments(self) -> Iterator[SpeechSegment]:
        """Steps as long as there is work, and yields the segments that become final."""
        while self.busy:
            yield from self.step().segments

    def step(self) -> SpeechPiece:
        """Encodes a window, or decodes one or several tokens, and waits for it. `done` is False if there was nothing to do."""
        return self._piece(lib.heed_speech_stream_step)

    def poll(self) -> SpeechPiece:
        """The same without waiting: begins a step, or returns the last one's result and begins the next. After a failure of step or poll,
        the current window is lost, and the stream continues after it."""
        return self._piece(lib.heed_speech_stream_poll)

    def _piece(self, function: Any) -> SpeechPiece:
        p = _c.filled("heed_speech_piece", function, self._c)
        return SpeechPiece([_segment(p.segments[i]) for i in range(p.segment_count)], _utf8(p.partial, p.partial_bytes),
                           None if p.token < 0 else p.token, bool(p.done))

    def cancel(self) -> None:
        """Discards all sound that has not become text. Time goes on."""
        _c.check(lib.heed_speech_stream_cancel(self._c))

    @property
    def busy(self) -> bool:
        """Whether a step has work before more sound arrives."""
        return bool(_c.number(lib.heed_speech_stream_busy, self._c))

    @property
    def seconds(self) -> float:
        """The length of all pushed samples."""
        out = ffi.new("double *")
        _c.check(lib.heed_speech_stream_seconds(self._c, out))
        return float(out[0])
