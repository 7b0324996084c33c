# SPDX-License-Identifier: MIT
"""Models of ONNX: where tensors may be, and what a stranger may write into one."""
import struct

from casebook import bad, good
from onnxbuilder import external, field, message, model, tensor, varint

FLOATS = struct.pack("<6f", *range(6))


def yes(case, note, content, *findings, **more):
    good("onnx-" + case, note, content, *findings, suffix=".onnx", **more)


def no(case, note, content, status, what, item="tensor 0", at=None, **more):
    if at is None:
        at = content.find(b"@@@") if b"@@@" in content else None
    bad("onnx-" + case, note, content, status, at, what, item, suffix=".onnx", **more)


def refused(case, note, status, what, broken, distance=0, **more):
    """A model whose one tensor is wrong; the place is that of the tensor's message, or behind it."""
    content = model(broken)
    no(case, note, content, status, what, at=content.rfind(broken) + distance, **more)


yes("one", "a tensor", model(tensor()), has={"format": "onnx", "tensors": 1, "tensor": "w", "dims": 2, "keys": 3, "files": 1})
yes("floats", "numbers in a field of their own", model(tensor(_4=FLOATS)), has={"tensors": 1, "files": 1})
yes("loose", "numbers each with a tag", model(tensor(kind=6, dims=[2], _5=[1, 2])), has={"tensors": 1, "files": 1})
yes("runs", "numbers in two runs", model(tensor(kind=7, dims=[4], _7=[b"\1\2", b"\3\4"])), has={"tensors": 1})
yes("packed-dims", "sizes in one run", model(message(_1=b"\2\3", _2=1, _8="w", _9=FLOATS)), has={"tensors": 1, "dims": 2})
yes("nibbles", "codes of 4 bits, of which the last byte is half", model(tensor(kind=22, dims=[3], _9=b"\x21\x03")),
    has={"tensors": 1, "files": 1})
yes("scalar", "no dimensions", model(tensor(dims=[], _9=FLOATS[:4])), has={"tensors": 1, "dims": 0})
yes("none", "no tensors", model(), has={"tensors": 0})
CONSTANT = message(_2="c", _4="Constant", _5=message(_1="value", _5=tensor("")))
yes("constant", "in a node", model(nodes=[CONSTANT]), has={"tensors": 1, "tensor": "c"})
INNER = message(_2="y", _4="If", _5=message(_1="then_branch", _6=message(_5=tensor("v"))))
yes("graph", "in a graph of a node", model(nodes=[INNER]), has={"tensors": 1, "tensor": "y.then_branch.v"})
yes("beside", "in a file beside the model", b"", opened="m.onnx", has={"tensors": 1, "files": 2},
    files={"m.onnx": model(external("w", location="w.bin", offset=8, length=24)), "w.bin": bytes(8) + FLOATS})
yes("folder", "a folder with one model", b"", has={"tensors": 1, "files": 2, "format": "onnx"},
    files={"m.onnx": model(external("w", location="w.bin")), "w.bin": FLOATS})
SUMMED = model(external("w", location="w.bin", checksum="0" * 40), external("v", location="w.bin", checksum="0" * 40))
yes("checksum", "what is stated of the file beside it is not compared, and that is said once", b"", ("warning", "onnx.checksum", SUMMED.find(external("w", location="w.bin", checksum="0" * 40)), "tensor -1"),
    opened="m.onnx", has={"tensors": 2}, files={"m.onnx": SUMMED, "w.bin": FLOATS})
TEXTS = tensor("t", 8, [1], _6="hello")
bad("onnx-folder-other", "a folder with a model of another kind, too", b"", "UNSUPPORTED", None, "several models",
    files={"m.onnx": model(tensor()), "x.pt": b""})
ODD = model(tensor(), TEXTS)
yes("texts", "a tensor of texts", ODD, ("warning", "onnx.unread-tensor", ODD.rfind(TEXTS), "tensor -1"), has={"tensors": 1})

