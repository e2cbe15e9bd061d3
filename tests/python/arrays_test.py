"""What runs accept and refuse: types, shapes, orders, devices, foreign memory, and threads."""

import array
import gc
import threading
import time

import numpy as np
import pytest

import heed
from support import close, doubled, in_threads, slow

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def status_of(call):
    with pytest.raises(heed.Error) as failure:
        call()
    assert failure.value.message
    return failure.value.status


class Lent:
    """Memory of another library, by DLPack, possibly on another device."""

    def __init__(self, held, device=(1, 0)):
        self.held, self.device = held, device

    def __dlpack__(self, **options):
        return self.held.__dlpack__()

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("name,value", {
    "transposed": np.asfortranarray(X),
    "strided": np.repeat(X, 2, 1)[:, ::2],
    "backwards": X[::-1].copy()[::-1],
    "read-only": np.frombuffer(X.tobytes(), np.float32).reshape(3, 4),
    "unaligned": np.frombuffer(b"?" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4),
    "list": X.tolist(),
    "memoryview": memoryview(X),
    "dlpack": Lent(X.copy()),
}.items())
def test_right_inputs(device, name, value):
    assert (doubled(device).run({"x": value})["y"] == 2 * X).all()


@pytest.mark.parametrize("name,value,status", [
    ("float64", X.astype(np.float64), heed.Status.DTYPE_MISMATCH),
    ("float16", X.astype(np.float16), heed.Status.DTYPE_MISMATCH),
    ("int32", X.astype(np.int32), heed.Status.DTYPE_MISMATCH),
    ("other order of bytes", X.astype(">f4"), heed.Status.DTYPE_MISMATCH),
    ("complex", X.astype(np.complex64), heed.Status.DTYPE_MISMATCH),
    ("too few", X[:2], heed.Status.SHAPE_MISMATCH),
    ("too many", np.zeros((4, 4), np.float32), heed.Status.SHAPE_MISMATCH),
    ("flat", X.ravel(), heed.Status.SHAPE_MISMATCH),
    ("swapped", X.T, heed.Status.SHAPE_MISMATCH),
    ("one more axis", X[None], heed.Status.SHAPE_MISMATCH),
    ("nothing", X[:0], heed.Status.SHAPE_MISMATCH),
    ("on a GPU", Lent(X, (2, 0)), heed.Status.INVALID_ARGUMENT),
])
def test_wrong_inputs(cpu, name, value, status):
    plan = doubled(cpu)
    assert status_of(lambda: plan.run({"x": value})) == status
    assert status_of(lambda: plan.start({"x": value})) == status
    assert (plan.run({"x": X})["y"] == 2 * X).all()


@pytest.mark.parametrize("value", [None, "text", object(), [[object()] * 4] * 3, {"a": 1}])
def test_inputs_that_are_no_arrays(cpu, value):
    with pytest.raises((TypeError, ValueError, heed.Error)):
        doubled(cpu).run({"x": value})


@pytest.mark.parametrize("value", [3.0, np.float32(3), np.array(3, np.float32)])
def test_an_array_without_axes_is_one_element(cpu, value):
    g = heed.Graph()
    g.output("y", g.input("x", [1]) * g.weight("w", [1]) + g.constant("c", value))
    plan = cpu.compile(g, cpu.upload({"w": np.float32(value)}))  # like a scalar in a state dict
    assert plan.run({"x": value})["y"].tolist() == [12]
    with pytest.raises(heed.Error, match=r"has the shape \[1\], must have \[3, 4\]"):
        doubled(cpu).run({"x": value})


def test_wrong_names_and_containers(cpu):
    plan = doubled(cpu)
    assert status_of(lambda: plan.run({})) == heed.Status.MISSING_BUFFER
    assert status_of(lambda: plan.run({"x": X, "z": X})) == heed.Status.NOT_FOUND
    assert status_of(lambda: plan.run({"x": X}, {"z": X})) == heed.Status.NOT_FOUND
    assert status_of(lambda: plan.run({"x": X}, extents={"n": 3})) == heed.Status.NOT_FOUND
    for wrong in (lambda: plan.run(X), lambda: plan.run({"x": X}, state=X), lambda: cpu.compile(X), lambda: cpu.compile(heed.Graph(), X)):
        with pytest.raises(TypeError):
            wrong()


