# SPDX-License-Identifier: MIT
"""PyTorch files: what a stranger may put into a pickle and into a zip, and what is allowed."""
import struct

from casebook import bad, good
from torchbuilder import (FLOATS, MAGIC, Zip, archive, call, dict_of, legacy, name, number, numbers, pickle, storage, tensor,
                          text, tuple_of)


def yes(case, note, content, *findings, **more):
    good("torch-" + case, note, content, *findings, suffix=".pt", **more)


def no(case, note, content, status, at, what, item="none"):
    bad("torch-" + case, note, content, status, at, what, item, suffix=".pt")


def of_pickle(value, protocol=2):
    return pickle(value, protocol)


ONE = dict_of(w=tensor())

# ---- forms
yes("zip", "one tensor", archive(ONE).file(), has={"format": "torch", "tensors": 1, "keys": 0, "files": 1})
yes("legacy", "the form before 1.6", legacy(ONE), has={"tensors": 1, "alignment": 1})
yes("pickle", "no tensors", of_pickle(dict_of(epoch=number(3), lr=b"G?\xf0\0\0\0\0\0\0")), has={"tensors": 0, "keys": 2})
yes("zip64", "every number of the directory in its ZIP64 form",
    Zip().add("a/data.pkl", pickle(ONE), zip64=True).add("a/data/0", FLOATS, zip64=True).file(end64=True), has={"tensors": 1})
yes("no-order", "without a member byteorder", archive(ONE, order=None).file(), has={"tensors": 1})
yes("big", "big-endian numbers", archive(ONE, order=b"big").file(), has={"tensors": 1})
no("other-order", "a word that is no byte order", archive(ONE, order=b"middle").file(), "CORRUPT",
   archive(ONE, order=b"middle").at["archive/byteorder data"], "byteorder")
yes("no-prefix", "members without a folder", Zip().add("data.pkl", pickle(ONE)).add("data/0", FLOATS).file(), has={"tensors": 1})
no("no-object", "a zip that says data.pkl and has none",
   Zip().add("a/data.pkl.txt", b"data.pkl").file(), "UNSUPPORTED", None, "without the data.pkl")

# ---- values
yes("view", "transposed, a part, expanded", archive(dict_of(
    a=tensor((3, 2), (1, 3)), b=tensor((2, 2), (3, 1), 1), c=tensor((5, 4), (0, 0), 5), d=tensor())).file(),
    has={"tensors": 4, "files": 1})
yes("same", "one storage twice", archive(dict_of(a=tensor(), b=tensor())).file(), has={"tensors": 2, "files": 1})
SOUND = archive(dict_of(a=tensor()))
SOUND_FILE = SOUND.file()


def changed(at):
    return SOUND_FILE[:at] + bytes([SOUND_FILE[at] ^ 1]) + SOUND_FILE[at + 1:]


def without_crc(zip, file):
    """also for the fuzzers: what they change is read"""
    for at in (at for mark, at in zip.at.items() if mark.endswith(" entry")):
        file = file[:at + 16] + bytes(4) + file[at + 20:]
    return file


yes("crc", "a number that has changed", changed(SOUND.at["archive/data/0 data"] + 5), has={"tensors": 1},
    deep=(("error", "data.checksum", "tensor 0"),))
no("crc-pickle", "a pickle that has changed", changed(SOUND.at["archive/data.pkl data"] + 9), "CHECKSUM",
   SOUND.at["archive/data.pkl entry"] + 16, "CRC", "resource -1")
yes("crc-none", "no CRC, as PyTorch writes where it is told not to compute them",
    without_crc(SOUND, SOUND_FILE), has={"tensors": 1})
yes("scalar", "no dimensions", archive(dict_of(a=tensor((), (), 3))).file(), has={"tensors": 1})
yes("empty", "no elements, at an offset beyond the storage", archive(dict_of(a=tensor((0, 3), (3, 1), 99))).file())
yes("parameter", "a parameter", archive(dict_of(a=call(name("torch._utils", "_rebuild_parameter"), tensor(), b"\x88", b"}"))).file(),
    has={"tensors": 1})
yes("wrapped", "keys that wrap all tensors", archive(dict_of(epoch=number(1), state_dict=dict_of(model=ONE))).file(),
    has={"tensors": 1, "keys": 1})
