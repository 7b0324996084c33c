#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/python.py [--shape llama-300m] [--runs 4]: the Python package beside its peers, in one run.

How quick are a look-up, a small tensor, opening, decoding, Ctrl-C, and loading a whole model, and how much
memory does it take? Each number is the best of several runs, of Ctrl-C the worst; loads run in processes of
their own, because pages that are there already would count for the second. safetensors, gguf and torch take
part where they are installed; read the ratios, not the numbers of a machine at work.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import timeit

HAS = {name: importlib.util.find_spec(name) is not None
       for name in ("numpy", "safetensors", "gguf", "torch", "ml_dtypes", "zipnn")}

LOADS = {
    "tare .wcodec to torch": "tare.load(packed, framework='torch')",
    "tare .wcodec to torch, 1 thread": "tare.load(packed, framework='torch', threads=1)",
    "tare .wcodec to numpy": "tare.load(packed)",
    "tare .wcodec into memory that is there": "tare.load(packed, out=out)",
    "tare .safetensors to torch, mapped": "tare.load(plain, framework='torch')",
    "tare .safetensors to torch, read": "tare.load(tare.open(plain, map=False), framework='torch')",
    "safetensors to torch, mapped": "safetensors.torch.load_file(plain)",
    "safetensors to torch, pread": "[f.get_tensor(k) for f in [safetensors.safe_open(plain, 'pt', "
                                   "backend='pread')] for k in f.keys()]",
    "ZipNN to torch, a tensor at a time": "unzip(open(packed + '.zipnn', 'rb'))",
}
ZIP = """
import pickle, sys, warnings
import safetensors.torch, zipnn
plain, packed = sys.argv[1:3]
with open(packed + ".zipnn", "wb") as f:
    for name, tensor in safetensors.torch.load_file(plain).items():
        pickle.dump((name, bytes(zipnn.ZipNN(input_format="torch", threads=2).compress(tensor))), f)
    pickle.dump(None, f)
"""
LOAD = """
import sys, time, json
plain, packed = sys.argv[1:3]
import tare, numpy
if {torch}: import torch
if {safetensors}: import safetensors, safetensors.torch
def unzip(f):
    import pickle, zipnn
    out = {{}}
    while item := pickle.load(f):
        out[item[0]] = zipnn.ZipNN(input_format="torch", threads=2).decompress(item[1])
    return out
if "unzip" in {what!r}:
    import zipnn
out = None
if "out=out" in {what!r}:
    out = {{n: torch.ones(t.shape, dtype=t.encoding.torch_dtype()) for n, t in tare.open(packed).items()}}
tare.load(tare.saves({{"x": numpy.ones(3)}}), framework={framework!r})
wall, cpu = time.perf_counter(), time.process_time()
x = {what}
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""


def best(statement, names, number, repeat=5):
    return min(timeit.repeat(statement, globals=names, number=number, repeat=repeat)) / number


def row(what, value, unit):
    print(f"{what:52} {value:10.3f} {unit}", flush=True)


def small_things(folder):
    code = "import time; t = time.perf_counter(); import tare; print(time.perf_counter() - t)"
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                 check=True, env=env).stdout) for _ in range(8)]
    row("import tare", min(runs) * 1e3, "ms")
    import numpy
    import tare
    path = os.path.join(folder, "small.safetensors")
    tare.save({f"model.layers.{i}.norm.weight": numpy.ones(64, "float32") for i in range(300)}, path,
              force=True)
    names = {"m": tare.open(path), "n": "model.layers.150.norm.weight", "d": {"x": 1}}
    row("a dict's look-up, to compare with", best("d['x']", names, 10 ** 6) * 1e9, "ns")
    row("Model.find(name)", best("m.find(n)", names, 10 ** 6) * 1e9, "ns")
    row("model[name]", best("m[n]", names, 10 ** 6) * 1e9, "ns")
    names["m"][names["n"]].numpy()
    row("model[name].numpy(), 256 bytes", best("m[n].numpy()", names, 10 ** 5) * 1e6, "us")
    if HAS["torch"]:
        row("model[name].torch(), 256 bytes", best("m[n].torch()", names, 2 * 10 ** 4) * 1e6, "us")
    if HAS["safetensors"]:
        import safetensors
        names["s"] = safetensors.safe_open(path, "np")
        from tare.safetensors import safe_open
        names["o"] = safe_open(path, "np")
        row("tare.safetensors get_tensor, numpy", best("o.get_tensor(n)", names, 10 ** 5) * 1e6, "us")
        row("safetensors get_tensor, numpy", best("s.get_tensor(n)", names, 10 ** 5) * 1e6, "us")
    if HAS["safetensors"] and HAS["torch"]:
        names["s"], names["o"] = safetensors.safe_open(path, "pt"), safe_open(path, "pt")
        row("tare.safetensors get_tensor, torch", best("o.get_tensor(n)", names, 2 * 10 ** 4) * 1e6, "us")
        row("safetensors get_tensor, torch", best("s.get_tensor(n)", names, 2 * 10 ** 4) * 1e6, "us")


INTERRUPT = """
import json, os, signal, sys, threading, time
import numpy, tare, tare.wcodec
def ones(n):
    return numpy.random.default_rng(0).standard_normal(n, numpy.float32).reshape(-1, 4096)
