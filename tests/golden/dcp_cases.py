# SPDX-License-Identifier: MIT
"""Checkpoints of torch.distributed: tensors in chunks, in both forms, and what can be wrong with them."""
import json

from casebook import bad, good
from safetensors_cases import St, obj, t
from torchbuilder import (BYTES, Checkpoint, archive, described, dict_of, list_of, made, name, number, pairs,
                          pickle, saved, text)

ONE, TWO = "__0_0.distcp", "__1_0.distcp"


def two():
    """w of 4 x 3: its first and its last two rows in two files"""
    return Checkpoint().say("w", described((4, 3), [((0, 0), (2, 3)), ((2, 0), (2, 3))])).add(
        ONE, "w", (0, 0), saved((2, 3), range(6)))


def yes(case, note, files, *findings, **more):
    good("dcp-" + case, note, files.get(".metadata", b""), *findings, files=files, **more)


def no(case, note, files, status, at, what, item="none", file=".metadata"):
    bad("dcp-" + case, note, files[file], status, at, what, item, file=file, files=files)


def place(checkpoint, what, n=0):
    """of the n-th object of this class, whose opcode follows the class"""
    mark, at = name("torch.distributed.checkpoint.metadata", what), 0
    for _ in range(n + 1):
        at = checkpoint.metadata().index(mark, at) + len(mark) + 1
    return at


def value(checkpoint):
    """of what the last key of the storage leads to"""
    mark = name("torch.distributed.checkpoint.filesystem", "_StorageInfo")
    return checkpoint.metadata().rindex(mark) + len(mark) + 1


def wrong(case, note, checkpoint, status, of, what, item="none", n=0):
    at = value(checkpoint) if of is None else place(checkpoint, of, n)
    no(case, note, checkpoint.files(), status, at, what, item)


REST = saved((2, 3), range(6, 12))
WHOLE = two().add(TWO, "w", (2, 0), REST)
yes("fine", "two chunks in two files", WHOLE.files(), has={"format": "dcp", "tensors": 1, "tensor": "w", "dims": 2, "files": 2})
yes("turned", "a chunk by columns", two().add(TWO, "w", (2, 0), saved((2, 3), range(6), strides=(1, 2))).files(), has={"tensors": 1})
yes("value", "a number beside it", two().say("step", BYTES).add(TWO, "w", (2, 0), REST).add(
    ONE, "step", None, archive(number(7), {}).file()).files(), has={"tensors": 1, "keys": 1})
yes("side-file", "with a file of settings", WHOLE.files(**{"config.json": b"{}"}), has={"resources": 1})

at = place(two(), "TensorStorageMetadata")
yes("missing-chunk", "the last rows are nowhere", two().files(), ("error", "joined.missing", at, "tensor -1"),
    reads=[(0, "CORRUPT")])
lost = WHOLE.files()
del lost[TWO]
yes("missing-file", "a file is gone", lost,
    ("error", "dcp.no-file", place(WHOLE, "MetadataIndex", 1), "resource -1"),
    ("error", "joined.missing", at, "tensor -1"), reads=[(0, "CORRUPT")])
OVER = Checkpoint().say("w", described((4, 3), [((0, 0), (2, 3)), ((1, 0), (3, 3))])).add(ONE, "w", (0, 0), saved((2, 3), range(6)))
yes("overlap", "a row in two chunks", OVER.add(TWO, "w", (1, 0), saved((3, 3), range(9))).files(),
    ("error", "joined.overlap", at, "tensor -1"), reads=[(0, "CORRUPT")])
yes("other-chunks", "chunks of one and three rows that are said to be of two", Checkpoint().say(
    "w", described((4, 3), [((0, 0), (2, 3)), ((2, 0), (2, 3))])).add(ONE, "w", (0, 0), saved((1, 3), range(3))).add(
    TWO, "w", (1, 0), saved((3, 3), range(9))).files(), ("error", "dcp.other-chunks", at, "tensor -1"))

