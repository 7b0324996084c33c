# SPDX-License-Identifier: MIT
"""Importance matrices of llama.cpp, of both forms, and what can be wrong with them. The classes Dat
and imatrix_gguf write good ones, too; other tests make their files with them."""
import struct

import casebook
from ggufbuilder import F16, F32, STRING, U32, Gguf

NAN, INF = float("nan"), float("inf")


class Dat:
    """The older form, byte by byte; self.at remembers where each field went."""

    def __init__(self, n_entries):
        self.at, self.out, self.n = {}, bytearray(), 0
        self.field("entries", n_entries)

    def field(self, label, value):
        self.at[label] = len(self.out)
        self.out += struct.pack("<i", value)
        return self

    def entry(self, name, calls, values, length=None, n_values=None):
        label = "entry %d " % self.n
        self.n += 1
        self.field(label + "length", len(name) if length is None else length)
        self.out += name.encode()
        self.field(label + "calls", calls)
        self.field(label + "n", len(values) if n_values is None else n_values)
        self.at[label + "values"] = len(self.out)
        self.out += struct.pack("<%df" % len(values), *values)
        return self

    def end(self, chunks, dataset, length=None):
        self.field("chunks", chunks)
        self.field("dataset", len(dataset) if length is None else length)
        self.out += dataset.encode()
        return self

    def tail(self, content):
        self.at["tail"] = len(self.out)
        self.out += content
        return self

    def file(self):
        return bytes(self.out)


def good_dat():
    return (Dat(2).entry("blk.0.ffn_up.weight", 4, (4.0, 8.0, 0.0, 1.0))
            .entry("blk.0.ffn_down.weight", 0, (3.0, 0.5)).end(7, "wiki.test"))


def imatrix_gguf(entries, keys=True):
    """entries: name -> (rows of sums, counts); counts None or rows None leave a tensor out."""
    g = Gguf()
    g.kv("general.type", STRING, "imatrix")
    if keys:
        g.array("imatrix.datasets", STRING, ["a.txt"])
        g.kv("imatrix.chunk_count", U32, 7).kv("imatrix.chunk_size", U32, 512)
    for name, (rows, counts) in entries.items():
        if rows is not None:
            flat = [x for row in rows for x in row]
            g.tensor(name + ".in_sum2", (len(rows[0]), len(rows)), F32,
                     data=struct.pack("<%df" % len(flat), *flat))
        if counts is not None:
            g.tensor(name + ".counts", (1, len(counts)), F32,
                     data=struct.pack("<%df" % len(counts), *counts))
    return g


def bad(name, note, source, status, at, what, item="none", suffix=".dat"):
    casebook.bad("importance-" + name, note, source, status, at, what, item, suffix, importance=True)


def good(name, note, source, *findings, suffix=".dat"):
    casebook.good("importance-" + name, note, source, *findings, suffix=suffix, importance=True)


# -- the older form
good("dat", "two entries, one never measured", good_dat())
good("dat-without-end", "as the first versions wrote it", Dat(1).entry("a", 1, (1.0,)))
good("dat-negative", "sums of squares below zero", Dat(1).entry("a", 1, (1.0, -1.0)),
     ("warning", "importance.negative", None, "none"))
good("dat-trailing", "bytes behind the end", good_dat().tail(b"xy"),
     ("warning", "importance.trailing", "tail", "none"))
for count, status in ((0, "CORRUPT"), (-1, "CORRUPT"), (1 << 25, "LIMIT"), (5, "TRUNCATED")):
    bad("dat-entries-%d" % count, "a count of entries that cannot be",
        Dat(count).entry("a", 1, (1.0, 2.0)), status, "entries", "number of entries")
for length, status in ((0, "CORRUPT"), (-5, "CORRUPT"), (1 << 16, "LIMIT"), (100, "TRUNCATED")):
    bad("dat-name-%d" % length, "a length of a name that cannot be",
        Dat(1).entry("name", 1, (1.0, 2.0), length=length), status, "entry 0 length", "name")
bad("dat-calls", "calls below zero", Dat(1).entry("a", -1, (1.0,)), "CORRUPT", "entry 0 calls",
    "number of calls")
for n, status in ((0, "CORRUPT"), (-1, "CORRUPT"), (2**31 - 1, "LIMIT"), (3, "TRUNCATED")):
    bad("dat-values-%d" % n, "a number of values that cannot be",
        Dat(1).entry("a", 1, (1.0, 2.0), n_values=n), status, "entry 0 n", "number of values")
