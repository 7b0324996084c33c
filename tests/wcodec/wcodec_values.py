# SPDX-License-Identifier: MIT
"""Values in the bytes of streams of .wcodec files, as docs/wcodec.md says (its section 4.2)."""
import struct

BIG_ENDIAN, SCALES = 1, 2  # flags of a stream


def unpack_scales(data):
    """Groups of up to 32 units of 12 bytes: scales, then minima."""
    out = []
    for at in range(0, len(data), 384):
        units = [data[u:u + 12] for u in range(at, min(at + 384, len(data)), 12)]
        for first, shift in ((0, 0), (4, 4)):
            for b in units:
                out += [v & 63 for v in b[first:first + 4]]
                out += [b[8 + j] >> shift & 15 | b[first + j] >> 6 << 4 for j in range(4)]
    return out


def pack_scales(values):
    out = bytearray()
    for at in range(0, len(values), 512):
        half = min(512, len(values) - at) // 2
        for u in range(at, at + half, 8):
            s, m = values[u:u + 8], values[u + half:u + half + 8]
            for v in s, m:
                out += bytes(v[j] | v[j + 4] >> 4 << 6 for j in range(4))
            out += bytes(s[j] & 15 | (m[j] & 15) << 4 for j in range(4, 8))
    return bytes(out)


def unpack_values(data, value_bits, flags):
    """The values in a stream's bytes."""
    if flags & SCALES:
        return unpack_scales(data)
    if value_bits == 4:
        return [v for byte in data for v in (byte & 15, byte >> 4)]
    if value_bits == 6:
        out = []
        for t in range(0, len(data), 3):
            v = int.from_bytes(data[t:t + 3], "little")
            out += [v & 63, v >> 6 & 63, v >> 12 & 63, v >> 18]
        return out
    if value_bits == 8:
        return list(data)
    return list(struct.unpack("<>"[flags & BIG_ENDIAN] + "%dH" % (len(data) // 2), data))


def pack_values(values, value_bits, flags):
    if flags & SCALES:
        return pack_scales(values)
    if value_bits == 4:
        return bytes(values[i] | values[i + 1] << 4 for i in range(0, len(values), 2))
    if value_bits == 6:
        return b"".join((values[i] | values[i + 1] << 6 | values[i + 2] << 12 |
                         values[i + 3] << 18).to_bytes(3, "little")
                        for i in range(0, len(values), 4))
    if value_bits == 8:
        return bytes(values)
    return struct.pack("<>"[flags & BIG_ENDIAN] + "%dH" % len(values), *values)