for case, note, of in (("unlisted", "two chunks of a tensor that is not listed", "x"), ("unlisted-value", "a value that is not listed", "step")):
    stray = two().add(TWO, "w", (2, 0), REST)
    stray = stray.add(TWO, "x", (0, 0), REST).add(TWO, "x", (2, 0), REST) if of == "x" else stray.add(ONE, "step", None, archive(number(7), {}).file())
    yes(case, note, stray.files(), ("error", "dcp.unlisted", place(stray, "MetadataIndex", 2), "key -1"), has={"tensors": 1, "keys": 0})

no("no-metadata", "another pickle", {".metadata": pickle(dict_of(a=number(1))), ONE: b""}, "UNSUPPORTED", 2, "not a Metadata")
CUT = WHOLE.metadata()[:-40]
no("cut", "the pickle is cut", {".metadata": CUT, ONE: b""}, "TRUNCATED", 1027, "pickle")
EMPTY = pickle(made("Metadata", {"state_dict_metadata": pairs()}))
no("no-storage", "nothing says where the chunks are", {".metadata": EMPTY, ONE: b""}, "CORRUPT", 51, "storage_data")
for case, note, content in (("outside", "a chunk that begins at the last row", ((3, 0), REST)),
                            ("another type", "a chunk of halves", ((2, 0), saved((2, 3), [0] * 6, "HalfStorage", "e"))),
                            ("dimensions", "a chunk of one dimension", ((2, 0), saved((6,), range(6))))):
    wrong(case.replace(" ", "-"), note, two().add(TWO, "w", *content), "CORRUPT", "TensorStorageMetadata", case, "tensor -1")
yes("not-a-tensor", "a chunk that is a list of two", two().add(TWO, "w", (2, 0), archive(list_of(number(1), number(2)), {}).file()).files(),
    ("error", "joined.missing", at, "tensor -1"), reads=[(0, "CORRUPT")])
wrong("path", "a file beside the folder", two().add("../x", "w", (2, 0), REST), "CORRUPT", None, "relative_path")
wrong("transformed", "a chunk that was compressed", two().add(TWO, "w", (2, 0), REST, transform_descriptors=list_of(text("zstd"))),
      "UNSUPPORTED", None, "transformed")
wrong("offset", "an offset of one number", two().add(TWO, "w", (2,), REST), "CORRUPT", "MetadataIndex", "dimensions", n=1)
wrong("kind", "neither a tensor nor bytes", two().say("x", made("Metadata", {})), "UNSUPPORTED", "Metadata", "neither", "tensor -1", 1)
wrong("no-type", "a type that is no type", two().say("x", described((4,), dtype="float31")), "CORRUPT", "TensorStorageMetadata",
      "type", "tensor -1", 1)
no("beyond", "a chunk beyond the end of its file", {**WHOLE.files(), TWO: REST[:-1]}, "TRUNCATED", len(REST) - 1, "ends too early",
   "tensor -1", TWO)

# ---- safetensors ----------------------------------------------------------------------------------


def shard(begins, *tensors, data=bytes(24)):
    info = json.dumps({of: {"saved_offsets": at} for of, at in begins.items()})
    return St(obj('"__metadata__":%s' % json.dumps({"DCP_SHARDING_INFO": info, "format": "pt"}), *tensors), data)


FIRST, SECOND = "shard-00001-model-00001-of-00001.safetensors", "shard-00002-model-00001-of-00001.safetensors"
ROWS = shard({"w": [0, 0]}, t("w", "F32", [2, 3], 0, 24))


def hf(other):
    return {FIRST: ROWS, SECOND: other}


yes("hf", "the form of safetensors", hf(shard({"w": [2, 0]}, t("w", "F32", [2, 3], 0, 24))),
    has={"format": "dcp", "tensors": 1, "tensor": "w", "dims": 2})
no("hf-no-offsets", "a file that does not say where its part begins", hf(shard({}, t("w", "F32", [2, 3], 0, 24))), "CORRUPT", 8,
   "saved_offsets", "tensor -1", SECOND)
no("hf-dims", "parts of other dimensions", hf(shard({"w": [6]}, t("w", "F32", [6], 0, 24))), "CORRUPT", 8, "dimensions", "tensor -1",
   SECOND)
no("hf-overflow", "a part at the end of all numbers", hf(shard({"w": [2**64 - 1, 0]}, t("w", "F32", [2, 3], 0, 24))), "CORRUPT", 8,
   "overflow", "tensor -1", SECOND)
