#!/usr/bin/env python3
"""Computes when the words of a recording are said, by Whisper in double: writes open-door.words.json, which words_test.cpp
compares.

    python3 tests/speech/words.py FOLDER [OUT]     FOLDER: Whisper tiny.en (samples/listen/fetch_model.sh); needs numpy

The text is that of open-door.json. Its tokens are read in one run after the prompt without times. The attention of the heads in
config.json is normalized over the tokens and filtered along the frames; dynamic time warping follows its mean. Words after pauses
are shortened.
"""
import json
import struct
import sys
import wave
from pathlib import Path

import numpy as np

import make

START, NO_TIMES, END = 50257, 50362, 50256


def read_model(path):
    """The variables of a CTranslate2 file (binary version 6), in double."""
    data, at = path.read_bytes(), 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    def text():
        size, = take("H")
        return take(f"{size}s")[0][:-1].decode()

    take("I"), text()
    _, count = take("II")
    variables = {}
    for _ in range(count):
        name = text()
        rank, = take("B")
        shape = take(f"{rank}I")
        kind, size = take("BI")
        form = {0: "<f4", 1: "i1", 2: "<i2", 3: "<i4", 4: "<f2"}[kind]
        variables[name] = np.frombuffer(data, form, size // np.dtype(form).itemsize, at).reshape(shape).astype(np.float64)
        at += size
    return variables


class Looking(make.Network):
    """Stores the weights of cross attention, [heads, tokens, frames] for each layer."""
    looks = []

    def attend(self, q, k, v, heads, causal):
        if len(q) != len(k):
            parts = [a @ b.T / np.sqrt(a.shape[-1]) for a, b in zip(np.split(q, heads, -1), np.split(k, heads, -1))]
            weights = np.exp(np.stack(parts))
            self.looks.append(weights / weights.sum(-1, keepdims=True))
        return super().attend(q, k, v, heads, causal)


def median(rows):
    padded = np.pad(rows, ((0, 0), (3, 3)), mode="reflect")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 7, -1), -1)


def warp(cost):
    """The first column of each row on the cheapest path."""
    rows, columns = cost.shape
    sums = np.full((rows + 1, columns + 1), np.inf)
    sums[0, 0] = 0
    for r in range(rows):
        for c in range(columns):
            sums[r + 1, c + 1] = cost[r, c] + min(sums[r, c], sums[r, c + 1], sums[r + 1, c])
    r, c, first = rows, columns, [0] * rows
    while r > 0:
        first[r - 1] = c - 1
        if c == 1:
            r -= 1
            continue
        _, r, c = min((sums[r - 1, c - 1], r - 1, c - 1), (sums[r, c - 1], r, c - 1), (sums[r - 1, c], r - 1, c))
    return first


def shorten(words):
    """Words that may follow a pause become at most twice as long as the median word, and 1.4 s. Times are steps of 0.02 s."""
    lengths = [word["end"] - word["begin"] for word in words if word["end"] > word["begin"]]
    most = min(70, int(2 * np.median(lengths)))
    for i, word in enumerate(words):
        if i == 0 or words[i - 1]["text"][-1] in ".!?":
            word["begin"] = max(word["begin"], word["end"] - most)


def main():
    folder, here = Path(sys.argv[1]), Path(__file__).parent
    known = json.loads((here / "open-door.json").read_text())
    with wave.open(str(here / "open-door.wav")) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0
    weights = read_model(folder / "model.bin")
    side = lambda name: dict(layers=4, heads=int(weights[name + "/num_heads"]))
    net = Looking(dict(encoder=side("encoder"), decoder=side("decoder")), weights)
    window = np.zeros(480000)
    window[:len(samples)] = samples
    heard = net.encode(make.log_mel(window, 80))
    text = known["tokens"]
    net.looks = []
    net.logits([START, NO_TIMES] + text + [END], heard)
    frames = len(samples) // 320
    heads = json.loads((folder / "config.json").read_text())["alignment_heads"]
    total = np.zeros((len(text) + 3, frames))
    for layer, head in heads:
        look = net.looks[layer][head][:, :frames]
        look = look / look.sum(-1, keepdims=True)
        total += median((look - look.mean(0)) / look.std(0)) / len(heads)
    begins = warp(-total[1:-1])
    pieces = (folder / "vocabulary.txt").read_text().split("\n")
    words = []
    for i, token in enumerate(text):
        piece = pieces[token].replace("Ġ", " ")
        if piece.startswith(" ") or not words:
            words.append({"text": piece, "begin": begins[i], "end": begins[i + 1]})
        else:
            words[-1]["text"] += piece
            if piece != ".":
                words[-1]["end"] = begins[i + 1]
    shorten(words)
    for word in words:
        word["begin"], word["end"] = round(word["begin"] * 0.02, 2), round(word["end"] * 0.02, 2)
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else here / "open-door.words.json"
    out.write_text("[\n" + ",\n".join(" " + json.dumps(word) for word in words) + "\n]\n")


if __name__ == "__main__":
    main()
