# SPDX-License-Identifier: MIT
"""FlatBuffers put together from tables, so that any of them can be wrong. What a table refers to lies behind it."""
import struct


class Flat:
    def __init__(self, identifier=b"TFL3"):
        self.bytes = bytearray(b"\0\0\0\0" + identifier)
        self.at = {}

    def put(self, data, align=4):
        self.bytes += bytes(-len(self.bytes) % align)
        at = len(self.bytes)
        self.bytes += data
        return at

    def link(self, place, target):
        struct.pack_into("<I", self.bytes, place, target - place)

    def vector(self, form, values):
        """of numbers"""
        at = self.put(struct.pack("<I", len(values)), 8 if form == "q" else 4)
        if form == "q":   # items are aligned, the count is before them
            del self.bytes[at:]
            at = self.put(struct.pack("<II", 0, len(values))) + 4
        self.put(struct.pack("<%d%s" % (len(values), form), *values), 1)
        return at

    def text(self, value):
        value = value.encode()
        return self.put(struct.pack("<I", len(value)) + value + b"\0")

    def tables(self, targets):
        """a vector of tables, each made by a function that comes later"""
        at = self.put(struct.pack("<I", len(targets)) + bytes(4 * len(targets)))
        for i, target in enumerate(targets):
            self.link(at + 4 + 4 * i, target())
        return at

    def table(self, mark=None, **fields):
        """_NUMBER=(form, number), or a function that puts what is referred to and gives its place"""
        numbers = {int(k[1:]): v for k, v in fields.items()}
        n = max(numbers, default=-1) + 1
        size, places = 4, [0] * n
        for i in sorted(numbers, key=lambda i: -8 if numbers[i].__class__ is tuple and numbers[i][0] in "Qq" else 0):
            size += -size % (8 if numbers[i].__class__ is tuple and numbers[i][0] in "Qq" else 4)
            places[i] = size
            size += 8 if numbers[i].__class__ is tuple and numbers[i][0] in "Qq" else 4
        vtable = self.put(struct.pack("<HH%dH" % n, 4 + 2 * n, size, *places), 2)
        at = self.put(bytes(size), 8)
        struct.pack_into("<i", self.bytes, at, at - vtable)
        if mark:
            self.at[mark] = at
        for i, value in numbers.items():
            if value.__class__ is tuple:
                struct.pack_into("<" + value[0], self.bytes, at + places[i], value[1])
            else:
                self.link(at + places[i], value())
        return at

    def file(self, root=None):
        if root is not None:
            self.link(0, root)
        return bytes(self.bytes)


class Lite(Flat):
    """A model of TensorFlow Lite. tensors: dicts of shape, type, buffer, name and more fields."""

    def __init__(self, tensors, buffers, version=3, graphs=None, behind=b""):
        super().__init__()
        graphs = graphs or [tensors]
        root = self.table(
            "root", _0=("I", version), _3=lambda: self.text("by hand"),
            _2=lambda: self.tables([(lambda g=g, i=i: self.graph(g, i)) for i, g in enumerate(graphs)]),
            _4=lambda: self.tables([(lambda b=b, i=i: self.buffer(b, i)) for i, b in enumerate(buffers)]))
        self.link(0, root)
        self.bytes += behind

    def graph(self, tensors, i):
        return self.table(_0=lambda: self.tables([(lambda t=t, k=k: self.tensor(t, k)) for k, t in enumerate(tensors)]),
                          _4=lambda: self.text("main" if i == 0 else "body"))

    def buffer(self, data, i):
        if isinstance(data, tuple):
            return self.table("buffer %d" % i, _1=("Q", data[0]), _2=("Q", data[1]))
        return self.table("buffer %d" % i, **({"_0": lambda: self.data(data, i)} if data else {}))

    def data(self, data, i):
        at = self.put(struct.pack("<I", len(data)) + data)
        self.at["data %d" % i] = at + 4
        return at

    def tensor(self, t, k):
        t = dict(t)
        fields = {"_0": lambda: self.vector("i", t["shape"]), "_1": ("B", t.get("type", 0)), "_2": ("I", t.get("buffer", 1))}
        if t.get("name", "w"):
            fields["_3"] = lambda: self.text(t.get("name", "w"))
        if "scale" in t:
            fields["_4"] = lambda: self.table(_2=lambda: self.vector("f", t["scale"]), _3=lambda: self.vector("q", t["zero"]),
                                              _6=("i", t.get("axis", 0)))
        if t.get("sparse"):
            fields["_6"] = lambda: self.table()
        return self.table("tensor %d" % k, **fields)
