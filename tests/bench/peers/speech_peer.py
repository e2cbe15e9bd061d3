"""Times CTranslate2 and heed's program `listen` in turn; see speech_peers.sh.

    speech_peer.py LISTEN MODEL RECORDING THREADS ROUNDS
"""
import re
import statistics
import subprocess
import sys
import time
import wave
from pathlib import Path

import ctranslate2
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "speech"))
from make import log_mel  # noqa: E402

listen, folder, recording, threads, rounds = sys.argv[1:]
WINDOW = 480000
HEED = {"heed, as in the file (f16)": [], "heed, f32": ["--weights", "f32"], "heed, q8_0": ["--weights", "q8_0"],
        "heed, q8_0, rounded rows": ["--weights", "q8_0", "--round-rows"]}

with wave.open(recording) as file:
    assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2), "16 bits, mono, 16 kHz"
    samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")[:WINDOW] / 32768.0
mel = log_mel(np.pad(samples, (0, WINDOW - len(samples))), 80).T[None].astype(np.float32)

times = {}  # (milliseconds of a window, of a token), a pair for each round


def peer(name, model):
    features = ctranslate2.StorageView.from_array(np.ascontiguousarray(mel))
    start = time.perf_counter()
    encoded = model.encode(features)
    middle = time.perf_counter()
    result = model.generate(encoded, [[50257, 50362]], beam_size=1)
    tokens = len(result[0].sequences_ids[0]) + 1
    times.setdefault(name, []).append(((middle - start) * 1e3, (time.perf_counter() - middle) * 1e3 / tokens))


def heed(name, options):
    told = subprocess.run([listen, "--model", folder, "--device", "cpu", "--threads", threads, "--ids", "--bench", "3", *options,
                           recording], check=True, capture_output=True, text=True).stdout
    window, rate = re.search(r"a window (\d+) ms .* then ([\d.]+) tokens/s", told).groups()
    times.setdefault(name, []).append((float(window), 1e3 / float(rate)))


models = {f"CTranslate2, {kind}": ctranslate2.models.Whisper(folder, device="cpu", compute_type=kind, intra_threads=int(threads))
          for kind in ("float32", "int8")}
for _ in range(int(rounds)):
    for name, model in models.items():
        peer(name, model)
    for name, options in HEED.items():
        heed(name, options)

median = {name: [statistics.median(column) for column in zip(*pairs)] for name, pairs in times.items()}
print(f"medians of {rounds} rounds with {threads} threads; ratios to CTranslate2's float32 and int8")
print("| | a window of 30 s, ms | ratios | tokens per second | ratios |\n|---|---|---|---|---|")
for name, (window, token) in median.items():
    against = [median[peer] for peer in models]
    print(f"| {name} | {window:.0f} | {' '.join(f'{a[0] / window:.2f}' for a in against)} "
          f"| {1e3 / token:.0f} | {' '.join(f'{a[1] / token:.2f}' for a in against)} |")
