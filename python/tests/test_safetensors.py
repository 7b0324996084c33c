# SPDX-License-Identifier: MIT
"""Guards against: bytes, arrays, slices and errors of tare.safetensors that differ from those of the
package safetensors, and containers that it does not open. What needs torch is skipped without it."""
import io
import json
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import tare
import tare.safetensors as ours
import tare.safetensors.numpy as ours_numpy


@pytest.fixture(scope="module")
def packed_path(tmp_path_factory, safetensors_path):
    path = tmp_path_factory.mktemp("packed") / "plain.wcodec"
    tare.pack(safetensors_path, path)
    return str(path)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_bytes(plain_arrays, tmp_path):
    arrays = dict(plain_arrays, big=np.arange(6, dtype=">i4"), turned=plain_arrays["cube"].T)
    plain = dict(arrays, turned=np.ascontiguousarray(arrays["turned"]))
    assert ours_numpy.save(arrays) == safetensors.numpy.save(plain)
    for metadata in (None, {"format": "pt"}, {"ü\n": "\"x\""}):
        assert ours_numpy.save(arrays, metadata) == safetensors.numpy.save(plain, metadata)
    ours_numpy.save_file(arrays, tmp_path / "a", metadata={"format": "pt"})
    ours_numpy.save_file(arrays, tmp_path / "a", metadata={"format": "pt"})
    assert (tmp_path / "a").read_bytes() == safetensors.numpy.save(plain, {"format": "pt"})
    with pytest.raises(TypeError):
        ours_numpy.save(arrays, {"n": 3})


@pytest.mark.parametrize("backend", ("mmap", "pread"))
@pytest.mark.parametrize("packed", (False, True))
def test_load(plain_arrays, safetensors_path, packed_path, packed, backend):
    path = packed_path if packed else safetensors_path
    arrays = ours_numpy.load_file(path, backend=backend)
    assert set(arrays) == set(plain_arrays)
    for name, array in plain_arrays.items():
        assert same(arrays[name], array) and arrays[name].flags.writeable, name
    arrays["cube"][...] = 0
    assert same(ours_numpy.load_file(path, backend=backend)["cube"], plain_arrays["cube"])
    with ours.safe_open(path, "np", backend=backend) as f:
        assert f.keys() == sorted(plain_arrays) and set(f.offset_keys()) == set(plain_arrays)
        assert f.metadata() == {"format": "pt", "note": "ü"}
        assert same(f.get_tensor("cube"), plain_arrays["cube"])
        with pytest.raises(ours.SafetensorError, match="does not contain tensor nothing"):
            f.get_tensor("nothing")
    with pytest.raises(ours.SafetensorError, match="closed"):
        f.keys()


def test_load_bytes(plain_arrays, safetensors_path):
    with open(safetensors_path, "rb") as f:
        data = f.read()
    before = bytes(bytearray(data))
    arrays = ours_numpy.load(data)
    arrays["cube"][...] = 0
    assert data == before and same(arrays["t.int8"], plain_arrays["t.int8"])
    theirs = dict(safetensors.deserialize(data))
    mine = dict(ours.deserialize(data))
    assert mine.keys() == theirs.keys()
    for name, row in theirs.items():
        assert mine[name]["dtype"] == row["dtype"] and list(mine[name]["shape"]) == list(row["shape"])
        assert bytes(mine[name]["data"]) == bytes(row["data"])
    for handle in (open(safetensors_path), io.BytesIO(data)):
        with handle, ours._safe_open_handle(handle, "np") as g:
            assert same(g.get_tensor("cube"), plain_arrays["cube"])


