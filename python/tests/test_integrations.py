# SPDX-License-Identifier: MIT
"""Guards against: loaders that do not hand a host what it asked for. Hosts that are not installed have
stand-ins with the calls and signatures of their releases."""
import gc
import importlib.util
import inspect
import pathlib
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest
import tare

torch = pytest.importorskip("torch")
from tare.integrations import _files  # noqa: E402


@pytest.fixture
def state(tmp_path):
    torch.manual_seed(3)
    state = {"a.weight": torch.randn(8, 6), "b": torch.randn(5).to(torch.bfloat16),
             "n": torch.arange(4), "scalar": torch.tensor(1.5)}
    tare.save(state, tmp_path / "model.wcodec")
    return tmp_path, state


def equal(a, b):
    return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in b)


def stand_in(monkeypatch, name, **members):
    """A module, and the packages that it is in."""
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        path = ".".join(parts[:i])
        if path not in sys.modules:
            monkeypatch.setitem(sys.modules, path, types.ModuleType(path))
            if i > 1:
                setattr(sys.modules[".".join(parts[:i - 1])], parts[i - 1], sys.modules[path])
    vars(sys.modules[name]).update(members)
    return sys.modules[name]


def test_dcp(state):
    """torch's own planner, on one process."""
    import torch.distributed.checkpoint as dcp
    from tare.integrations.dcp import TareReader
    folder, expected = state
    for path in (folder, folder / "model.wcodec"):
        got = {name: torch.zeros_like(t) for name, t in expected.items()}
        dcp.load(got, storage_reader=TareReader(path), no_dist=True)
        assert equal(got, expected)
    wide = {"b": torch.zeros(5), "a.weight": torch.zeros(6, 8).T}
    dcp.load(wide, storage_reader=TareReader(folder), no_dist=True)
    assert torch.equal(wide["b"], expected["b"].float()) and torch.equal(wide["a.weight"], expected["a.weight"])
    with pytest.raises(dcp.CheckpointException, match="missing"):
        dcp.load({"missing": torch.zeros(1)}, storage_reader=TareReader(folder), no_dist=True)
    reader = TareReader(folder)
    for name in dcp.StorageReader.__abstractmethods__:
        ours, theirs = (list(inspect.signature(getattr(c, name)).parameters) for c in
                        (reader, dcp.StorageReader))
        assert ours == [p for p in theirs if p != "self"]


def test_part(state):
    """What a rank asks for: a part of a tensor into its own memory."""
    from tare.integrations.dcp import TareReader
    folder, expected = state
    out = torch.zeros(3, 4)
    TareReader(folder)._tensors()["a.weight"].read_into((slice(2, 5), slice(1, 5)), out)
    assert torch.equal(out, expected["a.weight"][2:5, 1:5])
    wide = torch.zeros(2, dtype=torch.float64)
    TareReader(folder)._tensors()["b"].read_into((slice(1, 3),), wide)
    assert torch.equal(wide, expected["b"][1:3].double())


RANK = """
import os
import sys
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from tare.integrations.dcp import TareReader
path, meeting, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + meeting, rank=rank, world_size=2)
mesh = init_device_mesh("cpu", (2,))
expected = torch.arange(7 * 10.0).reshape(7, 10)
state = {name: distribute_tensor(torch.zeros(7, 10), mesh, [place])
         for name, place in (("rows", Shard(0)), ("columns", Shard(1)), ("whole", Replicate()))}
dcp.load(state, storage_reader=TareReader(path))
for name, tensor in state.items():
    assert torch.equal(tensor.full_tensor(), expected), name
assert state["rows"].to_local().shape == ((4, 10), (3, 10))[rank]
dist.destroy_process_group()
# Threads of Gloo may still hold tensors, and abort when they take the GIL of an interpreter that ends.
os._exit(0)
"""


