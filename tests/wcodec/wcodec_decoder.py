#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second decoder of .wcodec files, written from docs/wcodec.md alone.

    wcodec_decoder.py FILE [--base FILE]        prints `sha256  layer:region` for each region
    wcodec_decoder.py FILE --unpack FOLDER      restores the files
    wcodec_decoder.py --vectors FOLDER          decodes all files there, compares with EXPECTED
"""
import argparse
import hashlib
import math
import os
import struct
import sys
import zlib

from wcodec_derived import check_pieces, derive, read_pieces
from wcodec_segments import Bad, Head, Reader, align, check, decode_segment, decode_zstd, half_float
from wcodec_values import BIG_ENDIAN, SCALES, unpack_values


class Stream:
    """What a stream record says."""

    def ranges(self):
        """Its bytes in a unit: first, past the last."""
        yield self.offset, self.offset + self.width
        if self.join:
            yield self.join.offset, self.join.offset + self.join.n_bytes

    def unit_bytes(self):
        """Bytes of the stream that a unit has."""
        return 6 * len(self.join.numbers) // 8 if self.join else self.width


class Join:
    """Where the high bits of a stream's values lie."""

    def __init__(self, record):
        self.offset = record.number(4)
        self.bits, n = record.take(2)
        check(self.bits in (1, 2) and 3 <= n <= 10, "join")
        place = list(record.take(n))
        check(sorted(place) == list(range(n)), "join: no permutation")
        self.numbers = [sum((v >> i & 1) << to for i, to in enumerate(place)) for v in range(2**n)]
        self.n_bytes = self.bits * 2**n // 8


# ---- 4 index, 5 layers ---------------------------------------------------------------------------

def take_record(r):
    """A record, which begins with its own size."""
    size = r.number(4)
    check(size >= 4, "record")
    return Reader(r.take(size - 4))


def end_record(record, minor, what):
    """What a larger minor version has at the end of a record is skipped."""
    check(minor > 0 or not record.rest(), what)