KEYS = (0, -1, slice(None), slice(1, 2), (slice(None), 2), (1, slice(1, 3), 0), (Ellipsis, 1), (),
        [], (slice(0, 0),), (slice(1, 3), slice(None), slice(2, 5)))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_slices(plain_arrays, safetensors_path, packed_path, key):
    for path in (safetensors_path, packed_path):
        with ours.safe_open(path, "np") as f:
            part = f.get_slice("cube")
            assert part.get_shape() == [3, 4, 5] and part.get_dtype() == "F32"
            assert same(part[key], plain_arrays["cube"][key if key != [] else slice(0)])
            assert part[key].flags.writeable


@pytest.mark.parametrize("key", (slice(20), (slice(None), slice(20)), (slice(2, None), 20), (0, -6),
                                 [0, 1], (slice(9, None),), slice(3, None), slice(3, 3), slice(2, 9)), ids=str)
def test_slice_errors(safetensors_path, key):
    with ours.safe_open(safetensors_path, "np") as f:
        with safetensors.safe_open(safetensors_path, "np") as g:
            with pytest.raises(safetensors.SafetensorError) as theirs:
                g.get_slice("cube")[key]
            with pytest.raises(ours.SafetensorError) as mine:
                f.get_slice("cube")[key]
    assert str(mine.value) == str(theirs.value)


def test_blocks(gguf_path):
    model = tare.open(gguf_path)
    with ours.safe_open(gguf_path, "np") as f:
        assert f.get_slice("blk.0.weight").get_dtype() == "F32"
        assert same(f.get_tensor("blk.0.weight"), model["blk.0.weight"].numpy())
        assert same(f.get_slice("blk.1.weight")[1:3, :40], model["blk.1.weight"].numpy()[1:3, :40])
        assert "llama.context_length" in f.metadata()["tare.metadata"]
    with ours.safe_open(gguf_path, "np", dtype="float16") as f:
        arrays = f.get_tensors()
        assert same(arrays["blk.0.weight"], model["blk.0.weight"].numpy("float16"))
        assert arrays["norm.weight"].dtype == np.float32  # plain numbers stay


def test_metadata_as_converted(gguf_path, tmp_path):
    tare.convert(gguf_path, tmp_path / "c.safetensors")
    with safetensors.safe_open(tmp_path / "c.safetensors", "np") as f, ours.safe_open(gguf_path, "np") as g:
        mine, theirs = g.metadata(), f.metadata()
    assert all(name in mine["tare.metadata"] for name in ("t.float", "t.numbers", "grüße"))
    assert set(mine) == {"tare.metadata", "format"} and set(mine) <= set(theirs)


def header_of(path):
    data = open(path, "rb").read()
    return json.loads(data[8:8 + int.from_bytes(data[:8], "little")])


def test_format_is_stated(gguf_path, tmp_path):
    """transformers refuses a __metadata__ without "format". It is no key of the model, and what was
    there before stays as it was."""
    path, back, other = (str(tmp_path / name) for name in ("c.safetensors", "back.gguf", "other.safetensors"))
    tare.convert(gguf_path, path)
    tare.convert(path, back, type="f32")
    assert header_of(path)["__metadata__"]["format"] == "pt"
    assert set(tare.open(path).metadata) == set(tare.open(gguf_path).metadata)
    assert set(tare.open(back).metadata) - set(tare.open(gguf_path).metadata) == set()
    tare.convert(path, other)
    assert open(path, "rb").read() == open(other, "rb").read()
    tare.convert(path, other, override_kv={"t.new": 5}, force=True)
    assert header_of(other)["__metadata__"]["format"] == "pt" and tare.open(other).metadata["t.new"] == 5
    w = {"w": np.ones(2, "f4")}
    for metadata, found in (({"a": "b"}, {"format": "pt", "a": "b"}), ({"format": "np"}, {"format": "np"}),
                            ({}, None), ({"a": 1}, None)):
        tare.save(w, path, metadata=metadata, force=True)
        stated = header_of(path).get("__metadata__")
        assert stated == found or metadata == {"a": 1} and stated["format"] == "pt"
    own = ours_numpy.save(w, {"a": "b"})
    assert tare.saves(dict(tare.open(own)), metadata=None)[8:] and b"format" not in own
    tare.convert(own, other, force=True)
    assert open(other, "rb").read() == own


