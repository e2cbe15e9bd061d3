#!/usr/bin/env python3
"""Compares what compilers make of kernels: rows of heed_pipelines, and the table with one row for each family of kernels and chip.

  families.py write TABLE ROWS...   writes the rows of these chips into the table
  families.py check TABLE ROWS...   fails if a kernel is worse than in the table: it spills or uses local memory anew, loses
                                    occupancy, has over a tenth more instructions, or, on matrix units, waits for more groups of
                                    loads or needs more instructions per matrix instruction; if kernels are new or missing; or if the
                                    tile with the lower cost for each element needs more cycles than another tile
  families.py compare OLD NEW       compares two folders of rows, of two commits: each changed kernel, then each family that has
                                    more instructions or cycles, or a lower occupancy

ROWS may have figures for the sampled kernels only (column "sampled"). The table's columns:

  kernels                the number of kernels in the family
  registers .. hot_loop  the worst value of all kernels: the least occupancy, the most of the others. hot_loop: instructions of the
                         block that multiplies most, 0 if the compiler prints no listing
  load_groups            for the sampled third, from the best: groups of loads that an iteration waits for one after the other
                         (loops.py). 1x8 9x2 means eight kernels with one group and two with nine
  per_product            the most instructions of an iteration for each matrix instruction (loops.py)
  spilling               the number of kernels that spill or use local memory
  occupancies            for the sampled third, from the best: 16x3 means three kernels at 16
  instructions           the sum over the sampled third"""
import collections
import csv
import math
import pathlib
import sys

COLUMNS = ["chip", "family", "kernels", "registers", "spills", "scratch", "spilling", "occupancy", "hot_loop", "occupancies",
           "instructions", "load_groups", "per_product"]
MORE_INSTRUCTIONS, SLOWER = 1.1, 1.05

# Families on matrix units, with the index of the constant that holds their flags, and the flag for aligned operands. An iteration of their
# kernels waits for one group of loads. The exceptions list, for each chip, the most groups of a kernel; these numbers may only shrink.
MASKS = 8 | 32 | 64 | 128  # flags of attention: masks, biases, fills, dropout
WAIT_ONCE = {"matmul_matrix": (4, 32), "matmul_quantized_matrix": (4, 32), "matmul_quantized_bytes": (4, 32),
             "attention_matrix": (6, 1024)}
MORE_GROUPS = {
    ("mesa-26-bmg", "attention_matrix", "aligned"): 4,
    ("mesa-26-bmg", "attention_matrix", "unaligned"): 4,
    ("mesa-26-bmg", "matmul_matrix", "aligned"): 4,
    ("mesa-26-bmg", "matmul_matrix", "unaligned"): 7,
    ("mesa-26-bmg", "matmul_quantized_bytes", "aligned"): 3,
    ("mesa-26-bmg", "matmul_quantized_bytes", "unaligned"): 3,
    ("mesa-26-bmg", "matmul_quantized_matrix", "aligned"): 2,
    ("mesa-26-bmg", "matmul_quantized_matrix", "unaligned"): 4,
    ("mesa-26-dg2", "matmul_matrix", "aligned"): 3,
    ("mesa-26-dg2", "matmul_matrix", "unaligned"): 8,
    ("mesa-26-dg2", "matmul_quantized_bytes", "aligned"): 6,
    ("mesa-26-dg2", "matmul_quantized_bytes", "unaligned"): 7,
    ("mesa-26-dg2", "matmul_quantized_matrix", "aligned"): 5,
    ("mesa-26-dg2", "matmul_quantized_matrix", "unaligned"): 6,
    ("mesa-26-ga102", "attention_matrix", "aligned"): 2,
    ("mesa-26-ga102", "attention_matrix", "aligned, masks"): 65,
    ("mesa-26-ga102", "attention_matrix", "aligned, wide heads"): 4,
    ("mesa-26-ga102", "attention_matrix", "unaligned"): 19,
    ("mesa-26-ga102", "attention_matrix", "unaligned, masks"): 74,
    ("mesa-26-ga102", "attention_matrix", "unaligned, wide heads"): 30,
    ("mesa-26-ga102", "matmul_matrix", "unaligned"): 56,
    ("mesa-26-ga102", "matmul_quantized_matrix", "aligned"): 5,
    ("mesa-26-ga102", "matmul_quantized_matrix", "aligned, q6_k"): 7,
    ("mesa-26-ga102", "matmul_quantized_matrix", "unaligned"): 36,
    ("mesa-26-ga102", "matmul_quantized_matrix", "unaligned, q6_k"): 37,
    ("mesa-26-gfx1201", "attention_matrix", "aligned"): 4,
    ("mesa-26-gfx1201", "attention_matrix", "aligned, masks"): 4,
    ("mesa-26-gfx1201", "attention_matrix", "unaligned"): 3,
    ("mesa-26-gfx1201", "attention_matrix", "unaligned, masks"): 5,
    ("mesa-26-gfx1201", "attention_matrix", "unaligned, wide heads"): 2,
    ("mesa-26-gfx1201", "matmul_matrix", "unaligned"): 10,
    ("mesa-26-gfx1201", "matmul_quantized_matrix", "aligned, q6_k"): 2,
    ("mesa-26-navi31", "attention_matrix", "aligned"): 4,
    ("mesa-26-navi31", "attention_matrix", "aligned, masks"): 5,
    ("mesa-26-navi31", "attention_matrix", "unaligned"): 3,
    ("mesa-26-navi31", "attention_matrix", "unaligned, masks"): 6,
    ("mesa-26-navi31", "attention_matrix", "unaligned, wide heads"): 2,
    ("mesa-26-navi31", "matmul_matrix", "unaligned"): 10,
    ("mesa-26-navi31", "matmul_quantized_matrix", "aligned, q6_k"): 2,
}

