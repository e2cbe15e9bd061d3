"""Plans, vectors and answers with the same bits on every device, and devices that refuse them."""

import numpy as np
import pytest

import heed
from conftest import ROOT
from encoder_test import folder  # noqa: F401  (a fixture)

TEXTS = ["where can i buy a sword?", "axes"]
SPEAKER = ROOT / "tests" / "talk" / "tiny.gguf"
MISTRAL = "'[INST] ' + message + ' [/INST]' + answer + eos_token"


def or_refused(device, call):
    """The call's result; None if this device refuses because it cannot promise the bits."""
    try:
        return call()
    except heed.Error as failure:
        assert failure.status == heed.Status.UNSUPPORTED and "reproducible" in failure.message
        assert device.info.kind != "cpu"
        return None


def graph():
    g = heed.Graph()
    x = g.input("x", [5, 67])
    g.output("y", g.softmax(x @ g.input("w", [67, 33])))
    return g


def test_plans(device, cpu):
    random = np.random.default_rng(3)
    inputs = {"x": random.standard_normal((5, 67), np.float32), "w": random.standard_normal((67, 33), np.float32)}
    plan = or_refused(device, lambda: device.compile(graph(), reproducible=True))
    if plan is not None:
        wanted = cpu.compile(graph(), reproducible=True).run(inputs)["y"]
        assert plan.run(inputs)["y"].tobytes() == wanted.tobytes()


def test_operations(cpu):
    # The tests reproducible.* compare a driver's kernels, for which its compiler takes a minute.
    bits = cpu.operation_bits()
    assert len(bits) >= 14
    for name, one in bits.items():
        assert one.bits == one.known, name


def test_what_no_rule_covers(cpu):
    g = heed.Graph()
    g.output("y", g.custom("nothing", [g.input("x", [3])], [([3], "f32")], cpu=lambda inputs, outputs, push: None)[0])
    with pytest.raises(heed.Error, match="custom .* reproducible plans cannot have this operation") as failure:
        cpu.compile(g, reproducible=True)
    assert failure.value.status == heed.Status.UNSUPPORTED
    cpu.compile(g)


def test_vectors(device, cpu, folder):  # noqa: F811
    encoder = or_refused(device, lambda: heed.TextEncoder(device, folder, reproducible=True))
    if encoder is not None:
        wanted = heed.TextEncoder(cpu, folder, reproducible=True).encode(TEXTS)
        assert encoder.encode(TEXTS).tobytes() == wanted.tobytes()


def said(model):
    conversation = model.begin(sampling=heed.TextSampling(temperature=1, top_k=0, top_p=1, min_p=0, seed=11), most_tokens=12)
    return list(conversation.prompt("The dragon sleeps in the north, they say.")), conversation.ids.tolist()


def test_answers(device, cpu):
    model = or_refused(device, lambda: heed.TextGenerator(device, SPEAKER, context=64, reproducible=True))
    if model is not None:
        assert said(model) == said(heed.TextGenerator(cpu, SPEAKER, context=64, reproducible=True))


def test_chat_templates(cpu):
    model = heed.TextGenerator(cpu, SPEAKER, context=64, chat_template=MISTRAL)
    smith = model.begin()
    smith.add("user", "the sword")
    smith.answer_now()
    assert "[INST]" in model.tokenizer.decode(smith.ids, show_special=True)
    usual = heed.TextGenerator(cpu, SPEAKER, context=64).begin()
    usual.add("user", "the sword")
    usual.answer_now()
    assert smith.ids.tolist() != usual.ids.tolist()
    with pytest.raises(heed.Error, match="<start_of_turn>") as failure:
        heed.TextGenerator(cpu, SPEAKER, chat_template="<start_of_turn>")
    assert failure.value.status == heed.Status.UNSUPPORTED