def test_metadata_that_is_empty_or_null(tmp_path):
    w = {"w": np.ones(2, "f4")}
    assert ours_numpy.save(w, {}) == safetensors.numpy.save(w, {})
    data = {kind: ('{"__metadata__":%s,"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' % kind).encode()
            for kind in ("{}", "null")}
    for kind, header in data.items():
        path = tmp_path / "m.safetensors"
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
        with safetensors.safe_open(path, "np") as f, ours.safe_open(path, "np") as g:
            assert f.metadata() == g.metadata() and f.keys() == g.keys()
        tare.convert(path, tmp_path / "again.safetensors", force=True)
        assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
        tare.convert(path, tmp_path / "with.safetensors", override_kv={"k": 1}, force=True)
        assert tare.open(tmp_path / "with.safetensors").metadata["k"] == 1


def test_names_and_metadata_that_are_none(tmp_path):
    w = np.ones(2, "f4")
    assert ours_numpy.save({"": w}) == safetensors.numpy.save({"": w})
    assert list(ours_numpy.load(ours_numpy.save({"": w, "b": w}))) == ["", "b"]
    for name in (1, None):
        with pytest.raises(TypeError, match="the name of a tensor is a text"):
            ours_numpy.save({name: w})
    for metadata in ([], "x", {"a": 1}, {1: "a"}):
        with pytest.raises(TypeError, match="metadata: .* (texts|int)"):
            ours_numpy.save({"w": w}, metadata)
    with ours.safe_open(ours_numpy.save({"w": w}), "np") as f:
        for ask in (f.get_tensor, f.get_slice, f.get_tensor_meta):
            with pytest.raises(TypeError, match="1: the name of a tensor"):
                ask(1)
            with pytest.raises(ours.SafetensorError, match="does not contain tensor q"):
                ask("q")


@pytest.mark.parametrize("suffix", (".gguf", ".mcf", ".wcodec"))
def test_a_name_that_is_empty_comes_back(tmp_path, suffix):
    path, middle, again = tmp_path / "a.safetensors", tmp_path / ("m" + suffix), tmp_path / "b.safetensors"
    path.write_bytes(safetensors.numpy.save({"": np.arange(4, dtype="f4"), "b": np.ones(2, "f4")}))
    (tare.pack if suffix == ".wcodec" else tare.convert)(path, middle)
    tare.convert(middle, again)
    assert safetensors.numpy.load_file(again)[""].tolist() == [0, 1, 2, 3]
    assert tare.diff(path, again).same


def test_meta_of_tensors(safetensors_path, gguf_path):
    header = header_of(safetensors_path)
    with ours.safe_open(safetensors_path, "np") as f:
        for name in f.keys():
            meta = f.get_tensor_meta(name)
            assert [meta.dtype, meta.shape, list(meta.data_offsets)] == [
                header[name][field] for field in ("dtype", "shape", "data_offsets")]
    with ours.safe_open(gguf_path, "np") as f:
        assert f.get_tensor_meta("blk.0.weight") == ours.TensorMeta("F32", [4, 512], None)