refused("short", "fewer bytes than the shape says", "TRUNCATED", "bytes of its shape", tensor(_9=FLOATS[:-4]))
refused("long", "more bytes than the shape says", "CORRUPT", "bytes of its shape", tensor(_9=FLOATS + b"\0"))
refused("no-data", "no bytes", "TRUNCATED", "fewer numbers", message(_1=[2, 3], _2=1, _8="w"))
refused("both", "bytes and numbers", "CORRUPT", "both raw_data and numbers", tensor(_9=FLOATS, _4=FLOATS))
refused("wide", "a number that 8 bits do not hold", "CORRUPT", "the type cannot hold", tensor(kind=3, dims=[1], _5=[300]), 7)
refused("more", "more numbers than the shape says", "CORRUPT", "more numbers", tensor(kind=7, dims=[1], _7=[1, 2]), 9)
refused("other-field", "whole numbers for floats", "CORRUPT", "other types", tensor(kind=1, dims=[1], _7=[1]), 7)
refused("type", "a type that there is not", "UNSUPPORTED", "data_type", tensor(kind=77), 4)
refused("negative", "a size below 0", "CORRUPT", "below 0", tensor(dims=[-1]))
refused("dims", "nine dimensions", "LIMIT", "dimensions", tensor(dims=[1] * 9), 16)
refused("overflow", "sizes that overflow", "LIMIT", "overflows", tensor(dims=[1 << 62, 1 << 62]))
refused("bomb", "a shape of more than the file could hold", "TRUNCATED", "fewer numbers", tensor(kind=6, dims=[1 << 20], _5=[1]))
refused("bomb-more", "a shape of 16 GB, of numbers one by one", "LIMIT", "1 GiB", tensor(kind=6, dims=[1 << 32], _5=[1]))
for name in ("../w.bin", "/etc/passwd", "", "a/../../b", ".."):
    broken = external("w", location=name)
    bad("onnx-path-%d" % len(name), "data outside the folder", b"", "CORRUPT", None, "location", "tensor 0",
        files={"m.onnx": model(broken)}, opened="m.onnx")
bad("onnx-absent", "data in a file that is not there", b"", "IO", None, "missing", "tensor 0", opened="m.onnx", file="w.bin",
    files={"m.onnx": model(external("w", location="w.bin"))})
bad("onnx-beside-short", "data beyond the end of its file", b"", "TRUNCATED", None, "beyond the end", "tensor 0", opened="m.onnx",
    file="w.bin", files={"m.onnx": model(external("w", location="w.bin", offset=1)), "w.bin": FLOATS})
bad("onnx-length", "a length that is not the shape's", b"", "CORRUPT", model(external("w", location="w.bin", length=3)).rfind(
    external("w", location="w.bin", length=3)), "length", "tensor 0", opened="m.onnx",
    files={"m.onnx": model(external("w", location="w.bin", length=3)), "w.bin": FLOATS})
no("twice", "two tensors of one name", model(tensor(), tensor()), "CORRUPT", "duplicate", "tensor 1",
   at=model(tensor(), tensor()).rfind(tensor()))
NO_GRAPH = message(_1=8, _2="x", _8=message(_2=17))
no("no-graph", "a model without a graph", NO_GRAPH, "CORRUPT", "no graph", "none", at=len(NO_GRAPH))
CUT = model(tensor())[:-1]
no("cut", "a file that ends early", CUT, "TRUNCATED", "protobuf", "none", at=CUT.rfind(field(1, 2) + field(1, 3)) - 2)
GROUP = message(_1=8, _7=b"") + varint(9 << 3 | 3)
no("group", "a group, which no model has", GROUP, "CORRUPT", "wire type", "none", at=len(GROUP) - 1)
DEEP = message(_5=tensor("v"))
for _ in range(40):
    DEEP = message(_1=message(_2="y", _5=message(_1="b", _6=DEEP)))
DEEP_FILE = message(_1=8, _7=DEEP)
no("deep", "graphs in graphs", DEEP_FILE, "LIMIT", "depth", "none", at=260)
