"""Checkpoints, tokenizers and language models, with the small files of the other tests."""

import gc

import numpy as np
import pytest

import heed
from conftest import ROOT

TINY = ROOT / "tests" / "talk" / "tiny.gguf"
GOLDEN = ROOT / "tests" / "goldens" / "004_transformer_odd.safetensors"


def status_of(call):
    with pytest.raises(heed.Error) as failure:
        call()
    assert failure.value.message
    return failure.value.status


def test_safetensors(cpu):
    checkpoint = heed.Checkpoint(GOLDEN)
    assert checkpoint.metadata["system"] == "004.transformer" and checkpoint.metadata["vocab"] == "13"
    x = checkpoint["x"]
    assert x.shape == (2, 9, 10) and x.dtype == np.float32 and not x.flags.writeable
    assert checkpoint["x_ids"].dtype == np.int32 and checkpoint.type("x_ids") == "I32"
    assert "out.weight" in checkpoint and "nothing" not in checkpoint and len(checkpoint) == len(list(checkpoint))
    with pytest.raises(KeyError):
        checkpoint["nothing"]
    assert cpu.upload(checkpoint).bytes > 0
    copy = x.copy()
    del checkpoint
    gc.collect()
    assert (x == copy).all()  # the array keeps the file open


def test_gguf(device):
    checkpoint = heed.Checkpoint(TINY)
    metadata = checkpoint.metadata
    assert metadata["general.architecture"] == "llama" and metadata["llama.block_count"] > 0
    assert len(metadata["tokenizer.ggml.tokens"]) == len(heed.Tokenizer(TINY))
    assert checkpoint.bytes == sum(checkpoint[name].nbytes for name in checkpoint)
    assert device.upload(checkpoint).bytes > 0


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "noise"])
@pytest.mark.parametrize("source", [TINY, GOLDEN], ids=["gguf", "safetensors"])
def test_damaged_files(tmp_path, damage, source):
    path = tmp_path / source.name
    data = source.read_bytes()
    if damage != "missing":
        path.write_bytes({"empty": b"", "cut": data[:len(data) // 2], "noise": data[:8] + bytes(range(256)) * 4}[damage])
    wanted = (heed.Status.NOT_FOUND,) if damage == "missing" else (heed.Status.INVALID_FILE, heed.Status.UNSUPPORTED)
    assert status_of(lambda: heed.Checkpoint(path)) in wanted


def test_tokenizer():
    tokenizer = heed.Tokenizer(TINY)
    text = "Where can I buy a sword? Hélas \U0001f5e1"
    ids = tokenizer.encode(text)
    assert ids.dtype == np.int32 and tokenizer.decode(ids) == text
    assert tokenizer.id(tokenizer.token(int(ids[0]))) == ids[0]
    assert tokenizer.encode("").size == 0 and tokenizer.decode([]) == ""
    assert status_of(lambda: tokenizer.decode([len(tokenizer)])) == heed.Status.INDEX_OUT_OF_RANGE
    assert status_of(lambda: tokenizer.id("no such token")) == heed.Status.NOT_FOUND


@pytest.fixture(scope="module")
def model(device):
    return heed.TextGenerator(device, TINY, context=128)


def test_a_conversation(model):
    sampling = heed.TextSampling(temperature=0)
    smith = model.begin(system="You are a blacksmith.", sampling=sampling, most_tokens=12)
    pieces = list(smith.say("Where can I buy a sword?"))
    assert "".join(pieces) == smith.answer and not smith.answering and smith.end is not None
    again = model.begin(system="You are a blacksmith.", sampling=sampling, most_tokens=12)
    assert "".join(again.say("Where can I buy a sword?")) == smith.answer
    fork = smith.fork()
    assert (fork.ids == smith.ids).all()
    assert list(fork.say("And a shield?")) == list(smith.say("And a shield?"))
    while_answering = model.begin(sampling=sampling, most_tokens=12)
    answer = while_answering.say("Hello")
    next(answer)
    assert status_of(lambda: while_answering.say("Hello again")) == heed.Status.INVALID_ARGUMENT
    while_answering.cancel()
    assert while_answering.end == "cancelled"
    smith.reset()
    assert len(smith.ids) < len(fork.ids)
    assert smith.state.bytes > 0


def test_saved_conversations(model, tmp_path):
    sampling = heed.TextSampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=4)
    smith = model.begin(system="You are a blacksmith.", sampling=sampling, most_tokens=12)
    answer = smith.say("Where can I buy a sword?")
    next(answer)
    saved, with_keys = smith.save(), smith.save(keys=True)
    assert len(saved) < 4096 < len(with_keys)
    rest = "".join(answer)
    again = model.load(with_keys)
    assert again.answering and "".join(again.pieces()) == rest and again.answer == smith.answer
    assert (again.ids == smith.ids).all()
    assert model.load(saved).answering
    for damaged in (b"", saved[:100], saved[:50] + b"x" + saved[51:]):
        assert status_of(lambda: model.load(damaged)) == heed.Status.INVALID_FILE
    with pytest.raises(TypeError):
        smith.save(keyz=True)


def test_polls_prompts_and_losses(model):
    conversation = model.begin(sampling=heed.TextSampling(temperature=0), most_tokens=6)
    text = "".join(conversation.prompt("Once upon a time"))
    ids = model.tokenizer.encode("Once upon a time", read_special=True, add_special=True)
    other = model.begin(sampling=heed.TextSampling(temperature=0), most_tokens=6)
    other.prompt(ids)
    polled = ""
    while other.answering:
        polled += other.poll().text
    assert polled == text
    assert 0 < model.loss(ids) < 100
    weights = model.attention(ids).weights
    assert weights.shape[2:] == (1, len(ids)) and np.allclose(weights.sum(-1), 1, atol=1e-4)


def test_grammars(model):
    yes_or_no = model.begin(sampling=heed.TextSampling(seed=3), grammar='root ::= "yes" | "no"')
    assert "".join(yes_or_no.say("Do you sell swords?")) in ("yes", "no")
    grammar = heed.grammar_of_json_schema('{"type": "boolean"}')
    assert "".join(model.begin(grammar=grammar).say("Do you sell swords?")).strip() in ("true", "false")
    assert status_of(lambda: model.begin(grammar="root ::= (")) == heed.Status.INVALID_ARGUMENT
    assert status_of(lambda: heed.grammar_of_json_schema("{")) != heed.Status.OK


def test_wrong_models_and_options(cpu, model, tmp_path):
    assert status_of(lambda: heed.TextGenerator(cpu, tmp_path / "no.gguf")) == heed.Status.NOT_FOUND
    assert status_of(lambda: heed.TextEncoder(cpu, tmp_path)) == heed.Status.NOT_FOUND
    assert status_of(lambda: heed.TextGenerator(cpu, GOLDEN)) != heed.Status.OK
    with pytest.raises(TypeError):
        model.begin(stop="one text")
    with pytest.raises(ValueError):
        model.begin(overflow="explode")
    with pytest.raises(ValueError):
        model.begin(system="a\0b")
    assert status_of(lambda: model.begin(sampling=heed.TextSampling(top_p=2))) == heed.Status.INVALID_ARGUMENT
    for ids in ([1, 2.5], [1, 1 << 40], np.array([1, 2 + (1 << 32)]), [float("nan")]):
        for call in (model.loss, model.attention, model.tokenizer.decode, model.begin().prompt):
            assert status_of(lambda: call(ids)) == heed.Status.DTYPE_MISMATCH
    for wrong in (lambda: model.tokenizer.encode(b"bytes"), lambda: model.begin().say(3), lambda: heed.Tokenizer(None)):
        with pytest.raises(TypeError):
            wrong()
