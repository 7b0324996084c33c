# SPDX-License-Identifier: MIT
"""Builds .wcodec containers of RAW segments for the malformed corpus: every field can be patched,
and every record has a mark with its offset in the file. docs/wcodec.md has the format."""
import hashlib
import struct
import zlib

TENSOR, BYTES, METADATA, RESOURCE = 0, 1, 2, 3


def align(n, unit):
    return (n + unit - 1) // unit * unit


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def zigzag(d):
    return varint(2 * d if d >= 0 else -2 * d - 1)


def raw(content):
    """A RAW segment."""
    out = struct.pack("<BBBBI24x", 0, 0, 0, 0, zlib.crc32(content)) + content
    return out + bytes(align(len(out), 64) - len(out))


def frame(content, size=None):
    """A frame of zstd: one block, as it is or (with a size) the same byte so many times."""
    kind, n = (0, len(content)) if size is None else (1, size)
    return struct.pack("<IBI", 0xfd2fb528, 0xa0, n) + (n << 3 | kind << 1 | 1).to_bytes(3, "little") + content


def stream(value_bits=8, s=14, stride=1, offset=0, width=1, region=0, scales=(255, 0, 0), join=None):
    """join: (offset of the high bytes, high bits, places)."""
    return {"value_bits": value_bits, "s": s, "stride": stride, "offset": offset, "width": width,
            "region": region, "scales": scales, "join": join}


