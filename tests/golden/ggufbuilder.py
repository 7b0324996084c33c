# SPDX-License-Identifier: MIT
"""Writes GGUF byte by byte, right or wrong, and remembers where each field went (self.at)."""
import struct

U8, I8, U16, I16, U32, I32, F32V, BOOL, STRING, ARRAY, U64, I64, F64V = range(13)
VALUE_FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32V: "f", BOOL: "B",
                 U64: "Q", I64: "q", F64V: "d"}

# Tensor types used here: number -> (elements a block, bytes a block).
F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1 = 0, 1, 2, 3, 6, 7, 8, 9
Q4_K, TI8, TI16, TI32, TI64, TF64, BF16, MXFP4 = 12, 24, 25, 26, 27, 28, 30, 39
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), Q4_1: (32, 20), Q5_0: (32, 22), Q5_1: (32, 24),
          Q8_0: (32, 34), Q8_1: (32, 36), Q4_K: (256, 144), TI8: (1, 1), TI16: (1, 2),
          TI32: (1, 4), TI64: (1, 8), TF64: (1, 8), BF16: (1, 2), MXFP4: (32, 17)}


def text(s):
    return s if isinstance(s, bytes) else s.encode()


class Gguf:
    def __init__(self, version=3, big=False, magic=b"GGUF", n_tensors=None, n_kv=None):
        self.order = ">" if big else "<"
        self.count = "I" if version == 1 else "Q"  # v1: counts, lengths and dims are u32
        self.given = (n_tensors, n_kv)
        self.at, self.out = {}, bytearray()
        self.n_keys = self.n_infos = self.running = 0
        self.alignment = 32
        self.data = []  # (offset in the data section, bytes)
        self.how = {}  # see ends()
        self.mark("magic").raw(magic)
        self.mark("version").num("I", version)
        self.mark("n_tensors").num(self.count, 0)
        self.mark("n_kv").num(self.count, 0)

    # -- single fields
    def mark(self, label):
        self.at[label] = len(self.out)
        return self

    def raw(self, content):
        self.out += content
        return self

    def num(self, fmt, value):
        return self.raw(struct.pack(self.order + fmt, value))

    def string(self, s, length=None):
        s = text(s)
        return self.num(self.count, len(s) if length is None else length).raw(s)

    # -- metadata
    def key(self, name, kind, length=None):
        """A key and its value's type; the value follows by raw(), num(), string()."""
        label = "key %d" % self.n_keys
        self.n_keys += 1
        self.mark(label).string(name, length)
        self.at[label + " name"] = self.at[label] + struct.calcsize(self.order + self.count)
        self.mark(label + " type").num("I", kind)
        return self.mark(label + " value")

    def kv(self, name, kind, value):
        self.key(name, kind)
        if kind == U32 and name == "general.alignment":
            self.alignment = value
        return self.value(kind, value)

    def value(self, kind, value):
        return self.string(value) if kind == STRING else self.num(VALUE_FORMATS[kind], value)

    def array(self, name, kind, values, count=None):
        label = "key %d" % self.n_keys
        self.key(name, ARRAY).num("I", kind)
        self.mark(label + " count").num(self.count, len(values) if count is None else count)
        self.mark(label + " elements")
        for i, v in enumerate(values):
            self.mark(label + " element %d" % i).value(kind, v)
        return self

    # -- tensors
    def tensor(self, name, dims, kind, offset=None, data=None, n_dims=None, length=None):
        """data: None for zeros as the shape asks for; b"" for none in the file. offset: None for
        the next free aligned place."""
        label = "tensor %d" % self.n_infos
        self.n_infos += 1
        self.mark(label).string(name, length)
        self.at[label + " name"] = self.at[label] + struct.calcsize(self.order + self.count)
        self.mark(label + " n_dims").num("I", len(dims) if n_dims is None else n_dims)
        for i, d in enumerate(dims):
            self.mark(label + " dim %d" % i).num(self.count, d)
        self.mark(label + " type").num("I", kind)
        if data is None:
            block, size = BLOCKS[kind]
            elements = 1
            for d in dims:
                elements *= d
            data = bytes(elements // block * size)
        if offset is None:
            offset = self.running
        self.mark(label + " offset").num("Q", offset)
        if data:
            self.data.append((offset, data))
        self.at[label + " data"] = offset  # made absolute by file()
        unit = self.alignment or 32
        if offset + len(data) < 1 << 62:
            self.running = (offset + len(data) + unit - 1) // unit * unit
        return self

    # -- the whole
    def ends(self, **how):
        """How file() finishes: pad_last, padding (one byte), tail, cut (bytes taken off),
        end_in_directory (nothing after the last field, no padding)."""
        self.how = how
        return self

    def file(self):
        how = self.how
        padding, tail, cut = how.get("padding", b"\0"), how.get("tail", b""), how.get("cut", 0)
        for label, given, n in (("n_tensors", self.given[0], self.n_infos),
                                ("n_kv", self.given[1], self.n_keys)):
            struct.pack_into(self.order + self.count, self.out, self.at[label], n if given is None else given)
        if how.get("end_in_directory"):
            return bytes(self.out)
        out, unit = bytearray(self.out), self.alignment or 32
        self.at["padding"] = len(out)
        if unit <= 1 << 20:  # beyond, the data section is not in the file
            out += padding * (-len(out) % unit)
        base = self.at["data"] = len(out)
        for label in [k for k in self.at if k.startswith("tensor ") and k.endswith(" data")]:
            self.at[label] += base
        for offset, content in self.data:
            out += padding * (base + offset - len(out))
            out[base + offset:base + offset + len(content)] = content
        if how.get("pad_last", True) and self.data and unit <= 1 << 20:
            out += padding * (-(len(out) - base) % unit)
        self.at["end"] = len(out)
        out += tail
        return bytes(out[:len(out) - cut])
