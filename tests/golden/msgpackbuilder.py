# SPDX-License-Identifier: MIT
"""MessagePack put together value by value, as flax.serialization does it."""
import struct


class Ext:
    def __init__(self, kind, content):
        self.kind, self.content = kind, content


def head(n, short, limit, *longer):
    if n < limit:
        return bytes([short + n])
    for code, form, most in longer:
        if n < most:
            return bytes([code]) + struct.pack(form, n)
    raise ValueError(n)


def number(n):
    if -32 <= n < 128:
        return struct.pack("b", n)
    codes = ((0xcc, ">B"), (0xcd, ">H"), (0xce, ">I"), (0xcf, ">Q")) if n >= 0 else ((0xd0, ">b"), (0xd1, ">h"), (0xd2, ">i"), (0xd3, ">q"))
    for code, form in codes:
        try:
            return bytes([code]) + struct.pack(form, n)
        except struct.error:
            pass
    raise ValueError(n)


def packed(v):
    if v is None or isinstance(v, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[v]
    if isinstance(v, int):
        return number(v)
    if isinstance(v, float):
        return b"\xcb" + struct.pack(">d", v)
    if isinstance(v, str):
        text = v.encode()
        return head(len(text), 0xa0, 32, (0xd9, ">B", 256), (0xda, ">H", 65536), (0xdb, ">I", 2**32)) + text
    if isinstance(v, bytes):
        return head(len(v), 0, 0, (0xc4, ">B", 256), (0xc5, ">H", 65536), (0xc6, ">I", 2**32)) + v
    if isinstance(v, (list, tuple)):
        return head(len(v), 0x90, 16, (0xdc, ">H", 65536), (0xdd, ">I", 2**32)) + b"".join(map(packed, v))
    if isinstance(v, Ext):
        n, kind = len(v.content), struct.pack("b", v.kind)
        fixed = {1: 0xd4, 2: 0xd5, 4: 0xd6, 8: 0xd7, 16: 0xd8}
        if n in fixed:
            return bytes([fixed[n]]) + kind + v.content
        return head(n, 0, 0, (0xc7, ">B", 256), (0xc8, ">H", 65536), (0xc9, ">I", 2**32)) + kind + v.content
    if isinstance(v, dict):
        return head(len(v), 0x80, 16, (0xde, ">H", 65536), (0xdf, ">I", 2**32)) + b"".join(packed(k) + packed(x) for k, x in v.items())
    return v.content


class Raw:
    def __init__(self, content):
        self.content = content


def big(mapping):
    """a map with the longest form of its length"""
    return Raw(b"\xdf" + struct.pack(">I", len(mapping)) + b"".join(packed(k) + packed(x) for k, x in mapping.items()))


def ext(kind, content):
    return Ext(kind, content)


def array(shape, dtype, data):
    return Ext(1, packed([list(shape), dtype, data]))