# The most instructions of an iteration for each matrix instruction, by kernel. An entry applies to kernels whose constants are at least
# these, with all of the first flags set and none of the second; the number is the index of the constant with the flags. The entries are
# matmul tiles of at least 128 rows with contiguous k, and attention with heads of 64 and 32 queries a subgroup, both for aligned operands.
PRODUCTS, HEADS = (12, {8: 128}, 4, 8 | 16 | 32, 0), (15, {4: 64, 14: 32}, 6, 1024, MASKS)
MOST_EACH = {"matmul_f16_matrix": PRODUCTS, "matmul_bf16_matrix": PRODUCTS,
             "attention_f16_matrix": HEADS, "attention_bf16_matrix": HEADS}


# For rows of commits whose heed_pipelines did not name columns. Their examples have other names, and their kernels have no constant for
# types.
UNNAMED = ["chip", "kernel", "constants", "example", "registers", "scalar_registers", "spills", "scratch", "shared", "occupancy",
           "instructions", "cycles", "multiply_add_percent", "matrix_percent"]


def read_rows(path):
    with open(path, newline="") as file:
        names = None if file.readline().startswith("chip,") else UNNAMED
        file.seek(0)
        rows = list(csv.DictReader(file, names))
    if not rows:
        sys.exit(f"FAIL {path} has no rows")
    return rows


def is_compiled(row):
    return row["occupancy"] is not None  # lines of kernels that were not compiled have no figures


def spills(row):
    return int(row["spills"]) > 0 or int(row["scratch"]) > 0


def unpack(levels):
    """Expands "16x2 12x1" to [16, 16, 12]."""
    pairs = [pair.split("x") for pair in levels.split()]
    return [int(level) for level, count in pairs for _ in range(int(count))]


def family_row(chip, family, rows):
    made = [row for row in rows if is_compiled(row)]
    sampled = [row for row in made if row["sampled"] == "1"]

    def most(column):
        return max(int(row[column]) for row in made)

    def pack(column, **order):
        levels = collections.Counter(int(row[column]) for row in sampled if row[column])
        return " ".join(f"{level}x{levels[level]}" for level in sorted(levels, **order))

    each = [float(row["per_product"]) for row in made if row["per_product"]]
    return {"chip": chip, "family": family, "kernels": len(rows), "registers": most("registers"), "spills": most("spills"),
            "scratch": most("scratch"), "spilling": sum(map(spills, made)),
            "occupancy": min(int(row["occupancy"]) for row in made), "hot_loop": most("hot_loop"),
            "occupancies": pack("occupancy", reverse=True), "instructions": sum(int(row["instructions"]) for row in sampled),
            "load_groups": pack("load_groups"), "per_product": max(each, default="")}


def families_of(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["chip"], row["family"]), []).append(row)
    return {key: family_row(*key, members) for key, members in groups.items()}


def read_table(path):
    if not path.exists():
        return {}
    return {(row["chip"], row["family"]): row for row in read_rows(path)}


def write(path, new):
    chips = {chip for chip, _ in new}
    table = {key: row for key, row in read_table(path).items() if key[0] not in chips}
    table.update(new)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[key] for key in sorted(table))
    print(f"wrote {path}: {len(new)} of {len(table)} rows")