yes("name", "the tensor's name, and its dimensions", archive(ONE).file(), has={"tensor": "w", "dims": 2})
yes("cycle", "a list in itself", of_pickle(b"]q\0h\0a"))
yes("tuple-cycle", "a tuple that is in a list that it contains, as Python writes one", of_pickle(b"]q\0(h\0tq\1a"))
yes("object", "a class that nobody knows", archive(name("my.models", "Net") + b")\x81" + dict_of(w=tensor()) + b"b").file(),
    has={"tensors": 1, "keys": 1})
yes("quantized", "a quantized tensor, of which the codes are read", archive(dict_of(
    a=call(name("torch._utils", "_rebuild_qtensor"), storage("0", 24, "QInt8Storage"), number(0), numbers((4, 6)), numbers((6, 1))))).file(),
    ("warning", "torch.unread-tensor", archive(b"").at["archive/data.pkl data"] + 108, 'tensor -1'))
yes("frames", "frames in frames, whose lengths lie", of_pickle(2000 * b"\x95\1\0\0\0\0\0\0\0" + b"}", 4))



# ---- NumPy in pickles
def kind(letters, order=b"<", names=b"N"):
    return (call(name("numpy", "dtype"), text(letters), b"\x89", b"\x88") +
            tuple_of(number(3), text(order), b"N", names, b"N", number(-1), number(-1), number(0)) + b"b")


def array(shape=(2, 3), letters="f4", data=FLOATS, turned=b"\x89", order=b"<", names=b"N", module="numpy.core.multiarray", **more):
    data = b"C" + bytes([len(data)]) + data if isinstance(data, bytes) else more["opcodes"]
    return (call(name(module, "_reconstruct"), name("numpy", "ndarray"), tuple_of(number(0)), b"C\1b") +
            tuple_of(number(1), numbers(shape), kind(letters, order, names), turned, data) + b"b")


def scalar(letters, data):
    return call(name("numpy._core.multiarray", "scalar"), kind(letters), b"C" + bytes([len(data)]) + data)


RECONSTRUCT = 10 + len(name("numpy.core.multiarray", "_reconstruct") + name("numpy", "ndarray")) + 1 + len(tuple_of(number(0))) + 4
LATIN = b"".join(bytes([b]) if b < 128 else bytes([0xc2 + (b >> 6 & 1), 0x80 | b & 0x3f]) for b in FLOATS)
yes("array", "an array of NumPy", of_pickle(dict_of(a=array()), 3), has={"tensors": 1, "tensor": "a", "dims": 2, "keys": 0, "files": 1})
yes("array-2", "the same by NumPy 2", of_pickle(dict_of(a=array(module="numpy._core.multiarray")), 3), has={"tensors": 1, "keys": 0})
yes("array-big", "big-endian, in columns", of_pickle(dict_of(a=array(order=b">", turned=b"\x88")), 3), has={"tensors": 1})
yes("array-text", "its bytes as a text in Latin-1", of_pickle(dict_of(a=array(
    data=None, opcodes=call(name("_codecs", "encode"), text(LATIN), text("latin1")))), 3), has={"tensors": 1})
yes("array-empty", "no elements, whose bytes protocol 2 calls for", of_pickle(dict_of(a=array(
    (0, 3), data=None, opcodes=call(name("__builtin__", "bytes"))))), has={"tensors": 1})
yes("array-buffer", "as protocol 5 has it", of_pickle(dict_of(a=call(
    name("numpy._core.numeric", "_frombuffer"), b"\x96" + struct.pack("<Q", 24) + FLOATS, kind("f4"), numbers((6,)), text("C"))), 5),
    has={"tensors": 1, "tensor": "a", "dims": 1})
yes("array-objects", "objects, of which one is a tensor", archive(dict_of(a=array(
    (2,), "O8", None, opcodes=b"](" + tensor() + number(3) + b"e"))).file(),
    ("warning", "torch.unread-tensor", archive(b"").at["archive/data.pkl data"] + RECONSTRUCT, "tensor -1"), has={"tensors": 1, "keys": 2})
