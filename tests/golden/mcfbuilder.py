# SPDX-License-Identifier: MIT
"""Builds MCF files for the malformed corpus: every field can be set to anything, and every field has
a mark with its offset in the file."""
import struct

F32, F16, I8, INT8, INT4, Q8, Q4, K6, K4, K3, K2 = 1, 2, 5, 16, 17, 32, 33, 48, 49, 50, 51
MODEL_INFO, QUANT_INFO, INDEX, DATA, CONFIG, FILES, METADATA = 1, 2, 3, 4, 0x100, 0x7A01, 0x7A02
BITS = {Q8: 8, Q4: 4, K6: 6, K4: 4, K3: 3, K2: 2}


def align(n, unit):
    return (n + unit - 1) // unit * unit


def regions(dtype, rows, cols):
    """The sizes of a quantized tensor's regions."""
    blocks = (cols + 31) // 32
    codes = rows * blocks * 4 * BITS[dtype]
    if dtype in (Q8, Q4):
        return [rows * blocks * 2, codes]
    return [rows * ((blocks + 7) // 8) * 2, rows * blocks, codes]


def quantized_size(dtype, rows, cols):
    end = 0
    for size in regions(dtype, rows, cols):
        end = align(end, 64) + size
    return end


class Mcf:
    """sections: (type, bytes or (bytes, marks), options). Options: version, offset, size, align."""

    def __init__(self, **header):
        self.header = header
        self.sections = []
        self.at = {"magic": 0, "major": 4, "minor": 6, "header_size": 8, "section_count": 12,
                   "directory": 16, "file_size": 24, "flags": 32}
        self.content = None

    def add(self, kind, content=b"", marks=None, **options):
        self.sections.append((kind, content, marks or {}, options))
        return self

    def tensors(self, *tensors, **options):
        """Tensors: dicts with name, dtype, dims, and data or size; sections 3 and 4."""
        self.add(INDEX, ("index", tensors, options))
        return self.add(DATA, ("data", tensors, options), align=64)

    def quant(self, *records, version=1, count=None, tail=b""):
        """Records: (tensor, method, domain, block, super, reserved, min, max)."""
        out = struct.pack("<II", version, len(records) if count is None else count)
        marks = {"quant version": 0, "quant count": 4}
        for i, (tensor, method, domain, block, top, reserved, low, high) in enumerate(records):
            marks["quant %d" % i] = len(out)
            out += struct.pack("<IBBHH6sff", tensor, method, domain, block, top, reserved, low, high)
        marks["quant end"] = len(out)
        return self.add(QUANT_INFO, out + tail, marks)

    def file(self):
        if self.content is None:
            self.build()
        return self.content

    def build(self):
        head = self.header
        out = bytearray(40 + head.get("extra", 0))
        records, index_at, data_at = [], None, None
        places = []
        for kind, content, marks, options in self.sections:
            out += bytes(align(len(out), options.get("align", 8)) - len(out))
            begin = len(out)
            if isinstance(content, tuple):
                what, tensors, more = content
                if what == "index":
                    index_at, index = begin, (tensors, more)
                    content = bytes(len(self.index(tensors, more, None, 0)))
                else:
                    content, places = self.data(tensors, more, begin)
            out += content
            for mark, offset in marks.items():
                self.at[mark] = begin + offset
            self.at["section %#x" % kind] = begin
            records.append((kind, options.get("version", 1), options.get("offset", begin),
                            options.get("size", len(content))))
        if index_at is not None:
            content = self.index(*index, places or None, index_at)
            out[index_at:index_at + len(content)] = content
        out += bytes(align(len(out), 8) - len(out))
        directory = len(out)
        for i, record in enumerate(records):
            self.at["record %d" % i] = len(out)
            out += struct.pack("<IIQQ", *record)
        struct.pack_into("<4sHHIIQQQ", out, 0, head.get("magic", b"MCF\0"), head.get("major", 1),
                         head.get("minor", 1), head.get("size", 40 + head.get("extra", 0)),
                         head.get("count", len(records)), head.get("directory", directory),
                         head.get("file_size", len(out)), head.get("flags", 1))
        self.content = bytes(out) + head.get("tail", b"")

    def data(self, tensors, options, begin):
        out, places = b"", []
        for t in tensors:
            out += bytes(align(len(out), t.get("align", 64)) - len(out))
            places.append(begin + len(out))
            out += t.get("data", bytes(self.size_of(t)))
        return out[:options.get("cut", len(out))], places

    @staticmethod
    def size_of(t):
        if "size" in t:
            return t["size"]
        n = 1
        for d in t["dims"]:
            n *= d
        if t["dtype"] in BITS and len(t["dims"]) == 2:
            return quantized_size(t["dtype"], *t["dims"])
        return n * {F32: 4, F16: 2, I8: 1}.get(t["dtype"], 1)

    def index(self, tensors, options, places, base):
        n_dims = sum(len(t["dims"]) for t in tensors)
        entries, dims = 48, 48 + 40 * len(tensors)
        strings = dims + 8 * n_dims
        names = b"".join(t["name"] for t in tensors)
        out = struct.pack("<IIIIQQQQ", options.get("version", 1), options.get("index_flags", 3),
                          options.get("count", len(tensors)), options.get("n_dims", n_dims),
                          options.get("entries", entries), options.get("dims_off", dims),
                          options.get("strings", strings),
                          options.get("strings_size", len(names)))
        for mark, offset in (("index version", 0), ("index flags", 4), ("tensor_count", 8),
                             ("entries_off", 16), ("dims_off", 24), ("strings_off", 32)):
            self.at[mark] = base + offset
        dim_at = name_at = 0
        for i, t in enumerate(tensors):
            place = t.get("place", (places[t.get("same", i)] if places else 0) + t.get("shift", 0))
            self.at["tensor %d" % i] = base + len(out)
            out += struct.pack("<IIIIIIQQ", t.get("name_off", name_at),
                               t.get("name_len", len(t["name"])), t["dtype"],
                               t.get("rank", len(t["dims"])), t.get("dim_off", dim_at),
                               t.get("reserved", 0), place,
                               t.get("data_size", len(t.get("data", b"")) or self.size_of(t)))
            dim_at += len(t["dims"])
            name_at += len(t["name"])
        for t in tensors:
            out += struct.pack("<%dQ" % len(t["dims"]), *t["dims"])
        return out + names


def blobs(*pairs, version=1, count=None, names_size=None, shift=0):
    """A section of named blobs, ours."""
    names = b"".join(name for name, _ in pairs)
    at = 16 + 24 * len(pairs) + len(names)
    out = struct.pack("<IIQ", version, len(pairs) if count is None else count,
                      len(names) if names_size is None else names_size)
    name_at, data = 0, b""
    for name, content in pairs:
        data += bytes(align(at + len(data), 8) - at - len(data))
        out += struct.pack("<IIQQ", name_at, len(name), at + len(data) + shift, len(content))
        name_at += len(name)
        data += content
    return out + names + data


def model_info(numbers=(1, 0, 512, 256, 2, 4, 2, 512, 0, 1), floats=(10000.0, 0.0), strings=(),
               version=1, pairs=b"", n_pairs=0, name_off=None, kv_off=0):
    out = struct.pack("<II10I2f", version, 0, *numbers, *floats)
    text, offsets = b"", [0, 0]
    for i, s in enumerate(strings):
        text += bytes(-len(text) % 8)
        offsets[i] = 88 + len(text)
        text += struct.pack("<I", len(s)) + s
    if name_off is not None:
        offsets[0] = name_off
    return out + struct.pack("<QQIIQ", *offsets, n_pairs, 0, kv_off) + text + pairs