def calls_with_wrong_types(device):
    g, plan, other = heed.Graph(), doubled(device), heed.Graph()
    x, kept = g.input("x", [1, 4, 8]), other.state("kept", [8])
    other.output("part", other.slice(kept, 0, other.position("at", 4), 2))
    remembering, optimizer = device.compile(other), heed.train.Optimizer()
    state = remembering.make_state()
    assert (remembering.run({}, extents={"at": np.int64(4)}, state=state)["part"] == 0).all()
    return {
        "an array in place of a tensor": lambda: heed.nn.linear(X, "fc", 3),
        "an array among tensors": lambda: g.add(x, X),
        "an array as a mask": lambda: g.softmax(x, mask=X),
        "a tensor as a mask": lambda: g.softmax(x, mask=x),
        "an array as a bias": lambda: g.softmax(x, bias=X),
        "a masked array": lambda: plan.run({"x": np.ma.masked_less(X, 3)}),
        "half a head": lambda: heed.nn.self_attention(x, "a", heads=2.5),
        "a text as a number": lambda: heed.nn.self_attention(x, "a", heads="2"),
        "an option that is not there": lambda: heed.nn.self_attention(x, "a", head=2),
        "options of another kind": lambda: heed.nn.encoder_layer(x, "a", heed.nn.MultiHeadOptions()),
        "a negative number": lambda: heed.nn.self_attention(x, "a", heads=2, kv_heads=-(1 << 40)),
        "a size of half": lambda: g.input("z", [1, 2.5]),
        "a negative size": lambda: g.input("z", [1, -2]),
        "bytes as a name": lambda: g.input(b"z", [1]),
        "half a place": lambda: remembering.run({}, extents={"at": 2.5}, state=state),
        "threads": lambda: heed.Device("cpu", threads=-1),
        "threads of half": lambda: heed.Device("cpu", threads=1.5),
        "a number as a device": lambda: heed.Device(0),
        "a list of tensors": lambda: device.upload([X]),
        "a place far away": lambda: remembering.run({}, extents={"at": 1 << 70}, state=state),
        "a plan as weights": lambda: device.compile(g, plan),
        "no state": lambda: state.copy(plan),
        "a state that is none": lambda: optimizer.load(plan, {}),
        "a graph that is none": lambda: optimizer.add_weights(plan),
        "tensors that are none": lambda: optimizer.load(state, [X]),
        "a device that is none": lambda: heed.TextEncoder("cpu", "folder"),
        "a device that is none, for a model": lambda: heed.TextGenerator(None, "model.gguf"),
        "a path that is none": lambda: heed.Checkpoint(3),
        "no array to read into": lambda: state.read("none", [1, 2]),
        "a seed": lambda: plan.run({"x": X}, seed=1.5),
    }


@pytest.mark.parametrize("name", calls_with_wrong_types(heed.Device("cpu", vulkan_loader="/nonexistent")))
def test_a_wrong_type(cpu, name):
    with pytest.raises((TypeError, ValueError, OverflowError, heed.Error)) as failure:
        calls_with_wrong_types(cpu)[name]()
    assert str(failure.value)


def test_outputs_of_the_caller(device):
    plan = doubled(device)
    out = np.zeros((3, 4), np.float32)
    assert plan.run({"x": X}, {"y": out})["y"] is out and (out == 2 * X).all()
    raw = array.array("f", [0.0] * 12)
    plan.run({"x": X}, {"y": memoryview(raw).cast("B").cast("f", (3, 4))})
    assert (np.array(raw).reshape(3, 4) == 2 * X).all()
    same = X.copy()
    plan.run({"x": same}, {"y": same})
    assert (same == 2 * X).all()


@pytest.mark.parametrize("name,out,status", [
    ("float64", np.zeros((3, 4)), heed.Status.DTYPE_MISMATCH),
    ("shape", np.zeros((4, 3), np.float32), heed.Status.SHAPE_MISMATCH),
    ("order", np.zeros((3, 4), np.float32, "F"), heed.Status.INVALID_ARGUMENT),
    ("strides", np.zeros((3, 8), np.float32)[:, ::2], heed.Status.INVALID_ARGUMENT),
    ("read-only", np.frombuffer(bytes(48), np.float32).reshape(3, 4), heed.Status.INVALID_ARGUMENT),
])
def test_wrong_outputs(cpu, name, out, status):
    assert status_of(lambda: doubled(cpu).run({"x": X}, {"y": out})) == status
    assert (out == 0).all()


