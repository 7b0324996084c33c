# SPDX-License-Identifier: MIT
"""The official `gguf` package against tare: each reads what the other writes, in both byte orders;
each decodes and encodes to the same bits."""
import os
import unittest

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize
from gguf.scripts.gguf_convert_endian import byteswap_tensors

from command import TareTest

ORDERS = {"little": gguf.GGUFEndian.LITTLE, "big": gguf.GGUFEndian.BIG}
PLAIN = {"f32": np.float32, "f16": np.float16, "f64": np.float64, "i8": np.int8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64}
# Name of the value type, the writer's method, a value, and its neighbours at the edges.
VALUES = (("u8", "add_uint8", 255), ("i8", "add_int8", -128), ("u16", "add_uint16", 65535),
          ("i16", "add_int16", -32768), ("u32", "add_uint32", 0xFFFFFFFF),
          ("i32", "add_int32", -0x80000000), ("f32", "add_float32", 0.15625),
          ("u64", "add_uint64", (1 << 63) + 1), ("i64", "add_int64", -(1 << 62) - 1),
          ("f64", "add_float64", 1.1e-300), ("bool", "add_bool", True),
          ("string", "add_string", "d\u00e9j\u00e0 \U0001f600 \"quoted\"\n"))
ARRAYS = (("i32", [1, -2, 3]), ("f32", [0.5, -0.25]), ("bool", [True, False, True]),
          ("string", ["a", "", "\u4e2d"]))
# The package takes a Q8_1 block for 40 bytes; ggml writes 36.
BLOCK_TYPES = [t for t in Type if gguf.GGML_QUANT_SIZES[t][0] > 1 and t != Type.Q8_1]
# Types that the package decodes and encodes, and further ones that it decodes.
LEGACY = (Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0)
KNOWN = (*LEGACY, Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.TQ1_0, Type.TQ2_0,
         Type.MXFP4, Type.NVFP4, Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S, Type.IQ3_XXS, Type.IQ3_S,
         Type.IQ1_S, Type.IQ1_M, Type.IQ4_NL, Type.IQ4_XS)


def numbers(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(shape).astype(dtype)
    bounds = np.iinfo(dtype)
    return rng.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True)


def blocks(kind, n_rows, n_blocks, seed):
    """Random rows of a block type, whose floats are all finite: the F16 members of a random block
    may be Inf or NaN, so bit 14 is cleared in both bytes that could be the upper one."""
    size = gguf.GGML_QUANT_SIZES[kind][1]
    out = np.random.default_rng(seed).integers(0, 256, (n_rows, n_blocks * size), dtype=np.uint8)
    return out & 0xBF


