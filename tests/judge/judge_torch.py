# SPDX-License-Identifier: MIT
"""Files that PyTorch writes, in both forms, are what tare reads: every tensor, byte for byte, under the
names of the keys that lead to it; packed and unpacked, they are the same. Run by judge.py; 77: there is no
PyTorch here."""
import collections
import os
import pickle
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
except ImportError as missing:
    print("SKIP:", missing)
    sys.exit(77)

from safetensors.torch import load_file

TARE = os.environ["TARE_COMMAND"]
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.uint16, torch.uint32, torch.uint64]


def numbers(dtype, *shape):
    count = int(numpy.prod(shape))
    values = torch.arange(count) * 37 % 97
    if dtype == torch.bool:
        return (values % 2).to(dtype).reshape(shape)
    return (values.float() / 8 if dtype.is_floating_point else values).to(dtype).reshape(shape)


def flat(value, name=""):
    """The tensors in a value and the names that lead to them."""
    if isinstance(value, torch.Tensor):
        found = {name: value.detach()}
        for key, inner in vars(value).items():
            found.update(flat(inner, f"{name}.{key}" if name else key))
        return found
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
        return {name: torch.from_numpy(numpy.array(value, value.dtype.newbyteorder("="), order="C"))}
    found = {}
    if isinstance(value, collections.OrderedDict):
        for key, inner in vars(value).items():
            found.update(flat(inner, f"{name}.{key}" if name else key))
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else []
    for key, inner in pairs:
        found.update(flat(inner, f"{name}.{key}" if name else str(key)))
    return found


class Holder:
    def __init__(self, **members):
        self.__dict__.update(members)


def module():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.BatchNorm1d(4), torch.nn.Sequential(torch.nn.Linear(4, 2)))


def stepped():
    model = module()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(3, 8)).sum().backward()
    optimizer.step()
    return model, optimizer


def cases():
    """name, what is saved, the tensors expected (None: those of `flat`)"""
    for dtype in FLOATS + WHOLE:
        yield f"dtype-{str(dtype)[6:]}", {"a": numbers(dtype, 3, 5), "b": numbers(dtype, 4)}, None
    yield "complex", {"a": torch.complex(numbers(torch.float32, 6), numbers(torch.float32, 6))}, None
    yield "scalar", {"a": torch.tensor(1.5), "b": torch.tensor(7)}, None
    yield "empty", {"a": torch.zeros(0, 4), "b": torch.zeros(0), "c": torch.ones(2)}, None
    base = numbers(torch.float32, 64, 48)
    yield "transposed", {"a": base.t(), "b": base}, None
    yield "permuted", {"a": numbers(torch.bfloat16, 4, 5, 6, 7).permute(3, 1, 0, 2)}, None
    yield "large-transposed", {"a": numbers(torch.float16, 700, 900).t()}, None
    yield "channels-last", {"a": numbers(torch.float32, 2, 3, 4, 5).to(memory_format=torch.channels_last)}, None
    yield "strided", {"a": base[::3, 5::7], "b": base[:, 1]}, None
    yield "expanded", {"a": torch.ones(1, 3).expand(5, 3), "b": torch.tensor(2.0).expand(4, 4)}, None
    yield "shared", {"a": base, "b": base}, None
    yield "parts", {"a": base[:10], "b": base[10:], "c": base[5:15]}, None
    yield "halves", {"a": base[:32], "b": base[32:]}, None
    yield "one-dims", {"a": base[:1, :].t(), "b": base.reshape(1, 64, 1, 48)}, None
    yield "tied", {"embed.weight": base, "lm_head.weight": torch.nn.Parameter(base)}, None
    yield "parameters", {"a": torch.nn.Parameter(base), "b": torch.nn.Parameter(base.half(), requires_grad=False)}, None
    yield "list", [base, base + 1, {"x": base + 2}], None
    yield "tuple", (base, (base + 1,)), None
    yield "ints", {0: base, 1: {2: base + 1}}, None
    yield "ordered", collections.OrderedDict(a=base, b=base * 2), None
    yield "default", collections.defaultdict(list, a=base), None
    yield "many", {f"layers.{i}.weight": torch.full((2, 2), float(i)) for i in range(3000)}, None
    model, optimizer = stepped()
    state = model.state_dict()
    yield "state-dict", state, None
    yield "wrapped", {"state_dict": {k: v for k, v in state.items()}, "epoch": 3}, dict(state)
    yield "wrapped-twice", {"model": {"module": dict(state)}}, dict(state)
    yield "wrapper-is-a-part", {"model": dict(state), "ema": {"decay": base}}, None
    yield "flat-model", {f"model.{k}": v for k, v in state.items()}, None
    yield "checkpoint", {"model": state, "optimizer": optimizer.state_dict(), "epoch": 3, "args": {"lr": 0.1, "names": ["a", "b"]}}, None
    yield "module", model, dict(state)
    yield "module-in-dict", {"net": model, "step": 5}, {f"net.{k}": v for k, v in state.items()}
    yield "holder", Holder(a=base, inner=Holder(b=base + 1)), {"a": base, "inner.b": base + 1}
    yield "requires-grad", {"a": torch.ones(3, requires_grad=True)}, None
    yield "arrays", {"a": base, "b": arrays()}, None
    yield "random-states", {"a": base, "python": (3, tuple(range(9)), None), "numpy": numpy.random.RandomState(1).get_state()}, None
    yield "numpy-scalars", {"a": base, "best": numpy.float64(0.5), "n": numpy.int32(3), "yes": numpy.bool_(True),
                            "half": numpy.float16(1.5), "word": numpy.str_("\u00e9\u4e2d"), "type": numpy.dtype("f4")}, None
    weight = torch.nn.Parameter(base)
    weight.scale, weight.word = torch.tensor([2.0]), "a"
    yield "parameter-with-state", {"w": weight}, None
    yield "ordered-with-state", ordered_with_state(base), None
    yield "odd-keys", {(0, "a"): base, (0, "b"): base + 1, 1.5: base + 2, None: base + 3, torch.float16: base + 4}, \
        {"(0, a)": base, "(0, b)": base + 1, "1.5": base + 2, "None": base + 3, "float16": base + 4}
    yield "same-names", {1: base, "1": base + 1, "x.y": base + 2, "x": {"y": base + 3}}, \
        {"1": base, "1#2": base + 1, "x.y": base + 2, "x.y#2": base + 3}
    yield "counter", {"a": base, "seen": collections.Counter({"b": 3, 4: 1})}, None
    yield "storage-offset", {"a": base.flatten()[7:19]}, None