yes("array-records", "records", of_pickle(dict_of(a=array(
    (3,), "V8", FLOATS, names=tuple_of(text("x"), text("y")))), 3), ("warning", "torch.unread-tensor", RECONSTRUCT, "tensor -1"),
    has={"tensors": 0, "keys": 1})
yes("scalars", "values of NumPy", of_pickle(dict_of(a=scalar("f8", bytes(8)), b=scalar("i4", bytes(4)), c=scalar("U2", b"a\0\0\0\xe9\0\0\0"),
                                                    d=scalar("f2", bytes(2)), e=kind("f4")), 3), has={"tensors": 0, "keys": 5})
yes("same-names", "keys of two types that lead to one name", archive(b"}(" + number(1) + tensor() + text("1") + tensor() + b"u").file(),
    ("warning", "torch.same-name", None, "tensor -1"), has={"tensors": 2})
yes("empty-key", "a key that is empty is no name of a tensor that was saved by itself",
    archive(b"}(" + text("") + tensor() + text("value") + tensor() + b"u").file(), has={"tensors": 2})
yes("empty-key-inside", "nor do two keys lead to one name where one of them is empty",
    archive(b"}(" + text("") + b"}" + text("a") + tensor() + b"s" + text("a") + tensor() + b"u").file(), has={"tensors": 2})
yes("no-key", "a tensor that was saved by itself", archive(tensor()).file(), has={"tensors": 1, "tensor": "value"})
yes("constants", "the constants of TorchScript", archive(name("__torch__", "M") + b")\x81}b").add(
    "archive/constants.pkl", pickle(tuple_of(tensor()))).add("archive/constants/0", FLOATS).file(), has={"tensors": 1, "tensor": "constants.0"})
for n, (note, what, wrong_array) in enumerate((
        ("fewer bytes than its shape says", "as many bytes", array((2, 4))),
        ("a negative size", "shape", array((-2, 3))),
        ("a size that overflows", "shape", array((2**62, 2**62))),
        ("nine dimensions", "shape", array((1,) * 9)),
        ("bytes that are none", "no bytes", array(data=None, opcodes=number(3))),
        ("a text beyond Latin-1", "no bytes", array(data=None, opcodes=call(name("_codecs", "encode"), text("\u4e2d"), text("latin1")))))):
    no("array-bad-%d" % n, note, of_pickle(dict_of(a=wrong_array), 3), "CORRUPT", RECONSTRUCT, what)

# ---- tensors that Python pickled itself: each storage is a file of the legacy form
LOAD = name("torch.storage", "_load_from_bytes")
ALONE = legacy(storage())


def loaded(content):
    return call(LOAD, b"B" + struct.pack("<I", len(content)) + content)


def of_text(content):
    """as protocols 0 to 2 have bytes"""
    return call(LOAD, call(name("_codecs", "encode"), text(content.decode("latin1")), text("latin1")))


def not_loaded(case, note, content):
    yes("load-" + case, note, of_pickle(dict_of(a=loaded(content)), 3), ("error", "pickle.runs-code", 10, "none"), has={"tensors": 0})


yes("load", "a tensor, and a storage by itself", of_pickle(dict_of(a=tensor((3, 2), (1, 3), data=loaded(ALONE)), b=loaded(ALONE)), 3),
    has={"tensors": 2, "keys": 0})
yes("load-text", "the same where bytes are a text", of_pickle(dict_of(a=tensor((2, 2), (3, 1), 1, data=of_text(ALONE)))), has={"tensors": 1, "keys": 0})
yes("load-part", "a view of a storage", of_pickle(dict_of(a=tensor((2,), (1,), data=loaded(
    legacy(storage("0", 6, "FloatStorage", tuple_of(text("1"), number(3), number(2))))))), 3), has={"tensors": 1})
not_loaded("other", "a dict, which is no storage", legacy(ONE))
not_loaded("system", "a pickle that runs code", legacy(call(name("posix", "system"), text("id"))))
not_loaded("cut", "fewer bytes than the storage has", ALONE[:-1])
not_loaded("view", "a view beyond its storage", legacy(storage("0", 6, "FloatStorage", tuple_of(text("1"), number(3), number(4)))))
no("load-beyond", "strides beyond such a storage", of_pickle(dict_of(a=tensor((2, 4), data=loaded(ALONE))), 3), "CORRUPT",
   len(of_pickle(dict_of(a=tensor((2, 4), data=loaded(ALONE))), 3)) - 3, "beyond its storage")
