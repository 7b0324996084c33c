# SPDX-License-Identifier: MIT
"""Models that the code generated from TensorFlow Lite's schema writes are what tare reads: every constant under its name,
byte for byte, in each type, with its scales and zero points; packed and unpacked, they are the same. Run by judge.py."""
import json
import os
import subprocess
import sys
import tempfile

import numpy

try:
    import flatbuffers
    import tflite
except ImportError:
    print("SKIP: tflite is not in this environment (scripts/venv makes it anew), 1 test program left out")
    sys.exit(77)

TARE = os.environ["TARE_COMMAND"]
# number of the type: bits, tare's type; those after BFLOAT16 are newer than the package
TYPES = {0: (32, "f32"), 1: (16, "f16"), 2: (32, "i32"), 3: (8, "u8"), 4: (64, "i64"), 6: (8, "bool"), 7: (16, "i16"), 8: (64, "c64"),
         9: (8, "i8"), 10: (64, "f64"), 12: (64, "u64"), 15: (32, "u32"), 16: (16, "u16"), 17: (4, "i8"), 18: (16, "bf16"),
         19: (2, "i8"), 20: (4, "u8"), 21: (8, "f8_e4m3"), 22: (8, "f8_e5m2")}


def run(*command, code=0):
    done = subprocess.run([TARE, *command], capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def vector_of(b, start, offsets):
    start(b, len(offsets))
    for o in reversed(offsets):
        b.PrependUOffsetTRelative(o)
    return b.EndVector()


def numbers(b, values):
    return b.CreateNumpyVector(values)


def quantization(b, q):
    scale, zero, axis = q
    scale, zero = numbers(b, numpy.array(scale, "f4")), numbers(b, numpy.array(zero, "i8"))
    tflite.QuantizationParametersStart(b)
    tflite.QuantizationParametersAddScale(b, scale)
    tflite.QuantizationParametersAddZeroPoint(b, zero)
    tflite.QuantizationParametersAddQuantizedDimension(b, axis)
    return tflite.QuantizationParametersEnd(b)


def tensor(b, name, kind, shape, buffer, q=None):
    name, shape = b.CreateString(name), numbers(b, numpy.array(shape, "i4"))
    q = quantization(b, q) if q else None
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, shape)
    tflite.TensorAddType(b, kind)
    tflite.TensorAddBuffer(b, buffer)
    tflite.TensorAddName(b, name)
    if q:
        tflite.TensorAddQuantization(b, q)
    return tflite.TensorEnd(b)


def buffer(b, data):
    data = numbers(b, numpy.frombuffer(data, "u1")) if data else None
    tflite.BufferStart(b)
    if data:
        tflite.BufferAddData(b, data)
    return tflite.BufferEnd(b)


def random(kind, n):
    bits, name = TYPES[kind]
    raw = numpy.random.default_rng(kind).integers(0, 2 if name == "bool" else 256, (n * bits + 7) // 8, "u1")
    if name[0] in "fbc":  # no NaN or Inf, of which verify would tell
        raw &= 0x3f
    return raw.tobytes()


def decoded(raw, kind, n):
    """codes of fewer bits than a byte are bytes"""
    bits, name = TYPES[kind]
    if bits >= 8:
        return raw
    one = numpy.frombuffer(raw, "u1")
    codes = numpy.stack([one >> s & ((1 << bits) - 1) for s in range(0, 8, bits)], 1).reshape(-1)[:n].astype("i1")
    return numpy.where((name == "i8") & (codes >= 1 << (bits - 1)), codes - (1 << bits), codes).astype("i1").tobytes()


def model():
    b = flatbuffers.Builder(1 << 16)
    expected, buffers, tensors = {}, [b""], [[], []]
    for kind, (bits, name) in TYPES.items():
        for shape in ([3, 5], [2, 2, 1, 3], [7]):
            n = int(numpy.prod(shape))
            for graph in (0, 1):
                raw = random(kind, n)
                buffers.append(raw)
                own = f"{kind}/{len(shape)}"
                q = ([.5] * shape[0], list(range(shape[0])), 0) if name == "i8" else None
                tensors[graph].append(tensor(b, own, kind, shape, len(buffers) - 1, q))
                own = own if graph == 0 else "body." + own
                values = decoded(raw, kind, n)
                if q and len(shape) > 1:   # a weight: codes, scales and zero points
                    codes = numpy.frombuffer(values, "i1").astype("f4").reshape(shape[0], -1)
                    values = (codes - numpy.arange(shape[0], dtype="f4")[:, None]) * numpy.float32(.5)
                    expected[own] = ("f32", shape, values.tobytes())
                    continue
                expected[own] = (name, shape, values)
                if q:
                    expected[own + ".quantization.scale"] = ("f32", [shape[0]], numpy.array(q[0], "f4").tobytes())
                    expected[own + ".quantization.zero_point"] = ("i64", [shape[0]], numpy.array(q[1], "i8").tobytes())
        tensors[0].append(tensor(b, f"computed {kind}", kind, [1, 3], 0))
    graphs = []
    for i, name in enumerate(("main", "body")):
        name, own = b.CreateString(name), vector_of(b, tflite.SubGraphStartTensorsVector, tensors[i])
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, own)
        tflite.SubGraphAddName(b, name)
        graphs.append(tflite.SubGraphEnd(b))
    graphs = vector_of(b, tflite.ModelStartSubgraphsVector, graphs)
    buffers = vector_of(b, tflite.ModelStartBuffersVector, [buffer(b, data) for data in buffers])
    text = b.CreateString("judge")
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddDescription(b, text)
    tflite.ModelAddSubgraphs(b, graphs)
    tflite.ModelAddBuffers(b, buffers)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output()), expected


def check(path, expected):
    got = {t["name"]: t for t in json.loads(run("info", "-t", "--json", path))["models"][0]["tensors"]}
    assert sorted(got) == sorted(expected), sorted(set(got) ^ set(expected))
    for name, (kind, shape, raw) in expected.items():
        assert got[name]["type"] == kind and got[name]["shape"] == shape, (name, got[name])
        is_weight = bool(got[name].get("scheme"))
        out = path + (".npy" if is_weight else ".bin")
        run("extract", path, name, "-o", out, "--force", "--quiet")
        with open(out, "rb") as f:
            assert (numpy.load(f).tobytes() if is_weight else f.read()) == raw, (path, name)
    run("verify", "--deep", "--quiet", path)
    for to in (".safetensors", ".gguf", ".wcodec"):
        run(*(("pack",) if to == ".wcodec" else ("convert",)), path, path + to, "--force", "--quiet", "--no-sync")
        run("diff", "--quiet", path, path + to)
    run("unpack", path + ".wcodec", path + ".again", "--force", "--quiet", "--no-sync")
    with open(path, "rb") as a, open(path + ".again", "rb") as b:
        assert a.read() == b.read(), path


def main():
    with tempfile.TemporaryDirectory() as folder:
        content, expected = model()
        path = os.path.join(folder, "model.tflite")
        with open(path, "wb") as f:
            f.write(content)
        check(path, expected)
    print(len(expected), "tensors as TensorFlow Lite's schema has them")


main()