def joined(p, unit):
    """Six bits a value: a nibble, and the high bits whose number has its bits in other places."""
    at, bits, places = p["join"]
    low = int.from_bytes(unit[p["offset"]:p["offset"] + p["width"]], "little")
    high = int.from_bytes(unit[at:at + (bits << len(places)) // 8], "little")
    out = 0
    for v in range(1 << len(places)):
        number = sum((v >> i & 1) << to for i, to in enumerate(places))
        top = high >> bits * number & (1 << bits) - 1
        out |= (low >> 4 * v & 15 | top << 4) << 6 * v
    return out.to_bytes(6 * (1 << len(places)) // 8, "little")


def stream_bytes(p, content):
    units = range(0, len(content), p["stride"])
    if p["join"]:
        return b"".join(joined(p, content[u:u + p["stride"]]) for u in units)
    return b"".join(content[u + p["offset"]:u + p["offset"] + p["width"]] for u in units)


class Layer:
    def __init__(self, name, *regions, kind=TENSOR, encoding="i8", dims=None, streams=None, base=0,
                 big=0):
        self.name, self.kind, self.regions, self.base, self.big = name, kind, regions, base, big
        self.encoding = encoding if kind == TENSOR else ""
        self.dims = (dims or (len(regions[0]),)) if kind == TENSOR else ()
        self.streams = streams or [stream(region=i) for i in range(len(regions)) if regions[i]]

    def digest(self):
        """That of the tensor: docs/behaviour.md, Digests."""
        head = self.encoding.encode() + b"\0" + struct.pack("<Q", len(self.dims))
        return hashlib.sha256(head + struct.pack("<%dQ" % len(self.dims), *self.dims) +
                              b"".join(self.regions))


def entry(kind=0, target=b"", mode=0o644, seconds=1, nanoseconds=2, reserved=0):
    """What minor version 1 has at the end of a file record."""
    return b"ATTR" + struct.pack("<BBHIqI", kind, reserved, mode, nanoseconds, seconds, len(target)) + target


class Wcodec:
    """files: (name, [(layer, region, offset, length), ...], entry), the last from entry() or left out;
    bases: hints; more: what a later minor version has behind the CRCs of a layer; packed: a function that makes of
    the records of layers what is stored, and the size that is said of them. patches: (mark, distance,
    bytes) are made when all is built, before the footer's CRC, those of marks at or behind "crc"
    and of segments after it."""

    def __init__(self, *layers, files=(), form=None, bases=(), patches=(), cut=None, tail=b"",
                 minor=0, more=b"", packed=lambda records: (records, 0)):
        self.layers, self.files, self.bases, self.patches = layers, files, bases, patches
        self.form = form if form is not None else (1 if len(files) == 1 else 2 if files else 0)
        self.cut, self.tail, self.minor, self.more, self.packed = cut, tail, minor, more, packed
        self.at = {"magic": 0, "major": 8, "digest": 12, "count": 47, "index offset": 51,
                   "reserved": 59, "file size": 64, "index size": 72}
        self.out = bytearray(128)
        self.build()

    def file(self):
        return bytes(self.out)

    def put_data(self, number, layer):
        """Heads are empty; returns the record's sizes and CRCs, and what it says of the data."""
        begin, crc, sizes, crcs = len(self.out), 0, [], b"CRCS"
        for k, p in enumerate(layer.streams):
            content = stream_bytes(p, layer.regions[p["region"]])
            whole = (p["value_bits"] << p["s"]) // 8
            sizes.append(b"")
            crcs += struct.pack("<I", zlib.crc32(b""))
            for j, a in enumerate(range(0, len(content), whole)):
                segment = raw(content[a:a + whole])
                self.at["segment %d.%d.%d" % (number, k, j)] = len(self.out)
                crc = zlib.crc32(segment[4:8], crc)
                crcs += segment[4:8]
                sizes[k] += varint(len(segment) // 64)
                self.out += segment
        self.out += bytes(align(len(self.out), 128) - len(self.out))
        size = len(self.out) - begin
        return sizes, crcs, crc, begin if size else 128, size

    def layer_record(self, number, layer, at, placed):
        sizes, crcs, crc, begin, size = placed
        name, encoding = layer.name.encode("latin-1"), layer.encoding.encode()
        out = struct.pack("<BBBBBBHHHIIQQ", layer.kind, len(layer.dims), len(layer.regions),
                          len(layer.streams), layer.base, layer.big, len(name), len(encoding), 0, crc,
                          0, begin, size)
        out += struct.pack("<%dQ" % len(layer.dims), *layer.dims)
        self.at["regions %d" % number] = at + 4 + len(out)
        out += struct.pack("<%dQ" % len(layer.regions), *map(len, layer.regions))
        out += name + encoding
        for k, p in enumerate(layer.streams):
            self.at["stream %d.%d" % (number, k)] = at + 4 + len(out)
            out += struct.pack("<BBBBIIIBBHII", p["region"], p["value_bits"], p["s"], 0, p["stride"],
                               p["offset"], p["width"], p["scales"][0], p["scales"][1],
                               p["join"] is not None, p["scales"][2], 0)
            if p["join"]:
                self.at["join %d.%d" % (number, k)] = at + 4 + len(out)
                high, bits, places = p["join"]
                out += struct.pack("<IBB", high, bits, len(places)) + bytes(places)
            self.at["sizes %d.%d" % (number, k)] = at + 4 + len(out)
            out += sizes[k]
        if self.minor >= 2:
            self.at["crcs %d" % number] = at + 4 + len(out)
            out += crcs + self.more
        self.at["layer %d" % number] = at
        return struct.pack("<I", 4 + len(out)) + out

    def file_record(self, number, at, name, ranges, entry=b""):
        name = name.encode("latin-1")
        out, layer, ends = b"", 0, {}
        for i, (to, region, offset, length) in enumerate(ranges):
            self.at["range %d.%d" % (number, i)] = at + 20 + len(name) + len(out)
            before = ends.get((to, region), 0)
            out += zigzag(to - layer) + varint(region) + zigzag(offset - before) + varint(length)
            layer, ends[to, region] = to, offset + length
        self.at["file %d" % number] = at
        self.at["entry %d" % number] = at + 20 + len(name) + len(out)
        out += entry
        size = sum(r[3] for r in ranges)
        return struct.pack("<IHHQI", 20 + len(name) + len(out), len(name), 0, size,
                           len(ranges)) + name + out

    def build(self):
        placed = [self.put_data(i, layer) for i, layer in enumerate(self.layers)]
        index = len(self.out)
        runs = [b"", b"", b""]
        for i, layer in enumerate(self.layers):
            runs[0] += self.layer_record(i, layer, index + 64 + len(runs[0]), placed[i])
        runs[0], unpacked = self.packed(runs[0])
        for i, hint in enumerate(self.bases):
            self.at["base %d" % i] = index + 64 + len(runs[0]) + len(runs[1])
            runs[1] += struct.pack("<IHH32s", 40 + len(hint), len(hint), 0, b"") + hint.encode()
        for i, file in enumerate(self.files):
            runs[2] += self.file_record(i, index + 64 + sum(map(len, runs)), *file)
        self.out += struct.pack("<IIIB3xQQQQ16x", len(self.layers), len(self.bases), len(self.files),
                                self.form, *map(len, runs), unpacked) + b"".join(runs)
        self.at.update({"index": index, "footer": len(self.out), "crc": len(self.out) + 16})
        size = len(self.out) - index
        lines = sorted((layer.name, layer.digest().hexdigest()) for layer in self.layers
                       if layer.kind == TENSOR)
        digest = hashlib.sha256("".join("%s  %s\n" % line[::-1] for line in lines).encode()).digest()
        self.out[:84] = struct.pack("<8sHH32sBBBIQ5xQQI", b"WCODEC\0\0", 1, self.minor, digest, 0, 16, 16,
                                    len(self.layers), index, len(self.out) + 32, size, 0)
        self.out += struct.pack("<QQII8s", index, size, 0, 0, b"WCODEC\0\1")
        self.patch(lambda mark: not self.is_late(mark))
        crc = zlib.crc32(self.out[index:index + size], zlib.crc32(self.out[:128]))
        self.out[-16:-12] = struct.pack("<I", crc)
        self.patch(self.is_late)
        self.out += self.tail
        if self.cut is not None:
            del self.out[self.at.get(self.cut, self.cut):]

    def is_late(self, mark):
        return self.at[mark] >= self.at["footer"] or 128 <= self.at[mark] < self.at["index"]

    def patch(self, wants):
        for mark, distance, new in self.patches:
            if wants(mark):
                at = self.at[mark] + distance
                self.out[at:at + len(new)] = new
