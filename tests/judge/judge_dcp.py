# SPDX-License-Identifier: MIT
"""Checkpoints that torch.distributed.checkpoint writes, from four processes and in each of its forms, are what
tare reads: every tensor has the values that were given out to the processes. Run by judge.py; 77: there is no PyTorch here."""
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from safetensors.torch import load_file
    from torch.distributed.checkpoint import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.filesystem import FileSystemWriter, SerializationFormat
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
except ImportError as missing:
    print("SKIP:", missing)
    sys.exit(77)

TARE = os.environ["TARE_COMMAND"]
RANKS = 4


def tensors():
    torch.manual_seed(5)
    found = {"rows": torch.randn(10, 6), "cols": torch.randn(5, 9).to(torch.bfloat16), "both": torch.randn(7, 12),
             "three": torch.randn(3, 4, 8), "vector": torch.randn(11), "few": torch.randn(2, 3), "plain": torch.randn(4, 4),
             "turned": torch.randn(6, 8).t(), "scalar": torch.tensor(3.5), "whole": torch.arange(12).reshape(3, 4),
             "large": torch.randn(300, 700).to(torch.float16), "long": torch.randn(3, 50000)}
    return found


def given_out(full):
    """As DTensors: rows, columns, and both over a mesh of two dimensions, unevenly where it comes so."""
    line, square = init_device_mesh("cpu", (RANKS,)), init_device_mesh("cpu", (2, RANKS // 2), mesh_dim_names=("a", "b"))
    how = {"rows": (line, [Shard(0)]), "cols": (line, [Shard(1)]), "both": (square, [Shard(0), Shard(1)]),
           "three": (square, [Shard(1), Shard(2)]), "vector": (line, [Shard(0)]), "few": (line, [Shard(0)]),
           "whole": (line, [Replicate()]), "large": (square, [Shard(1), Shard(1)]), "long": (line, [Shard(1)])}
    return {name: distribute_tensor(t, *how[name]) if name in how else t for name, t in full.items()}


def write(rank, folder):
    dist.init_process_group("gloo", init_method="file://" + folder + "/meeting", rank=rank, world_size=RANKS)
    full = tensors()
    state = given_out(full)
    dcp.save({"model": state, "optim": {"step": 7, "state": {0: {"exp_avg": full["plain"] * 2}}}}, checkpoint_id=folder + "/torch")
    state["turned"] = full["turned"].contiguous()
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(folder + "/hf", save_distributed=True))
    dcp.save(state, storage_writer=FileSystemWriter(folder + "/each", single_file_per_rank=False))
    dcp.save(state, storage_writer=FileSystemWriter(folder + "/safetensors", serialization_format=SerializationFormat.SAFETENSORS))
    dist.destroy_process_group()
    os._exit(0)  # threads of gloo may abort otherwise when the interpreter ends


def tare(*args):
    subprocess.run([TARE, *args, "--quiet"], check=True)


def check(folder, form, prefix, more=()):
    source, out = folder + "/" + form, folder + "/" + form + ".safetensors"
    tare("verify", "--deep", "--strict", source)
    tare("convert", source, out, "--no-sync")
    got, want = load_file(out), tensors()
    assert set(got) == {prefix + name for name in want} | set(more), set(got)
    for name, t in want.items():
        other = got[prefix + name]
        assert other.dtype == t.dtype and other.shape == t.shape and torch.equal(other, t), (form, name)
    tare("pack", source, source + ".wcodec", "--no-sync")
    tare("unpack", source + ".wcodec", source + "-back", "--no-sync")
    subprocess.run(["diff", "-r", source, source + "-back"], check=True)
    return len(want)


def main():
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) == 3:
            return write(int(sys.argv[1]), sys.argv[2])
        ranks = [subprocess.Popen([sys.executable, "-B", __file__, str(rank), folder]) for rank in range(RANKS)]
        assert all(r.wait() == 0 for r in ranks)
        n = check(folder, "torch", "model.", ["optim.state.0.exp_avg"])
        n += sum(check(folder, form, "") for form in ("hf", "each", "safetensors"))
        print("%d tensors in chunks equal" % n)
    return 0


if __name__ == "__main__":
    sys.exit(main())
