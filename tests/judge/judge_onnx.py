# SPDX-License-Identifier: MIT
"""Models that onnx writes are what tare reads: every initializer and constant under its name, byte for byte, in each type and
form of storing, in the file or beside it; packed and unpacked, the files are the same. Run by judge.py."""
import json
import os
import subprocess
import sys
import tempfile

import numpy

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("SKIP: onnx is not in this environment (scripts/venv makes it anew), 1 test program left out")
    sys.exit(77)

TARE = os.environ["TARE_COMMAND"]
T = TensorProto
# data type: bits, tare's type
TYPES = {T.FLOAT: (32, "f32"), T.DOUBLE: (64, "f64"), T.FLOAT16: (16, "f16"), T.BFLOAT16: (16, "bf16"), T.COMPLEX64: (64, "c64"),
         T.INT8: (8, "i8"), T.INT16: (16, "i16"), T.INT32: (32, "i32"), T.INT64: (64, "i64"), T.UINT8: (8, "u8"), T.UINT16: (16, "u16"),
         T.UINT32: (32, "u32"), T.UINT64: (64, "u64"), T.BOOL: (8, "bool"), T.FLOAT8E4M3FN: (8, "f8_e4m3"),
         T.FLOAT8E4M3FNUZ: (8, "f8_e4m3fnuz"), T.FLOAT8E5M2: (8, "f8_e5m2"), T.FLOAT8E5M2FNUZ: (8, "f8_e5m2fnuz"),
         T.FLOAT8E8M0: (8, "f8_e8m0"), T.FLOAT4E2M1: (4, "f4"), T.INT4: (4, "i8"), T.UINT4: (4, "u8"), T.INT2: (2, "i8"), T.UINT2: (2, "u8")}


