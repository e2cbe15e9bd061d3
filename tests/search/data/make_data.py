"""Makes the test data in this folder from phrases.py.

  python -m venv venv && venv/bin/pip install tokenizers onnx onnxruntime safetensors numpy
  ../../../samples/search/fetch_model.sh MODEL
  env -u OPENBLAS_CORETYPE venv/bin/python make_data.py MODEL

lines.safetensors      lines of text with their ids by the `tokenizers` package
tiny/                  a BERT with random weights in two files, with its own vocabulary
tiny.safetensors       its results by onnxruntime in f32
sentences.txt          500 sentences of 1 to 254 tokens
sentences.safetensors  their embeddings by all-MiniLM-L6-v2, computed by onnxruntime in f32

Every result of onnxruntime is compared with the same network in double, written with numpy."""
import json
import math
import pathlib
import random
import sys

import numpy
import onnxruntime
import tokenizers
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from phrases import PHRASES

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "samples" / "search"))
import bert_onnx  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LANGUAGES = sorted(PHRASES)


# --- Lines of text ---------------------------------------------------------------------------------------------------

def phrase(rng, language=None):
    return rng.choice(PHRASES[language or rng.choice(LANGUAGES)])


def damage(rng, text):
    """Bytes that are not valid UTF-8."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0 and data:
            del data[min(at, len(data) - 1)]
        elif kind == 1:
            data.insert(at, rng.choice([0x80, 0xBF, 0xC0, 0xC1, 0xF5, 0xFE, 0xFF]))
        elif kind == 2:
            data[at:at] = rng.choice([b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xe2\x82", b"\xf4\x90\x80\x80", b"\xc0\xaf"])
        elif data:
            data[min(at, len(data) - 1)] = rng.randrange(128, 256)
    return bytes(data).replace(b"\n", b" ")


def noise(rng, text):
    """Control characters, odd spaces and marks between the letters."""
    extra = "\x00\x01\x07\x08\x0b\x0c\x7f\x85\xa0\xad\u0301\u0308\u0327\u200b\u200d\u2028\u202e\u2060\u3000\ufe0f\ufeff\ufffd\ue000\t\r"
    out = list(text)
    for _ in range(rng.randint(1, 8)):
        out.insert(rng.randrange(len(out) + 1), rng.choice(extra))
    return "".join(out)


def spread(rng, text):
    """Special tokens, repeated signs, very long words."""
    kind = rng.randrange(5)
    if kind == 0:
        words = text.split(" ")
        words.insert(rng.randrange(len(words) + 1), rng.choice(SPECIAL + ["[CLS", "SEP]", "[sep]", "[[SEP]]", "[MASK][MASK]"]))
        return rng.choice(["", " "]).join(words)
    if kind == 1:
        return text + rng.choice("!?.,;:-_*'\"…—¿।。،؟") * rng.randint(2, 40)
    if kind == 2:
        return text.replace(" ", "")[:rng.choice([60, 98, 99, 100, 101, 102, 140])] * rng.randint(1, 2)
    if kind == 3:
        return rng.choice("aäжあ7") * rng.choice([99, 100, 101, 150])
    return text.upper() if rng.random() < 0.5 else text.title()


def blocks():
    """Every assigned code point of Unicode's first planes, 24 to a line, each between two letters."""
    import unicodedata
    codes = [c for c in range(1, 0x20000) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co") and c != 10]
    # Ideographs and syllables, of which there are thousands, behave alike: one in 40 of them is tested.
    rare = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x17000, 0x18CD5), (0x12000, 0x1254F), (0x13000, 0x1342F),
            (0x14400, 0x14646), (0x16800, 0x16A38), (0x1B000, 0x1B2FB), (0x1D000, 0x1F0FF), (0xA000, 0xA48C)]
    codes = [c for i, c in enumerate(codes) if i % 40 == 0 or not any(a <= c <= b for a, b in rare)]
    # Letters that the tables of tokenizers know and older tables do not are left to a later version.
    stable = [c for c in codes if unicodedata.ucd_3_2_0.category(chr(c)) != "Cn" or c < 0x3000 or c in range(0xA000, 0x10000)]
    for i in range(0, len(stable), 24):
        yield " ".join("a" + chr(c) + "b" for c in stable[i:i + 24])


