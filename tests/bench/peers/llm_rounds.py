# The rounds of llm_peers.sh: llm_rounds.py ROOT BUILD PEER_ROOT MODEL [ROUNDS [WORK...]]
# In each round heed runs a work, and then llama.cpp runs it. A row has the median, least and most of each, and the median of the rounds'
# ratios: above 1, heed is better.
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

root, build, peer, model = sys.argv[1:5]
rounds = int(sys.argv[5]) if len(sys.argv) > 5 else 5
CLEAN = ["env", "-i", "PATH=/usr/bin:/bin", "HOME=/root"]
LLAMA = ["chroot", peer] + CLEAN
VULKAN = LLAMA + ["GGML_VK_VISIBLE_DEVICES=0"]
THREADS = ["-t", "2"]


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr.decode()[-2000:]}")
    return done.stdout.decode()


def resources(command):
    """Seconds, and the peak of resident memory in MB."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as sink:
        child = subprocess.Popen(command, stdout=sink, stderr=sink, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status != 0:
            sink.seek(0)
            sys.exit(f"{' '.join(command)}: status {status}\n{sink.read().decode(errors='replace')[-2000:]}")
    return time.monotonic() - start, used.ru_maxrss / 1024


def heed(work, device="cpu", extra=(), driver="none"):
    command = CLEAN + [f"HEED_DRIVER_FOLDER={os.environ.get('HEED_DRIVER_FOLDER', build + '/drivers')}", "HEED_MATRIX_UNITS=never",
                       f"{root}/tests/drivers/with.sh", driver, f"{build}/samples/heed/heed", "bench", "--json", "--seconds", "1",
                       "--model", model, "--device", device, "--ops", work, *extra]
    return json.loads(output(command))["devices"][0]["rows"][0]["tokens_per_second"]


def llama(arguments, vulkan=False):
    command = (VULKAN if vulkan else LLAMA) + ["llama-bench", "-m", "/model.gguf", "-r", "1", "-o", "json", "-ngl",
                                               "99" if vulkan else "0", *THREADS, *arguments]
    return json.loads(output(command))[0]["avg_ts"]


def llama_together():
    text = output(LLAMA + ["llama-batched-bench", "-m", "/model.gguf", "-ngl", "0", *THREADS, "-c", "2048", "-npp", "64", "-ntg",
                           "32", "-npl", "8", "--output-format", "jsonl"])
    return next(json.loads(line)["speed_tg"] for line in text.splitlines() if line.startswith("{"))


STORY = " ".join(["The grey sea and the long black land and the yellow half-moon large and low."] * 112)  # nearly 2,048 tokens


def heed_talk(prompt, tokens, extra=()):
    return resources(CLEAN + [f"{build}/samples/talk/talk", "--model", model, "--device", "cpu", "--raw", "--temperature", "0",
                              "--context", "2048", "--tokens", str(tokens), "--prompt", prompt, *extra])


def llama_talk(prompt, tokens):
    return resources(LLAMA + ["llama-completion", "-m", "/model.gguf", "-ngl", "0", *THREADS, "-no-cnv", "--temp", "0", "-c", "2048",
                              "-n", str(tokens), "-p", prompt])


LLAMA_WORKS = {
    "read-128": lambda: llama(["-p", "128", "-n", "0"]),
    "read-512": lambda: llama(["-p", "512", "-n", "0"]),
    "token-after-8": lambda: llama(["-p", "0", "-n", "64", "-d", "8"]),
    "token-after-500": lambda: llama(["-p", "0", "-n", "64", "-d", "500"]),
    "eight-after-64": llama_together,
}


def cpu_works(name, extra):
    """llama.cpp always rounds activations to 8 bits where quantized weights multiply them, and its keys and values are f16."""
    works = [(work + name, "tokens/s", True, lambda work=work: heed(work, extra=extra), theirs)
             for work, theirs in LLAMA_WORKS.items()]
    works.append((f"token-after-500-cache-f16{name}", "tokens/s", True,
                  lambda: heed("token-after-500", extra=["--cache", "f16", *extra]), LLAMA_WORKS["token-after-500"]))
    return works


# Name, unit, whether more is better, heed's side, llama.cpp's side.
WORKS = [
    *cpu_works("", []),
    *cpu_works("-rounded", ["--round-rows"]),
    ("lavapipe-read-64", "tokens/s", True, lambda: heed("read-64", "llvmpipe", driver="lavapipe-26"),
     lambda: llama(["-p", "64", "-n", "0"], vulkan=True)),
    ("lavapipe-token", "tokens/s", True, lambda: heed("token-after-8", "llvmpipe", driver="lavapipe-26"),
     lambda: llama(["-p", "0", "-n", "16", "-d", "8"], vulkan=True)),
    ("memory-of-2048", "MB", False, lambda: heed_talk(STORY, 8)[1], lambda: llama_talk(STORY, 8)[1]),
    ("memory-of-2048-cache-f16", "MB", False, lambda: heed_talk(STORY, 8, ["--cache", "f16"])[1], lambda: llama_talk(STORY, 8)[1]),
    ("first-token", "s", False, lambda: heed_talk("The sea is", 1)[0], lambda: llama_talk("The sea is", 1)[0]),
]


def span(values):
    digits = 2 if statistics.median(values) < 10 else 0
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


wanted = sys.argv[6:]
unknown = [name for name in wanted if name not in [work[0] for work in WORKS]]
if unknown:
    sys.exit(f"no work {unknown[0]}; there are {', '.join(work[0] for work in WORKS)}")
version = subprocess.run(LLAMA + ["dpkg-query", "-W", "-f", "${Version}", "llama.cpp-tools"], stdout=subprocess.PIPE, check=False)
print(f"llama.cpp {version.stdout.decode() or '?'} of Debian sid, {rounds} rounds\n")
print("| work | unit | heed | llama.cpp | ratio |\n|---|---|---|---|---|")
for name, unit, more, ours, theirs in WORKS:
    if wanted and name not in wanted:
        continue
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    ratios = [a / b if more else b / a for a, b in pairs]
    print(f"| {name} | {unit} | {span([a for a, _ in pairs])} | {span([b for _, b in pairs])} | {span(ratios)} |", flush=True)