if "ones(" in {verb!r}:
    made = ones(1 << 26)
    ones = lambda n: made[:n // 4096]
plain, packed, out, delay = *sys.argv[1:4], float(sys.argv[4])
signal.signal(signal.SIGINT, signal.default_int_handler)
pressed = 0
def press():
    global pressed
    time.sleep(delay)
    pressed = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
seconds, ended = None, False
try:
    {verb}
    ended = True
    time.sleep(delay)
except KeyboardInterrupt:
    seconds = None if ended else time.perf_counter() - pressed
print(json.dumps(seconds))
os._exit(0)
"""
VERBS = {
    "open, with a base": "tare.open(packed + '.delta', base=[plain])",
    "convert": "tare.convert(plain, out, to='gguf', type='f16')",
    "convert, measured, verified": "tare.convert(plain, out, to='gguf', type='q8_0', report=True, verify=True)",
    "quantize": "tare.quantize(plain, out, 'Q4_K_M', to='gguf')",
    "quantize, best quality": "tare.quantize(plain, out, 'Q4_K_M', to='gguf', quality='best')",
    "save": "tare.save(tare.open(plain), out, to='gguf', type='q8_0')",
    "saves": "tare.saves(dict(tare.open(packed)))",
    "pack": "tare.pack(plain, out)",
    "pack, full effort": "tare.pack(plain, out, effort='full')",
    "pack, with loss": "tare.pack(plain, out, lossy=True, target_bpw=4)",
    "unpack": "tare.unpack(packed, out)",
    "materialized": "tare.materialized(packed).__enter__()",
    "write_manifest": "tare.write_manifest(packed, out)",
    "verify": "tare.verify(packed, deep=True)",
    "diff": "tare.diff(plain, packed)",
    "digest": "tare.digest(packed)",
    "Tensor.numpy, of the largest": "max(tare.open(packed).values(), key=lambda t: t.nbytes).numpy()",
    "Encoding.encode": "tare.encodings['q4_k'].encode(ones(1 << 25), quality='best')",
    "wcodec.encode": "tare.wcodec.encode(ones(1 << 26), effort='full')",
    "load": "tare.load(packed)",
    "stream": "list(tare.stream(packed, framework='numpy'))",
}


SLICES = """
import json, sys, time
import torch, safetensors, tare.safetensors
lib = {{"safetensors": safetensors, "tare": tare.safetensors}}[{lib!r}]
def anonymous():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon")) / 1024
with lib.safe_open(sys.argv[1], "pt") as f:
    f.get_slice(f.keys()[0])[...]
before, start = anonymous(), time.perf_counter()
with lib.safe_open(sys.argv[1], "pt") as f:
    out = [f.get_slice(name){key} for name in f.keys() if len(f.get_slice(name).get_shape()) == 2]
print(json.dumps([(time.perf_counter() - start) * 1e3, anonymous() - before]))
"""
KEYS = {"whole": "[...]", "some rows": "[:100]", "some columns": "[:, :100]"}


def slices(plain, n_runs):
    """get_slice as transformers calls it, of every matrix, in turns with safetensors."""
    print("\nget_slice of all matrices: ms, MiB of memory")
    for name, key in KEYS.items():
        best_of = {}
        for lib in ("safetensors", "tare") * n_runs:
            done = subprocess.run([sys.executable, "-c", SLICES.format(lib=lib, key=key), plain],
                                  check=True, capture_output=True, text=True)
            run = json.loads(done.stdout)
            best_of[lib] = [min(pair) for pair in zip(best_of.get(lib, run), run)]
        for lib, (ms, mib) in best_of.items():
            print(f"{lib + ', ' + name:52} {ms:10.2f} {mib:10.1f}", flush=True)


def interrupts(folder, plain, packed):
    """How long Ctrl-C takes, at three moments of each verb, and whether anything is left."""
    import tare
    tare.pack(plain, packed + ".delta", base=[plain], force=True)
    print("\nCtrl-C: longest of three, ms")
    for name, verb in VERBS.items():
        longest = 0.0
        for delay in (0.03, 0.1, 0.3):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                code = INTERRUPT.format(verb=verb)
                took = json.loads(subprocess.run(
                    [sys.executable, "-c", code, plain, packed, os.path.join(place, "out"), str(delay)],
                    check=True, capture_output=True, text=True).stdout)
                left = os.listdir(place) if took is not None else []
            longest = max(longest, took or 0)
            if left:
                print(f"{name}: left {left}")
        row(name, longest * 1e3, "ms")


PEAK = """
import sys
import tare, numpy
plain, packed = sys.argv[1:3]
def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024
tare.load(tare.saves({{"x": numpy.ones(3)}}))
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")
before, n = peak(), 0
for array in {what}:
    n += array.nbytes / 2 ** 20
print(peak() - before, n)
"""
PEAKS = {"load .wcodec": "tare.load(packed).values()",
         "load .safetensors as float32": "tare.load(plain, dtype='float32').values()",
         "stream .wcodec, window of 256 MiB": "(a for _, a in tare.stream(packed, framework='numpy'))",
         "stream .wcodec, window of 64 MiB":
             "(a for _, a in tare.stream(packed, framework='numpy', window=64 << 20))"}


def peaks(plain, packed):
    print("\nPeak memory: MiB beside what was there, MiB of tensors")
    for name, what in PEAKS.items():
        done = subprocess.run([sys.executable, "-c", PEAK.format(what=what), plain, packed], check=True,
                              capture_output=True, text=True)
        most, tensors = map(float, done.stdout.split())
        print(f"{name:52} {most:10.1f} {tensors:10.1f}", flush=True)


def gguf_things(folder):
    import numpy
    import tare
    path = os.path.join(folder, "vocabulary.gguf")
    rng = numpy.random.default_rng(0)
    tare.save({"w": rng.standard_normal((2048, 4096), dtype=numpy.float32)}, path, type="q4_k",
              metadata={"general.architecture": "llama",
                        "tokenizer.ggml.tokens": [f"token{i}" for i in range(262144)]}, force=True)
    names = {"tare": tare, "path": path, "t": tare.open(path)["w"]}
    row("open a GGUF with 262,144 tokens", best("tare.open(path)", names, 20) * 1e3, "ms")
    tokens = {kind: [f"{text}{i}" for i in range(262144)]
              for kind, text in (("Latin", "\u0120the"), ("Chinese", "\u6570\u636e"))}
    tokens["Latin, some of 128 bytes or more"] = [
        "\u0120" * (64 + i // 8192) if i % 8192 == 0 else t for i, t in enumerate(tokens["Latin"])]
    for kind, texts in tokens.items():
        other = os.path.join(folder, "other.gguf")
        tare.save({"w": numpy.ones((2, 32), "float32")}, other, force=True,
                  metadata={"general.architecture": "llama", "tokenizer.ggml.tokens": texts})
        row(f"the same, {kind}", best(lambda: tare.open(other), {}, 20) * 1e3, "ms")
    speed = 2048 * 4096 / best("t.numpy()", names, 3)
    row("Q4_K to numpy, one thread", speed / 1e6, "Melem/s")
    if HAS["gguf"]:
        import gguf
        start = time.perf_counter()
        reader = gguf.GGUFReader(path)
        row("gguf-py opens it", (time.perf_counter() - start) * 1e3, "ms")
        names["dequantize"] = lambda t=reader.tensors[0]: gguf.quants.dequantize(t.data, t.tensor_type)
        row("gguf-py's dequantize", 2048 * 4096 / best("dequantize()", names, 1, 2) / 1e6, "Melem/s")


def load_things(folder, shape, n_runs):
    import tare
    plain, packed = (os.path.join(folder, "model" + s) for s in (".safetensors", ".wcodec"))
    tare.convert(tare.synth(shape + ":bf16"), plain, force=True)
    tare.pack(plain, packed, force=True)
    if HAS["zipnn"]:
        subprocess.run([sys.executable, "-W", "ignore", "-c", ZIP, plain, packed], check=True)
    sizes = [os.path.getsize(p) / 1e6 for p in (plain, packed)]
    if HAS["ml_dtypes"]:
        peaks(plain, packed)
        interrupts(folder, plain, packed)
    if HAS["torch"] and HAS["safetensors"]:
        slices(plain, n_runs)
    print(f"\nLoading {sizes[0]:.0f} MB of BF16 (.wcodec {sizes[1]:.0f} MB): wall s, CPU s")
    for name, what in LOADS.items():
        needs_torch = "torch" in name or "memory" in name
        if needs_torch and not HAS["torch"] or "safetensors." in what and not HAS["safetensors"]:
            continue
        if "unzip" in what and not HAS["zipnn"]:
            continue
        if not needs_torch and not HAS["ml_dtypes"]:
            continue
        code = LOAD.format(what=what, torch=needs_torch, safetensors="safetensors." in what and HAS["torch"],
                           framework="torch" if needs_torch else "numpy")
        runs = [json.loads(subprocess.run([sys.executable, "-c", code, plain, packed], check=True,
                                          capture_output=True, text=True).stdout) for _ in range(n_runs)]
        print(f"{name:52} {min(r[0] for r in runs):10.3f} {min(r[1] for r in runs):10.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shape", default="llama-300m", help="of tare synth")
    parser.add_argument("--runs", type=int, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tare-bench-") as folder:
        small_things(folder)
        gguf_things(folder)
        load_things(folder, args.shape, args.runs)


main()