def write_model(path, order):
    """A file by the package's writer with everything that it knows in this byte order."""
    writer = gguf.GGUFWriter(path, "judge", endianess=ORDERS[order])
    for name, method, value in VALUES:
        getattr(writer, method)("judge." + name, value)
    for name, values in ARRAYS:
        writer.add_array("judge.array_" + name, values)
    tensors = {}
    for i, (name, dtype) in enumerate(PLAIN.items()):
        tensors["plain." + name] = numbers(dtype, (3, 4, 5), i)
        writer.add_tensor("plain." + name, tensors["plain." + name])
    tensors["one.dim"] = numbers(np.float32, (7,), 70)
    writer.add_tensor("one.dim", tensors["one.dim"])
    if order == "little":  # the writer leaves the members of block types in the host's order
        for kind in (*BLOCK_TYPES, Type.BF16):
            name = "block." + kind.name.lower()
            tensors[name] = blocks(kind, 2, 3 if kind != Type.BF16 else 20, int(kind))
            writer.add_tensor(name, tensors[name], raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


class PackageWritesTareReads(TareTest):
    def check(self, order):
        tensors = write_model(self.path("package.gguf"), order)
        info = self.info("package.gguf")
        self.assertEqual((info["format"], info["version"], info["byte_order"], info["findings"]),
                         ("gguf", 3, order, []))
        for name, _, value in VALUES:
            got = info["metadata"]["judge." + name]
            if name in ("u64", "i64"):  # as text where JSON readers would round it
                got["value"] = int(got["value"])
            self.assertEqual((got["type"], got["value"]), (name, value))
        for name, values in ARRAYS:
            got = info["metadata"]["judge.array_" + name]
            self.assertEqual((got["element_type"], got["value"]), (name, values))
        self.assertEqual(list(info["tensors"]), list(tensors))
        for name, array in tensors.items():
            entry = info["tensors"][name]
            self.assertEqual(entry["type"], name.split(".")[1] if "." in name and
                             name != "one.dim" else "f32")
            if not name.startswith("block."):
                self.assertEqual(entry["shape"], list(array.shape))
            self.assertEqual(self.stored("package.gguf", name), array.tobytes(), name)

    def test_little(self):
        self.check("little")

    def test_big(self):
        self.check("big")


class TareWritesPackageReads(TareTest):
    def compare(self, name, tensors, order):
        reader = gguf.GGUFReader(self.path(name))
        self.assertEqual(reader.endianess, ORDERS[order])
        for key, _, value in VALUES:
            self.assertEqual(reader.get_field("judge." + key).contents(), value, key)
        for key, values in ARRAYS:
            self.assertEqual(reader.get_field("judge.array_" + key).contents(), values, key)
        self.assertEqual([t.name for t in reader.tensors], list(tensors))
        for tensor in reader.tensors:
            want = tensors[tensor.name]
            self.assertEqual(tuple(tensor.data.shape), want.shape, tensor.name)
            got = tensor.data
            if tensor.name.startswith("block.") and order == "big":
                got = self.swapped(tensor)
                if got is None:
                    continue
                self.assertEqual(got.tobytes(), want.tobytes(), tensor.name)
            else:  # numpy compares values, whatever their order in memory
                self.assertTrue(np.array_equal(got, want), tensor.name)

    def swapped(self, tensor):
        """Block data turned by the package's own tool; None where it knows no way."""
        swap = byteswap_tensors.get(tensor.tensor_type)
        if swap is None:
            return None

        class Flat:
            data = np.array(tensor.data).reshape(-1)

        size = gguf.GGML_QUANT_SIZES[tensor.tensor_type][1]
        for at in range(0, len(Flat.data), size):
            swap(Flat, at)
        return Flat.data

    def check(self, start, order):
        tensors = write_model(self.path("package.gguf"), start)
        self.tare("convert", "package.gguf", "tare.gguf", "--endian", order)
        self.compare("tare.gguf", tensors, order)
        # And through the other container, from which tare writes everything anew.
        self.tare("convert", "package.gguf", "tare.safetensors", "--opaque")
        self.tare("convert", "tare.safetensors", "again.gguf", "--endian", order)
        reordered = {t.name: tensors[t.name] for t in gguf.GGUFReader(self.path("again.gguf")).tensors}
        self.assertEqual(sorted(reordered), sorted(tensors))
        self.compare("again.gguf", reordered, order)

    def test_little_to_little(self):
        self.check("little", "little")

    def test_little_to_big(self):
        self.check("little", "big")

    def test_big_to_little(self):
        self.check("big", "little")

    def test_big_to_big(self):
        self.check("big", "big")

    def test_own_format_is_the_same_file(self):
        for order in ORDERS:
            write_model(self.path("package.gguf"), order)
            self.tare("convert", "--force", "package.gguf", "same.gguf")
            self.assertEqual(self.read("package.gguf"), self.read("same.gguf"))

    def test_shards(self):
        tensors = write_model(self.path("package.gguf"), "little")
        self.tare("convert", "package.gguf", "split", "--to", "gguf", "--shard-size", "4K")
        names, seen = sorted(os.listdir(self.path("split"))), []
        self.assertGreater(len(names), 1)
        for i, name in enumerate(names):
            self.assertEqual(name, "split-%05d-of-%05d.gguf" % (i + 1, len(names)))
            reader = gguf.GGUFReader(self.path("split/" + name))
            self.assertEqual(reader.get_field("split.no").contents(), i)
            self.assertEqual(reader.get_field("split.count").contents(), len(names))
            self.assertEqual(reader.get_field("split.tensors.count").contents(), len(tensors))
            for t in reader.tensors:
                self.assertEqual(np.array(t.data).tobytes(), tensors[t.name].tobytes(), t.name)
                seen.append(t.name)
        self.assertEqual(seen, list(tensors))


class SameNumbers(TareTest):
    def write_tensors(self, name, tensors):
        """tensors: (name, array, type or None) each."""
        writer = gguf.GGUFWriter(self.path(name), "judge")
        for tensor, array, kind in tensors:
            writer.add_tensor(tensor, array, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def test_decoding(self):
        """Every type that the package decodes, bit for bit on random blocks with any scale; any NaN
        is as good as another."""
        rng, tensors = np.random.default_rng(100), {}
        for kind in (*BLOCK_TYPES, Type.BF16, Type.F16):
            block, size = gguf.GGML_QUANT_SIZES[kind]
            raw = rng.integers(0, 256, (64, 4096 // block * size), dtype=np.uint8)
            try:
                with np.errstate(all="ignore"):
                    tensors[kind] = raw, dequantize(raw, kind)
            except NotImplementedError:
                continue
        self.write_tensors("blocks.gguf", [(k.name, t[0], k) for k, t in tensors.items()])
        self.assertGreaterEqual(set(tensors), {*KNOWN, Type.BF16, Type.F16})
        for kind, (raw, want) in tensors.items():
            got = np.frombuffer(self.decoded("blocks.gguf", kind.name), "<f4").reshape(want.shape)
            same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
            self.assertTrue(same.all(), "%s: %d of %d differ" % (kind.name, (~same).sum(), same.size))
        print("decoded by both: %d types" % len(tensors))

    def test_encoding(self):
        """tare's rows are those of the package's quantize(), for every type that has one."""
        rows = numbers(np.float32, (64, 512), 7) * np.float32(0.02)
        rows[5, 256:] = 0
        rows[6] = np.round(rows[6] * 100) / 8
        self.write_tensors("rows.gguf", [("blk.0.attn_q.weight", rows, None)])
        encoded = []
        for kind in (*BLOCK_TYPES, Type.BF16, Type.F16):
            name = kind.name.lower()
            try:
                want = np.ascontiguousarray(quantize(rows, kind))
            except NotImplementedError:
                continue
            self.tare("convert", "rows.gguf", name + ".gguf", "--type", name)
            self.assertEqual(self.stored(name + ".gguf", "blk.0.attn_q.weight"), want.tobytes(), name)
            encoded.append(kind)
        self.assertGreaterEqual(set(encoded), {*LEGACY, Type.TQ1_0, Type.TQ2_0, Type.MXFP4, Type.BF16,
                                               Type.F16})
        print("encoded by both: %d types" % len(encoded))


if __name__ == "__main__":
    unittest.main()