def worse(new, old):
    """What is worse about a family than in its row of the table."""
    if int(new["kernels"]) != int(old["kernels"]):
        yield f"has {new['kernels']} kernels, had {old['kernels']}"
    for column, what in (("spills", "registers are spilled"), ("scratch", "bytes are kept in memory"),
                         ("spilling", "kernels spill")):
        if int(new[column]) > int(old[column]):
            yield f"{new[column]} {what}, were {old[column]}"
    if int(new["occupancy"]) < int(old["occupancy"]):
        yield f"has a least occupancy of {new['occupancy']}, had {old['occupancy']}"
    levels, before = unpack(new["occupancies"]), unpack(old["occupancies"])
    lost = sum(a < b for a, b in zip(levels, before))
    if len(levels) == len(before) and lost > 0:
        yield f"{lost} kernels lose occupancy: {new['occupancies']}, was {old['occupancies']}"
    groups, before = unpack(new["load_groups"]), unpack(old["load_groups"])
    if len(groups) == len(before) and any(a > b for a, b in zip(groups, before)):
        yield f"waits for more groups of loads: {new['load_groups']}, was {old['load_groups']}"
    if new["per_product"] and old["per_product"] and float(new["per_product"]) > MORE_INSTRUCTIONS * float(old["per_product"]):
        yield f"has {new['per_product']} instructions for each product, had {old['per_product']}"
    if int(new["hot_loop"]) > MORE_INSTRUCTIONS * int(old["hot_loop"]) + 8:
        yield f"has {new['hot_loop']} instructions in the hot loop, had {old['hot_loop']}"
    if int(new["instructions"]) > MORE_INSTRUCTIONS * int(old["instructions"]) + 8:
        yield f"has {new['instructions']} instructions, had {old['instructions']}"


def costly_tiles(rows):
    """Pairs of tiles of one matmul in which the tile with the lower cost in heed needs more cycles, and the number of compared
    pairs."""
    groups = {}
    for row in rows:
        if is_compiled(row) and row["tile"] and int(row["cycles"]) > 0:
            groups.setdefault((row["chip"], row["kernel"], row["example"], row["flags"]), []).append(row)
    compared, wrong = 0, []
    for group in groups.values():
        tiles = []
        for row in group:
            height, width = map(int, row["tile"].split("x"))
            tiles.append((float(row["cost"]), int(row["cycles"]) / (height * width), row))
        for cost, cycles, row in tiles:
            for other_cost, other_cycles, other in tiles:
                if cost < other_cost:
                    compared += 1
                    if cycles >= other_cycles:
                        wrong.append((row, other))
    return compared, wrong


def kind_of(row):
    """The name that MORE_GROUPS uses for a kernel of a family on matrix units."""
    constants = [int(word) for word in row["constants"].split()]
    number, flag = WAIT_ONCE[row["family"]]
    kind = "aligned" if constants[number] & flag else "unaligned"
    if row["family"] == "matmul_quantized_matrix" and "q6_k" in row["example"]:
        return kind + ", q6_k"  # its blocks consist of the most parts
    if row["family"] != "attention_matrix":
        return kind
    return kind + (", masks" if constants[number] & MASKS else ", wide heads" if max(constants[4:6]) > 128 else "")


def waiting(rows):
    """Kernels on matrix units whose iteration waits for more groups of loads than allowed."""
    for row in rows:
        if not is_compiled(row) or row["family"] not in WAIT_ONCE or not row["load_groups"]:
            continue
        kind = kind_of(row)
        of_all_types = MORE_GROUPS.get((row["chip"], row["family"], kind.removesuffix(", q6_k")), 1)
        most = MORE_GROUPS.get((row["chip"], row["family"], kind), of_all_types)
        if int(row["load_groups"]) > most:
            yield (f"{row['chip']} {row['kernel']} of {row['example']}, {kind}: a step waits for {row['load_groups']} groups of "
                   f"loads one after the other, where {most} may be")


def busy(rows):
    """Kernels on matrix units with too many instructions for each matrix instruction."""
    for row in rows:
        if row["kernel"] not in MOST_EACH or not is_compiled(row) or not row["per_product"]:
            continue
        constants = [int(word) for word in row["constants"].split()]
        most, least, flags, wanted, unwanted = MOST_EACH[row["kernel"]]
        flags = constants[flags]
        if any(constants[at] < value for at, value in least.items()) or flags & wanted != wanted or flags & unwanted:
            continue
        if float(row["per_product"]) > most:
            yield (f"{row['chip']} {row['kernel']} of {row['example']}: a step takes {row['per_product']} instructions for each "
                   f"product, where {most} may be")


