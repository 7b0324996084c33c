#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command's MCF files, read by a reader of their own: mcf_agrees.py TARE FOLDER.

A Hugging Face directory with odd columns, side files and tied embeddings goes into MCF in every
number format. The reader must find every rule kept, the same side files, and in each tensor the
numbers that the library decodes (as F32 in safetensors). The directory comes back with the same
bytes in every tensor and file."""
import os
import random
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
from mcf_reader import File  # noqa: E402
from safetensors_file import read_safetensors, safetensors  # noqa: E402

TYPES = ("q8", "q4", "k6", "k4", "k3", "k2", "mcf_int8", "mcf_int4", "mcf_int8_zero",
         "mcf_int4_zero")
WAYS = ((), ("--quality", "best"), ("--compat", "mantle"), ("--clip", "-0.5:1"))
SIDE = {"config.json": b'{"model_type": "qwen3", "vocab_size": 37, "hidden_size": 45, '
                       b'"num_hidden_layers": 1, "rope_theta": 10000.5}\n',
        "generation_config.json": b"{}", "tokenizer.json": b'{"a":\n1}', "vocab.json": b"{ }",
        "tokenizer_config.json": b'{"b":2}', "merges.txt": b"a b\nc d\n",
        "chat_template.jinja": b"{{ x }}", "LICENSE": b"\xff\0 any bytes", "empty.txt": b"",
        "mcf-section-00000004-00000001": b"a file, not a section"}


def floats(rng, n):
    return struct.pack("<%df" % n, *(rng.gauss(0, 0.4) for _ in range(n)))


def bfloats(rng, n):
    return b"".join(struct.pack("<f", rng.gauss(0, 0.4))[2:] for _ in range(n))


def make_directory(folder):
    rng = random.Random(7)
    embedding, matrix = floats(rng, 37 * 45), floats(rng, 768)
    tensors = [("model.embed_tokens.weight", "F32", [37, 45], embedding),
               ("lm_head.weight", "F32", [37, 45], embedding),
               ("model.layers.0.self_attn.q_proj.weight", "F32", [5, 300], floats(rng, 1500)),
               ("model.layers.0.mlp.up_proj.weight", "F32", [3, 256], matrix),
               ("model.layers.0.mlp.gate_proj.weight", "F32", [3, 256], matrix),
               ("model.layers.0.mlp.down_proj.weight", "BF16", [2, 31], bfloats(rng, 62)),
               ("model.norm.weight", "F32", [45], floats(rng, 45)),
               ("ids", "I64", [3], struct.pack("<3q", 1, -2, 1 << 40))]
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(safetensors(tensors))
    for name, content in SIDE.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)


class Run:
    def __init__(self, tare, folder):
        self.tare, self.folder = tare, folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, a, b, *options):
        done = subprocess.run([self.tare, "convert", self.path(a), self.path(b), "--quiet", "--no-sync",
                               "--force", *options], stderr=subprocess.PIPE, check=False)
        return done.returncode, done.stderr.decode()

    def must_convert(self, a, b, *options):
        code, text = self.convert(a, b, *options)
        if code:
            sys.exit("convert %s %s %s: %d\n%s" % (a, b, " ".join(options), code, text))

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return File(f.read())


def check_values(run, name, *options):
    """What the reader makes of each tensor is what the library decodes."""
    run.must_convert(name, "decoded.safetensors", *(options or ("--tensor-type", "weight=f32")))
    _, decoded = read_safetensors(run.path("decoded.safetensors"))
    mine = run.read(name)
    assert len(mine.tensors) == len(decoded)
    for t in mine.tensors:
        dtype, shape, raw = decoded[t.name.decode()]
        assert list(t.shape) == shape, t.name
        if dtype == "F32":
            values = mine.values(t)
            assert struct.pack("<%df" % len(values), *values) == raw, (name, t.name)


def check_way_back(run):
    run.must_convert("hf", "plain.mcf", "--verify")
    mine = run.read("plain.mcf")
    assert mine.files == SIDE, sorted(mine.files)
    by_name = {t.name: t for t in mine.tensors}
    tied = by_name[b"lm_head.weight"], by_name[b"model.embed_tokens.weight"]
    assert tied[0].offset == tied[1].offset
    arch, = struct.unpack_from("<I", mine.section(1), 8)
    base, = struct.unpack_from("<f", mine.section(1), 48)
    assert (arch, base) == (3, 10000.5)
    run.must_convert("plain.mcf", "back", "--to", "hf")
    assert read_safetensors(run.path("back/model.safetensors")) == read_safetensors(
        run.path("hf/model.safetensors"))
    for name, content in SIDE.items():
        with open(run.path("back/" + name), "rb") as f:
            assert f.read() == content, name
    run.must_convert("plain.mcf", "again.mcf")
    assert run.read("again.mcf").raw == mine.raw
    run.must_convert("hf", "none.mcf", "--dedup", "none")
    assert len(run.read("none.mcf").raw) > len(mine.raw)


def check_unknown_sections(run):
    """A section that nobody knows crosses a directory and comes back."""
    raw = bytearray(run.read("plain.mcf").raw)
    count, directory = struct.unpack_from("<IQ", raw, 12)
    records = bytes(raw[directory:directory + 24 * count])
    del raw[directory:]
    raw += b"nobody knows    "
    raw += records + struct.pack("<IIQQ", 0x8001, 7, directory, 12)
    struct.pack_into("<I", raw, 12, count + 1)
    struct.pack_into("<QQ", raw, 16, directory + 16, len(raw))
    with open(run.path("unknown.mcf"), "wb") as f:
        f.write(raw)
    run.must_convert("unknown.mcf", "there", "--to", "hf")
    run.must_convert("there", "unknown-back.mcf")
    for name in ("unknown.mcf", "unknown-back.mcf"):
        mine = run.read(name)
        assert mine.sections[0x8001][0] == 7 and mine.section(0x8001) == b"nobody knows", name


def check_repacking(run):
    run.must_convert("hf", "q8_0.gguf", "--tensor-type", "up_proj=q8_0", "--keep-names")
    run.must_convert("q8_0.gguf", "q8.mcf")
    t = {t.name: t for t in run.read("q8.mcf").tensors}[b"model.layers.0.mlp.up_proj.weight"]
    assert t.dtype == 0x20
    check_values(run, "q8.mcf")
    run.must_convert("q8.mcf", "back.gguf", "--keep-names")
    done = subprocess.run([run.tare, "diff", run.path("q8_0.gguf"), run.path("back.gguf")],
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stdout.decode()


def check_dedup(run):
    """Tied embeddings are stored once unless that is not wanted, other equals only if it is."""
    def places(*options):
        run.must_convert("hf", "dedup.mcf", *options)
        found = {t.name.decode().split(".")[-2]: t.offset for t in run.read("dedup.mcf").tensors
                 if t.name.endswith(b".weight")}
        return (found["lm_head"] == found["embed_tokens"], found["gate_proj"] == found["up_proj"])
    assert places() == (True, False)
    assert places("--dedup", "all") == (True, True)
    assert places("--dedup", "none") == (False, False)
    assert places("--type", "k4", "--dedup", "all", "--verify") == (True, True)
    assert places("--tensor-type", "lm_head=q4", "--dedup", "all") == (False, True)


def check_ways(run):
    """The same bytes by any number of threads, at any CPU level, through a pipe."""
    for kind in ("k3", "q8", "mcf_int4_zero"):
        run.must_convert("hf", "one.mcf", "--type", kind, "--threads", "1")
        one = run.read("one.mcf").raw
        for options in (("--threads", "3"), ("--cpu", "c")):
            run.must_convert("hf", "other.mcf", "--type", kind, *options)
            assert run.read("other.mcf").raw == one, (kind, options)
        done = subprocess.run([run.tare, "convert", run.path("hf"), "-", "--to", "mcf", "--type",
                               kind, "--quiet"], stdout=subprocess.PIPE, check=True)
        assert done.stdout == one, kind


def check_odd_numbers(run):
    """NaN and Inf are no numbers for a scale, strict or not; plain types keep them."""
    for i, odd in enumerate((float("nan"), float("inf"), 1e10)):
        name = "odd%d.safetensors" % i
        with open(run.path(name), "wb") as f:
            f.write(safetensors([("a.weight", "F32", [1, 32], struct.pack("<32f", odd, *[1] * 31))]))
        code, text = run.convert(name, "odd.mcf", "--type", "q4")
        assert code == 5 and "a.weight" in text, (odd, code, text)
        assert not os.path.exists(run.path("odd.mcf"))
        run.must_convert(name, "plain-odd.mcf")


def check_real(run):
    """Models of others, where they are to be had."""
    folder = os.environ.get("TARE_TEST_DATA")
    for name in ("silero_vad_16k.safetensors", "voices.safetensors"):
        path = os.path.join(folder or "", name)
        if not folder or not os.path.exists(path):
            print("SKIP %s: TARE_TEST_DATA does not have it" % name)
            continue
        shutil.copy(path, run.path(name))
        for options in ((), ("--type", "k4"), ("--type", "q8", "--dedup", "all")):
            run.must_convert(name, "real.mcf", *options)
            check_values(run, "real.mcf", "--tensor-type", ".=f32")
        run.must_convert(name, "real.mcf")
        run.must_convert("real.mcf", "again.safetensors")
        assert read_safetensors(run.path("again.safetensors")) == read_safetensors(path)


def main():
    run = Run(os.path.abspath(sys.argv[1]), sys.argv[2])
    make_directory(run.path("hf"))
    check_way_back(run)
    check_unknown_sections(run)
    check_repacking(run)
    check_dedup(run)
    check_ways(run)
    check_odd_numbers(run)
    check_real(run)
    n = 0
    for kind in TYPES:
        for way in WAYS:
            if kind.startswith("mcf_") and way and way[0] == "--compat":
                continue
            run.must_convert("hf", "made.mcf", "--type", kind, *way)
            check_values(run, "made.mcf")
            n += 1
    print("mcf: %d files agree" % n)


if __name__ == "__main__":
    main()
