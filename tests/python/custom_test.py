"""Graph.custom: shaders on Vulkan, Python functions on the CPU, and invalid uses."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import heed
from conftest import ROOT
from support import doubled, in_threads

SHADERS = ROOT / "tests" / "custom"


def fade(inputs, outputs, push):
    (x,), (y,) = inputs, outputs
    count, factor = push
    assert count == x.size and not x.flags.writeable
    np.multiply(x, np.uint32(factor).view(np.float32), out=y)


def faded(g, x, factor, cpu=fade):
    n, = x.shape
    y, = g.custom("fade", [x], [(x.shape, "f32")], spirv=(SHADERS / "fade.spv").read_bytes(), constants=[64], push=[n, factor],
                  groups=[([n], 64)], cpu=cpu)
    return y


def test_a_pass_with_an_extent(device):
    g = heed.Graph()
    g.output("y", faded(g, faded(g, g.input("x", [g.extent("n", 300)]), 0.5), -3.0))
    plan = device.compile(g)
    assert any("fade" in p.label for p in plan.passes())
    for count in (1, 63, 300):
        x = np.arange(count, dtype=np.float32)
        assert (plan.run({"x": x})["y"] == x * -1.5).all()
        assert (plan.start({"x": x}).wait()["y"] == x * -1.5).all()


def test_two_outputs(device):
    g = heed.Graph()
    rows, columns = g.extent("rows", 20), 11
    a, b = g.input("a", [rows, columns]), g.input("b", [rows, columns])

    def cpu(inputs, outputs, push):
        assert push == [len(inputs[0]), columns]
        np.add(*inputs, out=outputs[0])
        np.subtract(*inputs, out=outputs[1])

    both = g.custom("both", [a, b], [(a.shape, "f32")] * 2, spirv=(SHADERS / "sum_and_difference.spv").read_bytes(),
                    push=[rows, columns], groups=[([columns], 8), ([rows], 8)], cpu=cpu, group_work=64)
    for name, y in zip(("sum", "difference"), both):
        g.output(name, y)
    x, y = np.random.default_rng(1).standard_normal((2, 17, columns), np.float32)
    result = device.compile(g).run({"a": x, "b": y})
    assert (result["sum"] == x + y).all() and (result["difference"] == x - y).all()


def test_types_of_a_function_s_arrays(cpu):
    seen = []

    def take(inputs, outputs, push):
        seen.extend((a.dtype.name, a.shape) for a in inputs + outputs)
        outputs[0][...] = inputs[1].sum() + inputs[3].sum()

    g = heed.Graph()
    inputs = [g.input(dtype, [1, 2], dtype) for dtype in ("f16", "i32", "bf16", "u8")]
    g.output("y", g.custom("take", inputs, [([1], "i32")], cpu=take)[0])
    arrays = {"f16": np.ones((1, 2), np.float16), "i32": [[3, -1]], "bf16": np.ones((1, 2), np.uint16), "u8": [[250, 250]]}
    assert cpu.compile(g).run(arrays)["y"] == 502
    assert seen == [("float16", (1, 2)), ("int32", (1, 2)), ("uint16", (1, 2)), ("uint8", (1, 2)), ("int32", (1,))]


def test_what_a_function_raises_is_raised_by_the_run(cpu):
    class Mine(Exception):
        pass

    wrong = []

    def cpu_function(inputs, outputs, push):
        if wrong:
            raise Mine(wrong[0])
        fade(inputs, outputs, push)

    g = heed.Graph()
    g.output("y", faded(g, g.input("x", [5]), 2.0, cpu_function))
    plan = cpu.compile(g)
    x = np.ones(5, np.float32)
    wrong.append("first")
    with pytest.raises(Mine, match="first"):
        plan.run({"x": x})
    run = plan.start({"x": x})
    for _ in range(2):
        with pytest.raises(Mine, match="first"):
            run.wait()
    wrong.clear()
    assert (plan.run({"x": x})["y"] == 2).all()
    assert (plan.start({"x": x}).wait()["y"] == 2).all()


def test_what_is_raised_in_one_thread_is_not_anothers(cpu):
    barrier, seen = threading.Barrier(2), {}
    g = heed.Graph()

    def meet(inputs, outputs, push):
        barrier.wait(10)
        if inputs[0][0] < 0:
            raise ValueError("negative")
        fade(inputs, outputs, push)

    g.output("y", faded(g, g.input("x", [3]), 2.0, meet))
    plans = [cpu.compile(g) for _ in range(2)]

    def work(i):
        try:
            seen[i] = plans[i].run({"x": np.full(3, 1 - 2 * i, np.float32)})["y"][0]
        except ValueError as error:
            seen[i] = str(error)

    in_threads(work, 2)
    assert seen == {0: 2.0, 1: "negative"}


def test_an_interrupt_in_a_function_is_raised(cpu):
    def interrupted(inputs, outputs, push):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    g = heed.Graph()
    g.output("y", faded(g, g.input("x", [5]), 2.0, interrupted))
    plan = cpu.compile(g)
    with pytest.raises(KeyboardInterrupt):
        plan.run({"x": np.ones(5, np.float32)})
    assert (doubled(cpu).run({"x": np.ones((3, 4), np.float32)})["y"] == 2).all()


def test_functions_live_as_long_as_their_plans(cpu):
    def function(inputs, outputs, push):
        time.sleep(0.1)
        fade(inputs, outputs, push)

    alive = weakref.ref(function)
    g = heed.Graph()
    g.output("y", faded(g, g.input("x", [5]), 2.0, function))
    plan = cpu.compile(g)
    del g, function
    gc.collect()
    x = np.ones(5, np.float32)
    assert (plan.run({"x": x})["y"] == 2).all()
    run = plan.start({"x": x})
    del plan
    gc.collect()
    assert (run.wait()["y"] == 2).all()
    del run
    gc.collect()
    assert alive() is None


def mistakes(g, x):
    spirv = (SHADERS / "fade.spv").read_bytes()
    out = [(x.shape, "f32")] if x is not None else None
    return {
        "no name": (lambda: g.custom("", [x], out, cpu=fade), heed.Error),
        "no outputs": (lambda: g.custom("p", [x], [], cpu=fade), heed.Error),
        "three outputs": (lambda: g.custom("p", [x], out * 3, cpu=fade), heed.Error),
        "too many inputs": (lambda: g.custom("p", [x] * 8, out, cpu=fade), heed.Error),
        "damaged": (lambda: g.custom("p", [x], out, spirv=spirv[:-4]), heed.Error),
        "no words": (lambda: g.custom("p", [x], out, spirv=spirv[:-1]), ValueError),
        "entry point": (lambda: g.custom("p", [x], out, spirv=spirv, entry_point="other"), heed.Error),
        "large word": (lambda: g.custom("p", [x], out, push=[1 << 32], cpu=fade), ValueError),
        "no word": (lambda: g.custom("p", [x], out, push=["a"], cpu=fade), ValueError),
        "four axes": (lambda: g.custom("p", [x], out, groups=[([1], 1)] * 4, cpu=fade), ValueError),
        "type": (lambda: g.custom("p", [x], [(x.shape, "float32")], cpu=fade), ValueError),
        "no function": (lambda: g.custom("p", [x], out, cpu=3), TypeError),
        "no gradient": (lambda: g.custom("p", [x], out, cpu=fade, gradient=3), TypeError),
        "no tensor": (lambda: g.custom("p", [np.ones(3)], out, cpu=fade), TypeError),
    }


@pytest.mark.parametrize("name", mistakes(None, None))
def test_mistake(name):
    g = heed.Graph()
    call, kind = mistakes(g, g.input("x", [5]))[name]
    with pytest.raises(kind) as failure:
        call()
    assert str(failure.value)


def test_a_device_refuses_what_it_cannot_run(device):
    g = heed.Graph()
    x = g.input("x", [5])
    other = dict(spirv=(SHADERS / "fade.spv").read_bytes(), constants=[64], push=[5, 1.0]) if device.info.kind == "cpu" else dict(cpu=fade)
    g.output("y", g.custom("fade", [x], [(x.shape, "f32")], **other)[0])
    with pytest.raises(heed.Error) as failure:
        device.compile(g)
    assert failure.value.status == heed.Status.UNSUPPORTED and "fade" in failure.value.message


def square(inputs, outputs, push):
    np.multiply(inputs[0], inputs[0], out=outputs[0])


def test_a_gradient(cpu):
    def gradient(inputs, outputs, upstream, wanted):
        assert wanted == [True, False] and outputs[0].shape == (4,)
        return [inputs[0] * upstream[0] * 2.0, None]

    g = heed.Graph()
    x, apart = g.input("x", [4]), g.input("apart", [4])
    y = x
    for _ in range(2):
        y, = g.custom("square", [y, apart], [(x.shape, "f32")], cpu=square, gradient=gradient)
    d_y = g.input("d_y", [4])
    for name, d in zip(("of_x", "of_d_y"), heed.train.gradients([(y, d_y)], [x, d_y])):
        g.output(name, d)
    a = np.array([1, -2, 0.5, 3], np.float32)
    found = cpu.compile(g).run({"x": a, "apart": a, "d_y": a[::-1]})
    assert (found["of_x"] == 4 * a ** 3 * a[::-1]).all() and (found["of_d_y"] == 0).all()


def wrong_gradients(g):
    other = heed.Graph().input("x", [4])

    def raising(inputs, outputs, upstream, wanted):
        raise KeyError("mine")

    return {
        "none": (None, heed.Error, "'square' has no gradient"),
        "raises": (raising, KeyError, "mine"),
        "too few": (lambda *_: [], ValueError, "0 tensors"),
        "no tensor": (lambda *_: [1.0], TypeError, "a gradient"),
        "foreign": (lambda *_: [other], ValueError, "another graph"),
        "shape": (lambda i, *_: [g.reshape(i[0], [2, 2])], heed.Error, "not like its input"),
        "a mistake": (lambda i, *_: [i[0] @ i[0]], heed.Error, "matmul"),
    }


@pytest.mark.parametrize("name", wrong_gradients(None))
def test_a_wrong_gradient(name):
    g = heed.Graph()
    gradient, kind, text = wrong_gradients(g)[name]
    x = g.input("x", [4])
    y, = g.custom("square", [x], [(x.shape, "f32")], cpu=square, gradient=gradient)
    with pytest.raises(kind, match=text):
        heed.train.gradients([(y, x)], [x])
    g.output("y", g.add(x, y))  # the graph is unchanged