AGAIN = b"(" + LOAD + b"q\0B" + struct.pack("<I", len(ALONE)) + ALONE + b"q\1" + 9 * b"h\0h\1\x85R" + b"l."
no("load-bomb", "one storage's bytes, loaded again and again", b"\x80\3" + AGAIN, "LIMIT", len(AGAIN) - 6 * 6 + 5, "too often")
yes("more", "a second pickle, which nothing reads", of_pickle(dict_of()) + of_pickle(dict_of()), ("warning", "torch.more-bytes", 6, "none"))
yes("legacy-more", "bytes behind the last storage", legacy(ONE) + b"\0", ("warning", "torch.more-bytes", len(legacy(ONE)), "none"))

# ---- what would run
for n, harmless in enumerate((name("builtins", "ValueError"), name("exceptions", "KeyError"), name("types", "SimpleNamespace"), name("_io", "BytesIO"),
                              name("_operator", "or_"))):
    yes("harmless-%d" % n, "an object of Python's that does nothing", of_pickle(call(harmless, text("a"))))
for n, loader in enumerate((("torch", "load"), ("torch.jit", "load"), ("numpy", "load"), ("torch.hub", "load"), ("builtins", "exec"))):
    yes("loader-%d" % n, "what loads or runs what it is given", of_pickle(call(name(*loader), text("a"))), ("error", "pickle.runs-code", 2, "none"))
yes("system", "os.system", of_pickle(call(name("posix", "system"), text("id"))), ("error", "pickle.runs-code", 2, "none"))
yes("nul-name", "a name that begins with NUL, as the ends of words do",
    of_pickle(text("_codecs") + text("\0" * 40) + b"\x93" + tuple_of() + b"R", 4), has={"tensors": 0})
yes("eval", "eval, by a name on the stack", of_pickle(text("builtins") + text("eval") + b"\x93" + tuple_of(text("1")) + b"R", 4),
    ("error", "pickle.runs-code", 24, "none"))
yes("unnamed-call", "a call of what a call returned", of_pickle(call(call(name("builtins", "getattr"), text("a"), text("b")))),
    ("error", "pickle.runs-code", 2, "none"))

MEMORY = name("torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING")
yes("enumeration", "a member of an enumeration, as Python 3.11 stores it",
    of_pickle(dict_of(a=call(name("builtins", "getattr"), MEMORY, text("TORCH_CONTIGUOUS")))), has={"tensors": 0})
yes("getattr-of-os", "an attribute of a module that runs code",
    of_pickle(call(call(name("builtins", "getattr"), name("os", "path"), text("x")), text("id"))),
    ("error", "pickle.runs-code", 21, "none"), ("error", "pickle.runs-code", 37, "none"))
yes("getattr-private", "a private attribute of a harmless class",
    of_pickle(call(name("builtins", "getattr"), name("builtins", "str"), text("__init__"))),
    ("error", "pickle.runs-code", 49, "none"))
yes("getattr-called", "a member of a harmless class that is called",
    of_pickle(call(call(name("builtins", "getattr"), name("builtins", "str"), text("format")), text("x"))),
    ("error", "pickle.runs-code", 47, "none"))
yes("getattr-of-a-value", "getattr of what a call returned",
    of_pickle(call(name("builtins", "getattr"), call(name("collections", "OrderedDict")), text("x"))),
    ("error", "pickle.runs-code", 2, "none"))

