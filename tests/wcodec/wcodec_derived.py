# SPDX-License-Identifier: MIT
"""Tensors that an encoder makes of others (docs/wcodec.md, 4.5): ggml's encoders of Q8_0 and Q4_0, version 1, without
importance, written from what they are known to do."""
import math
import struct

from wcodec_segments import Bad


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


ENCODERS = {b"q8_0": q8_0, b"q4_0": q4_0}


def derive(layer, source):
    """The bytes that segments of a derived layer refer to, of its source, decoded."""
    if layer.derived["version"] != 1 or layer.derived["quality"] or layer.derived["importance"]:
        raise Bad("an encoder that this decoder does not know")
    encode = ENCODERS.get(layer.encoding)
    if not encode:
        raise Bad("a type that this decoder does not encode: %r" % layer.encoding)
    values = numbers(source.regions[0], source.encoding)
    return b"".join(encode(values[i:i + 32]) for i in range(0, len(values), 32))
