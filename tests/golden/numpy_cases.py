# SPDX-License-Identifier: MIT
"""NumPy's arrays and archives: what a header may say, and what a stranger may put into one."""
import struct

from casebook import bad, good
from torchbuilder import FLOATS, Zip


def header(text, version=1, length=None):
    text = text.encode() if isinstance(text, str) else text
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text


def array(descr="<f4", shape="(2, 3)", order="False", data=FLOATS, version=1):
    return header("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n" % (descr, order, shape), version) + data


def yes(case, note, content, *findings, suffix=".npy", **more):
    good("numpy-" + case, note, content, *findings, suffix=suffix, **more)


def no(case, note, content, status, at, what, item="none", suffix=".npy"):
    bad("numpy-" + case, note, content, status, at, what, item, suffix=suffix)


yes("one", "an array", array(), has={"format": "numpy", "tensors": 1, "tensor": "arr_0", "dims": 2, "keys": 0, "files": 1})
for v in (2, 3):
    yes("version-%d" % v, "another version", array(version=v), has={"tensors": 1})
yes("big", "big-endian, in columns", array(">f4", order="True"), has={"tensors": 1, "files": 1})
yes("scalar", "no dimensions", array(shape="()", data=FLOATS[:4]), has={"dims": 0})
yes("python-2", "sizes with L, keys in another order, double quotes",
    header('{"shape": (2L, 3L), "fortran_order": False, "descr": "<f4"}') + FLOATS, has={"tensors": 1})
yes("guessed", "two bytes of no type", array("<V2", "(12,)"), has={"tensors": 1})
yes("more", "bytes behind the numbers", array() + b"more", ("warning", "numpy.more-bytes", len(array()), "tensor -1"))
no("cut", "fewer numbers", array()[:-1], "TRUNCATED", len(array()) - 1, "shape")
no("magic-only", "no header", b"\x93NUMPY\x01\0", "TRUNCATED", 0, "header")
no("version", "a version that there is not", array(version=4), "UNSUPPORTED", 6, "version")
no("header-cut", "a header beyond the end", header("{}", 1, 60000), "TRUNCATED", 8, "header")
no("header-bomb", "a header of 4 GB", header("{}", 2, 0xffffffff), "LIMIT", 8, "header")
no("records", "structured", header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "UNSUPPORTED", 0, "records")
for kind, what in (("|S3", "texts"), ("<U3", "texts"), ("|O", "objects"), ("<M8[s]", "dates"), ("<c16", "no format"), ("<f16", "no format"),
                   ("|V3", "records"), ("|V1", "not stated"), ("!!", "unknown type"), ("", "unknown type")):
    no("type-%s" % ("".join(c for c in kind if c.isalnum()) or len(kind)), "a type without numbers", array(kind), "UNSUPPORTED", 0, what)
ALL = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }"
for n, (note, text, status, at, what) in enumerate((
        ("no dict", "[]", "CORRUPT", 10, "dict"),
        ("an empty dict", "{}", "CORRUPT", 12, "not descr"),
        ("a key twice", "{'descr': '<f4', 'descr': '<f4'}", "CORRUPT", 34, "key"),
        ("a key of no array", "{'order': 'C'}", "CORRUPT", 18, "key"),
        ("no end", "{'descr': '<f4', ", "CORRUPT", 27, "text"),
        ("a text without an end", "{'descr", "CORRUPT", 11, "text"),
        ("an escape", "{'des\\x63r': '<f4'}", "CORRUPT", 21, "escaped"),
        ("a negative size", ALL % "(-2, 3)", "CORRUPT", 61, "size"),
        ("a size of 80 bits", "{'shape': (999999999999999999999999,)}", "CORRUPT", 40, "64 bits"),
        ("nine dimensions", "{'shape': (1,1,1,1,1,1,1,1,1)}", "LIMIT", 38, "dimensions"),
        ("sizes that overflow", ALL % "(4294967296, 4294967296, 4)", "LIMIT", 0, "overflows"),
        ("sizes that overflow, and none", ALL % "(4294967296, 4294967296, 0, 4)", "LIMIT", 0, "overflows"),
        ("no order", "{'descr': '<f4', 'fortran_order': Maybe, ", "CORRUPT", 44, "True or False"),
        ("more behind it", ALL % "(2, 3)" + " + 1", "CORRUPT", 70, "no more"))):
    no("header-%d" % n, note, header(text) + FLOATS, status, at, what)

# ---- archives
NPZ = Zip().add("a.npy", array()).add("b/c.npy", array(">f4", "(6,)"))
yes("npz", "two arrays", NPZ.file(), suffix=".npz", has={"format": "numpy", "tensors": 2, "tensor": "a", "files": 1})
yes("npz-deflated", "one that is deflated", Zip().add("a.npy", array(), method=8).add("b.npy", array()).file(), suffix=".npz",
    has={"tensors": 2, "files": 1})
ODD = Zip().add("a.npy", array()).add("t.npy", array("<U1", "(6,)")).add("read.me", b"text")
ODD_FILE = ODD.file()
yes("npz-others", "texts, and a member that is no array", ODD_FILE,
    ("warning", "numpy.unread-array", ODD.at["t.npy entry"], "tensor -1"),
    ("warning", "numpy.left-out", ODD.at["read.me entry"], "tensor -1"), suffix=".npz", has={"tensors": 1})
NPZ_FILE, AT = NPZ.file(), NPZ.at["b/c.npy data"] + len(array(">f4", "(6,)")) - 5
yes("npz-changed", "a number that has changed", NPZ_FILE[:AT] + b"?" + NPZ_FILE[AT + 1:], suffix=".npz",
    deep=(("error", "data.checksum", "resource -1"),))
BAD_CRC = Zip().add("a.npy", array(), method=8)
BAD_CRC.entries[0] = BAD_CRC.entries[0][:16] + b"\0\0\0\0" + BAD_CRC.entries[0][20:]
BAD_CRC_FILE = BAD_CRC.file()
no("npz-crc", "deflated bytes that have changed", BAD_CRC_FILE, "CHECKSUM", BAD_CRC.at["a.npy entry"] + 16, "CRC", "resource -1", ".npz")
BOMB = Zip().add("a.npy", array(), method=8)
BOMB.entries[0] = BOMB.entries[0][:24] + struct.pack("<I", 0xfffffff0) + BOMB.entries[0][28:]
BOMB_FILE = BOMB.file()
no("npz-bomb", "more bytes than deflate makes of so few", BOMB_FILE, "CORRUPT", BOMB.at["a.npy entry"] + 24, "deflated", "resource -1", ".npz")
OTHER = Zip().add("a.npy", array(), method=12)
OTHER_FILE = OTHER.file()
no("npz-bzip2", "another method", OTHER_FILE, "UNSUPPORTED", OTHER.at["a.npy entry"] + 10, "compressed", "resource -1", ".npz")
TWICE = Zip().add("a.npy", array()).add("a.npy", array())
no("npz-twice", "two arrays of one name", TWICE.file(), "CORRUPT", TWICE.at["a.npy data"], "duplicate", "tensor 1", ".npz")
