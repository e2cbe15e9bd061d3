"""The process as a whole: leaks, interrupts, forks, exit, machines without Vulkan, and the contents of the wheel."""

import gc
import os
import pathlib
import pickle
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heed
from conftest import LOADER
from support import doubled, in_new_process, slow

X = np.ones((3, 4), np.float32)


def resident():
    """Resident bytes of this process."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def growth(work, warm, times):
    for _ in range(warm):
        work()
    gc.collect()
    before = resident()
    for _ in range(times):
        work()
    gc.collect()
    return resident() - before


def test_a_thousand_runs_leak_nothing(device):
    g = heed.Graph()
    x = g.input("x", [g.extent("n", 64), 64])
    g.output("y", g.softmax(x @ g.transpose(x, 0, 1)))
    plan = device.compile(g)
    x = np.ones((64, 64), np.float32)

    def work():
        plan.run({"x": x[:33]})
        plan.start({"x": x}).wait()

    assert growth(work, 200, 1000) < 1 << 20  # a leak of one array in each run would be 16 MB


def test_a_thousand_steps_of_training_leak_nothing(device):
    g = heed.Graph()
    y = heed.nn.linear(g.input("x", [16, 64]), "fc", 128)
    optimizer = heed.train.Optimizer()
    optimizer.add_weights(g)
    settings = optimizer.settings(g)
    loss = g.mean((y * y).reshape(1, 16 * 128), 1)
    g.output("step", optimizer.step(heed.train.gradients(loss, optimizer.weights(g)), settings))
    plan = device.compile(g)
    state = plan.make_state()
    w = {"fc.weight": np.ones((128, 64), np.float32), "fc.bias": np.ones(128, np.float32)}  # 32 KB
    x, taken = np.ones((16, 64), np.float32), []

    def work():
        words = optimizer.words(rate=1e-3)
        taken[:] = [plan.run({"x": x, "optimizer.settings": words}, state=state)["step"][3]]
        optimizer.read(state, "fc.weight")

    optimizer.load(state, w)
    assert growth(work, 200, 1000) < 4 << 20  # a leak of one weight in each step would be 32 MB
    assert taken == [1200]
    assert growth(lambda: optimizer.load(state, w), 20, 200) < 2 << 20  # the limit would be 6 MB


def test_graphs_plans_weights_and_failures_leak_nothing(cpu):
    w = np.ones((256, 256), np.float32)  # 256 KB

    def work():
        g = heed.Graph()
        y = heed.nn.linear(g.input("x", [4, 256]), "fc", 256, bias=False)
        g.output("y", y)
        plan = cpu.compile(g, cpu.upload({"fc.weight": w}))
        plan.run({"x": w[:4]})
        for wrong in (lambda: plan.run({"x": w}), lambda: y @ y, lambda: heed.Device("no such device", vulkan_loader=LOADER)):
            with pytest.raises(heed.Error):
                wrong()

    assert growth(work, 20, 100) < 4 << 20  # a leak of one matrix in each round would be 26 MB


def test_an_interrupt_comes_when_the_run_is_over(cpu):
    plan, arrays = slow(cpu)
    expected = plan.run(arrays)["y"]
    out = np.zeros_like(expected)
    started = threading.Event()

    def interrupt():
        started.wait()
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        started.set()
        plan.run(arrays, {"y": out})
        time.sleep(5)
    thread.join()
    assert (out == expected).all()
    assert (plan.run(arrays)["y"] == expected).all()


def test_an_interrupt_just_behind_the_start_leaves_no_run(cpu, monkeypatch):
    plan, arrays = slow(cpu, 256, 10)
    expected = plan.run(arrays)["y"]

    def interrupted(status):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(heed._c, "check", interrupted)
        with pytest.raises(KeyboardInterrupt):
            plan.start(arrays)
    gc.collect()
    assert (plan.run(arrays)["y"] == expected).all()  # so it waited for the run


def in_child(call):
    """The call's message in a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = repr(call())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    deadline = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.filterwarnings("ignore:This process")  # newer versions of Python warn about threads at a fork
def test_a_child_gets_an_exception(device):
    plan = doubled(device)
    plan.run({"x": X})
    graph = heed.Graph()
    for call in (lambda: plan.run({"x": X}), lambda: device.info, lambda: graph.input("x", [2]), lambda: doubled(device)):
        assert "before the process forked" in in_child(call)
    assert (plan.run({"x": X})["y"] == 2).all()


@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_may_open_a_device_and_drop_its_parents(cpu):
    kept = [doubled(cpu)]
    kept[0].run({"x": X})

    def work():
        kept.clear()
        gc.collect()
        return float(doubled(heed.Device("cpu", vulkan_loader=LOADER)).run({"x": X})["y"].sum())

    assert in_child(work) == "24.0"


@pytest.mark.filterwarnings("ignore:This process")
def test_a_child_of_a_started_run(cpu):
    plan, arrays = slow(cpu)
    expected = plan.run(arrays)["y"]
    run = plan.start(arrays)
    assert "before the process forked" in in_child(run.wait)
    assert (run.wait()["y"] == expected).all()


