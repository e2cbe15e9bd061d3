#!/usr/bin/env python3
"""Analyses the hot loop of each kernel in the listings of compilers: RADV's assembly, NVK's and ANV's. Other compilers print none.

  loops.py add ROWS FOLDER     adds these columns to the rows of heed_pipelines or heed_profile, whose listings are in FOLDER
  loops.py show LISTING...     prints them for single files

  load_groups   how many loads from memory an iteration waits for one after the other: 1 if all are issued together
  per_product   instructions of an iteration for each matrix instruction, on the path with the lowest ratio, since rare work has a
                branch around it. Inner loops count once

A step is one iteration of the innermost loop that both multiplies and loads from memory. The columns are empty without such a loop
or a listing. In this model instructions take no time, and a load takes 1 until an instruction waits for it; load_groups is the time
of an iteration once iterations repeat. Where paths meet, the later time counts. NVIDIA has six scoreboards to wait for; a load that
shares one with reads from shared memory is waited for with them. Intel has 32. Uniform and scalar loads are not counted, since a
cache answers most of them."""
import csv
import math
import pathlib
import re
import sys

COLUMNS = ["load_groups", "per_product"]
# Columns for the heaviest step, in rows of heed_profile: instructions, matrix instructions and multiply-adds of an iteration, and the
# instructions of the loop. If an inner loop does most of the multiplying, the iteration is that loop's.
STEP_COLUMNS = ["step_instructions", "step_products", "step_multiply_adds", "step_length"]
PRODUCTS = ("v_wmma", "v_mfma", "v_swmmac", "hmma", "imma", "dpas")
MULTIPLY_ADDS = ("v_fma", "v_pk_fma", "v_mac", "v_mad_f", "v_mad_mix", "v_dual_fmac", "v_dot", "ffma", "hfma2", "idp4", "mad", "dp4a")
OF_A_PRODUCT = 32  # multiply-adds that weigh as much as a matrix instruction, as in mix.cpp


class Block:
    """Instructions are (waits, loads), functions of a state, or None for no effect."""

    def __init__(self):
        self.preds, self.steps = [], []
        self.instructions = self.products = self.weight = self.loads = 0

    def count(self, word):
        self.instructions += not word.startswith("s_")
        product = word.startswith(PRODUCTS)
        self.products += product
        self.weight += OF_A_PRODUCT * product + word.startswith(MULTIPLY_ADDS)


class Boards:
    """NVIDIA and Intel: the arrival time of the last load on each scoreboard."""

    def __init__(self):
        self.now, self.ready = 0, [0] * 32

    def run(self, step):
        waits, board, is_load = step
        for i in range(32):
            if waits >> i & 1:
                self.now = max(self.now, self.ready[i])
        if board is not None:
            self.ready[board] = max(self.ready[board], self.now + is_load)

    def meet(self, other):
        self.now = max(self.now, other.now)
        self.ready = [max(pair) for pair in zip(self.ready, other.ready)]

    def copy(self):
        new = Boards()
        new.now, new.ready = self.now, list(self.ready)
        return new


class Queue:
    """AMD: loads arrive in order, and an instruction waits until at most a given number is outstanding."""

    def __init__(self):
        self.now, self.arrivals = 0, []

    def run(self, step):
        left = step
        if left is None:
            self.arrivals.append(self.now + 1)
            return
        while len(self.arrivals) > left:
            self.now = max(self.now, self.arrivals.pop(0))

    def meet(self, other):
        self.now = max(self.now, other.now)
        more = max(len(self.arrivals), len(other.arrivals))
        mine, others = ([0] * (more - len(queue)) + queue for queue in (self.arrivals, other.arrivals))
        self.arrivals = [max(pair) for pair in zip(mine, others)]

    def copy(self):
        new = Queue()
        new.now, new.arrivals = self.now, list(self.arrivals)
        return new


def read_nvk(lines):
    blocks, block = [], None
    for line in lines:
        begins = re.match(r"block(?:\.u)? \d+ \S+ \[(.*?)\]", line)
        if begins:
            block = Block()
            block.preds = [int(number) for number in begins[1].split(",") if number.strip()]
            blocks.append(block)
        text, _, notes = line.partition("// delay=")
        if not notes or block is None:
            continue
        word = text.rpartition(" = ")[2].strip()
        word = re.sub(r"^@!?u?p\w+\s+", "", word)
        block.count(word)
        waits = re.search(r"\bwt=([01]+)", notes)
        writes = re.search(r"\bwr:(\d)", notes)
        is_load = word.startswith(("ld.global", "ldg"))
        block.loads += is_load
        if waits or writes:
            block.steps.append((int(waits[1], 2) if waits else 0, int(writes[1]) if writes else None, is_load))
    return blocks, Boards


