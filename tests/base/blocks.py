"""Writes blocks.bin: blocks of every quantized type that heed knows, and their values by PyPI's `gguf`.

    python3 -m venv venv && venv/bin/pip install gguf && venv/bin/python tests/base/blocks.py tests/base/blocks.bin

The file is little-endian: for each type its GGUF number, elements and bytes of a block and the number of blocks, four u32, then the
blocks, then their values in f32. Blocks have random bits except for their f16 scales, which are of ordinary size, the largest
finite one, the smallest and other subnormal ones, zeros of both signs and negative ones. gguf 0.19.0 made the committed file.
"""

import struct
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# Byte offsets of a block's f16 numbers.
TYPES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
EXTREMES = [0x7BFF, 0xFBFF, 0x0001, 0x8001, 0x03FF, 0x0400, 0x0000, 0x8000]


def scales(random: np.random.Generator, count: int) -> np.ndarray:
    ordinary = random.normal(0.0, 0.02, count).astype(np.float16).view(np.uint16)
    return np.where(random.random(count) < 0.5, ordinary, random.choice(EXTREMES, count)).astype(np.uint16)


def main() -> None:
    random = np.random.default_rng(20)
    with open(sys.argv[1], "wb") as file:
        for name, places in TYPES.items():
            kind = GGMLQuantizationType[name]
            elements, size = GGML_QUANT_SIZES[kind]
            count = 24 if elements == 32 else 6
            blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
            for place in places:
                blocks[:, place : place + 2] = scales(random, count).view(np.uint8).reshape(count, 2)
            values = dequantize(blocks, kind).astype("<f4")
            assert values.size == count * elements and np.isfinite(values).all()
            file.write(struct.pack("<4I", kind, elements, size, count) + blocks.tobytes() + values.tobytes())


main()
