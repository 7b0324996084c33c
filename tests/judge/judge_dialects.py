# SPDX-License-Identifier: MIT
"""Adapters in the dialects of kohya, diffusers and MLX, merged by numpy from what defines them, are what --apply-adapter makes of
them: W + alpha / rank * up @ down, and W + scale * (a @ b).T. Run by judge.py."""
import json
import os
import subprocess
import tempfile

import numpy
from safetensors.numpy import load_file, save_file

TARE = os.environ["TARE_COMMAND"]
MODULES = {"down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q": (40, 24), "mid_block.attn_1.to_out.0": (24, 24),
           "up_blocks.1.ff.net.2": (16, 64), "proj_out": (8, 40)}
# of the weight, of lora_down and of lora_up
KERNELS = {"proj_in": ((24, 16, 1, 1), (16, 1, 1), (1, 1)), "conv_in": ((24, 5, 3, 3), (5, 3, 3), (1, 1)),
           "linear_for_conv": ((24, 16, 1, 1), (16,), ())}


def run(*command, code=0):
    done = subprocess.run([TARE, *command], capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{command}: exit {done.returncode}: {done.stderr}")


def main():
    rng = numpy.random.default_rng(1)
    count = 0

    def matrix(*shape, kind="f4"):
        return rng.standard_normal(shape).astype(kind)
    with tempfile.TemporaryDirectory() as folder:
        base = {m + ".weight": matrix(*shape) for m, shape in MODULES.items()}
        base["proj_out.bias"] = matrix(8)
        base.update({m + ".weight": matrix(*shape) for m, (shape, _, _) in KERNELS.items()})
        path = os.path.join(folder, "base.safetensors")
        save_file(base, path)
        for kind in ("f4", "f2"):
            for rank, alpha in ((1, 1.0), (4, 16.0), (8, None)):
                for dialect in ("kohya", "diffusers", "old", "header", "mlx"):
                    tensors, expected, meta = {}, dict(base), None
                    where = os.path.join(folder, f"{dialect}.{count}")
                    os.mkdir(where)
                    scale = 1.0 if alpha is None else alpha / rank
                    for module, (rows, cols) in MODULES.items():
                        down, up = matrix(rank, cols, kind=kind), matrix(rows, rank, kind=kind)
                        delta = up.astype("f8") @ down.astype("f8") * scale
                        expected[module + ".weight"] = base[module + ".weight"] + delta
                        stem = {"kohya": "lora_unet_" + module.replace(".", "_"), "mlx": module}.get(dialect, "unet." + module)
                        names = {"kohya": (".lora_down.weight", ".lora_up.weight"), "old": (".lora.down.weight", ".lora.up.weight"),
                                 "mlx": (".lora_a", ".lora_b")}.get(dialect, (".lora_A.weight", ".lora_B.weight"))
                        pair = (down.T, up.T) if dialect == "mlx" else (down, up)
                        for name, factor in zip(names, pair):
                            tensors[stem + name] = numpy.ascontiguousarray(factor)
                        if alpha is not None and dialect not in ("header", "mlx"):
                            tensors[stem + ".alpha"] = numpy.array(alpha, kind)
                    for module, (shape, inner, outer) in KERNELS.items() if dialect in ("kohya", "old") else ():
                        down, up = matrix(rank, *inner, kind=kind), matrix(shape[0], rank, *outer, kind=kind)
                        delta = up.astype("f8").reshape(shape[0], rank) @ down.astype("f8").reshape(rank, -1) * scale
                        expected[module + ".weight"] = base[module + ".weight"] + delta.reshape(shape)
                        stem = "lora_unet_" + module if dialect == "kohya" else "unet." + module
                        tensors[stem + names[0]], tensors[stem + names[1]] = down, up
                        if alpha is not None:
                            tensors[stem + ".alpha"] = numpy.array(alpha, kind)
                    if dialect == "header":
                        config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank if alpha is None else alpha, "bias": "none",
                                  "use_rslora": False, "rank_pattern": {}, "alpha_pattern": {}}
                        meta = {"lora_adapter_metadata": json.dumps({"unet." + k: v for k, v in config.items()})}
                    file = os.path.join(where, "adapters.safetensors")
                    save_file(tensors, file, meta)
                    if dialect == "mlx":
                        with open(os.path.join(where, "adapter_config.json"), "w", encoding="utf-8") as f:
                            json.dump({"fine_tune_type": "lora", "lora_parameters": {"rank": rank, "scale": scale}}, f)
                    out = os.path.join(where, "out.safetensors")
                    run("convert", path, out, "--apply-adapter", where if dialect == "mlx" else file, "--quiet", "--no-sync")
                    for name, tensor in load_file(out).items():
                        error = numpy.abs(tensor - expected[name]).max()
                        assert error < 1e-4, (dialect, rank, alpha, name, error)
                        is_changed = name not in base or not numpy.array_equal(expected[name], base[name])
                        assert not is_changed or numpy.abs(tensor - base[name]).max() > .1, name
                    count += 1
    print(count, "adapters as numpy merges them")


main()
