# SPDX-License-Identifier: MIT
"""Files that NumPy writes are what tare reads: every array of numbers under its name, byte for byte, in either order of
bytes and of rows; packed and unpacked, they are the same. Run by judge.py."""
import os
import subprocess
import tempfile

import numpy
from safetensors.numpy import load_file

TARE = os.environ["TARE_COMMAND"]


def run(*command, code=0):
    done = subprocess.run([TARE, *command], capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def arrays():
    line = numpy.arange(60)
    for kind in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"):
        yield kind, line.astype(kind).reshape(3, 4, 5)
    yield "bool", (line % 3 == 0)
    yield "complex", (line + 1j * line[::-1]).astype("c8").reshape(6, 10)
    for kind in (">f8", ">f4", ">f2", ">i8", ">i4", ">u2", ">c8"):
        yield "big" + kind[1:], line.astype(kind).reshape(10, 6)
    yield "columns", numpy.asfortranarray(line.astype("f4").reshape(6, 10))
    yield "columns.big", numpy.asfortranarray(line.astype(">i8").reshape(3, 4, 5))
    yield "large.columns", numpy.asfortranarray((numpy.arange(700 * 900) % 1000).astype("f2").reshape(700, 900))
    yield "scalar", numpy.array(7)
    yield "none", numpy.zeros((0, 3), "f4")
    yield "of one", numpy.ones((1, 1, 1), "f8")
    yield "model/layers.0/weight", line.astype("f4")
    yield "\u6587", line.astype("i4")


def equal(got, expected, where):
    expected = numpy.array(expected, expected.dtype.newbyteorder("="), order="C")
    assert got.dtype == expected.dtype, (where, got.dtype)
    assert got.shape == expected.shape, (where, got.shape)
    assert got.tobytes() == expected.tobytes(), where


def check(path, expected):
    out = path + ".safetensors"
    run("convert", path, out, "--force", "--quiet", "--no-sync")
    got = load_file(out)
    assert sorted(got) == sorted(expected), (path, sorted(got), sorted(expected))
    for name, array in expected.items():
        equal(got[name], array, (path, name))
    run("verify", "--deep", "--strict", "--quiet", path)
    run("pack", path, path + ".wcodec", "--force", "--quiet", "--no-sync")
    run("unpack", path + ".wcodec", path + ".again", "--force", "--quiet", "--no-sync")
    with open(path, "rb") as a, open(path + ".again", "rb") as b:
        assert a.read() == b.read(), (path, "unpacked")


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        every = dict(arrays())
        for i, (name, array) in enumerate(every.items()):
            for version in ((1, 0), (2, 0), (3, 0)):
                path = os.path.join(folder, f"{i}.npy")
                with open(path, "wb") as f:
                    numpy.lib.format.write_array(f, array, version)
                check(path, {"arr_0": array})
                count += 1
        for save, name in ((numpy.savez, "stored.npz"), (numpy.savez_compressed, "deflated.npz")):
            path = os.path.join(folder, name)
            save(path, **every)
            check(path, every)
            count += 1
        odd = os.path.join(folder, "odd.npz")
        numpy.savez(odd, texts=numpy.array(["a"]), objects=numpy.array([{}], dtype=object), ok=every["f4"],
                    records=numpy.zeros(2, [("x", "f4"), ("y", "i2")]), wide=numpy.zeros(2, "c16"))
        said = run("verify", "-v", odd)
        for name in ("texts", "objects", "records", "wide"):
            assert f'"{name}"' in said, (name, said)
        assert '"ok"' not in said, said
    print(count, "files as NumPy", numpy.__version__, "reads them")


main()