def make_lines():
    import unicodedata
    rng = random.Random(1)
    lines = [b"", b" ", b"\t", b"\xff", "\u00a0\u3000".encode(), b"a", b"[SEP]", b"##ing", "é".encode(), "e\u0301".encode()]
    lines += [p.encode() for language in LANGUAGES for p in PHRASES[language]]
    lines += [unicodedata.normalize(form, p).encode() for form in ("NFD", "NFKC") for language in LANGUAGES
              for p in PHRASES[language][:2]]
    lines += [line.encode() for line in blocks()]
    for _ in range(500):
        lines.append(" ".join(phrase(rng) for _ in range(rng.randint(1, 4))).encode())
        lines.append(noise(rng, phrase(rng)).replace("\n", " ").encode())
        lines.append(spread(rng, phrase(rng)).encode())
        lines.append(damage(rng, phrase(rng)))
    seen = set()
    return [line for line in lines if not (line in seen or seen.add(line))]


# --- Tokenizers --------------------------------------------------------------------------------------------------------

def bert_tokenizer(vocabulary, **normalizer):
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    return tokenizer


def train_vocabulary():
    """About a thousand tokens from the phrases, with upper case, so that cased rules can be tested as well."""
    text = [p for ps in PHRASES.values() for p in ps]
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    lower = normalizers.BertNormalizer()
    everything = text + [lower.normalize_str(t) for t in text] * 2
    trainer = trainers.WordPieceTrainer(vocab_size=1800, special_tokens=SPECIAL, limit_alphabet=1200, show_progress=False)
    trained.train_from_iterator(everything, trainer)
    tokens = sorted(trained.get_vocab().items(), key=lambda item: item[1])
    # The trainer's order depends on its hash maps; sorting by text makes it deterministic.
    ordered = SPECIAL + sorted(t for t, _ in tokens if t not in SPECIAL)
    return {token: i for i, token in enumerate(ordered)}


def pack(lists):
    """Ids as pairs of bytes, low byte first, with the end of each list."""
    flat = numpy.array([i for ids in lists for i in ids], numpy.uint16)
    return flat.view(numpy.uint8).reshape(-1, 2), numpy.cumsum([len(ids) for ids in lists]).astype(numpy.int32)


def encode_all(tokenizer, lines, most):
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return [tokenizer.encode(line.decode("utf-8", "replace")).ids for line in lines]


def save_lines(lines, vocabulary, model):
    data = {"text": numpy.frombuffer(b"".join(lines), numpy.uint8),
            "text.end": numpy.cumsum([len(line) for line in lines]).astype(numpy.int32)}
    rules = {"uncased": {}, "cased": {"lowercase": False}, "accents": {"strip_accents": False},
             "raw": {"clean_text": False, "handle_chinese_chars": False, "lowercase": False, "strip_accents": True}}
    for name, flags in rules.items():
        part = lines if name == "uncased" else lines[::7]
        data[name], data[name + ".end"] = pack(encode_all(bert_tokenizer(vocabulary, **flags), part, 128))
    real = Tokenizer.from_file(str(model / "tokenizer.json"))
    data["minilm"], data["minilm.end"] = pack(encode_all(real, lines, 256))
    save_file(data, HERE / "lines.safetensors", {"tokenizers": tokenizers.__version__, "limit": "uncased 128, minilm 256"})


# --- BERT --------------------------------------------------------------------------------------------------------------

TINY = dict(architectures=["BertModel"], model_type="bert", hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
            intermediate_size=40, max_position_embeddings=64, type_vocab_size=2, hidden_act="gelu", layer_norm_eps=1e-12,
            pad_token_id=0, position_embedding_type="absolute")


