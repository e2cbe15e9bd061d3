#!/usr/bin/env python3
"""Changes copies of the C++ headers, and checks what engine/c/generate.py makes of them. Prints one line per check; exit code 1 if
one fails.

A declared operation must appear in C and Python. If the generator does not understand a declaration, its error must name it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOG_SOFTMAX = "  Tensor log_softmax(Tensor x);"
SCALE = "  Tensor scale(Tensor x, float factor);"
MATMUL = "  bool transpose_a = false;"

# (name, old text, new text, expected error; or the text that the files must contain)
REFUSED = [
    ("a member of an unknown type", MATMUL, "  std::map<int, int> odd;\n" + MATMUL, "MatmulOptions has odd"),
    ("a parameter of an unknown type", LOG_SOFTMAX, LOG_SOFTMAX + "\n  Tensor odd(Tensor x, std::map<int, int> y);", "Graph has y"),
    ("an unknown result", LOG_SOFTMAX, LOG_SOFTMAX + "\n  std::map<int, int> odd(Tensor x);", "Graph::odd returns"),
    ("two functions of one name", LOG_SOFTMAX, LOG_SOFTMAX + "\n  Tensor log_softmax(Tensor x, int axis);", "heed_graph_log_softmax"),
    ("a function of nobody", "HEED_API Status sample_words(", "HEED_API Status odd(int x);\nHEED_API Status sample_words(", "odd is neither"),
    ("an enum of another size", "enum class Causal : uint8_t", "enum class Causal : int", "enum class Causal"),
    ("a default that is no number", "  float scale = 1.0f;        // multiplies", "  float scale = kOdd;        // multiplies", "kOdd"),
    ("a name in the tables that is gone", "  CustomResult custom(const CustomPass& pass, std::span<const Tensor> inputs);\n"
     "  CustomResult custom(const CustomPass& pass, std::initializer_list<Tensor> inputs);", "", "Graph::custom"),
]
MADE = (SCALE, "  // Says nothing.\n  Tensor odd(Tensor x, int axis, const MatmulOptions& options = {});\n" + SCALE, {
    "include/heed/c/operations.h": ["// Says nothing.", "heed_tensor heed_graph_odd(heed_graph* graph, heed_tensor x, int32_t axis, "
                                                        "const heed_matmul_options* options);"],
    "engine/c/generated/operations.cpp": ['g.odd(on.tensor(x, "x"), axis, read(on.call(), options))'],
    "engine/python/heed/_operations.py": ["def odd(self, x: Tensor, axis: int, *, transpose_a: bool = False", '"""Says nothing. The result has x\'s shape. - transpose_a: a is [..., K, M].'],
    "tests/c/functions.inc": ["HEED_C(heed_graph_odd)"]})


def generated(old, new):
    """Runs generate.py on a tree whose graph.hpp has `new` in the place of `old`. Returns its output, and the tree."""
    folder = pathlib.Path(tempfile.mkdtemp())
    for name in ("engine/c", "engine/python/heed", "include/heed", "shaders/shared", "tests/c"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "engine/graph").mkdir()
    shutil.copy(ROOT / "engine/graph/functions.inc", folder / "engine/graph")
    header = folder / "include/heed/graph.hpp"
    text = header.read_text()
    if old not in text:
        sys.exit(f"FAIL graph.hpp has no {old!r}; mend this test")
    header.write_text(text.replace(old, new))
    return subprocess.run([sys.executable, folder / "engine/c/generate.py"], capture_output=True, text=True), folder


def main():
    bad = 0
    for what, old, new, text in REFUSED:
        done, folder = generated(old, new)
        shutil.rmtree(folder)
        good = done.returncode == 1 and text in done.stderr and "Traceback" not in done.stderr
        print(f"ok {what} is refused" if good else f"FAIL {what}: {done.returncode}, {(done.stdout + done.stderr).strip()[-300:]!r}")
        bad += not good
    done, folder = generated(*MADE[:2])
    for name, lines in MADE[2].items():
        text = " ".join((folder / name).read_text().split())
        missing = [line for line in lines if line not in text]
        print(f"FAIL {name} has no {missing[0]!r}" if missing else f"ok {name} has a new operation")
        bad += bool(missing)
    shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