# ---- pickles that are wrong
P = 2
no("cut", "no end", b"\x80\x02}q", "TRUNCATED", 4, "pickle")
no("opcode", "an opcode that there is not", of_pickle(b"\xff"), "CORRUPT", P, "opcode")
no("protocol", "protocol 9 later on", b"\x80\x02\x80\x09N.", "UNSUPPORTED", P, "protocol")
no("empty-stack", "nothing to add to", of_pickle(b"Na"), "CORRUPT", P + 1, "stack")
no("no-mark", "no mark", of_pickle(b"t"), "CORRUPT", P, "mark")
no("below-mark", "a value below the mark is out of reach", of_pickle(b"N(R"), "CORRUPT", P + 2, "stack")
no("odd-pairs", "a key without a value", of_pickle(b"}(K\1u"), "CORRUPT", P + 4, "value")
no("memo", "nothing under a number", of_pickle(b"h\7"), "CORRUPT", P, "memo")
no("memo-bomb", "a number that would fill memory", of_pickle(b"Nr\xff\xff\xff\x7f"), "LIMIT", P + 1, "memo")
no("memo-text-bomb", "the same, in digits", of_pickle(b"Np18446744073709551615\n"), "LIMIT", P + 1, "memo")
no("long4", "a number of a gigabyte", of_pickle(b"\x8b\0\0\0\x40"), "TRUNCATED", P + 5, "bytes")
no("long4-negative", "a number of -1 bytes", of_pickle(b"\x8b\xff\xff\xff\xff"), "TRUNCATED", P + 5, "bytes")
no("text8", "a text of 2^63 bytes", of_pickle(b"\x8d\0\0\0\0\0\0\0\x80"), "TRUNCATED", P + 9, "bytes")
no("frame", "a frame beyond the end", of_pickle(b"\x95\xff\0\0\0\0\0\0\0N", 4), "TRUNCATED", P, "frame")
for n, line in enumerate((b"", b"-", b"1e", b"1.", b".5", b"0x1p3", b"1e5x", b" 1", b"--1")):
    no("float-%d" % n, "a number that is none", of_pickle(b"F" + line + b"\n"), "CORRUPT", P, "number")
    no("int-%d" % n, "a whole number that is none", of_pickle(b"I" + line + b"\n"), "CORRUPT", P, "number")
    no("get-%d" % n, "a number of the memo that is none", of_pickle(b"g" + line + b"\n"), "CORRUPT", P, "number")
no("extension", "a registered extension", of_pickle(b"\x82\1"), "UNSUPPORTED", P, "registered")
no("buffer", "a buffer that is elsewhere", of_pickle(b"\x97", 5), "UNSUPPORTED", P, "outside")
no("append-to-text", "a text is no list", of_pickle(text("a") + b"Na"), "CORRUPT", P + 7, "given")
no("laughs", "lists in lists, a power of ten of them",
   of_pickle(b"]q\0" + b"".join(b"](" + 10 * (b"h" + bytes([i])) + b"eq" + bytes([i + 1]) for i in range(9))), "LIMIT", P, "too often")
no("deep", "more levels than there are", of_pickle(300 * b"(" + b"N" + 300 * b"t"), "LIMIT", P + 300 + 44, "depth")


# ---- tensors that are wrong
def wrong(case, note, value, status, what, at, content=None, item="none"):
    """at: in the pickle, behind the key of the dict."""
    z = archive(dict_of(w=value), content)
    no(case, note, z.file(), status, z.at["archive/data.pkl data"] + at, what, item)


HEAD = 2 + 2 + 6  # of the pickle, to the value
CALL = HEAD + len(tensor()) - 1  # the opcode of the call that makes it


def broken(case, note, status, what, **changes):
    value = tensor(**changes)
    wrong(case, note, value, status, what, HEAD + len(value) - 1)


broken("beyond", "strides beyond the storage", "CORRUPT", "beyond its storage", strides=(4, 1))
broken("offset", "an offset beyond the storage", "CORRUPT", "beyond its storage", offset=1)
broken("negative-size", "a negative size", "CORRUPT", "size", shape=(-2, 3))
broken("negative-stride", "a negative stride", "CORRUPT", "strides", strides=(-3, 1))
broken("negative-offset", "a negative offset", "CORRUPT", "offset", offset=-1)
broken("overflow", "a size whose product overflows", "LIMIT", "overflow", shape=(2**33, 2**33), strides=(0, 0))
broken("stride-overflow", "strides that overflow", "LIMIT", "overflow", shape=(2**40, 2), strides=(2**40, 1))
broken("few-strides", "fewer strides than dimensions", "CORRUPT", "strides", strides=(1,))
broken("dims", "nine dimensions", "LIMIT", "dimensions", shape=(1,) * 9, strides=(1,) * 9)