def test_slices_are_views(safetensors_path, packed_path):
    """As in safetensors with torch: what is mapped is not copied, and a run of bytes has a storage of
    its own."""
    with ours.safe_open(safetensors_path, "np") as f:
        whole = f.get_tensor("cube")
        for key in (..., slice(None), slice(1, 3), (slice(None), slice(1, 2)), (0, slice(None), slice(0, 4, 2))):
            part = f.get_slice("cube")[key]
            assert np.shares_memory(part, whole) and same(part, whole[key]) and part.flags.writeable
    torch = pytest.importorskip("torch")
    with ours.safe_open(safetensors_path, "pt") as f:
        whole, s = f.get_tensor("cube"), f.get_slice("cube")
        for key in (..., slice(None), slice(1, 3), (slice(None), slice(1, 2)), (2, slice(1, 3)),
                    (slice(None), 0), (0, 1, 2), (None, 1)):
            part = s[key]
            assert torch.equal(part, whole[key])
            assert part.untyped_storage().nbytes() == whole.nbytes or part.data_ptr() == whole[key].data_ptr()
        assert s[1:2].untyped_storage().nbytes() == s[1:2].nbytes
        assert s[1:2].data_ptr() == whole[1:2].data_ptr() and s[:, 1:2].data_ptr() == whole[:, 1:2].data_ptr()
        assert s[1:1].shape == (0, 4, 5)
    with ours.safe_open(packed_path, "pt") as f:
        assert torch.equal(f.get_slice("cube")[1:2, ::2], whole[1:2, ::2])


def test_index_errors(safetensors_path):
    with ours.safe_open(safetensors_path, "np") as f:
        s, scalar = f.get_slice("cube"), f.get_slice("scalar")
        for bad in (slice(None), 0, slice(0, 1)):
            with pytest.raises(IndexError, match="more slicing indexes than dimensions"):
                scalar[bad]
        assert scalar[...] == 1.5 and scalar[()] == 1.5
        for bad in (7, slice(0, 9), (0, 0, 0, 0)):
            with pytest.raises(IndexError) as caught:
                s[bad]
            assert isinstance(caught.value, ours.SafetensorError)
        for bad in (1.0, "a", np.array([True, False]), (0, "a")):
            with pytest.raises(ours.SafetensorError, match="Unsupported slice index at position"):
                s[bad]
        assert same(s[True], f.get_tensor("cube")[1])


def test_prefetch_asks_for_a_gpu(safetensors_path):
    pytest.importorskip("torch")
    with ours.safe_open(safetensors_path, "np") as f:
        with pytest.raises(ours.SafetensorError, match='framework="pt"'):
            f.prefetch()
    with ours.safe_open(safetensors_path, "pt", backend="pread") as f:
        with pytest.raises(ours.SafetensorError, match="cuda devices, not cpu"):
            f.prefetch()
    with ours.safe_open(safetensors_path, "pt", device="cuda:0") as f:
        for plan, text in (({"nope": None}, "does not contain"), ({"cube": slice(0, 3, 2)}, "step 1"),
                           ({"scalar": slice(0, 1)}, "0-d"), ({"cube": 3}, "None or a slice"),
                           ({"cube": slice(0, 10)}, "out of range"), ({}, "selects no tensors"),
                           ({"cube": slice(0, 3, 0)}, "invalid prefetch plan slice")):
            with pytest.raises(ours.SafetensorError, match=text):
                f.prefetch(plan)
        with pytest.raises(ours.SafetensorError, match="cuda devices, not cpu"):
            f.prefetch(device="cpu")


def test_prefetch_hands_out_once(safetensors_path, plain_arrays, monkeypatch):
    """On a stand-in for a GPU: the CPU, by another name."""
    torch = pytest.importorskip("torch")
    from tare import cuda
    monkeypatch.setattr(cuda, "is_cuda", lambda device: device == "cpu")
    with ours.safe_open(safetensors_path, "pt") as f:
        with f.prefetch({"cube": slice(1, 3), "empty": None, "t.int8": slice(-2, None)}) as loader:
            assert sorted(loader.names()) == ["cube", "empty", "t.int8"] and len(loader) == 3
            assert torch.equal(loader.take("cube"), f.get_tensor("cube")[1:3])
            with pytest.raises(ours.SafetensorError, match="already delivered"):
                loader.take("cube")
            with pytest.raises(ours.SafetensorError, match="not in the prefetch plan"):
                loader.take("scalar")
            rest = dict(loader)
            assert set(rest) == {"empty", "t.int8"} and dict(loader) == {}
            assert torch.equal(rest["t.int8"], f.get_tensor("t.int8")[-2:])
        with pytest.raises(ours.SafetensorError, match="closed"):
            loader.take("empty")
        with f.prefetch() as loader:
            assert loader.names() == f.offset_keys() and set(dict(loader)) == set(f.keys())
        with pytest.raises(ours.SafetensorError, match="closed"):
            next(iter(loader))