def test_extents(device):
    g = heed.Graph()
    n = g.extent("n", 5)
    a, b = g.input("a", [n, 2]), g.input("b", [n, 2])
    g.output("y", a + b)
    plan = device.compile(g)
    for rows in (1, 3, 5):
        y = plan.run({"a": X.reshape(6, 2)[:rows], "b": X.reshape(6, 2)[:rows]})["y"]
        assert y.shape == (rows, 2) and (y == 2 * X.reshape(6, 2)[:rows]).all()
    x = X.reshape(6, 2)
    assert status_of(lambda: plan.run({"a": x[:2], "b": x[:3]})) == heed.Status.SHAPE_MISMATCH
    assert status_of(lambda: plan.run({"a": x[:2], "b": x[:2]}, extents={"n": 3})) == heed.Status.SHAPE_MISMATCH
    assert status_of(lambda: plan.run({"a": x, "b": x})) == heed.Status.EXTENT_OUT_OF_RANGE
    assert status_of(lambda: plan.run({"a": x[:0], "b": x[:0]})) in (heed.Status.EXTENT_OUT_OF_RANGE, heed.Status.SHAPE_MISMATCH)


def test_types(device):
    ids = np.array([1, -2], np.int32)
    assert (doubled(device, [2], "i32").run({"x": ids})["y"] == 2 * ids).all()
    halves = X.astype(np.float16)
    g = heed.Graph()
    g.output("y", g.cast(g.input("x", X.shape, "f16"), "f32"))
    assert (device.compile(g).run({"x": halves})["y"] == halves).all()
    g = heed.Graph()
    g.output("y", g.cast(g.input("x", X.shape, "bf16"), "f32"))
    assert (device.compile(g).run({"x": (X.view(np.uint32) >> 16).astype(np.uint16)})["y"] == X).all()
    for wrong in (ids.astype(np.int64), [0.5, 1], [1 << 31, 0], [float("nan"), 0]):
        assert status_of(lambda: doubled(device, [2], "i32").run({"x": wrong})) == heed.Status.DTYPE_MISMATCH
    assert status_of(lambda: heed.Graph().constant("c", [1 << 40])) == heed.Status.DTYPE_MISMATCH


def test_index_out_of_range(device):
    g = heed.Graph()
    g.output("y", g.embedding(g.input("table", [3, 2]), g.input("ids", [2], "i32")))
    plan = device.compile(g)
    table = np.ones((3, 2), np.float32)
    assert status_of(lambda: plan.run({"table": table, "ids": [0, 3]})) == heed.Status.INDEX_OUT_OF_RANGE
    assert (plan.run({"table": table, "ids": [0, 2]})["y"] == 1).all()


def test_weights(cpu):
    assert status_of(lambda: cpu.upload({"w": X.astype(np.float64)})) == heed.Status.DTYPE_MISMATCH
    cpu.upload({"w": X.T, "ids": np.arange(3), "flags": np.ones(3, bool)})  # int64 is left out
    g = heed.Graph()
    g.output("y", heed.nn.linear(g.input("x", [1, 4]), "fc", 3))
    assert status_of(lambda: cpu.compile(g, cpu.upload({"fc.weight": X}))) == heed.Status.MISSING_WEIGHT
    assert status_of(lambda: cpu.compile(g, cpu.upload({"fc.weight": X.T, "fc.bias": X[:, 0]}))) == heed.Status.SHAPE_MISMATCH
    weights = cpu.upload({"fc.weight": np.asfortranarray(X), "fc.bias": X[:, 0]})
    assert close(cpu.compile(g, weights).run({"x": X[:1]})["y"], X[:1] @ X.T + X[:, 0])


def test_tensors_of_pytorch(device):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy()).requires_grad_()
    out = torch.zeros(3, 4)
    doubled(device).run({"x": x}, {"y": out})
    assert (out.numpy() == 2 * X).all()
    y = doubled(device).run({"x": x.t().contiguous().t()})["y"]
    assert (y == 2 * X).all()
    assert status_of(lambda: doubled(device).run({"x": x.double()})) == heed.Status.DTYPE_MISMATCH
    assert status_of(lambda: doubled(device).run({"x": x}, {"y": torch.empty(3, 4, device="meta")})) == heed.Status.INVALID_ARGUMENT