def check(path, rows):
    table, new = read_table(path), families_of(rows)
    chips = {chip for chip, _ in new}
    failures = [f"{chip} {family} is not in the table" for chip, family in new if (chip, family) not in table]
    failures += [f"{chip} {family} is in the table and not made any more"
                 for chip, family in table if chip in chips and (chip, family) not in new]
    for key, row in new.items():
        if key in table:
            failures += [f"{key[0]} {key[1]}: {what}" for what in worse(row, table[key])]
    failures += [*waiting(rows), *busy(rows)]
    compared, wrong = costly_tiles(rows)
    failures += [f"{a['chip']} {a['kernel']} of {a['example']}: an element of a tile of {a['tile']} costs less than of "
                 f"{b['tile']}, and takes more cycles" for a, b in wrong]
    for failure in failures:
        print("FAIL", failure)
    if failures:
        print("kernel by kernel: tests/gpu/isa.sh --against COMMIT; when all is as it should be: tests/gpu/isa.sh --update")
        return 1
    spilling = sum(spills(row) for row in rows if is_compiled(row))
    print(f"ok {' '.join(sorted(chips))}: {sum(map(is_compiled, rows))} of {len(rows)} kernels as in the table, "
          f"{f'{spilling} spill' if spilling else 'none spills'}, {compared} pairs of tiles cost as they take cycles")
    return 0


def numbered(rows, by_constants):
    """Rows by chip, kernel, example and their order within these, since constants may be added and removed. With `by_constants`,
    one side has unnamed columns, and kernels are identified by all constants but the one for types."""
    seen, result = collections.Counter(), {}
    for row in rows:
        what = row["example"]
        if by_constants:
            constants = row["constants"].split()
            what = " ".join(constants[:3] + constants[4 if "family" in row else 3:])
        key = (row["chip"], row["kernel"], what)
        seen[key] += 1
        result[(*key, seen[key])] = row
    return result


def mean_ratio(pairs, column):
    """The geometric mean of the growth of `column`; 1 if the compiler does not report it."""
    logs = [math.log(int(new[column]) / int(old[column])) for old, new in pairs if int(old[column]) > 0 < int(new[column])]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def compare_families(pairs):
    groups = collections.defaultdict(list)
    for before, after in pairs:
        groups[after["chip"], after["family"]].append((before, after))
    for (chip, family), members in sorted(groups.items()):
        instructions, cycles = mean_ratio(members, "instructions"), mean_ratio(members, "cycles")
        lost = sum(int(after["occupancy"]) < int(before["occupancy"]) for before, after in members)
        if max(instructions, cycles) > SLOWER or lost > 0:
            print(f"{chip} {family}, {len(members)} kernels: instructions {instructions:.2f}, cycles {cycles:.2f}, "
                  f"{lost} at a lower occupancy")


def compare(old, new):
    shown = ("registers", "spills", "scratch", "occupancy", "instructions", "hot_loop", "cycles",
             "load_groups", "per_product")
    counts, pairs = collections.Counter(), []
    for path in sorted(new.glob("*.csv")):
        if not (old / path.name).exists():
            continue
        rows = read_rows(old / path.name), read_rows(path)
        before, after = (numbered(side, "family" not in rows[0][0]) for side in rows)
        for key, row in after.items():
            if key not in before:
                counts["new"] += 1
            elif is_compiled(row) and is_compiled(before[key]):
                pairs.append((before[key], row))
                changes = [f"{column} {before[key][column]} -> {row[column]}" for column in shown
                           if column in before[key] and before[key][column] != row.get(column)]
                counts["changed" if changes else "same"] += 1
                if changes:
                    print(f"{key[0]} {key[1]} of {key[2]} #{key[3]} ({row['constants']}): {', '.join(changes)}")
        counts["gone"] += sum(key not in after for key in before)
    compare_families(pairs)
    print(", ".join(f"{counts[what]} {what}" for what in ("same", "changed", "new", "gone")))
    return 0


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("write", "check", "compare"):
        sys.exit(__doc__)
    command, first, others = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if command == "compare":
        return compare(first, pathlib.Path(others[0]))
    rows = [row for path in others for row in read_rows(path)]
    return check(first, rows) if command == "check" else write(first, families_of(rows))


if __name__ == "__main__":
    sys.exit(main())