def test_a_process_may_end_while_a_run_goes_on():
    code, out, err = in_new_process(f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import heed
from support import slow
plan, arrays = slow(heed.Device("cpu"))
run = plan.start(arrays)
print("ends")
""")
    assert (code, out, err) == (0, "ends\n", "")


def test_without_vulkan():
    code, out, err = in_new_process("""
import heed
loader = "/nonexistent/libvulkan.so.1"
print([d.word for d in heed.devices(vulkan_loader=loader)], heed.Device(vulkan_loader=loader).info.kind)
try:
    heed.Device("vulkan", vulkan_loader=loader)
except heed.Error as error:
    print(error.status.name)
""")
    assert (code, out) == (0, "['cpu'] cpu\nNOT_FOUND\n"), err


def test_errors(cpu):
    with pytest.raises(heed.Error) as failure:
        heed.Device("no such device", vulkan_loader=LOADER)
    error = failure.value
    assert error.status == heed.Status.NOT_FOUND and "no such device" in error.message
    again = pickle.loads(pickle.dumps(error))
    assert (again.status, again.message) == (error.status, error.message)
    with pytest.raises(TypeError):
        pickle.dumps(cpu)
    for wrong in (dict(select="a\0b"), dict(pipelines="soon")):
        with pytest.raises((ValueError, TypeError)):
            heed.Device(**wrong)


def test_messages_go_to_logging(caplog):
    with caplog.at_level("WARNING", "heed"):
        heed.Device("cpu", cpu_instructions="no such set", vulkan_loader=LOADER)
    assert "no such set" in caplog.text


def check_defaults(kind, _c, _options):
    """A dataclass with default fields equals the struct of C's _init."""
    initial, packed = _c.ffi.new(kind._ctype + " *"), _c.pack(kind(), _c.Keep())
    _c.check(getattr(_c.lib, kind._ctype + "_init")(initial))
    same = {**kind._kinds, **{name: "skip" for name, how in kind._kinds.items() if how in ("text", "struct", "wanted")}}
    for name, how in same.items():
        if how != "skip":
            a, b = getattr(initial, name), getattr(packed, name)
            assert a == b or (a != a and b != b), f"{kind.__name__}.{name}: {a} in C, {b} in Python"
    for name, how in kind._kinds.items():
        if how == "text":
            assert _c.text(getattr(initial, name)) == (getattr(kind(), name) or ""), f"{kind.__name__}.{name}"


def test_interfaces_of_python_and_c_agree():
    from heed import _c, _options, _words
    names = {value: name for name, value in vars(_c.lib).items() if isinstance(value, int)}
    assert names is not None
    for status in heed.Status:
        assert getattr(_c.lib, "HEED_" + status.name) == status
        assert _c.text(_c.lib.heed_status_text(status)).upper() == status.name.replace("_", "")
    assert _c.text(_c.lib.heed_status_text(len(heed.Status))) == "?"
    assert _c.lib.HEED_ROTARY_ADJACENT == _words.ROTARY_PAIRS["adjacent"] and _c.lib.HEED_UPDATE_SGD == _words.UPDATE_RULE["sgd"]
    assert _c.lib.HEED_STEP_WORDS == 16
    for name, value in _words.DTYPE.items():
        assert getattr(_c.lib, "HEED_" + name.upper()) == value
    for kind in vars(_options).values():
        if isinstance(kind, type) and hasattr(kind, "_ctype"):
            check_defaults(kind, _c, _options)
    assert heed.__version__ == heed.version()


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")
def test_the_wheel_needs_what_every_system_has():
    folder = pathlib.Path(heed.__file__).parent
    allowed = re.compile(r"ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+")
    libraries = sorted(folder.glob("*.so*"))
    for library in libraries:
        needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(["readelf", "-d", library], capture_output=True, text=True).stdout)
        assert needed
        for name in needed:
            assert allowed.fullmatch(name) or (folder / name).exists(), f"{library.name} needs {name}"
    # Other exported names could clash with those of other libraries in the process.
    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", folder / "libheed.so"], capture_output=True, text=True).stdout
    exported = [line.split()[7] for line in symbols.splitlines() if re.search(r" GLOBAL DEFAULT +\d+ ", line)]
    assert len(exported) > 100 and all(name.startswith("heed_") for name in exported)


def test_self_test_and_tuning(device):
    if device.info.kind == "cpu":
        assert device.self_test() == (True, [], b"") and device.tune(1) == ([], b"")
        results = b""
    else:  # the self-test of a software driver takes a minute; heed_tests has it
        report = device.tune(1)
        results = report.results
        assert report.tuned and results
        for t in report.tuned:
            assert t.usual and t.fastest and t.variants > 0 and len(t.size) == (4 if t.is_attention else 3)
        device.use_tuning(results)
        assert (doubled(device).run({"x": X})["y"] == 2).all()
    for wrong in (results[:-1], b"no tuning"):
        with pytest.raises(heed.Error) as failure:
            device.use_tuning(wrong)
        assert failure.value.status in (heed.Status.INVALID_FILE, heed.Status.UNSUPPORTED)