for word, value in (("nan", NAN), ("inf", INF), ("minus-inf", -INF)):
    bad("dat-" + word, "a value that is not finite", Dat(1).entry("a", 1, (1.0, value)), "CORRUPT",
        "entry 0 values+4", "not finite")
bad("dat-twice", "two entries of one name",
    Dat(2).entry("a", 1, (1.0,)).entry("a", 1, (2.0,)), "CORRUPT", "entry 1 length", "twice")
bad("dat-chunks", "chunks below zero", Dat(1).entry("a", 1, (1.0,)).end(-1, ""), "CORRUPT",
    "chunks", "number of chunks")
bad("dat-dataset-long", "a name of the dataset beyond the end",
    Dat(1).entry("a", 1, (1.0,)).end(1, "x", length=2), "TRUNCATED", "dataset", "length of a name")
bad("dat-dataset-negative", "a length below zero",
    Dat(1).entry("a", 1, (1.0,)).end(1, "x", length=-2), "CORRUPT", "dataset", "dataset")
bad("empty", "a file of no bytes", b"", "TRUNCATED", 0, "empty")
bad("text", "a text, which as a count of entries would be one that no file can hold",
    b"hello, world, no matrix\n", "UNSUPPORTED", None, "a text")
bad("safetensors", "a model", struct.pack("<Q", 2) + b"{}", "UNSUPPORTED", None, "a model",
    suffix=".safetensors")

# -- the GGUF form
PAIR = {"a": ([(1.0, 2.0), (3.0, 4.0)], (2.0, 0.0))}
UNSEEN = ("warning", "importance.unmeasured", None, "tensor -1")
good("gguf", "one entry of two slices", imatrix_gguf({"a": (PAIR["a"][0], (2.0, 1.0))}), suffix=".gguf")
good("gguf-unmeasured", "a slice without a count", imatrix_gguf(PAIR), UNSEEN, suffix=".gguf")
good("gguf-no-metadata", "nothing tells what it was measured on", imatrix_gguf(PAIR, keys=False),
     UNSEEN, ("warning", "importance.metadata", None, "none"), suffix=".gguf")
bad("gguf-no-counts", "sums alone", imatrix_gguf({"a": (PAIR["a"][0], None)}), "CORRUPT",
    "tensor 0", "no counts", "tensor 0", ".gguf")
bad("gguf-no-sums", "counts alone", imatrix_gguf({"a": (None, PAIR["a"][1])}), "CORRUPT",
    "tensor 0", "no sums", "tensor 0", ".gguf")
bad("gguf-slices", "four sums in three slices", imatrix_gguf({"a": (PAIR["a"][0], (1.0,) * 3)}),
    "CORRUPT", "tensor 1", "slices", "tensor 1", ".gguf")
bad("gguf-sum-huge", "a sum by which others become infinite", imatrix_gguf({"a": ([(1.0, 3e38)], (1.0,))}),
    "CORRUPT", "tensor 0", "value is not finite, or beyond", "tensor 0", ".gguf")
for word, value in (("nan", NAN), ("inf", INF)):
    bad("gguf-sum-" + word, "a sum that is not finite", imatrix_gguf({"a": ([(1.0, value)], (1.0,))}),
        "CORRUPT", "tensor 0", "value is not finite", "tensor 0", ".gguf")
    bad("gguf-count-" + word, "a count that is not finite", imatrix_gguf({"a": ([(1.0,)], (value,))}),
        "CORRUPT", "tensor 1", "count is not finite", "tensor 1", ".gguf")
bad("gguf-f16", "sums of another type",
    Gguf().tensor("a.in_sum2", (2,), F16).tensor("a.counts", (1,), F32), "CORRUPT", "tensor 0",
    "expected F32", "tensor 0", ".gguf")
bad("gguf-no-values", "an entry of no columns",
    Gguf().tensor("a.in_sum2", (0,), F32).tensor("a.counts", (1,), F32), "CORRUPT", "tensor 0",
    "at least one", "tensor 0", ".gguf")
bad("gguf-truncated", "sums that end with the file",
    Gguf().tensor("a.counts", (1,), F32).tensor("a.in_sum2", (64,), F32).ends(pad_last=False, cut=8),
    "TRUNCATED", "tensor 1 data", "ends too early", "tensor 1", ".gguf")
bad("gguf-model", "a model in place of a matrix", Gguf().tensor("a.weight", (4,), F32),
    "UNSUPPORTED", None, "not an importance matrix", "none", ".gguf")
bad("gguf-damaged", "what the GGUF reader refuses", Gguf(version=9), "CORRUPT", "version",
    "version", "none", ".gguf")
