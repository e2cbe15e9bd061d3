#!/usr/bin/env python3
"""Makes witness.gguf of this folder with PyPI's `gguf`, which is the reference for the tests of heed's reader.

    python3 tests/io/gguf_witness.py [FILE]     needs numpy and gguf (0.19.0 made the committed file)

It has a value of each type, and a tensor of each type that heed supports, [2, 256] of random blocks, with its values by
gguf.quants.dequantize as NAME.values in F32.
"""
import sys
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFValueType as Value, GGUFWriter
from gguf.quants import GGML_QUANT_SIZES, dequantize

ROWS, COLUMNS = 2, 256
# Byte offsets of f16 numbers in a block: its scale and, for some types, its offset.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}

rng = np.random.default_rng(20)
writer = GGUFWriter(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "witness.gguf"), "llama")
writer.add_uint8("witness.u8", 255)
writer.add_int8("witness.i8", -128)
writer.add_uint16("witness.u16", 65535)
writer.add_int16("witness.i16", -32768)
writer.add_uint32("witness.u32", 4294967295)
writer.add_int32("witness.i32", -2147483648)
writer.add_float32("witness.f32", 0.1)
writer.add_uint64("witness.u64", 2**64 - 1)
writer.add_int64("witness.i64", -(2**63))
writer.add_float64("witness.f64", 0.1)
writer.add_bool("witness.bool", True)
writer.add_string("witness.text", "a word, naïve 🐉")
writer.add_array("witness.texts", ["<s>", "▁the", "naïve", "🐉", "line\nbreak"])
writer.add_array("witness.integers", [-1, 0, 2147483647])
writer.add_array("witness.floats", [0.5, -0.25])
writer.add_array("witness.bools", [True, False])

values = rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)
writer.add_tensor("F32", values)
writer.add_tensor("F16", values.astype(np.float16))
writer.add_tensor("F16.values", values.astype(np.float16).astype(np.float32))
brain = (values.view(np.uint32) >> 16).astype(np.uint16)
writer.add_tensor("BF16", brain.view(np.uint8), raw_dtype=Type.BF16)
writer.add_tensor("BF16.values", (brain.astype(np.uint32) << 16).view(np.float32))
for name, scales in SCALES.items():
    kind = Type[name]
    elements, size = GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=np.uint8)
    for at in scales:
        numbers = (rng.standard_normal(blocks.shape[:2]) * 0.01).astype(np.float16)
        blocks[:, :, at : at + 2] = numbers.view(np.uint8).reshape(ROWS, -1, 2)
    rows = blocks.reshape(ROWS, -1)
    writer.add_tensor(name, rows, raw_dtype=kind)
    writer.add_tensor(name + ".values", dequantize(rows, kind).astype(np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
