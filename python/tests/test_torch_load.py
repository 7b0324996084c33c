# SPDX-License-Identifier: MIT
"""Guards against: tare.torch that differs from torch.load, load_state_dict and safetensors.torch where it
says that it is like them. Skipped where torch is missing."""
import copy
import inspect
import io

import pytest
import tare

torch = pytest.importorskip("torch")
import safetensors.torch  # noqa: E402
import tare.torch  # noqa: E402


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = torch.nn.Embedding(10, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.out = torch.nn.Linear(6, 10, bias=False)
        self.out.weight = self.emb.weight


def equal(a, b):
    return a.keys() == b.keys() and all(
        a[k].dtype == b[k].dtype and torch.equal(a[k], b[k]) for k in b)


@pytest.fixture(params=("safetensors", "wcodec"))
def saved(request, tmp_path):
    torch.manual_seed(1)
    state = {"a": torch.randn(4, 6), "b": torch.randn(5).to(torch.bfloat16), "n": torch.arange(3),
             "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3)}
    path = tmp_path / f"m.{request.param}"
    tare.torch.save_file(state, path, {"format": "pt"})
    return path, state


def test_signature():
    ours, theirs = (list(inspect.signature(f).parameters.values()) for f in (tare.torch.load, torch.load))
    assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs]
    ours, theirs = (list(inspect.signature(f).parameters) for f in
                    (tare.torch.load_model, safetensors.torch.load_model))
    assert ours == theirs


def test_load(saved):
    path, state = saved
    assert equal(tare.torch.load_file(path), state)
    assert equal(tare.torch.load(path), state)
    assert equal(tare.torch.load(str(path), "cpu", weights_only=False, mmap=True), state)
    assert equal(tare.torch.load(path, {"cpu": "cpu"}), state)
    assert equal(tare.torch.load(path, torch.device("cpu")), state)
    seen = []
    assert equal(tare.torch.load(path, lambda storage, place: seen.append(place)), state)
    assert seen == ["cpu"] * len(state)
    assert equal(tare.torch.load(path, lambda storage, place: storage.clone()), state)
    assert tare.torch.load(path, "meta")["a"].is_meta
    with open(path, "rb") as f:
        assert equal(tare.torch.load(f), state)
    assert equal(tare.torch.load(io.BytesIO(path.read_bytes())), state)
    assert equal(tare.torch.load(path, encoding="latin1"), state)
    with pytest.raises(TypeError, match="'dtype'"):
        tare.torch.load(path, dtype=torch.float16)


def test_what_torch_wrote(tmp_path):
    state = {"a": torch.randn(3), "text": "t"}
    for zipped in (True, False):
        torch.save(state, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
        with open(tmp_path / "x.pt", "rb") as f:
            assert torch.equal(tare.torch.load(f)["a"], state["a"])
        assert tare.torch.load(tmp_path / "x.pt", "cpu", weights_only=True)["text"] == "t"
    (tmp_path / "x").write_bytes(b"nothing that is known")
    with pytest.raises(Exception) as theirs:
        torch.load(tmp_path / "x")
    with pytest.raises(type(theirs.value)):
        tare.torch.load(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"GGUF\x03\0\0\0")
    with pytest.raises(tare.InputError):
        tare.torch.load(tmp_path / "x")


def test_hook(saved, tmp_path):
    path, state = saved
    before = torch.load
    torch.save(state, tmp_path / "x.pt")
    with tare.torch.hook():
        assert torch.load is tare.torch.load
        with tare.torch.hook():
            assert equal(torch.load(path, map_location="cpu"), state)
        assert equal(torch.load(tmp_path / "x.pt"), state)
        assert equal(torch.load(path), state)
    assert torch.load is before
    with pytest.raises(ZeroDivisionError), tare.torch.hook():
        1 / 0
    assert torch.load is before
    tare.torch.install()
    tare.torch.install()
    with tare.torch.hook():
        pass
    assert torch.load is tare.torch.load
    tare.torch.uninstall()
    assert torch.load is before


@pytest.mark.parametrize("kind", ("safetensors", "wcodec", "gguf"))
@pytest.mark.parametrize("assign", (False, True))
def test_modules(tmp_path, kind, assign):
    torch.manual_seed(2)
    module = Tied()
    module.norm(torch.randn(4, 6))
    path = tmp_path / f"m.{kind}"
    tare.torch.save_model(module, path)
    with tare.open(path) as model:
        assert "out.weight" not in model and model.metadata["out.weight"] == "emb.weight"
    if assign:
        with torch.device("meta"):
            other = Tied()
    else:
        other = Tied()
    old = other.emb.weight
    assert tare.torch.load_into(other, path, assign=assign) == ([], [])
    assert other.out.weight is other.emb.weight and (other.emb.weight is old) == (not assign)
    assert equal(other.state_dict(), module.state_dict()) and other.emb.weight.requires_grad


def test_strict(tmp_path):
    module = torch.nn.Linear(3, 2)
    path = tmp_path / "m.safetensors"
    tare.torch.save_file({"x.weight": torch.ones(2, 3), "x.more": torch.ones(1)}, path)
    before = copy.deepcopy(module.state_dict())
    with pytest.raises(RuntimeError) as ours:
        tare.torch.load_into(module, path, prefix="x.")
    with pytest.raises(RuntimeError) as theirs:
        torch.nn.Linear(3, 2).load_state_dict({"weight": torch.ones(2, 3), "more": torch.ones(1)})
    assert str(ours.value) == str(theirs.value)
    assert equal(module.state_dict(), before)
    assert tare.torch.load_into(module, path, strict=False, prefix="x.") == (["bias"], ["more"])
    assert torch.equal(module.weight, torch.ones(2, 3)) and torch.equal(module.bias, before["bias"])
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        tare.torch.load_into(torch.nn.Linear(3, 4), path, strict=False, prefix="x.")
    with pytest.raises(ValueError, match="assign=True"):
        tare.torch.load_into(torch.nn.Linear(3, 2, device="meta"), path, strict=False, prefix="x.")
    wide = torch.nn.Linear(3, 2).double()
    tare.torch.load_into(wide, path, strict=False, prefix="x.")
    assert torch.equal(wide.weight, torch.ones(2, 3, dtype=torch.float64))


def test_lazy(saved):
    path, state = saved
    lazy = tare.torch.lazy_state_dict(path)
    assert equal({name: t[...] for name, t in lazy.items()}, state)
    a = lazy["a"]
    assert (a.shape, a.dtype, a.ndim, a.numel(), a.size(1)) == ((4, 6), torch.float32, 2, 24, 6)
    assert (a.get_shape(), a.get_dtype(), lazy["b"].get_dtype()) == ([4, 6], "F32", "BF16")
    assert torch.equal(a[1:3, ::2], state["a"][1:3, ::2])
    module = torch.nn.Module()
    module.register_buffer("a", torch.zeros(4, 6))
    module.load_state_dict({"a": a[:]})
    assert torch.equal(module.a, state["a"])
