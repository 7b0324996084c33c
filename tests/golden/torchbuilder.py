# SPDX-License-Identifier: MIT
"""PyTorch files put together from opcodes and zip records, so that any of them can be wrong."""
import struct
import zlib

MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."


def text(s):
    s = s.encode() if isinstance(s, str) else s
    return b"X" + struct.pack("<I", len(s)) + s


def number(n):
    if 0 <= n < 256:
        return b"K" + bytes([n])
    if -2**31 <= n < 2**31:
        return b"J" + struct.pack("<i", n)
    return b"\x8a\x09" + n.to_bytes(9, "little", signed=True) if n >= 2**63 else b"\x8a\x08" + struct.pack("<q", n)


def name(module, what):
    return b"c" + module.encode() + b"\n" + what.encode() + b"\n"


def tuple_of(*items):
    return b"(" + b"".join(items) + b"t"


def numbers(values):
    return tuple_of(*map(number, values))


def call(function, *args):
    return function + tuple_of(*args) + b"R"


def dict_of(**items):
    return b"}(" + b"".join(text(k) + v for k, v in items.items()) + b"u"


def storage(key="0", elements=6, kind="FloatStorage", *more):
    return tuple_of(text("storage"), name("torch", kind), text(key), text("cpu"), number(elements), *more) + b"Q"


def tensor(shape=(2, 3), strides=(3, 1), offset=0, data=None, function="_rebuild_tensor_v2"):
    return call(name("torch._utils", function), storage() if data is None else data, number(offset), numbers(shape),
                numbers(strides), b"\x89", call(name("collections", "OrderedDict")))


def pickle(value, protocol=2):
    return b"\x80" + bytes([protocol]) + value + b"."


class Zip:
    """Members as they come; `at` has where each header, its data and its entry lie."""

    def __init__(self):
        self.data, self.entries, self.at, self.within, self.n = b"", [], {}, {}, 0

    def add(self, path, content, method=0, header=None, size=None, extra=b"", flags=0, zip64=False):
        raw = content
        if method == 8:
            raw = zlib.compress(content)[2:-4]
        self.data += bytes(-(len(self.data) + 30 + len(path)) % 64 if self.n and not extra and header is None and method == 0 else 0)
        at = len(self.data) if header is None else header
        self.at[path] = at
        sizes = (len(raw) if size is None else size, len(content) if size is None else size)
        if header is None:
            self.data += struct.pack("<IHHHHHIIIHH", 0x04034b50, 20, flags, method, 0, 0, zlib.crc32(content), *sizes, len(path),
                                     len(extra)) + path.encode() + extra
            self.at[path + " data"] = len(self.data)
            self.data += raw
        if zip64:
            more = struct.pack("<HHQQQ", 1, 24, sizes[1], sizes[0], at)
            sizes, at = (0xffffffff, 0xffffffff), 0xffffffff
        else:
            more = b""
        self.within[path] = sum(map(len, self.entries))
        self.entries.append(struct.pack("<IHHHHHHIIIHHHHHII", 0x02014b50, 20, 20, flags, method, 0, 0, zlib.crc32(content), *sizes,
                                        len(path), len(more), 0, 0, 0, 0, at) + path.encode() + more)
        self.n += 1
        return self

    def file(self, end64=False, **end):
        directory = b"".join(self.entries)
        at = len(self.data)
        self.at.update({path + " entry": at + within for path, within in self.within.items()})
        count, size, offset = end.get("count", self.n), end.get("size", len(directory)), end.get("offset", at)
        out = self.data + directory
        if end64:
            here = len(out)
            out += struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, size, offset)
            out += struct.pack("<IIQI", 0x07064b50, 0, here, 1)
            count, size, offset = 0xffff, 0xffffffff, 0xffffffff
        return out + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, count, count, size, offset, 0)


FLOATS = struct.pack("<6f", *range(6))


def archive(value, storages=None, order=b"little", prefix="archive", protocol=2):
    z = Zip()
    z.add(prefix + "/data.pkl", pickle(value, protocol))
    if order is not None:
        z.add(prefix + "/byteorder", order)
    for key, content in (storages if storages is not None else {"0": FLOATS}).items():
        z.add(prefix + "/data/" + key, content)
    return z


def legacy(value, storages=(("0", FLOATS, 4),), magic=MAGIC, version=1001):
    keys = b"](" + b"".join(text(key) for key, _, _ in storages) + b"e"
    return (magic + pickle(number(version)) + pickle(dict_of(little_endian=b"\x88")) + pickle(value) + pickle(keys) +
            b"".join(struct.pack("<Q", len(content) // size) + content for _, content, size in storages))


# ---- torch.distributed.checkpoint -----------------------------------------------------------------

CHECKPOINT = "torch.distributed.checkpoint"


def made(what, state, module=CHECKPOINT + ".metadata"):
    """an object whose class is only named: state is a dict, or any pickled value"""
    return name(module, what) + b")\x81" + (dict_of(**state) if isinstance(state, dict) else state) + b"b"


BYTES = made("BytesStorageMetadata", {})


def size(dims):
    return call(name("torch", "Size"), numbers(dims))


def list_of(*items):
    return b"](" + b"".join(items) + b"e"


def described(dims, chunks=(), dtype="float32"):
    """a tensor of state_dict_metadata; chunks: (at, dims)"""
    properties = made("TensorProperties", tuple_of(name("torch", dtype), b"N", b"\x89", b"N", b"\x89"))
    return made("TensorStorageMetadata", {"properties": properties, "size": size(dims), "chunks": list_of(*(
        made("ChunkStorageMetadata", {"offsets": size(at), "sizes": size(part)}) for at, part in chunks))})


def stored_at(path, offset, length, **more):
    return made("_StorageInfo", {"relative_path": text(path), "offset": number(offset), "length": number(length), **more},
                CHECKPOINT + ".filesystem")


def chunk_key(of, at=None):
    return made("MetadataIndex", {"fqn": text(of), "offset": b"N" if at is None else size(at), "index": b"N"})


def pairs(*items):
    return b"}(" + b"".join(key + value for key, value in items) + b"u"


class Checkpoint:
    """A folder in its first form: `add` appends a chunk or a value to a file, `say` describes it."""

    def __init__(self):
        self.content, self.described, self.places = {}, {}, []

    def say(self, of, what):
        self.described[of] = what
        return self

    def add(self, path, of, at, content, **more):
        before = self.content.get(path, b"")
        self.content[path] = before + content
        self.places.append((chunk_key(of, at), stored_at(path, len(before), len(content), **more)))
        return self

    def metadata(self):
        return pickle(made("Metadata", {
            "state_dict_metadata": pairs(*((text(of), what) for of, what in self.described.items())),
            "planner_data": b"N", "storage_data": pairs(*self.places)}))

    def files(self, **more):
        return {".metadata": self.metadata(), **self.content, **more}


def saved(shape, values, kind="FloatStorage", code="f", strides=None):
    """what torch.save makes of a tensor"""
    data = struct.pack("<%d%s" % (len(values), code), *values)
    if strides is None:
        strides = [1] * len(shape)
        for i in reversed(range(len(shape) - 1)):
            strides[i] = strides[i + 1] * shape[i + 1]
    return archive(tensor(shape, strides, data=storage("0", len(values), kind)), {"0": data}).file()