def tiny_weights(config):
    rng = numpy.random.default_rng(2)
    width, hidden = config["hidden_size"], config["intermediate_size"]
    shapes = {"embeddings.word_embeddings.weight": (config["vocab_size"], width),
              "embeddings.position_embeddings.weight": (config["max_position_embeddings"], width),
              "embeddings.token_type_embeddings.weight": (config["type_vocab_size"], width)}
    norms = ["embeddings.LayerNorm"]
    for i in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{i}."
        for part, rows, columns in [("attention.self.query", width, width), ("attention.self.key", width, width),
                                    ("attention.self.value", width, width), ("attention.output.dense", width, width),
                                    ("intermediate.dense", hidden, width), ("output.dense", width, hidden)]:
            shapes |= {f"{name}{part}.weight": (rows, columns), f"{name}{part}.bias": (rows,)}
        norms += [name + "attention.output.LayerNorm", name + "output.LayerNorm"]
    shapes |= {"pooler.dense.weight": (width, width), "pooler.dense.bias": (width,)}
    weights = {n: rng.normal(0, 0.3, s).astype(numpy.float32) for n, s in shapes.items()}
    for norm in norms:
        weights[norm + ".weight"] = rng.normal(1, 0.2, width).astype(numpy.float32)
        weights[norm + ".bias"] = rng.normal(0, 0.2, width).astype(numpy.float32)
    return weights


