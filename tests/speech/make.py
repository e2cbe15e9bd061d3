#!/usr/bin/env python3
"""Makes the folders of tiny Whispers here, in CTranslate2's format, with random weights, and their expected results, computed in
double.

    python3 tests/speech/make.py [FOLDER]     needs numpy

NAME-hf has the same model in Hugging Face's format, and NAME-ggml.bin in whisper.cpp's.

Each folder holds model.bin, config.json, vocabulary.txt and expected.safetensors:
    mel [frames, bands], encoder [positions, width]    of the first window
    logits [V], no_speech [1]                          after the first window's prompt
    plain.N    I32    ids of window N, cut one after the other, without times
    times.N    I32    ids of segment N with times; times.spans [N, 2] are its begin and end in samples
    languages  I32    of the windows with times, or -1
    translated.N      for multilingual models: as plain.N, of the last language, translated
The sound is noise whose loudness rises and falls, the same as in the test (sound() there). A seed is rejected if any choice was
within 1e-3 of another one.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np

HOP, FRAME, MARGIN = 160, 400, 1e-3
WINDOWS = 2.6  # the sound's length
F32, I8, I16, F16 = 0, 1, 2, 4
TEXTS = ["Ġ", ".", ",", "Ã", "©", "Ġthe", "Ġa", "er", "Ġsword"] + [chr(ord("a") + i) for i in range(26)]
# Texts without speech, at ids that other models' lists forbid; the empty text marks multilingual models.
SIGNS = ["Ġ", "(", ",", "Ġ-", "©", "Ġthe", "Ġa", "Ã", "Ġsword"] + [chr(ord("a") + i) for i in range(12)] + [""]

CONFIGS = {
    "english": dict(width=24, bands=10, encoder=dict(layers=2, heads=3, hidden=48, positions=20),
                    decoder=dict(layers=2, heads=3, hidden=48, positions=30), languages=[], dtype=F16, unbiased=True),
    "multilingual": dict(width=32, bands=16, encoder=dict(layers=3, heads=4, hidden=40, positions=25),
                         decoder=dict(layers=1, heads=2, hidden=56, positions=36), languages=["en", "de", "fr"], dtype=F32),
    "int8": dict(width=32, bands=12, encoder=dict(layers=1, heads=1, hidden=64, positions=15),
                 decoder=dict(layers=2, heads=4, hidden=96, positions=28), languages=[], dtype=I8, ggml=True),
    "polyglot": dict(width=16, bands=8, encoder=dict(layers=1, heads=2, hidden=24, positions=18),
                     decoder=dict(layers=3, heads=4, hidden=40, positions=32), languages=["en", "zh", "de", "es"], dtype=F16,
                     texts=SIGNS, unbiased=True, ggml=True),
}


def texts(c):
    return c.get("texts", TEXTS)


def vocabulary(c):
    times = [f"<|{i * 0.02:.2f}|>" for i in range(c["encoder"]["positions"] + 1)]
    names = ["endoftext", "startoftranscript"] + (c["languages"] or ["en"])
    names += ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    return texts(c) + [f"<|{name}|>" for name in names] + times


def sound(count):
    """Samples that f32 represents exactly."""
    state, samples = 1, np.empty(count)
    for i in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        loudness = abs(i // 16 % 128 - 64)
        samples[i] = ((state >> 16) - 32768) / 32768.0 * loudness / 256.0
    return samples


# ---- weights ---------------------------------------------------------------------------------------------------

def draw(c, rng):
    """Variables under CTranslate2's names, as they are stored."""
    stored, width, kind = {}, c["width"], c["dtype"]

    def put(name, values, kind=F32):
        stored[name] = (kind, np.asarray(values, {F32: "<f4", I8: "i1", I16: "<i2", F16: "<f2"}[kind]))

    def vector(name, size, middle, spread):
        put(name, middle + spread * rng.standard_normal(size), F16 if kind == F16 else F32)

    def matrix(name, shape, size):
        values = size * rng.standard_normal(shape)
        if kind != I8:
            put(name, values, kind)
            return
        scale = 127 / np.abs(values).reshape(shape[0], -1).max(1)
        put(name, np.rint(values * scale.reshape(-1, *[1] * (len(shape) - 1))), I8)
        put(name + "_scale", scale)

    def linear(name, rows, columns, size=1.2):
        matrix(name + "/weight", (rows, columns), size / np.sqrt(columns))
        vector(name + "/bias", rows, 0.0, 0.2)

    def norm(name):
        vector(name + "/gamma", width, 1.0, 0.2)
        vector(name + "/beta", width, 0.0, 0.2)

    for name, channels in (("conv1", c["bands"]), ("conv2", width)):
        matrix(f"encoder/{name}/weight", (width, channels, 3), 1.2 / np.sqrt(3 * channels))
        vector(f"encoder/{name}/bias", width, 0.0, 0.2)
    for side in ("encoder", "decoder"):
        put(f"{side}/num_heads", c[side]["heads"], I16)
        table = (0.3 if side == "encoder" else 1.5) * rng.standard_normal((c[side]["positions"], width))
        put(f"{side}/position_encodings/encodings", table, F16 if kind == F16 else F32)
        norm(f"{side}/layer_norm")
        for i in range(c[side]["layers"]):
            p = f"{side}/layer_{i}"
            linear(p + "/self_attention/linear_0", 3 * width, width, 1.8)
            linear(p + "/self_attention/linear_1", width, width)
            norm(p + "/self_attention/layer_norm")
            if side == "decoder":
                linear(p + "/attention/linear_0", width, width, 1.8)
                linear(p + "/attention/linear_1", 2 * width, width, 1.8)
                linear(p + "/attention/linear_2", width, width)
                norm(p + "/attention/layer_norm")
            linear(p + "/ffn/linear_0", c[side]["hidden"], width)
            linear(p + "/ffn/linear_1", width, c[side]["hidden"])
            norm(p + "/ffn/layer_norm")
    matrix("decoder/embeddings/weight", (len(vocabulary(c)), width), 0.5)
    for name, value in (("activation", 3), ("alibi", 0), ("pre_norm", 1), ("scale_embeddings", 0),
                        ("start_from_zero_embedding", 0)):
        put("decoder/" + name, value, I8)
    put("decoder/alignment_heads", 1, I16)
    put("decoder/alignment_layer", -1, I16)
    return stored


