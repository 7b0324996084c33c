# SPDX-License-Identifier: MIT
"""Guards against: files that accelerate or huggingface_hub do not read as they read those of safetensors (a
`format` that is missing, an index that is not theirs), and a stand-in for safetensors that they cannot work
with. Skipped where they are missing."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
import tare

torch = pytest.importorskip("torch")
accelerate = pytest.importorskip("accelerate")
hub = pytest.importorskip("huggingface_hub")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = torch.nn.Linear(32, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return self.c(self.b(self.a(x)))


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in b)


@pytest.fixture
def net(tmp_path):
    """A network, as one file and in shards, which tare wrote; and in shards, packed and unpacked again."""
    torch.manual_seed(5)
    net = Net()
    (tmp_path / "one").mkdir()
    tare.save(net.state_dict(), tmp_path / "one" / "model.safetensors")
    tare.save(net.state_dict(), tmp_path / "shards", to="hf", shard_size="1K")
    tare.pack(tmp_path / "shards", tmp_path / "net.wcodec")
    tare.unpack(tmp_path / "net.wcodec", tmp_path / "unpacked")
    assert len(list((tmp_path / "shards").glob("*.safetensors"))) > 1
    return tmp_path, net


@pytest.mark.parametrize("form", ["one", "shards", "unpacked"])
def test_accelerate_loads_what_tare_writes(net, form):
    folder, expected = net
    loaded = Net()
    accelerate.load_checkpoint_in_model(loaded, str(folder / form), strict=True)
    assert equal(loaded.state_dict(), expected.state_dict())
    with accelerate.init_empty_weights():
        empty = Net()
    x = torch.randn(3, 32)
    placed = accelerate.load_checkpoint_and_dispatch(
        empty, str(folder / form), device_map={"a": "cpu", "b": "cpu", "c": "disk"}, offload_folder=str(folder / "off"))
    assert torch.equal(placed(x), expected(x))


def test_tare_reads_what_accelerate_writes(net):
    folder, expected = net
    accelerate.Accelerator(cpu=True).save_model(expected, str(folder / "saved"), max_shard_size="1KB")
    assert equal(tare.load(folder / "saved", framework="torch"), expected.state_dict())


@pytest.mark.parametrize("form", ["one", "shards", "unpacked"])
def test_the_hub_loads_what_tare_writes(net, form):
    folder, expected = net
    loaded = Net()
    result = hub.load_torch_model(loaded, folder / form, strict=True, safe=True)
    assert not result.missing_keys and not result.unexpected_keys
    assert equal(loaded.state_dict(), expected.state_dict())


def test_tare_reads_what_the_hub_writes(net):
    folder, expected = net
    (folder / "saved").mkdir()
    hub.save_torch_model(expected, folder / "saved", max_shard_size="1KB")
    assert equal(tare.load(folder / "saved", framework="torch"), expected.state_dict())
    with open(folder / "saved" / "model.safetensors.index.json") as f:
        theirs = json.load(f)
    with open(folder / "shards" / "model.safetensors.index.json") as f:
        ours = json.load(f)
    assert theirs["weight_map"].keys() == ours["weight_map"].keys()
    assert theirs["metadata"]["total_size"] == ours["metadata"]["total_size"]


def test_mixins_of_the_hub_load_what_tare_writes(net):
    folder, expected = net

    class Mixed(Net, hub.PyTorchModelHubMixin):
        pass

    assert equal(Mixed.from_pretrained(folder / "one").state_dict(), expected.state_dict())


def test_both_work_with_tare_in_the_place_of_safetensors(net):
    folder, expected = net
    torch.save(expected.state_dict(), folder / "expected.pt")
    program = """
import os, sys, as_safetensors, torch, accelerate, huggingface_hub as hub
from test_hub import Net, equal
folder, expected = sys.argv[1], torch.load(sys.argv[1] + "/expected.pt")
for form in ("one", "shards"):
    net = Net()
    accelerate.load_checkpoint_in_model(net, f"{folder}/{form}", strict=True)
    assert equal(net.state_dict(), expected)
    net = Net()
    hub.load_torch_model(net, f"{folder}/{form}", strict=True, safe=True)
    assert equal(net.state_dict(), expected)
accelerate.Accelerator(cpu=True).save_model(net, folder + "/by-accelerate", max_shard_size="1KB")
os.mkdir(folder + "/by-hub")
hub.save_torch_model(net, folder + "/by-hub", max_shard_size="1KB")
"""
    path = os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, env={**os.environ, "PYTHONPATH": path})
    for form in ("by-accelerate", "by-hub"):
        assert equal(tare.load(folder / form, framework="torch"), expected.state_dict())
