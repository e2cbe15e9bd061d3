"""Networks as parts of graphs: decoders compared with the texts that tests/decoders/make.py computed in double, BERT with numpy."""

import json

import numpy as np
import pytest

import heed
from conftest import ROOT
from encoder_test import HEADS, LAYERS, WIDTH, WORDS, expected_vector, folder  # noqa: F401  (folder is a fixture)
from support import close

FAMILIES = sorted(path.stem for path in (ROOT / "tests" / "decoders").glob("*.safetensors"))
STEPS, CAPACITY = 12, 24


def stored(family):
    return heed.Checkpoint(ROOT / "tests" / "decoders" / f"{family}.safetensors")


def config_of(family):
    return heed.DecoderConfig.parse(stored(family).metadata["config.json"])


def check_model(device, family):
    """Runs a GGUF file with a cache: the prompt in one run, then one token after the other."""
    file = stored(family)
    model = heed.DecoderModel(ROOT / "tests" / "models" / f"{family}.gguf")
    assert model.bytes > 0
    g = heed.Graph()
    past, tokens = g.position("past", CAPACITY), g.extent("tokens", 8)
    ids = g.input("ids", [1, tokens], "i32")
    result = model.build(ids, cache=heed.nn.Cache(capacity=CAPACITY, past=past), attention=True)
    assert len(result.attention) == model.config.layers and result.hidden.shape[2] == model.config.width
    g.output("logits", result.logits)
    g.output("next", g.argmax(result.logits))
    plan = device.compile(g, model.upload(device))
    state, read, said = plan.make_state(), 0, file["prompt"]
    for step in range(STEPS):
        found = plan.run({"ids": np.array([said], np.int32)}, extents={"past": read}, state=state)
        assert found["next"] == file["tokens"][step]
        assert np.abs(found["logits"].ravel() - file["logits"][step]).max() < 1e-4 * np.abs(file["logits"][step]).max()
        read, said = read + len(said), file["tokens"][step:step + 1]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_says_what_is_stored(cpu, family):
    check_model(cpu, family)


def test_a_model_on_every_device(device):
    check_model(device, "llama")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_network_by_its_numbers(cpu, family):
    """Runs with weights under Hugging Face's names, without a cache, and with the logits of all tokens."""
    file = stored(family)
    text = np.concatenate([file["prompt"], file["tokens"][:STEPS - 1]]).astype(np.int32)
    g = heed.Graph()
    result = heed.nn.decoder(g.input("ids", [1, len(text)], "i32"), config_of(family), all_logits=True)
    g.output("logits", result.logits)
    logits = cpu.compile(g, cpu.upload(file)).run({"ids": text[None]})["logits"][0]
    wanted = file["logits"][:STEPS]
    assert np.abs(logits[len(file["prompt"]) - 1:] - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_of_files(family):
    path = ROOT / "tests" / "models" / f"{family}.gguf"
    config, by_hand = heed.DecoderModel(path).config, config_of(family)
    assert config == heed.DecoderConfig.read(heed.Checkpoint(path))
    for name in ("family", "layers", "width", "heads", "kv_heads", "head_width", "hidden", "vocabulary", "tied"):
        assert getattr(config, name) == getattr(by_hand, name)
    assert config.eps == np.float32(by_hand.eps)


def test_numbers_of_a_config():
    text = {"model_type": "qwen2", "vocab_size": 96, "num_hidden_layers": 3, "hidden_size": 24, "num_attention_heads": 4,
            "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 99, "rms_norm_eps": 1e-6,
            "rope_theta": 5000.0, "tie_word_embeddings": False}
    config = heed.DecoderConfig.parse(json.dumps(text))
    assert (config.family, config.vocabulary, config.layers, config.kv_heads, config.positions) == ("qwen2", 96, 3, 2, 99)
    assert (config.rotary.base, config.tied, config.rotary.scaling.kind) == (5000, False, "none")


def test_decoders_that_are_refused(cpu, folder):  # noqa: F811
    g = heed.Graph()
    ids = g.input("ids", [1, 3], "i32")
    config = config_of("llama")
    with pytest.raises(heed.Error, match="family is 'bert'; .*llama"):
        heed.nn.decoder(ids, heed.DecoderConfig("bert", layers=1, width=8, heads=2, vocabulary=9, positions=9))
    for kind, call in ((heed.Status.NOT_FOUND, lambda: heed.DecoderModel("/nonexistent.gguf")),
                       (heed.Status.INVALID_FILE, lambda: heed.DecoderConfig.parse("{")),
                       (heed.Status.UNSUPPORTED, lambda: heed.DecoderConfig.read(stored("llama"))),
                       (heed.Status.DTYPE_MISMATCH, lambda: heed.nn.decoder(heed.Graph().input("ids", [1, 3]), config)),
                       (heed.Status.MISSING_WEIGHT, lambda: heed.BertConfig().upload(cpu, heed.Checkpoint(folder)))):
        with pytest.raises(heed.Error) as failure:
            call()
        assert failure.value.status == kind and failure.value.message


@pytest.mark.parametrize("in_memory", [False, True])
@pytest.mark.parametrize("separate", [False, True])
def test_bert(device, folder, in_memory, separate):  # noqa: F811
    config = heed.BertConfig.read(folder / "config.json")
    assert config == heed.BertConfig.parse((folder / "config.json").read_text())
    assert (config.width, config.layers, config.activation) == (WIDTH, LAYERS, "gelu_erf")
    file = folder / "model.safetensors"
    checkpoint = heed.Checkpoint.parse(bytearray(file.read_bytes()), "memory") if in_memory else heed.Checkpoint(file)
    weights = device.upload(checkpoint) if separate else config.upload(device, checkpoint)
    g = heed.Graph()
    shape = [g.extent("batch", 4), g.extent("tokens", 9)]
    ids, kept = g.input("ids", shape, "i32"), g.input("kept", shape, "u8")
    result = heed.nn.bert(ids, heed.keep(kept), config, attention=True, joined_qkv=not separate)
    g.output("sentence", heed.nn.mean_sentence(result.tokens, heed.keep(kept)))
    g.output("attention", result.attention[-1])
    assert result.pooled is None and len(result.attention) == LAYERS
    rows = [[2, 11, 8, 9, 7, 5, 10, 12, 3], [2, 6, 13, 3]]
    padded = np.zeros((2, 9), np.int32)
    for row, text in zip(padded, rows):
        row[:len(text)] = text
    assert padded.max() < len(WORDS)
    found = device.compile(g, weights).run({"ids": padded, "kept": padded != 0})
    for vector, text in zip(found["sentence"], rows):
        assert close(vector, expected_vector(text))
    assert found["attention"].shape == (2, HEADS, 9, 9) and (found["attention"][1, :, :, 4:] == 0).all()


def test_checkpoints_of_memory(cpu):
    path = ROOT / "tests" / "models" / "llama.gguf"
    data = path.read_bytes()
    parsed, opened = heed.Checkpoint.parse(data), heed.Checkpoint(path)
    del data
    assert list(parsed) == list(opened) and parsed.metadata == opened.metadata
    name = next(iter(parsed))
    array = parsed[name]
    del parsed
    assert (array == opened[name]).all()
    for wrong, kind in ((path.read_bytes()[:-1], heed.Status.INVALID_FILE), (b"", heed.Status.INVALID_FILE)):
        with pytest.raises(heed.Error) as failure:
            heed.Checkpoint.parse(wrong, "cut")
        assert failure.value.status == kind and "cut" in failure.value.message