def widened(stored):
    """The values in double. With rows in blocks of 32 the inverse of a scale is rounded to f16."""
    weights = {}
    for name, (kind, values) in stored.items():
        if kind == I8 and name + "_scale" in stored:
            inverse = (1 / stored[name + "_scale"][1].astype(np.float32)).astype(np.float32)
            if values.ndim == 2 and values.shape[1] % 32 == 0:
                inverse = inverse.astype(np.float16)
            weights[name] = values * inverse.astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
        else:
            weights[name] = values.astype(np.float64)
    return weights


# ---- the network ---------------------------------------------------------------------------------------------------

def mel_filters(bands):
    top = 15 + np.log(8) / (np.log(6.4) / 27)
    mels = np.linspace(0, top, bands + 2)
    hertz = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * np.log(6.4) / 27))
    bins = np.arange(FRAME // 2 + 1) * 16000 / FRAME
    filters = []
    for left, middle, right in zip(hertz, hertz[1:], hertz[2:]):
        height = np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle))
        filters.append(np.maximum(height, 0) * 2 / (right - left))
    return np.array(filters)


def log_mel(samples, bands):
    padded = np.pad(samples, FRAME // 2, mode="reflect")
    fade = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    frames = np.stack([padded[i * HOP:i * HOP + FRAME] * fade for i in range(len(samples) // HOP)])
    power = np.abs(np.fft.rfft(frames)) ** 2 @ mel_filters(bands).T
    level = np.log10(np.maximum(power, 1e-10))
    return (np.maximum(level, level.max() - 8) + 4) / 4


def gelu(x):
    from math import erf, sqrt
    return x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2)))


class Network:
    def __init__(self, c, weights):
        self.c, self.w = c, weights

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * self.w[name + "/gamma"] + self.w[name + "/beta"]

    def linear(self, x, name):
        return x @ self.w[name + "/weight"].T + self.w[name + "/bias"]

    def attend(self, q, k, v, heads, causal):
        result = []
        for q1, k1, v1 in zip(*(np.split(x, heads, -1) for x in (q, k, v))):
            scores = q1 @ k1.T / np.sqrt(q1.shape[-1])
            if causal:
                scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            result.append(scores / scores.sum(-1, keepdims=True) @ v1)
        return np.concatenate(result, -1)

    def convolve(self, x, name, stride):
        """x [frames, channels]"""
        x = np.pad(x, ((1, 1), (0, 0)))
        weight = self.w[f"encoder/{name}/weight"]
        rows = range(0, len(x) - 2, stride)
        return gelu(np.stack([np.einsum("tc,oct->o", x[i:i + 3], weight) for i in rows]) + self.w[f"encoder/{name}/bias"])

    def layer(self, x, side, i, heard=None):
        p, heads = f"{side}/layer_{i}", self.c[side]["heads"]
        h = self.linear(self.norm(x, p + "/self_attention/layer_norm"), p + "/self_attention/linear_0")
        x = x + self.linear(self.attend(*np.split(h, 3, -1), heads, side == "decoder"), p + "/self_attention/linear_1")
        if heard is not None:
            q = self.linear(self.norm(x, p + "/attention/layer_norm"), p + "/attention/linear_0")
            k, v = np.split(self.linear(heard, p + "/attention/linear_1"), 2, -1)
            x = x + self.linear(self.attend(q, k, v, heads, False), p + "/attention/linear_2")
        h = self.norm(x, p + "/ffn/layer_norm")
        return x + self.linear(gelu(self.linear(h, p + "/ffn/linear_0")), p + "/ffn/linear_1")

    def encode(self, mel):
        x = self.convolve(self.convolve(mel, "conv1", 1), "conv2", 2) + self.w["encoder/position_encodings/encodings"]
        for i in range(self.c["encoder"]["layers"]):
            x = self.layer(x, "encoder", i)
        return self.norm(x, "encoder/layer_norm")

    def logits(self, ids, heard):
        """Logits [len(ids), V] of a whole text at once."""
        table = self.w["decoder/embeddings/weight"]
        x = table[ids] + self.w["decoder/position_encodings/encodings"][:len(ids)]
        for i in range(self.c["decoder"]["layers"]):
            x = self.layer(x, "decoder", i, heard)
        return self.norm(x, "decoder/layer_norm") @ table.T


# ---- decoding ------------------------------------------------------------------------------------------------------

class Close(Exception):
    pass


def log_sum_exp(x):
    return -np.inf if not len(x) or x.max() == -np.inf else x.max() + np.log(np.exp(x - x.max()).sum())


class Listener:
    def __init__(self, c, weights, config):
        self.c, self.net, self.config = c, Network(c, weights), config
        words = vocabulary(c)
        self.word = {name: i for i, name in enumerate(words)}
        self.end, self.zero, self.words = self.word["<|endoftext|>"], self.word["<|0.00|>"], len(words)
        self.window = 2 * c["encoder"]["positions"] * HOP

    def hear(self, samples):
        padded = np.zeros(self.window)
        padded[:len(samples)] = samples
        self.mel = log_mel(padded, self.c["bands"])
        self.heard = self.net.encode(self.mel)

    def choose(self, logits):
        second, best = np.sort(logits)[-2:]
        if best - second < MARGIN:
            raise Close
        return int(np.argmax(logits))

    def language(self):
        if not self.c["languages"]:
            return -1
        ids = [self.word[f"<|{name}|>"] for name in self.c["languages"]]
        logits = self.net.logits([self.word["<|startoftranscript|>"]], self.heard)[-1]
        return ids[self.choose(logits[ids])]

    def prompt(self, times, language, task):
        ids = [self.word["<|startoftranscript|>"]]
        if language >= 0:
            ids += [language, self.word[f"<|{task}|>"]]
        return ids if times else ids + [self.word["<|notimestamps|>"]]

    def obey(self, logits, ids):
        """The timestamp rules of Whisper's reference."""
        logits[self.word["<|notimestamps|>"]] = -np.inf
        times = [i for i in ids if i >= self.zero]
        if not ids:
            logits[:self.zero] = -np.inf
            logits[self.zero + 51:] = -np.inf
        else:
            last = ids[-1] >= self.zero
            one_before = len(ids) < 2 or ids[-2] >= self.zero
            if last and one_before:
                logits[self.zero:] = -np.inf
            elif last:
                logits[:self.end] = -np.inf
            if times:
                logits[self.zero:times[-1] + (0 if last and not one_before else 1)] = -np.inf
        together, other = log_sum_exp(logits[self.zero:]), logits[:self.zero].max()
        if abs(together - other) < MARGIN:
            raise Close
        if together > other:
            logits[:self.zero] = -np.inf

    def read(self, times, language=None, task="transcribe"):
        language = self.language() if language is None else language
        prompt, ids = self.prompt(times, language, task), []
        most = min(self.c["decoder"]["positions"] // 2, self.c["decoder"]["positions"] - len(prompt))
        while len(ids) < most:
            all_logits = self.net.logits(prompt + ids, self.heard)
            logits = all_logits[-1].copy()
            if not ids:
                self.first = all_logits[-1]
                self.no_speech = np.exp(all_logits[0][self.word["<|nospeech|>"]] - log_sum_exp(all_logits[0]))
                logits[self.config["suppress_ids_begin"]] = -np.inf
            logits[self.config["suppress_ids"]] = -np.inf
            if times:
                self.obey(logits, ids)
            best = self.choose(logits)
            if best == self.end:
                break
            ids.append(best)
        return ids, language

    def plain(self, samples, **what):
        windows = []
        for at in range(0, len(samples), self.window):
            self.hear(samples[at:at + self.window])
            windows.append(self.read(False, **what)[0])
        return windows

    def timed(self, samples):
        """Segments (ids, begin, end), cut as in Whisper's reference; times in samples."""
        segments, languages, at = [], [], 0
        while at < len(samples):
            part = samples[at:at + self.window]
            self.hear(part)
            ids, language = self.read(True)
            languages.append(language)
            is_time = [i >= self.zero for i in ids]
            step = lambda i: min((ids[i] - self.zero) * 320, len(part))
            cuts = [i for i in range(1, len(ids)) if is_time[i - 1] and is_time[i]]
            alone = is_time[-2:] == [False, True]
            following = len(part)
            if cuts:
                if alone:
                    cuts.append(len(ids))
                begin = 0
                for cut in cuts:
                    segments.append((ids[begin:cut], at + step(begin), at + step(cut - 1)))
                    begin = cut
                if not alone and step(begin - 1) > 0:
                    following = step(begin - 1)
            else:
                end = next((step(i) for i in reversed(range(len(ids))) if is_time[i] and ids[i] > ids[0]), len(part))
                segments.append((ids, at + step(0), at + max(end, step(0))))
            at += following
        return [s for s in segments if any(i < self.end for i in s[0])], languages


def listen(c, seed):
    """The stored variables and their expected results; None if a choice was close, or the text is too short."""
    rng = np.random.default_rng(seed)
    stored = draw(c, rng)
    if c.get("unbiased"):  # in Hugging Face's files keys have no bias
        for name, (_, values) in stored.items():
            for module, begin in (("self_attention/linear_0/bias", c["width"]), ("/attention/linear_1/bias", 0)):
                if name.endswith(module):
                    values[begin:begin + c["width"]] = 0
    words = vocabulary(c)
    at = {name: i for i, name in enumerate(words)}
    empty = [at[""]] if "" in at else []
    config = {"suppress_ids": [1, 3, *empty, at["<|startoftranscript|>"], at["<|startofprev|>"], at["<|startoflm|>"],
                               at["<|transcribe|>"], at["<|translate|>"], at["<|nospeech|>"]],
              "suppress_ids_begin": [0, at["<|endoftext|>"]], "is_multilingual": bool(c["languages"])}
    listener = Listener(c, widened(stored), config)
    samples = sound(int(WINDOWS * listener.window))
    expected = {}
    try:
        windows = listener.plain(samples)
        segments, languages = listener.timed(samples)
        if "texts" in c:
            for i, ids in enumerate(listener.plain(samples, language=at[f"<|{c['languages'][-1]}|>"], task="translate")):
                expected[f"translated.{i}"] = np.array(ids, np.int32)
        listener.hear(samples[:listener.window])
        listener.read(False)
    except Close:
        return None
    lengths = {len(ids) for ids in windows}
    if len(segments) < 5 or len(lengths) < 2 or len({i for ids in windows for i in ids}) < 8:
        return None
    for i, ids in enumerate(windows):
        expected[f"plain.{i}"] = np.array(ids, np.int32)
    for i, (ids, _, _) in enumerate(segments):
        expected[f"times.{i}"] = np.array(ids, np.int32)
    expected |= {"times.spans": np.array([s[1:] for s in segments], np.int32), "languages": np.array(languages, np.int32),
                 "mel": listener.mel.astype(np.float32), "encoder": listener.heard.astype(np.float32),
                 "logits": listener.first.astype(np.float32), "no_speech": np.array([listener.no_speech], np.float32)}
    return stored, config, expected


# ---- files --------------------------------------------------------------------------------------------------------

def text(value):
    return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"


def save_model(path, stored):
    data = struct.pack("<I", 6) + text("WhisperSpec") + struct.pack("<II", 3, len(stored))
    for name in sorted(stored):
        kind, values = stored[name]
        data += text(name) + struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)
        data += struct.pack("<BI", kind, values.nbytes) + values.tobytes()
    data += struct.pack("<I", 1) + text("decoder/projection/weight") + text("decoder/embeddings/weight")
    path.write_bytes(data)


MODULES = {"self_attention/layer_norm": ["self_attn_layer_norm"], "self_attention/linear_1": ["self_attn.out_proj"],
           "self_attention/linear_0": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
           "attention/layer_norm": ["encoder_attn_layer_norm"], "attention/linear_0": ["encoder_attn.q_proj"],
           "attention/linear_1": ["encoder_attn.k_proj", "encoder_attn.v_proj"],
           "attention/linear_2": ["encoder_attn.out_proj"], "ffn/layer_norm": ["final_layer_norm"],
           "ffn/linear_0": ["fc1"], "ffn/linear_1": ["fc2"]}


def hugging_face_names(name):
    """The modules that a variable joins."""
    side, rest = name.split("/", 1)
    if name == "decoder/embeddings/weight":
        return ["decoder.embed_tokens.weight"]
    if rest == "position_encodings/encodings":
        return [f"{side}.embed_positions.weight"]
    if rest.startswith("layer_") and not rest.startswith("layer_norm"):
        layer, module = rest.split("/", 1)
        module, kind = module.rsplit("/", 1)
        kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
        return [f"{side}.layers.{layer[6:]}.{part}.{kind}" for part in MODULES[module]]
    return [name.replace("/gamma", "/weight").replace("/beta", "/bias").replace("/", ".")]


def split_variables(stored):
    """Tensors under Hugging Face's names: kind, values and scales, if there are any."""
    for name, (kind, values) in stored.items():
        if values.ndim == 0 or name.endswith("_scale"):
            continue
        names = hugging_face_names(name)
        scales = [None] * len(names) if kind != I8 else np.split(stored[name + "_scale"][1], len(names))
        for part, some, scale in zip(names, np.split(values, len(names)), scales):
            if some.any() or not part.endswith("k_proj.bias"):
                yield part, kind, some, scale


def save_hugging_face(folder, c, stored, rules):
    folder.mkdir(exist_ok=True)
    save_tensors(folder / "model.safetensors", {"model." + name: values for name, _, values, _ in split_variables(stored)})
    words = vocabulary(c)
    written = {word: i for i, word in enumerate(texts(c))}
    # Older files have no timestamp tokens.
    added = [{"id": i, "content": word} for i, word in enumerate(words) if len(texts(c)) <= i < words.index("<|0.00|>")]
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added, "model": {"vocab": written, "merges": []}}) + "\n")
    config = {"model_type": "whisper", "d_model": c["width"], "num_mel_bins": c["bands"], "vocab_size": len(words),
              "activation_function": "gelu", "scale_embedding": False}
    for side, positions in (("encoder", "max_source_positions"), ("decoder", "max_target_positions")):
        config |= {f"{side}_layers": c[side]["layers"], f"{side}_attention_heads": c[side]["heads"],
                   f"{side}_ffn_dim": c[side]["hidden"], positions: c[side]["positions"]}
    (folder / "config.json").write_text(json.dumps(config) + "\n")
    rules = {"suppress_tokens": rules["suppress_ids"], "begin_suppress_tokens": rules["suppress_ids_begin"],
             "is_multilingual": rules["is_multilingual"]}
    (folder / "generation_config.json").write_text(json.dumps(rules) + "\n")


