"""Runs the same works on heed and its peers, in turn, and prints a table of ratios. See ../cpu_peers.sh and ../train_peers.sh.

compare.py THREADS ROUNDS PEER=COMMAND... -- WORK...    The first PEER is heed; commands are split at spaces."""
import shlex
import statistics
import subprocess
import sys
import time

# The least ratios to each peer, for the encoder of the last line.
LEAST = {"oneDNN": 1.0}
LEAST_OTHERS = 1.15
JUDGED = "encoder 1 128 f32"
# The same for training, with limits for the share of the peak and the ratio of backward to forward.
STEP, BACKWARD, FORWARD = "step 8 256 f32", "backward 512 f32", "forward 512 f32"
LEAST_TRAINING, LEAST_SHARE, MOST_BACKWARD = 1.5, 0.75, 2.6
# The largest difference between results of two peers: f32 sums in another order, and rounding to 16 bits.
TOLERANCE = {"f32": 2e-3, "f16": 0.05, "bf16": 0.15}


class Peer:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()
        if not self.version:
            raise SystemExit(f"{name} does not start: {command}")

    def run(self, work):
        """(milliseconds, values of the result), or None."""
        self.process.stdin.write(f"run {work}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            raise SystemExit(f"{self.name} ended during: {work}")
        return None if answer[0] == "none" else (float(answer[0]), [float(v) for v in answer[1:]])


def flops(work):
    kind, *rest = work.split()
    if kind == "matmul":
        m, n, k = map(int, rest[:3])
        return 2 * m * n * k
    if kind == "conv1d":  # windows of three
        length, channels, made, stride = map(int, rest[:4])
        return 2 * ((length - 1) // stride + 1) * made * 3 * channels
    if kind == "patches":
        return 2 * (int(rest[0]) // 16) ** 2 * 768 * 16 * 16 * 3
    attend = lambda queries, keys: 4 * 768 * queries * keys
    if kind == "attention":
        return attend(int(rest[0]), int(rest[0])) / (2 if rest[1] == "causal" else 1)
    if kind in ("forward", "backward"):  # causal attention: two matmuls, and five in the gradient
        return attend(int(rest[0]), int(rest[0])) / 2 * (1 if kind == "forward" else 2.5)
    if kind == "step":  # train_peer.cpp: each matmul of the forward pass has two in the backward pass
        rows, width, layers, characters = int(rest[0]) * int(rest[1]), 384, 6, 96
        products = 2 * rows * width * (12 * width * layers + characters)
        attention = layers * 4 * width * rows * int(rest[1]) / 2
        return 3 * products + 3.5 * attention
    batch, tokens, keys = (1, 1, int(rest[0])) if kind == "decode" else (int(rest[0]), int(rest[1]), int(rest[1]))
    return 12 * batch * (2 * tokens * 768 * (4 * 768 + 2 * 3072) + attend(tokens, keys))


def agree(work, results):
    """An error message, or None."""
    tolerance = TOLERANCE[work.split()[-1]]
    expected = results["heed"][1]
    for name, (_, values) in results.items():
        if any(not abs(a - b) <= tolerance * max(1, abs(b)) for a, b in zip(values, expected)):
            return f"{work}: {name} gives {values}, heed {expected}"
    return None


def limits(heed):
    def best(work):
        result = heed.run(work)
        return result[1][0] if result else None

    return {"f32": best("peak f32"), "bf16": best("peak bf16"), "read": best(f"read {256 << 20}")}


def judge_training(least, ratios, share):
    """Prints a line for the step and one for the gradient of attention. Returns whether an aim is missed."""
    step, back = least[STEP], least[BACKWARD]
    times = back["heed"] / least[FORWARD]["heed"]
    print(f"\nstep: heed {step['heed']:.1f} ms, PyTorch {step['PyTorch']:.1f} ms, ratio {ratios[STEP]:.2f}, "
          f"{100 * share:.1f} % of the multiply-add peak")
    print(f"backward of attention: heed {back['heed']:.2f} ms, PyTorch {back['PyTorch']:.2f} ms, "
          f"ratio {ratios[BACKWARD]:.2f}, {times:.2f} times heed's forward")
    return min(ratios[STEP], ratios[BACKWARD]) < LEAST_TRAINING or share < LEAST_SHARE or times > MOST_BACKWARD


def rows_and_scaling(heed):
    """Prints figures of heed alone: row operations beside a copy of the same bytes, and how an encoder would scale."""
    # In the caches, and so many rows that they come from memory.
    for kind, count, many in (("layernorm", 512 * 768, 64), ("gelu", 512 * 3072, 16), ("softmax", 12 * 512 * 512, 8)):
        for times in (1, many):
            shares, least = [], 1e30
            for _ in range(3):
                copy, rows = heed.run(f"copy {4 * count * times}")[0], heed.run(f"rows {kind} {times}")[0]
                shares.append(copy / rows)
                least = min(least, rows)
            print(f"{kind}, {4e-6 * count * times:.1f} MB: {least:.3f} ms, {statistics.median(shares):.2f} of a copy")
    for work in ("scaling 1 128 f32", "scaling 1 512 f32"):
        share, speed_up = heed.run(work)[1][:2]
        print(f"encoder {work[8:]}: serial share {share:.2f} %, 16 threads by the pieces of its work {speed_up:.1f} x")


def compare(peers, work, rounds):
    """{name: least milliseconds}, and {name: ratio to heed in each round}."""
    least, ratios = {}, {}
    for _ in range(rounds):
        results = {}
        for peer in peers:
            result = peer.run(work)
            if result is not None:
                results[peer.name] = result
            time.sleep(0.05)  # peers' threads spin for a while after a run
        complaint = agree(work, results)
        if complaint:
            raise SystemExit(complaint)
        for name, (ms, _) in results.items():
            least[name] = min(ms, least.get(name, ms))
            ratios.setdefault(name, []).append(ms / results["heed"][0])
    return least, ratios


def main():
    threads, rounds, *rest = sys.argv[1:]
    split = rest.index("--")
    peers = [Peer(*entry.split("=", 1)) for entry in rest[:split]]
    works, others = rest[split + 1:], [peer.name for peer in peers[1:]]
    top = limits(peers[0])
    print(f"{threads} threads; " + ", ".join(peer.version for peer in peers[1:]))
    print(f"multiply-add peak {top['f32'] or 0:.0f} GFLOP/s f32, {top['bf16'] or 0:.0f} bf16; read {top['read']:.1f} GB/s")
    print("milliseconds: least of all rounds; after a peer's: its ratio to heed, median of rounds [least..most]\n")
    print(f"| {'work':<24} | {'heed':>9} | of peak | " + " | ".join(f"{name:<26}" for name in others) + " |")
    print("|" + "---|" * (3 + len(others)))
    all_least, all_ratios, step_share = {}, {}, 0.0
    for work in works:
        least, ratios = compare(peers, work, int(rounds))
        # Some processors multiply bf16 slower than f32.
        peak = max(top["f32"] or 0, top["bf16"] or 0 if work.endswith(" bf16") else 0)
        share = flops(work) / least["heed"] * 1e-6 / peak if peak else 0
        cells = []
        for name in others:
            if name not in least:
                cells.append(f"{'–':<26}")
                continue
            every = ratios[name]
            cells.append(f"{least[name]:9.3f}  {statistics.median(every):.2f} [{min(every):.2f}..{max(every):.2f}]".ljust(26))
        print(f"| {work:<24} | {least['heed']:9.3f} | {100 * share:5.1f} % | " + " | ".join(cells) + " |", flush=True)
        all_least[work], all_ratios[work] = least, {name: statistics.median(every) for name, every in ratios.items()}
        step_share = share if work == STEP else step_share
    if STEP in all_least:
        return int(judge_training(all_least, {work: of["PyTorch"] for work, of in all_ratios.items()}, step_share))
    print()
    rows_and_scaling(peers[0])
    if JUDGED not in all_least:
        return 0
    least, ratio = all_least[JUDGED], all_ratios[JUDGED]
    peers_ms = {name: ms for name, ms in least.items() if name != "heed"}
    if not peers_ms:
        print("no peer to compare with")
        return 2
    best = min(peers_ms, key=peers_ms.get)
    print(f"\nencoder 1x128: heed {least['heed']:.1f} ms, best peer {least[best]:.1f} ms ({best}), ratio {ratio[best]:.2f}")
    return int(any(ratio[name] < LEAST.get(name, LEAST_OTHERS) for name in peers_ms))


sys.exit(main())
