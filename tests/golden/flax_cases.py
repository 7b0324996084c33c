# SPDX-License-Identifier: MIT
"""Flax's MessagePack: arrays in maps, and what can be wrong with them."""
import struct

from casebook import bad, good
from msgpackbuilder import array, big, ext, packed

FLOATS = struct.pack("<6f", *range(6))
ONE = array((2, 3), "float32", FLOATS)


def yes(case, note, value, *findings, **more):
    good("flax-" + case, note, value if isinstance(value, bytes) else packed(value), *findings, suffix=".msgpack", **more)


def no(case, note, value, status, at, what):
    bad("flax-" + case, note, value if isinstance(value, bytes) else packed(value), status, at, what, suffix=".msgpack")


yes("one", "an array in a map in a map", {"params": {"w": ONE}}, has={"format": "flax", "tensors": 1, "tensor": "params.w", "dims": 2, "keys": 0})
yes("types", "every kind of number", {"a" * 3 + t: array((2,), t, bytes(2 * n)) for t, n in (
    ("float64", 8), ("float16", 2), ("bfloat16", 2), ("int64", 8), ("int32", 4), ("int16", 2), ("int8", 1), ("uint64", 8), ("uint32", 4),
    ("uint16", 2), ("uint8", 1), ("bool", 1), ("complex64", 8), ("float8_e4m3fn", 1))}, has={"tensors": 14})
yes("values", "what is no array", {"step": 7, "low": -40000, "high": 2**63 + 1, "lr": 0.5, "on": True, "none": None, "name": "adam",
                                   "list": [1, ONE], "w": ONE}, has={"tensors": 2, "keys": 8, "tensor": "list.1"})
yes("scalar", "a scalar of NumPy", {"step": ext(3, packed([[], "int32", bytes(4)])), "more": ONE}, has={"tensors": 2, "dims": 0})
yes("long", "every longer form", {"k" * 40: big({"w" * 300: ONE}), "text": "x" * 70000, "bytes": ONE}, has={"tensors": 2, "keys": 1})
yes("complex128", "a type that is not read", {"good": ONE, "c": array((1,), "complex128", bytes(16))},
    ("warning", "flax.unread-value", len(packed({"good": ONE})) + 2, "tensor -1"), has={"tensors": 1})
yes("other", "bytes, and a type of another program", {"good": ONE, "b": b"abcd", "e": ext(9, b"")},
    ("warning", "flax.unread-value", len(packed({"good": ONE})) + 2, "tensor -1"),
    ("warning", "flax.unread-value", len(packed({"good": ONE, "b": b"abcd"})) + 2, "tensor -1"), has={"tensors": 1})
yes("pieces", "an array in pieces", {"w": {"__msgpack_chunked_array__": True, "shape": {"0": 2}, "chunks": {"0": ONE}}},
    ("warning", "flax.unread-value", 4, "tensor -1"), has={"tensors": 1, "keys": 2})
no("none", "no array at all", {"params": {"w": b"0123456789"}}, "UNSUPPORTED", 0, "array of Flax")
no("cut", "the last bytes are gone", packed({"w": ONE})[:-1], "TRUNCATED", 3, "ends inside a value")
no("more", "bytes behind it", packed({"w": ONE}) + b"\xc0", "CORRUPT", len(packed({"w": ONE})), "behind")
no("short", "fewer numbers than the shape says", {"wide": array((2, 3), "float32", FLOATS[:-4])}, "CORRUPT", 21, "shape")
no("overflow", "a shape beyond 64 bits", {"wide": array((2**40, 2**40), "float32", b"")}, "LIMIT", 6, "overflow")
no("negative", "a negative size", {"wide": array((-1,), "float32", b"")}, "CORRUPT", 11, "whole numbers")
no("dims", "nine dimensions", {"wide": array((1,) * 9, "uint8", b"0")}, "LIMIT", 10, "dimensions")
no("key", "a key that is a number", {"first": ONE, 7: ONE}, "CORRUPT", len(packed({"first": ONE})), "key")
no("unused", "the byte that is not used", packed({"first": 0})[:-1] + b"\xc1", "CORRUPT", 7, "stands for no type")
no("deep", "maps in maps", packed({"first": 0})[:-1] + b"\x81\xa1a" * 70 + b"\xc0", "LIMIT", 7 + 63 * 3, "depth")
no("count", "more pairs than bytes", b"\x81\xa5first\xdf\xff\xff\xff\xff\xc0", "TRUNCATED", 7, "ends inside a value")
