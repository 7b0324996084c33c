# SPDX-License-Identifier: MIT
"""The official `safetensors` package against tare: each reads what the other writes. Through raw
serialize and deserialize, since numpy lacks half of the dtypes."""
import ctypes
import json
import os
import struct
import unittest

import numpy as np
import safetensors
import safetensors.numpy
from safetensors import TensorSpec, deserialize, safe_open, serialize

from command import TareTest

# The package's name for a dtype -> the header's name, tare's name, bits an element.
DTYPES = {"bool": ("BOOL", "bool", 8), "uint8": ("U8", "u8", 8), "int8": ("I8", "i8", 8),
          "float8_e5m2": ("F8_E5M2", "f8_e5m2", 8), "float8_e4m3fn": ("F8_E4M3", "f8_e4m3", 8),
          "float8_e8m0fnu": ("F8_E8M0", "f8_e8m0", 8),
          "float8_e4m3fnuz": ("F8_E4M3FNUZ", "f8_e4m3fnuz", 8),
          "float8_e5m2fnuz": ("F8_E5M2FNUZ", "f8_e5m2fnuz", 8),
          "float4_e2m1fn_x2": ("F4", "f4", 4), "int16": ("I16", "i16", 16),
          "uint16": ("U16", "u16", 16), "float16": ("F16", "f16", 16),
          "bfloat16": ("BF16", "bf16", 16), "int32": ("I32", "i32", 32),
          "uint32": ("U32", "u32", 32), "float32": ("F32", "f32", 32),
          "complex64": ("C64", "c64", 64), "float64": ("F64", "f64", 64),
          "int64": ("I64", "i64", 64), "uint64": ("U64", "u64", 64)}
METADATA = {"format": "pt", "note": "d\u00e9j\u00e0 \"vu\"\n", "empty": ""}


def contents(bits, seed):
    """Bytes of a 3 x 4 tensor; bools are 0 and 1."""
    raw = np.random.default_rng(seed).integers(0, 256, 3 * 4 * bits // 8, dtype=np.uint8)
    return raw & 1 if seed == 0 else raw


def by_package():
    """A file with every dtype the package can write; name -> (dtype, tare's type, shape, bytes)."""
    specs, model = {}, {}
    for i, (name, (dtype, kind, bits)) in enumerate(DTYPES.items()):
        raw = contents(bits, i)
        shape = [3, 2] if dtype == "F4" else [3, 4]  # the package doubles the last one of F4
        specs["t." + kind] = TensorSpec(dtype=name, shape=shape, data_len=raw.nbytes,
                                        data_ptr=raw.ctypes.data_as(ctypes.c_void_p).value)
        model["t." + kind] = (dtype, kind, [3, 4], raw.tobytes(), raw)
    return bytes(serialize(specs, METADATA)), model


def by_hand(tensors):
    """A file of (name, dtype, shape, bytes), for dtypes the package reads and cannot write."""
    header, data = {}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


class PackageWritesTareReads(TareTest):
    def test_all_dtypes(self):
        content, model = by_package()
        self.write("package.safetensors", content)
        info = self.info("package.safetensors")
        self.assertEqual((info["format"], info["findings"]), ("safetensors", []))
        self.assertEqual({k: m["value"] for k, m in info["metadata"].items()}, METADATA)
        self.assertEqual(sorted(info["tensors"]), sorted(model))
        for name, (_, kind, shape, raw, _) in model.items():
            entry = info["tensors"][name]
            self.assertEqual((entry["type"], entry["shape"]), (kind, shape), name)
            self.assertEqual(self.stored("package.safetensors", name), raw, name)

    def test_decoding(self):
        """What numpy can hold has the values that numpy gives it."""
        tensors = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32,
                   "u64": np.uint64, "bool": np.bool_}
        tensors = {k: np.random.default_rng(1).standard_normal((5, 3)).astype(t)
                   for k, t in tensors.items()}
        safetensors.numpy.save_file(tensors, self.path("n.safetensors"))
        for name, array in tensors.items():
            want = array.astype("<f4") if name.startswith("f") else array
            self.assertEqual(self.decoded("n.safetensors", name), want.tobytes(), name)


class TareWritesPackageReads(TareTest):
    def compare(self, name, model):
        content = self.read(name)
        got = dict(deserialize(content))
        self.assertEqual(sorted(got), sorted(model))
        for tensor, (dtype, _, shape, raw, _) in model.items():
            self.assertEqual((got[tensor]["dtype"], list(got[tensor]["shape"])), (dtype, shape))
            self.assertEqual(bytes(got[tensor]["data"]), raw, tensor)

    def test_through_gguf(self):
        """All dtypes, written anew by tare after a stay in the other container."""
        content, model = by_package()
        self.write("package.safetensors", content)
        for order in ("little", "big"):
            self.tare("convert", "--force", "package.safetensors", "m.gguf", "--endian", order)
            self.tare("convert", "--force", "m.gguf", "again.safetensors")
            self.compare("again.safetensors", model)
            with safe_open(self.path("again.safetensors"), framework="numpy") as f:
                self.assertEqual(f.metadata(), METADATA)

    def test_own_format_is_the_same_file(self):
        content, _ = by_package()
        self.write("package.safetensors", content)
        self.tare("convert", "package.safetensors", "same.safetensors")
        self.assertEqual(self.read("same.safetensors"), content)

    def test_f6(self):
        """The package reads F6 and writes none: a file by hand, which both must take."""
        raw = bytes(range(9))
        model = {"a": ("F6_E2M3", "f6_e2m3", [3, 4], raw, None),
                 "b": ("F6_E3M2", "f6_e3m2", [12], raw, None)}
        self.write("f6.safetensors", by_hand([(n, m[0], m[2], m[3]) for n, m in model.items()]))
        self.assertEqual(self.info("f6.safetensors")["tensors"]["a"]["type"], "f6_e2m3")
        self.tare("convert", "f6.safetensors", "m.gguf")
        self.tare("convert", "m.gguf", "again.safetensors")
        self.compare("again.safetensors", model)

    def test_shards(self):
        content, model = by_package()
        self.write("package.safetensors", content)
        self.tare("convert", "package.safetensors", "out", "--to", "hf", "--shard-size", "600")
        with open(self.path("out/model.safetensors.index.json"), encoding="utf-8") as f:
            index = json.load(f)
        self.assertEqual(index["metadata"]["total_size"], sum(len(m[3]) for m in model.values()))
        self.assertEqual(sorted(index["weight_map"]), sorted(model))
        shards = sorted(set(index["weight_map"].values()))
        self.assertGreater(len(shards), 1)
        self.assertEqual(shards, sorted(n for n in os.listdir(self.path("out"))
                                        if n.endswith(".safetensors")))
        for shard in shards:
            inside = {n: m for n, m in model.items() if index["weight_map"][n] == shard}
            self.compare("out/" + shard, inside)


if __name__ == "__main__":
    unittest.main()