GGML = {"self_attn_layer_norm": "attn_ln", "self_attn.q_proj": "attn.query", "self_attn.k_proj": "attn.key", "self_attn.v_proj": "attn.value",
        "self_attn.out_proj": "attn.out", "encoder_attn_layer_norm": "cross_attn_ln", "encoder_attn.q_proj": "cross_attn.query",
        "encoder_attn.k_proj": "cross_attn.key", "encoder_attn.v_proj": "cross_attn.value", "encoder_attn.out_proj": "cross_attn.out",
        "final_layer_norm": "mlp_ln", "fc1": "mlp.0", "fc2": "mlp.2", "embed_tokens.weight": "token_embedding.weight",
        "embed_positions.weight": "positional_embedding"}


def ggml_name(name):
    """The vocabulary in Hugging Face's format."""
    side, rest = name.split(".", 1)
    if rest.startswith("layers."):
        _, layer, rest = rest.split(".", 2)
        module, kind = rest.rsplit(".", 1)
        return f"{side}.blocks.{layer}.{GGML[module]}.{kind}"
    rest = rest.replace("layer_norm.", "ln_post." if side == "encoder" else "ln.")
    return f"{side}.{GGML.get(rest, rest)}"


def q8_0(values, scale):
    """Blocks of 32: an f16 scale, which all blocks of a row share, and integers."""
    factors = (1 / scale.astype(np.float32)).astype(np.float32).astype("<f2")
    blocks = values.reshape(len(values), -1, 32)
    return b"".join(factors[row].tobytes() + block.tobytes() for row in range(len(values)) for block in blocks[row])


