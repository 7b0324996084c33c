# SPDX-License-Identifier: MIT
"""Guards against: tensors of load() and stream() that differ from those read one by one, memory that
is copied or kept, threads that stay."""
import os
import threading

import ml_dtypes
import numpy as np
import pytest
import tare


@pytest.fixture(scope="module")
def packed_path(tmp_path_factory, gguf_path):
    path = tmp_path_factory.mktemp("packed") / "blocks.wcodec"
    tare.pack(gguf_path, path)
    return str(path)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("which", ("safetensors_path", "gguf_path", "packed_path"))
def test_load_is_each_tensor(request, which):
    path = request.getfixturevalue(which)
    model = tare.open(path)
    for arrays in (tare.load(path), tare.load(model), model.load(), tare.load(path, threads=1),
                   tare.load(tare.open(path, map=False), huge_pages=True)):
        assert list(arrays) == list(model)
        assert all(same(array, model[name].numpy()) for name, array in arrays.items())
    names = list(model)[:2]
    assert list(tare.load(path, names=names)) == names
    with pytest.raises(KeyError):
        tare.load(path, names=["nothing"])
    with pytest.raises(ValueError):
        tare.load(path, framework="abacus")


def test_dtype_leaves_codes_alone(plain_arrays, safetensors_path):
    """Ids, masks and packed codes mean what they are: as floats they would be other ones."""
    for arrays in (tare.load(safetensors_path, dtype="bfloat16"),
                   dict(tare.stream(safetensors_path, framework="numpy", dtype="bfloat16"))):
        for name, plain in plain_arrays.items():
            wanted = plain.astype(ml_dtypes.bfloat16) if plain.dtype.kind == "f" else plain
            assert same(arrays[name], wanted), name
    assert tare.open(safetensors_path)["t.int64"].numpy("float32").dtype == np.float32  # one alone, as asked


@pytest.mark.posix
def test_file_that_cannot_be_mapped():
    """A file system may be unable to map its files; here the addresses do not suffice."""
    n = 1 << 56
    header = ('{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"z":{"dtype":"U8","shape":[%d],'
              '"data_offsets":[8,%d]}}' % (n, n + 8)).encode()
    file = os.memfd_create("model")
    try:
        os.write(file, len(header).to_bytes(8, "little") + header + np.array([1, 2], "f4").tobytes())
        try:
            os.ftruncate(file, 8 + len(header) + 8 + n)
        except OSError:
            pytest.skip("no files of this size")
        model = tare.open(file)
        assert model["w"].numpy().tolist() == [1, 2] and model["w"][1:].numpy().tolist() == [2]
        assert model.load(["w"])["w"].tolist() == [1, 2]
    finally:
        os.close(file)


def test_plain_numbers_are_mapped(safetensors_path, packed_path):
    model = tare.open(safetensors_path)
    arrays = model.load()
    assert np.shares_memory(arrays["cube"], model["cube"].numpy())
    assert not arrays["cube"].flags.writeable
    assert tare.load(packed_path)["norm.weight"].flags.writeable


def test_dtype_and_out(gguf_path, block_arrays):
    half = tare.load(gguf_path, dtype="f16")
    full = tare.load(gguf_path)
    assert all(half[n].dtype == np.float16 and np.array_equal(half[n], full[n].astype(np.float16))
               for n in full)
    out = {"blk.0.weight": np.zeros((512, 4), "f4").T, "norm.weight": np.zeros(512, ml_dtypes.bfloat16)}
    assert tare.load(gguf_path, out=out)["norm.weight"] is out["norm.weight"]
    assert np.array_equal(out["blk.0.weight"], full["blk.0.weight"])
    assert np.array_equal(out["norm.weight"], full["norm.weight"].astype(ml_dtypes.bfloat16))
    with pytest.raises(ValueError, match="shape"):
        tare.load(gguf_path, out={"norm.weight": np.zeros(511, "f4")})
    with pytest.raises(KeyError):
        tare.load(gguf_path, out={"nothing": np.zeros(5)})


@pytest.mark.parametrize("window", (1, 4000, 1 << 28))
def test_stream(gguf_path, packed_path, window):
    expected = tare.load(gguf_path)
    for path in (gguf_path, packed_path):
        got = {}
        for name, array in tare.stream(path, framework="numpy", window=window):
            got[name] = array
        assert list(got) == list(expected)
        assert all(same(got[n], expected[n]) for n in expected)
    for name, array in tare.stream(packed_path, framework="numpy", window=window):
        break  # leaving early ends the thread
    del name, array
    assert not [t for t in threading.enumerate() if t.name == "tare.stream"]
    with pytest.raises(ValueError):
        tare.stream(gguf_path, window=0)


@pytest.mark.posix
def test_fork_while_streaming(packed_path):
    tensors = tare.stream(packed_path, framework="numpy", window=1)
    first = next(tensors)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if len(list(tensors)) == 2 else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert first[0] not in dict(tensors)


def test_a_damaged_tensor_raises_in_stream(tmp_path, packed_path):
    with open(packed_path, "rb") as f:
        data = bytearray(f.read())
    model = tare.open(packed_path)
    for at in range(len(data) // 4, len(data) // 2, 7):
        data[at] ^= 0x55
    path = tmp_path / "bad.wcodec"
    path.write_bytes(data)
    with pytest.raises(tare.InputError):
        for _ in tare.stream(path, framework="numpy"):
            pass
    del model


def test_progress_and_cancel(packed_path):
    calls = []
    tare.load(packed_path, progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][0] == calls[-1][1] > 0
    with pytest.raises(tare.CancelledError):
        tare.load(packed_path, progress=lambda done, total: True)
    with pytest.raises(ZeroDivisionError):
        tare.load(packed_path, progress=lambda done, total: 1 // 0)
    token = tare.CancelToken()
    token.cancel()
    assert token.cancelled
    with pytest.raises(tare.CancelledError):
        tare.load(packed_path, progress=token)
    token.reset()
    tare.load(packed_path, progress=token)
    assert token.done == token.total > 0

    class Bar:
        total, n = None, 0

        def update(self, n):
            self.n += n

    bar = Bar()
    tare.load(packed_path, progress=bar)
    assert bar.n == bar.total == token.total
    from tqdm import tqdm
    with tqdm(disable=True) as real:
        tare.load(packed_path, progress=real)
    with pytest.raises(TypeError):
        tare.load(packed_path, progress=7)


def test_memory_goes_back():
    model = tare.synth("llama-tiny")
    arrays = model.load()
    kept = arrays.pop(next(iter(arrays)))
    expected = kept.copy()
    del arrays, model
    assert np.array_equal(kept, expected)


def test_stream_refuses_at_once(gguf_path):
    for wrong in ({"names": ["nothing"]}, {"names": "norm.weight"}, {"window": 0}, {"window": "1M"}, {"dtype": "int8"}):
        with pytest.raises((KeyError, TypeError, ValueError, tare.UnsupportedError)):
            tare.stream(gguf_path, framework="numpy", **wrong)
    with pytest.raises(FileNotFoundError):
        tare.stream(gguf_path + ".none", framework="numpy")
