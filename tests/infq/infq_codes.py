#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""INFQ's quantization in exact arithmetic, written from the specification and not from the library.

Floats of 32 bits are Python's doubles that were rounded to f32: a quotient of two of them, computed
in doubles and rounded again, is the quotient rounded once. Run as a program it prints the digests
that tests/unit/test_rowwise_codes.c expects."""
import struct


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def f16_bytes(x):
    """Nearest even, as numpy.float16 does; OverflowError from 65520 on."""
    return struct.pack("<e", x)


def f16(data):
    return struct.unpack("<e", data)[0]


def quantize_row(row, top):
    """(codes, two bytes of scale) of floats."""
    scale = max(max((abs(x) for x in row), default=0.0), 1e-8) / top
    used = f32(scale)
    codes = [max(-top, min(top, round(f32(x / used)))) for x in row]
    return codes, f16_bytes(scale)


def take_outliers(rows, is_outlier):
    """(rows with zeros in their place, records row u32, col u16, value f16)."""
    kept, records = [], b""
    for r, row in enumerate(rows):
        out = [c for c, x in enumerate(row) if is_outlier(r, c, x)]
        kept.append([0.0 if c in out else x for c, x in enumerate(row)])
        records += b"".join(struct.pack("<IH", r, c) + f16_bytes(row[c]) for c in out)
    return kept, records


def largest(rows, n):
    """The n largest magnitudes, the first of equals, for take_outliers."""
    places = sorted((-abs(x), r, c) for r, row in enumerate(rows) for c, x in enumerate(row) if x)
    chosen = {(r, c) for _, r, c in places[:n]}
    return lambda r, c, _: (r, c) in chosen


def pack(codes, bits):
    if bits == 8:
        return bytes(c & 255 for c in codes)
    if len(codes) % 2:
        codes = codes + [0]
    return bytes((low & 15) | (high & 15) << 4 for low, high in zip(codes[::2], codes[1::2]))


def unpack(data, cols, bits):
    if bits == 8:
        return [(b ^ 128) - 128 for b in data]
    nibbles = [n for b in data for n in (b & 15, b >> 4)]
    return [(n ^ 8) - 8 for n in nibbles[:cols]]


def sample(rows, cols):
    """The numbers of fill() in test_rowwise_codes.c."""
    state, out = 0x9E3779B97F4A7C15, []
    for row in range(rows):
        values = []
        for _ in range(cols):
            state ^= state << 13 & 0xFFFFFFFFFFFFFFFF
            state ^= state >> 7
            state ^= state << 17 & 0xFFFFFFFFFFFFFFFF
            v = (state >> 40) - (1 << 23)
            if row % 3 == 2:
                v = int(v / (1 << 16)) * 2
            values.append(f32(v * 2.0**-23 * 2.0 ** (8 - row)))
        out.append(values)
    return out


def digest(rows, bits):
    codes, scales = b"", b""
    for row in rows:
        q, scale = quantize_row(row, (1 << (bits - 1)) - 1)
        codes += pack(q, bits)
        scales += scale
    h = 0xCBF29CE484222325
    for b in codes + scales:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


if __name__ == "__main__":
    for n_bits in (8, 4):
        print(f"int{n_bits}_rowwise 0x{digest(sample(64, 333), n_bits):016x}")
