#!/usr/bin/env python3
"""Makes the files of this folder: tiny decoders of each family with random weights, and their results in double.

    python3 tests/decoders/make.py [FOLDER]     needs numpy

Each file holds the weights under the names of Hugging Face's checkpoints (F32), and
    prompt   I32 [P]             ids of the prompt
    tokens   I32 [64]            the tokens that follow, always the most likely one
    logits   F32 [64, V]         the logits of each of these tokens
Its metadata are the configuration, and the config.json of a Hugging Face checkpoint. Weights of norms are complete, where such a
checkpoint subtracts `norm_offset`. Weights are rounded to F32 before anything is computed. A seed is rejected if the best token is
ever within 1e-3 of the second best, so that rounding errors cannot change a choice.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np

TOKENS, PROMPT, MARGIN = 64, 7, 1e-3

CONFIGS = {
    "llama": dict(family="llama", layers=2, width=40, heads=4, kv_heads=2, head_width=12, hidden=56, vocabulary=61,
                  eps=1e-5, base=10000.0, factor=4.0, low=1.0, high=4.0, trained_length=32, tied=0),
    "qwen2": dict(family="qwen2", layers=2, width=32, heads=4, kv_heads=1, head_width=8, hidden=48, vocabulary=53,
                  eps=1e-6, base=1000000.0, tied=1),
    "qwen3": dict(family="qwen3", layers=3, width=32, heads=2, kv_heads=2, head_width=20, hidden=44, vocabulary=47,
                  eps=1e-6, base=5000.0, tied=1),
    "gpt2": dict(family="gpt2", layers=2, width=36, heads=3, kv_heads=3, head_width=12, hidden=144, vocabulary=50,
                 eps=1e-5, positions=72, tied=1),
    "smollm3": dict(family="smollm3", layers=5, width=32, heads=4, kv_heads=2, head_width=8, hidden=40, vocabulary=59,
                    eps=1e-6, base=5000000.0, unturned_every=4, tied=1),
    "gemma3": dict(family="gemma3", layers=6, width=24, heads=4, kv_heads=1, head_width=12, hidden=32, vocabulary=57,
                   eps=1e-6, base=1000000.0, window=9, window_base=10000.0, full_every=6, norm_offset=1, tied=1),
}


def draw_weights(c, rng):
    """F32 tensors by name."""
    weights = {}

    def matrix(name, rows, columns, size=None):
        size = size or 1.4 / np.sqrt(columns)
        weights[name] = (rng.standard_normal((rows, columns)) * size).astype(np.float32)

    def vector(name, size, middle, spread):
        weights[name] = (middle + spread * rng.standard_normal(size)).astype(np.float32)

    width, head = c["width"], c["head_width"]
    if c["family"] == "gpt2":
        matrix("wte.weight", c["vocabulary"], width, 0.5)
        matrix("wpe.weight", c["positions"], width, 0.3)
        for i in range(c["layers"]):
            p = f"h.{i}."
            for name, rows, columns in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                        ("mlp.c_fc", width, c["hidden"]), ("mlp.c_proj", c["hidden"], width)):
                matrix(p + name + ".weight", rows, columns, 1.4 / np.sqrt(rows))
                vector(p + name + ".bias", columns, 0.0, 0.2)
            for name in ("ln_1", "ln_2"):
                vector(p + name + ".weight", width, 1.0, 0.2)
                vector(p + name + ".bias", width, 0.0, 0.2)
        vector("ln_f.weight", width, 1.0, 0.2)
        vector("ln_f.bias", width, 0.0, 0.2)
        return weights
    # With larger weights Gemma, which scales embeddings, would repeat one token.
    matrix("model.embed_tokens.weight", c["vocabulary"], width, 0.15 if c["family"] == "gemma3" else 0.5)
    for i in range(c["layers"]):
        p = f"model.layers.{i}."
        for name, heads in (("q", c["heads"]), ("k", c["kv_heads"]), ("v", c["kv_heads"])):
            matrix(p + f"self_attn.{name}_proj.weight", heads * head, width)
            if c["family"] == "qwen2":
                vector(p + f"self_attn.{name}_proj.bias", heads * head, 0.0, 0.3)
        if c["family"] in ("qwen3", "gemma3"):
            vector(p + "self_attn.q_norm.weight", head, 1.0, 0.2)
            vector(p + "self_attn.k_norm.weight", head, 1.0, 0.2)
        matrix(p + "self_attn.o_proj.weight", width, c["heads"] * head)
        matrix(p + "mlp.gate_proj.weight", c["hidden"], width)
        matrix(p + "mlp.up_proj.weight", c["hidden"], width)
        matrix(p + "mlp.down_proj.weight", width, c["hidden"])
        vector(p + "input_layernorm.weight", width, 1.0, 0.2)
        vector(p + "post_attention_layernorm.weight", width, 1.0, 0.2)
        if c["family"] == "gemma3":
            vector(p + "pre_feedforward_layernorm.weight", width, 1.0, 0.2)
            vector(p + "post_feedforward_layernorm.weight", width, 1.0, 0.2)
    vector("model.norm.weight", width, 1.0, 0.2)
    if not c["tied"]:
        matrix("lm_head.weight", c["vocabulary"], width)
    return weights


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight


def layer_norm(x, weight, bias, eps):
    x = x - np.mean(x, -1, keepdims=True)
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight + bias


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def rotate(x, c, base):
    """x [heads, tokens, head]. Token t is rotated by t times the frequency of each pair, of which one element is in the first half
    and one in the second."""
    half = x.shape[-1] // 2
    frequency = base ** (-np.arange(half) / half)
    if "factor" in c:
        turns = frequency * c["trained_length"] / (2 * np.pi)
        share = np.clip((turns - c["low"]) / (c["high"] - c["low"]), 0.0, 1.0)
        frequency = frequency * (share + (1 - share) / c["factor"])
    angle = np.arange(x.shape[1])[:, None] * frequency
    a, b = x[..., :half], x[..., half:]
    return np.concatenate((a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)), -1)


def attend(q, k, v, window=None):
    """q [heads, tokens, head], k and v [kv_heads, tokens, head] -> [tokens, heads * head]. A token sees the last `window` tokens
    including itself."""
    each = q.shape[0] // k.shape[0]
    k, v = np.repeat(k, each, 0), np.repeat(v, each, 0)
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    tokens = scores.shape[-1]
    back = np.arange(tokens)[:, None] - np.arange(tokens)
    scores = np.where((back >= 0) & (back < (window or tokens)), scores, -np.inf)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    y = scores / scores.sum(-1, keepdims=True) @ v
    return y.transpose(1, 0, 2).reshape(tokens, -1)


def apart(x, heads):
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def logits_of(ids, c, w):
    """Logits [tokens, vocabulary] of a whole text in one pass."""
    if c["family"] == "gpt2":
        x = w["wte.weight"][ids] + w["wpe.weight"][: len(ids)]
        for i in range(c["layers"]):
            p = f"h.{i}."
            h = layer_norm(x, w[p + "ln_1.weight"], w[p + "ln_1.bias"], c["eps"])
            q, k, v = np.split(h @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"], 3, -1)
            y = attend(*(apart(part, c["heads"]) for part in (q, k, v)))
            x = x + y @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
            h = layer_norm(x, w[p + "ln_2.weight"], w[p + "ln_2.bias"], c["eps"])
            h = h @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"]
            h = gelu_tanh(h)
            x = x + h @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
        return layer_norm(x, w["ln_f.weight"], w["ln_f.bias"], c["eps"]) @ w["wte.weight"].T
    gemma = c["family"] == "gemma3"
    x = w["model.embed_tokens.weight"][ids] * (np.sqrt(c["width"]) if gemma else 1.0)
    for i in range(c["layers"]):
        full = not gemma or (i + 1) % c["full_every"] == 0
        p = f"model.layers.{i}."
        h = rms_norm(x, w[p + "input_layernorm.weight"], c["eps"])
        projected = []
        for name in "qkv":
            y = h @ w[p + f"self_attn.{name}_proj.weight"].T + w.get(p + f"self_attn.{name}_proj.bias", 0.0)
            projected.append(apart(y, c["heads"] if name == "q" else c["kv_heads"]))
        q, k, v = projected
        if c["family"] in ("qwen3", "gemma3"):
            q = rms_norm(q, w[p + "self_attn.q_norm.weight"], c["eps"])
            k = rms_norm(k, w[p + "self_attn.k_norm.weight"], c["eps"])
        if (i + 1) % c.get("unturned_every", c["layers"] + 1) != 0:
            base = c["base"] if full else c["window_base"]
            q, k = rotate(q, c, base), rotate(k, c, base)
        y = attend(q, k, v, None if full else c["window"]) @ w[p + "self_attn.o_proj.weight"].T
        x = x + (rms_norm(y, w[p + "post_attention_layernorm.weight"], c["eps"]) if gemma else y)
        h = rms_norm(x, w[p + ("pre_feedforward" if gemma else "post_attention") + "_layernorm.weight"], c["eps"])
        gate = h @ w[p + "mlp.gate_proj.weight"].T
        gate = gelu_tanh(gate) if gemma else gate / (1 + np.exp(-gate))
        y = (gate * (h @ w[p + "mlp.up_proj.weight"].T)) @ w[p + "mlp.down_proj.weight"].T
        x = x + (rms_norm(y, w[p + "post_feedforward_layernorm.weight"], c["eps"]) if gemma else y)
    x = rms_norm(x, w["model.norm.weight"], c["eps"])
    return x @ w["model.embed_tokens.weight" if c["tied"] else "lm_head.weight"].T


def speak(c, seed):
    """The tensors of a file, or None if a choice was close or the text soon repeats itself."""
    rng = np.random.default_rng(seed)
    stored = draw_weights(c, rng)
    weights = {name: values.astype(np.float64) for name, values in stored.items()}
    prompt = rng.integers(0, c["vocabulary"], PROMPT)
    ids, said = list(prompt), []
    for _ in range(TOKENS):
        logits = logits_of(np.array(ids), c, weights)[-1]
        second, best = np.sort(logits)[-2:]
        if best - second < MARGIN:
            return None
        said.append(logits)
        ids.append(int(np.argmax(logits)))
    if len(set(ids[-24:])) < 6:
        return None
    stored["prompt"] = prompt.astype(np.int32)
    stored["tokens"] = np.array(ids[PROMPT:], np.int32)
    stored["logits"] = np.array(said, np.float32)
    return stored


def hugging_face(c):
    """The config.json of a Hugging Face checkpoint."""
    config = {"model_type": c["family"], "vocab_size": c["vocabulary"], "tie_word_embeddings": bool(c["tied"])}
    if c["family"] == "gpt2":
        return config | {"n_layer": c["layers"], "n_embd": c["width"], "n_head": c["heads"], "n_inner": None,
                         "n_positions": c["positions"], "layer_norm_epsilon": c["eps"], "activation_function": "gelu_new"}
    config |= {"num_hidden_layers": c["layers"], "hidden_size": c["width"], "num_attention_heads": c["heads"],
               "num_key_value_heads": c["kv_heads"], "head_dim": c["head_width"], "intermediate_size": c["hidden"],
               "max_position_embeddings": 128, "rms_norm_eps": c["eps"], "rope_theta": c["base"]}
    if c["family"] == "gemma3":
        return config | {"model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": c["window"],
                         "rope_local_base_freq": c["window_base"], "query_pre_attn_scalar": c["head_width"],
                         "layer_types": [("full" if (i + 1) % c["full_every"] == 0 else "sliding") + "_attention"
                                         for i in range(c["layers"])]}
    if "factor" in c:
        config["rope_scaling"] = {"rope_type": "llama3", "factor": c["factor"], "low_freq_factor": c["low"],
                                  "high_freq_factor": c["high"], "original_max_position_embeddings": c["trained_length"]}
    if "unturned_every" in c:
        config |= {"no_rope_layer_interval": c["unturned_every"], "use_sliding_window": False, "sliding_window": None,
                   "no_rope_layers": [int((i + 1) % c["unturned_every"] != 0) for i in range(c["layers"])]}
    return config


def save(path, tensors, metadata):
    header, data = {"__metadata__": {name: str(value) for name, value in metadata.items()}}, b""
    for name in sorted(tensors):
        values = tensors[name]
        kind = {"float32": "F32", "int32": "I32"}[str(values.dtype)]
        header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
for name, config in CONFIGS.items():
    seed = next(seed for seed in range(1000) if speak(config, seed) is not None)
    metadata = config | {"seed": seed, "config.json": json.dumps(hugging_face(config))}
    save(folder / f"{name}.safetensors", speak(config, seed), metadata)
    print(f"{name}: seed {seed}")
