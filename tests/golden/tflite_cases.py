# SPDX-License-Identifier: MIT
"""Models of TensorFlow Lite: where constants are, and what a stranger may write."""
import struct

from casebook import bad, good
from flatbuilder import Lite

FLOATS = struct.pack("<6f", *range(6))
W = {"shape": [2, 3]}


def yes(case, note, content, *findings, **more):
    good("tflite-" + case, note, content, *findings, suffix=".tflite", **more)


def no(case, note, content, status, at, what, item="none", **more):
    bad("tflite-" + case, note, content, status, at, what, item, suffix=".tflite", **more)


yes("one", "a tensor", Lite([W], [b"", FLOATS]), has={"format": "tflite", "tensors": 1, "tensor": "w", "dims": 2, "keys": 2, "files": 1})
yes("computed", "one that the model computes, beside a constant", Lite([W, {"shape": [1, 3], "buffer": 0, "name": "x"}], [b"", FLOATS]),
    has={"tensors": 1})
yes("scales", "a quantized one", Lite([{"shape": [2, 3], "type": 9, "scale": [.5, .25], "zero": [0, 1]}], [b"", bytes(range(6))]),
    has={"tensors": 1, "keys": 2})
yes("scales-along", "scales along the last dimension", Lite([{"shape": [2, 3], "type": 9, "scale": [.5, .25, 1], "zero": [0, 0, 0], "axis": 1}],
    [b"", bytes(range(6))]), has={"tensors": 3})
yes("nibbles", "codes of 4 bits, of which the last byte is half", Lite([{"shape": [3], "type": 17}], [b"", b"\x21\x03"]),
    has={"tensors": 1})
yes("shared", "two tensors with one buffer", Lite([W, {"shape": [3, 2], "name": "v"}], [b"", FLOATS]), has={"tensors": 2, "files": 1})
yes("unnamed", "a tensor without a name", Lite([{"shape": [6], "name": ""}], [b"", FLOATS]), has={"tensors": 1, "tensor": "tensor.0"})
yes("scalar", "no dimensions", Lite([{"shape": []}], [b"", FLOATS[:4]]), has={"tensors": 1, "dims": 0})
yes("same", "two tensors of one name", Lite([W, W], [b"", FLOATS]), ("warning", "tflite.same-name", None, "tensor -1"), has={"tensors": 2})
yes("graphs", "two graphs", Lite(None, [b"", FLOATS], graphs=[[W], [W]]), has={"tensors": 2})
PLAIN = len(Lite([W], [b"", (8, 24)]).file())
yes("behind", "bytes behind the tables", Lite([W], [b"", (PLAIN, 24)], behind=FLOATS), has={"tensors": 1})
TEXTS = Lite([W, {"shape": [1], "type": 5, "name": "t", "buffer": 2}], [b"", FLOATS, b"text"])
yes("texts", "a tensor of texts", TEXTS, ("warning", "tflite.unread-tensor", "tensor 1", "tensor -1"), has={"tensors": 1})
SPARSE = Lite([{"shape": [6], "sparse": True}], [b"", FLOATS[:8]])
yes("sparse", "a sparse tensor", SPARSE, ("warning", "tflite.unread-tensor", "tensor 0", "tensor -1"), has={"tensors": 0})

for case, note, content, status, what in (
        ("short", "fewer bytes than the shape says", Lite([W], [b"", FLOATS[:-4]]), "TRUNCATED", "bytes of the tensor"),
        ("long", "more bytes than the shape says", Lite([W], [b"", FLOATS + bytes(4)]), "CORRUPT", "bytes of the tensor"),
        ("overflow", "sizes that overflow", Lite([{"shape": [0x7fffffff] * 4}], [b"", FLOATS]), "LIMIT", "overflows")):
    no(case, note, content, status, "tensor 0", what, "tensor 0")
NEGATIVE = Lite([{"shape": [-1, 6]}], [b"", FLOATS])
no("negative", "a size below 0", NEGATIVE, "CORRUPT", NEGATIVE.file().find(struct.pack("<iii", 2, -1, 6)) + 4, "below 0", "tensor 0")
NINE = Lite([{"shape": [1] * 9}], [b"", FLOATS])
no("dims", "nine dimensions", NINE, "LIMIT", NINE.file().find(struct.pack("<ii", 9, 1)) + 4, "dimensions", "tensor 0")
SCALES = Lite([{"shape": [2, 3], "type": 9, "scale": [.5, .25], "zero": [0, 1]}], [b"", bytes(range(6))]).file()
AT_SCALES = SCALES.find(struct.pack("<Iff", 2, .5, .25))
no("scales-beyond", "scales behind the end", SCALES[:AT_SCALES] + struct.pack("<I", 1 << 29) + SCALES[AT_SCALES + 4:], "TRUNCATED",
   AT_SCALES, "vector beyond the end", "tensor 0")
no("type", "a type that there is not", Lite([{"shape": [6], "type": 99}], [b"", FLOATS]), "UNSUPPORTED", "tensor 0", "type")
no("buffer", "a buffer that there is not", Lite([{"shape": [6], "buffer": 7}], [b"", FLOATS]), "CORRUPT", "tensor 0", "no buffer has this number")
no("beyond", "bytes behind the end", Lite([W], [b"", (1 << 40, 24)]), "TRUNCATED", "buffer 1", "beyond the end")
no("version", "another version", Lite([W], [b"", FLOATS], version=2), "UNSUPPORTED", "root", "version 3")
no("head", "no more than the first bytes", struct.pack("<I", 28) + b"TFL3", "CORRUPT", 0, "leads nowhere")
