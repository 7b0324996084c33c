#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All packed samples of TARE_TEST_DATA/../cases/schemes in all targets. Each conversion gives the numbers of the sample, as
the target holds them, or is refused with a reason: what `convert --to hf --type f32` makes of it is compared. Exit 77
without the samples. `matrix.py TARE [-v] [SAMPLE...]`"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../support")]
import numpy as np  # noqa: E402
from judge_schemes import BYTES, F, half, number, samples  # noqa: E402
from safetensors_file import read_safetensors  # noqa: E402

# The words of the command after IN OUT, OUT, and how the numbers may differ: not at all, rounded once, or by so much of
# their root mean square.
TARGETS = {
    "hf f32": (["convert", "--to", "hf", "--type", "f32"], "out", 0), "hf bf16": (["convert", "--to", "hf", "--type", "bf16"], "out", "bf16"),
    "hf": (["convert", "--to", "hf"], "out", 0), "gguf": (["convert", "--no-tokenizer"], "out.gguf", 2.0 ** -8),
    "gguf f32": (["convert", "--no-tokenizer", "--type", "f32"], "out.gguf", 0), "mlx": (["convert", "--to", "mlx"], "out", 2.0 ** -8),
    "mlx4": (["quantize", "mlx4"], "out", .145), "w4a16": (["quantize", "w4a16:g32"], "out", .145), "fp8": (["quantize", "fp8_dynamic"], "out", .035),
    "nvfp4": (["quantize", "nvfp4a16"], "out", .12), "mcf": (["convert"], "out.mcf", 0), "mcf f32": (["convert", "--type", "f32"], "out.mcf", 0),
    "safetensors": (["convert"], "out.safetensors", 0), "safetensors f32": (["convert", "--type", "f32"], "out.safetensors", 0),
    "wcodec": (["pack"], "out.wcodec", 0),
}
# Architectures without a mapping, and files without a config.json, for which there is no such target.
REASONS = ("does not map", "llama.cpp has no such tensor", "config.json", "no weight that the scheme could hold", "architecture",
           "does not fit", "contradicts", "tensor names")


def run(tare, *words):
    return subprocess.run([tare, *words], capture_output=True, text=True)


def tensors(path):
    if os.path.isdir(path):
        path = os.path.join(path, "model.safetensors")
    return {n: number(k, np.frombuffer(d, BYTES[k]).reshape(s)) for n, (k, s, d) in read_safetensors(path)[1].items()}


def expert(have, name):
    """An expert's matrix out of what MLX has for all of a layer, whose names mlx-lm gives them; None: there is none."""
    before, word, after = name.partition(".experts.")
    number, _, part = after.partition(".")
    for own, mlx in (("w1.", "gate_proj."), ("w2.", "down_proj."), ("w3.", "up_proj.")):
        part = mlx + part[len(own):] if part.startswith(own) else part
    stack = have.get(f"{before}.switch_mlp.{part}") if word else None
    return None if stack is None else stack[int(number)]


def differs(have, want, most):
    """A text; None: they are equal, as far as they have to be."""
    have = {**{n: expert(have, n) for n in want if expert(have, n) is not None}, **have}
    if set(want) - set(have):
        return f"without {sorted(set(want) - set(have))[:3]}"
    for name, right in want.items():
        right, got = np.asarray(right, F), have[name].astype(F)
        if got.shape != right.shape:
            return f"{name} is {got.shape}, not {right.shape}"
        if most == "bf16":
            right = number("BF16", half(right))
        error = np.sqrt(np.mean((got - right).astype(float) ** 2) / max(np.mean(right.astype(float) ** 2), 1e-30))
        if not error <= (0 if most == "bf16" else most):
            return f"{name}: error {error:.3g}"
    return None


def cell(tare, source, want, target, work):
    """What a conversion is: "" right, "-" refused, or what is wrong."""
    words, out, most = TARGETS[target]
    out, back = os.path.join(work, out), os.path.join(work, "back")
    for p in (out, back):
        shutil.rmtree(p, ignore_errors=True)
        if os.path.exists(p):
            os.remove(p)
    done = run(tare, words[0], source, out, *words[1:], "-q")
    if done.returncode:
        return "-" if done.returncode in (2, 3, 5) and any(r in done.stderr for r in REASONS) else f"exit {done.returncode}: {done.stderr.strip()}"
    done = run(tare, "convert", out, back, "--to", "hf", "--type", "f32", "-q")
    if done.returncode:
        return f"back: exit {done.returncode}: {done.stderr.strip()}"
    return differs(tensors(back), want, most) or ""


def main():
    names = [a for a in sys.argv[2:] if a != "-v"]
    tare, made, counts = os.path.abspath(sys.argv[1]), samples(), {"": 0, "-": 0, "wrong": 0}
    if not made:
        return 77
    work = tempfile.mkdtemp(prefix="tare-matrix-")
    for name in names or made.SAMPLES:
        source, want = made.write(work, name), made.expected(name)
        for target in TARGETS:
            is_ = cell(tare, source, want, target, work)
            counts[is_ if is_ in counts else "wrong"] += 1
            if is_ not in ("", "-") or is_ and "-v" in sys.argv:
                print(f"{name}: {target}: {is_}", flush=True)
    shutil.rmtree(work)
    print(f"{sum(counts.values())} conversions: {counts['']} right, {counts['-']} refused, {counts['wrong']} wrong")
    return bool(counts["wrong"])


if __name__ == "__main__":
    sys.exit(main())