def run(*command, code=0):
    done = subprocess.run([TARE, *command], capture_output=True, text=True)
    if done.returncode != code:
        raise SystemExit(f"{command}: exit {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def tensor(name, kind, shape, typed=False):
    """random bits of a type, as raw bytes, or in the field that numbers of this type have"""
    bits = TYPES[kind][0]
    n = int(numpy.prod(shape))
    rng = numpy.random.default_rng(kind * 10 + typed)
    raw = rng.integers(0, 2 if kind == T.BOOL else 256, (n * bits + 7) // 8, "u1")
    if TYPES[kind][1][0] in "fbc":  # no NaN or Inf, of which verify would tell
        raw &= 0x3f
    raw = raw.tobytes()
    t = TensorProto(name=name, data_type=kind, dims=shape)
    if not typed:
        t.raw_data = raw
    elif kind in (T.FLOAT, T.COMPLEX64):
        t.float_data.extend(numpy.frombuffer(raw, "u4").view("f4").tolist())
        raw = numpy.array(t.float_data, "f4").tobytes()   # as protobuf keeps NaNs
    elif kind == T.DOUBLE:
        t.double_data.extend(numpy.frombuffer(raw, "f8").tolist())
    elif kind == T.INT64:
        t.int64_data.extend(numpy.frombuffer(raw, "i8").tolist())
    elif kind in (T.UINT32, T.UINT64):
        t.uint64_data.extend(numpy.frombuffer(raw, "u4" if kind == T.UINT32 else "u8").tolist())
    else:
        width = {8: 1, 16: 2, 32: 4}.get(bits, 1)
        signed = kind in (T.INT8, T.INT16, T.INT32)
        t.int32_data.extend(numpy.frombuffer(raw, f"{'i' if signed else 'u'}{width}").tolist())
    return t, raw


def bytes_of(raw, kind, n):
    """what tare gives for the raw bytes: codes of fewer bits than a byte are bytes"""
    bits = TYPES[kind][0]
    if bits >= 8 or kind == T.FLOAT4E2M1:
        return raw
    one = numpy.frombuffer(raw, "u1")
    codes = numpy.stack([one >> s & ((1 << bits) - 1) for s in range(0, 8, bits)], 1).reshape(-1)[:n].astype("i1")
    if kind in (T.INT4, T.INT2):
        codes = numpy.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes).astype("i1")
    return codes.tobytes()


def graph(name, nodes, initializers, **more):
    return helper.make_graph(nodes, name, [], [], initializers, **more)


def every():
    expected, tensors = {}, []
    for kind in TYPES:
        for typed in (False, True):
            shape = [3, 5, 2] if TYPES[kind][0] != 4 or kind == T.FLOAT4E2M1 else [3, 5]
            name = f"{T.DataType.Name(kind)}.{'typed' if typed else 'raw'}"
            t, raw = tensor(name, kind, shape, typed)
            tensors.append(t)
            expected[name] = (TYPES[kind][1], shape, bytes_of(raw, kind, int(numpy.prod(shape))))
    for name, shape in (("scalar", []), ("none", [0, 3]), ("\u6587/\u5b57", [2, 2])):
        t, raw = tensor(name, T.FLOAT, shape)
        tensors.append(t)
        expected[name] = ("f32", shape, raw)
    return tensors, expected


def model():
    tensors, expected = every()

    def inner(name):
        t, raw = tensor(name, T.FLOAT, [2, 3])
        return t, ("f32", [2, 3], raw)
    constant, expected["c"] = inner("ignored")
    then, expected["picked.then_branch.w"] = inner("w")
    other, expected["picked.else_branch.w"] = inner("w")
    in_function, expected["mine.f.k"] = inner("x")
    deep, expected["picked.else_branch.deep.body.w"] = inner("w")
    loop = helper.make_node("Loop", ["a", "b"], ["deep"], body=graph("body", [], [deep]))
    nodes = [helper.make_node("Constant", [], ["c"], value=constant),
             helper.make_node("If", ["c"], ["picked"], then_branch=graph("t", [], [then]), else_branch=graph("e", [loop], [other])),
             helper.make_node("f", [], ["z"], domain="mine")]
    function = helper.make_function("mine", "f", [], ["k"], [helper.make_node("Constant", [], ["k"], value=in_function)],
                                    [helper.make_opsetid("", 20)])
    values, raw = tensor("sparse", T.FLOAT, [3])
    expected["sparse.values"] = ("f32", [3], raw)
    indices = numpy_helper.from_array(numpy.array([1, 4, 9]), "")
    expected["sparse.indices"] = ("i64", [3], indices.raw_data)
    m = helper.make_model(graph("g", nodes, tensors, sparse_initializer=[helper.make_sparse_tensor(values, indices, [10])]),
                          functions=[function], producer_name="judge", ir_version=11)
    helper.set_model_props(m, {"author": "someone", "note": "a\nb"})
    return m, expected


def check(path, expected, files):
    info = json.loads(run("info", "-t", "--json", path))
    got = {t["name"]: t for t in info["models"][0]["tensors"]}
    assert sorted(got) == sorted(expected), (path, sorted(set(got) ^ set(expected)))
    out = path + ".bin"
    for name, (kind, shape, raw) in expected.items():
        assert got[name]["type"] == kind and got[name]["shape"] == shape, (name, got[name])
        if raw:
            run("extract", path, name, "-o", out, "--force", "--quiet")
            with open(out, "rb") as f:
                assert f.read() == raw, (path, name)
    run("verify", "--deep", "--quiet", path)
    run("convert", path, path + ".safetensors", "--force", "--quiet", "--no-sync")
    run("diff", "--quiet", path, path + ".safetensors")
    run("convert", path, path + ".gguf", "--force", "--quiet", "--no-sync")
    run("diff", "--quiet", path, path + ".gguf")
    run("pack", path, path + ".wcodec", "--force", "--quiet", "--no-sync")
    run("diff", "--quiet", path, path + ".wcodec")
    again = path + ".again"
    run("unpack", path + ".wcodec", again, "--force", "--quiet", "--no-sync")
    for name in files:
        inside = os.path.join(again, name) if os.path.isdir(again) else again
        with open(os.path.join(os.path.dirname(path), name), "rb") as a, open(inside, "rb") as b:
            assert a.read() == b.read(), (path, name)


def main():
    with tempfile.TemporaryDirectory() as folder:
        m, expected = model()
        path = os.path.join(folder, "one.onnx")
        onnx.save(m, path)
        check(path, expected, ["one.onnx"])
        for all_in_one in (True, False):
            m, expected = model()
            inner = os.path.join(folder, str(all_in_one))
            os.mkdir(inner)
            path = os.path.join(inner, "model.onnx")
            onnx.save(m, path, save_as_external_data=True, all_tensors_to_one_file=all_in_one, size_threshold=0,
                      convert_attribute=True, location="model.onnx_data" if all_in_one else None)
            names = os.listdir(inner)
            assert len(names) > (1 if all_in_one else 20), names
            check(path, expected, names)
    print(3 * len(expected), "tensors as onnx", onnx.__version__, "wrote them")


main()