def test_start_and_wait(device):
    plan, arrays = slow(device, 128, 10)
    expected = plan.run(arrays)["y"]
    run = plan.start(arrays)
    assert (run.wait()["y"] == expected).all() and run.done()
    assert (run.wait()["y"] == expected).all()
    run = plan.start(arrays)
    assert status_of(lambda: plan.run(arrays)) == heed.Status.INVALID_ARGUMENT
    run.wait()
    assert (plan.run(arrays)["y"] == expected).all()


def test_arrays_that_are_dropped_while_a_run_goes_on(device):
    plan, arrays = slow(device, 256, 10)
    expected = plan.run(arrays)["y"]
    run = plan.start({name: a.copy() for name, a in arrays.items()}, {"y": np.zeros_like(expected)})
    gc.collect()
    noise = [np.full((256, 256), 7, np.float32) for _ in range(50)]  # would reuse the freed memory
    assert (run.wait()["y"] == expected).all()
    del noise
    out = bytearray(expected.nbytes)
    run = plan.start(arrays, {"y": memoryview(out).cast("f", expected.shape)})
    with pytest.raises(BufferError):
        out.extend(b"1")
    run.wait()
    assert (np.frombuffer(out, np.float32).reshape(expected.shape) == expected).all()
    plan.start(arrays)  # dropped at once: its destructor waits for its end
    assert (plan.run(arrays)["y"] == expected).all()


def test_everything_else_is_dropped_while_a_run_goes_on(cpu):
    device = heed.Device("cpu")
    plan, arrays = slow(device, 256, 10)
    expected = plan.run(arrays)["y"]
    run = plan.start(arrays)
    del plan, device
    gc.collect()
    assert (run.wait()["y"] == expected).all()


def test_the_gil_is_released(device):
    plan, arrays = slow(device)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    plan.run(arrays)
    thread.start()
    try:
        begin = time.perf_counter()
        plan.run(arrays)
        end = time.perf_counter()
    finally:
        done.set()
        thread.join()
    seen = [t for t in ticks if begin < t < end]
    assert end - begin > 0.02, "the run is too short to tell"
    assert len(seen) > 5


def test_threads_with_plans_of_their_own(device):
    results = {}

    def work(i):
        plan = doubled(device)
        results[i] = all((plan.run({"x": X + i})["y"] == 2 * (X + i)).all() for _ in range(30))

    in_threads(work, 4)
    assert results == dict.fromkeys(range(4), True)


def test_threads_with_one_plan_are_refused_or_right(device):
    plan, arrays = slow(device, 128, 10)
    expected, wrong = plan.run(arrays)["y"], []

    def work(_):
        for _ in range(20):
            try:
                if not (plan.run(arrays)["y"] == expected).all():
                    wrong.append("result")
            except heed.Error as error:
                if error.status != heed.Status.INVALID_ARGUMENT:
                    wrong.append(error)

    in_threads(work, 3)
    assert not wrong


def test_threads_with_one_graph_are_refused_or_right():
    g = heed.Graph()
    x, wrong = g.input("x", [4]), []

    def work(_):
        nonlocal x
        for _ in range(200):
            try:
                g.add(x, x)
            except heed.Error as error:
                if error.status != heed.Status.INVALID_ARGUMENT:
                    wrong.append(error)

    in_threads(work, 3)
    assert not wrong


def test_passes_and_timings(device):
    g = heed.Graph()
    x = g.input("x", [3, 4])
    with g.label("twice"):
        g.output("y", g.softmax(x + x))
    plan = device.compile(g, timestamps=True)
    assert all(p.label.startswith("twice") and p.kernel for p in plan.passes())
    try:
        plan.run({"x": X})
        times = plan.timings()
    except heed.Error as error:
        assert error.status == heed.Status.UNSUPPORTED
    else:
        assert len(times) == len(plan.passes()) and all(t >= 0 for t in times)
    assert status_of(lambda: doubled(device).timings()) == heed.Status.UNSUPPORTED