def read_intel(lines):
    """For GPUs with a separate message unit for memory. Before DG2 a listing does not distinguish these loads from those of shared
    memory."""
    blocks, labels, jumps, block = [], {}, [], None
    falls, ahead, word = False, [], None

    def begin():
        nonlocal block, falls
        if block is None or block.instructions:
            block = Block()
            if falls:
                block.preds.append(len(blocks) - 1)
            blocks.append(block)
        falls = True

    begin()
    for line in lines:
        label = re.match(r"(LABEL\d+):", line)
        if label:
            begin()
            labels[label[1]] = len(blocks) - 1
            continue
        if re.match(r"[a-z(]", line):
            word = re.sub(r"^\(.*?\) ", "", line).partition("(")[0]
            block.count(word)
            ahead = [line]
        elif word and line.startswith(" "):
            ahead.append(line)
        else:
            continue
        if "{ align1 " not in line:
            continue
        text = " ".join(ahead)
        waits, sets = 0, None
        for number, kind in re.findall(r"\$(\d+)(\.\w+)?", text.rpartition("{ align1 ")[2]):
            if kind == ".dst":
                waits |= 1 << int(number)
            elif not kind:
                sets = int(number)
        if word == "sync allwr":
            waits = (1 << 32) - 1
        is_load = word.startswith("send") and "ugm MsgDesc: ( load" in text and ", transpose" not in text
        block.loads += is_load
        if waits or sets is not None:
            block.steps.append((waits, sets, is_load))
        target = re.search(r"\bJIP: +(LABEL\d+)", text)
        if target and word != "endif":
            jumps.append((target[1], len(blocks) - 1))
            begin()
            if word == "else":  # the rest of the line is for other units
                block.preds.clear()
        word = None
    for name, source in jumps:
        if name in labels:
            blocks[labels[name]].preds.append(source)
    return blocks, Boards


def waited_for_by_amd(word, line):
    """The number of loads that may stay outstanding after a wait, or None."""
    if word == "s_wait_loadcnt":
        return int(line.split()[1], 0)
    if word in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        return int(line.split()[1], 0) >> 8 if word.startswith("s_wait_load") else None
    left = re.search(r"\bvmcnt\((\d+)\)", line) if word == "s_waitcnt" else None
    return int(left[1]) if left else None


def read_amd(lines):
    blocks, names, jumps, falls, block = [], {}, [], True, None
    for line in lines:
        begins = re.match(r"(BB\d+):", line)
        if begins:
            before, block = block, Block()
            names[begins[1]] = len(blocks)
            if before is not None and falls:
                block.preds.append(len(blocks) - 1)
            blocks.append(block)
            falls = True
        if block is None or not line.startswith("\t"):
            continue
        line = line.partition(";")[0].strip()
        word = line.partition(" ")[0]
        block.count(word)
        target = re.match(r"s_c?branch\w* (BB\d+)", line)
        if target:
            jumps.append((target[1], len(blocks) - 1))
        if word in ("s_branch", "s_endpgm"):
            falls = False
        left = waited_for_by_amd(word, line)
        if left is not None:
            block.steps.append(left)
        elif re.match(r"(buffer|global|flat)_load|image_", word):
            block.loads += 1
            block.steps.append(None)
    for name, source in jumps:
        blocks[names[name]].preds.append(source)
    return blocks, Queue


def order_of(blocks):
    """Blocks in topological order, ignoring back edges of loops."""
    succs = [[at for at, block in enumerate(blocks) if source in block.preds] for source in range(len(blocks))]
    order, seen, path = [], {0}, [(0, iter(succs[0]))]
    while path:
        at, left = path[-1]
        new = next((one for one in left if one not in seen), None)
        if new is None:
            order.append(at)
            path.pop()
        else:
            seen.add(new)
            path.append((new, iter(succs[new])))
    return order[::-1]


def dominators_of(blocks, order):
    """The dominators of each block."""
    dominators = {at: set(order) for at in order}
    dominators[order[0]] = {order[0]}
    changed = True
    while changed:
        changed = False
        for at in order[1:]:
            new = set.intersection(*(dominators[pred] for pred in blocks[at].preds if pred in dominators)) | {at}
            changed = changed or new != dominators[at]
            dominators[at] = new
    return dominators


def loops_of(blocks, order):
    """Natural loops: the set of blocks by header."""
    loops, dominators = {}, dominators_of(blocks, order)
    for header in order:
        for source in blocks[header].preds:
            if source not in dominators or header not in dominators[source]:
                continue
            body, left = {header}, [source]
            while left:
                at = left.pop()
                if at not in body:
                    body.add(at)
                    left += blocks[at].preds
            loops.setdefault(header, set()).update(body)
    return loops


def turns(blocks, body, state, count):
    """The time after each iteration of a loop, whose blocks are in order."""
    header = body[0]
    times = []
    for _ in range(count):
        after = {}
        for at in body:
            if at == header:
                here = state.copy()
            else:
                known = [after[pred] for pred in blocks[at].preds if pred in after]
                if not known:
                    continue
                here = known[0].copy()
                for other in known[1:]:
                    here.meet(other)
            for step in blocks[at].steps:
                here.run(step)
            after[at] = here
        ends = [after[pred] for pred in blocks[header].preds if pred in after]
        state = ends[0].copy()
        for other in ends[1:]:
            state.meet(other)
        times.append(state.now)
    return times


