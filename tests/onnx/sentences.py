#!/usr/bin/env python3
"""Compares the sentence vectors of an ONNX file, which samples/search/bert_onnx.py makes from a BERT model, with those of
heed.TextEncoder, on every device.

  sentences.py FOLDER...    folders of models in Hugging Face's layout
"""
import json
import os
import pathlib
import sys

import numpy as np

import heed

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "samples" / "search"))
import bert_onnx  # noqa: E402

LOADER = os.environ.get("HEED_VULKAN_LOADER")
TEXTS = ["Where can I buy a sword?", "where", "The blacksmith at the market sells axes, and he sharpens old ones for a silver coin.", "42"]
MOST = 3e-6  # largest difference of vectors of length 1


def model_of(folder):
    checkpoint = heed.Checkpoint(folder)
    return bert_onnx.make(json.loads((folder / "config.json").read_text()), {name: checkpoint[name] for name in checkpoint})


def batch_of(encoder, texts):
    """Ids, mask and types [batch, tokens]."""
    rows = [encoder.tokens(text) for text in texts]
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    keep = np.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, :len(row)], keep[i, :len(row)] = row, 1
    return ids, keep, np.zeros_like(ids)


def main():
    failures = 0
    devices = [heed.Device(info.word, vulkan_loader=LOADER) for info in heed.devices(vulkan_loader=LOADER) if info.usable]
    for folder in map(pathlib.Path, sys.argv[1:]):
        file = model_of(folder)
        for device in devices:
            encoder = heed.TextEncoder(device, folder)
            model = heed.onnx.load(file, device, largest={"batch": len(TEXTS), "tokens": 64})
            worst = 0.0
            for texts in (TEXTS, TEXTS[1:2], TEXTS[2:]):
                found, wanted = model(*batch_of(encoder, texts))["sentence"], encoder.encode(texts)
                worst = max(worst, float(np.abs(found - wanted).max()))
            is_right = worst <= MOST
            failures += not is_right
            print(f"{'ok' if is_right else 'FAIL'} {folder.name} on {device.info.word}: vectors differ by {worst:.1e}")
    return 1 if failures or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
