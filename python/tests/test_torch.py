# SPDX-License-Identifier: MIT
"""Guards against: torch tensors that differ from those of safetensors, share what they should not, or
drag memory along. Skipped where torch is missing."""
import copy
import io

import numpy as np
import pytest
import tare
import tare.safetensors

torch = pytest.importorskip("torch")
import safetensors.torch  # noqa: E402


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    torch.manual_seed(0)
    out = {str(d).removeprefix("torch."): (torch.randn(4, 6) * 3).to(d)
           for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn,
                     torch.float8_e5m2, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64,
                     torch.bool)}
    out["scalar"], out["empty"] = torch.tensor(2.5), torch.zeros(0, 3)
    out["big"] = torch.randn(300, 1000).to(torch.bfloat16)
    folder = tmp_path_factory.mktemp("torch")
    safetensors.torch.save_file(out, folder / "m.safetensors")
    tare.pack(folder / "m.safetensors", folder / "m.wcodec")
    return folder, out


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and (
        a.numel() == 0 or torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8)))


@pytest.mark.parametrize("file", ("m.safetensors", "m.wcodec"))
def test_tensors(state, file):
    folder, expected = state
    model = tare.open(folder / file)
    for arrays in (tare.load(folder / file, framework="torch"), dict(tare.stream(folder / file)),
                   {n: t.torch() for n, t in model.items()}):
        assert set(arrays) == set(expected)
        for name, t in expected.items():
            assert same(arrays[name], t), name
            assert arrays[name].untyped_storage().nbytes() == t.numel() * t.element_size()
    assert same(model["big"].torch(torch.float32), expected["big"].float())
    assert same(model["big"][5:50:3, ::-7].torch(), torch.from_numpy(
        expected["big"].float().numpy()[5:50:3, ::-7].copy()).to(torch.bfloat16))
    assert same(torch.from_dlpack(model["big"]), expected["big"])


def test_private_memory(state):
    folder, expected = state
    with open(folder / "m.safetensors", "rb") as f:
        before = f.read()
    t = tare.load(folder / "m.safetensors", framework="torch")["big"]
    t.zero_()
    with open(folder / "m.safetensors", "rb") as f:
        assert f.read() == before
    assert same(tare.load(folder / "m.safetensors", framework="torch")["big"], expected["big"])
    buffer = io.BytesIO()
    torch.save(tare.load(folder / "m.wcodec", framework="torch")["float32"], buffer)
    assert len(buffer.getvalue()) < 4000


@pytest.mark.parametrize("file", ("m.safetensors", "m.wcodec"))
def test_out(state, file):
    folder, expected = state
    module = torch.nn.Linear(1000, 300, bias=False)
    tare.load(folder / file, out={"big": module.state_dict()["weight"]})
    assert torch.equal(module.weight, expected["big"].float())
    turned = torch.zeros(1000, 300, dtype=torch.float16).T
    model = tare.open(folder / file)
    assert model["big"].torch(out=turned) is turned and torch.equal(turned, expected["big"].half())
    with pytest.raises(ValueError):
        model["big"].torch(out=torch.zeros(3))


def test_save(state, tmp_path):
    _, expected = state
    tensors = {**expected, "turned": expected["float32"].T, "grad": torch.nn.Parameter(torch.ones(3))}
    tare.save(tensors, tmp_path / "s.safetensors")
    back = safetensors.torch.load_file(tmp_path / "s.safetensors")
    assert all(same(back[n], t.detach().contiguous()) for n, t in tensors.items())
    with pytest.raises(TypeError):
        tare.save({"s": torch.eye(3).to_sparse()}, tmp_path / "t.safetensors")
    with pytest.raises(TypeError):
        tare.save({"s": torch.zeros(3, device="meta")}, tmp_path / "t.safetensors")


def test_copies_live(state):
    folder, expected = state
    model = tare.open(folder / "m.safetensors")
    t = copy.deepcopy(model["big"].torch())
    u = model["big"].torch()
    model.close()
    del model
    assert same(t, expected["big"]) and same(u, expected["big"])
    assert np.array_equal(u.float().numpy(), expected["big"].float().numpy())


def test_what_is_behind_a_view_is_resolved(tmp_path):
    """Numbers that torch negates or conjugates when it reads them, and two in an element."""
    import tare.safetensors.torch as drop_in
    z = torch.tensor([1 + 2j, 3 + 4j])
    state = {"c": z.conj(), "n": (z + 1).conj().imag}
    tare.save(state, tmp_path / "a.safetensors")
    drop_in.save_file({"c": state["c"]}, tmp_path / "b.safetensors")
    for name in "ab":
        loaded = tare.torch.load_file(tmp_path / f"{name}.safetensors")
        assert loaded and all(torch.equal(t, state[k].resolve_conj().resolve_neg()) for k, t in loaded.items())
    four = torch.arange(8, dtype=torch.uint8).reshape(2, 4).view(torch.float4_e2m1fn_x2)
    tare.save({"f": four}, tmp_path / "f.safetensors")
    model = tare.open(tmp_path / "f.safetensors")
    assert model["f"].shape == (2, 8) and torch.equal(model["f"].torch(), four.view(torch.uint8))


def test_out_has_a_place_for_each_element(state):
    folder, arrays = state
    model, name = tare.open(folder / "m.wcodec"), "float32"
    like = arrays[name]
    wide = torch.zeros_like(like[:1]).expand(like.shape)
    with pytest.raises(ValueError, match="in one place"):
        model[name].torch(out=wide)
    with pytest.raises(ValueError, match="in one place"):
        tare.load(model, out={name: wide})
    with pytest.raises(TypeError, match="a torch.Tensor expected"):
        model[name].torch(out=[1])


PARTS = (slice(2, 9), slice(9, None), (slice(-9, 2), slice(3, 99, 2)), (..., -1), (None, 0), (), True, [0, 2], (slice(1), [0]),
         torch.tensor(1), (slice(3, 1), slice(None)), 4, -5, (0, 0, 0), (..., ...), slice(None, None, -1), slice(None, None, 0), 1.5)


@pytest.mark.parametrize("key", PARTS, ids=repr)
@pytest.mark.parametrize("name", ("bfloat16", "scalar", "empty"))
@pytest.mark.parametrize("file", ("m.safetensors", "m.wcodec"))
def test_slices_are_those_of_torch(state, file, name, key):
    """A rank takes get_slice(name)[k * rows:(k + 1) * rows] of rows that it does not divide."""
    folder, _ = state
    with (tare.safetensors.safe_open(folder / file, "pt") as mine,
          safetensors.safe_open(folder / "m.safetensors", "pt") as theirs):
        try:
            expected = theirs.get_slice(name)[key]
        except Exception as error:
            with pytest.raises(Exception) as refused:
                mine.get_slice(name)[key]
            assert isinstance(refused.value, type(error))
        else:
            assert same(mine.get_slice(name)[key].clone(), expected.clone())
