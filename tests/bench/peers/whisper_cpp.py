"""whisper.cpp (PyPI's pywhispercpp) with the model of samples/listen, converted to whisper.cpp's format; see speech_peer.py.

    whisper_cpp.py FILE RECORDING THREADS      transcribes once, greedily and without times; whisper.cpp prints its times on stderr
"""
import re
import subprocess
import sys
import wave
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "speech"))
import make  # noqa: E402
import words  # noqa: E402

LANGUAGES = 99  # the English-only vocabulary has ids for them, too


def convert(folder, path):
    """Writes CTranslate2's Whisper tiny.en, with matrices in f16, as a ggml file."""
    stored = {}
    for name, values in words.read_model(Path(folder) / "model.bin").items():
        is_matrix = values.ndim > 1
        stored[name] = (make.F16, values.astype("<f2")) if is_matrix else (make.F32, values.astype("<f4"))
    listed = (Path(folder) / "vocabulary.txt").read_text().split("\n")
    texts = listed[:listed.index("<|endoftext|>")]
    sides = {side: dict(layers=4, heads=6, positions=positions) for side, positions in (("encoder", 1500), ("decoder", 448))}
    make.save_ggml(Path(path), dict(width=384, bands=80, dtype=make.F16, texts=texts, languages=["en"] * LANGUAGES, **sides), stored)


def hear(path, recording, threads):
    """Milliseconds from samples to the encoded window, and for a token."""
    told = subprocess.run([sys.executable, __file__, str(path), recording, str(threads)], check=True, capture_output=True,
                          text=True).stderr
    took = {what: (float(ms), int(runs or 1)) for what, ms, runs in re.findall(r"(\w+) time = +([\d.]+) ms(?: / +(\d+) runs)?", told)}
    return took["mel"][0] + took["encode"][0], took["decode"][0] / took["decode"][1]


if __name__ == "__main__":
    import _pywhispercpp as whisper
    model, recording, threads = sys.argv[1:]
    with wave.open(recording) as file:
        samples = (np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768.0).astype(np.float32)
    context = whisper.whisper_init_from_file_with_params(model, whisper.whisper_context_default_params())
    options = whisper.whisper_full_default_params(whisper.whisper_sampling_strategy.WHISPER_SAMPLING_GREEDY)
    options.n_threads, options.no_timestamps, options.single_segment, options.temperature_inc = int(threads), True, True, 0.0
    options.greedy = {"best_of": 1}
    whisper.whisper_full(context, options, samples, len(samples))
    whisper.whisper_print_timings(context)
