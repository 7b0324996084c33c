# SPDX-License-Identifier: MIT
"""Models in the memory of a GPU. The library that is loaded is the emulation, whose device memory is
the process's own: what a consumer of CUDA memory would read there is read through its address.

Guards against: other bytes than the CPU gives; memory that goes while somebody holds it; capsules
and interfaces that say the wrong device, type or shape; a fall-back to the CPU that is silent, or
said twice.
"""
import ctypes
import gc
import sys
import types
import warnings

import numpy as np
import pytest

import tare
import tare.cuda


@pytest.fixture(autouse=True)
def quiet():
    """Each test hears what is said once."""
    tare._device._said.clear()
    if not tare.cuda.is_available():
        pytest.skip("neither a GPU nor its emulation")


def values(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture(scope="session")
def arrays():
    return {"bf16.like": values((128, 512), 1).astype(np.float16), "f32": values((3, 7, 11), 2),
            "i8": (values((300, 700), 3) * 20).astype(np.int8), "i64": np.arange(5000),
            "scalar": np.array(2.5, np.float32), "empty": np.zeros((0, 4), np.float32),
            "bool": values((50,), 4) > 0}


@pytest.fixture(scope="session")
def packed(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("cuda") / "m.wcodec"
    tare.save(arrays, path)
    return str(path)


def at(address, nbytes):
    return ctypes.string_at(address, nbytes) if nbytes else b""


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def tensor_in(capsule, name=b"dltensor", offset=0):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return DLTensor.from_address(get(capsule, name) + offset)


def consume(tensor):
    """What a consumer of CUDA memory makes of a DLPack capsule, as an array of numpy."""
    assert tensor.__dlpack_device__() == (2, 0)
    capsule = tensor.__dlpack__(stream=1)
    t = tensor_in(capsule)
    assert (t.device_type, t.device_id, t.lanes, t.byte_offset) == (2, 0, 1, 0)
    shape = tuple(t.shape[i] for i in range(t.ndim))
    kind = {0: "int", 1: "uint", 2: "float", 6: "bool"}[t.code]
    dtype = np.dtype(kind if kind == "bool" else f"{kind}{t.bits}")
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(at(t.data, n), dtype).reshape(shape)


class TestLoadFile:
    def test_all_numbers_are_there(self, packed, arrays):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = tare.cuda.load_file(packed, "cuda:0")
        assert set(state) == set(arrays)
        for name, array in arrays.items():
            t = state[name]
            assert (t.shape, t.device, t.nbytes) == (array.shape, "cuda:0", array.nbytes), name
            np.testing.assert_array_equal(t.numpy(), array)
            if array.size:
                np.testing.assert_array_equal(consume(t), array)

    def test_the_device_did_it(self, packed, arrays):
        before = tare.cuda.counts()
        tare.cuda.load_file(packed, names=["i8", "bf16.like"])
        after = tare.cuda.counts()
        assert after.layers == before.layers + 2
        assert after.nbytes == before.nbytes + arrays["i8"].nbytes + arrays["bf16.like"].nbytes
        assert after.layers_left == before.layers_left

    def test_the_interface_of_cuda_arrays(self, packed, arrays):
        t = tare.cuda.load_file(packed)["i8"]
        about = t.__cuda_array_interface__
        assert about["version"] == 3 and about["shape"] == (300, 700) and about["typestr"] == "|i1"
        assert about["strides"] is None and about["stream"] is None and about["data"][1] is False
        assert at(about["data"][0], t.nbytes) == arrays["i8"].tobytes()

    def test_types_that_numpy_lacks(self, bf16_path):
        path, arrays = bf16_path
        for name, t in tare.cuda.load_file(path).items():
            assert at(t.memory.address, t.nbytes) == arrays[name].tobytes()
            assert not hasattr(t, "__cuda_array_interface__")
            capsule = tensor_in(t.__dlpack__())
            assert (capsule.code, capsule.bits) == {"b": (4, 16), "e4": (10, 8), "e5": (12, 8)}[name]

    def test_memory_lives_as_long_as_its_holders(self, packed, arrays):
        capsule = tare.cuda.load_file(packed)["i8"].__dlpack__(max_version=(1, 0))
        gc.collect()
        t = tensor_in(capsule, b"dltensor_versioned", 32)
        assert at(t.data, arrays["i8"].nbytes) == arrays["i8"].tobytes()
        assert [t.strides[0], t.strides[1]] == [700, 1]

    def test_other_containers_are_copied(self, tmp_path, arrays):
        tare.save(arrays, tmp_path / "m.safetensors")
        state = tare.cuda.load_file(tmp_path / "m.safetensors", window=1)
        for name, array in arrays.items():
            np.testing.assert_array_equal(state[name].numpy(), array)

    def test_the_base_goes_along(self, tmp_path, arrays):
        tare.save(arrays, tmp_path / "base.safetensors")
        tuned = {**arrays, "i8": arrays["i8"] + (values((300, 700), 9) > 2).astype(np.int8)}
        tare.save(tuned, tmp_path / "t.safetensors")
        with tare.open(tmp_path / "base.safetensors") as base:
            tare.pack(tmp_path / "t.safetensors", tmp_path / "t.wcodec", base=[base])
        with tare.open(tmp_path / "t.wcodec", base=[tmp_path / "base.safetensors"]) as model:
            np.testing.assert_array_equal(tare.cuda.load_file(model)["i8"].numpy(), tuned["i8"])

    def test_what_cannot_be(self, packed):
        t = tare.cuda.load_file(packed, names=["i8"])["i8"]
        for arguments in ({"dl_device": (1, 0)}, {"copy": True}):
            with pytest.raises(BufferError):
                t.__dlpack__(**arguments)
        with pytest.raises(ValueError, match="neither"):
            tare.cuda.load_file(packed, "gpu")
        with pytest.raises(tare.UnsupportedError):
            tare.cuda.load_file(packed, "cuda:7")
        with pytest.raises(KeyError):
            tare.cuda.load_file(packed, names=["none"])
        assert not tare.cuda.is_available("cuda:7")

    def test_cuda_is_the_current_device_of_torch(self, monkeypatch):
        cuda = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: 7)
        monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
        assert not tare.cuda.is_available("cuda") and tare.cuda.is_available("cuda:0")


class TestIntoArrays:
    class Held:
        """An array on the device, as CuPy has them."""

        def __init__(self, like):
            self.array = np.zeros_like(like)

        @property
        def __cuda_array_interface__(self):
            about = self.array.__array_interface__
            return {**about, "stream": None}

    def test_they_are_filled(self, packed, arrays):
        out = {name: self.Held(arrays[name]) for name in ("i8", "f32")}
        got = tare.cuda.load_file(packed, out=out)
        for name, held in out.items():
            assert got[name] is held
            np.testing.assert_array_equal(held.array, arrays[name])

    def test_they_have_to_fit(self, packed, arrays):
        for wrong in (arrays["i8"].T, arrays["i8"].astype(np.uint8), arrays["i8"][:, ::2]):
            with pytest.raises(ValueError, match="i8: "):
                held = self.Held(wrong)
                held.array = wrong
                tare.cuda.load_file(packed, out={"i8": held})

    def test_they_have_to_be_there(self, packed):
        """Memory of the host, or of another GPU, must not be written to as if it were this one's."""
        for where in ("cpu", "cuda:1"):
            array = types.SimpleNamespace(device=where, data_ptr=lambda: 64, is_contiguous=lambda: True,
                                          shape=(300, 700), dtype="torch.int8")
            with pytest.raises(ValueError, match=f"i8: an array on cuda:0 expected, not on {where}"):
                tare.cuda.load_file(packed, out={"i8": array})

    def test_blocks_go_there_as_bytes(self, gguf_path):
        with tare.open(gguf_path) as model:
            name = next(n for n in model if n.startswith("blk"))
            stored = np.frombuffer(model[name].raw[0], np.uint8)
            held = self.Held(stored)
            with pytest.raises(ValueError, match=f"{name}: out takes what the file has"):
                tare.cuda.load_file(model, out={name: held})
            tare.cuda.load_file(model, out={name: held}, raw=True)
            np.testing.assert_array_equal(held.array, stored)


class TestLeftToTheCpu:
    def test_blocks_are_decoded_and_said_once(self, gguf_path, tmp_path):
        tare.pack(gguf_path, tmp_path / "b.wcodec")
        with pytest.warns(RuntimeWarning, match="raw=True"):
            state = tare.cuda.load_file(tmp_path / "b.wcodec")
        for name, array in tare.load(gguf_path).items():
            np.testing.assert_array_equal(state[name].numpy(), array)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tare.cuda.load_file(tmp_path / "b.wcodec")

    def test_raw_blocks_are_decoded_there(self, gguf_path, tmp_path):
        tare.pack(gguf_path, tmp_path / "b.wcodec")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            state = tare.cuda.load_file(tmp_path / "b.wcodec", raw=True)
        with tare.open(gguf_path) as model:
            for name, tensor in model.items():
                meant = np.frombuffer(tensor.raw[0], np.uint8) if name.startswith("blk") else tensor.numpy()
                np.testing.assert_array_equal(state[name].numpy(), meant)

    def test_without_a_device(self, packed):
        with pytest.warns(RuntimeWarning, match="the CPU decodes"):
            assert tare.cuda.try_open("cuda:7") is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert tare.cuda.try_open("cuda:7") is None


class TestStream:
    def test_one_after_the_other(self, packed, arrays):
        seen = {}
        for name, tensor in tare.cuda.stream(packed, window=1 << 18):
            seen[name] = tensor.numpy()
        assert set(seen) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(seen[name], array)

    def test_it_can_be_left(self, packed):
        for _ in tare.cuda.stream(packed, window=1 << 18):
            break


class TestTensorRT:
    def test_weights_are_handed_over_on_the_device(self, tmp_path, monkeypatch):
        from tare.integrations import tensorrt
        given = {"a": values((40, 60), 1), "b": values((30,), 2)}
        tare.save(given, tmp_path / "m.wcodec")
        names = "FLOAT HALF BF16 FP8 INT8 INT32 INT64 UINT8 BOOL FP4 E8M0".split()
        DataType = types.SimpleNamespace(**{n: types.SimpleNamespace(name=n) for n in names})
        wanted = {"a": DataType.FLOAT, "b": DataType.HALF}  # b is converted, hence here
        set_ = {}

        class Refitter:
            def __init__(self, engine, logger):
                pass

            def get_all_weights(self):
                return list(wanted)

            def get_weights_prototype(self, name):
                return types.SimpleNamespace(dtype=wanted[name])

            def set_named_weights(self, name, weights, where):
                dtype, address, n = weights
                itemsize = 4 if dtype is DataType.FLOAT else 2
                set_[name] = (where, at(address, n * itemsize))
                return True

            def refit_cuda_engine(self):
                return True

        host = types.SimpleNamespace(
            DataType=DataType, Weights=lambda *a: a, Logger=lambda: None, Refitter=Refitter,
            TensorLocation=types.SimpleNamespace(HOST="host", DEVICE="device"))
        monkeypatch.setattr(tensorrt, "_host", lambda: host)
        assert tensorrt.refit(object(), tmp_path / "m.wcodec", device="cuda:0") == 2
        assert set_["a"] == ("device", given["a"].tobytes())
        assert set_["b"] == ("host", given["b"].astype(np.float16).tobytes())


class TestTorch:
    """tare.load and tare.stream with a consumer that takes the memory for the CPU's."""

    @pytest.fixture
    def torch(self, monkeypatch):
        torch = pytest.importorskip("torch")
        real = torch.from_dlpack

        def from_dlpack(tensor):
            if not isinstance(tensor, tare.cuda.DeviceTensor):
                return real(tensor)
            return torch.from_numpy(consume(tensor).copy())

        monkeypatch.setattr(torch, "from_dlpack", from_dlpack)
        monkeypatch.setattr(torch.Tensor, "to", lambda self, *a, **k: self)
        return torch

    def test_load_decodes_there(self, packed, arrays, torch):
        del arrays["empty"]
        before = tare.cuda.counts().layers
        for load in (lambda: tare.load(packed, framework="torch", device="cuda", names=list(arrays)),
                     lambda: tare.load(packed, framework="torch", device=torch.device("cuda", 0), names=list(arrays)),
                     lambda: dict(tare.stream(packed, device="cuda:0", names=list(arrays)))):
            state = load()
            for name, array in arrays.items():
                np.testing.assert_array_equal(state[name].numpy(), array)
        assert tare.cuda.counts().layers == before + 3 * len(arrays)