def test_errors(safetensors_path, tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        ours.safe_open("notafile", "np")
    assert str(e.value) == "No such file or directory: notafile" and isinstance(e.value, ours.SafetensorError)
    for options in ({"framework": "lisp"}, {"framework": "np", "backend": "x"}):
        with pytest.raises(ours.SafetensorError, match="is invalid"):
            ours.safe_open(safetensors_path, **options)
    header = b'{"liar":{"dtype":"F32","shape":[1024,1024],"data_offsets":[0,4194304]}}'
    with pytest.raises(ours.SafetensorError):
        ours_numpy.load(struct.pack("<Q", len(header)) + header + b"\0")
    with pytest.raises(ours.SafetensorError, match="Unknown dtype"):
        ours.TensorSpec(dtype="nonsense", shape=[1], data_ptr=0, data_len=0)
    with pytest.raises(TypeError):
        ours.serialize({"t": {"dtype": "float32", "shape": [1], "data_ptr": 0, "data_len": 0}})
    one = np.zeros(4, np.float32)
    spec = ours.TensorSpec(dtype="float32", shape=[5], data_ptr=one.ctypes.data, data_len=16)
    with pytest.raises((ours.SafetensorError, ValueError)):
        ours.serialize({"t": spec})


def test_masked_values(tmp_path):
    path = tmp_path / "m.safetensors"
    hidden = np.ma.masked_array(np.arange(4, dtype=np.float32), mask=[0, 1, 0, 0])
    with pytest.raises(TypeError, match="m.weight: masked values"):
        ours_numpy.save_file({"m.weight": hidden}, path)
    with pytest.raises(TypeError, match="m.weight: masked values"):
        tare.save({"m.weight": hidden}, path)
    assert not path.exists()
    ours_numpy.save_file({"m.weight": np.ma.masked_array(hidden.data)}, path)
    assert np.array_equal(ours_numpy.load_file(path)["m.weight"], hidden.data)


INSTALL = """
import tare.safetensors, sys
tare.safetensors.install(); tare.safetensors.install()
import safetensors
from safetensors.numpy import load_file
import safetensors.numpy as n
assert safetensors is tare.safetensors and n is sys.modules["tare.safetensors.numpy"]
assert n.__spec__.name == "tare.safetensors.numpy" and "torch" not in sys.modules
assert "jax" not in sys.modules
try:
    import safetensors.nothing
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("safetensors.nothing was found")
tare.safetensors.uninstall()
assert "safetensors" not in sys.modules
import safetensors.numpy as real
assert real is not n
tare.safetensors.install()
tare.safetensors.uninstall()
assert sys.modules["safetensors.numpy"] is real
"""


def test_install():
    subprocess.run([sys.executable, "-c", INSTALL], check=True)


# ---- torch

def torch_or_skip():
    torch = pytest.importorskip("torch")
    import safetensors.torch
    import tare.safetensors.torch as ours_torch
    return torch, safetensors.torch, ours_torch


def test_torch(tmp_path):
    torch, theirs, mine = torch_or_skip()
    torch.manual_seed(0)
    state = {str(d): (torch.randn(4, 6) * 3).to(d) for d in
             (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool, torch.complex64)}
    state.update(scalar=torch.tensor(1.5), empty=torch.zeros(0, 3))
    assert mine.save(state, {"a": "b"}) == theirs.save(state, {"a": "b"})
    if hasattr(torch, "float4_e2m1fn_x2"):
        state["f4"] = torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(torch.float4_e2m1fn_x2)
    mine.save_file(state, tmp_path / "m.safetensors")
    tare.pack(tmp_path / "m.safetensors", tmp_path / "m.wcodec")
    for path in (tmp_path / "m.safetensors", tmp_path / "m.wcodec"):
        for arrays in (mine.load_file(path), mine.load_file(path, backend="pread")):
            assert arrays.keys() == state.keys()
            for name, t in state.items():
                assert arrays[name].dtype == t.dtype and arrays[name].shape == t.shape
                assert t.numel() == 0 or torch.equal(arrays[name].reshape(-1).view(torch.uint8),
                                                     t.reshape(-1).view(torch.uint8))


def test_torch_model(tmp_path):
    torch, theirs, mine = torch_or_skip()

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(8, 8)
            self.b = self.a

    model, other = Tied(), Tied()
    for save_model, load_model in ((mine.save_model, theirs.load_model), (theirs.save_model, mine.load_model)):
        save_model(model, tmp_path / "tied")
        load_model(other, tmp_path / "tied")
        assert torch.equal(model.b.weight, other.b.weight)
    separate = torch.nn.ModuleDict({"a": torch.nn.Linear(8, 8), "b": torch.nn.Linear(8, 8)})
    texts = []
    for load_model in (mine.load_model, theirs.load_model):
        with pytest.raises(RuntimeError) as e:
            load_model(separate, tmp_path / "tied")
        texts.append(str(e.value))
    assert texts[0] == texts[1]
    with pytest.raises(RuntimeError):
        mine.save_file(model.state_dict(), tmp_path / "shared")
    with pytest.raises(ValueError):
        mine.save_file({"t": torch.zeros(3, 4).T}, tmp_path / "turned")


def import_with(monkeypatch, host, stand_in, **members):
    """tare.safetensors.HOST with a stand-in for its framework."""
    import importlib
    import types
    module = types.ModuleType(stand_in)
    vars(module).update(members)
    parent, _, child = stand_in.rpartition(".")
    if parent:
        package = types.ModuleType(parent)
        setattr(package, child, module)
        monkeypatch.setitem(sys.modules, parent, package)
    monkeypatch.setitem(sys.modules, stand_in, module)
    monkeypatch.delitem(sys.modules, "tare.safetensors." + host, raising=False)
    those = importlib.import_module("tare.safetensors." + host)
    monkeypatch.delitem(sys.modules, "tare.safetensors." + host)
    monkeypatch.setitem(sys.modules, "tare.safetensors." + host, those)
    return those


@pytest.mark.parametrize("host, stand_in, maker", [
    ("flax", "jax.numpy", "asarray"), ("mlx", "mlx.core", "array"), ("paddle", "paddle", "to_tensor"),
    ("tensorflow", "tensorflow", "convert_to_tensor")])
def test_hosts_by_way_of_numpy(tmp_path, monkeypatch, host, stand_in, maker):
    """Each with a stand-in for its framework, whose tensors are arrays of numpy."""
    class Array(np.ndarray):
        detach = cpu = lambda self: self
        numpy = lambda self: np.asarray(self)
    those = import_with(monkeypatch, host, stand_in, bfloat16=np.dtype(ml_dtypes.bfloat16),
                        **{maker: lambda array, place="cpu": np.asarray(array).view(Array)})
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3).view(Array)}
    path = tmp_path / "x.safetensors"
    those.save_file(tensors, path, {"k": "v"})
    assert path.read_bytes() == those.save(tensors, {"k": "v"})
    for back in (those.load_file(path), those.load(path.read_bytes())):
        assert isinstance(back["a"], Array) and (back["a"] == tensors["a"]).all()
    if host != "paddle":
        with pytest.raises(tare.TareError, match="Device cuda:0 is not supported for framework " + host):
            ours.safe_open(path, host, "cuda")