def save_tiny(vocabulary):
    folder = HERE / "tiny"
    folder.mkdir(exist_ok=True)
    config = dict(TINY, vocab_size=len(vocabulary))
    weights = tiny_weights(config)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.txt").write_text("".join(t + "\n" for t in vocabulary))
    bert_tokenizer(vocabulary).save(str(folder / "tokenizer.json"), pretty=False)
    names = sorted(weights)
    halves = [names[:len(names) // 2], names[len(names) // 2:]]
    index = {"metadata": {"total_size": sum(w.nbytes for w in weights.values())}, "weight_map": {}}
    for i, part in enumerate(halves):
        file = f"model-{i + 1:05}-of-00002.safetensors"
        save_file({n: weights[n] for n in part}, folder / file, {"format": "pt"})
        index["weight_map"] |= {n: file for n in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def in_double(directory, ids, keep, types):
    """The network written with numpy, in double: tokens [B, S, C] and sentence [B, C]."""
    config, weights = bert_onnx.load(directory)
    w = {n: v.astype(numpy.float64) for n, v in weights.items()}
    erf = numpy.vectorize(math.erf)

    def linear(x, n):
        return x @ w[n + ".weight"].T + w[n + ".bias"]

    def norm(x, n):
        centred = x - x.mean(-1, keepdims=True)
        return centred / numpy.sqrt((centred**2).mean(-1, keepdims=True) + config["layer_norm_eps"]) * w[n + ".weight"] + w[n + ".bias"]

    embedding = {n: w[f"embeddings.{n}_embeddings.weight"] for n in ("word", "position", "token_type")}
    x = norm(embedding["word"][ids] + embedding["position"][:ids.shape[1]] + embedding["token_type"][types], "embeddings.LayerNorm")
    heads, (b, s, c) = config["num_attention_heads"], x.shape
    for i in range(config["num_hidden_layers"]):
        n = f"encoder.layer.{i}."
        q, k, v = (linear(x, n + "attention.self." + p).reshape(b, s, heads, -1).transpose(0, 2, 1, 3) for p in ("query", "key", "value"))
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(c // heads)
        scores = numpy.where(keep[:, None, None, :] > 0, scores, -numpy.inf)
        e = numpy.exp(scores - scores.max(-1, keepdims=True))
        mixed = (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(b, s, c)
        x = norm(x + linear(mixed, n + "attention.output.dense"), n + "attention.output.LayerNorm")
        h = linear(x, n + "intermediate.dense")
        x = norm(x + linear(0.5 * h * (1 + erf(h / math.sqrt(2))), n + "output.dense"), n + "output.LayerNorm")
    mean = (x * keep[..., None]).sum(1) / keep.sum(1, keepdims=True)
    return x, mean / numpy.linalg.norm(mean, axis=1, keepdims=True)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def padded(lists):
    longest = max(map(len, lists))
    ids = numpy.array([l + [0] * (longest - len(l)) for l in lists], numpy.int32)
    keep = numpy.array([[1] * len(l) + [0] * (longest - len(l)) for l in lists], numpy.int32)
    return ids, keep


def save_tiny_results():
    rng = random.Random(3)
    words = json.loads((HERE / "tiny" / "config.json").read_text())["vocab_size"]
    ids, keep = padded([[2, *(rng.randrange(5, words) for _ in range(n)), 3] for n in (11, 4, 0, 9)])
    types = numpy.array([[rng.randrange(2) for _ in row] for row in ids], numpy.int32)
    data = {"ids": ids, "keep": keep.astype(numpy.uint8), "types": types}
    session = session_of(bert_onnx.build(HERE / "tiny", details=True))
    for name, t in (("typed", types), ("plain", numpy.zeros_like(types))):
        results = session.run(None, {"ids": ids, "keep": keep, "types": t})
        for output, value in zip(session.get_outputs(), results):
            if name == "typed" or output.name in ("tokens", "sentence"):
                data[f"{name}.{output.name}"] = value
        tokens, sentence = in_double(HERE / "tiny", ids, keep, t)
        assert numpy.abs((data[f"{name}.tokens"] - tokens) * keep[..., None]).max() < 1e-5
        assert numpy.abs(data[f"{name}.sentence"] - sentence).max() < 1e-6
    save_file(data, HERE / "tiny.safetensors", {"onnxruntime": onnxruntime.__version__})


# --- 500 sentences --------------------------------------------------------------------------------------------------------

def make_sentences(tokenizer):
    rng = random.Random(4)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    sentences = ["sword"]
    seen = set(sentences)
    while len(sentences) < 500:
        target = round(math.exp(rng.uniform(0, math.log(254))))
        if len(sentences) % 50 == 0:
            target = 254
        mixed = rng.random() < 0.2
        language = rng.choice(["english"] * 12 + LANGUAGES)
        words = []
        while len(words) < 300:
            words += phrase(rng, None if mixed else language).split(" ")
        start = rng.randrange(20)
        words = words[start:]
        count = next((n for n in range(1, len(words)) if len(tokenizer.encode(" ".join(words[:n + 1])).ids) - 2 > target), len(words))
        text = " ".join(words[:count])
        if text not in seen and 3 <= len(tokenizer.encode(text).ids) <= 256:
            seen.add(text)
            sentences.append(text)
    return sentences


def save_sentences(model):
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    sentences = make_sentences(tokenizer)
    (HERE / "sentences.txt").write_text("".join(s + "\n" for s in sentences))
    session = session_of(bert_onnx.build(model))
    vectors = []
    for i, sentence in enumerate(sentences):
        ids, keep = padded([tokenizer.encode(sentence).ids])
        types = numpy.zeros_like(ids)
        vectors.append(session.run(None, {"ids": ids, "keep": keep, "types": types})[0][0])
        if i % 25 == 0:
            assert numpy.abs(in_double(model, ids, keep, types)[1][0] - vectors[-1]).max() < 1e-6
    lengths = [len(tokenizer.encode(s).ids) for s in sentences]
    print(f"{len(sentences)} sentences of {min(lengths)} to {max(lengths)} tokens, {sum(lengths)} in all")
    save_file({"sentence": numpy.stack(vectors), "tokens": numpy.array(lengths, numpy.int32)}, HERE / "sentences.safetensors",
              {"onnxruntime": onnxruntime.__version__, "model": "all-MiniLM-L6-v2"})


def main():
    model = pathlib.Path(sys.argv[1])
    vocabulary = train_vocabulary()
    lines = make_lines()
    print(f"{len(lines)} lines, {len(vocabulary)} tokens in the tiny vocabulary")
    save_tiny(vocabulary)
    save_tiny_results()
    save_lines(lines, vocabulary, model)
    save_sentences(model)


main()
