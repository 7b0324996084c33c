# SPDX-License-Identifier: MIT
"""Guards against: threads that see each other's work, or bring the process down, above all where there
is no GIL: one model, one plan, one token, one array of metadata in many hands."""
import io
import os
import random
import signal
import sys
import threading

import numpy as np
import pytest
import tare

N_THREADS = 8
# A child of a process whose other threads were at work has the locks of the sanitizer's memory as they were at the fork.
only_without_sanitizer = pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""),
                                            reason="gcc's address sanitizer does not survive such forks")


def hammer(work, n_threads=N_THREADS):
    """Runs work(number) in threads that begin together; the first exception of one is raised."""
    start, errors = threading.Barrier(n_threads), []

    def run(number):
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n_threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # with a GIL: it changes hands as often as can be
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


@pytest.fixture(scope="module")
def paths(tmp_path_factory, gguf_path):
    folder = tmp_path_factory.mktemp("threads")
    tare.pack(gguf_path, folder / "m.wcodec")
    return [gguf_path, str(folder / "m.wcodec")]


@pytest.mark.parametrize("how", ("mapped", "read", "packed", "reader"))
def test_one_model_in_many_hands(paths, how):
    with open(paths[0], "rb") as f:
        source = {"packed": paths[1], "reader": io.BufferedReader(io.BytesIO(f.read()))}.get(how, paths[0])
    model = tare.open(source, map=how == "mapped")
    other = tare.open(paths[0])
    whole, digest = {n: t.numpy() for n, t in other.items()}, tare.digest(other).whole
    names = list(whole)
    tokens = other.metadata["tokenizer.ggml.tokens"].tolist()

    def one(step, pick):
        name = pick.choice(names)
        t, expected = model[name], whole[name]
        rows = (slice(None, None, 2),) if expected.ndim > 1 else (slice(1, 300),)
        match step % 9:
            case 0:
                assert np.array_equal(t.numpy(), expected)
            case 1:
                assert np.array_equal(t[rows].numpy(), expected[rows])
            case 2:
                out = np.empty(expected.shape, np.float16)
                assert np.array_equal(t.numpy(out=out), expected.astype(np.float16))
            case 3:
                array = model.metadata["tokenizer.ggml.tokens"]
                i = pick.randrange(len(tokens))
                assert array[i] == tokens[i] and [array[k] for k in range(5)] == tokens[:5]
            case 4:
                assert list(model) == names and model.find(name) == t.index and "none" not in model
            case 5:
                arrays = model.load(pick.sample(names, 2), threads=2)
                assert all(np.array_equal(a, whole[n]) for n, a in arrays.items())
            case 6:
                assert bytes(t.raw[0]) == bytes(other[name].raw[0])
            case 7:
                assert tare.digest(model, threads=2).whole == digest
            case 8:
                assert all(np.array_equal(a, whole[n])
                           for n, a in tare.stream(model, framework="numpy", window=1 << 14))

    hammer(lambda number: [one(step, random.Random(number * 1000 + step)) for step in range(number, number + 45)])


def test_a_model_is_closed_while_it_is_read(paths):
    """A reader gets the numbers, or the error that the model is closed."""
    for path in paths * 4:
        expected = {n: t.numpy() for n, t in tare.open(path).items()}
        model, held = tare.open(path), []

        def work(number):
            try:
                for i in range(50):
                    if number == 0 and i == 5:
                        model.close()
                    for name, array in expected.items():
                        held.append((name, model[name].numpy()))
            except ValueError as error:
                assert "the model is closed" in str(error)

        hammer(work)
        assert model.closed and all(np.array_equal(a, expected[n]) for n, a in held)


def test_a_plan_runs_for_one_at_a_time(paths):
    plan = tare.plan(paths[0], None, to="safetensors", type="f16")
    expected, results, n_refused = plan.run_bytes(), [], []

    def work(number):
        for _ in range(20):
            try:
                results.append(plan.run_bytes())
            except RuntimeError as error:
                n_refused.append(str(error))

    hammer(work)
    assert results and all(r == expected for r in results)
    assert set(n_refused) <= {"the plan is in use by another call"}