def test_ranks(tmp_path):
    """Two processes, each of which reads what its shards need."""
    w = torch.arange(7 * 10.0).reshape(7, 10)
    tare.save({name: w for name in ("rows", "columns", "whole")}, tmp_path / "m.wcodec")
    ranks = [subprocess.Popen([sys.executable, "-c", RANK, str(tmp_path / "m.wcodec"), str(tmp_path / "meeting"), str(i)],
                              stderr=subprocess.PIPE, text=True) for i in range(2)]
    for rank in ranks:
        errors = rank.communicate(timeout=200)[1]
        assert rank.returncode == 0, errors


def test_vllm(state, monkeypatch):
    folder, expected = state
    loaders = {}

    class BaseModelLoader:
        def __init__(self, load_config):
            self.load_config = load_config

    class DefaultModelLoader(BaseModelLoader):
        def track_weights_loading(self, model, loaded_weights, quantized=False):
            missing = {name for name, _ in model.named_parameters()} - loaded_weights
            if missing:
                raise ValueError(f"not initialized: {missing}")

    def register_model_loader(load_format):
        def wrapper(cls):
            assert issubclass(cls, BaseModelLoader)
            loaders[load_format] = cls
            return cls
        return wrapper

    stand_in(monkeypatch, "vllm.model_executor.model_loader", BaseModelLoader=BaseModelLoader,
             DefaultModelLoader=DefaultModelLoader, register_model_loader=register_model_loader, _LOAD_FORMAT_TO_MODEL_LOADER=loaders)
    from tare.integrations.vllm import register
    register()
    cls = loaders["tare"]
    register()
    assert loaders["tare"] is cls
    config = types.SimpleNamespace(model_loader_extra_config={"threads": 1, "window": 1 << 20})
    got = {}
    model = types.SimpleNamespace(load_weights=got.update)
    loader = cls(config)
    loader.download_model(types.SimpleNamespace(model=str(folder)))
    loader.load_weights(model, types.SimpleNamespace(model=str(folder)))
    assert equal(got, expected)
    tracked = types.SimpleNamespace(load_weights=lambda tensors: {name for name, _ in tensors},
                                    named_parameters=lambda: [*expected.items(), ("extra", None)])
    with pytest.raises(ValueError, match="{'extra'}"):
        loader.load_weights(tracked, types.SimpleNamespace(model=str(folder), quantization=None))
    loader.load_weights(tracked, types.SimpleNamespace(model=str(folder), quantization="fp8"))
    with pytest.raises(ValueError, match="windows"):
        cls(types.SimpleNamespace(model_loader_extra_config={"windows": 1}))


def test_sglang(state, monkeypatch):
    folder, expected = state
    hooks = {}
    kinds = types.SimpleNamespace(AROUND="around")

    class HookRegistry:
        @classmethod
        def register(cls, target, hook, hook_type="after", *, source=None):
            hooks[target] = (hook, hook_type)

    class DefaultModelLoader:
        def __init__(self, load_config):
            self.load_config = load_config

        def _get_weights_iterator(self, source, *, resolved_source=None, startup_prefetch_started=False,
                                  startup_prefetch_active=False):
            yield "theirs", resolved_source

        def resolve_model_weights(self, model_config, model):
            return ()

    stand_in(monkeypatch, "sglang.srt.plugins.hook_registry", HookRegistry=HookRegistry, HookType=kinds)
    stand_in(monkeypatch, "sglang.srt.model_loader.loader", DefaultModelLoader=DefaultModelLoader)
    from tare.integrations.sglang import register
    register()
    (hook, kind), = hooks.values()
    assert kind == "around"
    config = types.SimpleNamespace
    loader = hook(None, config(draft_model_idx=None), config(model_path=str(folder)))
    source = config(model_or_path=str(folder), prefix="p.")
    assert equal(dict(loader._get_weights_iterator(source)), {"p." + n: t for n, t in expected.items()})
    assert dict(loader._get_weights_iterator(config(model_or_path="x", prefix=""))) == {"theirs": None}
    prefetched = loader._get_weights_iterator(config(model_or_path="x", prefix=""), resolved_source=1,
                                              startup_prefetch_started=True, startup_prefetch_active=False)
    assert dict(prefetched) == {"theirs": 1}
    with pytest.raises(ValueError, match="read ahead"):
        loader.resolve_model_weights(None, None)
    assert hook(lambda *a: "theirs", config(), config(model_path="org/name")) == "theirs"
    tare.save(expected, folder / "model.safetensors")
    assert hook(lambda *a: "theirs", config(), config(model_path=str(folder))) == "theirs"


