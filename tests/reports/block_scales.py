# SPDX-License-Identifier: MIT
"""Blocks whose scales are NaN or infinite, in each block format that GGUF and MCF hold: the same bytes at
every level of the CPU, a finding of verify, and no number made of them in silence."""
import json
import os
import random
import struct
import subprocess
import sys

# GGUF types by number: bytes of a block, numbers in it.
TYPES = {"q4_0": (2, 18, 32), "q4_1": (3, 20, 32), "q5_0": (6, 22, 32), "q5_1": (7, 24, 32),
         "q8_0": (8, 34, 32), "q2_k": (10, 84, 256), "q3_k": (11, 110, 256), "q4_k": (12, 144, 256),
         "q5_k": (13, 176, 256), "q6_k": (14, 210, 256), "iq2_xxs": (16, 66, 256), "iq2_xs": (17, 74, 256),
         "iq3_xxs": (18, 98, 256), "iq1_s": (19, 50, 256), "iq4_nl": (20, 18, 32), "iq3_s": (21, 110, 256),
         "iq2_s": (22, 82, 256), "iq4_xs": (23, 136, 256), "iq1_m": (29, 56, 256), "tq1_0": (34, 54, 256),
         "tq2_0": (35, 66, 256), "mxfp4": (39, 17, 32), "nvfp4": (40, 36, 64)}
# Where the scales of 16 bits are; MXFP4 has one of 8, NVFP4 four, IQ1_M one in the upper quarters of four words.
SCALES = {"q4_1": (0, 2), "q5_1": (0, 2), "q2_k": (80, 82), "q3_k": (108,), "q4_k": (0, 2), "q5_k": (0, 2),
          "q6_k": (208,), "tq1_0": (52,), "tq2_0": (64,)}
COLUMNS, ROWS = 256, 4


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def gguf(number, block, per_block, bad):
    random.seed(number)
    n = ROWS * COLUMNS // per_block
    data = bytearray(random.randbytes(n * block))
    for i in range(n):
        bad(data, i * block, i)
    head = struct.pack("<4sI2Q", b"GGUF", 3, 1, 0) + text("w") + struct.pack("<I2QIQ", 2, COLUMNS, ROWS, number, 0)
    return head + bytes(-len(head) % 32) + bytes(data)


def spoil(name, bits):
    def put(data, at, i):
        if name == "mxfp4":
            data[at] = 255
        elif name == "nvfp4":
            data[at:at + 4] = bytes((0x38, 0x7f if bits < 0x8000 else 0xff, 0x40, 0x38))
        elif name == "iq1_m":
            for k in range(4):
                data[at + 48 + 2 * k + 1] = data[at + 48 + 2 * k + 1] & 0x0f | (bits >> 4 * k & 15) << 4
        else:
            for k in SCALES.get(name, (0,)):
                struct.pack_into("<H", data, at + k, bits if i % 2 == 0 or k else 0x3c00)
    return put


def whole_scales(tare):
    """The scale of a whole packed weight is 1 / Inf in llama.cpp's form: 0, and no more a sign of damage."""
    for arguments in (("synth", "llama-chat:bf16", "hf", "--to", "hf", "--type", "bf16"), ("quantize", "hf", "packed", "nvfp4a16", "--to", "hf")):
        subprocess.run([tare, *arguments, "--force", "--no-sync", "--quiet"], check=True)
    with open("packed/model.safetensors", "r+b") as f:
        size, = struct.unpack("<Q", f.read(8))
        entries = json.loads(f.read(size))
        name = next(n for n in sorted(entries) if n.endswith("weight_global_scale"))
        for bits in (0x7f800000, 0xff800000, 0x7fc00000, 0):
            f.seek(8 + size + entries[name]["data_offsets"][0])
            f.write(struct.pack("<I", bits))
            f.flush()
            for verb in (("quantize", "packed", "o.gguf", "Q8_0"), ("convert", "packed", "o.gguf"), ("convert", "packed", "o.gguf", "--type", "f32")):
                done = subprocess.run([tare, *verb, "--force", "--no-sync"], capture_output=True, text=True)
                assert done.returncode == 3 and "no numbers" in done.stderr and name.split(".weight")[0] in done.stderr, (hex(bits), verb, done.stderr)


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for name, (number, block, per_block) in TYPES.items():
        for bits in (0xfe01, 0x7c00):
            with open("x.gguf", "wb") as f:
                f.write(gguf(number, block, per_block, spoil(name, bits)))
            for form in ("f32", "f16"):
                made = []
                for cpu in ("c", "avx2", "avx512"):
                    done = subprocess.run([tare, "convert", "x.gguf", "x.safetensors", "--type", form, "--cpu", cpu,
                                           "--force", "--no-sync"], capture_output=True, text=True)
                    if "this machine has" in done.stderr:
                        continue
                    assert done.returncode == 0, (name, done.stderr)
                    assert "infinite" in done.stderr or "NaN" in done.stderr or "Inf" in done.stderr, done.stderr
                    with open("x.safetensors", "rb") as f:
                        made.append(f.read())
                assert len(set(made)) == 1, (name, hex(bits), form)
            done = subprocess.run([tare, "verify", "--deep", "x.gguf"], capture_output=True, text=True)
            assert done.returncode == 1 and "data." in done.stdout + done.stderr, (name, done.stdout)
            done = subprocess.run([tare, "convert", "x.gguf", "q.gguf", "--type", "q8_0" if name != "q8_0" else "q4_0",
                                   "--force", "--no-sync"], capture_output=True, text=True)
            assert done.returncode != 0 or "NaN" in done.stderr or "Inf" in done.stderr, (name, done.stderr)
            done = subprocess.run([tare, "extract", "x.gguf", "w", "-o", "w.npy", "--force"], capture_output=True, text=True)
            assert done.returncode == 0 and "[extract.nan]" in done.stderr or "[extract.inf]" in done.stderr, (name, done.stderr)
            done = subprocess.run([tare, "info", "--stats", "--json", "x.gguf"], capture_output=True, text=True)
            found = json.loads(done.stdout)["models"][0]["tensors"][0]["stats"]
            odd = found["nan_count"] + found["infinite_count"]
            assert odd and sum(found["histogram_counts"]) == found["finite_count"] == ROWS * COLUMNS - odd, (name, found)
            done = subprocess.run([tare, "extract", "x.gguf", "w", "-o", "w.bin", "--force"], capture_output=True, text=True)
            assert done.returncode == 0 and not done.stderr, (name, done.stderr)
    whole_scales(tare)
    print("%d formats with bad scales" % len(TYPES))


main()
