"""Tiny Whispers with random weights give the results that tests/speech/make.py computed in double."""

import math

import numpy as np
import pytest

import heed
from conftest import ROOT

FOLDER = ROOT / "tests" / "speech"
# Options that accept every text, since models with random weights would reject all of theirs.
SURE = dict(temperature_step=0, most_no_speech=math.inf)


def noise(count):
    """The formula of sound() in make.py."""
    state, samples = 1, np.empty(count, np.float32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        samples[i] = ((state >> 16) - 32768) / 32768 * abs(i // 16 % 128 - 64) / 256
    return samples


@pytest.fixture(scope="module")
def english(device):
    return heed.SpeechRecognizer(device, FOLDER / "english")


@pytest.fixture(scope="module")
def expected():
    return heed.Checkpoint(FOLDER / "english" / "expected.safetensors")


@pytest.fixture(scope="module")
def sound(cpu):
    return noise(int(2.6 * heed.SpeechRecognizer(cpu, FOLDER / "english").window_samples))


def lists(expected, what):
    return [expected[name].tolist() for name in sorted(expected) if name.startswith(what + ".") and name != what + ".spans"]


def ids(segments):
    return [s.ids.tolist() for s in segments]


@pytest.mark.parametrize("timestamps", [False, True])
def test_samples_and_streams(english, expected, sound, timestamps):
    segments = list(english.recognize(sound, timestamps=timestamps, **SURE))
    assert ids(segments) == lists(expected, "times" if timestamps else "plain")
    assert not any(s.words for s in segments)
    for s in english.recognize(sound, timestamps=timestamps, words=True, **SURE):
        assert "".join(word.text for word in s.words) == s.text
        assert all(s.window_begin <= word.begin <= word.end for word in s.words)
        assert all(abs(word.attention.sum() - 1) < 1e-4 for word in s.words)
    for s in segments:
        assert s.text == english.tokenizer.decode(s.ids) and s.language is None and 0 < s.no_speech < 1 and s.log_probability < 0
    if timestamps:
        spans = [[round(s.begin * heed.SPEECH_RATE), round(s.end * heed.SPEECH_RATE)] for s in segments]
        assert spans == expected["times.spans"].tolist()
    stream, heard, tokens = english.begin(timestamps=timestamps, **SURE), [], 0
    for begin in range(0, len(sound), 1000):
        stream.push(sound[begin:begin + 1000])
        heard += stream.poll().segments
    stream.finish()
    while stream.busy:
        piece = stream.poll()
        heard += piece.segments
        tokens += piece.token is not None
    assert ids(heard) == ids(segments) and tokens > 0
    assert stream.seconds == len(sound) / heed.SPEECH_RATE
    assert not stream.step().done


def test_two_streams_in_turn(english, expected, sound):
    streams, heard = [english.begin(timestamps=times, words=times, **SURE) for times in (False, True)], ([], [])
    for stream in streams:
        stream.push(sound)
        stream.finish()
    while any(stream.busy for stream in streams):
        for stream, segments in zip(streams, heard):
            segments += stream.poll().segments
    assert ids(heard[0]) == lists(expected, "plain") and ids(heard[1]) == lists(expected, "times")
    assert all("".join(word.text for word in s.words) == s.text for s in heard[1])


def test_partial_text_and_cancel(english, sound):
    stream = english.begin(partial_seconds=0.05, **SURE)
    stream.push(sound[:len(sound) // 4])
    partial = [piece.partial for piece in iter(stream.step, heed.SpeechPiece([], "", None, False))]
    assert any(partial)
    stream.push(sound)
    assert stream.busy
    stream.cancel()
    assert not stream.busy and not list(stream.segments())


def test_languages(cpu, sound):
    model = heed.SpeechRecognizer(cpu, FOLDER / "multilingual", heed.SpeechRecognizerOptions(weight_dtype="f16"))
    assert model.languages == ["en", "de", "fr"] and model.stream_bytes > 0
    found = {s.language for s in model.recognize(sound, **SURE)}
    assert found and found <= set(model.languages)
    for language in model.languages:
        assert {s.language for s in model.recognize(sound, language=language, **SURE)} == {language}
    spoken, translated = (ids(model.recognize(sound, language="de", task=task, **SURE)) for task in ("transcribe", "translate"))
    assert spoken != translated


def test_what_is_refused(cpu, english, sound, tmp_path):
    def status_of(call):
        with pytest.raises(heed.Error) as failure:
            call()
        return failure.value.status

    assert status_of(lambda: heed.SpeechRecognizer(cpu, tmp_path)) == heed.Status.NOT_FOUND
    assert status_of(lambda: english.begin(task="translate")) == heed.Status.UNSUPPORTED
    assert status_of(lambda: english.begin(language="de")) == heed.Status.UNSUPPORTED
    assert status_of(lambda: english.begin(temperature_step=-1)) == heed.Status.INVALID_ARGUMENT
    assert status_of(lambda: list(english.recognize([0.0, math.nan]))) == heed.Status.INVALID_ARGUMENT
    assert status_of(lambda: english.recognize(sound.astype(np.float64))) == heed.Status.DTYPE_MISMATCH
    assert status_of(lambda: english.recognize(np.stack([sound, sound], 1))) == heed.Status.SHAPE_MISMATCH
    assert list(english.recognize(np.empty(0, np.float32))) == []
    with pytest.raises(TypeError, match="langage"):
        english.begin(langage="en")
    with pytest.raises(ValueError, match="task"):
        english.begin(task="sing")
    stream = english.begin()
    stream.finish()
    with pytest.raises(heed.Error, match="finished"):
        stream.push(sound)
