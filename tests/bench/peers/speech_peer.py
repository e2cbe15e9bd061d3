"""Times CTranslate2, whisper.cpp and heed's program `listen` in turn; see speech_peers.sh.

    speech_peer.py LISTEN MODEL RECORDING THREADS ROUNDS
    speech_peer.py --once KIND MODEL RECORDING THREADS      runs CTranslate2 once, to measure its memory
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

import whisper_cpp
from make import log_mel

WINDOW, KINDS = 480000, ("float32", "int8")
HEED = {"heed, as in the file (f16)": [], "heed, f32": ["--weights", "f32"], "heed, q8_0": ["--weights", "q8_0"],
        "heed, q8_0, rounded rows": ["--weights", "q8_0", "--round-rows", "--cache", "f16"]}


def mel_of(recording):
    with wave.open(recording) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2), "16 bits, mono, 16 kHz"
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")[:WINDOW] / 32768.0
    return log_mel(np.pad(samples, (0, WINDOW - len(samples))), 80).T[None].astype(np.float32)


def open_peer(kind, folder, threads):
    return ctranslate2.models.Whisper(folder, device="cpu", compute_type=kind, intra_threads=int(threads))


def hear_by_peer(model, mel):
    """Milliseconds from mel bands to the encoded window, and for a token."""
    features = ctranslate2.StorageView.from_array(np.ascontiguousarray(mel))
    start = time.perf_counter()
    encoded = model.encode(features)
    middle = time.perf_counter()
    result = model.generate(encoded, [[50257, 50362]], beam_size=1)
    return (middle - start) * 1e3, (time.perf_counter() - middle) * 1e3 / (len(result[0].sequences_ids[0]) + 1)


def peak_of(command):
    """Peak resident MiB. wait4 would include this program, from which the process is forked."""
    process, most = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while process.poll() is None:
        told = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
        most = int(told.group(1)) if told else most  # of the program that runs now, which is the last one
        time.sleep(0.002)
    assert process.returncode == 0, command
    return most / 1024


def main(listen, folder, recording, threads, rounds):
    mel, file = mel_of(recording), Path(listen).parent / "whisper-cpp.bin"
    whisper_cpp.convert(folder, file)

    def heed(options):
        told = subprocess.run([listen, "--model", folder, "--device", "cpu", "--threads", threads, "--ids", "--bench", "3", *options,
                               recording], check=True, capture_output=True, text=True).stdout
        window, rate = re.search(r"a window (\d+) ms .* then ([\d.]+) tokens/s", told).groups()
        return float(window), 1e3 / float(rate)

    models = {kind: open_peer(kind, folder, threads) for kind in KINDS}
    peers = {f"CTranslate2, {kind}": lambda model=model: hear_by_peer(model, mel) for kind, model in models.items()}
    peers["whisper.cpp, f16"] = lambda: whisper_cpp.hear(file, recording, threads)
    runs = peers | {name: lambda options=options: heed(options) for name, options in HEED.items()}
    times = {name: [] for name in runs}
    for _ in range(int(rounds)):
        for name, run in runs.items():
            times[name].append(run())
    commands = {f"CTranslate2, {kind}": [sys.executable, __file__, "--once", kind, folder, recording, threads] for kind in KINDS}
    commands["whisper.cpp, f16"] = [sys.executable, whisper_cpp.__file__, str(file), recording, threads]
    commands |= {name: [listen, "--model", folder, "--device", "cpu", "--threads", threads, *options, recording]
                 for name, options in HEED.items()}

    def ratios(name, column):
        """The median, over rounds, of each peer's time divided by this one's."""
        return " ".join(f"{statistics.median(a[column] / b[column] for a, b in zip(times[peer], times[name])):.2f}" for peer in peers)

    print(f"medians of {rounds} rounds with {threads} threads; ratios to {', '.join(peers)}; memory with Python's where a peer runs in it")
    print("| | a window of 30 s, ms | ratios | tokens per second | ratios | MiB at most |\n|---|---|---|---|---|---|")
    for name, pairs in times.items():
        window, token = (statistics.median(column) for column in zip(*pairs))
        print(f"| {name} | {window:.0f} | {ratios(name, 0)} | {1e3 / token:.0f} | {ratios(name, 1)} | {peak_of(commands[name]):.0f} |")


if __name__ == "__main__":
    if sys.argv[1] == "--once":
        kind, folder, recording, threads = sys.argv[2:]
        hear_by_peer(open_peer(kind, folder, threads), mel_of(recording))
    else:
        main(*sys.argv[1:])
