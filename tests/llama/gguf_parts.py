# SPDX-License-Identifier: MIT
"""A GGUF file taken apart into its keys, as they are stored, and its tensors, and put together again."""
import struct

ALIGNMENT = 32
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TEXT, ARRAY = 8, 9


class Gguf:
    """tensors: (name, dimensions, number of the type, bytes); key_list: (name, number of the type, bytes as stored)"""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.raw = f.read()
        self.at = 8
        n_tensors, self.n_keys = self.take("<QQ")
        keys, self.key_list = self.at, []
        for _ in range(self.n_keys):
            name, (kind,) = self.text().decode(), self.take("<I")
            begin = self.at
            self.skip_value(kind)
            self.key_list.append((name, kind, self.raw[begin:self.at]))
        self.keys = self.raw[keys:self.at]
        heads = [(self.text().decode(), self.take("<%dQ" % self.take("<I")[0]), *self.take("<IQ")) for _ in range(n_tensors)]
        data = -(-self.at // ALIGNMENT) * ALIGNMENT
        ends = sorted(offset for *_, offset in heads)[1:] + [len(self.raw) - data]
        self.tensors = [(name, dims, kind, self.raw[data + offset:data + min(e for e in ends if e > offset)])
                        for name, dims, kind, offset in heads]

    def take(self, form):
        values = struct.unpack_from(form, self.raw, self.at)
        self.at += struct.calcsize(form)
        return values

    def text(self):
        (n,) = self.take("<Q")
        self.at += n
        return self.raw[self.at - n:self.at]

    def skip_value(self, kind):
        if kind == TEXT:
            self.text()
        elif kind == ARRAY:
            kind, n = self.take("<IQ")
            for _ in range(n if kind == TEXT else 0):
                self.text()
            self.at += SIZES.get(kind, 0) * n
        else:
            self.at += SIZES[kind]

    def write(self, path, tensors, keys=None):
        """These tensors, with the same keys or these."""
        head, data = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), self.n_keys if keys is None else len(keys))], b""
        head += [self.keys] if keys is None else [struct.pack("<Q", len(k)) + k.encode() + struct.pack("<I", t) + v for k, t, v in keys]
        for name, dims, kind, blob in tensors:
            head += [struct.pack("<Q", len(name)), name.encode(), struct.pack("<I%dQIQ" % len(dims), len(dims), *dims, kind, len(data))]
            data += blob + bytes(-len(blob) % ALIGNMENT)
        head = b"".join(head)
        with open(path, "wb") as f:
            f.write(head + bytes(-len(head) % ALIGNMENT) + data)