def bad_storage(case, note, what, data, status="CORRUPT"):
    value = tensor(data=data)
    wrong(case, note, value, status, what, HEAD + len(name("torch._utils", "_rebuild_tensor_v2")) + 1 + len(data) - 1)


bad_storage("no-data", "a storage that the archive lacks", "no such data", storage("1"))
bad_storage("more-elements", "a storage of more elements than data", "more elements", storage("0", 7))
bad_storage("all-elements", "a storage of 2^63 elements", "more elements", storage("0", 2**62))
bad_storage("negative-elements", "a storage of -1 elements", "number of elements", storage("0", -1))
bad_storage("type", "a storage of a type that is not known", "type", storage("0", 6, "OddStorage"), "UNSUPPORTED")
bad_storage("key", "a storage whose key is a number", "key",
            tuple_of(text("storage"), name("torch", "FloatStorage"), number(0), text("cpu"), number(6)) + b"Q")
bad_storage("view-beyond", "a view beyond its storage", "more elements",
            storage("0", 6, "FloatStorage", tuple_of(text("1"), number(3), number(4))))

# ---- the legacy form
no("legacy-cut", "data beyond the end", legacy(ONE)[:-1], "TRUNCATED", len(legacy(ONE)) - 1, "beyond the end")
no("legacy-version", "another version", legacy(ONE, version=1000), "UNSUPPORTED", len(MAGIC) + 2, "1001")
no("legacy-unused", "a storage that nothing refers to", legacy(ONE, (("0", FLOATS, 4), ("1", FLOATS, 4))), "CORRUPT",
   legacy(ONE, (("0", FLOATS, 4), ("1", FLOATS, 4))).rindex(text("1")), "nothing refers")
no("legacy-twice", "a storage twice", legacy(ONE, (("0", FLOATS, 4), ("0", FLOATS, 4))), "CORRUPT", None, "one key", "none 1")
no("legacy-count", "a number of elements that overflows", legacy(ONE)[:-32] + b"\xff" * 8 + FLOATS, "CORRUPT",
   len(legacy(ONE)) - 32, "number of elements")


# ---- the zip
def zipped(case, note, z, status, at, what, item="none", **end):
    content = z.file(**end)
    no(case, note, content, status, z.at[at[0]] + at[1] if isinstance(at, tuple) else at, what, item)


Z = archive(ONE)
SIZE = len(Z.file())
no("zip-cut", "the end of the archive is gone", Z.file()[:-22], "TRUNCATED", SIZE - 22, "no end record")
zipped("zip-directory", "a directory beyond the archive", Z, "CORRUPT", SIZE - 10, "inside", offset=SIZE)
zipped("zip-count", "more entries than there are", Z, "TRUNCATED", SIZE - 22, "entries", count=60000)
DEFLATED = Zip().add("a/data.pkl", pickle(ONE)).add("a/data/0", FLOATS, method=8)
zipped("zip-deflated", "tensors that are deflated", DEFLATED, "UNSUPPORTED", ("a/data/0 entry", 10), "compressed",
       'resource -1')
ENCRYPTED = Zip().add("a/data.pkl", pickle(ONE), flags=1).add("a/data/0", FLOATS)
zipped("zip-encrypted", "an encrypted member", ENCRYPTED, "UNSUPPORTED", ("a/data.pkl entry", 0), "encrypted",
       'resource -1')
OVERLAP = Zip().add("a/data.pkl", pickle(ONE)).add("a/data/0", FLOATS)
OVERLAP.add("a/data/1", FLOATS, header=OVERLAP.at["a/data/0"])
zipped("zip-overlap", "two members at one place", OVERLAP, "CORRUPT", ("a/data/1 entry", 42), "overlaps", 'resource -1')
TWICE = Zip().add("a/data.pkl", pickle(ONE)).add("a/data/0", FLOATS).add("a/data/0", FLOATS)
no("zip-twice", "two members of one name", TWICE.file(), "CORRUPT", None, "one name", "none 1")
BEYOND = Zip().add("a/data.pkl", pickle(ONE)).add("a/data/0", FLOATS, size=1 << 20)
zipped("zip-beyond", "a member beyond the archive", BEYOND, "CORRUPT", ("a/data/0", 0), "not inside", 'resource -1')