def test_comfyui(state, monkeypatch):
    folder, expected = state
    seen = []
    stand_in(monkeypatch, "folder_paths", get_folder_paths=lambda folder_name: [str(folder)],
             get_full_path=lambda folder_name, filename: str(folder / filename))

    def make(sd, model_options={}, metadata=None, disable_dynamic=False):
        seen.append((sd, metadata))
        return "model"

    host = stand_in(monkeypatch, "comfy.sd", load_diffusion_model_state_dict=make)
    spec = importlib.util.spec_from_file_location(
        "comfyui_node", pathlib.Path(__file__).parents[2] / "examples" / "comfyui_node.py")
    node = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(node)
    assert node.NODE_CLASS_MAPPINGS.keys() == node.NODE_DISPLAY_NAME_MAPPINGS.keys()
    (cls,) = node.NODE_CLASS_MAPPINGS.values()
    assert cls.INPUT_TYPES() == {"required": {"name": (["model.wcodec"],)}}
    assert getattr(cls(), cls.FUNCTION)("model.wcodec") == ("model",)
    assert equal(seen[0][0], expected) and seen[0][1] is None
    tare.save(expected, folder / "plain.safetensors", metadata={"format": "pt", "config": "{}"})
    tare.pack(folder / "plain.safetensors", folder / "model.wcodec", force=True)
    getattr(cls(), cls.FUNCTION)("model.wcodec")
    assert equal(seen[1][0], expected) and seen[1][1] == {"format": "pt", "config": "{}"}
    host.load_diffusion_model_state_dict = lambda sd, model_options={}: "old"
    assert getattr(cls(), cls.FUNCTION)("model.wcodec") == ("old",)


class Trt:
    """TensorRT's calls on the host's side; values are read back from the addresses."""

    def __init__(self, prototypes):
        self.DataType = types.SimpleNamespace(**{n: types.SimpleNamespace(name=n) for n in
                                                 "FLOAT HALF BF16 INT64".split()})
        self.TensorLocation = types.SimpleNamespace(HOST="host", DEVICE="device")
        self.Weights = lambda type, ptr, count: types.SimpleNamespace(dtype=type, ptr=ptr, size=count)
        self.Logger = lambda: None
        self.engine = type("Engine", (), {})()
        self.got = got = {}
        trt = self

        class Refitter:
            def __init__(self, engine, logger):
                assert engine is trt.engine
                trt.refitter = weakref.ref(self)

            def get_all_weights(self):
                return list(prototypes)

            def get_weights_prototype(self, name):
                return types.SimpleNamespace(dtype=getattr(trt.DataType, prototypes[name]))

            def set_named_weights(self, name, weights, location=None):
                import ctypes
                size = {"FLOAT": 4, "HALF": 2, "BF16": 2, "INT64": 8}[weights.dtype.name]
                got[name] = weights.dtype.name, ctypes.string_at(weights.ptr, weights.size * size)
                return location == "host"

            def refit_cuda_engine(self):
                return True

            def refit_cuda_engine_async(self, stream_handle):
                return stream_handle == 7

            def get_missing_weights(self):
                return []

        self.Refitter = Refitter