class PaddleTensor:
    """Takes and gives numpy's types only, bfloat16 as uint16; other numbers by view()."""

    def __init__(self, array, place):
        self.array, self.place = array, place

    dtype = property(lambda self: "paddle." + self.array.dtype.name)
    detach = cpu = lambda self: self

    def view(self, name):
        return PaddleTensor(self.array.view(getattr(ml_dtypes, name, name)), self.place)

    def numpy(self):
        return self.array.view("u2") if self.array.dtype == ml_dtypes.bfloat16 else self.array


def paddle_tensor(array, place):
    if array.dtype.kind == "V" or array.dtype.name.startswith("uint"):
        raise ValueError("Input object type error")
    return PaddleTensor(array, place)


def test_types_and_places_of_paddle(tmp_path, monkeypatch):
    those = import_with(monkeypatch, "paddle", "paddle", to_tensor=paddle_tensor)
    path = tmp_path / "x.safetensors"
    arrays = {name: np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name, name))
              for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float32", "int8")}
    tare.save(arrays, path)
    for device, place in (("cpu", "cpu"), ("cuda", "gpu:0"), ("cuda:1", "gpu:1"), (0, "gpu:0"), ("xpu:1", "xpu:1")):
        with ours.safe_open(path, "paddle", device) as f:
            made = f.get_tensors()
            for name, tensor in made.items():
                assert tensor.place == place == f.get_slice(name)[:1].place == f.get_tensor(name).place
                assert np.array_equal(tensor.array, arrays[name]) and tensor.array.dtype == arrays[name].dtype
        loaded = those.load_file(path, device), those.load(path.read_bytes(), device)
        assert all(t.place == place for tensors in loaded for t in tensors.values())
    assert those.save(made) == ours_numpy.save(arrays)
    tare.save({"u": np.ones(3, np.uint16)}, path, force=True)
    with pytest.raises(tare.UnsupportedError, match="uint16"):
        those.load_file(path)


