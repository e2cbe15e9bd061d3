"""heed.onnx with files that this test writes itself, with the fields of onnx.proto. tests/onnx/run.py runs the standard's
operators."""

import numpy as np
import pytest

import heed
from conftest import ROOT

FLOAT, INT64 = 1, 7


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, outputs, **attributes):
    text = b"".join([field(1, i) for i in inputs] + [field(2, o) for o in outputs]) + field(3, op.lower()) + field(4, op)
    return text + b"".join(field(5, field(1, name) + field(3, value) + field(20, 2)) for name, value in attributes.items())


def port(name, kind, *dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def weight(name, array):
    return b"".join(field(1, d) for d in array.shape) + field(2, FLOAT) + field(8, name) + field(9, array.astype(np.float32).tobytes())


def model(nodes, inputs, outputs, weights=()):
    graph = b"".join(field(1, n) for n in nodes) + b"".join(field(5, w) for w in weights)
    graph += b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


W = np.random.default_rng(1).standard_normal((4, 2)).astype(np.float32)


def policy():
    """seen [agents, 4] and shift [agents, 2] -> relu(seen W) + shift."""
    return model([node("MatMul", ["seen", "w"], ["h"]), node("Relu", ["h"], ["r"]), node("Add", ["r", "shift"], ["choices"])],
                 [port("seen", FLOAT, "agents", 4), port("shift", FLOAT, "agents_1", 2)], [port("choices", FLOAT, "agents", 2)],
                 [weight("w", W)])


def decoder():
    """Running sums of all rows: new rows are appended to a cache."""
    return model([node("Concat", ["past_0", "x"], ["present_0"], axis=0), node("CumSum", ["present_0", "zero"], ["sums"])],
                 [port("x", FLOAT, "new", 4), port("past_0", FLOAT, "past", 4)],
                 [port("sums", FLOAT, "all", 4), port("present_0", FLOAT, "all", 4)],
                 [field(2, INT64) + field(8, "zero") + field(9, bytes(8))])


def rows(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_a_policy_on_every_device(device, tmp_path):
    path = tmp_path / "policy.onnx"
    path.write_bytes(policy())
    act = heed.onnx.load(path, device, largest=7)
    assert act.inputs["seen"] == heed.onnx.Port(("agents", 4), "f32") and list(act.outputs) == ["choices"]
    assert act.operators == {"Add": 1, "MatMul": 1, "Relu": 1} and act.caches == []
    for agents in (1, 7, 3):
        seen, shift = rows(agents, 4), rows(agents, 2)
        wanted = np.maximum(seen @ W, 0) + shift
        assert np.allclose(act(seen, shift=shift)["choices"], wanted, atol=1e-5)
    assert len(act._plans) == 1
    any_size = heed.onnx.load(policy(), device)
    assert np.allclose(any_size(seen, shift)["choices"], wanted, atol=1e-5)


def test_the_page_for_users_of_pytorch(tmp_path):
    """The block of include/heed/guide/from_onnx.md that loads a file."""
    page = (ROOT / "include/heed/guide/from_onnx.md").read_text()
    code, = [block.split("```")[0] for block in page.split("```python\n")[1:] if "heed.onnx.load" in block.split("```")[0]]
    file = tmp_path / "policy.onnx"
    file.write_bytes(model([node("MatMul", ["agents", "w"], ["velocity"])], [port("agents", FLOAT, "count", 6)],
                           [port("velocity", FLOAT, "count", 2)], [weight("w", rows(6, 2))]))
    names = {"agents": rows(5, 6)}
    exec(code.replace('"policy.onnx"', repr(str(file))), names)
    assert np.allclose(names["velocity"], names["agents"] @ rows(6, 2), atol=1e-5)


def test_a_graph(cpu):
    act = heed.onnx.load(policy())
    g = act.build(largest={"agents": 5, "agents_1": 5})
    assert list(g.weights()) == ["w"] and g._inputs["seen"].shape[0].most == 5
    plan = cpu.compile(g, act.upload(cpu, g))
    seen, shift = rows(2, 4), rows(2, 2)
    assert np.allclose(plan.run({"seen": seen, "shift": shift})["choices"], np.maximum(seen @ W, 0) + shift, atol=1e-5)


def test_a_part_of_a_graph(cpu):
    act = heed.onnx.load(policy())
    g = heed.Graph()
    n = g.extent("n", 5)
    seen = g.input("seen", [n, 4])
    first = act.add(g, {"seen": seen * 2, "shift": g.input("shift", [n, 2])})["choices"]
    assert first.shape == (n, 2)
    second = act.add(g, {"seen": seen, "shift": first})["choices"]
    g.output("sums", first + second)
    plan = cpu.compile(g, act.upload(cpu, g))
    x, shift = rows(3, 4), rows(3, 2)
    wanted = np.maximum(2 * x @ W, 0) + shift
    assert np.allclose(plan.run({"seen": x, "shift": shift})["sums"], 2 * wanted + np.maximum(x @ W, 0), atol=1e-5)
    alone = heed.Graph()
    made = act.add(alone, {"seen": alone.input("x", [3, 4])}, largest={"agents_1": 3})
    assert made["choices"].shape[1] == 2 and list(alone._inputs) == ["x", "shift"]
    for status, inputs, said in (("SHAPE_MISMATCH", {"seen": g.input("narrow", [n, 3])}, "not of the shape"),
                                 ("DTYPE_MISMATCH", {"seen": g.input("whole", [n, 4], "i32")}, "is i32; it must be f32"),
                                 ("INVALID_ARGUMENT", {"scene": seen}, "no input 'scene'")):
        with pytest.raises(heed.Error, match=said) as error:
            act.add(g, inputs, largest=5)
        assert error.value.status == heed.Status[status]
    assert g.input("after", [1]).shape == (1,)


def test_a_cache_stays_on_the_device(cpu):
    free, kept = heed.onnx.load(decoder(), cpu, largest=9), heed.onnx.load(decoder(), cpu, largest=9, states=True)
    assert kept.caches == [("past_0", "present_0")]
    past, state = np.empty((0, 4), np.float32), kept.make_state()
    for new in (3, 1, 2):
        x = rows(new, 4)
        wanted = free(x, past)
        found = kept(x, state=state, extents={"past": len(past)})
        assert list(found) == ["sums"] and np.allclose(found["sums"], wanted["sums"], atol=1e-6)
        past = wanted["present_0"]
    assert np.array_equal(state.read("past_0")[:len(past)], past)


def test_what_is_wrong_is_said_once(cpu, tmp_path):
    act = heed.onnx.load(policy(), cpu, largest=7)
    seen, shift = rows(3, 4), rows(3, 2)
    for status, call, said in [
            ("NOT_FOUND", lambda: heed.onnx.load(tmp_path / "none.onnx"), "none.onnx"),
            ("INVALID_FILE", lambda: heed.onnx.load(b"no protobuf"), "the bytes"),
            ("NOT_FOUND", lambda: act(seen, shift, sight=seen), "no input 'sight'; the file has seen, shift"),
            ("MISSING_BUFFER", lambda: act(seen), "'shift' is not given"),
            ("DTYPE_MISMATCH", lambda: act(seen.astype(np.float64), shift), "'seen' is an array of float64, must be f32"),
            ("SHAPE_MISMATCH", lambda: act(seen[0], shift), "'seen' has the shape [4], must have ['agents', 4]"),
            ("SHAPE_MISMATCH", lambda: act(seen, shift[:2]), "dim 0 of input 'shift' is 2; it must be 3"),
            ("SHAPE_MISMATCH", lambda: act(seen[:, :3], shift), "dim 1 of input 'seen' is 3; it must be 4"),
            ("EXTENT_OUT_OF_RANGE", lambda: act(rows(8, 4), rows(8, 2)), "agents"),
            ("INVALID_ARGUMENT", lambda: act.build(), "the largest size of 'agents'"),
            ("INVALID_ARGUMENT", lambda: act.build(largest=3, states=[("seen", "seen")]), "must be an input and an output"),
            ("NOT_FOUND", lambda: heed.onnx.load(policy(), states=True), "no caches"),
            ("UNSUPPORTED", lambda: heed.onnx.load(model([node("Loop", ["x"], ["y"])], [port("x", FLOAT, 3)], [port("y", FLOAT, 3)])).build(),
             "node 'loop' (Loop)")]:
        with pytest.raises(heed.Error) as error:
            call()
        assert error.value.status == heed.Status[status] and said in str(error.value)
    for call in (lambda: act(seen, seen=seen), lambda: act(seen, shift, shift, shift), lambda: heed.onnx.load(3)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError):
        heed.onnx.load(policy())(seen, shift)
    whole = heed.onnx.load(model([node("Abs", ["x"], ["y"])], [port("x", INT64, 2)], [port("y", INT64, 2)]), cpu)
    assert list(whole(np.array([-3, 4]))["y"]) == [3, 4]
    with pytest.raises(heed.Error, match="int32 has not"):
        whole(np.array([1, 1 << 40]))


def test_a_file_that_others_wrote(cpu):
    made = heed.onnx.load(ROOT / "tests" / "onnx" / "witness.onnx", cpu)
    assert list(made.outputs) == ["z"] and made.operators["If"] == 1
