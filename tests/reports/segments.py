# SPDX-License-Identifier: MIT
"""Segments of a .wcodec that changed places, as a misdirected write leaves them: each decodes and has
its own CRC. Files of version 1.2 have the CRCs in their index; older ones, made here by taking them
out, have the CRC of each layer only, which tells once all of a layer was decoded."""
import os
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402

MARK = b"CRCS"


def older(data):
    """The same file as version 1.0 had it."""
    offset, = struct.unpack_from("<Q", data, 51)
    index = data[offset:-32]
    n_layers = struct.unpack_from("<I", index)[0]
    sizes = list(struct.unpack_from("<3Q", index, 16))
    at, layers = 64, b""
    for _ in range(n_layers):
        size, = struct.unpack_from("<I", index, at)
        record = index[at:at + size]
        record = record[:record.rindex(MARK)]
        layers += struct.pack("<I", len(record)) + record[4:]
        at += size
    new = index[:16] + struct.pack("<3Q", len(layers), *sizes[1:]) + index[40:64] + layers + index[at:]
    header = bytearray(data[:128])
    header[10] = 0
    struct.pack_into("<2Q", header, 64, offset + len(new) + 32, len(new))
    footer = struct.pack("<2Q2I", offset, len(new), zlib.crc32(bytes(header) + new), 0)
    return bytes(header) + data[128:offset] + new + footer + b"WCODEC\0\1"


def spans(data):
    """(first byte, size) of each layer's data, in the order of names."""
    offset, = struct.unpack_from("<Q", data, 51)
    at, found = offset + 64, {}
    for _ in range(struct.unpack_from("<I", data, offset)[0]):
        size, = struct.unpack_from("<I", data, at)
        kind, n_dims, n_regions = data[at + 4:at + 7]
        n_name, = struct.unpack_from("<H", data, at + 10)
        name = data[at + 40 + 8 * (n_dims + n_regions):][:n_name].decode()
        found[kind, name] = struct.unpack_from("<2Q", data, at + 24)
        at += size
    return found


def swapped(data, a, b, copied=False):
    """Layers a and b changed places, or a lies where b should, too."""
    at, n = spans(data)[0, a]
    to, m = spans(data)[0, b]
    assert n == m, "the layers have the same size"
    out = bytearray(data)
    out[to:to + n] = data[at:at + n]
    if not copied:
        out[at:at + n] = data[to:to + n]
    return bytes(out)


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)

    def run(code, *arguments):
        done = subprocess.run([tare, *arguments], capture_output=True, text=True)
        assert done.returncode == code, (arguments, done.returncode, done.stderr)
        return done.stdout + done.stderr

    rows = [("norm_a", 1), ("norm_b", 2), ("norm_c", 3)]
    with open("a.safetensors", "wb") as f:
        f.write(safetensors([(name, "F32", [64], struct.pack("<64I", *(
            0x3f800000 + (seed * 2654435761 * (i + 1) & 0x7fffff) for i in range(64))))
            for name, seed in rows]))
    run(0, "pack", "a.safetensors", "a.wcodec", "--force", "--quiet")
    with open("a.wcodec", "rb") as f:
        packed = f.read()
    for version, sound in (("1.2", packed), ("1.0", older(packed))):
        with open("sound.wcodec", "wb") as f:
            f.write(sound)
        assert f"wcodec {version}" in run(0, "info", "sound.wcodec")
        run(0, "unpack", "sound.wcodec", "back.safetensors", "--force", "--quiet")
        run(0, "diff", "back.safetensors", "a.safetensors")
        for copied in (False, True):
            with open("wrong.wcodec", "wb") as f:
                f.write(swapped(sound, "norm_a", "norm_b", copied))
            for arguments in (("unpack", "wrong.wcodec", "out.safetensors"),
                              ("convert", "wrong.wcodec", "out.gguf"),
                              ("convert", "wrong.wcodec", "out.gguf", "--type", "f16"),
                              ("diff", "wrong.wcodec", "a.safetensors"),
                              ("extract", "wrong.wcodec", "norm_b", "-o", "out.npy")):
                said = run(3, *arguments)
                assert "norm_" in said, said
            assert not [n for n in os.listdir(".") if n.startswith("out")], "nothing is written"
            run(1, "verify", "--deep", "wrong.wcodec")
            run(0, "extract", "wrong.wcodec", "norm_c", "-o", "c.npy", "--force")
    print("segments in the wrong place are found by every verb")


main()
