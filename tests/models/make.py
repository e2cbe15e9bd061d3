#!/usr/bin/env python3
"""Makes the GGUF files of this folder from the tiny decoders of tests/decoders, with names and keys of PyPI's `gguf`.

    python3 tests/models/make.py [FOLDER]     needs numpy and gguf (0.19.0 made the committed files)

The expected results are in the safetensors file that it reads. As in llama.cpp's converter, rows of Llama's and SmolLM3's queries
and keys are ordered for pairs of neighbours, frequency factors are a tensor, and GPT-2's matrices are [out, in].
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np
from gguf import MODEL_ARCH, GGUFWriter, get_tensor_name_map

HERE = Path(__file__).parent
NEIGHBOURS = {"llama", "smollm3"}  # architectures that rotate neighbours


def load(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        kind = {"F32": np.float32, "I32": np.int32}[entry["dtype"]]
        tensors[name] = np.frombuffer(data[8 + length + begin : 8 + length + end], kind).reshape(entry["shape"])
    return metadata, tensors


def for_neighbours(rows, heads):
    """Permutes the rows of each head from halves (0, 1, ..., h, h + 1, ...) to pairs 0, h, 1, h + 1, ..."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def factors(c, width):
    frequency = float(c["base"]) ** (-np.arange(width // 2) / (width // 2))
    turns = frequency * float(c["trained_length"]) / (2 * np.pi)
    share = np.clip((turns - float(c["low"])) / (float(c["high"]) - float(c["low"])), 0.0, 1.0)
    return (1 / (share + (1 - share) / float(c["factor"]))).astype(np.float32)


folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
for path in sorted((HERE.parent / "decoders").glob("*.safetensors")):
    name = path.stem
    c, tensors = load(path)
    family, layers, width = c["family"], int(c["layers"]), int(c["head_width"])
    names = get_tensor_name_map(MODEL_ARCH[family.upper()], layers)
    writer = GGUFWriter(folder / f"{name}.gguf", family)
    writer.add_name(f"tiny {name}")
    writer.add_block_count(layers)
    writer.add_embedding_length(int(c["width"]))
    writer.add_feed_forward_length(int(c["hidden"]))
    writer.add_head_count(int(c["heads"]))
    writer.add_context_length(int(c.get("positions", 128)))
    if family == "gpt2":
        writer.add_layer_norm_eps(float(c["eps"]))
    else:
        writer.add_layer_norm_rms_eps(float(c["eps"]))
        writer.add_head_count_kv(int(c["kv_heads"]))
        writer.add_key_length(width)
        writer.add_value_length(width)
        writer.add_rope_dimension_count(width)
        writer.add_rope_freq_base(float(c["base"]))
        writer.add_vocab_size(int(c["vocabulary"]))
    if "window" in c:
        writer.add_sliding_window(int(c["window"]))
    if "factor" in c:
        writer.add_rope_scaling_orig_ctx_len(int(c["trained_length"]))
        writer.add_tensor("rope_freqs.weight", factors(c, width))
    for hf, values in tensors.items():
        if hf in ("prompt", "tokens", "logits"):
            continue
        if family in NEIGHBOURS and ".q_proj" in hf:
            values = for_neighbours(values, int(c["heads"]))
        if family in NEIGHBOURS and ".k_proj" in hf:
            values = for_neighbours(values, int(c["kv_heads"]))
        if family == "gpt2" and values.ndim == 2 and hf.startswith("h."):
            values = values.T
        writer.add_tensor(names.get_name(hf, (".weight", ".bias")), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