def test_types_of_mlx(tmp_path, monkeypatch):
    class Array(np.ndarray):
        pass
    those = import_with(monkeypatch, "mlx", "mlx.core", bfloat16=ml_dtypes.bfloat16, uint16=np.uint16,
                        array=lambda array: np.asarray(array).view(Array))
    arrays = {"a": np.ones((2, 3), ml_dtypes.bfloat16)}
    assert those.save({"a": arrays["a"].view(Array)}) == ours_numpy.save(arrays)
    with pytest.raises(tare.UnsupportedError, match="float8_e5m2"):
        those.load(tare.saves({"a": np.ones(3, ml_dtypes.float8_e5m2)}))


def test_devices_that_there_are_not(safetensors_path):
    known = {"cuda": "cuda:0", "cuda:01": "cuda:1", "musa": "musa:0", "mps:0": "mps", 0: "0", True: "1"}
    for device, name in known.items():
        with pytest.raises(tare.TareError, match=f"^Device {name} is not supported for framework numpy$"):
            ours.safe_open(safetensors_path, "np", device)
    for device in ("wrong", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cpu:0", "mps:1", "", -1, 1.5):
        with pytest.raises(tare.TareError, match=f"^device {device} is invalid$"):
            ours.safe_open(safetensors_path, "np", device)
    for device in ("cpu", None):
        assert ours.safe_open(safetensors_path, "np", device).get_tensor("cube").shape == (3, 4, 5)


def test_devices_of_torch(safetensors_path):
    pytest.importorskip("torch")
    for device in ("wrong", 1.5, "cuda:x"):
        with pytest.raises(tare.TareError, match="invalid"):
            ours.safe_open(safetensors_path, "pt", device)
    assert ours.safe_open(safetensors_path, "pt", "meta").get_tensor("cube").device.type == "meta"
    assert ours.safe_open(safetensors_path, "pt", None).get_tensors()["cube"].device.type == "cpu"
