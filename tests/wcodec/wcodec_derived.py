# SPDX-License-Identifier: MIT
"""Tensors that an encoder makes of others (docs/wcodec.md, 4.5): floats, and ggml's encoders of Q8_0 and Q4_0, version 1,
without importance, written from what they are known to do; and pieces of several tensors (4.6)."""
import itertools
import math
import struct

from wcodec_segments import Bad, check


def f32(x):
    """Rounded to binary32. What comes here is exact, or a quotient, in binary64: rounded once."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def numbers(data, encoding):
    if encoding == b"f32":
        return struct.unpack("<%df" % (len(data) // 4), data)
    if encoding == b"f16":
        return struct.unpack("<%de" % (len(data) // 2), data)
    if encoding == b"bf16":
        wide = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
        return struct.unpack("<%df" % (len(wide) // 4), wide)
    raise Bad("a source that this decoder does not know: %r" % encoding)


def half(x):
    return struct.pack("<e", x)


def q8_0(block):
    d = f32(max(abs(x) for x in block) / 127)
    inverse = f32(1 / d) if d else 0.0
    codes = [f32(x * inverse) for x in block]
    return half(d) + struct.pack("32b", *(int(math.copysign(math.floor(abs(c) + 0.5), c)) for c in codes))


def q4_0(block):
    largest = 0.0
    for x in block:
        if abs(x) > abs(largest):
            largest = x
    d = f32(largest / -8)
    inverse = f32(1 / d) if d else 0.0
    codes = [min(15, int(f32(f32(x * inverse) + 8.5))) for x in block]
    return half(d) + bytes(codes[i] | codes[i + 16] << 4 for i in range(16))


def bf16(x):
    bits, = struct.unpack("<I", struct.pack("<f", x))
    return struct.pack("<H", bits + 0x7FFF + (bits >> 16 & 1) >> 16)


# By name: numbers of a block, and what makes the bytes of one.
ENCODERS = {b"q8_0": (32, q8_0), b"q4_0": (32, q4_0), b"f32": (1, lambda x: struct.pack("<f", *x)),
            b"f16": (1, lambda x: half(*x)), b"bf16": (1, lambda x: bf16(*x))}
TYPES = [b"f32", b"f16", b"bf16"]


# ---- 4.6 pieces -----------------------------------------------------------------------------------

def read_pieces(r):
    kind, count = r.number(1), r.varint()
    check(kind < len(TYPES) and 1 <= count <= r.end - r.at, "pieces")
    return TYPES[kind], [read_piece(r) for _ in range(count)]


def read_piece(r):
    source, n = r.varint(), r.varint()
    operation, n_axes = r.take(2)
    check(n >= 1 and operation <= 2 and n_axes <= 12, "piece")
    check(source or not (operation or n_axes), "piece of zeros")
    constant = struct.unpack("<f", r.take(4))[0] if operation else 0.0
    offset = r.varint() if n_axes else 0
    axes = [(r.varint(), r.varint()) for _ in range(n_axes)]
    check(all(extent for extent, _ in axes), "axis")
    return source, n, operation, constant, offset, axes


def check_pieces(layer, layers, number):
    """Everything that is checked before pieces are read; gives the layers that they are of."""
    _, pieces = layer.derived["pieces"]
    check(sum(piece[1] for piece in pieces) == math.prod(layer.dims), "elements of pieces")
    for source, n, _, _, offset, axes in pieces:
        if not source:
            continue
        check(source <= number, "source of a piece")
        of = layers[source - 1]
        check(of.encoding in TYPES, "type of a piece")
        width = 4 if of.encoding == b"f32" else 2
        n_source, rest = divmod(of.region_bytes[0], width)
        check(not rest, "source of a piece")
        if not axes:
            check(n == n_source, "piece")
            continue
        check(math.prod(extent for extent, _ in axes) == n, "piece")
        check(offset + sum((extent - 1) * stride for extent, stride in axes) < n_source, "piece")
        run = axes[-1][0] if axes[-1][1] == 1 else 1
        check(of.region_bytes[0] <= 1 << 24 or run * width >= 1024, "runs of a piece")
    return {source - 1 for source, *_ in pieces if source}


def take_piece(piece, layers):
    source, n, operation, constant, offset, axes = piece
    if not source:
        return [0.0] * n
    of = numbers(layers[source - 1].regions[0], layers[source - 1].encoding)
    if axes:
        steps = (range(0, extent * stride, stride) if stride else [0] * extent for extent, stride in axes)
        of = [of[offset + sum(step)] for step in itertools.product(*steps)]
    # one operation on two numbers of binary32, in binary64: rounded as if once
    return [f32((x, x + constant, x * constant)[operation]) for x in of]


def pieces_of(layer, layers):
    kind, pieces = layer.derived["pieces"]
    values = [x for piece in pieces for x in take_piece(piece, layers)]
    return numbers(b"".join(ENCODERS[kind][1]([x]) for x in values), kind)


# ---- 4.5 ------------------------------------------------------------------------------------------


def derive(layer, layers):
    """The bytes that segments of a derived layer refer to, of its sources, decoded."""
    if layer.derived["version"] != 1 or layer.derived["quality"] or layer.derived["importance"]:
        raise Bad("an encoder that this decoder does not know")
    block, encode = ENCODERS.get(layer.encoding, (0, None))
    if not encode:
        raise Bad("a type that this decoder does not encode: %r" % layer.encoding)
    if layer.derived["pieces"]:
        values = pieces_of(layer, layers)
    else:
        source = layers[layer.derived["source"]]
        values = numbers(source.regions[0], source.encoding)
    return b"".join(encode(values[i:i + block]) for i in range(0, len(values), block))