class Layer:
    def __init__(self, r, minor):
        record = take_record(r)
        self.kind, n_dims, n_regions, n_streams, self.base, flags = record.take(6)
        n_name, n_encoding, _ = record.number(2), record.number(2), record.zeros(2)
        self.crc, _ = record.number(4), record.zeros(4)
        self.offset, self.size = record.number(8), record.number(8)
        check(self.kind <= 3 and n_dims <= 8 and 1 <= n_regions <= 4 and n_streams <= 32 and
              flags <= 1, "layer record")
        check(self.kind == 0 or (not n_dims and n_regions == 1 and not n_encoding), "layer record")
        check(self.offset % 128 == 0 and self.size % 128 == 0, "layer data")
        check(self.size or self.offset == 128, "layer without data")
        self.dims = [record.number(8) for _ in range(n_dims)]
        self.region_bytes = [record.number(8) for _ in range(n_regions)]
        self.name, self.encoding = record.take(n_name), record.take(n_encoding)
        self.big = bool(flags)
        self.streams = []
        for i in range(n_streams):
            self.streams.append(self.stream(record, i))
        self.crcs(record, minor)
        self.derived = self.derivation(record) if minor else None
        end_record(record, minor, "layer record")
        self.check_cover()
        self.regions = None

    def stream(self, record, index):
        p = Stream()
        p.region, p.value_bits, p.s, p.flags = record.take(4)
        p.stride, p.offset, p.width = (record.number(4) for _ in range(3))
        p.scale_stream, p.scale_form, joined = (record.number(n) for n in (1, 1, 2))
        p.per_scale, p.head_bytes = record.number(4), record.number(4)
        check(joined <= 1, "stream record")
        p.join = Join(record) if joined else None
        check(p.region < len(self.region_bytes) and p.value_bits in (4, 6, 8, 16) and
              14 <= p.s <= 26, "stream record")
        check(p.flags in {16: (0, BIG_ENDIAN), 6: (0, SCALES)}.get(p.value_bits, (0,)), "stream record")
        check(p.flags != SCALES or (p.width == 12 and not joined), "packed scales")
        check(p.stride >= 1 and p.width >= 1 and p.offset + p.width <= p.stride, "stream record")
        check(p.value_bits != 16 or p.width % 2 == 0, "stream width")
        if p.join:
            check(p.value_bits == 6 and 2 * p.width == len(p.join.numbers), "joined stream")
            check(p.join.offset + p.join.n_bytes <= p.stride, "joined stream")
        else:
            check(p.value_bits != 6 or p.width % 3 == 0, "stream width")
        check(p.head_bytes % 64 == 0 and p.head_bytes <= 12800, "head size")
        if p.scale_stream == 255:
            check(not p.scale_form and not p.per_scale, "scales of a stream without")
        else:
            check(p.scale_stream < index and self.streams[p.scale_stream].value_bits == 16 and
                  p.scale_form in (1, 2) and p.per_scale >= 1, "scale stream")
        units, rest = divmod(self.region_bytes[p.region], p.stride)
        check(rest == 0, "region is not a whole number of units")
        p.n_bytes = units * p.unit_bytes()
        p.segment_bytes = (1 << p.s) * p.value_bits // 8
        check(min(p.n_bytes, p.segment_bytes) <= 1 << 26, "segment size")
        p.sizes = [64 * record.varint() for _ in range(-(-p.n_bytes // p.segment_bytes))]
        return p

    def crcs(self, record, minor):
        """The CRCs of heads and segments, which version 1.2 repeats in the index."""
        there = minor > 0 and record.data[record.at:record.at + 4] == b"CRCS"
        check(there or minor < 2, "layer record without CRCs")
        if there:
            record.take(4)
        for p in self.streams:
            p.crcs = [record.number(4) for _ in range(1 + len(p.sizes))] if there else None

    def derivation(self, r):
        if r.data[r.at:min(r.at + 4, r.end)] != b"DERV":
            return None
        r.take(4)
        sizes = {"source": 4, "importance": 4, "offset": 8, "version": 2, "quality": 1, "view": 1}
        derived = {name: r.number(n) for name, n in sizes.items()}
        check(derived["quality"] <= 1 and derived["view"] <= 3, "derivation")
        check(derived["importance"] or not derived["offset"], "derivation")
        check(self.kind == 0 and not self.base and not self.big and len(self.region_bytes) == 1, "derivation")
        derived["pieces"] = None
        check(not (derived["view"] & 1 and derived["source"]), "derivation")
        if derived["view"] & 2:
            check(derived["importance"], "divisors without importance")
            divisors = [struct.unpack("<f", r.take(4))[0] for _ in range(r.varint())]
            check(all(0 <= x < math.inf for x in divisors), "divisor")
            check(len(divisors) == math.prod(self.dims[:-2]), "divisors")
        if derived["view"] & 1:
            derived["pieces"] = read_pieces(r)
        return derived

    def check_cover(self):
        for region, size in enumerate(self.region_bytes):
            mine = [p for p in self.streams if p.region == region]
            at = 0
            for first, past in sorted(r for p in mine for r in p.ranges()):
                check(first == at, "streams do not tile")
                at = past
            check(all(p.stride == at for p in mine) and (not size or mine), "streams do not cover")

    def decode(self, data, base):
        """All regions; base is the layer of the same name in the base model, decoded, or None."""
        at, checked = self.offset, b""
        self.stream_bytes = []
        regions = [bytearray(n) for n in self.region_bytes]
        for p in self.streams:
            head = data[at:at + p.head_bytes]
            at += p.head_bytes
            checked += head
            p.head = Head(head, p.value_bits)
            reference = gather(base.regions[p.region], p) if base else None
            scales = base_scales = None
            if p.scale_stream != 255:
                owner = self.streams[p.scale_stream]
                scales = [half_float(v, p.scale_form, 0) for v in
                          unpack_values(self.stream_bytes[p.scale_stream], 16, owner.flags)]
                if base:
                    base_scales = [half_float(v, p.scale_form, 0) for v in unpack_values(
                        gather(base.regions[owner.region], owner), 16, owner.flags)]
            out = b""
            for i, size in enumerate(p.sizes):
                n = min(p.segment_bytes, p.n_bytes - i * p.segment_bytes)
                segment = data[at:at + size]
                check(at + size <= self.offset + self.size and size >= 64, "layer data")
                out += decode_segment(segment, p, i, n, reference, scales, base_scales)
                checked += segment[4:8]
                check(not p.crcs or p.crcs[1 + i] == int.from_bytes(segment[4:8], "little"),
                      "CRC of a segment in the index")
                at += size
            self.stream_bytes.append(out)
            scatter(regions[p.region], out, p)
        check(not any(data[at:self.offset + self.size]), "padding of a layer")
        check(self.size == 0 or self.offset + self.size - at < 128, "size of a layer")
        check(zlib.crc32(checked) == self.crc, "layer CRC")
        self.regions = [bytes(r) for r in regions]


def gather(region, p):
    if p.join:
        return b"".join(join(region[u:u + p.stride], p)
                        for u in range(0, len(region), p.stride))
    return b"".join(region[u + p.offset:u + p.offset + p.width]
                    for u in range(0, len(region), p.stride))


def join(unit, p):
    """The stream's bytes of a unit."""
    low, high = (int.from_bytes(unit[a:b], "little") for a, b in p.ranges())
    values = 0
    for v, w in enumerate(p.join.numbers):
        top = high >> w * p.join.bits & (1 << p.join.bits) - 1
        values |= (low >> 4 * v & 15 | top << 4) << 6 * v
    return values.to_bytes(p.unit_bytes(), "little")


def separate(unit, data, p):
    """The reverse, into the unit."""
    values, low, high = int.from_bytes(data, "little"), 0, 0
    for v, w in enumerate(p.join.numbers):
        value = values >> 6 * v
        low |= (value & 15) << 4 * v
        high |= (value >> 4 & (1 << p.join.bits) - 1) << w * p.join.bits
    for (a, b), n in zip(p.ranges(), (low, high)):
        unit[a:b] = n.to_bytes(b - a, "little")


def scatter(region, data, p):
    for u in range(len(region) // p.stride if p.join else 0):
        unit, n = region[u * p.stride:(u + 1) * p.stride], p.unit_bytes()
        separate(unit, data[u * n:(u + 1) * n], p)
        region[u * p.stride:(u + 1) * p.stride] = unit
    if p.join:
        return
    for u in range(len(region) // p.stride):
        region[u * p.stride + p.offset:u * p.stride + p.offset + p.width] = \
            data[u * p.width:(u + 1) * p.width]


def sub_records(r, size):
    return Reader(r.take(size))


class Container:
    def __init__(self, data):
        self.data = data
        h = Reader(data)
        check(h.take(8) == b"WCODEC\0\0", "magic")
        check(h.number(2) == 1, "major version")
        self.minor = h.number(2)
        self.digest = h.take(32)
        h.take(3)
        n_layers, offset = h.number(4), h.number(8)
        h.zeros(5)
        file_size, index_size, _ = h.number(8), h.number(8), h.number(4)
        h.zeros(44)
        check(offset % 128 == 0 and offset >= 128, "index offset")
        check(file_size == len(data) == offset + index_size + 32, "file size")
        f = Reader(data, offset + index_size)
        check((f.number(8), f.number(8)) == (offset, index_size), "footer")
        check(f.number(4) == zlib.crc32(data[:128] + data[offset:offset + index_size]),
              "CRC of header and index")
        f.zeros(4)
        check(f.take(8) == b"WCODEC\0\1", "footer magic")
        r = Reader(data, offset, offset + index_size)
        check(r.number(4) == n_layers, "number of layers")
        n_bases, n_files, self.form = r.number(4), r.number(4), r.number(1)
        r.zeros(3)
        sizes = [r.number(8) for _ in range(3)]
        unpacked = r.number(8)
        r.zeros(16)
        check(n_bases <= 255 and self.form <= 2 and (self.form == 0) == (n_files == 0) and
              (self.form != 1 or n_files == 1), "index")
        parts = [sub_records(r, n) for n in sizes]
        check(not r.rest(), "index")
        if unpacked:
            check(self.minor >= 5 and unpacked <= 65536 + 64 * sizes[0] and
                  n_layers <= 1024 + sizes[0] // 4, "packed records of layers")
            parts[0] = Reader(decode_zstd(parts[0].take(sizes[0]), unpacked))
        self.layers = [Layer(parts[0], self.minor) for _ in range(n_layers)]
        self.bases = [self.base_record(parts[1]) for _ in range(n_bases)]
        self.entries = {}  # of each file: kind, permissions, seconds, nanoseconds, target
        self.files = [self.file_record(parts[2]) for _ in range(n_files)]
        check(not any(p.rest() for p in parts), "index")
        check(all(layer.base <= n_bases for layer in self.layers), "base of a layer")
        names = [(layer.kind, layer.name) for layer in self.layers if layer.kind != 1]
        check(len(set(names)) == len(names), "a name is there twice")
        check(sum(kind == 2 for kind, _ in names) <= 1, "metadata is there twice")
        file_names = [name for name, _ in self.files]
        check(len(set(file_names)) == len(file_names), "a file is there twice")
        links = {name for name, _ in self.files if self.entries[name][0] == 1}
        check(not any("/".join(name.split("/")[:i]) in links
                      for name in file_names for i in range(1, name.count("/") + 1)),
              "a file lies in a folder that is a link")
        spans = sorted({(layer.offset, layer.size) for layer in self.layers if layer.size})
        at = 128
        for start, size in spans:
            check(start == at, "layers' data does not cover the file")
            at += size
        check(at == offset, "layers' data does not cover the file")

        depths = []
        for i, layer in enumerate(self.layers):
            sources = self.sources(layer, i) if layer.derived else ()
            depths.append(max((depths[source] for source in sources), default=0) + bool(layer.derived))
            check(depths[i] <= 2, "derived of what is derived twice")

    def sources(self, layer, i):
        """The layers that one is made of, checked."""
        if layer.derived["pieces"]:
            sources = check_pieces(layer, self.layers, i)
        else:
            sources = {layer.derived["source"]}
            check(max(sources) < i and self.layers[max(sources)].dims == layer.dims, "source of a derived layer")
        for source in sources:
            of = self.layers[source]
            check(of.kind == 0 and not of.big and len(of.region_bytes) == 1, "source of a derived layer")
        return sources

    def base_record(self, r):
        record = take_record(r)
        n, _ = record.number(2), record.zeros(2)
        base = record.take(32), record.take(n)
        end_record(record, self.minor, "base record")
        return base

    def file_record(self, r):
        record = take_record(r)
        n_name, _ = record.number(2), record.zeros(2)
        n_bytes, n_ranges = record.number(8), record.number(4)
        name = record.take(n_name)
        parts = name.split(b"/")
        check(not any(p in (b"", b".", b"..") or b"\0" in p for p in parts), "file name")
        layer, ends, ranges = 0, {}, []
        for _ in range(n_ranges):
            layer += record.zigzag()
            region = record.varint()
            check(0 <= layer < len(self.layers) and
                  region < len(self.layers[layer].region_bytes), "range")
            offset = ends.get((layer, region), 0) + record.zigzag()
            length = record.varint()
            check(length >= 1 and 0 <= offset and
                  offset + length <= self.layers[layer].region_bytes[region], "range")
            ends[layer, region] = offset + length
            ranges.append((layer, region, offset, length))
        self.entries[name.decode()] = self.entry(record, name, n_bytes) if self.minor else (0,)
        end_record(record, self.minor, "file record")
        check(sum(x[3] for x in ranges) == n_bytes, "file record")
        return name.decode(), ranges

    def entry(self, r, name, n_bytes):
        if r.data[r.at:min(r.at + 4, r.end)] != b"ATTR":
            return (0,)
        r.take(4)
        kind, _, mode = r.number(1), r.zeros(1), r.number(2)
        nanoseconds, seconds = r.number(4), int.from_bytes(r.take(8), "little", signed=True)
        target = r.take(r.number(4))
        check(kind <= 2 and mode <= 0o777 and nanoseconds < 10**9, "entry")
        check(kind == 0 or self.form == 2, "only a directory has links and folders")
        check(kind == 1 or not target, "only a link has a target")
        check(kind != 2 or n_bytes == 0, "a folder has a size")
        if kind == 1:
            parts = target.split(b"/")
            up = next((i for i, p in enumerate(parts) if p != b".."), len(parts))
            check(up <= name.count(b"/") and not any(
                p in (b"", b".", b"..") or b"\0" in p for p in parts[up:]), "target of a link")
        return kind, mode, seconds, nanoseconds, target

    def decode(self, base=None):
        named = {layer.name: layer for layer in base.layers if layer.kind == 0} if base else {}
        for layer in self.layers:
            reference = named.get(layer.name) if layer.base else None
            if layer.derived:
                reference = Stream()
                reference.regions = [derive(layer, self.layers)]
            layer.decode(self.data, reference)

    def file(self, i):
        return b"".join(self.layers[layer].regions[region][offset:offset + length]
                        for layer, region, offset, length in self.files[i][1])


def open_file(path, base_path=None):
    """A container with all its regions decoded."""
    base = open_file(base_path) if base_path else None
    with open(path, "rb") as f:
        container = Container(f.read())
    if base:
        check(container.bases and container.bases[0][0] == base.digest, "another base model")
    container.decode(base)
    return container


def digests(container):
    for layer in container.layers:
        for i, region in enumerate(layer.regions):
            name = layer.name.decode("utf-8", "backslashreplace")
            yield "%s  %s:%d" % (hashlib.sha256(region).hexdigest(), name, i)
    for i, (name, _) in enumerate(container.files):
        yield "%s  %s" % (hashlib.sha256(container.file(i)).hexdigest(), name)


def check_vectors(folder):
    """EXPECTED: a line `file NAME [BASE]`, then the digests of its regions and files."""
    expected = {}
    with open(os.path.join(folder, "EXPECTED"), encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("file "):
                current = expected.setdefault(tuple(line.split()[1:]), [])
            else:
                current.append(line)
    for names, lines in expected.items():
        got = list(digests(open_file(*(os.path.join(folder, n) for n in names))))
        check(got == lines, "%s: %s" % (names[0], sorted(set(got) ^ set(lines))))
        print("%s: %d regions and files as expected" % (names[0], len(got)))
    stored = {n for n in os.listdir(folder) if n.endswith(".wcodec")}
    check(stored == {names[0] for names in expected}, "files and EXPECTED differ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    parser.add_argument("--base")
    parser.add_argument("--unpack")
    parser.add_argument("--vectors")
    options = parser.parse_args()
    if options.vectors:
        check_vectors(options.vectors)
        return
    container = open_file(options.file, options.base)
    print("\n".join(digests(container)))
    for i, (name, _) in enumerate(container.files if options.unpack else []):
        path = os.path.join(options.unpack, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(container.file(i))


if __name__ == "__main__":
    try:
        main()
    except ModuleNotFoundError as error:
        print("SKIP: no module %s (scripts/venv makes an environment that has it)" % error.name)
        sys.exit(77)
    except Bad as error:
        sys.exit("wcodec_decoder: %s" % error)