def test_tensorrt(state, monkeypatch):
    folder, expected = state
    trt = Trt({"engine.a": "HALF", "b": "BF16", "n": "INT64"})
    monkeypatch.setitem(sys.modules, "tensorrt", trt)
    from tare.integrations.tensorrt import refit, weights
    assert refit(trt.engine, folder / "model.wcodec", {"engine.a": "a.weight"}) == 3
    assert trt.got["engine.a"] == ("HALF", expected["a.weight"].half().numpy().tobytes())
    assert trt.got["n"] == ("INT64", expected["n"].numpy().tobytes())
    assert trt.refitter() is None
    assert refit(trt.engine, folder / "model.wcodec", {"engine.a": "a.weight"}, stream=7) == 3
    assert trt.refitter() is not None  # it may still read
    with pytest.raises(RuntimeError, match="not refitted"):
        refit(trt.engine, folder / "model.wcodec", {"engine.a": "a.weight"}, stream=8)
    with pytest.raises(KeyError):
        refit(trt.engine, folder / "model.wcodec")
    with tare.open(folder / "model.wcodec") as model:
        held = weights(model["a.weight"])
    trt.engine = None
    gc.collect()
    assert trt.refitter() is None
    assert held.weights.size == 48 and bytes(held.memory) == expected["a.weight"].numpy().tobytes()


def test_tensorrt_lean(state, monkeypatch):
    """The types of the package that runs engines; it needs no GPU to make Weights."""
    try:
        host = importlib.import_module("tensorrt_lean")
    except ImportError:
        host = pytest.importorskip("tensorrt_lean_bindings")
    monkeypatch.setitem(sys.modules, "tensorrt", host)
    from tare.integrations import tensorrt as ours
    for name in ours._TYPES.values():
        assert name in host.DataType.__members__
    for name in ("get_all_weights", "get_weights_prototype", "set_named_weights", "refit_cuda_engine",
                 "refit_cuda_engine_async", "get_missing_weights"):
        assert hasattr(host.Refitter, name)
    assert host.TensorLocation.HOST
    folder, expected = state
    with tare.open(folder / "model.wcodec") as model:
        held = ours.weights(model["a.weight"], host.DataType.HALF)
        assert (held.weights.dtype, held.weights.size) == (host.DataType.HALF, 48)
        assert np.array_equal(held.weights.numpy().reshape(8, 6), expected["a.weight"].half().numpy())


def test_diffusers(tmp_path):
    try:
        from diffusers import UNet2DModel
    except Exception as e:  # a package that it needs is missing
        pytest.skip(f"diffusers: {e}")
    from tare.integrations.diffusers import from_pretrained
    torch.manual_seed(0)
    unet = UNet2DModel(sample_size=8, block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4,
                       down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2)
    unet.save_pretrained(tmp_path / "unet")
    tare.pack(tmp_path / "unet" / "diffusion_pytorch_model.safetensors", tmp_path / "unet.wcodec")
    got = from_pretrained(UNet2DModel, tmp_path / "unet.wcodec", config=tmp_path / "unet")
    assert equal(got.state_dict(), unet.state_dict()) and not got.training
    half = from_pretrained(UNet2DModel, tmp_path / "unet.wcodec", config=tmp_path / "unet",
                           torch_dtype=torch.float16)
    assert equal(half.state_dict(), unet.half().state_dict())
    with pytest.raises(FileNotFoundError, match="config"):
        from_pretrained(UNet2DModel, tmp_path / "unet.wcodec")


def test_llama_cpp(tmp_path, monkeypatch):
    seen = []
    stand_in(monkeypatch, "llama_cpp", Llama=lambda model_path, **kw: seen.append(
        (tare.open(model_path).info.format, kw)))
    from tare.integrations.llama_cpp import load
    tare.save({"token_embd.weight": torch.ones(4, 32)}, tmp_path / "m.gguf")
    tare.pack(tmp_path / "m.gguf", tmp_path / "m.wcodec")
    load(tmp_path / "m.gguf", n_ctx=8)
    load(tmp_path / "m.wcodec", n_ctx=8)
    assert seen == [("gguf", {"n_ctx": 8})] * 2


def test_files(tmp_path):
    assert _files.packed_files(str(tmp_path)) == []
    for name in ("b.wcodec", "a.wcodec"):
        tare.save({name: torch.ones(2)}, tmp_path / name)
    assert list(_files.tensors_of(_files.open_weights(tmp_path))) == ["a.wcodec", "b.wcodec"]
    with pytest.raises(ValueError, match="two of the files"):
        _files.tensors_of(_files.open_weights(tmp_path / "a.wcodec") * 2)