def bytes_of(word):
    """The bytes of a token in GPT-2's alphabet, which has a printable letter for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}
    return bytes(letters[letter] for letter in word)


def save_ggml(path, c, stored):
    """The model in whisper.cpp's format: matrices as they are, int8 as Q8_0, and all else in f32."""
    words, kind = vocabulary(c), c["dtype"]
    sides = [number for side in ("encoder", "decoder") for number in (c[side]["positions"], c["width"], c[side]["heads"], c[side]["layers"])]
    data = struct.pack("<12I", 0x67676D6C, len(words), *sides, c["bands"], {F32: 0, F16: 1, I8: 2007}[kind])
    filters = mel_filters(c["bands"]).astype("<f4")
    data += struct.pack("<2I", *filters.shape) + filters.tobytes()
    data += struct.pack("<I", len(texts(c)))
    for word in texts(c):
        raw = bytes_of(word)
        data += struct.pack("<I", len(raw)) + raw
    for name, kind, values, scale in split_variables(stored):
        shape, is_matrix = values.shape, values.ndim > 1 and "embed_positions" not in name
        if kind == I8 and values.ndim == 2:
            number, values = 8, q8_0(values, scale)
        elif kind == F16 and is_matrix:
            number, values = 1, values.tobytes()
        else:
            factor = 1 if scale is None else (1 / scale).reshape(-1, 1, 1)
            number, values = 0, (values * factor).astype("<f4").tobytes()
        if name.endswith(("conv1.bias", "conv2.bias")):
            shape = (*shape, 1)
        name = ggml_name(name).encode()
        data += struct.pack(f"<{3 + len(shape)}I", len(shape), len(name), number, *reversed(shape)) + name + values
    path.write_bytes(data)


def save_tensors(path, tensors):
    header, data = {}, b""
    for name in sorted(tensors):
        values = tensors[name]
        kind = {"float32": "F32", "float16": "F16", "int32": "I32"}[str(values.dtype)]
        header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for name, c in CONFIGS.items():
        seed = next(seed for seed in range(2000) if listen(c, seed) is not None)
        stored, config, expected = listen(c, seed)
        (folder / name).mkdir(exist_ok=True)
        save_model(folder / name / "model.bin", stored)
        save_tensors(folder / name / "expected.safetensors", expected)
        (folder / name / "config.json").write_text(json.dumps(config) + "\n")
        if c.get("unbiased"):
            save_hugging_face(folder / (name + "-hf"), c, stored, config)
        if c.get("ggml"):
            save_ggml(folder / (name + "-ggml.bin"), c, stored)
        (folder / name / "vocabulary.txt").write_text("\n".join(vocabulary(c)) + "\n")
        print(f"{name}: seed {seed}, {len(expected['times.spans'])} segments")


if __name__ == "__main__":
    main()