def least_each(blocks, body):
    """The least number of instructions for each matrix instruction over all paths through a loop, whose blocks are in order; None
    without one."""
    header, place = body[0], {at: number for number, at in enumerate(body)}
    ways = {}  # for each block: the fewest instructions up to its end, by the number of matrix instructions on the path
    for at in body:
        before = [ways[pred] for pred in blocks[at].preds if pred in ways and place[pred] < place[at]]
        least = {0: 0} if at == header else {}
        for way in before:
            for products, count in way.items():
                least[products] = min(count, least.get(products, count))
        ways[at] = {products + blocks[at].products: count + blocks[at].instructions for products, count in least.items()}
    ends = [ways[pred] for pred in blocks[header].preds if pred in ways]
    return min((count / products for way in ends for products, count in way.items() if products), default=None)


class Step:
    """The contents of an iteration of a hot loop."""

    def __init__(self, blocks, body, new_state, inner):
        """`inner`: blocks of the nested loop that does most of the multiplying, or the loop's own."""
        times = turns(blocks, body, new_state(), 9)
        self.groups = math.ceil((times[8] - times[4]) / 4)
        self.length = sum(blocks[at].instructions for at in body)
        self.instructions = sum(blocks[at].instructions for at in inner)
        self.products = sum(blocks[at].products for at in body)
        self.multiply_adds = sum(blocks[at].weight for at in body) - OF_A_PRODUCT * self.products
        each = least_each(blocks, body)
        self.per_product = None if each is None else round(each, 1)


def read_steps(text):
    """The steps of a listing that multiply at least half as much as the heaviest, such as a loop for aligned operands and one for
    others. The heaviest comes first."""
    lines = text.splitlines()
    is_nvk = any(line.startswith("block") for line in lines)
    is_intel = not is_nvk and "{ align1 " in text
    blocks, new_state = read_nvk(lines) if is_nvk else read_intel(lines) if is_intel else read_amd(lines)
    if not blocks:
        return []
    order = order_of(blocks)
    loops = loops_of(blocks, order)
    loading = {header: body for header, body in loops.items() if any(blocks[at].loads for at in body)}
    weights = {}  # of blocks whose innermost loading loop is this one
    for at in order:
        block = blocks[at]
        around = [header for header, body in loading.items() if at in body]
        if block.weight and around:
            inner = min(around, key=lambda header: len(loading[header]))
            weights[inner] = weights.get(inner, 0) + block.weight
    heavy = [header for header in weights if 2 * weights[header] >= max(weights.values())]
    heavy.sort(key=lambda header: -weights[header])
    steps = []
    for header in heavy:
        body = loading[header]
        weight = sum(blocks[at].weight for at in body)
        inner = [loop for loop in loops.values() if loop < body and 2 * sum(blocks[at].weight for at in loop) >= weight]
        steps.append(Step(blocks, [at for at in order if at in body], new_state, min(inner, key=len, default=body)))
    return steps


def read_listing(text):
    """load_groups and per_product, the worse of several heavy steps; None without a step."""
    steps = read_steps(text)
    each = [step.per_product for step in steps if step.per_product is not None]
    return (max(step.groups for step in steps), max(each) if each else None) if steps else None


def add(rows_path, folder):
    with open(rows_path, newline="") as file:
        reader = csv.DictReader(file)
        of_profile = "target" in reader.fieldnames
        columns, rows = reader.fieldnames + COLUMNS + (STEP_COLUMNS if of_profile else []), list(reader)
    number = 0  # counts compiled kernels only, since listings are numbered by these
    for row in rows:
        if row["occupancy"] is None:
            continue
        number += 1
        listing = folder / (f"{number}.s" if of_profile else f"{row['chip']}-{row['kernel']}-{number}.s")
        text = listing.read_text(errors="replace")
        row.update(zip(COLUMNS, ("" if value is None else value for value in read_listing(text) or ("", ""))))
        steps = read_steps(text) if of_profile else []
        first = steps[0] if steps else None
        values = (first.instructions, first.products, first.multiply_adds, first.length) if first else [""] * 4
        row.update(zip(STEP_COLUMNS, values))
    with open(rows_path, "w", newline="") as file:
        # Lines of kernels that were not compiled have no figures.
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([row[column] for column in columns if row.get(column) is not None])
    return 0


def show(paths):
    for path in paths:
        groups, each = read_listing(pathlib.Path(path).read_text(errors="replace")) or (None, None)
        print(f"{path}: {groups} load groups, {each} instructions a product")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "add":
        sys.exit(add(sys.argv[2], pathlib.Path(sys.argv[3])))
    if len(sys.argv) > 2 and sys.argv[1] == "show":
        sys.exit(show(sys.argv[2:]))
    sys.exit(__doc__)
