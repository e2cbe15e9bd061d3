"""TextEncoder on a small BERT with random weights, compared with the same network in numpy (Devlin et al. 2018, arXiv:1810.04805)."""

import json
import math
import os
import signal
import struct
import threading

import numpy as np
import pytest

import heed
from support import close

WIDTH, HEADS, HIDDEN, LAYERS, POSITIONS = 24, 3, 40, 2, 32
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "axe", "buy", "can", "i", "sword", "where", "?", "##s"]


def drawn_weights():
    random = np.random.default_rng(5)
    shapes = {"embeddings.word_embeddings.weight": (len(WORDS), WIDTH), "embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
              "embeddings.token_type_embeddings.weight": (2, WIDTH)}
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for name, out, into in (("attention.self.query", WIDTH, WIDTH), ("attention.self.key", WIDTH, WIDTH),
                                ("attention.self.value", WIDTH, WIDTH), ("attention.output.dense", WIDTH, WIDTH),
                                ("intermediate.dense", HIDDEN, WIDTH), ("output.dense", WIDTH, HIDDEN)):
            shapes[layer + name + ".weight"], shapes[layer + name + ".bias"] = (out, into), (out,)
        norms += [layer + "attention.output.LayerNorm", layer + "output.LayerNorm"]
    for norm in norms:
        shapes[norm + ".weight"] = shapes[norm + ".bias"] = (WIDTH,)
    return {name: random.standard_normal(shape, np.float32) / 3 for name, shape in shapes.items()}


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": "F32", "shape": a.shape, "data_offsets": [offset, offset + a.nbytes]}
        offset += a.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(a.tobytes() for a in tensors.values()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    write_safetensors(folder / "model.safetensors", drawn_weights())
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "config.json").write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertModel"], "hidden_size": WIDTH, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "intermediate_size": HIDDEN, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
        "vocab_size": len(WORDS), "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0,
        "position_embedding_type": "absolute"}))
    return folder


def expected_vector(ids):
    w = {name: a.astype(np.float64) for name, a in drawn_weights().items()}

    def linear(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
        return x * w[name + ".weight"] + w[name + ".bias"]

    def heads(x):
        return x.reshape(len(ids), HEADS, -1).swapaxes(0, 1)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (heads(linear(x, layer + "attention.self." + n)) for n in ("query", "key", "value"))
        e = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(WIDTH // HEADS))
        y = (e / e.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), WIDTH)
        x = norm(x + linear(y, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
        y = linear(x, layer + "intermediate.dense")
        y = y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))) / 2
        x = norm(x + linear(y, layer + "output.dense"), layer + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_vectors(device, folder):
    encoder = heed.TextEncoder(device, folder, max_batch=2)
    texts = ["where can i buy a sword?", "a", "axes", "Where can I buy an axe?", ""]
    ids = encoder.tokens(texts[0])
    assert [WORDS[i] for i in ids] == ["[CLS]", "where", "can", "i", "buy", "a", "sword", "?", "[SEP]"]
    assert [WORDS[i] for i in encoder.tokens("axes")] == ["[CLS]", "axe", "##s", "[SEP]"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (5, WIDTH) and encoder.width == WIDTH
    for text, vector in zip(texts, vectors):
        assert close(vector, expected_vector(encoder.tokens(text)))
        assert close(encoder.encode(text), vector)
    assert encoder.encode([]).shape == (0, WIDTH)
    attention = encoder.attention(texts[0])
    assert attention.weights.shape == (LAYERS, HEADS, 9, 9) and attention.tokens[-1] == "[SEP]"
    assert np.allclose(attention.weights.sum(-1), 1, atol=1e-5)
    assert encoder.fingerprint == heed.TextEncoder(device, folder).fingerprint


def test_wrong_texts_and_folders(cpu, folder, tmp_path):
    encoder = heed.TextEncoder(cpu, folder)
    for wrong in (["a", None], [b"a"], ["a\0b"]):
        with pytest.raises((TypeError, ValueError)):
            encoder.encode(wrong)
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        for other in ("config.json", "model.safetensors", "vocab.txt"):
            data = (folder / other).read_bytes()
            (tmp_path / other).write_bytes(data[:len(data) // 2] if other == name else data)
        if name != "vocab.txt":  # a vocabulary of half the words
            with pytest.raises(heed.Error) as failure:
                heed.TextEncoder(cpu, tmp_path)
            assert failure.value.status == heed.Status.INVALID_FILE


def test_an_interrupt_stops_between_batches(cpu, folder, monkeypatch):
    encoder = heed.TextEncoder(cpu, folder, max_batch=1)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))

    class Library:
        """Starts the timer when the library is called, however long the texts took before."""

        def __getattr__(self, name):
            return getattr(heed._c.lib, name)

        def heed_text_encoder_encode(self, *arguments):
            timer.start()
            return heed._c.lib.heed_text_encoder_encode(*arguments)

    monkeypatch.setattr(heed.text, "lib", Library())
    with pytest.raises(KeyboardInterrupt) as stopped:
        encoder.encode(["where can i buy a sword?"] * 100000)
    timer.join()
    monkeypatch.undo()
    assert "raise KeyboardInterrupt" in str(stopped.traceback[-1].statement)  # not before the library was called
    assert close(encoder.encode("a"), expected_vector(encoder.tokens("a")))
