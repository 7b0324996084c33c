# SPDX-License-Identifier: MIT
"""A reader of MCF of its own: written from the specification's text and docs/mcf.md, and from
nothing of the library. It believes a file as far as it must and raises Fault where a rule is
broken."""
import struct

PLAIN = {1: (4, "f"), 2: (2, "e"), 3: (2, None), 4: (8, "d"), 5: (1, "b"), 6: (1, "B"), 7: (2, "h"),
         8: (2, "H"), 9: (4, "i"), 10: (4, "I"), 11: (8, "q"), 12: (8, "Q")}
INTS = {0x10: 8, 0x11: 4}
BLOCKS = {0x20: 8, 0x21: 4, 0x30: 6, 0x31: 4, 0x32: 3, 0x33: 2}
SUPERS = (0x30, 0x31, 0x32, 0x33)
RESOURCES = {0x100: "config.json", 0x101: "generation_config.json", 0x102: "tokenizer.json",
             0x103: "tokenizer_config.json", 0x104: "vocab.json", 0x105: "merges.txt"}


class Fault(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Fault(what)


def align64(n):
    return (n + 63) & ~63


def f16(raw):
    return struct.unpack("<%de" % (len(raw) // 2), raw)


def f32(x):
    """x rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


def signed_codes(raw, bits, n):
    """n two's complement codes from a stream, lowest bits first."""
    stream, mask, sign = int.from_bytes(raw, "little"), (1 << bits) - 1, 1 << (bits - 1)
    out = []
    for _ in range(n):
        code = stream & mask
        out.append(code - 2 * sign if code & sign else code)
        stream >>= bits
    return out


class Tensor:
    def __init__(self, name, dtype, shape, offset, size):
        self.name, self.dtype, self.shape, self.offset, self.size = name, dtype, shape, offset, size
        self.record = None

    def elements(self):
        n = 1
        for d in self.shape:
            n *= d
        return n


class File:
    def __init__(self, raw):
        self.raw = raw
        self.sections, self.tensors, self.files = {}, [], {}
        self.read_header()
        self.read_tensors()
        self.read_quant_info()
        for kind, name in RESOURCES.items():
            if kind in self.sections:
                self.files[name] = self.section(kind)
        if 0x7A01 in self.sections:
            self.files.update(self.blobs(0x7A01))

    def section(self, kind):
        _, offset, size = self.sections[kind]
        return self.raw[offset:offset + size]

    def read_header(self):
        magic, major, _, head, count, directory, size, self.flags = struct.unpack_from(
            "<4sHHIIQQQ", self.raw)
        demand(magic == b"MCF\0" and major == 1 and head >= 40 and count >= 1, "header")
        demand(size == len(self.raw), "file_size")
        taken = [(0, head), (directory, directory + 24 * count)]
        last = -1
        for i in range(count):
            kind, version, offset, length = struct.unpack_from("<IIQQ", self.raw, directory + 24 * i)
            demand(kind > last, "sections sorted by type")
            demand(offset % 8 == 0 and offset + length <= size, "section inside")
            last = kind
            self.sections[kind] = (version, offset, length)
            taken.append((offset, offset + length))
        taken.sort()
        demand(all(a[1] <= b[0] for a, b in zip(taken, taken[1:])), "sections apart")
        demand(taken[-1][0] == directory, "directory last")

    def read_tensors(self):
        if 3 not in self.sections:
            demand(4 not in self.sections, "TensorData without TensorIndex")
            return
        index = self.section(3)
        version, flags, count, n_dims, entries, dims, strings, names = struct.unpack_from(
            "<IIIIQQQQ", index)
        demand(version == 1 and count >= 1 and flags & 1, "tensor index")
        _, begin, length = self.sections[4]
        for i in range(count):
            name_off, name_len, dtype, rank, dim_off, reserved, offset, size = struct.unpack_from(
                "<IIIIIIQQ", index, entries + 40 * i)
            demand(reserved == 0 and dim_off + rank <= n_dims and name_off + name_len <= names,
                   "entry")
            shape = struct.unpack_from("<%dQ" % rank, index, dims + 8 * dim_off)
            name = index[strings + name_off:strings + name_off + name_len]
            demand(begin <= offset and offset + size <= begin + length, "data inside")
            demand(0 not in shape, "no empty tensor")
            self.tensors.append(Tensor(name, dtype, shape, offset, size))
        demand([t.name for t in self.tensors] == sorted(t.name for t in self.tensors), "sorted")

    def read_quant_info(self):
        quantized = [t for t in self.tensors if t.dtype in BLOCKS or t.dtype in INTS]
        if 2 in self.sections:
            info = self.section(2)
            version, count = struct.unpack_from("<II", info)
            demand(version == 1 and len(info) == 8 + 24 * count, "QuantInfo")
            for i in range(count):
                which, method, domain, block, top, reserved, low, high = struct.unpack_from(
                    "<IBBHH6sff", info, 8 + 24 * i)
                t = self.tensors[which]
                demand(reserved == bytes(6) and method == t.dtype and low <= high, "record")
                demand((block, top) == ((0, 0) if t.dtype in INTS else
                                        (32, 256 if t.dtype in SUPERS else 0)), "block sizes")
                demand(domain == 0 or t.dtype in INTS and domain == 1, "domain")
                t.record = (domain, low, high)
        demand(all(t.record for t in quantized), "a record for each quantized tensor")
        demand(self.flags & 1 or not quantized, "FlagTensorDataAligned64")

    def blobs(self, kind):
        raw = self.section(kind)
        version, count, names = struct.unpack_from("<IIQ", raw)
        demand(version == 1, "blobs")
        begin, out = 16 + 24 * count, {}
        for i in range(count):
            name_off, name_len, offset, size = struct.unpack_from("<IIQQ", raw, 16 + 24 * i)
            demand(name_off + name_len <= names and offset + size <= len(raw), "blob")
            name = raw[begin + name_off:begin + name_off + name_len].decode()
            out[name] = raw[offset:offset + size]
        return out

    # ---- values

    def regions(self, t, sizes):
        """Slices of the payload, each on a 64-byte boundary; what lies between is zero."""
        demand(t.offset % 64 == 0, "payload aligned")
        at, out = t.offset, []
        for size in sizes:
            aligned = align64(at)
            demand(not any(self.raw[at:aligned]), "padding between regions")
            out.append(self.raw[aligned:aligned + size])
            at = aligned + size
        demand(at - t.offset == t.size, "data_size")
        return out

    def values(self, t):
        """All elements as f32."""
        if t.dtype in PLAIN:
            return self.plain(t)
        return self.integers(t) if t.dtype in INTS else self.blocks(t)

    def plain(self, t):
        width, form = PLAIN[t.dtype]
        raw = self.raw[t.offset:t.offset + t.size]
        demand(t.size == width * t.elements(), "data_size")
        if form is None:  # bf16
            halves = struct.unpack("<%dH" % (len(raw) // 2), raw)
            return struct.unpack("<%df" % len(halves),
                                 struct.pack("<%dI" % len(halves), *(h << 16 for h in halves)))
        return struct.unpack("<%d%s" % (t.elements(), form), raw)

    def integers(self, t):
        bits, n, domain = INTS[t.dtype], t.elements(), t.record[0]
        parts = self.regions(t, [4] * (1 + domain) + [(n * bits + 7) // 8])
        scale = struct.unpack("<f", parts[0])[0]
        zero = struct.unpack("<f", parts[1])[0] if domain else 0.0
        return [f32(scale * (q - zero)) for q in signed_codes(parts[-1], bits, n)]

    def blocks(self, t):
        demand(len(t.shape) == 2, "rank")
        rows, cols = t.shape
        bits, per_row = BLOCKS[t.dtype], (cols + 31) // 32
        size, top = rows * per_row * 4 * bits, (1 << (bits - 1)) - 1
        if t.dtype in SUPERS:
            supers_per_row = (per_row + 7) // 8
            supers, subs, codes = self.regions(
                t, [2 * rows * supers_per_row, rows * per_row, size])
            demand(all(s < 64 for s in subs), "six bits")
            supers = f16(supers)
            scales = [supers[r * supers_per_row + b // 8] * (subs[r * per_row + b] / 32.0)
                      for r in range(rows) for b in range(per_row)]
        else:
            scales, codes = self.regions(t, [2 * rows * per_row, size])
            scales = f16(scales)
        out = []
        for r in range(rows):
            row = []
            for b in range(per_row):
                at = (r * per_row + b) * 4 * bits
                block = signed_codes(codes[at:at + 4 * bits], bits, 32)
                demand(min(block) >= -top, "the most negative code")
                row += [f32(scales[r * per_row + b] * q) for q in block]
            demand(not any(row[cols:]), "zero codes behind the last column")
            out += row[:cols]
        return out