def test_one_token_stops_all(paths):
    token = tare.CancelToken()
    model = tare.synth("llama-44m")
    n_stopped = []

    def work(number):
        if number == 0:
            token.cancel()
            return
        try:
            tare.digest(model, threads=1, progress=token)
        except tare.CancelledError:
            n_stopped.append(number)

    hammer(work)
    assert len(n_stopped) == N_THREADS - 1 and token.cancelled


def test_one_file_object_that_fails_in_many_hands(paths):
    """Each of the callers gets an exception, and nothing is lost or freed twice."""

    class Failing:
        def __init__(self, data):
            self.file, self.is_broken = io.BytesIO(data), False
            self.seek = self.file.seek

        def read(self, n=-1):
            if self.is_broken:
                raise RuntimeError("the line is down")
            return self.file.read(n)

    tensor = np.random.default_rng(0).standard_normal((1 << 21,), dtype=np.float32)
    file = Failing(tare.saves({"w": tensor}))
    model = tare.open(file)
    file.is_broken = True
    caught = []

    def work(number):
        for _ in range(20):
            with pytest.raises((RuntimeError, tare.TareError)) as e:
                model["w"].numpy()
            caught.append(str(e.value))

    hammer(work)
    assert len(caught) == 20 * N_THREADS and "the line is down" in caught
    assert all(c == "the line is down" or "the file object failed" in c for c in caught)


def fork_to(check):
    """A child that ends with 0 if the check holds, with 2 if not, and is killed where a lock is held for ever."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            code = 0 if check() else 2
        finally:
            os._exit(code)
    return child


def end_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.posix
@only_without_sanitizer
def test_fork_while_threads_read(tmp_path, gguf_path):
    """A child has the locks of the model as they were at the fork: none may be held for ever."""
    packed = tmp_path / "m.wcodec"
    tare.pack(gguf_path, packed)
    plain = {name: array.tobytes() for name, array in tare.load(gguf_path).items()}
    models = [tare.open(packed), tare.open(gguf_path), tare.open(gguf_path, map=False),
              tare.open(open(gguf_path, "rb", buffering=0))]
    stop = threading.Event()

    def read(model):
        while not stop.is_set():
            for name in model:
                model[name].numpy()
            dict(model.metadata), model.findings

    threads = [threading.Thread(target=read, args=(model,), daemon=True) for model in models for _ in range(2)]
    for thread in threads:
        thread.start()
    def is_right():
        return all({name: t.numpy().tobytes() for name, t in model.items()} == plain ==
                   {name: a.tobytes() for name, a in model.load().items()} for model in models)

    try:
        children = [fork_to(is_right) for _ in range(20)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert [end_of(child) for child in children] == [0] * 20


@pytest.mark.posix
@only_without_sanitizer
@pytest.mark.parametrize("n_streams", [1, 3])
def test_fork_while_threads_begin_to_stream(gguf_path, monkeypatch, n_streams):
    """Whoever forks waits for the threads of streams: also for one that another thread is about to start."""
    ignored, stop = [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", lambda of: ignored.append(of.exc_value))
    expected = {name: array.tobytes() for name, array in tare.load(gguf_path).items()}
    wrong = []

    def read():
        while not stop.is_set():
            if {n: a.tobytes() for n, a in tare.stream(gguf_path, framework="numpy", window=1 << 12)} != expected:
                wrong.append("other bytes")

    threads = [threading.Thread(target=read, daemon=True) for _ in range(n_streams)]
    for thread in threads:
        thread.start()
    def is_right():
        return {n: a.tobytes() for n, a in tare.stream(gguf_path, framework="numpy")} == expected

    try:
        codes = [end_of(fork_to(is_right)) for _ in range(40)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 40 and not wrong and not ignored