def arrays():
    """Arrays of NumPy: whole, turned, big-endian, of objects with tensors in them."""
    line = numpy.arange(24)
    found = {kind: (line % 2 if kind == "?" else line).astype(kind).reshape(2, 3, 4) for kind in ("f8", "f4", "f2", "i8", "u4", "i1", "?")}
    found.update({kind: line.astype(kind).reshape(4, 6) for kind in (">f4", ">i8", ">u2", ">f8")})
    found["turned"] = numpy.asfortranarray(line.reshape(4, 6).astype("f4"))
    found["turned-big"] = numpy.asfortranarray(line.reshape(2, 3, 4).astype(">f8"))
    found["scalar"], found["none"] = numpy.array(2.5), numpy.zeros((0, 3), "f4")
    return found


def ordered_with_state(tensor):
    found = collections.OrderedDict(a=tensor)
    found._metadata = {"": {"version": 1}}
    found.average, found.decay = tensor + 1, 0.9
    return found


def as_bytes(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def run(*command):
    done = subprocess.run([TARE, *command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def check(folder, name, value, expected, form, protocol):
    path = os.path.join(folder, f"{name}-{form}-{protocol}.pt")
    out = path + ".safetensors"
    if form == "plain":
        with open(path, "wb") as f:
            pickle.dump(value, f, protocol)
    else:
        torch.save(value, path, _use_new_zipfile_serialization=form == "zip", pickle_protocol=protocol)
    expected = expected if expected is not None else flat(value)
    run("convert", path, out, "--force", "--quiet", "--no-sync")
    got = load_file(out)
    assert sorted(got) == sorted(expected), (path, sorted(got)[:9], sorted(expected)[:9])
    for key, tensor in expected.items():
        assert got[key].dtype == tensor.dtype, (path, key, got[key].dtype)
        assert got[key].shape == tensor.shape, (path, key, got[key].shape)
        assert as_bytes(got[key]) == as_bytes(tensor), (path, key)
    run("verify", "--deep", "--quiet", path)
    run("pack", path, path + ".wcodec", "--force", "--quiet", "--no-sync")
    run("unpack", path + ".wcodec", path + ".again", "--force", "--quiet", "--no-sync")
    with open(path, "rb") as a, open(path + ".again", "rb") as b:
        assert a.read() == b.read(), (path, "unpacked")
    for suffix in (".safetensors", ".wcodec", ".again"):
        os.remove(path + suffix)


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, value, expected in cases():
            more = (("zip", 4), ("legacy", 5), ("plain", 0), ("plain", 2), ("plain", 4)) if name in ("checkpoint", "module", "arrays") else ()
            for form, protocol in (("zip", 2), ("legacy", 2)) + more:
                check(folder, name, value, expected, form, protocol)
                count += 1
    print(count, "files as PyTorch", torch.__version__, "reads them")


main()
